"""Figures: what a memory scores, who read it, how tags and kinds are spread, as far as the viewer may know."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from math import log2
from typing import Any

from engram_core.confidence import faded
from engram_core.reads.disputes import open_pairs
from engram_core.reads.memories import memory
from engram_core.reads.snapshot import Snapshot
from engram_core.reads.walking import RELATIONSHIP, Web, ways
from engram_core.results.accounts import Accesses, Explanation, Read, Stats
from engram_core.results.listings import Scores
from engram_core.results.memory import Memory
from engram_core.retention import (
    Signals,
    centrality,
    frequency,
    is_pruning_candidate,
    recency,
    retention_score,
)
from engram_core.values import Actor, from_micros, to_micros
from engram_core.vocab import ActorKind, LifetimeKind, Relation, Status

__all__ = ["accesses", "explanation", "scores", "stats", "tags"]

_CENTRAL = tuple(relation.value for relation in Relation if relation not in (Relation.CONTRADICTS, Relation.SUPERSEDES))


def scores(snapshot: Snapshot, id: str) -> Scores:
    """The figures of one memory.

    Raises: NotFoundError.
    """
    found = memory(snapshot, id)
    signals = _signals(snapshot, found)
    policy, now = snapshot.library.policy, snapshot.point.now
    decay = snapshot.lens.decay(found.kind)
    return Scores(
        importance=found.importance,
        retention=retention_score(signals, now, policy, decay),
        effective_confidence=found.effective_confidence,
        terms=_retention_terms(snapshot, found, signals),
        is_pruning_candidate=found.status in (Status.ACTIVE, Status.STALE)
        and is_pruning_candidate(signals, now, policy, decay),
    )


def explanation(snapshot: Snapshot, id: str, recall: Mapping[str, float] | None = None) -> Explanation:
    """What the figures of one memory come from.

    Raises: NotFoundError.
    """
    found = memory(snapshot, id)
    return Explanation(
        memory=found,
        status=_status_told(snapshot, found),
        importance=_importance_terms(snapshot, found),
        retention=_retention_terms(snapshot, found, _signals(snapshot, found)),
        effective_confidence=_confidence_terms(snapshot, found),
        recall=dict(recall or {}),
    )


def _signals(snapshot: Snapshot, found: Memory[Any]) -> Signals:
    key = snapshot.key(found.id)
    assert key is not None
    recorded, status = snapshot.one(
        "SELECT m.recorded_at, json_extract(m.attributes, '$.status') FROM memories m WHERE m.key = :key", {"key": key}
    )
    count, last = _read_sum(snapshot, key)
    policy = snapshot.library.policy
    return Signals(
        created_at=found.created_at,
        recorded_at=from_micros(recorded),
        confidence=found.confidence,
        last_confirmed_at=found.last_confirmed_at,
        last_access_at=last,
        accesses=count,
        neighbours=_neighbours(snapshot, found.id),
        evidences=len(found.evidence),
        links=found.visible_links,
        is_disputed=found.flags.disputed,
        is_pinned=found.pinned,
        is_permanent=found.lifetime.kind is LifetimeKind.PERMANENT,
        is_exempt=found.kind in policy.active_exempt and status == "active",
        user_weight=found.user_weight,
    )


def _neighbours(snapshot: Snapshot, id: str) -> int:
    """Distinct memories next to it, after merges; those of a merged source are its survivor's."""
    web = Web(snapshot)
    start = web.start(id)
    if start is None or start != snapshot.key(id):
        return 0
    return len({step.there for step in web.steps([start], ways((*_CENTRAL, RELATIONSHIP), "both"))})


def _read_sum(snapshot: Snapshot, key: int) -> tuple[float, datetime | None]:
    """How often it was read, faded if the policy says so as of the last read; and when that was."""
    row = snapshot.one("SELECT count, last_at FROM accesses WHERE key = :key", {"key": key})
    if row is None:
        return 0, None
    count, last = row
    half_life = snapshot.library.policy.retention.access_half_life_days
    if half_life is not None:
        count = sum(faded(float(n), last - at, half_life) for _, n, at in _reads(snapshot, key))
    return count, from_micros(last)


