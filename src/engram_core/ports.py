"""What the core asks of the world: a log, read models, a clock, ids, an embedder, a redactor."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable
from uuid import UUID

if TYPE_CHECKING:
    from engram_core.events import RecordedEvent

__all__ = [
    "Appended",
    "AtomicStore",
    "Clock",
    "ClockedStore",
    "Embedder",
    "EraserStore",
    "EventStore",
    "Expect",
    "Expected",
    "IdSource",
    "NewEvent",
    "Projection",
    "Recorded",
    "Redaction",
    "Redactor",
    "SqlStore",
    "StreamAppend",
    "SystemClock",
    "uuid7_ids",
]


class Expect(Enum):
    """Expectations about a stream that name no version."""

    ANY = "any"
    EXISTS = "exists"


Expected: TypeAlias = int | Expect
"""A version (0: the stream must not exist), or an `Expect`."""


class NewEvent(NamedTuple):
    """An event as an adapter is given it: text and plain values, no Python types of the model.

    Attributes:
        id: Unique in the space; a UUIDv7 by default.
        type: A literal name, such as "MemoryConfirmed".
        schema_version: Version of the payload's form, from 1.
        owner: The memory to which the payload belongs, whatever the stream; what erasure reads.
        data: Canonical JSON of the payload with its salt; replaced by a marker when erased.
        commitment: SHA-256 of `data` as first written; survives erasure.
        occurred_at: Microseconds since 1970 UTC at which the caller says that it happened.
        actor_kind: Kind of the actor; his id is in `data`, and is erased with it.
        batch_id: The same for all events of one command: the id of the first of them.
        causation_id: What caused it, such as a proposal; None if nothing did.
        command_key: Digest of actor and command_id; None without a command_id.
    """

    id: str
    type: str
    schema_version: int
    owner: str
    data: str
    commitment: bytes
    occurred_at: int
    actor_kind: str
    batch_id: str
    causation_id: str | None = None
    command_key: str | None = None


class Recorded(NamedTuple):
    """An event as it stands in the log: a `NewEvent` with its place.

    Attributes:
        position: Place in the space's one order, from 1 without gaps, in commit order.
        stream: The stream to which it was appended.
        version: Place in the stream, from 1 without gaps.
        recorded_at: Microseconds since 1970 UTC at which the store recorded it; never falls along positions.
        link: The hash chain's link, on the last event of each commit; None on the others.
    """

    position: int
    stream: str
    version: int
    id: str
    type: str
    schema_version: int
    owner: str
    data: str
    commitment: bytes
    occurred_at: int
    recorded_at: int
    actor_kind: str
    batch_id: str
    causation_id: str | None
    command_key: str | None
    link: bytes | None


class StreamAppend(NamedTuple):
    """What is to be appended to one stream; without events it is a guard on that stream's version."""

    stream: str
    expected: Expected
    events: Sequence[NewEvent] = ()


