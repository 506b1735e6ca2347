"""What has changed between two states of one memory, in words a reviewer reads. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engram_core.state import MemoryState

__all__ = ["differences"]

_LONGEST = 200


def differences(before: MemoryState, after: MemoryState) -> tuple[str, ...]:
    """One phrase for each field that differs, with the old and the new value; long texts are cut."""
    return tuple(_told(before, after))


def _told(before: MemoryState, after: MemoryState) -> Iterator[str]:
    old, new = before.attributes.raw, after.attributes.raw
    values = [
        ("title", before.text.title, after.text.title),
        ("content", before.text.content, after.text.content),
        *((name, old.get(name), new.get(name)) for name in dict.fromkeys([*old, *new])),
        ("confidence", round(before.confidence.confidence, 4), round(after.confidence.confidence, 4)),
        ("pinned", before.importance.pinned, after.importance.pinned),
        ("user_weight", before.importance.user_weight, after.importance.user_weight),
        ("status", before.lifecycle.stored.value, after.lifecycle.stored.value),
        ("visibility", before.visibility.kind.value, after.visibility.kind.value),
        ("lifetime", before.lifetime.kind.value, after.lifetime.kind.value),
        ("valid_from", before.validity.valid_from, after.validity.valid_from),
        ("valid_to", before.validity.valid_to, after.validity.valid_to),
    ]
    yield from (f"{name}: {_short(was)} -> {_short(now)}" for name, was, now in values if was != now)
    yield from _sets("tags", before.all_tags, after.all_tags)
    yield from _sets("links", before.edges.links, after.edges.links)
    yield from _sets("evidence", (item.ref for item in before.evidence), (item.ref for item in after.evidence))


def _sets(name: str, before: Iterable[object], after: Iterable[object]) -> Iterator[str]:
    old, new = list(before), list(after)
    for sign, items, others in (("+", new, old), ("-", old, new)):
        yield from (f"{name}: {sign}{_short(item)}" for item in items if item not in others)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
