"""The log's tables in a SQLite file, its statements, and how a file is made and recognised."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4

from engram_core.chain import genesis
from engram_core.errors import StoreCorrupt, StoreError
from engram_core.ports import Recorded
from engram_core.stores import wal
from engram_core.stores.driver import Connect, open_connection, translated

__all__ = [
    "APPLICATION_ID",
    "FORMAT",
    "Head",
    "create_file",
    "damaged",
    "draft_of",
    "ensure_wal",
    "head_of",
    "insert",
    "problems_of",
    "publish",
    "recognise",
    "remove",
    "rows",
]

APPLICATION_ID = 0x656E6772
"""Says in the file's header whose it is: "engr"."""

FORMAT = 1
"""The version of these tables, in the file's header as user_version."""

# `owner` is NULL where it equals `stream`, and `batch` where it equals `id`: mostly so, and it saves the
# bytes. A row beyond the head is not part of the log yet, so it may be taken back within its transaction. The
# gate is a row that an erasure opens and shuts in one transaction; no crash can leave it open.
_TABLES = """
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    store_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    link BLOB NOT NULL
) STRICT;
CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    stream TEXT NOT NULL,
    version INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    schema_version INTEGER NOT NULL,
    owner TEXT,
    data TEXT NOT NULL,
    commitment BLOB NOT NULL,
    occurred_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    actor_kind TEXT NOT NULL,
    batch TEXT,
    causation TEXT,
    command TEXT,
    link BLOB,
    UNIQUE (stream, version)
) STRICT;
CREATE INDEX events_owner ON events (owner) WHERE owner IS NOT NULL;
CREATE INDEX events_command ON events (command) WHERE command IS NOT NULL;
CREATE TABLE erasure (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    gate INTEGER NOT NULL DEFAULT 0,
    remains INTEGER NOT NULL DEFAULT 0,
    rounds INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO erasure (one) VALUES (1);
CREATE TRIGGER events_stay BEFORE DELETE ON events WHEN OLD.position <= (SELECT position FROM head)
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER events_keep_their_place BEFORE UPDATE OF position, stream, version, id, type, schema_version,
    owner, commitment, occurred_at, recorded_at, actor_kind, batch, causation, command, link ON events
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER events_keep_their_data BEFORE UPDATE OF data ON events WHEN (SELECT gate FROM erasure) IS NOT 1
    BEGIN SELECT RAISE(ABORT, 'only an erasure changes a payload'); END
"""

_INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

_SELECT = (
    "SELECT position, stream, version, id, type, schema_version, coalesce(owner, stream), data, commitment,"
    " occurred_at, recorded_at, actor_kind, coalesce(batch, id), causation, command, link FROM events "
)


class Head(NamedTuple):
    """The log's end: its last position, instant and link."""

    position: int
    recorded_at: int
    link: bytes


def head_of(connection: sqlite3.Connection) -> Head:
    """The log's end as this connection sees it."""
    return Head(*connection.execute("SELECT position, recorded_at, link FROM head").fetchone())


def rows(connection: sqlite3.Connection, where: str, *values: object) -> tuple[Recorded, ...]:
    """The events that a condition selects."""
    return tuple(map(Recorded._make, connection.execute(_SELECT + where, values).fetchall()))


def insert(connection: sqlite3.Connection, events: tuple[Recorded, ...]) -> None:
    """Writes placed events and moves the head to the last of them."""
    last = events[-1]
    if len(events) == 1:
        connection.execute(_INSERT, _row(last))
    else:
        connection.executemany(_INSERT, map(_row, events))
    connection.execute(
        "UPDATE head SET position = ?, recorded_at = ?, link = ?",
        (last.position, last.recorded_at, last.link),
    )


def _row(event: Recorded) -> tuple[object, ...]:
    owner = None if event.owner == event.stream else event.owner
    batch = None if event.batch_id == event.id else event.batch_id
    return (*event[:6], owner, *event[7:12], batch, *event[13:])


def create_file(path: Path, connect: Connect) -> None:
    """Makes a store's file, complete or not at all; a file that is there already is left alone.

    It is built beside its place and put there in one step, so nobody ever meets half of one.
    """
    draft = draft_of(path)
    try:
        connection = open_connection(draft, connect, mode="rwc", durability="full", timeout=0)
        try:
            connection.execute("PRAGMA auto_vacuum=NONE")
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={FORMAT}")
            connection.execute("BEGIN")
            for statement in _statements(_TABLES):
                connection.execute(statement)
            store_id = uuid4()
            connection.execute("INSERT INTO head VALUES (1, ?, 0, 0, ?)", (str(store_id), genesis(store_id)))
            connection.execute("COMMIT")
            ensure_wal(connection, path)
        finally:
            connection.close()
        publish(draft, path)
    except FileExistsError:
        pass
    finally:
        remove(draft)


