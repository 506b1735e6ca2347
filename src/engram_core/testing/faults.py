"""Faults on demand for a log in a SQLite file: death at a statement, a full disk, a damaged file, a busy neighbour.

`Faults` opens a store's connections and makes them fail when it is told to; the functions harm files, or show what a
killed process would have left of them. Nothing here needs privileges or a file system of its own.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

__all__ = ["Faults", "crash_image", "cut_log", "driver_error", "flip", "held", "log_frames", "pages_of"]

_PAGES_FOR_EVER: Final = 1_073_741_823


class Faults:
    """Opens connections as `sqlite3.connect` does, counts what they execute, and has them fail.

    Give its `connect` to `MemorySpace.open` or `SqliteStore`.

    Attributes:
        executed: How many statements have been executed.
        on_statement: Called before each statement with its number, from 1; what it raises, the statement raises.
    """

    def __init__(self) -> None:
        self.executed = 0
        self.on_statement: Callable[[int], None] | None = None
        self._connections: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._failures: list[tuple[BaseException, str, bool]] = []

    def connect(self, database: str, **options: Any) -> sqlite3.Connection:
        """A connection that fails when it is told to."""
        connection: _Failing = sqlite3.connect(database, factory=_Failing, **options)
        connection.faults = self
        with self._guard:
            self._connections.append(connection)
        return connection

    def fail(self, error: BaseException, *, at: str = "", rolls_back: bool = False, times: int = 1) -> None:
        """Has the next statements fail that begin with some words.

        Args:
            error: What they raise; see `driver_error`.
            at: How they begin, such as "COMMIT" or "INSERT INTO events".
            rolls_back: Whether SQLite ends the transaction by itself, as it does when a disk is full.
            times: How many of them fail.
        """
        self._failures += [(error, at, rolls_back)] * times

    def kill(self, at: int) -> None:
        """Has this process die, as by `kill -9`, before it executes its statement of this number from now on."""
        last = self.executed + at

        def die(number: int) -> None:
            if number >= last:
                os.kill(os.getpid(), signal.SIGKILL)

        self.on_statement = die

    def fill(self, *, room: int = 0) -> None:
        """Leaves room for so many pages more, in every connection that is open; a real SQLITE_FULL follows."""
        for connection in self._open():
            (pages,) = sqlite3.Connection.execute(connection, "PRAGMA page_count").fetchone()
            sqlite3.Connection.execute(connection, f"PRAGMA max_page_count={pages + room}")

    def free(self) -> None:
        """There is room again."""
        for connection in self._open():
            sqlite3.Connection.execute(connection, f"PRAGMA max_page_count={_PAGES_FOR_EVER}")

    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._guard:
            connections = tuple(self._connections)
        for connection in connections:
            with suppress(sqlite3.ProgrammingError):
                sqlite3.Connection.execute(connection, "SELECT 1")
                yield connection

    def _before(self, connection: sqlite3.Connection, sql: str) -> None:
        with self._guard:
            self.executed += 1
            number = self.executed
            failure = next((f for f in self._failures if sql.lstrip().startswith(f[1])), None)
            if failure is not None:
                self._failures.remove(failure)
        if self.on_statement is not None:
            self.on_statement(number)
        if failure is not None:
            error, _, rolls_back = failure
            if rolls_back and connection.in_transaction:
                sqlite3.Connection.execute(connection, "ROLLBACK")
            raise error


class _Failing(sqlite3.Connection):
    """A connection that asks before each statement."""

    faults: Faults | None = None

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if self.faults is not None:
            self.faults._before(self, sql)
        return super().execute(sql, *parameters)

    def executemany(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if self.faults is not None:
            self.faults._before(self, sql)
        return super().executemany(sql, *parameters)


def driver_error(name: str) -> sqlite3.Error:
    """The driver's error of a result code, such as "SQLITE_IOERR_WRITE", as the driver would raise it."""
    code: int = getattr(sqlite3, name)
    error: sqlite3.Error
    match code & 0xFF:
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            error = sqlite3.DatabaseError(name)
        case sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_MISMATCH:
            error = sqlite3.IntegrityError(name)
        case sqlite3.SQLITE_INTERNAL | sqlite3.SQLITE_NOTFOUND:
            error = sqlite3.InternalError(name)
        case sqlite3.SQLITE_TOOBIG:
            error = sqlite3.DataError(name)
        case sqlite3.SQLITE_MISUSE | sqlite3.SQLITE_RANGE:
            error = sqlite3.InterfaceError(name)
        case _:
            error = sqlite3.OperationalError(name)
    error.sqlite_errorcode = code
    error.sqlite_errorname = name
    return error


