"""The one place that opens SQLite connections and gives the driver's errors our names."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

from engram_core.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly

__all__ = ["Connect", "Durability", "closed", "is_busy", "open_connection", "translated"]

Connect: TypeAlias = Callable[..., sqlite3.Connection]
"""Called like `sqlite3.connect`; an application may bring a newer SQLite by it."""

Durability: TypeAlias = Literal["full", "normal"]
"""Whether a commit waits for the disk; with "normal" a power cut may take the last commits back, in order."""

_IOERR_SHMSIZE = sqlite3.SQLITE_IOERR | 19 << 8

_EACH = (
    "PRAGMA foreign_keys=ON",
    "PRAGMA recursive_triggers=ON",  # else INSERT OR REPLACE would delete behind the triggers' back
    "PRAGMA cell_size_check=ON",
    "PRAGMA secure_delete=ON",
    "PRAGMA temp_store=MEMORY",  # no text of ours in temporary files
    "PRAGMA cache_size=-8000",
    "PRAGMA wal_autocheckpoint=0",  # see stores/wal.py
    "PRAGMA journal_size_limit=1048576",
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
    """Our error for one of the driver's that the operator must see; None for any other exception.

    A constraint that fails or SQL that is wrong is the business of him who wrote the statement.
    """
    code = getattr(error, "sqlite_errorcode", None)
    room = "free some space, then try again"
    facts = {"path": str(path), "sqlite": getattr(error, "sqlite_errorname", None)}
    match _primary(error):
        case None if type(error).__name__ == "OperationalError" and "decode to UTF-8" in str(error):
            return StoreCorrupt(f"{path} is damaged: {error}", hint="restore a backup", **facts)
        case None:
            return None
        case sqlite3.SQLITE_ERROR | sqlite3.SQLITE_CONSTRAINT | sqlite3.SQLITE_MISMATCH | sqlite3.SQLITE_RANGE:
            return None
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(f"{path} is held by another writer", hint="try again", **facts)
        case sqlite3.SQLITE_FULL:
            return StoreFull(f"there is no room to write {path}", hint=room, **facts)
        case sqlite3.SQLITE_IOERR if code == _IOERR_SHMSIZE:
            return StoreFull(f"there is no room beside {path}", hint=room, **facts)
        case sqlite3.SQLITE_NOTADB:
            return StoreCorrupt(f"{path} is not a database", hint="it was left as it was found", **facts)
        case sqlite3.SQLITE_CORRUPT:
            return StoreCorrupt(f"{path} is damaged: {error}", hint="restore a backup", **facts)
        case sqlite3.SQLITE_READONLY:
            return StoreReadOnly(f"{path} may not be written", hint="open it with read_only=True", **facts)
        case sqlite3.SQLITE_CANTOPEN:
            return StoreError(
                f"{path}, or a side file that must lie beside it, cannot be opened",
                code="store_unreachable",
                hint="look at the permissions of file and directory; a log that is read needs its -shm file",
                **facts,
            )
        case _:
            return StoreError(f"SQLite failed on {path}: {error}", hint="look at the disk", **facts)


def _primary(error: BaseException) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None
