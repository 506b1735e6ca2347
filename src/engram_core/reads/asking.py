"""Ranks become hits: each with the memory as its viewer sees it, what made its score, and who disputes it."""

from __future__ import annotations

from collections.abc import Sequence

from engram_core.analysis import question
from engram_core.filters import Filters
from engram_core.projections.encoding import Asked
from engram_core.reads.conditions import Condition, condition
from engram_core.reads.disputes import disputes
from engram_core.reads.listing import check_limit
from engram_core.reads.memories import by_keys
from engram_core.reads.recalling import recalled
from engram_core.reads.snapshot import Library, Snapshot
from engram_core.results.listings import Hit, Hits

__all__ = ["asked", "meant", "recall"]


def meant(library: Library, text: str) -> Asked | None:
    """A question as the space's model understands it, asked before a reading begins; None without a model or words."""
    if library.encoding is None or not question(text := text[: library.limits.query]).terms:
        return None
    return library.encoding.ask(text)


def recall(snapshot: Snapshot, text: str, filters: Filters, *, limit: int = 10, meant: Asked | None = None) -> Hits:
    """The best hits for a question among the memories that pass the filters.

    Args:
        snapshot: Through whose eyes.
        text: Any text; of a very long one the beginning.
        filters: Applied before the limit.
        limit: How many at most, 1 to 1,000.
        meant: The question as the space's model understands it.

    Raises: InvalidAttributesError.
    """
    limit = check_limit(limit, snapshot.library.limits)
    return asked(snapshot, text, condition(snapshot, filters), limit=limit, meant=meant)


def asked(snapshot: Snapshot, text: str, wanted: Condition, *, limit: int, meant: Asked | None = None) -> Hits:
    """The best hits for a question among the memories that meet a condition."""
    near, notes = (None, []) if meant is None else (meant.near, [meant.notice] if meant.notice else [])
    found = recalled(snapshot, text[: snapshot.library.limits.query], wanted, limit=limit, near=near, notes=notes)
    notice = "; ".join(notes)
    if not found:
        return Hits(notice=notice)
    memories = by_keys(snapshot, [one.key for one in found])
    against = disputes(snapshot, [one.key for one in found if memories[one.key].flags.disputed])
    others = by_keys(snapshot, {key for keys in against.values() for key in keys}) if against else {}
    hits = []
    for one in found:
        sides = sorted((others[key] for key in against.get(one.key, ())), key=lambda memory: memory.id)
        hits.append(Hit(memories[one.key], one.score, _summed(one.parts), tuple(sides)))
    return Hits(tuple(hits), notice)


def _summed(parts: Sequence[tuple[str, float]]) -> dict[str, float]:
    terms: dict[str, float] = {}
    for name, value in parts:
        terms[name] = terms.get(name, 0.0) + value
    return terms