# -- files ------------------------------------------------------------------------------------------


def flip(path: Path, place: int, bit: int) -> None:
    """Turns one bit of a file."""
    with path.open("rb+") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ 1 << bit]))


def crash_image(path: Path, target: Path) -> None:
    """Copies what would be left of a database, were its processes killed now: the file and its write-ahead log."""
    shutil.copyfile(path, target)
    log, copy = _log_of(path), _log_of(target)
    if log.exists():
        shutil.copyfile(log, copy)
    else:
        copy.unlink(missing_ok=True)


def cut_log(path: Path, size: int) -> None:
    """Cuts the write-ahead log of a database to so many bytes."""
    with _log_of(path).open("rb+") as file:
        file.truncate(size)


def log_frames(path: Path) -> list[int]:
    """Where the frames of a database's write-ahead log begin, and where the last one ends, in bytes."""
    log = _log_of(path)
    with log.open("rb") as file:
        header = file.read(32)
    page = int.from_bytes(header[8:12], "big")
    return list(range(32, log.stat().st_size + 1, 24 + page))


def pages_of(path: Path, table: str) -> tuple[list[int], int]:
    """Where the pages of a table, of its indexes and of their overflow lie in a file, in bytes, and how large they are.

    The file must have no write-ahead log.
    """
    with sqlite3.connect(path) as connection:
        roots = [
            root
            for (root,) in connection.execute(
                "SELECT rootpage FROM sqlite_schema WHERE tbl_name = ? AND rootpage > 0", (table,)
            )
        ]
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    data = path.read_bytes()
    found: set[int] = set()
    for root in roots:
        _walk(data, size, root, found)
    return [(number - 1) * size for number in sorted(found)], size


_INTERIOR_INDEX, _INTERIOR_TABLE, _LEAF_INDEX, _LEAF_TABLE = 2, 5, 10, 13


def _walk(data: bytes, size: int, number: int, found: set[int]) -> None:
    """Notes a page of a b-tree with all below it; see "B-tree Pages" in SQLite's description of its file format."""
    found.add(number)
    start = (number - 1) * size
    begin = start + (100 if number == 1 else 0)
    kind = data[begin]
    cells = int.from_bytes(data[begin + 3 : begin + 5], "big")
    interior = kind in {_INTERIOR_INDEX, _INTERIOR_TABLE}
    first = begin + (12 if interior else 8)
    if interior:
        _walk(data, size, int.from_bytes(data[begin + 8 : begin + 12], "big"), found)
    for place in range(first, first + 2 * cells, 2):
        cell = start + int.from_bytes(data[place : place + 2], "big")
        if interior:
            _walk(data, size, int.from_bytes(data[cell : cell + 4], "big"), found)
            cell += 4
        if kind != _INTERIOR_TABLE:
            _follow(data, size, cell, kind, found)


def _follow(data: bytes, size: int, cell: int, kind: int, found: set[int]) -> None:
    """Notes the overflow pages of a cell."""
    payload, cell = _varint(data, cell)
    if kind == _LEAF_TABLE:
        _, cell = _varint(data, cell)
    most = size - 35 if kind == _LEAF_TABLE else (size - 12) * 64 // 255 - 23
    least = (size - 12) * 32 // 255 - 23
    if payload <= most:
        return
    local = least + (payload - least) % (size - 4)
    local = local if local <= most else least
    number = int.from_bytes(data[cell + local : cell + local + 4], "big")
    while number:
        found.add(number)
        start = (number - 1) * size
        number = int.from_bytes(data[start : start + 4], "big")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for _ in range(8):
        byte = data[place]
        place += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place
    return value << 8 | data[place], place + 1


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


# -- neighbours -------------------------------------------------------------------------------------

_HOLD: Final = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
connection.execute("ROLLBACK")
connection.close()
"""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Another process holds the write lock of a database until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "held":
            raise RuntimeError("the other process could not take the lock")
        yield
        process.communicate()
