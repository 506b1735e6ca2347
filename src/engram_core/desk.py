"""The review desk: drafts become proposals, and a user's decision makes them events, or keeps them as not believed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from attrs import evolve as replaced

from engram_core.commands import Archive, Command, Confirm, Remember
from engram_core.decider import Change
from engram_core.drafting import check_evidence, checked_note, checked_text
from engram_core.errors import ConcurrencyError, ConflictError, InvalidAttributesError, NotFoundError, Problem
from engram_core.events import (
    DraftAdded,
    Event,
    MemoryCreated,
    ProposalMerged,
    ProposalOpened,
    ProposalRebased,
    ProposalRejected,
    ProposalWithdrawn,
    RecordedEvent,
)
from engram_core.log import Author
from engram_core.memory import decide
from engram_core.projections.proposals import draft_digest
from engram_core.proposal import Proposal, ProposedChange, check_decision, fold_proposal, proposal_stream
from engram_core.receipts import PossibleConflict, Receipt
from engram_core.values import Actor, EvidenceRef
from engram_core.vocab import ArchiveReason, LifetimeKind, ReceiptStatus
from engram_core.work import Work

if TYPE_CHECKING:
    from engram_core.engine import Engine, Request, Result

__all__ = ["Desk"]


class Desk:
    """Opens, decides and changes proposals, over one engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

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
        key: str | None = None,
    ) -> Result:
        """Opens a proposal of drafts, each checked against today's state and what the drafts before it would do.

        Returns: A receipt for each request: proposed with the reserved id, duplicate, or unchanged.
        """
        engine = self.engine
        limits = engine.options.limits
        if len(requests) > limits.drafts:
            problem = Problem("drafts", f"has {len(requests):,}; at most {limits.drafts:,} are allowed")
            raise InvalidAttributesError("proposal", [problem])
        checked_text(title or None, checked_note(rationale, limits), limits)
        check_evidence(evidence, limits)
        work.assume = lambda wanted: self._assume(work, wanted, now)
        proposal_id = str(engine.options.ids())
        stream = proposal_stream(proposal_id)
        drafts: list[DraftAdded] = []
        receipts: list[Receipt] = []
        for request in requests:
            receipt = engine.decide(work, request, now)
            if receipt.status in (ReceiptStatus.DUPLICATE, ReceiptStatus.UNCHANGED) and receipt.batch_id is None:
                receipts.append(receipt)
                continue
            command = work.renamed(request.command)
            if (first := self._open_twin(work, command)) is not None:
                work.rename(command.memory_id, first[1])
                receipts.append(Receipt(status=ReceiptStatus.DUPLICATE, proposal_id=first[0], memory_id=first[1]))
                continue
            before = work.before(command.memory_id)
            drafted_at = request.occurred_at or now
            base = 0 if before is None else before.revision
            drafts.append(DraftAdded(len(drafts) + 1, command, command.memory_id, base, drafted_at))
            receipts.append(
                replaced(receipt, status=ReceiptStatus.PROPOSED, proposal_id=proposal_id, batch_id="", events=())
            )
        work.forget()
        if not drafts:
            return engine.nothing(receipts)
        owners = {draft.memory_id for draft in drafts}
        owner = owners.pop() if len(owners) == 1 else stream
        opened = ProposalOpened(title or _usual_title(drafts), rationale, evidence)
        work.take((Change(stream, opened, owner), *(Change(stream, draft, draft.memory_id) for draft in drafts)), now)
        return engine.write(work, receipts, causation_id=proposal_id, key=key)

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
        ctx = self.engine.context(work.author, now, draft.drafted_at)
        work.take(decide(draft.command, work.known(draft.command), ctx), draft.drafted_at)

    # -- deciding -----------------------------------------------------------------------------------

    def approve(self, author: Author, proposal_id: str, *, only: Iterable[int] | None, confirm: bool) -> Receipt:
        """Merges drafts as one atomic batch, each decided anew against today's state.

        Raises: ForbiddenError for others than users; ConflictError when a draft's ground has moved, with its number.
        """

        def attempt(tx: sqlite3.Connection) -> Receipt:
            work = Work(self.engine, tx, author)
            state = self._readable(work, proposal_id)
            drafts = check_decision(state, author.actor, only)
            now = self.engine.now()
            for draft in drafts:
                self._merge(work, state, draft, now, confirm=confirm)
            stream = proposal_stream(state.id)
            merged = ProposalMerged(tuple(draft.number for draft in drafts), confirm)
            work.take((Change(stream, merged, stream),), now)
            return self._close(work, state, drafts)

        return self.engine.transact(attempt)

    def _merge(self, work: Work, state: Proposal, draft: ProposedChange, now: datetime, *, confirm: bool) -> None:
        from engram_core.engine import Request

        command = draft.command
        if command is None or state.author is None:
            return
        command = work.renamed(command)
        if isinstance(command, Remember):
            ended = command.lifetime.kind is LifetimeKind.UNTIL and command.lifetime.expires_at
            if ended and ended <= now:
                raise ConflictError(
                    f"draft {draft.number} has expired since it was drafted",
                    hint="reject it, or propose it anew",
                    draft=draft.number,
                )
        elif draft.base_revision:
            try:
                work.check_revision(command, draft.base_revision)
            except ConcurrencyError as error:
                raise ConflictError(
                    f"draft {draft.number} was drafted at revision {draft.base_revision}, and the same fields have"
                    f" changed since ({error.message})",
                    hint="look at the difference, then rebase the proposal",
                    draft=draft.number,
                    memory_id=draft.memory_id,
                ) from error
        drafter = replaced(work.author, on_behalf_of=state.author, session_id=state.session_id, client=state.client)
        with work.acting_as(drafter):
            request = Request(command=command, occurred_at=draft.drafted_at)
            receipt = self.engine.decide(work, request, now)
        if confirm and receipt.memory_id is not None:
            vouching = Confirm(receipt.memory_id)
            ctx = self.engine.context(work.author, now, None)
            work.take(decide(vouching, work.known(vouching), ctx), now)

    def reject(self, author: Author, proposal_id: str, *, note: str, only: Iterable[int] | None) -> Receipt:
        """Closes drafts as not believed; they are kept, so that this can be explained."""
        return self._decided(author, proposal_id, only, lambda numbers: ProposalRejected(numbers, note), note=note)

    def withdraw(self, author: Author, proposal_id: str) -> Receipt:
        """Takes a proposal back, by its author or a user."""
        return self._decided(author, proposal_id, None, lambda _: ProposalWithdrawn(), own=True)

    def rebase(self, author: Author, proposal_id: str) -> Receipt:
        """Sets every open draft upon today's revision of its memory; the receipt is unchanged if all were there."""

        def attempt(tx: sqlite3.Connection) -> Receipt:
            work = Work(self.engine, tx, author)
            state = self._readable(work, proposal_id)
            bases = []
            for draft in check_decision(state, author.actor, None, own=True):
                memory = work.before(draft.memory_id)
                if draft.base_revision and memory is not None and memory.revision != draft.base_revision:
                    bases.append((draft.number, memory.revision))
            if not bases:
                return Receipt(status=ReceiptStatus.UNCHANGED, proposal_id=state.id)
            stream = proposal_stream(state.id)
            work.take((Change(stream, ProposalRebased(tuple(bases)), stream),), self.engine.now())
            return self._close(work, state, ())

        return self.engine.transact(attempt)

    def _decided(
        self,
        author: Author,
        proposal_id: str,
        only: Iterable[int] | None,
        event: Callable[[tuple[int, ...]], Event],
        *,
        note: str = "",
        own: bool = False,
    ) -> Receipt:
        checked_note(note, self.engine.options.limits)

        def attempt(tx: sqlite3.Connection) -> Receipt:
            work = Work(self.engine, tx, author)
            state = self._readable(work, proposal_id)
            drafts = check_decision(state, author.actor, only, own=own)
            stream = proposal_stream(state.id)
            owners = {draft.memory_id for draft in drafts}
            owner = owners.pop() if len(owners) == 1 else stream
            change = Change(stream, event(tuple(draft.number for draft in drafts)), owner)
            work.take((change,), self.engine.now())
            return self._close(work, state, drafts)

        return self.engine.transact(attempt)

    def _close(self, work: Work, state: Proposal, drafts: Sequence[ProposedChange]) -> Receipt:
        receipt = Receipt(
            status=ReceiptStatus.CHANGED,
            proposal_id=state.id,
            memory_id=drafts[0].memory_id if drafts else None,
            batch_id="",
        )
        result = self.engine.write(work, [receipt], causation_id=state.id)
        return replaced(result.receipts[0], events=tuple(e.event for e in result.events))

    def quarantine(
        self, author: Author, *, session_id: str | None, actor: Actor | None, source_ref: str | None
    ) -> Receipt:
        """Proposes to archive, as wrong, all that came from one source."""
        wanted = {"session_id": session_id, "actor": None if actor is None else str(actor), "source_ref": source_ref}
        given = {name: value for name, value in wanted.items() if value is not None}
        if not given:
            raise InvalidAttributesError("quarantine", [Problem("source", "give session_id, actor or source_ref")])

        def attempt(tx: sqlite3.Connection) -> Receipt:
            from engram_core.engine import Request

            work = Work(self.engine, tx, author)
            found = _of_source(work, given)
            if not found:
                return Receipt(status=ReceiptStatus.UNCHANGED)
            undermined = _resting_on(work, found)
            requests = [Request(command=Archive(id, ArchiveReason.WRONG)) for id in found.values()]
            rationale = f"{len(found)} memories came from this source; {len(undermined)} others rest on them."
            result = self.propose(work, requests, self.engine.now(), title="Quarantine one source", rationale=rationale)
            conflicts = tuple(
                PossibleConflict(memory_id=id, reason="undermined", hint="review it") for id in undermined
            )
            proposed = next((r for r in result.receipts if r.proposal_id), result.receipts[0])
            return replaced(proposed, possible_conflicts=conflicts)

        return self.engine.transact(attempt)

    # -- reading ------------------------------------------------------------------------------------

    def state(self, proposal_id: str) -> Proposal | None:
        """A proposal as its events left it; None if there is none."""
        return fold_proposal(self.engine.log.stream(proposal_stream(proposal_id)))

    def _readable(self, work: Work, proposal_id: str) -> Proposal:
        state = self.state(proposal_id)
        if state is None or not (work.viewer.is_user or state.author == work.viewer):
            raise NotFoundError(f"there is no proposal {proposal_id}", proposal_id=proposal_id)
        return state

    def receipts_of(self, events: Sequence[RecordedEvent]) -> list[Receipt]:
        """The receipts that a recorded batch gave, as far as its events tell."""
        batch_id = events[0].batch_id
        opened = next((e for e in events if isinstance(e.event, ProposalOpened)), None)
        if opened is not None:
            proposal_id = opened.stream.removeprefix(proposal_stream(""))
            return [
                Receipt(
                    status=ReceiptStatus.PROPOSED,
                    proposal_id=proposal_id,
                    memory_id=e.event.memory_id,
                    batch_id=batch_id,
                )
                for e in events
                if isinstance(e.event, DraftAdded)
            ]
        all_events = tuple(e.event for e in events)
        created = [e.stream for e in events if isinstance(e.event, MemoryCreated)]
        status = ReceiptStatus.CREATED if created else ReceiptStatus.CHANGED
        return [
            Receipt(status=status, memory_id=id, batch_id=batch_id, events=all_events)
            for id in created or [events[0].stream]
        ]


