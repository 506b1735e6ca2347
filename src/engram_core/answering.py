"""What a command_id was answered with before, as far as the events of its batch tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from engram_core import commands as asked
from engram_core import events as ev
from engram_core.commands import Command
from engram_core.errors import ConflictError, InvalidAttributesError, Problem
from engram_core.events import DraftAdded, Event, MemoryReverted, ProposalRebased, ProposalUndone, RecordedEvent
from engram_core.log import Author, command_key
from engram_core.proposal import is_proposal_stream, named, proposal_stream
from engram_core.receipts import Receipt
from engram_core.values import text_problem
from engram_core.vocab import ReceiptStatus
from engram_core.work import Work

__all__ = ["answered", "check_answers", "decision_receipt", "named_command"]

_WRITES: Final[Mapping[type[Command], tuple[type[Event], ...]]] = {
    asked.Remember: (ev.MemoryCreated, ev.MemoryConfirmed, ev.MemoryEvidenceAdded),
    asked.Edit: (ev.MemoryEdited,),
    asked.UpdateAttributes: (ev.MemoryAttributesUpdated,),
    asked.Tag: (ev.MemoryTagged,),
    asked.AddLink: (ev.MemoryLinked, ev.MemorySuperseded),
    asked.RemoveLink: (ev.MemoryUnlinked,),
    asked.AddEvidence: (ev.MemoryEvidenceAdded,),
    asked.Confirm: (ev.MemoryConfirmed, ev.MemoryEvidenceAdded),
    asked.Contradict: (ev.MemoryContradicted,),
    asked.AdjustImportance: (ev.MemoryImportanceAdjusted,),
    asked.SetVisibility: (ev.MemoryVisibilityChanged,),
    asked.SetLifetime: (ev.MemoryLifetimeChanged,),
    asked.SetValidity: (ev.MemoryValidityChanged,),
    asked.Supersede: (ev.MemorySuperseded,),
    asked.Merge: (ev.MemoryMerged,),
    asked.Unmerge: (ev.MemoryUnmerged,),
    asked.MarkDistinct: (ev.MarkedDistinct,),
    asked.Resolve: (ev.ContradictionResolved, ev.MemoryArchived),
    asked.Archive: (ev.MemoryArchived,),
    asked.Restore: (ev.MemoryRestored, ev.MemoryLifetimeChanged),
    asked.Delete: (ev.MemoryDeleted,),
}
"""What a command may write, if it writes anything."""


def named_command(author: Author, command_id: object) -> str | None:
    """The key of an author's command_id in the log; None where none was given."""
    if command_id is None:
        return None
    if problem := text_problem(command_id, at_most=200, blank=False):
        raise InvalidAttributesError("command", [Problem("command_id", problem)])
    assert isinstance(command_id, str)
    return command_key(author.actor, command_id)


def answered(work: Work) -> tuple[RecordedEvent, ...] | None:
    """What was written under the submission's command_id before; None if nothing was."""
    if work.key is None:
        return None
    row = work.tx.execute(
        "SELECT b.position FROM commands c JOIN batches b ON b.batch_id = c.batch_id WHERE c.command_key = ?",
        (work.key,),
    ).fetchone()
    return None if row is None else work.core.log.batch(row[0])


def check_answers(events: Sequence[RecordedEvent], commands: Iterable[Command]) -> None:
    """Refuses a command_id under which something else was written before, instead of taking that for the answer.

    Raises: ConflictError. What was erased since is taken to fit.
    """
    if not any(_answers(event, command) for command in commands for event in events):
        raise _another()


def _answers(recorded: RecordedEvent, command: Command) -> bool:
    """True for an event that the command may have written, or a draft of it."""
    if recorded.type == DraftAdded.__name__:
        draft = recorded.event
        if not isinstance(draft, DraftAdded):
            return True
        begins = isinstance(command, asked.Remember)
        return type(draft.command) is type(command) and (begins or draft.command.memory_id == command.memory_id)
    if recorded.type not in {cls.__name__ for cls in _WRITES[type(command)]}:
        return False
    return isinstance(command, asked.Remember) or recorded.stream in named(command)


def _another() -> ConflictError:
    return ConflictError(
        "this command_id names another command, which was carried out before",
        hint="give every command a name of its own",
    )


def decision_receipt(
    work: Work,
    events: tuple[RecordedEvent, ...],
    told: tuple[Event, ...],
    wrote: Sequence[type[Event]],
    about: str | None,
) -> Receipt:
    """The receipt of a decision about a proposal, of a quarantine, an undo or a redo, from what it wrote.

    Args:
        work: The submission.
        events: Of the batch.
        told: Of the events those that the author may know of.
        wrote: What such a decision writes.
        about: The proposal or batch that is decided about.

    Raises: ConflictError when the batch came of another decision, or of one about something else.
    """
    if not any(type(e.event) in wrote and about in (None, *_subjects(work, e)) for e in events):
        raise _another()
    batch_id = events[0].batch_id
    changed = next((e.stream for e in events if work.is_memory(e.stream)), None)
    decided = next((e for e in events if is_proposal_stream(e.stream)), None)
    if decided is None or any(isinstance(e.event, MemoryReverted | ProposalUndone) for e in events):
        return Receipt(status=ReceiptStatus.CHANGED, memory_id=changed, batch_id=batch_id, events=told)
    proposal_id = decided.stream.removeprefix(proposal_stream(""))
    proposal = work.core.proposal_of(proposal_id)
    number = next(iter(getattr(decided.event, "drafts", ())), 1)
    draft = None if proposal is None or isinstance(decided.event, ProposalRebased) else proposal.draft(number)
    opened = any(e.type == DraftAdded.__name__ for e in events)
    return Receipt(
        status=ReceiptStatus.PROPOSED if opened else ReceiptStatus.CHANGED,
        proposal_id=proposal_id,
        memory_id=None if draft is None else draft.memory_id,
        batch_id=batch_id,
        events=() if opened else told,
    )


def _subjects(work: Work, recorded: RecordedEvent) -> tuple[str, ...]:
    """What an event of a decision was about: a proposal, or a batch and all that turned it before."""
    event = recorded.event
    if not isinstance(event, MemoryReverted | ProposalUndone):
        return (recorded.stream.removeprefix(proposal_stream("")),)
    before = work.core.log.stream(recorded.stream, upto=recorded.version - 1)
    turns = [e for e in before if isinstance(e.event, MemoryReverted | ProposalUndone)]
    return (event.batch_id, *(e.batch_id for e in turns if getattr(e.event, "batch_id", "") == event.batch_id))
