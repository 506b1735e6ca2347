"""Vectors of texts, for the semantic half of recall: a few for each version of a text, so that none is ever stale.

A text's version is named by the position from which it holds. When the text changes, the new version has no vector
until it is encoded; until then words alone speak for it. Past versions keep theirs, for past views.

Vectors are whole numbers: unit vectors times `SCALE`. The product of two is then exact in whatever order a machine
adds, so that a score depends on no other text, and is the same with numpy and without.

These tables are no part of a rebuild: what an application's model made of a text is no worse afterwards.
"""

from __future__ import annotations

import math
import sqlite3
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from engram_core.projections.texts import BEGUN_AFTER

__all__ = [
    "SCALE",
    "VECTOR_TABLES",
    "Stored",
    "Version",
    "create_vectors",
    "done_with",
    "drop_vectors",
    "erase_vectors",
    "forget_others",
    "put_vectors",
    "start_embedder",
    "stored",
    "unit",
    "waiting",
]

SCALE: Final = 4_000
"""What a unit vector is multiplied by; its square is below 2²⁴, the whole numbers that a float of 32 bits holds."""

VECTOR_TABLES: Final = ("vectors", "embedders")

_CREATE: Final = (
    (
        "CREATE TABLE IF NOT EXISTS embedders (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
        " dimension INTEGER NOT NULL, reads TEXT NOT NULL, done INTEGER NOT NULL, changes INTEGER NOT NULL)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS vectors (embedder INTEGER NOT NULL, key INTEGER NOT NULL,"
        " from_position INTEGER NOT NULL, part INTEGER NOT NULL, vector BLOB NOT NULL)"
    ),
    "CREATE UNIQUE INDEX IF NOT EXISTS vectors_version ON vectors (embedder, from_position, part)",
    "CREATE INDEX IF NOT EXISTS vectors_key ON vectors (key)",
)


class Stored(NamedTuple):
    """What is stored of one embedder.

    Attributes:
        number: Names it within the tables.
        dimension: Of its vectors.
        reads: Names how texts are put to it; other vectors are worth nothing.
        done: Every text that began or ended up to this position has its vectors.
        changes: How often vectors were taken away.
    """

    number: int
    dimension: int
    reads: str
    done: int
    changes: int


class Version(NamedTuple):
    """One version of a memory's text: from one position on."""

    key: int
    position: int


def create_vectors(tx: sqlite3.Connection) -> None:
    """Creates the tables, if they are not there."""
    for statement in _CREATE:
        tx.execute(statement)


def drop_vectors(tx: sqlite3.Connection) -> None:
    """Drops them, if they are there."""
    for table in VECTOR_TABLES:
        tx.execute(f"DROP TABLE IF EXISTS {table}")


def stored(tx: sqlite3.Connection, name: str) -> Stored | None:
    """What is stored of an embedder; None if nothing is."""
    there = tx.execute("SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = 'embedders'").fetchone()
    if there is None:
        return None
    row = tx.execute("SELECT number, dimension, reads, done, changes FROM embedders WHERE name = ?", (name,)).fetchone()
    return None if row is None else Stored(*row)


def start_embedder(tx: sqlite3.Connection, name: str, dimension: int, reads: str) -> Stored:
    """Makes room for an embedder's vectors; those that were made of other readings of the texts go."""
    create_vectors(tx)
    found = stored(tx, name)
    if found is None:
        tx.execute(
            "INSERT INTO embedders (name, dimension, reads, done, changes) VALUES (?, ?, ?, 0, 0)",
            (name, dimension, reads),
        )
    elif found.reads != reads or found.dimension != dimension:
        tx.execute("DELETE FROM vectors WHERE embedder = ?", (found.number,))
        tx.execute(
            "UPDATE embedders SET dimension = ?, reads = ?, done = 0, changes = changes + 1 WHERE number = ?",
            (dimension, reads, found.number),
        )
    begun = stored(tx, name)
    assert begun is not None
    return begun


def forget_others(tx: sqlite3.Connection, name: str) -> None:
    """Throws away the vectors of every other embedder."""
    if stored(tx, name) is not None:
        tx.execute("DELETE FROM vectors WHERE embedder <> (SELECT number FROM embedders WHERE name = ?)", (name,))
        tx.execute("DELETE FROM embedders WHERE name <> ?", (name,))


def waiting(tx: sqlite3.Connection, embedder: Stored) -> list[Version]:
    """The versions that have no vector yet, past ones too, in the order of their memories."""
    without = "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.embedder = :number AND v.from_position = t.from_position)"
    rows = tx.execute(
        " UNION ALL ".join(
            f"SELECT t.key, t.from_position FROM {table} t WHERE {when} AND {without}"
            for table, when in (*(("texts", when) for when in BEGUN_AFTER), ("past_texts", "t.to_position > :after"))
        ),
        {"number": embedder.number, "after": embedder.done},
    )
    return sorted(Version(*row) for row in rows)


def put_vectors(tx: sqlite3.Connection, embedder: Stored, vectors: Mapping[Version, Sequence[Sequence[float]]]) -> None:
    """Stores the vectors of versions; those that a version had go."""
    tx.executemany(
        "DELETE FROM vectors WHERE embedder = ? AND from_position = ?",
        [(embedder.number, version.position) for version in vectors],
    )
    tx.executemany(
        "INSERT INTO vectors (embedder, key, from_position, part, vector) VALUES (?, ?, ?, ?, ?)",
        [
            (embedder.number, version.key, version.position, part, unit(vector).tobytes())
            for version, parts in vectors.items()
            for part, vector in enumerate(parts)
        ],
    )


def done_with(tx: sqlite3.Connection, embedder: Stored, position: int) -> None:
    """Notes that all texts up to a position have their vectors, unless some were taken away meanwhile."""
    tx.execute(
        "UPDATE embedders SET done = ? WHERE number = ? AND changes = ? AND done < ?",
        (position, embedder.number, embedder.changes, position),
    )


def erase_vectors(tx: sqlite3.Connection, keys: Iterable[int]) -> None:
    """Removes all vectors of memories, whichever embedder made them; a text that is left is encoded anew."""
    there = tx.execute("SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = 'vectors'").fetchone()
    if there is None:
        return
    left = False
    for key in keys:
        tx.execute("DELETE FROM vectors WHERE key = ?", (key,))
        left = left or tx.execute("SELECT 1 FROM texts WHERE key = ?", (key,)).fetchone() is not None
        left = left or tx.execute("SELECT 1 FROM past_texts WHERE key = ?", (key,)).fetchone() is not None
    tx.execute("UPDATE embedders SET changes = changes + 1" + (", done = 0" if left else ""))


def unit(vector: Sequence[Any]) -> array[int]:
    """A vector brought to length `SCALE`, in whole numbers; one of length 0 stays that."""
    floats = [float(value) for value in vector]
    size = math.sqrt(math.fsum(value * value for value in floats))
    scale = SCALE / size if size else 0.0
    return array("h", [round(value * scale) for value in floats])
