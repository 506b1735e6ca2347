"""How near the texts that a viewer may read are to a question: exact, filtered before anything is counted.

Two ways that give the same figures to the last digit. With numpy, the vectors of all versions are kept in one matrix,
which follows the log; who may read which version is a mask over it. Without numpy, or where the matrix would be too
large, the vectors are read from the tables, viewer first.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from operator import mul
from typing import Any, Final, Protocol

from engram_core.projections.lanes import VisibleTexts
from engram_core.projections.texts import BEGUN_AFTER
from engram_core.projections.vectors import SCALE, Stored, stored

__all__ = ["ExactIndex", "Listed", "Near", "VectorIndex"]

_STEPS: Final = 100_000  # a cosine is a whole number of these; finer ones say nothing
_OPEN: Final = 2**62  # the end of what has not ended
_PAGE: Final = 4_096


class Near(Protocol):
    """The cosines between a question and the texts that one viewer may read, each the best of its text's parts.

    Attributes:
        count: How many texts there are.
        mean, spread, top: Their mean, their standard deviation, and the largest.
    """

    count: int
    mean: float
    spread: float
    top: float

    def nearest(self, count: int) -> list[int]:
        """The keys of the nearest memories, nearest first; of equals, the newest."""
        ...

    def of(self, keys: Iterable[int]) -> dict[int, float]:
        """The cosines of these memories, as far as their texts have vectors."""
        ...


class VectorIndex(Protocol):
    """What compares a question with the vectors of a space: `ExactIndex`, or what an embedder bears as its `index`.

    An index that is not exact may leave texts out. It must never tell of those that the viewer may not read: it asks
    `texts.began` about each that it has found, and keeps the vectors of different `texts.groups` apart, so that what
    is hidden crowds nothing out.
    """

    def near(self, texts: VisibleTexts, asked: array[int]) -> Near:
        """How near texts are to a question.

        Args:
            texts: Those that the viewer may read, on a connection to the read model.
            asked: The question's unit vector times `SCALE`, in whole numbers.

        Returns: Cosines, as `Listed` holds them.
        """
        ...


class Listed:
    """Cosines in a dictionary.

    Args:
        cosines: In 100,000ths, by key.
    """

    def __init__(self, cosines: Mapping[int, int]) -> None:
        self._cosines = cosines
        values = cosines.values()
        self.count = len(cosines)
        self.mean, self.spread = _spread(self.count, sum(values), sum(value * value for value in values))
        self.top = max(values, default=0) / _STEPS

    @classmethod
    def of_floats(cls, cosines: Mapping[int, float]) -> Listed:
        """From figures in [-1, 1]."""
        return cls({key: round(value * _STEPS) for key, value in cosines.items()})

    def nearest(self, count: int) -> list[int]:
        """The keys of the nearest memories."""
        return nsmallest(count, self._cosines, key=lambda key: (-self._cosines[key], -key))

    def of(self, keys: Iterable[int]) -> dict[int, float]:
        """The cosines of these memories."""
        return {key: self._cosines[key] / _STEPS for key in keys if key in self._cosines}


class _Dense:
    """Cosines in two arrays."""

    def __init__(self, np: Any, keys: Any, values: Any) -> None:
        order = np.argsort(keys, kind="stable")
        self._np = np
        self._keys, self._values = keys[order], values[order]
        self.count = len(values)
        self.mean, self.spread = _spread(self.count, int(values.sum()), int((values * values).sum()))
        self.top = int(values.max()) / _STEPS if self.count else 0.0

    def nearest(self, count: int) -> list[int]:
        """The keys of the nearest memories."""
        np, keys, values = self._np, self._keys, self._values
        if count < self.count:
            least = np.partition(values, self.count - count)[self.count - count]
            near = np.flatnonzero(values >= least)
            keys, values = keys[near], values[near]
        found: list[int] = keys[np.lexsort((-keys, -values))][:count].tolist()
        return found

    def of(self, keys: Iterable[int]) -> dict[int, float]:
        """The cosines of these memories."""
        listed = list(keys)
        if not listed or not self.count:
            return {}
        wanted = self._np.asarray(listed)
        at = self._np.minimum(self._np.searchsorted(self._keys, wanted), self.count - 1)
        hit = self._keys[at] == wanted
        return {
            key: value / _STEPS
            for key, value, there in zip(listed, self._values[at].tolist(), hit.tolist(), strict=True)
            if there
        }


class ExactIndex:
    """Compares a question with every vector of one embedder.

    Args:
        name: Of the embedder.
        megabytes: What the matrix may take; beyond, vectors are read from the tables at each question.
    """

    def __init__(self, name: str, megabytes: float) -> None:
        self._name = name
        self._bytes = megabytes * 1_000_000
        self._lock = threading.Lock()
        self._matrix: _Matrix | None = None

    def near(self, texts: VisibleTexts, asked: array[int]) -> Near:
        """How near the texts that a viewer may read are to a question's vector, made by `vectors.unit`."""
        connection = texts.connection
        embedder = stored(connection, self._name)
        if embedder is None or embedder.dimension != len(asked):
            return Listed({})
        np = _numpy()
        if np is not None:
            with self._lock:
                matrix = self._followed(np, connection, embedder)
                visible = None if matrix is None else matrix.visible(texts)
            if matrix is not None and visible is not None:
                return matrix.near(visible, asked)
        return _read(np, texts, embedder, asked)

    def _followed(self, np: Any, connection: sqlite3.Connection, embedder: Stored) -> _Matrix | None:
        """The matrix at the reading's position, or later; None where it would be too large or is of a later log."""
        matrix = self._matrix
        if matrix is not None and matrix.embedder.changes > embedder.changes:
            return None
        if matrix is None or matrix.embedder[:3] != embedder[:3] or matrix.embedder.changes != embedder.changes:
            matrix = self._matrix = None
            matrix = _Matrix(np, embedder)
        if matrix.follow(connection, embedder, self._bytes):
            self._matrix = matrix
            return matrix
        self._matrix = None
        return None