def _reads(snapshot: Snapshot, key: int) -> list[Any]:
    return snapshot.all(
        "SELECT actor, count, last_at FROM main.reads WHERE key = :key AND (:known IS NULL OR position <= :known)",
        {"key": key},
    )


def accesses(snapshot: Snapshot, id: str) -> Accesses:
    """Who read a memory, as far as it has been written; non-users learn of their own reads alone.

    Raises: NotFoundError.
    """
    key = snapshot.key(memory(snapshot, id).id)
    assert key is not None
    by_actor: dict[str, tuple[int, int]] = {}
    for name, count, last in _reads(snapshot, key):
        if snapshot.sees_all or name == str(snapshot.point.actor):
            known = by_actor.get(name, (0, last))
            by_actor[name] = (known[0] + count, max(known[1], last))
    reads = []
    for name, (count, last) in sorted(by_actor.items()):
        kind, _, actor_id = name.partition(":")
        reads.append(Read(actor=Actor(ActorKind(kind), actor_id), count=count, last_at=from_micros(last)))
    if not reads:
        return Accesses()
    return Accesses(
        count=sum(read.count for read in reads), last_at=max(read.last_at for read in reads), reads=tuple(reads)
    )


# -- terms ------------------------------------------------------------------------------------------


def _retention_terms(snapshot: Snapshot, found: Memory[Any], signals: Signals) -> dict[str, float]:
    """The weighted terms of retention, in the order in which they are added."""
    weights, now = snapshot.library.policy.retention, snapshot.point.now
    half_life = snapshot.lens.decay(found.kind).half_life_days
    count = signals.accesses
    if weights.access_half_life_days is not None and signals.last_access_at is not None:
        count *= recency(signals.last_access_at, now, weights.access_half_life_days)
    since = signals.last_access_at or signals.created_at
    return {
        "recency": weights.recency * recency(since, now, half_life),
        "frequency": weights.frequency * frequency(count, weights.full_frequency),
        "centrality": weights.centrality * centrality(signals.neighbours, weights.full_centrality),
        "confidence": weights.confidence * found.effective_confidence,
        "user_weight": weights.user_weight * (signals.user_weight or 0.0),
    }


def _importance_terms(snapshot: Snapshot, found: Memory[Any]) -> dict[str, float]:
    if found.pinned:
        return {"pinned": 1.0}
    if found.user_weight is not None:
        return {"user_weight": found.user_weight}
    shares = snapshot.library.policy.importance
    terms = {
        "base": snapshot.lens.decay(found.kind).base_importance,
        "evidence": shares.per_evidence * min(len(found.evidence), shares.max_evidence),
        "links": shares.per_link * min(found.visible_links, shares.max_links),
        "disputed": shares.disputed if found.flags.disputed else 0.0,
    }
    over = sum(terms.values()) - 1.0
    if over > 0.0:
        terms["cap"] = -over
    return terms


def _confidence_terms(snapshot: Snapshot, found: Memory[Any]) -> dict[str, float]:
    decay = snapshot.lens.decay(found.kind)
    since = found.last_confirmed_at or found.created_at
    days = max(0.0, (snapshot.lens.micros - to_micros(since)) / 86_400e6)
    return {
        "confidence": found.confidence,
        "days": days,
        "half_life_days": decay.half_life_days,
        "faded_to": found.effective_confidence,
        "stale_below": decay.stale_below,
    }


