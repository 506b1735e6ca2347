"""When and how the write-ahead log is copied into the database, and how it is emptied.

SQLite before 3.51.3 may lose commits when a checkpoint and the write that starts the log anew meet. So no
connection checkpoints by itself (`wal_autocheckpoint=0`). Who does it takes SQLite's own write lock first, by
the writing connection, which keeps out the writers of all processes, and then copies by a second connection,
in the one mode that asks for no write lock. The log is emptied without a checkpoint: the commit that starts
it anew cuts the file.

Otherwise the file keeps its length when it is started anew: to write pages over costs less than to make new ones.
"""

from __future__ import annotations

import sqlite3
from os import SEEK_END
from pathlib import Path

__all__ = ["CHECKPOINT_BYTES", "KEPT_BYTES", "checkpoint", "cut", "size", "used"]

CHECKPOINT_BYTES = 4 * 1024 * 1024
"""A log as large as this is copied after the commit that finds it so."""

KEPT_BYTES = 2 * CHECKPOINT_BYTES
"""A file that readers let grow beyond this is cut to it when it is started anew."""

_HEADER, _FRAME_HEADER = 32, 24


def size(path: Path) -> int:
    """Bytes of the database's write-ahead log, 0 if there is none."""
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        return 0


def used(path: Path) -> int:
    """Bytes of the write-ahead log that hold frames of its present round; what follows is left from rounds before.

    Frames bear the salt of their round, as the header does, and those of the present one come first.
    """
    try:
        with path.with_name(f"{path.name}-wal").open("rb", buffering=0) as log:
            header = log.read(_HEADER)
            if len(header) < _HEADER:
                return 0
            frame = _FRAME_HEADER + int.from_bytes(header[8:12], "big")
            first, beyond = 0, (log.seek(0, SEEK_END) - _HEADER) // frame
            while first < beyond:
                middle = (first + beyond) // 2
                log.seek(_HEADER + middle * frame + 8)
                if log.read(8) == header[16:24]:
                    first = middle + 1
                else:
                    beyond = middle
            return _HEADER + first * frame
    except FileNotFoundError:
        return 0


def checkpoint(copier: sqlite3.Connection) -> bool:
    """Copies the log into the database, under SQLite's write lock; False if a reader is in the way.

    Args:
        copier: Another connection than the one that holds the lock.
    """
    busy, frames, copied = copier.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return not busy and bool(frames == copied)


def cut(path: Path, writer: sqlite3.Connection, change_one_page: str) -> bool:
    """Commits a change of one page such that it starts the log anew and cuts its file; True if it did.

    All of the log must have been copied, and no reader must need it; then the file holds that one page alone.
    """
    (page,) = writer.execute("PRAGMA page_size").fetchone()
    (limit,) = writer.execute("PRAGMA journal_size_limit").fetchone()
    writer.execute("PRAGMA journal_size_limit=0")
    try:
        writer.execute(change_one_page)
    finally:
        writer.execute(f"PRAGMA journal_size_limit={limit}")
    return size(path) <= _HEADER + _FRAME_HEADER + int(page)
