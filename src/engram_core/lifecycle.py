"""What a memory is at an instant: the one function that derives its status, and the instants on which it turns."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import assert_never

from engram_core.confidence import effective, goes_stale_at
from engram_core.kinds import KindRegistry
from engram_core.policy import Decay, Policy
from engram_core.state import MemoryState
from engram_core.vocab import LifetimeKind, Status, StoredStatus

__all__ = ["decay_of", "effective_confidence", "expires_at", "is_expired", "stale_at", "status"]

_STORED = {
    StoredStatus.ERASED: Status.ERASED,
    StoredStatus.DELETED: Status.DELETED,
    StoredStatus.WITHDRAWN: Status.WITHDRAWN,
    StoredStatus.ARCHIVED: Status.ARCHIVED,
}


def decay_of(kind: str, policy: Policy, kinds: KindRegistry) -> Decay:
    """How memories of a kind fade: the policy's word, else the kind's own, else that of a fact."""
    found = policy.decay.get(kind)
    if found is None and kind in kinds:
        found = kinds.spec(kind).decay
    return found or policy.decay["fact"]


def effective_confidence(memory: MemoryState, now: datetime, decay: Decay) -> float:
    """Stored confidence as it has faded by now, in [0, 1]."""
    return effective(memory.confidence.confidence, _since(memory), now, decay.half_life_days)


def _since(memory: MemoryState) -> datetime:
    """When it began to fade; until then nothing is stale, however low its confidence."""
    return memory.confidence.last_confirmed_at or memory.origin.created_at


def stale_at(memory: MemoryState, decay: Decay) -> datetime | None:
    """The first instant at which effective confidence lies strictly below the kind's threshold."""
    return goes_stale_at(memory.confidence.confidence, _since(memory), decay.half_life_days, decay.stale_below)


def expires_at(memory: MemoryState, decay: Decay) -> datetime | None:
    """When its lifetime ends, None if it does not; a pin blocks it.

    Source: model §6; an ephemeral memory is kept for its kind's horizon from max(created, last confirmed).
    """
    if memory.importance.pinned:
        return None
    match memory.lifetime.kind:
        case LifetimeKind.UNTIL:
            return memory.lifetime.expires_at
        case LifetimeKind.EPHEMERAL:
            start = max(memory.origin.created_at, memory.confidence.last_confirmed_at or memory.origin.created_at)
            try:
                return start + timedelta(days=decay.ephemeral_days)
            except OverflowError:
                return None
        case LifetimeKind.PERMANENT | LifetimeKind.STANDARD:
            return None
        case _:
            assert_never(memory.lifetime.kind)


def is_expired(memory: MemoryState, now: datetime, decay: Decay) -> bool:
    """True from the instant on at which the lifetime ended."""
    end = expires_at(memory, decay)
    return end is not None and now >= end


def status(memory: MemoryState, now: datetime, decay: Decay, *, superseded: bool) -> Status:
    """The status of a memory at an instant.

    Args:
        memory: Its state.
        now: Aware instant.
        decay: How its kind fades.
        superseded: Whether a memory that holds at the instant in question, and that the viewer may see, has taken
            its place.

    Returns: The strongest of erased > deleted > withdrawn > archived > superseded > expired > stale > active.
    Source: model §3.
    """
    stored = _STORED.get(memory.lifecycle.stored)
    if stored is not None:
        return stored
    if superseded:
        return Status.SUPERSEDED
    if is_expired(memory, now, decay):
        return Status.EXPIRED
    if _since(memory) <= now and effective_confidence(memory, now, decay) < decay.stale_below:
        return Status.STALE
    return Status.ACTIVE