def draft_of(path: Path) -> Path:
    """Where a file is made before it gets its name; not a longer name, which might be too long."""
    return path.with_name(f".{uuid4().hex}.new")


def remove(draft: Path) -> None:
    """Removes a draft and what lies beside it."""
    for leftover in (draft, draft.with_name(f"{draft.name}-wal"), draft.with_name(f"{draft.name}-shm")):
        with suppress(OSError):
            leftover.unlink(missing_ok=True)


def publish(draft: Path, path: Path) -> None:
    """Gives a finished file its name, and makes that durable.

    Raises: FileExistsError when the name is taken; what bears it is not touched.
    """
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems know no hard links: take the name first, then put the file there.
        path.touch(exist_ok=False)
        draft.replace(path)
    if os.name == "posix":
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def ensure_wal(connection: sqlite3.Connection, path: Path) -> None:
    """Sets the write-ahead log, which is kept by the file, and believes only the answer."""
    (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    if mode != "wal":
        raise StoreError(
            f"{path} cannot have a write-ahead log: the journal mode stayed {mode}",
            code="store_unreachable",
            hint="network file systems have none; use a local disk",
        )


def recognise(path: Path, connect: Connect, timeout: float) -> UUID:
    """The id of the store that a file is; looks at the file without changing it.

    Raises: StoreCorrupt when it is anything but a store of this format; another StoreError when it is
        unreadable.
    """
    # Not by reading the header ourselves: closing a file drops this process's locks on it, SQLite's included.
    if path.stat().st_size == 0:
        raise StoreCorrupt(
            f"{path} is empty, which a store never is",
            code="store_foreign",
            hint="remove it, or restore a backup",
        )
    try:
        connection = open_connection(path, connect, mode="ro", durability="full", timeout=timeout)
        try:
            connection.execute("BEGIN")  # what is compared must be of one moment: others may be writing
            return _identity(connection, path)
        finally:
            connection.close()
    except StoreError:
        raise
    except Exception as error:
        raise translated(error, path) or damaged(path, error) from error


def _identity(connection: sqlite3.Connection, path: Path) -> UUID:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise StoreCorrupt(
            f"{path} is a database of another application", code="store_foreign", hint="choose another path"
        )
    if version != FORMAT:
        raise StoreCorrupt(
            f"{path} has format {version}, and this release reads {FORMAT}",
            code="store_newer",
            hint="upgrade engram-core-memory",
            found=version,
        )
    _check_schema(connection, path)
    (store_id,) = connection.execute("SELECT store_id FROM head").fetchone()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    # SQLite counts a page that was cut as a whole one. While there is a log, the file may rightly be short.
    if wal.size(path) == 0 and path.stat().st_size < pages * page_size:
        raise damaged(path, "its end is missing")
    if unlike := _head_problem(connection, UUID(store_id)):
        raise damaged(path, unlike)
    return UUID(store_id)


def _head_problem(connection: sqlite3.Connection, store_id: UUID) -> str | None:
    """What in the head is not as the last event has it."""
    head = head_of(connection)
    last = connection.execute(
        "SELECT position, recorded_at, link FROM events ORDER BY position DESC LIMIT 1"
    ).fetchone() or (0, 0, genesis(store_id))
    if head.position != last[0]:
        return f"its head says {head.position}, and its last event is {last[0]}"
    return None if head == last else "its head has another instant or link than its last event"


def problems_of(connection: sqlite3.Connection) -> tuple[str, ...]:
    """What is wrong with the file: its pages, its indexes, and its head."""
    found = [text for (text,) in connection.execute("PRAGMA integrity_check(100)") if text != "ok"]
    store_id, gate = connection.execute("SELECT store_id, gate FROM head, erasure").fetchone()
    if unlike := _head_problem(connection, UUID(store_id)):
        found.append(unlike)
    if gate:
        found.append("the gate for erasures stands open")
    return tuple(found)


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuses a file whose tables, indexes or triggers are not as they were made; others may stand beside them."""
    found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")}
    for statement in _statements(_TABLES):
        made = statement.strip().removesuffix(";").strip()
        if made.startswith("CREATE") and made not in found:
            raise damaged(path, f"it lacks what was made by {made.partition('(')[0].strip()!r}")


def damaged(path: Path, why: object) -> StoreCorrupt:
    """What a file is answered with that is ours but not whole."""
    return StoreCorrupt(f"{path} is damaged: {why}", hint="it was left as it was found; restore a backup")


def _statements(script: str) -> list[str]:
    """A script's statements one by one; `executescript` would commit the transaction around it."""
    found, statement = [], ""
    for piece in script.split(";"):
        statement += piece + ";"
        if sqlite3.complete_statement(statement):
            found.append(statement)
            statement = ""
    return found
