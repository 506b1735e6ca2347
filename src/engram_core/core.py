"""The parts of one open space, put together: log, read model, clock, rules; and what a submission is made of."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from attrs import field, frozen

from engram_core.approval import ApprovalPolicy
from engram_core.codec import EventCodec
from engram_core.commands import Command
from engram_core.decider import Context
from engram_core.events import RecordedEvent
from engram_core.folding import fold
from engram_core.kinds import KindRegistry
from engram_core.log import Author, Log
from engram_core.policy import Limits, Policy
from engram_core.ports import Clock, Embedder, EventStore, IdSource, Projection, Redactor
from engram_core.projections.accesses import AccessBuffer, Reads
from engram_core.projections.host import open_host
from engram_core.projections.read_model import ReadModel
from engram_core.projections.rows import Transition
from engram_core.projections.running import Following
from engram_core.proposal import Proposal, fold_proposal, proposal_stream
from engram_core.receipts import Receipt
from engram_core.state import MemoryState
from engram_core.states import StateCache
from engram_core.values import checked_instant

if TYPE_CHECKING:
    from engram_core.projections.encoding import Encoding

__all__ = ["Core", "Options", "Request", "Result", "Terms"]


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
class Terms:
    """The conditions under which somebody decides, undoes or puts away.

    Attributes:
        expected_revision: The revision of the proposal that he last saw, if he wants to be told of changes since.
        command_id: A name that makes a retry return the first receipt.
    """

    expected_revision: int | None = None
    command_id: str | None = None


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


class Core:
    """What every part of the write path works with. `Writer` and `Engine` add to it what they do."""

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
        self.read_model.prepare()
        self.encoding = None if options.embedder is None else self._encoding(options.embedder)

    def _encoding(self, embedder: Embedder) -> Encoding:
        from engram_core.projections.encoding import Encoding

        options = self.options
        encoding = Encoding(
            self.host,
            embedder,
            options.kinds,
            reads=self.read_model.reads,
            megabytes=options.policy.recall.vector_megabytes,
        )
        encoding.check()
        return encoding

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

    # -- memories -----------------------------------------------------------------------------------

    def state_of(self, id: str) -> MemoryState | None:
        """A memory as its events left it, whoever may see it; None if there is none."""
        found = self.states.get(id)
        if found is None:
            found = fold(self.log.stream(id), upcast=self.options.kinds.upcast)
            if found is not None:
                self._local.looked_at[id] = found
        return found

    def proposal_of(self, proposal_id: str) -> Proposal | None:
        """A proposal as its events left it; None if there is none."""
        return fold_proposal(self.log.stream(proposal_stream(proposal_id)))

    def head(self) -> int:
        """Where the log stands for this thread's running write."""
        return self._local.head

    def forget(self) -> None:
        """Drops every folded memory, because payloads of the log were replaced."""
        self.states.clear()
        self._local.looked_at.clear()


class _Unfinished(threading.local):
    """What this thread's running write took from the buffer of reads, looked at, and made of memories.

    `head` is where the log stood when it began, and then the last position that it appended.
    """

    reads: Sequence[Reads] = ()
    head = 0

    def __init__(self) -> None:
        self.transitions: list[Transition] = []
        self.looked_at: dict[str, MemoryState] = {}
