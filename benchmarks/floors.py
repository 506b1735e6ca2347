"""What a careful hand would write over sqlite3 to leave the rows that the library leaves, and nothing more.

It works on a copy of the library's own file, so tables, indexes and triggers are the same. What is the same in every
row of its sort is taken from one that is there already; payload, salt, commitment and chain link are made anew for
each event, as they must be, and so are fingerprint and text. The chain's end is read within the transaction, because
others may write as well. That the rows are the library's own to the byte is shown by `benchmarks.agreement`.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import sqlite3
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from engram_core.projections.schema import MEMORY_COLUMNS

__all__ = ["Floor", "quick_id", "quick_now"]

_NAMES = [name for name, _ in MEMORY_COLUMNS]
_AT = {name: place for place, name in enumerate(_NAMES)}
_LISTED = ", ".join(_NAMES)
_BOUNDS = (
    8,
    13,
    21,
    34,
    55,
    100,
    200,
    450,
    1200,
)  # a text's length in ten steps is the last figure of its row's number
_SPAN = 4_096  # texts are counted by the stretch of the log in which they began
_DAY = 86_400_000_000
_HALF_LIFE, _THRESHOLD = 365, 0.35

_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_line = json.JSONEncoder(separators=(",", ":")).encode

_PAST = f"INSERT INTO past_memories ({_LISTED}, to_position) SELECT {_LISTED}, ? FROM memories WHERE key = ?"
_TOTALS = (
    "INSERT INTO text_totals VALUES (0, ?, ?, ?) ON CONFLICT (lane, span)"
    " DO UPDATE SET texts = texts + excluded.texts, length = length + excluded.length"
)
_SET = "UPDATE memories SET {}, updated_at = ?, revision = ?, from_position = ? WHERE key = ?"


def quick_id() -> str:
    """A UUIDv7, made the quick way."""
    micros = time.time_ns() // 1_000
    drawn = os.urandom(8).hex()
    head = f"{micros // 1_000:012x}"
    return f"{head[:8]}-{head[8:]}-7{drawn[:3]}-a{drawn[3:6]}-{drawn[4:]}"


def quick_now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1_000


class Floor:
    """Plain sqlite3 on a copy of a space's file.

    Attributes:
        id, event_id, salt: Where ids of memories and events come from, and salts.
        happened, recorded: Clocks, in microseconds.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None, cached_statements=256)
        self.db.execute("PRAGMA synchronous=NORMAL")
        self.db.execute("PRAGMA cache_size=-65536")
        self.id: Callable[[], str] = quick_id
        self.event_id: Callable[[], str] = quick_id
        self.salt: Callable[[], str] = lambda: secrets.token_urlsafe(16)
        self.happened: Callable[[], int] = quick_now
        self.recorded: Callable[[], int] = quick_now
        self._memory = self._first(
            "SELECT * FROM memories WHERE kind = 'fact' AND revision = 1 AND tags = '[]' ORDER BY key DESC"
        )
        (created,) = self._first(f"SELECT data FROM events WHERE position = {self._memory[_AT['key']]}")
        self._created, self._by = json.loads(created)["v"], json.loads(created)["by"]
        self._lasts = self._memory[_AT["stale_at"]] - self._memory[_AT["created_at"]]
        self._event_sql = f"INSERT INTO events VALUES ({', '.join('?' * 16)})"
        self._memory_sql = f"INSERT INTO memories VALUES ({', '.join('?' * len(_NAMES))})"
        self._position, self._link, self._digest = 0, b"", sha256()

    def _first(self, sql: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self.db.execute(sql + " LIMIT 1").fetchone()
        return row

    # -- the log ------------------------------------------------------------------------------------

    def _begin(self) -> int:
        """Opens a transaction; the instant at which it is recorded."""
        self.db.execute("BEGIN IMMEDIATE")
        before: int
        self._position, before, link = self.db.execute("SELECT position, recorded_at, link FROM head").fetchone()
        self._digest = sha256(link)
        return max(before, self.recorded())

    def _event(self, stream: str, version: int, type: str, value: Any, batch: str, at: int, recorded: int) -> list[Any]:
        """The row of an event with a salted commitment, and its line in the chain."""
        self._position += 1
        id = self.event_id()
        data = _dumps({"by": self._by, "v": value, "salt": self.salt()})
        commitment = sha256(data.encode())
        place = [self._position, stream, version, id, type, 1]
        line = [*place, stream, commitment.hexdigest(), at, recorded, "user", batch or id, None, None]
        self._digest.update(b"\n" + _line(line).encode())
        return [*place, None, data, commitment.digest(), at, recorded, "user", batch or None, None, None, None]

    def _log(self, rows: list[list[Any]], recorded: int) -> None:
        """Writes events, the link on the last of them, and the log's end."""
        link = rows[-1][-1] = self._digest.digest()
        if len(rows) == 1:
            self.db.execute(self._event_sql, rows[0])
        else:
            self.db.executemany(self._event_sql, rows)
        self.db.execute("UPDATE head SET position = ?, recorded_at = ?, link = ?", (self._position, recorded, link))

    def _finish(self, batch: str, first: int) -> None:
        self.db.execute("INSERT INTO batches VALUES (?, ?)", (batch, first))
        self.db.execute("UPDATE meta SET value = ? WHERE name = 'position'", (self._position,))
        self.db.execute("COMMIT")

    def append(self, count: int, text: str, about: str) -> None:
        """Events only, in one transaction: the creation of one memory, so many times."""
        recorded = self._begin()
        stream, at, rows, batch = self.id(), self.happened(), [], ""
        for version in range(1, count + 1):
            value = {**self._created, "attributes": {"statement": text}, "links": [["about", about]]}
            row = self._event(stream, version, "MemoryCreated", value, batch, at, recorded)
            batch = batch or row[3]
            rows.append(row)
        self._log(rows, recorded)
        self.db.execute("COMMIT")

    # -- memories -----------------------------------------------------------------------------------

    def remember(self, texts: Sequence[str], about: str, terms: Sequence[str]) -> None:
        """Facts about one memory, in one transaction; the terms of each text are given."""
        db = self.db
        recorded = self._begin()
        (target,) = db.execute("SELECT key FROM memories WHERE id = ?", (about,)).fetchone()
        first, batch = self._position + 1, ""
        events, memories, links, rows, lane = [], [], [], [], []
        totals: dict[int, list[int]] = {}
        for text, found in zip(texts, terms, strict=True):
            id, at, attributes = self.id(), self.happened(), {"statement": text}
            said = f'[1,"fact",null,"",{{"statement":"{" ".join(text.split())}"}},[["about","{about}"]],["shared"]]'
            fingerprint = sha256(said.encode()).hexdigest()
            db.execute("SELECT id FROM memories WHERE fingerprint = ?", (fingerprint,)).fetchone()
            value = {**self._created, "attributes": attributes, "links": [["about", about]]}
            event = self._event(id, 1, "MemoryCreated", value, batch, at, recorded)
            batch = batch or event[3]
            events.append(event)
            key = self._position
            row = list(self._memory)
            row[_AT["key"]] = row[_AT["from_position"]] = key
            row[_AT["id"]], row[_AT["attributes"]], row[_AT["fingerprint"]] = id, _dumps(attributes), fingerprint
            row[_AT["created_at"]] = row[_AT["updated_at"]] = at
            row[_AT["stale_at"]], row[_AT["recorded_at"]] = at + self._lasts, recorded
            memories.append(row)
            links.append((key, target, key, key))
            words = found.count(" ") + found.count("\n") + 1
            total = totals.setdefault(key // _SPAN, [0, 0])
            total[0] += 1
            total[1] += words
            document = key * 10 + bisect_left(_BOUNDS, words)
            rows.append((key, words, document, key))
            lane.append((document, found))
        self._log(events, recorded)
        db.executemany(self._memory_sql, memories)
        db.executemany("INSERT INTO links VALUES (?, 'about', ?, ?, ?)", links)
        db.executemany("INSERT INTO texts VALUES (?, 0, NULL, ?, ?, ?)", rows)
        db.executemany("INSERT INTO text_shared (rowid, terms) VALUES (?, ?)", lane)
        db.executemany(_TOTALS, [(span, *total) for span, total in totals.items()])
        self._finish(batch, first)

    def _change(self, id: str, type: str, value: Any, columns: str, asked: str, *values: Any) -> tuple[int, int, str]:
        """A change of one memory: its event, the past of its row, its new row. Gives its key, position and batch."""
        db, recorded, at = self.db, self._begin(), self.happened()
        key, revision, *found = db.execute(f"SELECT key, revision{asked} FROM memories WHERE id = ?", (id,)).fetchone()
        event = self._event(id, revision + 1, type, value, "", at, recorded)
        self._log([event], recorded)
        db.execute(_PAST, (self._position, key))
        given = [made(at, self._position, *found) if callable(made) else made for made in values]
        db.execute(_SET.format(columns), (*given, at, revision + 1, self._position, key))
        batch: str = event[3]
        return key, self._position, batch

    def confirm(self, id: str) -> None:
        """A user vouches for a memory."""
        _, position, batch = self._change(
            id,
            "MemoryConfirmed",
            {"weight": 0.9, "cap": 1.0, "vouched": True},
            "confidence = ?, confirmed_at = ?, user_confirmed = ?, stale_at = ?",
            ", confidence",
            lambda _at, _position, known: known + (1.0 - known) * 0.9,
            lambda at, _position, _known: at,
            lambda _at, position, _known: position,
            lambda at, _position, known: at + _holds(known + (1.0 - known) * 0.9),
        )
        self._finish(batch, position)

    def pin(self, id: str) -> None:
        """A user pins a memory."""
        _, position, batch = self._change(id, "MemoryImportanceAdjusted", {"pinned": True}, "pinned = 1", "")
        self._finish(batch, position)

    def weigh(self, id: str) -> None:
        """A user weighs a memory."""
        value = {"user_weight": 0.9}
        _, position, batch = self._change(id, "MemoryImportanceAdjusted", value, "user_weight = 0.9", "")
        self._finish(batch, position)

    def tag(self, id: str, tag: str) -> None:
        """A user tags a memory that had no tags: its text is another from now on, and the old one is past."""
        db = self.db
        key, position, batch = self._change(id, "MemoryTagged", {"added": [tag]}, "tags = ?", "", _dumps([tag]))
        db.execute("INSERT INTO tags VALUES (?, ?, ?)", (tag, key, position))
        length, document, since, terms = db.execute(
            "SELECT t.length, t.document, t.from_position, s.terms FROM texts t"
            " JOIN text_shared s ON s.rowid = t.document WHERE t.key = ?",
            (key,),
        ).fetchone()
        (past,) = db.execute("SELECT coalesce(max(row), 0) + 1 FROM past_texts").fetchone()
        moved = past * 10 + document % 10
        db.execute(
            "INSERT INTO past_texts VALUES (?, ?, 0, NULL, ?, ?, ?, ?)", (past, key, length, moved, since, position)
        )
        db.execute("INSERT INTO text_past (rowid, terms) VALUES (?, ?)", (moved, terms))
        db.execute("DELETE FROM text_shared WHERE rowid = ?", (document,))
        document = key * 10 + bisect_left(_BOUNDS, length + 1)
        db.execute(
            "UPDATE texts SET length = ?, document = ?, from_position = ? WHERE key = ?",
            (length + 1, document, position, key),
        )
        db.execute(
            "UPDATE text_totals SET texts = texts - 1, length = length - ? WHERE lane = 0 AND span = ?",
            (length, since // _SPAN),
        )
        db.execute("DELETE FROM text_totals WHERE lane = 0 AND span = ? AND texts = 0 AND span > 0", (since // _SPAN,))
        db.execute(_TOTALS, (position // _SPAN, 1, length + 1))
        db.execute("INSERT INTO text_shared (rowid, terms) VALUES (?, ?)", (document, f"{terms}\n{tag}"))
        self._finish(batch, position)

    def close(self) -> None:
        """Lets the file go."""
        self.db.close()


def _holds(confidence: float) -> int:
    """Microseconds until so sure a fact goes stale."""
    return math.ceil(math.log2(confidence / _THRESHOLD) * _HALF_LIFE * _DAY)
