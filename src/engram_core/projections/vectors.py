"""Vectors of texts, for the semantic half of recall: one for each version of a text, so that none is ever stale.

A vector belongs to a memory's text from one position on. When the text changes the new version has none until it is
encoded; until then words alone speak for it. Past views find the vectors of the versions that held then.
"""

from __future__ import annotations

import math
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import mul
from typing import Any, Final

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.ports import Embedder
from engram_core.projections.lanes import VisibleTexts

__all__ = [
    "cosines",
    "create_vector_statements",
    "drop_vector_statements",
    "encode_waiting",
    "erase_vectors",
    "forget_vectors",
    "put_vectors",
    "vectors_of",
    "without_vector",
]

_DIGITS: Final = 5  # beyond these, a sum depends on the order in which a machine adds


def create_vector_statements(prefix: str = "") -> list[str]:
    """The statements that create the tables of vectors."""
    return [
        f"CREATE TABLE {prefix}vectors (key INTEGER NOT NULL, from_position INTEGER NOT NULL, vector BLOB NOT NULL)",
        f"CREATE UNIQUE INDEX {prefix}vectors_version ON {prefix}vectors (key, from_position)",
        f"CREATE TABLE {prefix}embedder (name TEXT PRIMARY KEY, dimension INTEGER NOT NULL) WITHOUT ROWID",
    ]


def drop_vector_statements(prefix: str = "") -> list[str]:
    """The statements that drop them again, if they are there."""
    return [f"DROP TABLE IF EXISTS {prefix}vectors", f"DROP TABLE IF EXISTS {prefix}embedder"]


def vectors_of(connection: sqlite3.Connection) -> tuple[str, int] | None:
    """Name and dimension of the embedder whose vectors are stored; None while there are none."""
    found: tuple[str, int] | None = connection.execute("SELECT name, dimension FROM embedder").fetchone()
    return found


def forget_vectors(connection: sqlite3.Connection, name: str, dimension: int) -> None:
    """Empties the tables for another embedder, whose vectors cannot be compared with those that were there."""
    connection.execute("DELETE FROM vectors")
    connection.execute("DELETE FROM embedder")
    connection.execute("INSERT INTO embedder (name, dimension) VALUES (?, ?)", (name, dimension))


def without_vector(connection: sqlite3.Connection, limit: int) -> list[tuple[int, int]]:
    """Present texts that wait to be encoded, oldest first: key and the position from which they hold."""
    return connection.execute(
        "SELECT t.key, t.from_position FROM texts t WHERE NOT EXISTS (SELECT 1 FROM vectors v"
        " WHERE v.key = t.key AND v.from_position = t.from_position) ORDER BY t.key LIMIT ?",
        (limit,),
    ).fetchall()


def put_vectors(connection: sqlite3.Connection, vectors: Iterable[tuple[int, int, Sequence[float]]]) -> None:
    """Stores vectors, brought to length 1: key, position from which the text holds, vector."""
    connection.executemany(
        "INSERT OR REPLACE INTO vectors (key, from_position, vector) VALUES (?, ?, ?)",
        [(key, position, _unit(vector).tobytes()) for key, position, vector in vectors],
    )


def encode_waiting(
    connection: sqlite3.Connection,
    embedder: Embedder,
    said: Callable[[Sequence[int]], Mapping[int, str]],
    *,
    batch: int = 64,
) -> int:
    """Gives every present text its vector; those of another embedder are thrown away first.

    Args:
        connection: An open connection within the caller's transaction.
        embedder: The application's.
        said: The texts of the memories with these keys, as the embedder shall read them.
        batch: How many are encoded together.

    Returns: How many were encoded.
    Raises: InvalidAttributesError when the embedder gives anything but one vector of its dimension for each text.
    """
    mine = (embedder.name, embedder.dimension)
    if vectors_of(connection) != mine:
        forget_vectors(connection, *mine)
    encoded = 0
    while waiting := without_vector(connection, batch):
        texts = said([key for key, _ in waiting])
        given = embedder.encode([texts[key] for key, _ in waiting], "passage")
        if len(given) != len(waiting) or any(len(vector) != embedder.dimension for vector in given):
            raise InvalidAttributesError(
                "embedder", [Problem("encode", f"must give one vector of {embedder.dimension} figures for each text")]
            )
        found = zip(waiting, given, strict=True)
        put_vectors(connection, [(key, position, vector) for (key, position), vector in found])
        encoded += len(waiting)
    return encoded


def erase_vectors(connection: sqlite3.Connection, keys: Iterable[int]) -> None:
    """Removes all vectors of memories."""
    connection.executemany("DELETE FROM vectors WHERE key = ?", [(key,) for key in keys])


def cosines(texts: VisibleTexts, asked: Sequence[float]) -> dict[int, float]:
    """How near each visible text is to a question's vector, in [-1, 1]; texts without a vector are left out.

    Exact: every vector is compared, with numpy where it is installed.
    """
    rows = texts.vectors()
    unit = _unit(asked)
    size = 4 * len(unit)
    rows = [(key, vector) for key, vector in rows if len(vector) == size]
    if not rows:
        return {}
    try:
        import numpy as np
    except ImportError:
        return {key: round(sum(map(mul, _floats(vector), unit)), _DIGITS) for key, vector in rows}
    matrix = np.frombuffer(b"".join(vector for _, vector in rows), dtype=np.float32)
    near = matrix.reshape(len(rows), len(unit)) @ np.asarray(unit, dtype=np.float32)
    return {key: round(float(value), _DIGITS) for (key, _), value in zip(rows, near, strict=True)}


def _unit(vector: Sequence[float]) -> array[float]:
    size = math.sqrt(math.fsum(float(value) * float(value) for value in vector))
    return array("f", [float(value) / size if size else 0.0 for value in vector])


def _floats(vector: Any) -> array[float]:
    floats = array("f")
    floats.frombytes(vector)
    return floats
