"""The text lanes: which terms a memory holds, now and in the past, and what entities are called.

Present texts lie in one full-text table for each visibility: a viewer's term statistics come whole from the lanes he
sees whole, row by row from the one he sees in part, and never from the others. Texts that ended lie in a fourth lane.
A row of a lane is numbered `key * 10 + level`; the level is the text's length in ten steps, so that a list of matches
tells how long each text is without reading any. Terms come from `analysis` and are only split at blanks here.
"""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from engram_core.analysis import document, question

__all__ = [
    "BEGUN_AFTER",
    "LANES",
    "LENGTHS",
    "PAST_LANE",
    "SPAN",
    "Text",
    "create_statements",
    "document_id",
    "drop_statements",
    "end_texts",
    "erase_texts",
    "length_of",
    "name_phrases",
    "optimize_texts",
    "text_terms",
    "write_texts",
]

LANES: Final = ("text_shared", "text_private", "text_restricted")
"""The present lanes; a memory's lane number is its place in this tuple."""

PAST_LANE: Final = "text_past"

SPAN: Final = 4_096
"""Texts are counted by the stretch of so many positions in which they began, so that those up to one are added up."""

_BOUNDS: Final = (8, 13, 21, 34, 55, 100, 200, 450, 1200)
LENGTHS: Final = (6.0, 11.0, 17.0, 27.0, 44.0, 74.0, 140.0, 300.0, 735.0, 2000.0)
"""The length in terms that stands for each level."""

BEGUN_AFTER: Final = ("t.key > :after", "t.from_position > :after AND t.from_position > t.key AND t.key <= :after")
"""SQL for the present texts `t` that began after a position: those of newer memories, and those that were changed.

A memory's key is the position of its beginning, so only changed texts need an index of where they began.
"""

# every sign that a term may hold beside letters and figures; all others separate
_TOKENIZE: Final = """tokenize="ascii tokenchars '+#.-:/'", columnsize=0"""


_TABLES: Final = """
CREATE TABLE {p}texts (
    key INTEGER PRIMARY KEY, lane INTEGER NOT NULL, audience TEXT, length INTEGER NOT NULL,
    document INTEGER NOT NULL, from_position INTEGER NOT NULL);
CREATE INDEX {p}texts_changed ON {p}texts (from_position) WHERE from_position > key;
CREATE INDEX {p}texts_guarded ON {p}texts (lane, audience, length) WHERE lane > 0;
CREATE TABLE {p}past_texts (
    row INTEGER PRIMARY KEY, key INTEGER NOT NULL, lane INTEGER NOT NULL, audience TEXT, length INTEGER NOT NULL,
    document INTEGER NOT NULL, from_position INTEGER NOT NULL, to_position INTEGER NOT NULL);
CREATE INDEX {p}past_texts_key ON {p}past_texts (key);
CREATE INDEX {p}past_texts_end ON {p}past_texts (to_position);
CREATE TABLE {p}text_totals (
    lane INTEGER NOT NULL, span INTEGER NOT NULL, texts INTEGER NOT NULL, length INTEGER NOT NULL,
    PRIMARY KEY (lane, span)) WITHOUT ROWID;
INSERT INTO {p}text_totals VALUES (0, 0, 0, 0), (1, 0, 0, 0), (2, 0, 0, 0);
CREATE TABLE {p}names (
    term TEXT NOT NULL, key INTEGER NOT NULL, phrase INTEGER NOT NULL, size INTEGER NOT NULL,
    from_position INTEGER NOT NULL, to_position INTEGER,
    PRIMARY KEY (term, key, phrase, from_position)) WITHOUT ROWID;
CREATE INDEX {p}names_key ON {p}names (key)
"""


class Text(NamedTuple):
    """The text of one memory from one position on.

    Attributes:
        key: The memory's key.
        position: Where in the log this text began.
        lane: 0 shared, 1 private, 2 restricted.
        terms: What `text_terms` made of it.
        audience: Whom a restricted memory is shown to, as the column of that name in `memories`; else None.
        names: What an entity is called, from `name_phrases`; empty for other kinds.
    """

    key: int
    position: int
    lane: int
    terms: str
    audience: str | None = None
    names: tuple[tuple[str, ...], ...] = ()


def text_terms(*, title: str | None, fields: Iterable[str], content: str, tags: Iterable[str]) -> str:
    """The terms of a memory: its title, the texts of its attributes, its content and its tags."""
    return document(title or "", *fields, content, *tags)