class _Matrix:
    """The vectors of all versions in rows, parts of a version side by side, and when and by whom each is read."""

    def __init__(self, np: Any, embedder: Stored) -> None:
        self._np = np
        self.embedder = embedder
        self._began = self._ended = 0
        self._rows = np.empty((0, embedder.dimension), np.float32)
        self._filled = 0
        self._columns = np.empty((5, 0), np.int64)  # key, from, to, group, first row; a column for each version
        self._count = 0
        self._places: dict[int, int] = {}
        self._groups: dict[tuple[int, str | None], int] = {}
        self._fresh: int | None = None  # the version whose parts are being taken in

    def follow(self, connection: sqlite3.Connection, embedder: Stored, most: float) -> bool:
        """Takes in what began and ended since; False if that is too much for it."""
        (position,) = connection.execute("SELECT value FROM meta WHERE name = 'position'").fetchone()
        began = min(position, embedder.done)
        if began > self._began and not self._begin(connection, began, most):
            return False
        if position > self._ended:
            for since, to in connection.execute(
                "SELECT from_position, to_position FROM past_texts WHERE to_position > ?", (self._ended,)
            ):
                if since in self._places:
                    self._columns[2, self._places[since]] = to
        self._began, self._ended = max(began, self._began), max(position, self._ended)
        return True

    def _begin(self, connection: sqlite3.Connection, upto: int, most: float) -> bool:
        select = (
            "SELECT t.key, t.from_position, {to}, t.lane, t.audience, v.vector FROM {table} t CROSS JOIN vectors v"
            # the plus keeps SQLite from deriving a range of v from that of t, which it would prefer to the equality
            " ON v.embedder = :number AND v.from_position = +t.from_position WHERE {when} ORDER BY {order}, v.part"
        )
        parameters = {"number": self.embedder.number, "after": self._began, "upto": upto}
        size = 2 * self.embedder.dimension
        for table, order, to, when in (
            *(("texts", "t.key", str(_OPEN), f"{when} AND t.from_position <= :upto") for when in BEGUN_AFTER),
            ("past_texts", "t.to_position", "t.to_position", "t.to_position > :after AND t.from_position <= :upto"),
        ):
            found = connection.execute(select.format(table=table, order=order, to=to, when=when), parameters)
            while page := found.fetchmany(_PAGE):
                fresh = [row for row in page if len(row[5]) == size and not self._knows(row[1])]
                if fresh and not self._add(fresh, most):
                    return False
        self._fresh = None
        return True

    def _knows(self, since: int) -> bool:
        """True for a version that was taken in by an earlier call; parts of one follow each other."""
        return since in self._places and since != self._fresh

    def _add(self, rows: Sequence[Any], most: float) -> bool:
        np = self._np
        if 4 * self.embedder.dimension * (self._filled + len(rows)) > most:
            return False
        heads: list[tuple[int, int, int, int, int]] = []
        for number, (key, since, to, lane, audience, _) in enumerate(rows):
            if since == self._fresh:
                continue
            self._fresh = since
            group = self._groups.setdefault((lane, audience), len(self._groups))
            self._places[since] = self._count + len(heads)
            heads.append((key, since, to, group, self._filled + number))
        block = np.frombuffer(b"".join(row[5] for row in rows), np.int16).reshape(len(rows), -1)
        self._rows = _grown(np, self._rows, self._filled, len(rows), 0)
        self._rows[self._filled : self._filled + len(rows)] = block
        self._filled += len(rows)
        if heads:
            self._columns = _grown(np, self._columns, self._count, len(heads), 1)
            self._columns[:, self._count : self._count + len(heads)] = np.asarray(heads, np.int64).T
            self._count += len(heads)
        return True

    def visible(self, texts: VisibleTexts) -> tuple[Any, ...]:
        """What is needed to compare: rows, first rows of versions, keys, and which versions count."""
        np = self._np
        key, since, to, group, first = self._columns[:, : self._count]
        allowed = texts.groups(list(self._groups))
        read = np.isin(group, [self._groups[one] for one in allowed]) if len(allowed) < len(self._groups) else None
        mask = (since <= texts.known) & (to > texts.known)
        if read is not None:
            mask &= read
        if texts.asks_today:
            today = (since <= texts.head) & (to > texts.head)
            present = key[today if read is None else today & read]
            mask &= np.isin(key, np.concatenate((present, np.asarray(texts.later(self._began), np.int64))))
        return self._rows[: self._filled], first, key[mask], np.flatnonzero(mask)

    def near(self, visible: tuple[Any, ...], asked: array[int]) -> Near:
        """The cosines of visible versions."""
        np = self._np
        rows, first, keys, chosen = visible
        if not len(chosen):
            return Listed({})
        products = rows @ np.asarray(asked, np.float32)
        best = products if len(first) == len(rows) else np.maximum.reduceat(products, first)
        return _Dense(np, keys, _steps(best[chosen].astype(np.int64)))


