"""An application's model at work: texts that have no vector yet get one, and a question finds what is near to it.

The model is asked outside of every transaction, and never by a write: what was written waits until `flush` or the next
question. A text that changed or was erased while the model had it is left alone. What the model raises makes recall
fall back on words; what it gives that is no vector is refused.
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Literal

from attrs import frozen

from engram_core.errors import InvalidAttributesError, Problem, ProjectionError, StoreError
from engram_core.kinds import KindRegistry
from engram_core.ports import Embedder
from engram_core.projections import vectors
from engram_core.projections.host import Host
from engram_core.projections.lanes import VisibleTexts
from engram_core.projections.nearness import ExactIndex, Near, VectorIndex
from engram_core.projections.vectors import Stored, Version

__all__ = ["Asked", "Encoding", "passages"]

_READING: Final = 1
"""Raised when the same memory is put to a model in other words."""

_BATCH: Final = 256
_PASSAGE: Final = 600
_PASSAGES: Final = 64


@frozen
class Asked:
    """A question as the model understands it.

    Attributes:
        near: How near texts are to it; None where the model gave nothing.
        notice: Why it has no say, or not on every text; empty when all is well.
    """

    near: Callable[[VisibleTexts], Near] | None = None
    notice: str = ""


class _FailedError(Exception):
    """The model raised; the cause says what."""


class Encoding:
    """The vectors of a space.

    Args:
        host: Where they are kept.
        embedder: The application's model; where it has an attribute `index`, that compares its vectors.
        kinds: Say which attributes are text.
        reads: Names the rules under which texts are made; other vectors are thrown away.
        megabytes: What comparing may keep in memory.
    """

    def __init__(self, host: Host, embedder: Embedder, kinds: KindRegistry, *, reads: str, megabytes: float) -> None:
        self._host = host
        self._embedder = embedder
        self._kinds = kinds
        self._reads = f"{_READING} {reads}"
        own: VectorIndex | None = getattr(embedder, "index", None)
        if own is not None and not callable(getattr(own, "near", None)):
            problem = Problem("index", "must have a method near(texts, asked), or be None")
            raise InvalidAttributesError("embedder", [problem])
        self._index = ExactIndex(embedder.name, megabytes) if own is None else own
        self._lock = threading.Lock()

    def check(self) -> None:
        """Refuses a model that bears the name of another.

        Raises: InvalidAttributesError.
        """
        with self._host.reading() as tx:
            found = vectors.stored(tx, self._embedder.name)
        if found is not None and found.dimension != self._embedder.dimension:
            raise InvalidAttributesError(
                "embedder",
                [
                    Problem(
                        "dimension",
                        f"is {self._embedder.dimension}, but the vectors stored as {self._embedder.name!r} have"
                        f" {found.dimension} figures: another model needs another name",
                    )
                ],
            )

    def catch_up(self) -> int:
        """Gives every text its vectors; returns the number of versions that got some.

        Raises:
            ProjectionError: when the model raises; what it has encoded by then stays.
            InvalidAttributesError: when it gives anything but one vector of its dimension for each text.
            StoreError: when they cannot be stored.
        """
        try:
            return self._catch_up()
        except _FailedError as failed:
            raise ProjectionError(
                f"the embedder {self._embedder.name} failed: {failed.__cause__!r}",
                hint="nothing is lost: texts wait for the next flush or question",
                code="embedder_failed",
                name=self._embedder.name,
            ) from failed.__cause__

    def ask(self, question: str) -> Asked:
        """Encodes what waits, then a question.

        Raises: InvalidAttributesError as `catch_up`.
        """
        notice = ""
        try:
            self._catch_up()
        except (_FailedError, StoreError) as error:
            notice = f"not all texts have vectors: {error.__cause__ or error!r}"
        try:
            (found,) = self._encoded([question], "query")
        except _FailedError as failed:
            return Asked(notice=f"words alone: the embedder {self._embedder.name} failed: {failed.__cause__!r}")
        unit = vectors.unit(found)
        return Asked(lambda texts: self._index.near(texts, unit), notice)

    def forget_others(self) -> None:
        """Throws away the vectors of every other model."""
        with self._host.transaction() as tx:
            vectors.forget_others(tx, self._embedder.name)

    # -- inside -------------------------------------------------------------------------------------

    def _catch_up(self) -> int:
        if self._waiting() is None:
            return 0
        encoded = 0
        with self._lock:
            while (found := self._waiting()) is not None:
                embedder, versions, position = found
                for batch in _batches(versions):
                    encoded += self._encode(embedder, batch)
                with self._host.transaction() as tx:
                    if not vectors.waiting(tx, embedder):
                        vectors.done_with(tx, embedder, max(position, _position(tx)))
        return encoded

    def _waiting(self) -> tuple[Stored, list[Version], int] | None:
        """What waits, and the position up to which it was looked for; None where nothing does."""
        with self._host.reading() as tx:
            embedder, position = vectors.stored(tx, self._embedder.name), _position(tx)
            if embedder is not None and embedder[1:3] == (self._embedder.dimension, self._reads):
                if embedder.done >= position or not _moved(tx, embedder.done):
                    return None
                return embedder, vectors.waiting(tx, embedder), position
            if not position:
                return None
        with self._host.transaction() as tx:
            embedder = vectors.start_embedder(tx, self._embedder.name, self._embedder.dimension, self._reads)
            return embedder, vectors.waiting(tx, embedder), _position(tx)

    def _encode(self, embedder: Stored, batch: Sequence[Version]) -> int:
        with self._host.reading() as tx:
            said = self._said(tx, batch)
        parts = list(dict.fromkeys(part for texts in said.values() for part in texts))
        given = dict(zip(parts, self._encoded(parts, "passage"), strict=True)) if parts else {}
        with self._host.transaction() as tx:
            now = vectors.stored(tx, self._embedder.name)
            if now is None or now[:3] != embedder[:3]:
                return 0
            same = {one: texts for one, texts in self._said(tx, list(said)).items() if texts == said[one]}
            vectors.put_vectors(tx, now, {one: [given[part] for part in texts] for one, texts in same.items()})
        return len(same)

    def _encoded(self, texts: list[str], purpose: Literal["passage", "query"]) -> list[Sequence[float]]:
        try:
            given = list(self._embedder.encode(texts, purpose))
        except Exception as error:
            raise _FailedError("the embedder failed") from error
        size = self._embedder.dimension
        try:
            fits = len(given) == len(texts) and all(
                len(vector) == size and all(map(math.isfinite, vector)) for vector in given
            )
        except TypeError:
            fits = False
        if not fits:
            problem = Problem("encode", f"must give one vector of {size} finite figures for each text")
            raise InvalidAttributesError("embedder", [problem])
        return given

    def _said(self, tx: sqlite3.Connection, versions: Sequence[Version]) -> dict[Version, tuple[str, ...]]:
        """What each version is put to the model as; those that are gone are left out."""
        wanted = json.dumps(versions)
        found: dict[Version, tuple[str, ...]] = {}
        for texts, until in (("texts", ""), ("past_texts", "AND t.to_position > {at}")):
            for rows, then in (("memories", ""), ("past_memories", "AND m.to_position > {at}")):
                at = "t.from_position"
                sql = (
                    "SELECT t.key, t.from_position, m.kind, m.title, m.attributes, m.content, m.tags FROM (SELECT"
                    " json_extract(value, '$[0]') AS key, json_extract(value, '$[1]') AS since FROM json_each(?)) j"
                    f" CROSS JOIN {texts} t ON t.key = j.key AND {at} = j.since {until.format(at=at)}"
                    f" CROSS JOIN {rows} m ON m.key = t.key AND m.from_position <= {at} {then.format(at=at)}"
                )
                for key, since, *row in tx.execute(sql, (wanted,)):
                    found[Version(key, since)] = self._passages(*row)
        return found

    def _passages(self, kind: str, title: str | None, attributes: str, content: str, tags: str) -> tuple[str, ...]:
        fields = self._kinds.spec(kind).text_fields if kind in self._kinds else ()
        values = json.loads(attributes)
        return passages(title or "", *_texts(values, fields), content, ", ".join(json.loads(tags)))


def passages(*texts: str) -> tuple[str, ...]:
    """What a memory is put to a model as: its texts together, in passages of some 600 characters.

    A text that another one contains is left out. Passages end at a line's end, else at a blank.
    """
    said = [text.strip() for text in texts if text.strip()]
    whole = [
        text
        for at, text in enumerate(said)
        if not any(text in other and (len(text) < len(other) or at > before) for before, other in enumerate(said))
    ]
    cut = list(islice(_cut("\n".join(whole)), _PASSAGES))
    return tuple(cut) or ("",)


def _cut(text: str) -> Iterator[str]:
    while text := text.strip():
        if len(text) <= _PASSAGE:
            yield text
            return
        end = max(text.rfind("\n", 0, _PASSAGE), 0) or max(text.rfind(" ", 0, _PASSAGE), 0) or _PASSAGE
        yield text[:end].strip()
        text = text[end:]


def _texts(attributes: Mapping[str, Any], fields: Sequence[str]) -> Iterator[str]:
    for name in fields:
        value = attributes.get(name)
        yield from (text for text in (value if isinstance(value, list) else (value,)) if isinstance(text, str))


def _batches(versions: Sequence[Version]) -> Iterator[Sequence[Version]]:
    return (versions[at : at + _BATCH] for at in range(0, len(versions), _BATCH))


def _position(tx: sqlite3.Connection) -> int:
    found: int = tx.execute("SELECT value FROM meta WHERE name = 'position'").fetchone()[0]
    return found


def _moved(tx: sqlite3.Connection, done: int) -> bool:
    """True when a text began or ended after a position."""
    began, changed, ended = tx.execute(
        "SELECT (SELECT max(key) FROM texts), (SELECT max(from_position) FROM texts WHERE from_position > key),"
        " (SELECT max(to_position) FROM past_texts)"
    ).fetchone()
    return max(began or 0, changed or 0, ended or 0) > done
