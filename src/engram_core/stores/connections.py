"""A store's connections: one for writing, under a lock, and one a thread for reading.

A connection must not outlive a fork, not even unused: SQLite keeps its locks by process, so a child that
opens the same file beside an inherited connection believes that it holds locks which it does not. So all are
closed before a fork, and opened again on both sides of it.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Literal
from weakref import WeakSet

from engram_core.errors import StoreBusy, StoreError
from engram_core.stores.driver import Connect, Durability, closed, open_connection
from engram_core.stores.forks import Lock, file_lock, survive_forks

__all__ = ["Connections", "Handle", "Prepare"]

Prepare = Callable[[sqlite3.Connection], None]
"""What an application does to a connection before it is used, such as registering functions."""


class Connections:
    """The connections of one store in one process.

    Args:
        path: The file.
        connect: Opens a connection, like `sqlite3.connect`.
        mode: "rw" or "ro".
        durability: See `stores.driver.Durability`.
        timeout: Seconds to wait for locks.
    """

    def __init__(
        self,
        path: Path,
        connect: Connect,
        *,
        mode: Literal["ro", "rw"],
        durability: Durability,
        timeout: float,
    ) -> None:
        self.path = path
        self.timeout = timeout
        self._connect = connect
        self._mode: Literal["ro", "rw"] = mode
        self._durability: Durability = durability
        self._prepares: tuple[Prepare, ...] = ()
        self._closed = False
        self._unfit = False
        self._start()
        survive_forks(self)

    def _start(self) -> None:
        self._guard = threading.Lock()
        self._write_lock = file_lock(self.path)
        self._owner: int | None = None
        self._opener: int | None = None  # who opens the writing connection
        self._writer: Handle | None = None
        self._copier: Handle | None = None
        self._readers: WeakSet[Handle] = WeakSet()
        self._local = threading.local()

    def prepare(self, hook: Prepare) -> None:
        """Has the hook run on every connection, the open ones included, before its next use."""
        self._prepares = (*self._prepares, hook)

    def owned(self) -> bool:
        """Whether this thread holds the write lock."""
        return self._owner == threading.get_ident()

    def hold_writer(self) -> sqlite3.Connection:
        """Takes this process's write lock of the file, and gives the writing connection.

        Raises: StoreBusy when other threads held it all the time.
        """
        lock = self._write_lock
        if not lock.acquire(timeout=self.timeout):
            raise StoreBusy(f"{self.path} is held by another thread", hint="try again", path=str(self.path))
        try:
            self.check()
            if self._writer is None:
                self._opener = threading.get_ident()
                try:
                    self._writer = self._new_writer()
                finally:
                    self._opener = None
            connection = self._writer.ready(self._prepares)
        except BaseException:
            lock.release()
            raise
        self._owner = threading.get_ident()
        return connection

    def writer(self) -> sqlite3.Connection:
        """The writing connection, for the thread that holds the lock."""
        if self._writer is None or not self.owned():
            raise RuntimeError("there is no transaction of this thread")
        return self._writer.connection

    def copier(self) -> sqlite3.Connection:
        """A second connection of the thread that holds the lock, to copy the write-ahead log by.

        It is kept from one time to the next: to open one means to read the whole schema.
        """
        if self._copier is None or not self._copier.usable:
            self._copier = Handle(self.extra())
        return self._copier.connection

    def renew_writer(self) -> None:
        """Puts a new writing connection in the place of the old one, for the thread that holds the lock.

        The old one is closed last: SQLite copies and removes the write-ahead log with a file's last connection. So
        it stays in use where no new one can be opened.
        """
        old, self._writer = self._writer, self._new_writer()
        if old is not None:
            old.close()

    def _new_writer(self) -> Handle:
        connection = self.extra()
        connection.execute("PRAGMA busy_timeout=0")  # who writes waits by himself, see stores/sqlite.py
        return Handle(connection)

    def release_writer(self) -> None:
        """Gives the write lock back."""
        if self.owned():
            if self._closed:
                self._close_writer()
            self._owner = None
            self._write_lock.release()

    def hold_reader(self, *, snapshot: bool) -> Handle:
        """Takes this thread's reading connection, with a snapshot that lasts until it is released, or without.

        Taken again within, it is the same one, in the same snapshot.
        """
        while True:
            handle = self._reader()
            handle.lock.acquire()
            # Between the two lines above, a fork or `close` may have closed it.
            if handle.usable:
                break
            handle.lock.release()
        try:
            connection = handle.ready(self._prepares)
            if snapshot and handle.depth == 0:
                connection.execute("BEGIN")
            handle.depth += 1
        except BaseException:
            handle.lock.release()
            raise
        return handle

    def release_reader(self, handle: Handle) -> None:
        """Gives the reading connection back; the snapshot ends with the outermost block."""
        try:
            handle.depth -= 1
            if handle.depth == 0:
                if not self._closed and handle.end_snapshot():
                    return
                handle.close()
        finally:
            handle.lock.release()

    def extra(self) -> sqlite3.Connection:
        """One more connection for a maintenance task; the caller closes it."""
        self.check()
        return open_connection(
            self.path, self._connect, mode=self._mode, durability=self._durability, timeout=self.timeout
        )

    def close(self) -> None:
        """Closes all connections; one that another thread is using, when that thread has done with it."""
        self._closed = True
        deadline = monotonic() + self.timeout
        with self._guard:
            readers = tuple(self._readers)
        for handle in readers:
            if handle.lock.acquire(timeout=max(0.0, deadline - monotonic())):
                try:
                    if handle.depth == 0:
                        handle.close()
                finally:
                    handle.lock.release()
        if not self.owned() and self._write_lock.acquire(timeout=max(0.0, deadline - monotonic())):
            try:
                self._close_writer()
            finally:
                self._write_lock.release()

    def _close_writer(self) -> None:
        for handle in (self._writer, self._copier):
            if handle is not None:
                handle.close()
        self._writer = self._copier = None

    def check(self) -> None:
        """Raises what a use of these connections is answered with, when they cannot be used."""
        if self._unfit:
            raise StoreError(
                "this process was forked while the store was in use, so it cannot use the file safely",
                code="store_forked",
                hint="fork while no transaction or read of the store is running",
            )
        if self._closed:
            raise closed()

    def _reader(self) -> Handle:
        self.check()
        handle: Handle | None = getattr(self._local, "handle", None)
        if handle is None or not handle.usable:
            # The guard also keeps new connections from being born while a fork is under way.
            with self._guard:
                handle = Handle(self.extra())
                self._readers.add(handle)
            self._local.handle = handle
        return handle

    def pause(self, take: Callable[[Lock], bool], *, busy: bool) -> bool:
        """Closes what is not in use, and lets nothing start, as `take` keeps what it took; called before a fork.

        Args:
            take: Takes a lock and keeps it; False if that is not possible in time.
            busy: Whether this thread itself holds the write lock, by these connections or by others of the file.

        Returns: False if a connection stayed open.
        """
        idle = take(self._guard)
        if self.owned() or not (busy or take(self._write_lock)):
            idle = idle and self._opener in (None, threading.get_ident())
            idle = idle and self._writer is None and self._copier is None
        else:
            self._close_writer()
        for handle in tuple(self._readers):
            if take(handle.lock) and handle.depth == 0:
                handle.close()
            else:
                idle = idle and not handle.usable
        return idle

    def restart(self, *, unfit: bool) -> None:
        """Begins anew after a fork, in the child; refuses to if a connection to the file came over with it."""
        self._unfit = self._unfit or unfit
        for handle in (self._writer, self._copier, *self._readers):
            if handle is not None and handle.usable:
                handle.abandon()
        self._start()

    @property
    def file(self) -> threading.Lock:
        """The lock that stands for the file, the same for all stores on it."""
        return self._write_lock


class Handle:
    """A connection with the lock of who uses it; closed when nothing refers to it any more."""

    __slots__ = ("__weakref__", "_pid", "connection", "depth", "lock", "prepared", "usable")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.lock = threading.RLock()
        self.depth = 0
        self.prepared = 0
        self.usable = True
        self._pid = os.getpid()

    def ready(self, prepares: tuple[Prepare, ...]) -> sqlite3.Connection:
        """The connection, prepared."""
        if not self.usable:
            raise closed()
        while self.prepared < len(prepares):
            prepares[self.prepared](self.connection)
            self.prepared += 1
        return self.connection

    def end_snapshot(self) -> bool:
        """Lets go of what was read; False if the connection is not fit for another use."""
        try:
            if self.usable and self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        except Exception:  # noqa: BLE001 -- what was read is none the worse, and closing it ends the snapshot, too
            return False
        return True

    def close(self) -> None:
        """Closes the connection, if it is this process's own."""
        if not self.usable:
            return
        self.usable = False
        if self._pid == os.getpid():
            self.connection.close()
        else:
            self.abandon()

    def abandon(self) -> None:
        """Leaves an inherited connection open for ever: to close it would harm the parent's."""
        self.usable = False
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.connection))

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()
