"""A store's file read and copied: a connection for a block, and a whole copy under its own name."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType

from engram_core.errors import StoreCorrupt, StoreError
from engram_core.stores import sqlite_schema as schema
from engram_core.stores.connections import Connections, Handle
from engram_core.stores.driver import Connect, found_at, translated

__all__ = ["Reading", "back_up"]


class Reading:
    """A reading connection for a block, in one snapshot or for one statement; driver's errors get our names.

    Within a transaction of this thread it is the writing one.
    """

    __slots__ = ("_connections", "_handle", "_snapshot")

    def __init__(self, connections: Connections, *, snapshot: bool) -> None:
        self._connections = connections
        self._snapshot = snapshot

    def __enter__(self) -> sqlite3.Connection:
        self._handle: Handle | None = None
        if self._connections.owned():
            return self._connections.writer()
        try:
            self._handle = self._connections.hold_reader(snapshot=self._snapshot)
        except Exception as error:
            self._raise_ours(error)
            raise
        return self._handle.connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            self._connections.release_reader(self._handle)
        if error is not None:
            self._raise_ours(error)

    def _raise_ours(self, error: BaseException) -> None:
        ours = translated(error, self._connections.path)
        if ours is not None:
            raise ours from error


def back_up(connections: Connections, target: Path, connect: Connect) -> None:
    """Copies a store's file as it stands to a new one, which gets its name when it was found whole.

    Raises: StoreError when the name is taken, or cannot be reached; StoreCorrupt when the copy is not whole.
    """
    if connections.owned():
        raise RuntimeError("a backup cannot be made within a transaction")
    if found_at(target):
        raise _taken(target)
    draft = schema.draft_of(target)
    try:
        with Reading(connections, snapshot=True) as source:
            source.execute("SELECT position FROM head").fetchone()
            problems = _copied(source, draft, connect, origin=connections.path, target=target)
        if problems:
            raise schema.damaged(connections.path, problems[0])
        schema.publish(draft, target)
    except FileExistsError as error:
        raise _taken(target) from error
    except OSError as error:
        raise translated(error, target) or error from error
    finally:
        schema.remove(draft)


def _copied(
    source: sqlite3.Connection, draft: Path, connect: Connect, *, origin: Path, target: Path
) -> tuple[str, ...]:
    """Copies a database, and gives what is wrong with the copy."""
    try:
        copy = connect(draft.as_uri(), uri=True, isolation_level=None)
        try:
            source.backup(copy)
            return schema.problems_of(copy)
        finally:
            copy.close()
    except Exception as error:
        ours = translated(error, target)
        raise (schema.damaged(origin, error) if ours is None or isinstance(ours, StoreCorrupt) else ours) from error


def _taken(path: Path) -> StoreError:
    return StoreError(
        f"{path} is there already", code="store_exists", hint="a backup overwrites nothing", path=str(path)
    )
