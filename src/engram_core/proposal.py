"""The aggregate of a change that waits for a user: its drafts are commands, and it is open until somebody decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from reprlib import Repr
from typing import Any

from attrs import evolve as replaced
from attrs import fields, frozen

from engram_core.commands import Command, Contradict, Remember, Resolve
from engram_core.errors import ForbiddenError, IllegalTransitionError, InvalidAttributesError, Problem
from engram_core.events import (
    DraftAdded,
    ErasedPayload,
    ProposalMerged,
    ProposalOpened,
    ProposalRebased,
    ProposalRejected,
    ProposalUndone,
    ProposalWithdrawn,
    RecordedEvent,
)
from engram_core.identity import pair_of, pair_owner
from engram_core.values import Actor, EvidenceRef
from engram_core.vocab import ActorKind, ProposalStatus

__all__ = [
    "Proposal",
    "ProposedChange",
    "check_decision",
    "draft_owner",
    "fold_proposal",
    "is_proposal_stream",
    "memory_of",
    "named",
    "note_owner",
    "proposal_stream",
    "usual_title",
    "words_owner",
]

_PREFIX = "$proposal/"
_WORDS = "/words"
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 80


def proposal_stream(proposal_id: str) -> str:
    """The stream in which a proposal lives; no memory's id begins with "$"."""
    return _PREFIX + proposal_id


def words_owner(proposal_id: str) -> str:
    """The owner of what is said about several memories at once; it goes as soon as one of them is erased."""
    return proposal_stream(proposal_id) + _WORDS


def note_owner(proposal_id: str) -> str:
    """The owner of the words of a decision, which go with all other words; what was decided stays without them."""
    return words_owner(proposal_id) + "/note"


def named(command: Command) -> frozenset[str]:
    """The memories that a command names, the one it would change or begin among them."""
    links = command.links if isinstance(command, Remember) else ()
    others = [getattr(command, name, None) for name in ("target", "by", "source", "other")]
    return frozenset({command.memory_id, *(link.target for link in links), *(id for id in others if id is not None)})


def draft_owner(command: Command, memory_id: str) -> str:
    """Who owns a draft: its memory; where it has words about two memories, both."""
    match command:
        case Contradict(by=str(by)) if command.note or command.evidence is not None:
            return pair_owner(memory_id, by)
        case Resolve(other=other) if command.note:
            return pair_owner(memory_id, other)
        case _:
            return memory_id


def usual_title(commands: Sequence[Command]) -> str:
    """What a proposal is called if its author does not say; without any text of a memory, since it may outlive it."""
    first = commands[0]
    if isinstance(first, Remember):
        name = f"Remember a {first.kind}"
    else:
        name = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in type(first).__name__)
        name = name.strip().capitalize()
    return name if len(commands) == 1 else f"{name}, and {len(commands) - 1} more"


def memory_of(owner: str) -> str:
    """The memory that a draft would change, or begin, by the owner of its payload."""
    pair = pair_of(owner)
    return owner if pair is None else pair[0]


def is_proposal_stream(stream: str) -> bool:
    """True for the streams of proposals."""
    return stream.startswith(_PREFIX)


@frozen(kw_only=True, repr=False)
class ProposedChange:
    """One command of a proposal.

    Attributes:
        number: Its place, from 1.
        command: What would be done; None once its payload is erased.
        memory_id: The memory that it would change, or begin.
        base_revision: The memory's revision when it was drafted, 0 for one that is to begin.
        drafted_at: When it was drafted: rules of time are judged then.
        status: open, merged, rejected, withdrawn or undone.
    """

    number: int
    command: Command | None
    memory_id: str
    base_revision: int
    drafted_at: datetime
    status: ProposalStatus = ProposalStatus.OPEN

    @property
    def may_be_decided(self) -> bool:
        """True while nobody has decided it; an erased one still closes together with those beside it."""
        return self.status is ProposalStatus.OPEN or (self.command is None and self.status is ProposalStatus.WITHDRAWN)

    def __repr__(self) -> str:
        asked = "erased" if self.command is None else _told(self.command)
        return f"<draft {self.number} on {self.memory_id} at revision {self.base_revision}, {self.status}: {asked}>"


