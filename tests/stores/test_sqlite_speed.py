"""What an append costs beside the same rows written by hand."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import statistics
import time
from pathlib import Path

import pytest

from engram_core.chain import commitment
from engram_core.ports import NewEvent, StreamAppend
from engram_core.stores import SqliteStore
from engram_core.testing import new_event

TABLES = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA wal_autocheckpoint=0",
    "CREATE TABLE head (position INTEGER, recorded_at INTEGER, link BLOB) STRICT",
    (
        "CREATE TABLE events (position INTEGER PRIMARY KEY, stream TEXT, version INTEGER, id TEXT UNIQUE, type TEXT,"
        " schema_version INTEGER, owner TEXT, data TEXT, commitment BLOB, occurred_at INTEGER, recorded_at INTEGER,"
        " actor_kind TEXT, batch TEXT, causation TEXT, command TEXT, link BLOB, UNIQUE (stream, version)) STRICT"
    ),
    "INSERT INTO head VALUES (0, 0, x'00')",
)
INSERT = f"INSERT INTO events VALUES ({', '.join('?' * 16)})"
UPDATE = "UPDATE head SET position = ?, recorded_at = ?, link = ?"


def batches(count: int, size: int) -> list[list[NewEvent]]:
    """Events of about 400 bytes, each batch for a stream of its own."""
    text = "x" * 220
    return [
        [new_event(f"{number:032x}{part:04x}", owner=f"{number:036x}", text=text) for part in range(size)]
        for number in range(count)
    ]


def by_hand(path: Path, given: list[list[NewEvent]]) -> float:
    """Seconds of processor time for rows, commitments and links, written without a library."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in TABLES:
        connection.execute(statement)
    link, position = b"", 0
    began = time.process_time()
    for events in given:
        now, rows, digest = time.time_ns() // 1_000, [], hashlib.sha256(link)
        for version, e in enumerate(events, 1):
            position += 1
            commit = hashlib.sha256(e.data.encode()).digest()
            line = [position, e.owner, version, e.id, e.type, 1, e.owner, commit.hex(), e.occurred_at, now]
            digest.update(json.dumps([*line, e.actor_kind, e.batch_id, None, None]).encode())
            rows.append([position, e.owner, version, e.id, e.type, 1, None, e.data, commit, e.occurred_at, now])
            rows[-1] += [e.actor_kind, None, None, None, None]
        link = rows[-1][-1] = digest.digest()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(INSERT, rows)
        connection.execute(UPDATE, (position, now, link))
        connection.execute("COMMIT")
    seconds = time.process_time() - began
    connection.close()
    return seconds


def by_store(path: Path, given: list[list[NewEvent]]) -> float:
    """The same for the store, which also looks at versions."""
    store = SqliteStore(path)
    began = time.process_time()
    for events in given:
        store.append(
            [StreamAppend(events[0].owner, 0, [event._replace(commitment=commitment(event.data)) for event in events])]
        )
    seconds = time.process_time() - began
    store.close()
    return seconds


@pytest.mark.slow
@pytest.mark.parametrize(("size", "most"), [(1, 2.0), (10, 2.2)])
def test_an_append_beside_one_by_hand(tmp_path: Path, size: int, most: float) -> None:
    """The ratio keeps to its gate; by half as much again, for other machines are noisy."""
    given = batches(2_000 // size, size)
    ratios = [
        by_store(tmp_path / f"{turn} store", given) / by_hand(tmp_path / f"{turn} hand", given) for turn in range(5)
    ]
    assert statistics.median(ratios) < most * 1.5, ratios
