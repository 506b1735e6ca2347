"""Why a memory is believed: from its own events, and from what stands around it. Source: model §8."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engram_core.events import MemoryContradicted, MemoryCreated, RecordedEvent
from engram_core.folding import fold
from engram_core.reads.disputes import disputes, undermined
from engram_core.reads.memories import by_keys, memory
from engram_core.reads.past import seen_events, states
from engram_core.reads.snapshot import Snapshot
from engram_core.results.accounts import BeliefChange, GivenEvidence, Why
from engram_core.results.memory import Memory

__all__ = ["why"]


def why(snapshot: Snapshot, id: str) -> Why:
    """Where a memory comes from, what supports it, who moved its confidence, what it rests on and what rests on it.

    Raises: NotFoundError.
    """
    found = memory(snapshot, id)
    key = snapshot.key(id)
    assert key is not None
    seen = seen_events(snapshot, id)
    against = disputes(snapshot, [key]).get(key, [])
    rests_on = _ends(snapshot, key, "source", "target", "derived_from")
    supports = _ends(snapshot, key, "target", "source", "derived_from")
    superseded_by = [row[0] for row in snapshot.all(_SUPERSEDERS.format(shown=snapshot.sql.shown("n")), {"key": key})]
    around = by_keys(snapshot, {*against, *rests_on, *supports, *superseded_by})

    def listed(keys: Iterable[int]) -> tuple[Memory[Any], ...]:
        return tuple(sorted((around[key] for key in keys if key in around), key=lambda m: m.id))

    return Why(
        memory=found,
        source=found.source,
        proposal_id=_proposal(snapshot, id),
        evidence=_evidence(snapshot, id),
        confidence=_changes(snapshot, id, seen),
        rests_on=listed(rests_on),
        supports=listed(supports),
        disputed_by=listed(against),
        superseded_by=listed(superseded_by),
        undermined=tuple(undermined(snapshot, [key]).get(key, ())),
    )


_SUPERSEDERS = (
    "SELECT n.key FROM supersessions s JOIN memories n ON n.key = s.new"
    " WHERE s.old = :key AND s.effective_at <= :valid AND {shown}"
)


def _ends(snapshot: Snapshot, key: int, near: str, far: str, relation: str) -> list[int]:
    rows = snapshot.all(
        f"SELECT l.{far} FROM links l WHERE l.{near} = :key AND l.relation = :relation",
        {"key": key, "relation": relation},
    )
    return [row[0] for row in rows]


def _all_events(snapshot: Snapshot, id: str) -> tuple[RecordedEvent, ...]:
    known = snapshot.known
    return tuple(event for event in snapshot.library.log.stream(id) if event.position <= known)


def _proposal(snapshot: Snapshot, id: str) -> str | None:
    """The proposal through which it came: like its source, a fact about the memory as it stands."""
    first = next(iter(_all_events(snapshot, id)), None)
    return None if first is None else first.causation_id


def _evidence(snapshot: Snapshot, id: str) -> tuple[GivenEvidence, ...]:
    """All evidence that stands, with who gave it; it is part of the memory as it is, whoever saw it come."""
    last = fold(_all_events(snapshot, id), upcast=snapshot.library.kinds.upcast)
    if last is None:
        return ()
    return tuple(GivenEvidence(evidence=item.ref, actor=item.actor, at=item.at) for item in last.evidence)


def _changes(snapshot: Snapshot, id: str, seen: tuple[RecordedEvent, ...]) -> tuple[BeliefChange, ...]:
    """Every change of stored confidence that the viewer may know of."""
    shown = {event.position for event in seen}
    found = []
    for before, recorded, after in states(snapshot, _all_events(snapshot, id)):
        old = None if before is None else before.confidence.confidence
        new = after.confidence.confidence
        told = isinstance(recorded.event, MemoryCreated | MemoryContradicted)
        if recorded.position not in shown or (old == new and not told):
            continue
        by = getattr(recorded.event, "by", None) if isinstance(recorded.event, MemoryContradicted) else None
        if by is not None and not snapshot.sees_all and snapshot.key(by) is None:
            by = None
        found.append(
            BeliefChange(
                type=recorded.type,
                at=recorded.occurred_at,
                actor=recorded.actor,
                on_behalf_of=recorded.on_behalf_of,
                proposal_id=recorded.causation_id,
                before=old,
                after=new,
                by=by,
            )
        )
    return tuple(found)