def _status_told(snapshot: Snapshot, found: Memory[Any]) -> str:
    """Why it has its status, in one sentence."""
    decay = snapshot.lens.decay(found.kind)
    match found.status:
        case Status.ARCHIVED:
            because, into = snapshot.one(
                "SELECT m.because, m.merged_into FROM memories m WHERE m.id = :id", {"id": found.id}
            )
            if into is not None:
                into = into if snapshot.key(into) is not None else "another memory"
                return f"archived: merged into {into}"
            return f"archived: {because}"
        case Status.SUPERSEDED:
            return "superseded: another memory has taken its place"
        case Status.EXPIRED:
            return f"expired: its lifetime, {found.lifetime.kind}, has ended"
        case Status.STALE:
            return (
                f"stale: confidence {found.confidence:.3g} has faded to {found.effective_confidence:.3g},"
                f" below {decay.stale_below:g}"
            )
        case _:
            if found.confidence <= 0.0 or decay.stale_below <= 0.0:
                return "active"
            days = decay.half_life_days * log2(found.confidence / decay.stale_below)
            return f"active: {max(0.0, days):.4g} days after its last confirmation it is stale"


# -- the space --------------------------------------------------------------------------------------


def tags(snapshot: Snapshot) -> dict[str, int]:
    """How many active or stale memories bear each tag, in the order of the tags."""
    return dict(
        snapshot.all(
            "SELECT tag, count(*) FROM (SELECT t.tag FROM tags t CROSS JOIN memories m ON m.key = t.key"
            f" WHERE {snapshot.sql.recallable('m')} LIMIT -1) GROUP BY tag ORDER BY tag"
        )
    )


def stats(snapshot: Snapshot) -> Stats:
    """Figures of all that is shown."""
    sql = snapshot.sql
    rows = snapshot.all(
        "SELECT kind, status, count(*), min(created_at), max(updated_at) FROM"
        f" (SELECT m.kind, {sql.status('m')} AS status, m.created_at, m.updated_at FROM memories m"
        f" WHERE {sql.shown('m')} LIMIT -1) GROUP BY 1, 2 ORDER BY 1, 2"
    )
    by_kind: dict[str, int] = {}
    by_status: dict[str, int] = {}
    for kind, status, count, _, _ in rows:
        by_kind[kind] = by_kind.get(kind, 0) + count
        by_status[status] = by_status.get(status, 0) + count
    (distinct,) = snapshot.one(
        "SELECT count(DISTINCT tag) FROM (SELECT t.tag FROM tags t CROSS JOIN memories m ON m.key = t.key"
        f" WHERE {sql.recallable('m')} LIMIT -1)"
    )
    return Stats(
        memories=sum(by_kind.values()),
        by_kind=by_kind,
        by_status=by_status,
        links=_links(snapshot),
        tags=distinct,
        disputed=_disputed(snapshot),
        first_at=from_micros(min(row[3] for row in rows)) if rows else None,
        last_at=from_micros(max(row[4] for row in rows)) if rows else None,
    )


def _links(snapshot: Snapshot) -> int:
    """How many edges are shown with both of their ends."""
    sql = snapshot.sql
    if snapshot.sees_all and snapshot.parameters["known"] is None and snapshot.point.valid_at is None:
        # All but those of what is gone, which has an index of its own.
        gone = "SELECT l.* FROM memories g CROSS JOIN links l ON l.{end} = g.key WHERE g.stored NOT IN {live}"
        ends = " UNION ".join(gone.format(end=end, live="('active', 'archived')") for end in ("source", "target"))
        (found,) = snapshot.one(f"SELECT (SELECT count(*) FROM links) - (SELECT count(*) FROM ({ends}))")
    else:
        (found,) = snapshot.one(
            "SELECT count(*) FROM (SELECT 1 FROM links l JOIN memories m ON m.key = l.source"
            f" JOIN memories n ON n.key = l.target WHERE {sql.shown('m')} AND {sql.shown('n')} LIMIT -1)"
        )
    return int(found)


def _disputed(snapshot: Snapshot) -> int:
    return len({key for pair in open_pairs(snapshot) for key in pair})