def _told(command: Command) -> str:
    """A command in a line: what is at its default is left out, and long texts are cut."""
    given = {a.name: getattr(command, a.name) for a in fields(type(command))}
    told = (
        f"{a.name}={_SHORT.repr(given[a.name])}"
        for a in fields(type(command))
        if a.name != "memory_id" and given[a.name] != a.default
    )
    return f"{type(command).__name__}({', '.join(told)})"


@frozen(kw_only=True)
class Proposal:
    """A proposal as its events left it.

    Attributes:
        id: Its id.
        author: Who asks; None once everything of his is erased.
        title, rationale, evidence: What he says.
        status: open, merged, rejected, withdrawn or undone.
        drafts: Its drafts, by number.
        session_id, client: Through what he asked.
        opened_at: When.
        decided_at, decided_by, note: When, by whom and with which words it was closed.
        batch_id: The batch that it was merged in.
        revision: Version of its stream.
    """

    id: str
    author: Actor | None
    author_kind: ActorKind
    title: str = ""
    rationale: str = ""
    evidence: tuple[EvidenceRef, ...] = ()
    status: ProposalStatus = ProposalStatus.OPEN
    drafts: tuple[ProposedChange, ...] = ()
    session_id: str | None = None
    client: str | None = None
    opened_at: datetime
    decided_at: datetime | None = None
    decided_by: Actor | None = None
    note: str = ""
    batch_id: str | None = None
    revision: int = 0

    def open_drafts(self) -> tuple[ProposedChange, ...]:
        """The drafts that nobody has decided yet, in order."""
        return tuple(draft for draft in self.drafts if draft.status is ProposalStatus.OPEN)

    def draft(self, number: int) -> ProposedChange | None:
        """The draft of a number; None if there is none."""
        return next((draft for draft in self.drafts if draft.number == number), None)


def fold_proposal(events: Iterable[RecordedEvent], state: Proposal | None = None) -> Proposal | None:
    """The state of a proposal after some more events of its stream. Total, like every fold."""
    for recorded in events:
        state = _evolve(state, recorded)
    return state


def _evolve(state: Proposal | None, recorded: RecordedEvent) -> Proposal:
    if state is None:
        state = Proposal(
            id=recorded.stream.removeprefix(_PREFIX),
            author=recorded.actor,
            author_kind=recorded.actor_kind,
            opened_at=recorded.occurred_at,
            session_id=recorded.session_id,
            client=recorded.client,
        )
    state = replaced(state, revision=recorded.version)
    match recorded.event:
        case ProposalOpened(title=title, rationale=rationale, evidence=evidence):
            return replaced(state, title=title, rationale=rationale, evidence=evidence)
        case DraftAdded() as added:
            draft = ProposedChange(
                number=added.draft,
                command=added.command,
                memory_id=added.memory_id,
                base_revision=added.base_revision,
                drafted_at=added.drafted_at,
            )
            drafts = (*state.drafts, draft)
            return replaced(state, author=state.author or recorded.actor, drafts=drafts, status=ProposalStatus.OPEN)
        case ErasedPayload(type="DraftAdded"):
            number = len(state.drafts) + 1
            erased = ProposedChange(
                number=number,
                command=None,
                memory_id=memory_of(recorded.owner),
                base_revision=0,
                drafted_at=recorded.occurred_at,
                status=ProposalStatus.WITHDRAWN,
            )
            state = replaced(state, drafts=(*state.drafts, erased))
            return state if state.open_drafts() else replaced(state, status=ProposalStatus.WITHDRAWN)
        case ProposalRebased(bases=bases):
            moved = dict(bases)
            return _changed(state, lambda d: replaced(d, base_revision=moved.get(d.number, d.base_revision)))
        case ProposalMerged(drafts=numbers):
            return _closed(state, recorded, numbers, ProposalStatus.MERGED, batch_id=recorded.batch_id)
        case ProposalRejected(drafts=numbers, note=note):
            return _closed(state, recorded, numbers or _open(state), ProposalStatus.REJECTED, note=note)
        case ErasedPayload(type="ProposalRejected") if recorded.owner != note_owner(state.id):
            return _closed(state, recorded, _erased_decision(state, recorded.owner), ProposalStatus.REJECTED)
        case ProposalWithdrawn(note=note):
            return _closed(state, recorded, _open(state), ProposalStatus.WITHDRAWN, note=note)
        case ErasedPayload(type="ProposalWithdrawn"):
            return _closed(state, recorded, _open(state), ProposalStatus.WITHDRAWN)
        case ProposalUndone(drafts=numbers, redo=redo):
            before, after = ProposalStatus.MERGED, ProposalStatus.UNDONE
            if redo:
                before, after = after, before
            state = _changed(
                state, lambda d: replaced(d, status=after) if d.status is before and d.number in numbers else d
            )
            return _settled(state, after)
        case _:
            return state


