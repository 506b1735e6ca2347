"""Recall for one viewer: the ranking's questions are answered with his audience and filters, its ranks become hits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from engram_core.confidence import faded
from engram_core.filters import Filters
from engram_core.reads.conditions import condition
from engram_core.reads.disputes import disputes
from engram_core.reads.listing import check_limit
from engram_core.reads.memories import by_keys
from engram_core.reads.snapshot import Snapshot
from engram_core.recall import Scope, Signals, ranked
from engram_core.results.listings import Hit, Hits
from engram_core.retention import Signals as Standing
from engram_core.retention import importance_score

__all__ = ["recall"]

_NEEDED: Final = (
    "m.key, m.id, m.kind, m.confidence, m.created_at, m.confirmed_at, m.stale_at, m.evidence_count, m.pinned,"
    " m.user_weight"
)


def recall(snapshot: Snapshot, text: str, filters: Filters, *, limit: int = 10) -> Hits:
    """The best hits for a question among the memories that pass the filters.

    Args:
        snapshot: Through whose eyes.
        text: Any text; of a very long one the beginning.
        filters: Applied before the limit.
        limit: How many at most, 1 to 1,000.
    """
    limits = snapshot.library.limits
    limit = check_limit(limit, limits)
    wanted = condition(snapshot, filters)
    sql = snapshot.sql

    def admit(keys: Sequence[int]) -> list[Any]:
        return snapshot.all(
            f"SELECT {_NEEDED} FROM json_each(:keys) j CROSS JOIN memories m ON m.key = j.value WHERE {wanted.sql}",
            {**wanted.parameters, "keys": json.dumps(keys)},
        )

    found = ranked(
        snapshot.connection,
        text[: limits.query],
        Scope(
            admit=admit,
            weigh=lambda row: _signals(snapshot, row),
            readable="" if snapshot.sees_all else sql.audience("{row}"),
            still=sql.still("{row}"),
            position=snapshot.parameters["known"],
            parameters=snapshot.parameters,
        ),
        snapshot.library.policy.recall,
        limit=limit,
    )
    if not found:
        return Hits()
    against = disputes(snapshot, [one.key for one in found])
    memories = by_keys(snapshot, {*(one.key for one in found), *(key for others in against.values() for key in others)})
    hits = []
    for one in found:
        others = sorted((memories[key] for key in against.get(one.key, ())), key=lambda memory: memory.id)
        hits.append(Hit(memories[one.key], one.score, _summed(one.parts), tuple(others)))
    return Hits(tuple(hits))


def _summed(parts: Sequence[tuple[str, float]]) -> dict[str, float]:
    terms: dict[str, float] = {}
    for name, value in parts:
        terms[name] = terms.get(name, 0.0) + value
    return terms


def _signals(snapshot: Snapshot, row: Sequence[Any]) -> Signals:
    """What stands beside the match, counting only what the viewer may see."""
    key, _, kind, confidence, created, confirmed, stale_at, evidences, pinned, weight = row
    lens, policy = snapshot.lens, snapshot.library.policy
    decay = lens.decay(kind)
    links, contested = (0, False) if pinned or weight is not None else _edges(snapshot, key)
    standing = Standing(
        created_at=lens.now,
        recorded_at=lens.now,
        confidence=confidence,
        evidences=evidences,
        links=links,
        is_disputed=bool(contested) and key in disputes(snapshot, [key]),
        is_pinned=bool(pinned),
        user_weight=weight,
    )
    believed_since = created if confirmed is None else confirmed
    return Signals(
        freshness=faded(1.0, lens.micros - max(created, confirmed or created), policy.recall.fresh_half_life_days),
        importance=importance_score(standing, policy, decay),
        confidence=faded(confidence, lens.micros - believed_since, decay.half_life_days),
        stale=stale_at is not None and stale_at <= lens.micros,
    )


def _edges(snapshot: Snapshot, key: int) -> tuple[int, bool]:
    """How many edges the viewer sees, as far as importance counts them; and whether one may be a dispute."""
    shown = snapshot.sql.shown("n")
    counts = []
    for near, far in (("source", "target"), ("target", "source")):
        counts.append(
            "(SELECT count(*) FROM (SELECT 1 FROM links l JOIN memories n"
            f" ON n.key = l.{far} WHERE l.{near} = :key AND {shown} LIMIT :counted))"
        )
    links, contested = snapshot.one(
        f"SELECT {' + '.join(counts)}, EXISTS (SELECT 1 FROM links l WHERE l.relation = 'contradicts'"
        " AND l.source = :key) OR EXISTS (SELECT 1 FROM links l WHERE l.relation = 'contradicts' AND l.target = :key)",
        {"key": key},
    )
    return links, bool(contested)
