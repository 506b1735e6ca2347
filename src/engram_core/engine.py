"""The one way in: commands → decide → events → codec → log → projections, in one transaction.

A submission is one command or many; either all take effect under one batch id, or none. Decisions are made under the
store's write lock against the log itself, so that a twin, a taken edge or a second owner cannot slip in between.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from attrs import evolve as replaced
from attrs import field, frozen

from engram_core.approval import ApprovalPolicy
from engram_core.codec import EventCodec
from engram_core.commands import AddEvidence, Command, Confirm, Remember
from engram_core.decider import Change, Context
from engram_core.desk import Desk
from engram_core.erasing import Erasing
from engram_core.errors import (
    ConcurrencyError,
    EngramError,
    InvalidAttributesError,
    NotFoundError,
    Problem,
    RejectedError,
)
from engram_core.events import MemoryCreated, RecordedEvent
from engram_core.kinds import KindRegistry
from engram_core.log import Author, Log, Written, command_key
from engram_core.memory import decide
from engram_core.policy import Limits, Policy
from engram_core.ports import Clock, Embedder, EventStore, IdSource, Projection, Redactor
from engram_core.projections.accesses import AccessBuffer, Reads
from engram_core.projections.host import open_host
from engram_core.projections.read_model import ReadModel
from engram_core.projections.rows import Commit, Transition
from engram_core.projections.running import Following
from engram_core.receipts import PossibleConflict, Receipt
from engram_core.redaction import redacted, redacted_words
from engram_core.similar import possible_conflicts, twin_of
from engram_core.state import MemoryState, fold
from engram_core.states import StateCache
from engram_core.undoing import Undoing
from engram_core.values import EvidenceRef, checked_instant
from engram_core.vocab import ReceiptStatus
from engram_core.work import Work

__all__ = ["Engine", "Options", "Request", "Result"]

T = TypeVar("T")

Refused: TypeAlias = Callable[[int, EngramError], None]
"""Is told of the place of a refused command in its submission, and why."""

_ATTEMPTS = 8
_RACED = "raced"  # another writer of the same log was faster; nobody but the engine decides again for that


@frozen(kw_only=True)
class Options:
    """How a space is set up.

    Attributes:
        policy, limits, kinds: The rules.
        approval: Who may change what without asking.
        clock, ids: Where the present and new ids come from.
        embedder: Meaning for recall, if the application has a model.
        redactor: Takes secrets out before storage, if the application wants one.
        projections: The application's own read models, applied in each commit unless wrapped by `following`.
    """

    policy: Policy
    approval: ApprovalPolicy
    kinds: KindRegistry
    limits: Limits
    clock: Clock
    ids: IdSource
    embedder: Embedder | None = None
    redactor: Redactor | None = None
    projections: tuple[Projection | Following, ...] = ()


@frozen(kw_only=True)
class Request:
    """One command with the conditions of its caller.

    Attributes:
        command: What is asked for.
        expected_revision: The revision that the caller last saw, if he wants to be told of changes since.
        occurred_at: When it happened, if not now.
        similar: Look for memories that a new one may repeat.
        redactions: How many secrets were taken out of the command.
    """

    command: Command
    expected_revision: int | None = None
    occurred_at: datetime | None = None
    similar: bool = False
    redactions: int = 0


@frozen(kw_only=True)
class Result:
    """What became of a submission.

    Attributes:
        receipts: One for each request.
        batch_id: Of all that was written; None if nothing was.
        events: What was written, in order, without the reads that were flushed along.
    """

    receipts: tuple[Receipt, ...] = ()
    batch_id: str | None = None
    events: tuple[RecordedEvent, ...] = field(default=())


class Engine:
    """Holds the parts of one open space, and runs every write through them."""

    def __init__(
        self, store: EventStore, options: Options, *, owns_store: bool = True, read_only: bool = False
    ) -> None:
        self.store = store
        self.read_only = read_only
        self.owns_store = owns_store
        self.options = options
        self.codec = EventCodec()
        self.log = Log(store, self.codec, options.ids)
        self.host = open_host(store)
        self.read_model = ReadModel(
            self.host,
            codec=self.codec,
            kinds=options.kinds,
            policy=options.policy,
            limits=options.limits,
            projections=options.projections,
        )
        self.accesses = AccessBuffer()
        self._local = _Unfinished()
        self.states = StateCache()
        self.desk = Desk(self)
        self.undoing = Undoing(self)
        self.erasing = Erasing(self)
        self.read_model.prepare()

    # -- time ---------------------------------------------------------------------------------------

    def now(self) -> datetime:
        """The clock's present, in UTC."""
        return checked_instant(self.options.clock.now(), "clock")

    def context(self, author: Author, now: datetime, occurred_at: datetime | None) -> Context:
        """The value that a decision is made with; a draft is judged as its drafter's."""
        return Context(
            now=now,
            occurred_at=now if occurred_at is None else checked_instant(occurred_at, "occurred_at"),
            actor=author.on_behalf_of or author.actor,
            policy=self.options.policy,
            limits=self.options.limits,
            kinds=self.options.kinds,
        )

    # -- writing ------------------------------------------------------------------------------------

    def submit(
        self,
        author: Author,
        requests: Sequence[Request],
        *,
        command_id: str | None = None,
        refused: Refused | None = None,
    ) -> Result:
        """Runs commands as one batch.

        Args:
            author: Who asks.
            requests: The commands, decided in order, each seeing what those before it changed.
            command_id: A name that makes a retry safe: the second time, the first result comes back.
            refused: Is told of a command that the rules refuse, by its place, and may raise; the others go on then.

        Returns: A receipt for each that was not refused, and what was written.
        Raises: RejectedError, NotFoundError, ConcurrencyError, ProjectionError, StoreError; nothing is written then.
        """
        key = None
        if command_id is not None:
            key = command_key(author.actor, _checked_command_id(command_id))
        cleaned = [self._cleaned(request) for request in requests]

        def attempt(tx: sqlite3.Connection) -> Result:
            if key is not None and (first := self._first_result(tx, key, cleaned)) is not None:
                return first
            work = Work(self, tx, author)
            now = self.now()
            if not author.actor.is_user and not self._allows(work, cleaned):
                return self.desk.propose(work, cleaned, now, key=key)
            receipts = self._decide_all(work, cleaned, now, refused)
            return self.write(work, receipts, key=key)

        return self.transact(attempt)

    def propose(
        self,
        author: Author,
        requests: Sequence[Request],
        *,
        title: str = "",
        rationale: str = "",
        evidence: tuple[EvidenceRef, ...] = (),
    ) -> Result:
        """Opens a proposal of commands, whoever asks."""
        cleaned = [self._cleaned(request) for request in requests]

        def attempt(tx: sqlite3.Connection) -> Result:
            work = Work(self, tx, author)
            said = redacted_words((title, rationale, evidence), self.options.redactor)
            return self.desk.propose(work, cleaned, self.now(), title=said[0], rationale=said[1], evidence=said[2])

        return self.transact(attempt)

    def rehearse(
        self, author: Author, requests: Sequence[Request], queue: Callable[[], tuple[Any, ...]]
    ) -> tuple[Result, tuple[Any, ...]]:
        """Runs commands, looks at the review queue, and takes everything back.

        Returns: What would have been written, and the rows that would have entered the queue.
        """
        cleaned = [self._cleaned(request) for request in requests]
        found: list[tuple[Result, tuple[Any, ...]]] = []

        def attempt(tx: sqlite3.Connection) -> None:
            before = {_names(row) for row in queue()}
            work = Work(self, tx, author)
            now = self.now()
            if not author.actor.is_user and not self._allows(work, cleaned):
                result = self.desk.propose(work, cleaned, now)
            else:
                result = self.write(work, self._decide_all(work, cleaned, now, None), reads=False)
            found.append((result, tuple(row for row in queue() if _names(row) not in before)))
            raise _Rehearsed

        with suppress(_Rehearsed):
            self.transact(attempt)
        return found[0]

    def _allows(self, work: Work, requests: Sequence[Request]) -> bool:
        """True when the actor may make every one of these changes without asking."""
        actor, approval = work.author.actor, self.options.approval
        return all(
            approval.allows(actor, request.command, work.visible(request.command.memory_id)) for request in requests
        )

    def _decide_all(
        self, work: Work, requests: Sequence[Request], now: datetime, refused: Refused | None
    ) -> list[Receipt]:
        receipts = []
        for place, request in enumerate(requests):
            try:
                receipts.append(self.decide(work, request, now))
            except (RejectedError, NotFoundError) as error:
                if refused is None:
                    raise
                refused(place, error)
        return receipts

    def transact(self, attempt: Callable[[sqlite3.Connection], T]) -> T:
        """Runs a decision under the write lock, again if another process wrote in between."""
        for left in reversed(range(_ATTEMPTS)):
            self._local.reads = ()
            self._local.transitions = []
            self._local.looked_at = {}
            turn = 0
            try:
                with self.host.transaction() as tx:
                    turn = self.states.at(self.log.head())
                    result = attempt(tx)
                    head = self.log.head()
                changed = {t.after.id: t.after for t in self._local.transitions}
                self.states.keep(turn, {**self._local.looked_at, **changed}, head)
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
        key: str | None = None,
        reads: bool = True,
    ) -> Result:
        """Appends what was decided, with the reads since the last write, and projects it."""
        if not work.decided:
            return Result(receipts=tuple(receipts))
        batches = [Written(work.decided, causation_id, key), *(self._reads(work) if reads else ())]
        recorded = self._append(batches, work)
        self._project(work, recorded, key)
        mine = recorded[: len(work.decided)]
        batch_id = mine[0].batch_id
        stamped = tuple(
            replaced(receipt, batch_id=batch_id) if receipt.batch_id == "" else receipt for receipt in receipts
        )
        return Result(receipts=stamped, batch_id=batch_id, events=mine)

    def nothing(self, receipts: Sequence[Receipt]) -> Result:
        """The result of a submission that changes nothing."""
        return Result(receipts=tuple(receipts))

    def flush(self) -> None:
        """Writes the reads since the last write, and lets following projections catch up."""

        def attempt(tx: sqlite3.Connection) -> None:
            work = Work(self, tx, None)
            if batches := self._reads(work):
                self._project(work, self._append(batches, work))

        if self.accesses:
            self.transact(attempt)
        self.read_model.follow()

    def _append(self, batches: Sequence[Written], work: Work) -> tuple[RecordedEvent, ...]:
        expected = {
            entry.change.stream: work.version(entry.change.stream) for batch in batches for entry in batch.decided
        }
        try:
            return self.log.append(batches, expected, self._vetoes(work))
        except ConcurrencyError as error:
            error.code = _RACED
            raise

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
                transitions.append(Transition(before, after))
        commands = () if key is None else ((key, recorded[0].batch_id),)
        self.read_model.apply(work.tx, Commit(recorded, tuple(transitions), commands))
        self._local.transitions += transitions

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
            memory_id=command.memory_id,
            batch_id="" if changes else None,
            events=tuple(change.event for change in changes),
            redactions=request.redactions,
        )

    def _remember(self, work: Work, command: Remember, ctx: Context, *, similar: bool) -> Receipt:
        if (held := work.holder(command)) is not None:
            work.rename(command.memory_id, held)
            return Receipt(status=ReceiptStatus.DUPLICATE, memory_id=held, redactions=command.redactions)
        changes = decide(command, work.known(command), ctx)
        created = changes[0].event
        assert isinstance(created, MemoryCreated)
        twin = None if command.on_duplicate == "create" else twin_of(work, created, ctx.now)
        if twin is not None and twin.recallable:
            work.rename(command.memory_id, twin.memory_id)
            return self._twin(work, command, twin.memory_id, ctx)
        conflicts: tuple[PossibleConflict, ...] = ()
        if similar:
            conflicts = possible_conflicts(work, created, command.memory_id, twin, ctx)
        work.take(changes, ctx.occurred_at)
        return Receipt(
            status=ReceiptStatus.CREATED,
            memory_id=command.memory_id,
            batch_id="",
            events=tuple(change.event for change in changes),
            possible_conflicts=conflicts,
            redactions=command.redactions,
        )

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
            events=tuple(change.event for change in changes),
            redactions=command.redactions,
        )

    # -- what surrounds a command -------------------------------------------------------------------

    def _cleaned(self, request: Request) -> Request:
        """The request without secrets, where the application gave a redactor."""
        redactor = self.options.redactor
        if redactor is None:
            return request
        command, removed = redacted(request.command, redactor)
        if removed and isinstance(command, Remember):
            self.options.kinds.structure(command.kind, command.attributes, command.attributes_version)
        return replaced(request, command=command, redactions=removed)

    def _reads(self, work: Work) -> list[Written]:
        """The buffered reads as batches of their own, one for each actor and session."""
        self._local.reads = self.accesses.drain()
        return work.reads(self._local.reads)

    def _first_result(self, tx: sqlite3.Connection, key: str, requests: Sequence[Request]) -> Result | None:
        """What the same command of the same actor led to before."""
        row = tx.execute(
            "SELECT c.batch_id, b.position FROM commands c JOIN batches b ON b.batch_id = c.batch_id"
            " WHERE c.command_key = ?",
            (key,),
        ).fetchone()
        if row is None:
            return None
        events = self.log.batch(row[1])
        receipts = self.desk.receipts_of(events, requests)
        return Result(receipts=tuple(receipts), batch_id=row[0], events=events)

    def state_of(self, id: str) -> MemoryState | None:
        """A memory as its events left it, whoever may see it; None if there is none."""
        found = self.states.get(id)
        if found is None:
            found = fold(self.log.stream(id), upcast=self.options.kinds.upcast)
            if found is not None:
                self._local.looked_at[id] = found
        return found

    def forget(self) -> None:
        """Drops every folded memory, because payloads of the log were replaced."""
        self.states.clear()
        self._local.looked_at.clear()

    def close(self) -> None:
        """Writes what is buffered and releases the store."""
        try:
            if not self.read_only:
                self.flush()
        finally:
            self.host.close()
            if self.owns_store:
                self.store.close()


def _names(row: Any) -> tuple[Any, ...]:
    """What tells a row of the review queue from all others."""
    return (row.reason, row.memory_id, row.other_id, row.proposal_id)


class _Unfinished(threading.local):
    """What this thread's running write took from the buffer of reads, looked at, and made of memories."""

    reads: Sequence[Reads] = ()

    def __init__(self) -> None:
        self.transitions: list[Transition] = []
        self.looked_at: dict[str, MemoryState] = {}


class _Rehearsed(Exception):
    pass


def _checked_command_id(command_id: object) -> str:
    if not isinstance(command_id, str) or not command_id or len(command_id) > 200:
        raise InvalidAttributesError("command", [Problem("command_id", "must be text of 1 to 200 characters")])
    return command_id