def _of_source(work: Work, given: Mapping[str, str]) -> dict[int, str]:
    """Key and id of the active memories whose source fits, as far as the actor may see them."""
    sql = {
        "session_id": "m.session = ?",
        "actor": "? IN (json_extract(m.source, '$.actor'), json_extract(m.source, '$.on_behalf_of'))",
        "source_ref": "json_extract(m.source, '$.source_ref') = ?",
    }
    conditions = " AND ".join(sql[name] for name in given)
    rows = work.tx.execute(
        f"SELECT m.key, m.id FROM memories m WHERE {conditions} AND m.stored = 'active' AND {work.sees('m')}"
        " ORDER BY m.key",
        tuple(given.values()),
    )
    return dict(rows.fetchall())


def _resting_on(work: Work, found: Mapping[int, str]) -> list[str]:
    """Ids of what derives from the memories, by any number of steps."""
    seen = set(found)
    open_keys = list(found)
    resting: dict[int, str] = {}
    while open_keys:
        rows = work.tx.execute(
            "SELECT m.key, m.id FROM links l JOIN memories m ON m.key = l.source WHERE l.target = ?"
            f" AND l.relation = 'derived_from' AND m.stored = 'active' AND {work.sees('m')}",
            (open_keys.pop(),),
        ).fetchall()
        for key, id in rows:
            if key not in seen:
                seen.add(key)
                resting[key] = id
                open_keys.append(key)
    return [resting[key] for key in sorted(resting)]


def _usual_title(drafts: Sequence[DraftAdded]) -> str:
    """A title without any text of a memory, since it may outlive it."""
    names = [
        f"Remember a {draft.command.kind}" if isinstance(draft.command, Remember) else _spaced(draft.command)
        for draft in drafts
    ]
    return names[0] if len(names) == 1 else f"{names[0]}, and {len(names) - 1} more"


def _spaced(command: Command) -> str:
    name = type(command).__name__
    return name[0] + "".join(f" {c.lower()}" if c.isupper() else c for c in name[1:])
