"""Secrets out before anything is stored: a redactor over every text of a command. What was removed is counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import evolve as replaced
from attrs import fields_dict

from engram_core.commands import Command, Remember
from engram_core.ports import Redactor
from engram_core.values import EvidenceRef

__all__ = ["redacted", "redacted_words"]

T = TypeVar("T")

_TEXTS = ("title", "content", "note", "source_ref", "tags", "added", "evidence", "attributes", "changes")


def redacted(command: Command, redactor: Redactor) -> tuple[Command, int]:
    """The command without secrets in any of its texts, and how many there were.

    A new memory has count and redactor in its provenance.
    """
    counter = _Counter(redactor)
    known = fields_dict(type(command))
    changed = {
        name: counter.clean(value) for name in _TEXTS if name in known and (value := getattr(command, name)) is not None
    }
    if not counter.removed:
        return command, 0
    if "redactions" in known:
        changed["redactions"] = counter.removed
    if isinstance(command, Remember):
        changed["redactor"] = redactor.name
    return replaced(command, **changed), counter.removed


def redacted_words(words: T, redactor: Redactor | None) -> T:
    """Text, evidence, or several of them, without secrets."""
    cleaned: T = words if redactor is None else _Counter(redactor).clean(words)
    return cleaned


class _Counter:
    """Cleans values of any shape, and counts what was removed."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self.removed = 0

    def clean(self, value: Any) -> Any:
        match value:
            case str():
                text, removed = self.redactor.redact(value)
                self.removed += removed
                return text
            case EvidenceRef():
                note = None if value.note is None else self.clean(value.note)
                return EvidenceRef(value.type, self.clean(value.value), note)
            case Mapping():
                return {key: self.clean(item) for key, item in value.items()}
            case tuple() | list():
                return type(value)(self.clean(item) for item in value)
            case _:
                return value