def name_phrases(names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """The terms of each name or alias of an entity; those made of stop words alone are no names."""
    asked = (question(name) for name in names)
    return tuple(dict.fromkeys(one.terms for one in asked if one.terms and not one.whole))


def document_id(key: int, terms: str) -> int:
    """The number of a text's row in its lane."""
    return key * 10 + bisect_left(_BOUNDS, length_of(terms))


def create_statements(prefix: str = "") -> list[str]:
    """The statements that create the lanes and their companions, under a prefix for a shadow."""
    statements = [statement.strip().format(p=prefix) for statement in _TABLES.split(";")]
    for lane in (*LANES, PAST_LANE):
        statements += [
            f"CREATE VIRTUAL TABLE {prefix}{lane} USING fts5(terms, {_TOKENIZE})",
            f"CREATE VIRTUAL TABLE {prefix}{lane}_terms USING fts5vocab({prefix}{lane}, 'row')",
            f"CREATE VIRTUAL TABLE {prefix}{lane}_places USING fts5vocab({prefix}{lane}, 'instance')",
        ]
    return statements


def drop_statements(prefix: str = "") -> list[str]:
    """The statements that drop the lanes and their companions again, if they are there."""
    names = [f"{lane}{part}" for lane in (*LANES, PAST_LANE) for part in ("_terms", "_places", "")]
    names += ["texts", "past_texts", "text_totals", "names"]
    return [f"DROP TABLE IF EXISTS {prefix}{name}" for name in names]


def write_texts(
    connection: sqlite3.Connection, texts: Sequence[Text], *, fresh: bool = False, prefix: str = ""
) -> None:
    """Makes texts the present ones of their memories; what they replace becomes past.

    Args:
        connection: An open connection inside the caller's transaction.
        texts: At most one for each memory.
        fresh: True when none of these memories has a text yet: a creation then reads nothing.
        prefix: Of a shadow's tables.
    """
    if not fresh:
        end_texts(connection, [(text.key, text.position) for text in texts], prefix=prefix)
    totals: dict[tuple[int, int], list[int]] = {}
    rows = []
    for text in texts:
        length = length_of(text.terms)
        number = text.key * 10 + bisect_left(_BOUNDS, length)
        rows.append((text.key, text.lane, text.audience, length, number, text.position))
        total = totals.setdefault((text.lane, text.position // SPAN), [0, 0])
        total[0] += 1
        total[1] += length
    connection.executemany(f"INSERT INTO {prefix}texts VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.executemany(
        f"INSERT INTO {prefix}text_totals VALUES (?, ?, ?, ?) ON CONFLICT (lane, span)"
        " DO UPDATE SET texts = texts + excluded.texts, length = length + excluded.length",
        [(*place, *total) for place, total in totals.items()],
    )
    for lane in {lane for lane, _ in totals}:
        # In the order of their numbers: FTS5 writes out what it holds as soon as one is less than that before.
        added = [(row[4], text.terms) for row, text in zip(rows, texts, strict=True) if text.lane == lane]
        connection.executemany(f"INSERT INTO {prefix}{LANES[lane]} (rowid, terms) VALUES (?, ?)", sorted(added))
    names = [
        (term, text.key, number, len(phrase), text.position, None)
        for text in texts
        for number, phrase in enumerate(text.names)
        for term in phrase
    ]
    if names:
        connection.executemany(f"INSERT INTO {prefix}names VALUES (?, ?, ?, ?, ?, ?)", names)


def end_texts(connection: sqlite3.Connection, ends: Sequence[tuple[int, int]], *, prefix: str = "") -> None:
    """Ends present texts; past views keep them.

    Args:
        connection: An open connection inside the caller's transaction.
        ends: Keys of memories, and where in the log their texts end; past ones are numbered in this order.
        prefix: Of a shadow's tables.
    """
    positions = dict(ends)
    found = {
        row[0]: row[1:]
        for row in connection.execute(
            "SELECT t.key, t.lane, t.audience, t.length, t.document, t.from_position FROM json_each(?) j"
            f" CROSS JOIN {prefix}texts t ON t.key = j.value",
            (json.dumps(list(positions)),),
        )
    }
    if not found:
        return
    kept = [key for key in positions if key in found and found[key][4] < positions[key]]
    if kept:
        _keep(connection, prefix, [(key, *found[key], positions[key]) for key in kept])
    gone: dict[int, list[int]] = {}
    totals: dict[tuple[int, int], list[int]] = {}
    for lane, _, length, document_row, since in found.values():
        gone.setdefault(lane, []).append(document_row)
        total = totals.setdefault((lane, since // SPAN), [0, 0])
        total[0] += 1
        total[1] += length
    for lane, numbers in gone.items():
        connection.executemany(f"DELETE FROM {prefix}{LANES[lane]} WHERE rowid = ?", [(n,) for n in sorted(numbers)])
    connection.executemany(f"DELETE FROM {prefix}texts WHERE key = ?", [(key,) for key in found])
    connection.executemany(
        f"UPDATE {prefix}names SET to_position = ? WHERE key = ? AND to_position IS NULL AND from_position < ?",
        [(positions[key], key, positions[key]) for key in found],
    )
    connection.executemany(
        f"DELETE FROM {prefix}names WHERE key = ? AND to_position IS NULL", [(key,) for key in found]
    )
    _uncount(connection, prefix, totals)


def _keep(connection: sqlite3.Connection, prefix: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Copies present texts into the past, numbered from the last one on."""
    (last,) = connection.execute(f"SELECT coalesce(max(row), 0) FROM {prefix}past_texts").fetchone()
    past: list[tuple[Any, ...]] = []
    terms: dict[int, str] = {}
    for number, (key, lane, audience, length, document_row, since, end) in enumerate(rows, last + 1):
        past.append((number, key, lane, audience, length, number * 10 + document_row % 10, since, end))
    for lane in {row[1] for row in rows}:
        terms.update(
            connection.execute(
                f"SELECT f.rowid, f.terms FROM json_each(?) j CROSS JOIN {prefix}{LANES[lane]} f ON f.rowid = j.value",
                (json.dumps([row[4] for row in rows if row[1] == lane]),),
            )
        )
    connection.executemany(f"INSERT INTO {prefix}past_texts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", past)
    # Not by INSERT … SELECT: with each of those, FTS5 writes out what it holds.
    connection.executemany(
        f"INSERT INTO {prefix}{PAST_LANE} (rowid, terms) VALUES (?, ?)",
        [(row[5], terms[source[4]]) for row, source in zip(past, rows, strict=True)],
    )


def erase_texts(connection: sqlite3.Connection, keys: Iterable[int], *, prefix: str = "") -> None:
    """Removes memories' texts and names, present and past. `optimize_texts` then takes their traces."""
    for key in keys:
        for lane, length, document_row, since in connection.execute(
            f"SELECT lane, length, document, from_position FROM {prefix}texts WHERE key = ?", (key,)
        ).fetchall():
            connection.execute(f"DELETE FROM {prefix}{LANES[lane]} WHERE rowid = ?", (document_row,))
            _uncount(connection, prefix, {(lane, since // SPAN): (1, length)})
        for (document_row,) in connection.execute(
            f"SELECT document FROM {prefix}past_texts WHERE key = ?", (key,)
        ).fetchall():
            connection.execute(f"DELETE FROM {prefix}{PAST_LANE} WHERE rowid = ?", (document_row,))
        for table in ("texts", "past_texts", "names"):
            connection.execute(f"DELETE FROM {prefix}{table} WHERE key = ?", (key,))


def optimize_texts(connection: sqlite3.Connection, *, prefix: str = "") -> None:
    """Merges each lane into one segment; what was deleted before leaves the index for good."""
    for lane in (*LANES, PAST_LANE):
        connection.execute(f"INSERT INTO {prefix}{lane} ({prefix}{lane}) VALUES ('optimize')")


def length_of(terms: str) -> int:
    """How many terms a text has."""
    return terms.count(" ") + terms.count("\n") + 1 if terms else 0


def _uncount(connection: sqlite3.Connection, prefix: str, totals: Mapping[tuple[int, int], Sequence[int]]) -> None:
    """Takes texts out of the totals: how many, and how many terms, by lane and span."""
    connection.executemany(
        f"UPDATE {prefix}text_totals SET texts = texts - ?, length = length - ? WHERE lane = ? AND span = ?",
        [(*total, *place) for place, total in totals.items()],
    )
    connection.executemany(
        f"DELETE FROM {prefix}text_totals WHERE lane = ? AND span = ? AND texts = 0 AND span > 0", list(totals)
    )
