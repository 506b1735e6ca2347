"""Decides commands and writes what was decided: one transaction, one append, one projection, or nothing at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from attrs import evolve as replaced

from engram_core.answering import answered, decision_receipt, named_command
from engram_core.audience import sees_all
from engram_core.commands import AddEvidence, Confirm, Remember, Supersede
from engram_core.core import Core, Request, Result, Terms
from engram_core.decider import Change, Context
from engram_core.errors import ConcurrencyError
from engram_core.events import Event, MemoryCreated, RecordedEvent
from engram_core.externals import check_external_ids, holder
from engram_core.folding import fold
from engram_core.known import Known
from engram_core.log import Author, Written
from engram_core.memory import decide
from engram_core.projections.proposals import is_reserved
from engram_core.projections.rows import Commit, Transition
from engram_core.receipts import PossibleConflict, Receipt
from engram_core.similar import possible_conflicts, twin_of
from engram_core.vocab import ReceiptStatus
from engram_core.work import Work

__all__ = ["Writer"]

T = TypeVar("T")


_ATTEMPTS = 8
_RACED = "raced"  # another writer of the same log was faster; nobody but the writer decides again for that


class Writer(Core):
    """Runs decisions under the write lock, and writes what they come to."""

    def transact(self, attempt: Callable[[sqlite3.Connection], T]) -> T:
        """Runs a decision under the write lock, again if another process wrote in between."""
        for left in reversed(range(_ATTEMPTS)):
            self._local.reads = ()
            self._local.transitions = []
            self._local.looked_at = {}
            turn = 0
            try:
                with self.host.transaction() as tx:
                    self._local.head = self.read_model.reached
                    turn = self.states.at(self._local.head)
                    result = attempt(tx)
                changed = {t.after.id: t.after for t in self._local.transitions}
                self.states.keep(turn, {**self._local.looked_at, **changed}, self._local.head)
                return result
            except BaseException as error:
                self.accesses.restore(self._local.reads)
                if not (isinstance(error, ConcurrencyError) and error.code == _RACED and left):
                    raise
            finally:
                self.states.release(turn)
        raise AssertionError("unreachable")

    def write(
        self,
        work: Work,
        receipts: Sequence[Receipt],
        *,
        causation_id: str | None = None,
        reads: bool = True,
    ) -> Result:
        """Appends what was decided, with the reads since the last write, and projects it."""
        if not work.decided:
            return Result(receipts=tuple(receipts))
        check_external_ids(work)
        batches = [Written(work.decided, causation_id, work.key), *(self._reads(work) if reads else ())]
        recorded = self._append(batches, work)
        self._project(work, recorded, work.key)
        mine = recorded[: len(work.decided)]
        batch_id = mine[0].batch_id
        stamped = tuple([receipt.of_batch(batch_id) if receipt.batch_id == "" else receipt for receipt in receipts])
        return Result(receipts=stamped, batch_id=batch_id, events=self.shown(work, mine))

    def shown(self, work: Work, events: tuple[RecordedEvent, ...]) -> tuple[RecordedEvent, ...]:
        """Of some events those that the author of a submission may know of: none in streams that he may not see."""
        return events if sees_all(work.viewer) else tuple(e for e in events if _may_know(work, e.stream, e.event))

    def settle(
        self,
        author: Author,
        terms: Terms,
        decide: Callable[[Work], Receipt],
        *wrote: type[Event],
        about: str | None = None,
    ) -> Receipt:
        """Runs a decision that comes to one receipt; under a command_id that was used before, gives that receipt again.

        Args:
            author: Who decides.
            terms: His conditions.
            decide: The decision.
            wrote: The events by which it can be told.
            about: The proposal or batch that it is about.

        Returns: The receipt; a repeated one without what no event tells, such as `possible_conflicts`.
        Raises: ConflictError for a command_id of something else; what the decision raises.
        """
        key = named_command(author, terms.command_id)

        def attempt(tx: sqlite3.Connection) -> Receipt:
            work = Work(self, tx, author, key)
            events = answered(work)
            if events is None:
                return decide(work)
            told = tuple(e.event for e in self.shown(work, events))
            return decision_receipt(work, events, told, wrote, about)

        return self.transact(attempt)

    def nothing(self, receipts: Sequence[Receipt]) -> Result:
        """The result of a submission that changes nothing."""
        return Result(receipts=tuple(receipts))

    def flush(self, *, encode: bool = True) -> None:
        """Writes the reads since the last write, and lets following projections and vectors catch up."""

        def attempt(tx: sqlite3.Connection) -> None:
            work = Work(self, tx, None)
            if batches := self._reads(work):
                self._project(work, self._append(batches, work))

        if self.accesses:
            self.transact(attempt)
        self.read_model.follow()
        if encode and self.encoding is not None:
            self.encoding.catch_up()

    def _append(self, batches: Sequence[Written], work: Work) -> tuple[RecordedEvent, ...]:
        expected = {
            entry.change.stream: work.version(entry.change.stream) for batch in batches for entry in batch.decided
        }
        try:
            recorded = self.log.append(batches, expected, self._vetoes(work))
        except ConcurrencyError as error:
            error.code = _RACED
            raise
        if recorded[0].position != self._local.head + 1:
            self.forget()  # somebody else wrote in between, and any memory may have changed
        self._local.head = recorded[-1].position
        return recorded

    def _vetoes(self, work: Work) -> Callable[[tuple[RecordedEvent, ...]], None] | None:
        """Lets inline projections object before an append that could not be taken back afterwards."""
        if self.host.shares_transaction or not self.options.projections:
            return None

        def vet(recorded: tuple[RecordedEvent, ...]) -> None:
            work.tx.execute("SAVEPOINT rehearsal")
            try:
                self._project(work, recorded)
            finally:
                work.tx.execute("ROLLBACK TO rehearsal")
                work.tx.execute("RELEASE rehearsal")
                self._local.transitions = []

        return vet

    def _project(self, work: Work, recorded: tuple[RecordedEvent, ...], key: str | None = None) -> None:
        by_stream: dict[str, list[RecordedEvent]] = {}
        for event in recorded:
            by_stream.setdefault(event.stream, []).append(event)
        transitions = []
        for stream, events in by_stream.items():
            if not work.is_memory(stream):
                continue
            before = work.before(stream)
            after = fold(events, before, upcast=self.options.kinds.upcast)
            if after is not None:
                transitions.append(Transition(before, after, work.digest_of(events)))
        commands = () if key is None else ((key, recorded[0].batch_id),)
        self.read_model.apply(work.tx, Commit(recorded, tuple(transitions), commands, work.keys()))
        self._local.transitions += transitions

    def _reads(self, work: Work) -> list[Written]:
        """The buffered reads as batches of their own, one for each actor and session."""
        self._local.reads = self.accesses.drain()
        return work.reads(self._local.reads)

    # -- one command --------------------------------------------------------------------------------

    def decide(self, work: Work, request: Request, now: datetime) -> Receipt:
        """Decides one command of a submission, and lets the next one see its changes."""
        command = work.renamed(request.command)
        ctx = self.context(work.author, now, request.occurred_at)
        if isinstance(command, Remember):
            return self._remember(work, command, ctx, similar=request.similar)
        if request.expected_revision is not None:
            work.check_revision(command, request.expected_revision)
        known = work.known(command)
        changes = decide(command, known, ctx)
        work.take(changes, ctx.occurred_at)
        status = ReceiptStatus.CHANGED if changes else ReceiptStatus.UNCHANGED
        return Receipt(
            status=status,
            memory_id=command.by if isinstance(command, Supersede) else command.memory_id,
            batch_id="" if changes else None,
            events=_told(work, changes),
            redactions=request.redactions,
        )

    def _remember(self, work: Work, command: Remember, ctx: Context, *, similar: bool) -> Receipt:
        if (held := holder(work, command.external_ids, command.visibility)) is not None:
            work.rename(command.memory_id, held)
            return Receipt(status=ReceiptStatus.DUPLICATE, memory_id=held, redactions=command.redactions)
        changes = decide(command, self._known(work, command), ctx)
        created = changes[0].event
        assert isinstance(created, MemoryCreated)
        twin = None if command.on_duplicate == "create" else twin_of(work, created, ctx.now)
        if twin is not None and twin.recallable:
            work.rename(command.memory_id, twin.memory_id)
            return self._twin(work, command, twin.memory_id, ctx)
        conflicts: tuple[PossibleConflict, ...] = ()
        notice = ""
        if similar:
            conflicts, notice = possible_conflicts(work, created, command.memory_id, twin, ctx)
        work.take(changes, ctx.occurred_at)
        return Receipt(
            status=ReceiptStatus.CREATED,
            memory_id=command.memory_id,
            batch_id="",
            events=_told(work, changes),
            possible_conflicts=conflicts,
            redactions=command.redactions,
            notice=notice,
        )

    def _known(self, work: Work, command: Remember) -> Known:
        """As the submission knows it; an id that a caller chose may be another draft's, unless it is this one's."""
        known, author = work.known(command), work.author
        if not command.own_id or author.on_behalf_of is not None:
            return known
        if is_reserved(work.tx, command, author.actor, drafting=work.assume is not None):
            return replaced(known, taken=known.taken | {command.memory_id})
        return known

    def _twin(self, work: Work, command: Remember, twin: str, ctx: Context) -> Receipt:
        """An exact duplicate stores nothing; when asked to, it counts as a confirmation."""
        changes: tuple[Change, ...] = ()
        if command.on_duplicate == "confirm":
            confirm = Confirm(twin, command.evidence[0] if command.evidence else None)
            changes = decide(confirm, work.known(confirm), ctx)
            for extra in command.evidence[1:]:
                more = AddEvidence(twin, extra)
                changes += decide(more, work.known(more), ctx)
            work.take(changes, ctx.occurred_at)
        return Receipt(
            status=ReceiptStatus.DUPLICATE,
            memory_id=twin,
            batch_id="" if changes else None,
            events=_told(work, changes),
            redactions=command.redactions,
        )


def _told(work: Work, changes: Sequence[Change]) -> tuple[Event, ...]:
    """The events of changes, but for what happened to memories that the viewer may not see."""
    everything = sees_all(work.viewer)
    return tuple(change.event for change in changes if everything or _may_know(work, change.stream, change.event))


def _may_know(work: Work, stream: str, event: Event) -> bool:
    """True unless an event lies in a stream, or names a memory, that the author may not see."""
    others = (getattr(event, name, None) for name in ("target", "other", "by", "source", "survivor"))
    named = (stream, *(id for id in others if isinstance(id, str)))
    return all(not work.is_memory(id) or work.visible(id) is not None for id in named)
