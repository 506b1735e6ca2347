"""What a careful hand would write over sqlite3 to leave the rows that the library leaves, and nothing more.

It works on a copy of the library's own file, so tables, indexes and triggers are the same. A row of the library serves
as the pattern of each row; payload, commitment and chain link are made anew for each, as they must be.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engram_core.projections.schema import MEMORY_COLUMNS

__all__ = ["Floor"]

_NAMES = [name for name, _ in MEMORY_COLUMNS]
_AT = {name: place for place, name in enumerate(_NAMES)}
_ROW_ID = 10  # rowids of the text index are spaced by this


class Floor:
    """Plain sqlite3 on a copy of a space's file."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None, cached_statements=256)
        self.db.execute("PRAGMA synchronous=NORMAL")
        self.db.execute("PRAGMA cache_size=-65536")
        self._memory = self._first("SELECT * FROM memories WHERE kind = 'fact' ORDER BY key DESC")
        self._event = self._first(
            "SELECT * FROM events WHERE version = 1 AND stream NOT LIKE '$%' ORDER BY position DESC"
        )
        self._target: int = self._first("SELECT target FROM links")[0]
        self._position: int = self._first("SELECT position FROM head")[0]
        events = self.db.execute("SELECT * FROM events ORDER BY position DESC LIMIT 1")
        self._columns = [column[0] for column in events.description]
        self._event_sql = f"INSERT INTO events VALUES ({', '.join('?' * len(self._columns))})"
        self._memory_sql = f"INSERT INTO memories VALUES ({', '.join('?' * len(_NAMES))})"
        self._past_sql = (
            f"INSERT INTO past_memories ({', '.join(_NAMES)}, to_position)"
            f" SELECT {', '.join(_NAMES)}, ? FROM memories WHERE key = ?"
        )

    def _first(self, sql: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self.db.execute(sql + " LIMIT 1").fetchone()
        return row

    def _append(self, stream: str, version: int, event: dict[str, Any], batch: str | None = None) -> tuple[str, bytes]:
        """One event with a salted commitment, linked to what stands before it; gives its id and its link."""
        self._position += 1
        position = self._position
        id = f"01a22ac7-2480-74cb-a6c7-{position:012d}"
        data = json.dumps({**event, "salt": secrets.token_urlsafe(16)}, separators=(",", ":"), ensure_ascii=False)
        commitment = hashlib.sha256(data.encode()).digest()
        link = hashlib.sha256(commitment + f"{position}{stream}{version}{id}{batch}".encode()).digest()
        row = list(self._event)
        at = self._columns.index
        row[at("position")], row[at("stream")], row[at("version")], row[at("id")] = position, stream, version, id
        row[at("data")], row[at("commitment")], row[at("batch")] = data, commitment, batch
        self.db.execute(self._event_sql, row)
        return id, link

    def _head(self, link: bytes) -> None:
        self.db.execute("UPDATE head SET position = ?, recorded_at = ?, link = ?", (self._position, 1, link))

    def _finish(self, batch: str, first: int, link: bytes) -> None:
        self._head(link)
        self.db.execute("INSERT INTO batches VALUES (?, ?)", (batch, first))
        self.db.execute("UPDATE meta SET value = ? WHERE name = 'position'", (self._position,))

    def append(self, count: int, text: str) -> None:
        """Events only, in one transaction."""
        self.db.execute("BEGIN IMMEDIATE")
        stream = f"01a22ac6-2480-74cb-a6c7-{self._position:012d}"
        for version in range(1, count + 1):
            _, link = self._append(stream, version, {"v": {"attributes": {"statement": text}}})
        self._head(link)
        self.db.execute("COMMIT")

    def remember(self, texts: Sequence[str]) -> None:
        """Facts about one person, in one transaction."""
        db = self.db
        db.execute("BEGIN IMMEDIATE")
        first, batch = self._position + 1, ""
        for text in texts:
            id = f"01a22ac6-2480-74cb-a6c7-{self._position:012d}"
            value = {"kind": "fact", "attributes": {"statement": text}, "links": [["about", id]]}
            event, link = self._append(id, 1, {"by": {"id": "bench"}, "v": value}, batch or None)
            batch = batch or event
            key = self._position
            row = list(self._memory)
            row[_AT["key"]] = row[_AT["from_position"]] = key
            row[_AT["id"]], row[_AT["attributes"]] = id, json.dumps({"statement": text})
            row[_AT["fingerprint"]] = hashlib.sha256(text.encode()).hexdigest()[: len(row[_AT["fingerprint"]])]
            db.execute("SELECT key FROM memories WHERE fingerprint = ?", (row[_AT["fingerprint"]],)).fetchone()
            db.execute(self._memory_sql, row)
            db.execute("INSERT INTO links VALUES (?, 'about', ?, ?, ?)", (key, self._target, key, key))
            words = len(text.split())
            db.execute("INSERT INTO texts VALUES (?, 0, NULL, ?, ?, ?)", (key, words, key * _ROW_ID, key))
            db.execute("UPDATE text_totals SET texts = texts + 1, length = length + ? WHERE lane = 0", (words,))
            db.execute("INSERT INTO text_shared (rowid, terms) VALUES (?, ?)", (key * _ROW_ID, text))
        self._finish(batch, first, link)
        db.execute("COMMIT")

    def change(self, id: str, setting: str) -> None:
        """A change of one memory's row: its event, the past of the row, the new row."""
        db = self.db
        db.execute("BEGIN IMMEDIATE")
        key, revision = db.execute("SELECT key, revision FROM memories WHERE id = ?", (id,)).fetchone()
        (version,) = db.execute("SELECT max(version) FROM events WHERE stream = ?", (id,)).fetchone()
        batch, link = self._append(id, version + 1, {"by": {"id": "bench"}, "v": {}})
        db.execute(self._past_sql, (self._position, key))
        sql = f"UPDATE memories SET {setting}, revision = ?, updated_at = ?, from_position = ? WHERE key = ?"
        db.execute(sql, (revision + 1, self._position, self._position, key))
        self._finish(batch, self._position, link)
        db.execute("COMMIT")

    def close(self) -> None:
        """Lets the file go."""
        self.db.close()
