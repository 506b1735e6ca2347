"""The text of a memory for the text lanes: what a change of state means for them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any, Final

from engram_core.projections import texts
from engram_core.projections.rows import Rows, cleaned, is_bare
from engram_core.state import MemoryState
from engram_core.vocab import StoredStatus

__all__ = ["TERMS_VERSION", "TextChanges", "text_change", "text_of"]

TERMS_VERSION: Final = 4
"""Raised when the same text yields other terms, or the lanes hold them otherwise, so that the lanes are built anew."""

_READ: Final = frozenset({"text", "attributes", "absorbed", "tags", "visibility"})
_LIVE: Final = (StoredStatus.ACTIVE, StoredStatus.ARCHIVED)


class TextChanges:
    """Collects changes of text, and hands them over in bulk.

    Args:
        tx: A connection within a transaction.
        rows: Gives attributes in their current schema.
        prefix: Of the tables, for a shadow.
    """

    def __init__(self, tx: sqlite3.Connection, rows: Rows, prefix: str = "") -> None:
        self._tx = tx
        self._rows = rows
        self._prefix = prefix
        self._fresh: list[texts.Text] = []
        self._changed: list[texts.Text | tuple[int, int]] = []

    def add(self, before: MemoryState | None, after: MemoryState, touched: frozenset[str] | None) -> None:
        """Takes in one memory's change; `touched` names the groups that changed, None all."""
        change = text_change(before, after, touched, self._rows)
        if change is None:
            return
        if before is None and isinstance(change, texts.Text):
            self._fresh.append(change)
        else:
            self._changed.append(change)

    def flush(self) -> None:
        """Writes what was collected. What becomes past is numbered in the order of the log."""
        if self._fresh:
            texts.write_texts(self._tx, self._fresh, fresh=True, prefix=self._prefix)
            self._fresh.clear()
        if self._changed:
            ends = [change[:2] for change in self._changed]
            texts.end_texts(self._tx, ends, prefix=self._prefix)
            begun = [change for change in self._changed if isinstance(change, texts.Text)]
            if begun:
                texts.write_texts(self._tx, begun, fresh=True, prefix=self._prefix)
            self._changed.clear()


def text_change(
    before: MemoryState | None, after: MemoryState, touched: frozenset[str] | None, rows: Rows
) -> texts.Text | tuple[int, int] | None:
    """What a change of state means for the lanes: a new text, its end (key and position), or nothing."""
    had, has = _is_read(before), _is_read(after)
    if has and (not had or touched is None or touched & _READ):
        return text_of(after, rows)
    return (after.origin.position, after.position) if had and not has else None


def text_of(state: MemoryState, rows: Rows) -> texts.Text:
    """What the lanes hold of a memory."""
    attributes = rows.attributes(state)
    fields: list[str] = []
    names: tuple[tuple[str, ...], ...] = ()
    if state.kind in rows.kinds:
        spec = rows.kinds.spec(state.kind)
        fields = [text for name in spec.text_fields for text in _texts(attributes, name)]
        if spec.entity:
            labels = [
                text for name in spec.label_fields if name in spec.text_fields for text in _texts(attributes, name)
            ]
            aliases = _texts(attributes, spec.alias_field) if spec.alias_field else []
            names = texts.name_phrases([*labels[:1], *aliases])
    terms = texts.text_terms(
        title=None if state.text.title is None else cleaned(state.text.title),
        fields=fields,
        content=cleaned(state.text.content),
        tags=[cleaned(tag) for tag in state.all_tags],
    )
    lane, audience = rows.audience(state)
    return texts.Text(
        key=state.origin.position, position=state.position, lane=lane, terms=terms, audience=audience, names=names
    )


def _is_read(state: MemoryState | None) -> bool:
    """True for a memory that present queries may find."""
    return state is not None and state.lifecycle.stored in _LIVE and not is_bare(state)


def _texts(attributes: Mapping[str, Any], name: str) -> list[str]:
    """The texts of one attribute; of a foreign log, whatever of it is text."""
    value = attributes.get(name)
    listed = value if isinstance(value, list | tuple) else (value,)
    return [cleaned(text) for text in listed if isinstance(text, str) and text]
