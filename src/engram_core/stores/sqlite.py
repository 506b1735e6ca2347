"""A log in a SQLite file, for several threads and several processes at once."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from os import PathLike
from os.path import realpath
from pathlib import Path
from types import TracebackType
from uuid import UUID

from engram_core.chain import check_expected, check_repeats, place_all, plan_append
from engram_core.errors import ConcurrencyError, StoreCorrupt, StoreError, StoreReadOnly
from engram_core.ports import Appended, Clock, Recorded, StreamAppend, SystemClock
from engram_core.stores import sqlite_schema as schema
from engram_core.stores import wal
from engram_core.stores.clocks import now_by
from engram_core.stores.connections import Connections, Prepare
from engram_core.stores.driver import Connect, Durability, found_at, is_busy, located, translated
from engram_core.stores.forks import opening
from engram_core.stores.pages import bounds
from engram_core.stores.reading import Reading, back_up

__all__ = ["SqliteStore"]

# States of the row that remembers what an erasure has left to be done.
_CLEAN, _IN_PAGES, _IN_LOG = 0, 1, 2

_OWNED = (
    "WHERE position IN (SELECT position FROM events WHERE stream = ? AND owner IS NULL"
    " UNION ALL SELECT position FROM events WHERE owner = ?) ORDER BY position"
)

_COMMITS_A_LOOK = 16
_EVENTS_A_LOOK = 256
_LARGE_TRANSACTION = 4_000
"""Rows changed by a transaction after which its connection is unfit for small ones, see `_renew_if_swollen`."""


class SqliteStore:
    """One space's log in one SQLite file: a `SqlStore` and an `EraserStore`.

    It may be used from many threads, and its file by many processes. A file that is damaged or is something
    else is refused and left as it was found. Around `os.fork` its connections are closed, and opened again on
    both sides.

    Args:
        path: The file; its directory must allow for side files, and must not be on a network.
        create: Whether to make the file if it is absent.
        read_only: Whether every write is refused; the file must be there.
        durability: "full": a commit that returned survives a power cut; "normal": the last ones may not.
        connect: Called like `sqlite3.connect`; for those who bring a newer SQLite.
        clock: What `recorded_at` is read from; the machine's clock by default.
        busy_timeout: Seconds to wait for other writers before `StoreBusy`.

    Raises: StoreCorrupt, StoreReadOnly, or another StoreError, when the file cannot be used.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        create: bool = True,
        read_only: bool = False,
        durability: Durability = "full",
        connect: Connect | None = None,
        clock: Clock | None = None,
        busy_timeout: float = 5.0,
    ) -> None:
        if str(path) in {"", ":memory:"}:
            raise ValueError("a SqliteStore needs a file; for a log in memory there is InMemoryStore")
        if durability not in {"full", "normal"}:
            raise ValueError(f"durability is 'full' or 'normal', not {durability!r}")
        # Where SQLite puts its side files: beside the file itself, not beside a link to it.
        self._path = Path(realpath(located(path, purpose="store")))
        self._read_only = read_only
        self.clock = clock or SystemClock()
        self._connect: Connect = connect or sqlite3.connect
        self._timeout = busy_timeout
        self._doom: BaseException | None = None
        self._commits = self._appended = 0
        self._swollen = False
        self._large = wal.CHECKPOINT_BYTES
        with opening():
            if not found_at(self._path):
                if read_only or not create:
                    raise StoreError(
                        f"{self._path} does not exist",
                        code="store_missing",
                        hint="open it with create=True to make it",
                    )
                with self._ours():
                    schema.create_file(self._path, self._connect)
            self._id = schema.recognise(self._path, self._connect, busy_timeout)
            self._connections = Connections(
                self._path,
                self._connect,
                mode="ro" if read_only else "rw",
                durability=durability,
                timeout=busy_timeout,
            )
        if not read_only:
            try:
                self._open_for_writing()
            except BaseException:
                self._connections.close()
                raise

    def __repr__(self) -> str:
        return f"SqliteStore({str(self._path)!r})"

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def clock(self) -> Clock:
        """What `recorded_at` is read from."""
        return self._clock

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self._clock = clock
        self._now = now_by(clock)

    @property
    def store_id(self) -> UUID:
        """Names this log for ever."""
        return self._id

    def prepare(self, hook: Prepare) -> None:
        """Has `hook(connection)` run on every connection before its next use; it may register functions."""
        self._connections.prepare(hook)

    def head(self) -> int:
        """The last position, 0 for an empty log."""
        with Reading(self._connections, snapshot=False) as connection:
            position: int = connection.execute("SELECT position FROM head").fetchone()[0]
            return position

    def read_stream(
        self,
        stream: str,
        *,
        after: int = 0,
        upto: int | None = None,
        limit: int | None = None,
        backwards: bool = False,
    ) -> tuple[Recorded, ...]:
        """The events of one stream with `after` < version <= `upto`, at most `limit`."""
        after, upto, limit = bounds(after, upto, limit)
        order = "DESC" if backwards else "ASC"
        where = f"WHERE stream = ? AND version > ? AND version <= ? ORDER BY version {order} LIMIT ?"
        with Reading(self._connections, snapshot=False) as connection:
            return schema.rows(connection, where, stream, after, upto, limit)

    def read(self, *, after: int = 0, upto: int | None = None, limit: int = 1_000) -> tuple[Recorded, ...]:
        """The events with `after` < position <= `upto`, at most `limit`."""
        after, upto, limit = bounds(after, upto, limit)
        where = "WHERE position > ? AND position <= ? ORDER BY position LIMIT ?"
        with Reading(self._connections, snapshot=False) as connection:
            return schema.rows(connection, where, after, upto, limit)

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        """Appends all or nothing, by the decision table of `engram_core.chain.plan_append`."""
        check_repeats(batch)
        if self._connections.owned():
            return self._append(self._connections.writer(), batch)
        with _Transaction(self) as connection:
            return self._append(connection, batch)

    def transaction(self) -> AbstractContextManager[None]:
        """Holds the write lock; what is done within takes effect at its end, or not at all if it raises."""
        return _Held(self)

    def writing(self) -> sqlite3.Connection:
        """The connection of this thread's running `transaction()`."""
        return self._connections.writer()

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection of this thread in one snapshot; within its own `transaction()` the writing one."""
        return Reading(self._connections, snapshot=True)

    def erase(self, owner: str, marker: str) -> tuple[Recorded, ...]:
        """Replaces `data` of every event of this owner by the marker; what is left of it is for `scrub()`."""
        if not self._connections.owned():
            with self.transaction():
                return self.erase(owner, marker)
        connection = self._connections.writer()
        with _AllOrDoom(self):
            connection.execute("UPDATE erasure SET gate = 1, remains = ?", (_IN_PAGES,))
            connection.execute("UPDATE events SET data = ? WHERE stream = ? AND owner IS NULL", (marker, owner))
            connection.execute("UPDATE events SET data = ? WHERE owner = ?", (marker, owner))
            connection.execute("UPDATE erasure SET gate = 0")
            return schema.rows(connection, _OWNED, owner, owner)

    def scrub(self) -> bool:
        """Rebuilds the file and empties its write-ahead log, so that no erased text is left in either.

        Returns: False if a reader held the old text, or others wrote all the time. The file remembers that,
            and it is tried again when the file is next opened.
        """
        self._check_writable()
        if self._connections.owned():
            raise RuntimeError("a scrub cannot run within a transaction")
        with self._ours():
            connection = self._connections.hold_writer()
            try:
                with self._patient(connection):
                    return self._scrub(connection, _IN_PAGES)
            except Exception as error:
                if is_busy(error):
                    return False
                raise
            finally:
                self._connections.release_writer()

    def backup(self, path: str | PathLike[str]) -> None:
        """Copies the log as it stands to a new file, whoever is writing; the copy is checked, then named.

        Raises: StoreError "store_exists" when there is something of that name already; StoreCorrupt when the copy is
            not whole; InvalidAttributesError when it is no path.
        """
        back_up(self._connections, located(path, purpose="backup"), self._connect)

    def problems(self) -> tuple[str, ...]:
        """What is wrong with the file itself, its pages, indexes and head; what its events say is not looked at."""
        try:
            with self.reading() as connection:
                return schema.problems_of(connection)
        except StoreCorrupt as error:
            return (str(error),)

    def close(self) -> None:
        """Closes all connections; closing twice is no error."""
        self._connections.close()

    # -- inside

    def _open_for_writing(self) -> None:
        with self._ours():
            connection = self._connections.hold_writer()
            try:
                with self._patient(connection):
                    schema.ensure_wal(connection, self._path)
                self._begin(connection)
                # On a file that may not be written, BEGIN IMMEDIATE succeeds; a write that changes nothing does not.
                connection.execute("UPDATE erasure SET gate = 0 WHERE one = 0")
                connection.execute("ROLLBACK")
                (remains,) = connection.execute("SELECT remains FROM erasure").fetchone()
                if remains != _CLEAN:
                    with suppress(StoreError, sqlite3.Error), self._patient(connection):
                        self._scrub(connection, remains)
            finally:
                self._connections.release_writer()

    def _append(self, connection: sqlite3.Connection, batch: Sequence[StreamAppend]) -> Appended:
        """Takes it that no id is stored yet; if one is, or an expectation fails, the full table decides."""
        with _AllOrDoom(self):
            head = schema.head_of(connection)
            versions = [_version(connection, entry.stream) for entry in batch]
            try:
                for entry, version in zip(batch, versions, strict=True):
                    check_expected(entry.stream, entry.expected, version)
                events = place_all(
                    batch,
                    versions,
                    head=head.position,
                    recorded_at=max(head.recorded_at, self._now()),
                    last_link=head.link,
                )
                if events:
                    schema.insert(connection, events)
            except (ConcurrencyError, sqlite3.IntegrityError, connection.IntegrityError):
                # Rows beyond the head are no part of the log yet.
                connection.execute("DELETE FROM events WHERE position > ?", (head.position,))
                return self._plan(connection, batch, head)
            self._appended += len(events)
            return Appended(events)

    def _plan(self, connection: sqlite3.Connection, batch: Sequence[StreamAppend], head: schema.Head) -> Appended:
        planned = plan_append(
            batch,
            head=head.position,
            last_recorded_at=head.recorded_at,
            last_link=head.link,
            now=self._now(),
            versions=lambda stream: _version(connection, stream),
            stored=lambda ids: {row.id: row for id in ids for row in schema.rows(connection, "WHERE id = ?", id)},
        )
        if planned.events and not planned.duplicate:
            schema.insert(connection, planned.events)
        return planned

    def _begin(self, connection: sqlite3.Connection, *, timeout: float | None = None) -> None:
        """Waits for SQLite's write lock by short steps; SQLite's own grow to 100 ms, and can starve."""
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
                return
            except Exception as error:
                if not is_busy(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(random.uniform(0.0002, 0.002))

    def _checkpoint_if_large(self, connection: sqlite3.Connection) -> None:
        """Looks at the log now and then; what was committed stays so, whatever becomes of this."""
        self._commits += 1
        if self._commits < _COMMITS_A_LOOK and self._appended < _EVENTS_A_LOOK:
            return
        self._commits = self._appended = 0
        used, copied = 0, False
        with suppress(Exception):
            used = wal.used(self._path)
            if used >= self._large:
                copied = self._checkpoint(connection, timeout=0)
        if used < self._large:
            return
        # While a reader is in the way, it is worth another try when it has grown as much once more.
        self._large = wal.CHECKPOINT_BYTES if copied else used + wal.CHECKPOINT_BYTES

    def _renew_if_swollen(self, changed: int) -> None:
        """Lets a connection go after which every commit would cost more than need be; called after a commit.

        The table in which FTS5 gathers the words of a transaction grows with it, and never shrinks while the
        connection lives; each commit goes through the whole of it. So the first small one after a large one is the
        last of its connection.
        """
        if changed > _LARGE_TRANSACTION:
            self._swollen = True
        elif self._swollen:
            self._swollen = False
            with suppress(Exception):
                self._connections.renew_writer()

    def _checkpoint(self, connection: sqlite3.Connection, *, timeout: float | None = None) -> bool:
        self._begin(connection, timeout=timeout)
        try:
            return wal.checkpoint(self._connections.copier())
        finally:
            connection.execute("ROLLBACK")

    def _scrub(self, connection: sqlite3.Connection, remains: int) -> bool:
        if remains == _IN_PAGES:
            connection.execute("UPDATE erasure SET remains = ?", (_IN_PAGES,))
            # In a file, which nobody else can open, for the copy may be larger than the memory.
            connection.execute("PRAGMA temp_store=FILE")
            connection.execute("VACUUM")
            connection.execute("PRAGMA temp_store=MEMORY")
            connection.execute("UPDATE erasure SET remains = ?", (_IN_LOG,))
        for _ in range(3):
            if self._checkpoint(connection) and wal.cut(
                self._path, connection, "UPDATE erasure SET rounds = rounds + 1"
            ):
                connection.execute("UPDATE erasure SET remains = ?", (_CLEAN,))
                return True
        return False

    @contextmanager
    def _patient(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Has SQLite wait for locks itself, for statements that cannot be begun by `_begin`."""
        connection.execute(f"PRAGMA busy_timeout={int(self._timeout * 1_000)}")
        try:
            yield
        finally:
            connection.execute("PRAGMA busy_timeout=0")

    @contextmanager
    def _ours(self) -> Iterator[None]:
        """Gives the driver's errors our names."""
        try:
            yield
        except Exception as error:
            ours = translated(error, self._path)
            if ours is None:
                raise
            raise ours from error

    def _check_writable(self) -> None:
        if self._read_only:
            raise StoreReadOnly(f"{self._path} was opened for reading", hint="open it without read_only=True")


