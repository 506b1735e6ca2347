"""The review desk: drafts become proposals, and a user's decision makes them events, or keeps them as not believed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from attrs import evolve as replaced

from engram_core.audience import sees_all
from engram_core.commands import (
    Archive,
    Command,
    Confirm,
    Contradict,
    Delete,
    MarkDistinct,
    Merge,
    Remember,
    RemoveLink,
    Resolve,
    SetLifetime,
    Supersede,
    Unmerge,
)
from engram_core.core import Request, Result, Terms
from engram_core.decider import Change
from engram_core.differing import differences
from engram_core.drafting import check_evidence, checked_note, checked_text
from engram_core.errors import (
    ConcurrencyError,
    ConflictError,
    EngramError,
    InvalidAttributesError,
    NotFoundError,
    Problem,
)
from engram_core.events import (
    DraftAdded,
    Event,
    MemoryAbsorbed,
    MemoryCreated,
    MemoryMerged,
    MemoryUnmerged,
    ProposalMerged,
    ProposalOpened,
    ProposalRebased,
    ProposalRejected,
    ProposalWithdrawn,
    RecordedEvent,
)
from engram_core.folding import fold
from engram_core.known import GONE
from engram_core.legality import LEGAL
from engram_core.lifecycle import decay_of, is_expired
from engram_core.log import Author
from engram_core.memory import decide
from engram_core.projections.proposals import draft_digest
from engram_core.proposal import (
    Proposal,
    ProposedChange,
    check_decision,
    draft_owner,
    is_proposal_stream,
    memory_of,
    named,
    note_owner,
    proposal_stream,
    usual_title,
    words_owner,
)
from engram_core.receipts import PossibleConflict, Receipt
from engram_core.redaction import redacted_words
from engram_core.state import MemoryState
from engram_core.touching import groups_touched
from engram_core.values import EvidenceRef
from engram_core.vocab import ReceiptStatus
from engram_core.work import Work
from engram_core.writing import Writer

__all__ = ["Desk"]


class Desk:
    """Opens, decides and changes proposals, over one writer."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    # -- asking -------------------------------------------------------------------------------------

    def propose(
        self,
        work: Work,
        requests: Sequence[Request],
        now: datetime,
        *,
        title: str = "",
        rationale: str = "",
        evidence: tuple[EvidenceRef, ...] = (),
        bounded: bool = True,
    ) -> Result:
        """Opens a proposal of drafts, each checked against today's state and what the drafts before it would do.

        Returns: A receipt for each request: proposed with the reserved id, duplicate, or unchanged.
        """
        writer = self.writer
        limits = writer.options.limits
        if bounded and len(requests) > limits.drafts:
            problem = Problem("drafts", f"has {len(requests):,}; at most {limits.drafts:,} are allowed")
            raise InvalidAttributesError("proposal", [problem])
        checked_text(title or None, checked_note(rationale, limits), limits)
        check_evidence(evidence, limits)
        work.assume = lambda wanted: self._assume(work, wanted, now)
        proposal_id = str(writer.options.ids())
        stream = proposal_stream(proposal_id)
        drafts: list[DraftAdded] = []
        receipts: list[Receipt] = []
        for request in requests:
            receipt = writer.decide(work, request, now)
            if receipt.status in (ReceiptStatus.DUPLICATE, ReceiptStatus.UNCHANGED) and receipt.batch_id is None:
                receipts.append(receipt)
                continue
            command = work.renamed(request.command)
            if (first := self._open_twin(work, command)) is not None:
                work.rename(command.memory_id, first[1])
                work.reprint(command.memory_id, first[1])
                receipts.append(Receipt(status=ReceiptStatus.DUPLICATE, proposal_id=first[0], memory_id=first[1]))
                continue
            before = work.before(command.memory_id)
            drafted_at = request.occurred_at or now
            base = 0 if before is None else before.revision
            # A draft that would confirm a twin holds the twin's text, and is erased with it.
            concerned = receipt.memory_id if isinstance(command, Remember) else None
            drafts.append(DraftAdded(len(drafts) + 1, command, concerned or command.memory_id, base, drafted_at))
            receipts.append(
                replaced(receipt, status=ReceiptStatus.PROPOSED, proposal_id=proposal_id, batch_id="", events=())
            )
        work.forget()
        if not drafts:
            return writer.nothing(receipts)
        owner = _owner(proposal_id, drafts)
        opened = ProposalOpened(title or usual_title([draft.command for draft in drafts]), rationale, evidence)
        work.take(
            (
                Change(stream, opened, owner),
                *(Change(stream, draft, draft_owner(draft.command, draft.memory_id)) for draft in drafts),
            ),
            now,
        )
        return writer.write(work, receipts, causation_id=proposal_id)

    def _open_twin(self, work: Work, command: Command) -> tuple[str, str] | None:
        """The open proposal of the same author that asks for the same, and the memory it is about."""
        row = work.tx.execute(
            "SELECT d.proposal, d.memory_id FROM drafts d JOIN proposals p ON p.id = d.proposal"
            " WHERE d.digest = ? AND d.status = 'open' AND p.author = ? ORDER BY p.position LIMIT 1",
            (draft_digest(command), str(work.author.actor)),
        ).fetchone()
        return None if row is None else (row[0], row[1])

    def _assume(self, work: Work, id: str, now: datetime) -> None:
        """Lets later drafts of an author build on a memory that he has only proposed so far."""
        row = work.tx.execute(
            "SELECT d.proposal, d.number FROM drafts d JOIN proposals p ON p.id = d.proposal"
            " WHERE d.memory_id = ? AND d.status = 'open' AND d.begins = 1 AND p.author = ? LIMIT 1",
            (id, str(work.author.actor)),
        ).fetchone()
        if row is None:
            return
        state = self.state(row[0])
        draft = None if state is None else state.draft(row[1])
        if draft is None or draft.command is None:
            return
        ctx = self.writer.context(work.author, now, draft.drafted_at)
        work.take(decide(draft.command, work.known(draft.command), ctx), draft.drafted_at)

    # -- deciding -----------------------------------------------------------------------------------

    def approve(
        self, author: Author, proposal_id: str, terms: Terms, *, only: Iterable[int] | None, confirm: bool
    ) -> Receipt:
        """Merges drafts as one atomic batch, each decided anew against today's state.

        Raises: ForbiddenError for others than users; ConflictError when a draft's ground has moved, with its number.
        """

        def decide(work: Work) -> Receipt:
            state = self._readable(work, proposal_id, terms)
            drafts = check_decision(state, author.actor, only)
            now = self.writer.now()
            for draft in drafts:
                self._merge(work, state, draft, now, confirm=confirm)
            stream = proposal_stream(state.id)
            merged = ProposalMerged(tuple(draft.number for draft in drafts), confirm)
            work.take((Change(stream, merged, stream),), now)
            return self._close(work, state, drafts)

        return self.writer.settle(author, terms, decide, ProposalMerged, about=proposal_id)

    def _merge(self, work: Work, state: Proposal, draft: ProposedChange, now: datetime, *, confirm: bool) -> None:
        command = draft.command
        if command is None or state.author is None:
            return
        command = work.renamed(command)
        if draft.base_revision:
            self._check_ground(work, command, draft)
        elif isinstance(command, Remember):
            work.before(command.memory_id)  # somebody may have begun one under this id meanwhile
        drafter = replaced(work.author, on_behalf_of=state.author, session_id=state.session_id, client=state.client)
        with work.acting_as(drafter):
            request = Request(command=command, occurred_at=draft.drafted_at)
            try:
                receipt = self.writer.decide(work, request, now)
            except EngramError as error:
                error.fields = {**error.fields, "draft": draft.number, "proposal_id": state.id}
                error.add_note(f"in draft {draft.number} of the proposal {state.id}")
                raise
        if isinstance(command, Remember | SetLifetime) and receipt.status is not ReceiptStatus.DUPLICATE:
            self._check_lasting(work, command, draft, now)
        if confirm and (vouched_for := _asserted(command, receipt)) is not None:
            vouching = Confirm(vouched_for)
            ctx = self.writer.context(work.author, now, None)
            work.take(decide(vouching, work.known(vouching), ctx), now)

    def _check_ground(self, work: Work, command: Command, draft: ProposedChange) -> None:
        """Refuses a draft under which the same fields have changed since."""
        try:
            work.check_revision(command, draft.base_revision)
        except ConcurrencyError as error:
            if isinstance(command, Merge) and self._only_merged(draft):
                return
            raise ConflictError(
                f"draft {draft.number} was drafted at revision {draft.base_revision}, and the same fields have"
                f" changed since ({error.message})",
                hint="rebase the proposal, which shows the difference",
                draft=draft.number,
                memory_id=draft.memory_id,
            ) from error

    def _only_merged(self, draft: ProposedChange) -> bool:
        """True when nothing but other merges touched what a merge touches: each brings its own, and none another's."""
        since = self.writer.log.stream(draft.memory_id, after=draft.base_revision)
        others = [e for e in since if not isinstance(e.event, MemoryMerged | MemoryAbsorbed | MemoryUnmerged)]
        return not any(groups_touched(e.event, e.stream) & LEGAL[Merge].groups for e in others)

    def _check_lasting(self, work: Work, command: Command, draft: ProposedChange, now: datetime) -> None:
        """Refuses a draft whose lifetime has ended while it waited."""
        options = self.writer.options
        memory = work.state(command.memory_id)
        if memory is not None and is_expired(memory, now, decay_of(memory.kind, options.policy, options.kinds)):
            raise ConflictError(
                f"draft {draft.number} has expired since it was drafted",
                hint="reject it, or propose it anew",
                draft=draft.number,
                memory_id=draft.memory_id,
            )

    def reject(
        self, author: Author, proposal_id: str, terms: Terms, *, note: str, only: Iterable[int] | None
    ) -> Receipt:
        """Closes drafts as not believed; they are kept, so that this can be explained."""
        return self._decided(author, proposal_id, terms, only, ProposalRejected, note=note)

    def withdraw(self, author: Author, proposal_id: str, terms: Terms) -> Receipt:
        """Takes a proposal back, by its author or a user."""
        return self._decided(author, proposal_id, terms, None, ProposalWithdrawn, own=True)

    def rebase(self, author: Author, proposal_id: str, terms: Terms) -> Receipt:
        """Sets every open draft upon today's revision of its memory; the receipt is unchanged if all were there.

        Its `possible_conflicts` say, for each draft that moved, what has changed under it.
        """

        def decide(work: Work) -> Receipt:
            state = self._readable(work, proposal_id, terms)
            bases = []
            moved = []
            for draft in check_decision(state, author.actor, None, own=True):
                memory = _shown(work, work.before(draft.memory_id))
                if draft.base_revision and memory is not None and memory.revision != draft.base_revision:
                    bases.append((draft.number, memory.revision))
                    moved.append(self._difference(work, draft, memory))
            if not bases:
                return Receipt(status=ReceiptStatus.UNCHANGED, proposal_id=state.id)
            stream = proposal_stream(state.id)
            work.take((Change(stream, ProposalRebased(tuple(bases)), stream),), self.writer.now())
            return replaced(self._close(work, state, ()), possible_conflicts=tuple(moved))

        return self.writer.settle(author, terms, decide, ProposalRebased, about=proposal_id)

    def _difference(self, work: Work, draft: ProposedChange, memory: MemoryState) -> PossibleConflict:
        """What has changed in a memory since a draft was made, in words."""
        upcast = self.writer.options.kinds.upcast
        before = _shown(work, fold(self.writer.log.stream(memory.id, upto=draft.base_revision), upcast=upcast))
        changed = [] if before is None else differences(before, memory)
        told = "; ".join(changed) or "nothing that is seen"
        return PossibleConflict(
            memory_id=memory.id, reason="rebased", hint=f"draft {draft.number}, since {draft.base_revision}: {told}"
        )

    def _decided(
        self,
        author: Author,
        proposal_id: str,
        terms: Terms,
        only: Iterable[int] | None,
        wrote: type[ProposalRejected | ProposalWithdrawn],
        *,
        note: str = "",
        own: bool = False,
    ) -> Receipt:
        checked_note(note, self.writer.options.limits)
        note = redacted_words(note, self.writer.options.redactor)

        def decide(work: Work) -> Receipt:
            state = self._readable(work, proposal_id, terms)
            drafts = check_decision(state, author.actor, only, own=own)
            stream = proposal_stream(state.id)
            numbers = tuple(draft.number for draft in drafts)
            said = {stream: ""} | ({note_owner(state.id): note} if note else {})
            for owner, words in said.items():  # what was decided outlives what was said about it
                event = ProposalRejected(numbers, words) if wrote is ProposalRejected else ProposalWithdrawn(words)
                work.take((Change(stream, event, owner),), self.writer.now())
            return self._close(work, state, drafts)

        return self.writer.settle(author, terms, decide, wrote, about=proposal_id)

    def _close(self, work: Work, state: Proposal, drafts: Sequence[ProposedChange]) -> Receipt:
        receipt = Receipt(
            status=ReceiptStatus.CHANGED,
            proposal_id=state.id,
            memory_id=drafts[0].memory_id if drafts else None,
            batch_id="",
        )
        result = self.writer.write(work, [receipt], causation_id=state.id)
        return replaced(result.receipts[0], events=tuple(e.event for e in result.events))

    # -- reading ------------------------------------------------------------------------------------

    def state(self, proposal_id: str) -> Proposal | None:
        """A proposal as its events left it; None if there is none."""
        return self.writer.proposal_of(proposal_id)

    def _readable(self, work: Work, proposal_id: str, terms: Terms) -> Proposal:
        state = self.state(proposal_id)
        if state is None or not (work.viewer.is_user or state.author == work.viewer):
            raise NotFoundError(f"there is no proposal {proposal_id}", proposal_id=proposal_id)
        if terms.expected_revision not in (None, state.revision):
            raise ConcurrencyError(f"the proposal {proposal_id}", terms.expected_revision, state.revision)
        return state

    def receipts_of(
        self, events: Sequence[RecordedEvent], requests: Sequence[Request], told: tuple[Event, ...]
    ) -> list[Receipt]:
        """The receipts that a recorded batch gave to the same requests before, as far as its events tell.

        Args:
            events: Of the batch.
            requests: The same again.
            told: Of the events those that the author may know of.
        """
        batch_id = events[0].batch_id
        opened = events[0].stream
        if is_proposal_stream(opened):
            proposal_id = opened.removeprefix(proposal_stream(""))
            reserved = iter([memory_of(e.owner) for e in events if e.type == DraftAdded.__name__])
            return [
                Receipt(
                    status=ReceiptStatus.PROPOSED,
                    proposal_id=proposal_id,
                    memory_id=next(reserved, None),
                    batch_id=batch_id,
                )
                for _ in requests
            ]
        created = iter([e.stream for e in events if e.type == MemoryCreated.__name__])
        receipts = []
        for request in requests:
            memory_id, status = request.command.memory_id, ReceiptStatus.CHANGED
            if isinstance(request.command, Remember):
                began = next(created, None)
                memory_id = began or events[0].stream
                status = ReceiptStatus.CREATED if began else ReceiptStatus.DUPLICATE
            receipts.append(Receipt(status=status, memory_id=memory_id, batch_id=batch_id, events=told))
        return receipts


def _shown(work: Work, memory: MemoryState | None) -> MemoryState | None:
    """A memory as the author of a submission may know it: one that is hidden or gone is none to him."""
    if memory is None or sees_all(work.viewer):
        return memory
    now = work.visible(memory.id)
    if now is None or now.lifecycle.stored in GONE:
        return None
    links = {link: began for link, began in memory.edges.links.items() if work.visible(link.target) is not None}
    return replaced(memory, edges=replaced(memory.edges, links=links))


def _owner(proposal_id: str, drafts: Sequence[DraftAdded]) -> str:
    """Who owns what is said about some drafts: the one memory that they name, else the proposal's words."""
    concerned = {id for draft in drafts for id in (draft.memory_id, *named(draft.command))}
    return concerned.pop() if len(concerned) == 1 else words_owner(proposal_id)


def _asserted(command: Command, receipt: Receipt) -> str | None:
    """The memory that a reviewer vouches for when he merges a command and confirms it; None: there is none."""
    match command:
        case Supersede(by=by) | Contradict(by=by):
            return by
        case Resolve(keep=keep):
            return None if keep == "both" else keep
        case Archive() | Delete() | RemoveLink() | MarkDistinct() | Unmerge():
            return None
        case _:
            return receipt.memory_id