def _open(state: Proposal) -> tuple[int, ...]:
    return tuple(draft.number for draft in state.open_drafts())


def _changed(state: Proposal, change: Callable[[ProposedChange], ProposedChange]) -> Proposal:
    return replaced(state, drafts=tuple(change(draft) for draft in state.drafts))


def _erased_decision(state: Proposal, owner: str) -> tuple[int, ...]:
    """The drafts that a decision was about whose payload is erased: all, or those of the one memory it concerned."""
    undecided = [d for d in state.drafts if d.may_be_decided]
    if owner == words_owner(state.id):
        return tuple(d.number for d in undecided)
    return tuple(d.number for d in undecided if d.command is None and d.memory_id == owner)


def _closed(
    state: Proposal, recorded: RecordedEvent, numbers: Iterable[int], status: ProposalStatus, **fields: Any
) -> Proposal:
    """Drafts get a status; the proposal is closed as soon as none is open, as merged if any of them was."""
    decided = set(numbers)
    state = _changed(
        replaced(state, **fields),
        lambda d: replaced(d, status=status) if d.number in decided and d.may_be_decided else d,
    )
    if state.open_drafts():
        return state
    return replaced(_settled(state, status), decided_at=recorded.occurred_at, decided_by=recorded.actor)


def _settled(state: Proposal, status: ProposalStatus) -> Proposal:
    """The status of the whole: open as long as a draft is, merged if one was, else what happened last."""
    left = {draft.status for draft in state.drafts}
    for first in (ProposalStatus.OPEN, ProposalStatus.MERGED):
        if first in left:
            return replaced(state, status=first)
    return replaced(state, status=status)


def check_decision(
    state: Proposal, actor: Actor, only: Iterable[int] | None, *, own: bool = False
) -> tuple[ProposedChange, ...]:
    """The open drafts that a decision is about.

    Args:
        state: The proposal.
        actor: Who decides: a user; with `own`, its author may, too.
        only: Numbers of drafts; None: all that are open.

    Raises: ForbiddenError for others; IllegalTransitionError when it is closed; InvalidAttributesError for a draft
        that is not open.
    """
    if not actor.is_user and not (own and actor == state.author):
        raise ForbiddenError("only users decide about proposals", hint="ask a user", proposal_id=state.id)
    if state.status is not ProposalStatus.OPEN:
        raise IllegalTransitionError(
            f"the proposal {state.id} is {state.status}", hint="only an open one can be decided", proposal_id=state.id
        )
    drafts = {draft.number: draft for draft in state.open_drafts()}
    if only is None:
        return tuple(drafts.values())
    wanted = _numbers(only)
    if not wanted:
        raise InvalidAttributesError("proposal", [Problem("only", "names no draft; leave it out to mean all")])
    if unknown := [number for number in wanted if number not in drafts]:
        problem = f"{unknown} are not open; open are {sorted(drafts)}"
        raise InvalidAttributesError("proposal", [Problem("only", problem)])
    return tuple(drafts[number] for number in wanted)


def _numbers(only: object) -> tuple[int, ...]:
    given = tuple(only) if isinstance(only, Iterable) and not isinstance(only, type) else (None,)
    if any(isinstance(number, bool) or not isinstance(number, int) for number in given):
        raise InvalidAttributesError("proposal", [Problem("only", "must be a list of the numbers of drafts")])
    return tuple(dict.fromkeys(given))