def _version(connection: sqlite3.Connection, stream: str) -> int:
    found = connection.execute("SELECT max(version) FROM events WHERE stream = ?", (stream,)).fetchone()
    version: int = found[0] or 0
    return version


class _AllOrDoom:
    """A step that fails half-way spoils the transaction around it, even if the error is swallowed."""

    __slots__ = ("_store",)

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def __enter__(self) -> None:
        """Begins the step."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        refused = isinstance(error, ConcurrencyError) or (isinstance(error, StoreError) and error.__cause__ is None)
        if error is not None and not refused:
            self._store._doom = error


class _Transaction:
    """From BEGIN IMMEDIATE to COMMIT, under this process's write lock of the file."""

    __slots__ = ("_changed_before", "_connection", "_store")

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def __enter__(self) -> sqlite3.Connection:
        store = self._store
        store._check_writable()
        if store._connections.owned():
            raise RuntimeError("this thread is in a transaction already; they do not nest")
        self._connection = store._connections.hold_writer()
        try:
            store._begin(self._connection)
        except BaseException as error:
            store._connections.release_writer()
            ours = translated(error, store._path)
            if ours is None:
                raise
            raise ours from error
        store._doom = None
        self._changed_before = self._connection.total_changes
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        store, connection = self._store, self._connection
        if not store._connections.owned():
            # Forked within the transaction: it is the parent's to end, and must not be taken for done here.
            store._connections.check()
            raise RuntimeError("a transaction ends in the thread in which it began")
        try:
            first = error or store._doom
            if first is None:
                try:
                    connection.execute("COMMIT")
                except BaseException as failed:  # noqa: BLE001 -- raised below, after the rollback
                    first = failed
            if first is None:
                store._checkpoint_if_large(connection)
                store._renew_if_swollen(connection.total_changes - self._changed_before)
                return
            _roll_back(connection)
        finally:
            store._connections.release_writer()
        ours = translated(first, store._path)
        if ours is not None:
            raise ours from first
        if first is not error:
            raise first


class _Held(_Transaction):
    """A transaction as those outside see it: its connection is asked for by `writing`."""

    __slots__ = ()

    def __enter__(self) -> None:  # type: ignore[override]
        super().__enter__()


def _roll_back(connection: sqlite3.Connection) -> None:
    """Ends a failed transaction, unless SQLite has ended it already. The first error is what counts."""
    if connection.in_transaction:
        with suppress(Exception):
            connection.execute("ROLLBACK")
