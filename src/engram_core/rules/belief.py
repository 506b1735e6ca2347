"""Evidence, voices for and against, and how a dispute ends."""

from __future__ import annotations

from datetime import timedelta

from engram_core.commands import AddEvidence, Confirm, Contradict, Resolve
from engram_core.decider import Change, Context
from engram_core.drafting import check_evidence, checked_note
from engram_core.errors import ForbiddenError, InvalidAttributesError, Problem
from engram_core.events import (
    ContradictionResolved,
    MemoryArchived,
    MemoryConfirmed,
    MemoryContradicted,
    MemoryEvidenceAdded,
    MemoryNoted,
    MemoryUnlinked,
)
from engram_core.folding import dispute_key
from engram_core.identity import pair_owner
from engram_core.known import Known, cap_of, mirrored, one, other_of
from engram_core.state import MemoryState
from engram_core.values import EvidenceRef, Link
from engram_core.vocab import ActorKind, ArchiveReason, Relation, StoredStatus

__all__ = ["add_evidence", "confirm", "contradict", "resolve"]


def add_evidence(command: AddEvidence, memory: MemoryState, ctx: Context) -> MemoryEvidenceAdded:
    """Evidence; where it corroborates and is new it raises confidence."""
    _check_support(command.evidence, memory, ctx)
    if not command.corroborates or _is_known(command.evidence, memory):
        return MemoryEvidenceAdded(command.evidence)
    vouched = ctx.actor.kind is not ActorKind.ASSISTANT
    return MemoryEvidenceAdded(command.evidence, ctx.policy.corroboration, cap_of(ctx), vouched)


def _check_support(evidence: EvidenceRef, memory: MemoryState, ctx: Context) -> None:
    """Refuses evidence that does not fit, or that is one too many."""
    check_evidence((evidence,), ctx.limits)
    if len(memory.evidence) >= ctx.limits.evidences:
        raise InvalidAttributesError("memory", [Problem("evidence", f"at most {ctx.limits.evidences:,} are allowed")])


def _is_known(evidence: EvidenceRef, memory: MemoryState) -> bool:
    """True when the same reference supports the memory already, whatever its note."""
    same = (evidence.type, evidence.value)
    return any((item.ref.type, item.ref.value) == same for item in memory.evidence)


def confirm(command: Confirm, memory: MemoryState, ctx: Context) -> tuple[Change, ...]:
    """A voice for it, and what it rests on."""
    fresh = False
    changes: list[Change] = []
    if command.evidence is not None:
        _check_support(command.evidence, memory, ctx)
        fresh = not _is_known(command.evidence, memory)
        changes += one(memory, MemoryEvidenceAdded(command.evidence))
    if not fresh and _repeats(memory, ctx):
        return ()
    weight = ctx.policy.weights(ctx.actor.kind).confirm
    vouched = ctx.actor.is_user or (fresh and ctx.actor.kind is not ActorKind.ASSISTANT)
    return (*changes, *one(memory, MemoryConfirmed(weight, cap_of(ctx), vouched)))


def _repeats(memory: MemoryState, ctx: Context) -> bool:
    """True when this actor confirmed so lately that doing it again says nothing new.

    A user's word counts again as soon as somebody has disputed the memory since.
    """
    last = memory.confidence.confirmed.get(ctx.actor)
    if last is None or ctx.occurred_at - last >= timedelta(hours=ctx.policy.repeat_hours):
        return False
    return not (ctx.actor.is_user and memory.confidence.disputed > memory.confidence.user_confirmed)


def contradict(command: Contradict, memory: MemoryState, known: Known, ctx: Context) -> tuple[Change, ...]:
    """A voice against it, by another memory, by evidence or by word alone."""
    other = None if command.by is None else other_of(command.by, memory, known)
    source = memory.origin.source
    if not ctx.actor.is_user and source is not None and ctx.actor in (source.actor, source.on_behalf_of):
        raise ForbiddenError(
            "nobody disputes what he said himself", hint="edit or archive it instead", memory_id=memory.id
        )
    if command.evidence is not None:
        check_evidence((command.evidence,), ctx.limits)
    note = checked_note(command.note, ctx.limits)
    belief = memory.confidence
    said_before = (ctx.actor, dispute_key(command.by, command.evidence)) in belief.disputes
    if said_before and not (ctx.actor.is_user and belief.user_confirmed > belief.disputed):
        return ()
    floor = 0.0 if ctx.actor.is_user else ctx.policy.confidence_floor
    weight = ctx.policy.weights(ctx.actor.kind).contradict
    if other is None:
        changes = one(memory, MemoryContradicted(weight, floor, None, command.evidence, note))
    else:
        changes = one(memory, MemoryContradicted(weight, floor, other.id))
        changes += _noted(memory, other.id, note, command.evidence)
    if other is not None and mirrored(Link(Relation.CONTRADICTS, other.id), memory, known):
        # The pair has one edge, and this is where the newest dispute stands.
        changes = (*one(other, MemoryUnlinked(Relation.CONTRADICTS, memory.id)), *changes)
    return changes


def resolve(command: Resolve, memory: MemoryState, known: Known, ctx: Context) -> tuple[Change, ...]:
    """A dispute between two ends: one side is kept, or both."""
    other = other_of(command.other, memory, known)
    if command.keep not in (memory.id, other.id, "both"):
        raise InvalidAttributesError("resolve", [Problem("keep", 'must be one of the two memories, or "both"')])
    note = checked_note(command.note, ctx.limits)
    changes: list[Change] = []
    if not _is_resolved(command.keep, memory, other):
        changes += one(memory, ContradictionResolved(other.id, command.keep))
    for side in (memory, other):
        if command.keep not in (side.id, "both") and side.lifecycle.stored is StoredStatus.ACTIVE:
            changes += one(side, MemoryArchived(ArchiveReason.WRONG))
    return (*changes, *_noted(memory, other.id, note)) if changes else ()


def _noted(memory: MemoryState, other: str, note: str, evidence: EvidenceRef | None = None) -> tuple[Change, ...]:
    """What is said of two memories belongs to both; nothing is said without words."""
    if not note and evidence is None:
        return ()
    return (Change(memory.id, MemoryNoted(other, note, evidence), pair_owner(memory.id, other)),)


def _is_resolved(keep: str, memory: MemoryState, other: MemoryState) -> bool:
    """True when the two were settled in this way, and nobody has disputed either since."""
    settled = [side.edges.resolved.get(id) for side, id in ((memory, other.id), (other, memory.id))]
    last = max((found for found in settled if found is not None), key=lambda found: found.position, default=None)
    if last is None or last.keep != keep:
        return False
    edges = [(memory, Link(Relation.CONTRADICTS, other.id)), (other, Link(Relation.CONTRADICTS, memory.id))]
    begun = [side.edges.links.get(link, 0) for side, link in edges]
    return last.position > max(*begun, memory.confidence.disputed, other.confidence.disputed)
