"""The one place that opens SQLite connections and gives the driver's errors our names."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeAlias

from engram_core.errors import (
    InvalidAttributesError,
    Problem,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from engram_core.stores import wal
from engram_core.values import text_problem

__all__ = [
    "Connect",
    "Durability",
    "closed",
    "found_at",
    "is_busy",
    "is_of_driver",
    "located",
    "open_connection",
    "translated",
    "unreachable",
]

Connect: TypeAlias = Callable[..., sqlite3.Connection]
"""Called like `sqlite3.connect`; an application may bring a newer SQLite by it."""

Durability: TypeAlias = Literal["full", "normal"]
"""Whether a commit waits for the disk; with "normal" a power cut may take the last commits back, in order."""

_ROOM = "free some space, then try again"
_READ = "open it with read_only=True"
_IOERR_SHMSIZE = sqlite3.SQLITE_IOERR | 19 << 8

_EACH = (
    "PRAGMA foreign_keys=ON",
    "PRAGMA recursive_triggers=ON",  # else INSERT OR REPLACE would delete behind the triggers' back
    "PRAGMA cell_size_check=ON",
    "PRAGMA secure_delete=ON",
    "PRAGMA temp_store=MEMORY",  # no text of ours in temporary files
    "PRAGMA cache_size=-8000",
    "PRAGMA wal_autocheckpoint=0",  # see stores/wal.py
    f"PRAGMA journal_size_limit={wal.KEPT_BYTES}",
)


def open_connection(
    path: Path, connect: Connect, *, mode: Literal["ro", "rw", "rwc"], durability: Durability, timeout: float
) -> sqlite3.Connection:
    """A connection to the file, in autocommit mode, with all settings that hold for a connection.

    The driver's errors pass unchanged.
    """
    connection = connect(
        f"{path.as_uri()}?mode={mode}",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        for pragma in _EACH:
            connection.execute(pragma)
        connection.execute(f"PRAGMA synchronous={durability.upper()}")
        if mode == "ro":
            connection.execute("PRAGMA query_only=ON")
    except BaseException:
        connection.close()
        raise
    return connection


def is_busy(error: BaseException) -> bool:
    """Whether another connection's lock is the reason."""
    return _primary(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def closed() -> StoreError:
    """What any use of a closed store is answered with."""
    return StoreError("the store is closed", code="store_closed", hint="open it again")


def translated(error: BaseException, path: Path) -> StoreError | None:
    """Our error for one of the driver's, or of the file system's; None for any other exception.

    A constraint that fails or SQL that is wrong is the business of him who wrote the statement.
    """
    if isinstance(error, OSError):
        return _of_file_system(error, path)
    code = getattr(error, "sqlite_errorcode", None)
    facts = {"path": str(path), "sqlite": getattr(error, "sqlite_errorname", None)}
    match _primary(error):
        case None if type(error).__name__ == "OperationalError" and "decode to UTF-8" in str(error):
            return StoreCorrupt(f"{path} is damaged: {error}", hint="restore a backup", **facts)
        case None if type(error).__name__ == "ProgrammingError" and "closed" in str(error):
            return closed()
        case None:
            return None
        case sqlite3.SQLITE_ERROR | sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_MISMATCH | sqlite3.SQLITE_RANGE:
            return None
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(f"{path} is held by another writer", hint="try again", **facts)
        case sqlite3.SQLITE_PROTOCOL | sqlite3.SQLITE_SCHEMA | sqlite3.SQLITE_INTERRUPT:
            return StoreBusy(f"something came in between on {path}: {error}", hint="try again", **facts)
        case sqlite3.SQLITE_FULL:
            return StoreFull(f"there is no room to write {path}", hint=_ROOM, **facts)
        case sqlite3.SQLITE_IOERR if code == _IOERR_SHMSIZE:
            return StoreFull(f"there is no room beside {path}", hint=_ROOM, **facts)
        case sqlite3.SQLITE_NOTADB:
            return StoreCorrupt(f"{path} is not a database", hint="it was left as it was found", **facts)
        case sqlite3.SQLITE_CORRUPT:
            return StoreCorrupt(f"{path} is damaged: {error}", hint="restore a backup", **facts)
        case sqlite3.SQLITE_READONLY:
            return StoreReadOnly(f"{path} may not be written", hint=_READ, **facts)
        case sqlite3.SQLITE_CANTOPEN:
            return unreachable(
                f"{path}, or a side file that must lie beside it, cannot be opened",
                hint="look at the permissions of file and directory; a log that is read needs its -shm file",
                **facts,
            )
        case _:
            return StoreError(f"SQLite failed on {path}: {error}", hint="look at the disk", **facts)


def _of_file_system(error: OSError, path: Path) -> StoreError:
    facts: dict[str, Any] = {"path": str(path), "errno": error.errno}
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return StoreFull(f"there is no room to write {path}", hint=_ROOM, **facts)
        case errno.EROFS:
            return StoreReadOnly(f"{path} may not be written", hint=_READ, **facts)
        case _:
            reason = error.strerror or str(error)
            return unreachable(
                f"{path} cannot be reached: {reason}", hint="look at the path and its directory", **facts
            )


def unreachable(message: str, *, hint: str, **facts: object) -> StoreError:
    """What is answered when there is no way to a file."""
    return StoreError(message, code="store_unreachable", hint=hint, **facts)


def is_of_driver(error: BaseException) -> bool:
    """Whether an exception is SQLite's, by whichever driver."""
    return isinstance(error, sqlite3.Error) or hasattr(error, "sqlite_errorcode")


def located(path: object, *, purpose: str) -> Path:
    """The absolute path that an application named, with no look at what is there.

    Raises: InvalidAttributesError when it is no path.
    """
    problem = None
    if not isinstance(path, str | PathLike) or not isinstance(named := fspath(path), str):
        problem = f"must be a str or a Path, not {type(path).__name__}"
    else:
        problem = text_problem(named, blank=False)
    if problem:
        raise InvalidAttributesError(purpose, [Problem("path", problem)])
    return Path(named).absolute()


def found_at(path: Path) -> bool:
    """Whether there is a file at a path.

    Raises: StoreError when what is there is no file, or when there is no way to it.
    """
    try:
        if path.is_file():
            return True
        if path.is_dir():
            raise unreachable(f"{path} is a directory", hint="name a file in it", path=str(path))
        if path.exists():
            raise unreachable(f"{path} is no ordinary file", hint="name another", path=str(path))
    except OSError as error:
        raise _of_file_system(error, path) from error
    return False


def _primary(error: BaseException) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None
