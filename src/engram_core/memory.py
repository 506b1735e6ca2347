"""The rules of a memory: what each command changes, given what is known and who asks. Pure.

`decide` looks at a `Known`: the memories that the command names, as far as the actor may see them, and the few facts
about the rest of the space that a rule needs (a twin, a taken id, what an edge could lead back to). It answers with
changes, with none when all is so already, or with an error that says what to do.
"""

from __future__ import annotations

from typing import assert_never

from attrs import evolve as replaced

from engram_core.commands import (
    AddEvidence,
    AddLink,
    AdjustImportance,
    Archive,
    Command,
    Confirm,
    Contradict,
    Delete,
    Edit,
    MarkDistinct,
    Merge,
    Remember,
    RemoveLink,
    Resolve,
    Restore,
    SetLifetime,
    SetValidity,
    SetVisibility,
    Supersede,
    Tag,
    Unmerge,
    UpdateAttributes,
)
from engram_core.decider import Change, Context, Decider
from engram_core.drafting import checked_note
from engram_core.errors import IllegalTransitionError
from engram_core.events import MarkedDistinct, MemoryDeleted, MemoryLifetimeChanged, RecordedEvent
from engram_core.folding import evolve, fold
from engram_core.kinds import KindRegistry
from engram_core.known import GONE, Known, one, other_of, visible
from engram_core.legality import LEGAL
from engram_core.rules import beginning, belief, content, edges, joining
from engram_core.state import MemoryState
from engram_core.vocab import StoredStatus

__all__ = ["LEGAL", "Known", "MemoryState", "decide", "evolve", "fold", "memory_decider"]


def memory_decider(kinds: KindRegistry) -> Decider[Command, Known]:
    """The rules as a `Decider` over everything known, for a registry of kinds."""

    def evolved(known: Known, recorded: RecordedEvent) -> Known:
        state = evolve(known.memories.get(recorded.stream), recorded, upcast=kinds.upcast)
        assert state is not None  # any event begins a memory, if it is the first that is known of it
        return replaced(
            known, memories={**known.memories, recorded.stream: state}, taken=known.taken | {recorded.stream}
        )

    return Decider(Known(), decide, evolved)


def decide(command: Command, known: Known, ctx: Context) -> tuple[Change, ...]:
    """What a command changes.

    Args:
        command: What is asked for.
        known: The memories it names and the facts it needs.
        ctx: Who asks, when, and by which rules.

    Returns: Changes to append together; none when nothing is to change.
    Raises: RejectedError (and its kinds) when the rules say no; NotFoundError for what the actor may not see.
    """
    if isinstance(command, Remember):
        return beginning.remember(command, known, ctx)
    memory = visible(command.memory_id, known)
    _check_legal(command, memory)
    match command:
        case Edit():
            return one(memory, content.edit(command, memory, ctx))
        case UpdateAttributes():
            return one(memory, content.update(command, memory, ctx))
        case Tag():
            return one(memory, content.tag(command, memory, ctx))
        case AddLink():
            return edges.link(command, memory, known, ctx)
        case RemoveLink():
            return edges.unlink(command, memory, known, ctx)
        case AddEvidence():
            return one(memory, belief.add_evidence(command, memory, ctx))
        case Confirm():
            return belief.confirm(command, memory, ctx)
        case Contradict():
            return belief.contradict(command, memory, known, ctx)
        case AdjustImportance():
            return one(memory, content.adjust(command, memory))
        case SetVisibility():
            return one(memory, content.set_visibility(command, memory, ctx))
        case SetLifetime():
            changed = command.lifetime != memory.lifetime
            return one(memory, MemoryLifetimeChanged(command.lifetime) if changed else None)
        case SetValidity():
            return one(memory, content.set_validity(command, memory))
        case Supersede():
            return joining.supersede(command, memory, known, ctx)
        case Merge():
            return joining.merge(command, memory, known, ctx)
        case Unmerge():
            return joining.unmerge(memory, known)
        case MarkDistinct():
            other = other_of(command.other, memory, known)
            same = command.other in memory.edges.distinct or memory.id in other.edges.distinct
            return one(memory, None if same else MarkedDistinct(command.other))
        case Resolve():
            return belief.resolve(command, memory, known, ctx)
        case Archive():
            return one(memory, content.archive(command, memory, ctx))
        case Restore():
            return one(memory, content.restore(command, memory, ctx))
        case Delete():
            return one(memory, MemoryDeleted(checked_note(command.note, ctx.limits)))
        case _:
            assert_never(command)


def _check_legal(command: Command, memory: MemoryState) -> None:
    legal = LEGAL[type(command)]
    stored = memory.lifecycle.stored
    if stored in legal.stored:
        return
    verb = type(command).__name__
    hint = "restore it first" if stored is StoredStatus.ARCHIVED else ""
    if stored in GONE:
        hint = "only erase works on it" if stored is StoredStatus.DELETED else "nothing works on it"
    raise IllegalTransitionError(
        f"{verb} is not possible on a memory that is {stored}",
        hint=hint,
        memory_id=memory.id,
        stored=stored.value,
    )
