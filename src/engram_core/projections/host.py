"""Where the read model lives: in the log's own SQLite file, or in memory beside a log that has none."""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType
from typing import Final, Protocol, TypeAlias

from engram_core.analysis import holds_words
from engram_core.errors import StoreError
from engram_core.ports import AtomicStore, EventStore, SqlStore
from engram_core.stores.driver import closed, is_of_driver

__all__ = ["CatchUp", "Host", "ReplicaHost", "SqlHost", "open_host", "prepare_connection"]

CatchUp: TypeAlias = Callable[[sqlite3.Connection], None]
"""Brings the read model behind a writing connection up to the head of the log."""


class Host(Protocol):
    """The place of the read model, and how to get at it."""

    @property
    def store(self) -> EventStore:
        """The log."""
        ...

    @property
    def shares_transaction(self) -> bool:
        """True when the log and the read model commit as one, so that a failing projection takes an append back."""
        ...

    def attach(self, catch_up: CatchUp) -> None:
        """Says how the read model is brought up to the head; before that, it is left as it is."""
        ...

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """Holds the write lock, with the read model at the log's head; all of it takes effect at the end, or nothing.

        Not re-entrant. Over a log without transactions, what was appended stays even if the block raises.
        """
        ...

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection that shows one state until the block ends; within this thread's transaction, its own."""
        ...

    def withdraw(self) -> None:
        """Keeps the read model in memory from now on, because the log's database cannot be written."""
        ...

    def close(self) -> None:
        """Releases what the host holds; the log stays open."""
        ...


def open_host(store: EventStore) -> Host:
    """The place of the read model of a log: its own database if it has one, else this process's memory."""
    return SqlHost(store) if isinstance(store, SqlStore) else ReplicaHost(store)


class SqlHost:
    """The read model in the log's own database: what is projected commits with what is appended."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self._replica: ReplicaHost | None = None
        self._catch_up: CatchUp | None = None
        hook = getattr(store, "prepare", None)
        self._hooked = callable(hook)
        if callable(hook):
            hook(prepare_connection)

    @property
    def store(self) -> SqlStore:
        """The log."""
        return self._store

    @property
    def shares_transaction(self) -> bool:
        """True as long as the read model lives in the log's database."""
        return self._replica is None

    def attach(self, catch_up: CatchUp) -> None:
        """Says how the read model is brought up to the head."""
        self._catch_up = catch_up
        if self._replica is not None:
            self._replica.attach(catch_up)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Holds the store's write lock."""
        if self._replica is not None:
            with self._replica.transaction() as connection:
                yield connection
            return
        with _OUR_NAMES, self._store.transaction():
            connection = self._store.writing()
            if not self._hooked:
                prepare_connection(connection)
            if self._catch_up is not None:
                self._catch_up(connection)
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A snapshot of log and read model together."""
        if self._replica is not None:
            with self._replica.reading() as connection:
                yield connection
            return
        with _OUR_NAMES, self._store.reading() as connection:
            if not self._hooked:
                prepare_connection(connection)
            yield connection

    def withdraw(self) -> None:
        """Keeps the read model in memory from now on."""
        self._replica = ReplicaHost(self._store, atomic=False)

    def close(self) -> None:
        """Drops what is in memory; the store is its owner's to close."""
        if self._replica is not None:
            self._replica.close()


class ReplicaHost:
    """The read model in memory, following a log that has no database: one connection, used by one thread at a time.

    It is committed after the log, and can only ever lag behind it: whatever is missing is read from the log before
    the next use.

    Args:
        store: The log.
        atomic: Whether the log's transactions are used, if it has any.
    """

    def __init__(self, store: EventStore, *, atomic: bool = True) -> None:
        self._store = store
        self._atomic = store if atomic and isinstance(store, AtomicStore) else None
        self._catch_up: CatchUp | None = None
        self._lock = threading.RLock()
        self._depth = 0
        self._closed = False
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, cached_statements=256
        )
        prepare_connection(self._connection)

    @property
    def store(self) -> EventStore:
        """The log."""
        return self._store

    @property
    def shares_transaction(self) -> bool:
        """True when the log itself can take an append back."""
        return self._atomic is not None

    def attach(self, catch_up: CatchUp) -> None:
        """Says how the read model is brought up to the head."""
        self._catch_up = catch_up

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Holds this process's lock, and the log's where it has one."""
        with self._lock:
            if self._depth:
                raise RuntimeError("this thread is in a transaction or a read already; they do not nest")
            with self._held():
                with self._atomic.transaction() if self._atomic is not None else nullcontext():
                    self._connection.execute("BEGIN")
                    if self._catch_up is not None:
                        self._catch_up(self._connection)
                    yield self._connection
                self._connection.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The replica at the log's head."""
        with self._lock:
            if self._depth:
                self._depth += 1
                try:
                    yield self._connection
                finally:
                    self._depth -= 1
                return
            with self._held():
                if self._catch_up is not None:
                    self._connection.execute("BEGIN")
                    self._catch_up(self._connection)
                    self._connection.execute("COMMIT")
                self._connection.execute("BEGIN")
                yield self._connection

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Marks the connection as in use; what was not committed by the end is taken back."""
        if self._closed:
            raise closed()
        self._depth += 1
        try:
            with _OUR_NAMES:
                yield
        finally:
            self._depth -= 1
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def withdraw(self) -> None:
        """It is in memory already."""

    def close(self) -> None:
        """Drops the replica."""
        with self._lock:
            self._closed = True
            self._connection.close()


class _OurNames:
    """Gives our name to what the driver says of a statement of ours, if it is not the store's to name."""

    __slots__ = ()

    def __enter__(self) -> None:
        """Begins a block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and is_of_driver(error):
            raise StoreError(
                f"a statement of the read model failed: {error}",
                code="store_statement",
                hint="run verify(); rebuild() makes the read model anew",
                sqlite=getattr(error, "sqlite_errorname", None),
            ) from error


_OUR_NAMES: Final = _OurNames()


def _pow(base: float | None, exponent: float | None) -> float | None:
    return None if base is None or exponent is None else math.pow(base, exponent)


def _ln(value: float | None) -> float | None:
    return None if value is None or value <= 0 else math.log(value)


def _log2(value: float | None) -> float | None:
    return None if value is None or value <= 0 else math.log2(value)


_FUNCTIONS: tuple[tuple[str, int, Callable[..., float | None]], ...] = (
    ("pow", 2, _pow),
    ("ln", 1, _ln),
    ("log2", 1, _log2),
)


def prepare_connection(connection: sqlite3.Connection) -> None:
    """Registers what our statements need beyond SQLite, and the mathematical functions that this build lacks."""
    connection.create_function("holds_words", 2, holds_words, deterministic=True)
    for name, arguments, function in _FUNCTIONS:
        try:
            connection.execute(f"SELECT {name}({', '.join('1' * arguments)})")
        except Exception:  # noqa: BLE001 -- an application's own driver has error classes of its own
            connection.create_function(name, arguments, function, deterministic=True)