class Appended(NamedTuple):
    """The answer to an append.

    Attributes:
        events: The recorded events, in the order of their positions; the first recording's when `duplicate`.
        duplicate: True when all of them had been stored before, by the same call.
    """

    events: tuple[Recorded, ...]
    duplicate: bool = False

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of `events`."""
        return tuple(event.position for event in self.events)


@runtime_checkable
class EventStore(Protocol):
    """One space's log: an ordered, append-only, gap-free sequence of events in streams.

    `engram_core.testing.EventStoreContract` states every obligation as a test.
    """

    @property
    def store_id(self) -> UUID:
        """Names this log for ever; a checkpoint of another store is refused by it."""
        ...

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        """Appends all or nothing, by the decision table of `engram_core.chain.plan_append`.

        Raises: ValueError (a stream or an id twice in the batch), DuplicateEvent, ConcurrencyError, StoreError.
        """
        ...

    def read_stream(
        self,
        stream: str,
        *,
        after: int = 0,
        upto: int | None = None,
        limit: int | None = None,
        backwards: bool = False,
    ) -> tuple[Recorded, ...]:
        """The events of one stream with `after` < version <= `upto`, at most `limit`, in version order."""
        ...

    def read(self, *, after: int = 0, upto: int | None = None, limit: int = 1_000) -> tuple[Recorded, ...]:
        """The events with `after` < position <= `upto`, at most `limit`, in position order."""
        ...

    def head(self) -> int:
        """The last position, 0 for an empty log; every later read shows at least as much."""
        ...

    def close(self) -> None:
        """Releases what the store holds; closing twice is no error."""
        ...


@runtime_checkable
class AtomicStore(EventStore, Protocol):
    """A store that can hold its write lock while a decision is made."""

    def transaction(self) -> AbstractContextManager[None]:
        """Holds the write lock; appends within take effect together at its end, or not at all if it raises.

        Reads by the same thread within it see its appends. Not re-entrant.
        """
        ...


@runtime_checkable
class SqlStore(AtomicStore, Protocol):
    """A store whose log is a SQLite database, in which the read model can live beside it."""

    def writing(self) -> sqlite3.Connection:
        """The connection of the running `transaction()`; what is written by it commits with the appends."""
        ...

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection of this thread for reading, in one snapshot until the block ends.

        Inside this thread's own `transaction()` it is the writing connection.
        """
        ...


@runtime_checkable
class ClockedStore(EventStore, Protocol):
    """A store that takes `recorded_at` from a clock that it can be given.

    A space with a clock of its own gives it to its store; one without goes by the clock of its store. A store that
    is none of these keeps its own time: make it with the clock that the space gets.

    Attributes:
        clock: What `recorded_at` is read from.
    """

    clock: Clock


@runtime_checkable
class EraserStore(EventStore, Protocol):
    """A store that can take payloads out of its log and of everything that lies beneath it."""

    def erase(self, owner: str, marker: str) -> tuple[Recorded, ...]:
        """Replaces `data` of every event of this owner by the marker; all else stays. Returns those events."""
        ...

    def scrub(self) -> bool:
        """Removes remains of erased text from free pages and side files; False if a reader held them: try again."""
        ...


@runtime_checkable
class Projection(Protocol):
    """An application's own read model, kept in tables beside ours.

    Attributes:
        name: Unique among the space's projections.
        version: Raised when tables or meaning change; a new version is built from the whole log.
    """

    name: str
    version: int

    def setup(self, tx: sqlite3.Connection) -> None:
        """Creates its tables."""
        ...

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        """Takes in the events of one commit or of a page of commits, in order; touches nothing but `tx`."""
        ...

    def teardown(self, tx: sqlite3.Connection) -> None:
        """Drops its tables."""
        ...


@runtime_checkable
class Clock(Protocol):
    """Where the present comes from."""

    def now(self) -> datetime:
        """The present, aware."""
        ...


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        """The present, in UTC."""
        return datetime.now(UTC)


@runtime_checkable
class IdSource(Protocol):
    """Where new ids come from; they are names, never clocks or an order."""

    def __call__(self) -> str | UUID:
        """An id that was never given before."""
        ...


def uuid7_ids() -> str:
    """A new UUIDv7, as text; the default `IdSource`."""
    from uuid6 import uuid7

    return str(uuid7())


@runtime_checkable
class Embedder(Protocol):
    """An application's embedding model, for the semantic half of recall.

    Attributes:
        name: Names model and version; vectors of another name are never compared.
        dimension: Length of every vector.
    """

    name: str
    dimension: int

    def encode(self, texts: Sequence[str], purpose: Literal["passage", "query"]) -> Sequence[Sequence[float]]:
        """One vector for each text."""
        ...


class Redaction(NamedTuple):
    """What a redactor made of a text: the text without its secrets, and how many were removed."""

    text: str
    removed: int


@runtime_checkable
class Redactor(Protocol):
    """Takes secrets out of text before anything is stored.

    Attributes:
        name: Name and version; goes into the provenance of what it changed.
    """

    name: str

    def redact(self, text: str) -> Redaction:
        """The text without its secrets."""
        ...