def _grown(np: Any, held: Any, filled: int, more: int, axis: int) -> Any:
    """An array with room for more along an axis; at least half as large again, so that growing is rare."""
    if held.shape[axis] >= filled + more:
        return held
    shape = list(held.shape)
    shape[axis] = filled + more if not filled else max(filled + more, filled + filled // 2)
    larger = np.empty(shape, held.dtype)
    larger[(slice(None),) * axis + (slice(filled),)] = held[(slice(None),) * axis + (slice(filled),)]
    return larger


def _read(np: Any, texts: VisibleTexts, embedder: Stored, asked: array[int]) -> Listed:
    """The cosines of the visible texts, read from the tables."""
    dot = _plain(asked) if np is None else _blockwise(np, asked)
    size = 2 * len(asked)
    best: dict[int, int] = {}
    for page in _pages(texts.vectors(embedder.number, embedder.done), size):
        for (key, _), product in zip(page, dot([vector for _, vector in page]), strict=True):
            steps = _steps(product)
            if steps > best.get(key, -_STEPS - 1):
                best[key] = steps
    return Listed(best)


def _pages(rows: Iterator[tuple[int, bytes]], size: int) -> Iterator[list[tuple[int, bytes]]]:
    page: list[tuple[int, bytes]] = []
    for row in rows:
        if len(row[1]) == size:
            page.append(row)
        if len(page) == _PAGE:
            yield page
            page = []
    if page:
        yield page


def _plain(asked: array[int]) -> Callable[[list[bytes]], list[int]]:
    def dot(vectors: list[bytes]) -> list[int]:
        found = []
        for vector in vectors:
            figures = array("h")
            figures.frombytes(vector)
            found.append(sum(map(mul, figures, asked)))
        return found

    return dot


def _blockwise(np: Any, asked: array[int]) -> Callable[[list[bytes]], list[int]]:
    wanted = np.asarray(asked, np.float32)

    def dot(vectors: list[bytes]) -> list[int]:
        block = np.frombuffer(b"".join(vectors), np.int16).reshape(len(vectors), -1)
        found: list[int] = (block.astype(np.float32) @ wanted).astype(np.int64).tolist()
        return found

    return dot


def _steps(product: Any) -> Any:
    """A product of two vectors, or an array of such, as a cosine in 100,000ths."""
    return product * _STEPS // (SCALE * SCALE)


def _spread(count: int, total: int, squares: int) -> tuple[float, float]:
    """Mean and standard deviation, from exact sums, so that no order of adding shows."""
    if not count:
        return 0.0, 0.0
    return total / count / _STEPS, math.sqrt(max(0, count * squares - total * total)) / count / _STEPS


def _numpy() -> Any:
    try:
        import numpy as np
    except ImportError:
        return None
    return np
