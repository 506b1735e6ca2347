"""What earns its keep: importance, retention, and what may be pruned. Pure functions of signals."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import log1p

from attrs import frozen

from engram_core.confidence import effective, faded
from engram_core.policy import Decay, Policy
from engram_core.values import to_micros

__all__ = [
    "Signals",
    "centrality",
    "frequency",
    "importance_score",
    "is_pruning_candidate",
    "recency",
    "retention_score",
]


@frozen(kw_only=True)
class Signals:
    """What is known about the use and the standing of one memory, as one viewer may know it.

    Attributes:
        created_at: Aware instant at which its creation is said to have happened.
        recorded_at: Aware instant at which its creation was recorded.
        confidence: Stored confidence, in [0, 1].
        last_confirmed_at: Aware instant of the last confirmation that counts, if any.
        last_access_at: Aware instant of the last access, if any.
        accesses: Number of accesses; where accesses fade, their faded sum as of the last one.
        neighbours: Distinct live neighbours in the graph.
        evidences: Number of evidence references.
        links: Number of edges.
        is_disputed: True while a contradiction is open.
        is_pinned: True while somebody has pinned it.
        is_permanent: True when its lifetime is permanent.
        is_exempt: True for a kind of `Policy.active_exempt` while its status attribute is "active".
        user_weight: Weight that somebody gave it, in [0, 1]; None if nobody did.
    """

    created_at: datetime
    recorded_at: datetime
    confidence: float
    last_confirmed_at: datetime | None = None
    last_access_at: datetime | None = None
    accesses: float = 0
    neighbours: int = 0
    evidences: int = 0
    links: int = 0
    is_disputed: bool = False
    is_pinned: bool = False
    is_permanent: bool = False
    is_exempt: bool = False
    user_weight: float | None = None


def recency(since: datetime, now: datetime, half_life_days: float) -> float:
    """How fresh the last use is.

    Args:
        since: Aware instant of the last access, else of creation.
        now: Aware instant to which it is measured; before `since` it is as fresh as can be.
        half_life_days: Days in which it halves; above 0.

    Returns: 2^(−age / half-life), in [0, 1].
    Source: memory model §7.
    """
    return faded(1.0, to_micros(now) - to_micros(since), half_life_days)


def frequency(accesses: float, full: int) -> float:
    """How often a memory is used.

    Args:
        accesses: Number of accesses, faded or not; at least 0.
        full: Number at which it reaches 1; at least 1.

    Returns: ln(1 + n) / ln(1 + full) but at most 1, in [0, 1].
    Source: memory model §7, whose logarithm it brings to [0, 1].
    """
    return min(1.0, log1p(accesses) / log1p(full))


def centrality(neighbours: int, full: int) -> float:
    """How well a memory is connected.

    Args:
        neighbours: Distinct live neighbours, after merges; contradictions and supersessions do not count.
        full: Number at which it reaches 1; at least 1.

    Returns: n / full but at most 1, in [0, 1].
    Source: memory model §7.
    """
    return min(1.0, neighbours / full)


def retention_score(signals: Signals, now: datetime, policy: Policy, decay: Decay) -> float:
    """How much a memory has earned its keep; higher is kept longer.

    Args:
        signals: Of the memory.
        now: Aware instant to which ages are measured.
        policy: Weights are in `policy.retention`.
        decay: Of the memory's kind.

    Returns: The weighted sum of recency, frequency, centrality, effective confidence and user weight, in
        [0, 1] where the weights add up to 1. Who is exempt is asked elsewhere.
    Raises: Nothing; inputs are valid by construction.
    Source: memory model §7.
    """
    weights = policy.retention
    accesses = signals.accesses
    if weights.access_half_life_days is not None and signals.last_access_at is not None:
        accesses *= recency(signals.last_access_at, now, weights.access_half_life_days)
    half_life = decay.half_life_days
    believed = effective(signals.confidence, signals.last_confirmed_at or signals.created_at, now, half_life)
    return (
        weights.recency * recency(signals.last_access_at or signals.created_at, now, half_life)
        + weights.frequency * frequency(accesses, weights.full_frequency)
        + weights.centrality * centrality(signals.neighbours, weights.full_centrality)
        + weights.confidence * believed
        + weights.user_weight * (signals.user_weight or 0.0)
    )


def is_pruning_candidate(signals: Signals, now: datetime, policy: Policy, decay: Decay) -> bool:
    """True when the nightly pass may propose to archive the memory.

    It may not while the memory is pinned, permanent, exempt, or younger by its recording than
    `policy.retention.newborn_days`: so a backfill of old events is safe. The threshold is strict.
    """
    if signals.is_pinned or signals.is_permanent or signals.is_exempt:
        return False
    if now - signals.recorded_at < timedelta(days=policy.retention.newborn_days):
        return False
    return retention_score(signals, now, policy, decay) < policy.retention.threshold


def importance_score(signals: Signals, policy: Policy, decay: Decay) -> float:
    """How much a memory matters.

    Args:
        signals: Of the memory, counting only what the viewer may see.
        policy: Shares are in `policy.importance`.
        decay: Of the memory's kind; holds the base.

    Returns: 1 when pinned, else the user's weight if there is one, else base and shares up to 1, in [0, 1].
    Source: memory model §7.
    """
    if signals.is_pinned:
        return 1.0
    if signals.user_weight is not None:
        return signals.user_weight
    shares = policy.importance
    return min(
        1.0,
        decay.base_importance
        + shares.per_evidence * min(signals.evidences, shares.max_evidence)
        + shares.per_link * min(signals.links, shares.max_links)
        + (shares.disputed if signals.is_disputed else 0.0),
    )
