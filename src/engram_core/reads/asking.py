"""Ranks become hits: each with the memory as its viewer sees it, what made its score, and who disputes it."""

from __future__ import annotations

from collections.abc import Sequence

from engram_core.filters import Filters
from engram_core.reads.conditions import Condition, condition
from engram_core.reads.disputes import disputes
from engram_core.reads.listing import check_limit
from engram_core.reads.memories import by_keys
from engram_core.reads.recalling import recalled
from engram_core.reads.snapshot import Snapshot
from engram_core.results.listings import Hit, Hits

__all__ = ["asked", "recall"]


def recall(snapshot: Snapshot, text: str, filters: Filters, *, limit: int = 10) -> Hits:
    """The best hits for a question among the memories that pass the filters.

    Args:
        snapshot: Through whose eyes.
        text: Any text; of a very long one the beginning.
        filters: Applied before the limit.
        limit: How many at most, 1 to 1,000.

    Raises: InvalidAttributesError.
    """
    limit = check_limit(limit, snapshot.library.limits)
    return asked(snapshot, text, condition(snapshot, filters), limit=limit)


def asked(snapshot: Snapshot, text: str, wanted: Condition, *, limit: int) -> Hits:
    """The best hits for a question among the memories that meet a condition."""
    found = recalled(snapshot, text[: snapshot.library.limits.query], wanted, limit=limit)
    if not found:
        return Hits()
    memories = by_keys(snapshot, [one.key for one in found])
    against = disputes(snapshot, [one.key for one in found if memories[one.key].flags.disputed])
    others = by_keys(snapshot, {key for keys in against.values() for key in keys}) if against else {}
    hits = []
    for one in found:
        sides = sorted((others[key] for key in against.get(one.key, ())), key=lambda memory: memory.id)
        hits.append(Hit(memories[one.key], one.score, _summed(one.parts), tuple(sides)))
    return Hits(tuple(hits))


def _summed(parts: Sequence[tuple[str, float]]) -> dict[str, float]:
    terms: dict[str, float] = {}
    for name, value in parts:
        terms[name] = terms.get(name, 0.0) + value
    return terms
