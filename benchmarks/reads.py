"""What reading costs."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.measuring import Row, compare, percentile
from benchmarks.world import World
from engram_core import MemorySpace, user
from engram_core.analysis import STOP_WORDS
from engram_core.folding import fold

__all__ = ["as_of", "find", "load", "opening", "read_log", "recall"]

_TIMES = 100
_EVENTS = "SELECT * FROM events"
_MATCHING = (
    "SELECT r.key, bm25(texts) AS score FROM texts JOIN rows r ON r.key = texts.rowid"
    " WHERE texts MATCH ? AND r.kind = 'fact' AND r.status = 'active' ORDER BY score LIMIT 10"
)


def _db(world: World) -> sqlite3.Connection:
    return sqlite3.connect(world.path, isolation_level=None, cached_statements=256)


def load(world: World) -> Iterator[Row]:
    """A memory's state from its events."""
    engine, db = world.space._engine, _db(world)
    for place, count in enumerate((10, 100, 1_000)):
        id = world.ids[-1 - place]
        held = engine.log.stream(id)
        for number in range(count - len(held)):
            world.session.edit(id, content=f"version {number}")
        times = max(1, 1_000 // count)

        def ours() -> None:
            for _ in range(times):  # noqa: B023
                fold(engine.log.stream(id))  # noqa: B023

        def plain() -> None:
            for _ in range(times):  # noqa: B023
                rows = db.execute(f"{_EVENTS} WHERE stream = ? ORDER BY version", (id,)).fetchall()  # noqa: B023
                for row in rows:
                    json.loads(row[7])

        yield compare(f"load a memory of {count:,} events", plain, ours, times=times, gate=2.0)
    db.close()


def read_log(world: World) -> Iterator[Row]:
    """The log as typed events, an event."""
    db = _db(world)

    def ours() -> None:
        for _ in world.space.events():
            pass

    def plain() -> None:
        for row in db.execute(f"{_EVENTS} ORDER BY position"):
            json.loads(row[7])

    yield compare("read the log as typed events", plain, ours, times=world.space.position, gate=2.0)
    db.close()


def find(world: World) -> Iterator[Row]:
    """A page, a memory by its id, and what is linked to a person."""
    db, session = _db(world), world.session
    page = (
        "SELECT * FROM memories WHERE kind = 'fact' AND stored = 'active' AND lane = 0"
        " ORDER BY created_at DESC, id DESC LIMIT 50"
    )
    linked = (
        "SELECT m.*, l.relation FROM links l JOIN memories m ON m.key = l.target"
        " WHERE l.source = (SELECT key FROM memories WHERE id = ?) AND m.stored = 'active' AND m.lane = 0"
    )
    ids = world.ids[: 10 * _TIMES : 10]

    def decoded(rows: Sequence[tuple[Any, ...]]) -> None:
        for row in rows:
            json.loads(row[8])

    def every(action: Callable[[str], object]) -> Callable[[], None]:
        def run() -> None:
            for id in ids:
                action(id)

        return run

    pages = every(lambda _: session.find(kind="fact", limit=50, order="created_at", descending=True))
    yield compare(
        "find a page of 50", every(lambda _: decoded(db.execute(page).fetchall())), pages, times=len(ids), gate=4
    )
    by_id = every(lambda ref: decoded(db.execute("SELECT * FROM memories WHERE id = ?", (ref,)).fetchall()))
    yield compare("get", by_id, every(session.get), times=len(ids), gate=2.5)
    near = every(lambda ref: decoded(db.execute(linked, (ref,)).fetchall()))
    yield compare(
        "neighbours, one link",
        near,
        every(lambda ref: session.neighbours(ref, direction="out")),
        times=len(ids),
        gate=4,
    )
    db.close()


def _searcher(world: World) -> Callable[[str], object]:
    """FTS5 as one would write it by hand: stems, any word of the question but stop words, a narrow filter."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute("CREATE TABLE rows (key INTEGER PRIMARY KEY, kind TEXT, status TEXT)")
    db.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter unicode61')")
    db.execute("BEGIN")
    for key, text in enumerate(world.texts):
        db.execute("INSERT INTO rows VALUES (?, 'fact', 'active')", (key,))
        db.execute("INSERT INTO texts (rowid, text) VALUES (?, ?)", (key, text))
    db.execute("COMMIT")

    def search(question: str) -> object:
        words = " OR ".join(f'"{word}"' for word in question.rstrip("?").split() if word not in STOP_WORDS)
        return db.execute(_MATCHING, (words,)).fetchall()

    return search


def _latencies(asks: Sequence[Callable[[str], object]], questions: Sequence[str]) -> list[list[float]]:
    taken: list[list[float]] = [[] for _ in asks]
    for question in questions[:20]:
        for ask in asks:
            ask(question)
    for question in questions:
        for ask, times in zip(asks, taken, strict=True):
            started = time.process_time()
            ask(question)
            times.append((time.process_time() - started) * 1e6)
    return taken


def recall(world: World) -> Iterator[Row]:
    """Natural questions, with a filter, ten hits."""
    floor, ours = _latencies((_searcher(world), lambda q: world.session.recall(q, kind="fact")), world.questions)
    for share, gate in ((0.5, 1.5), (0.95, None), (0.99, 1.5)):
        name = f"recall, p{share * 100:.0f}"
        yield Row(area=name, floor=percentile(floor, share), ours=percentile(ours, share), gate=gate)


def as_of(world: World) -> Iterator[Row]:
    """Recall of what was known when half of the log was written, against recall now."""
    halfway = next(world.space.events(after=world.space.position // 2)).recorded_at
    past = world.session.as_of(known_at=halfway)
    present, before = _latencies((world.session.recall, past.recall), world.questions[:100])
    yield Row(
        area="as_of recall, p50 (floor: now)", floor=percentile(present, 0.5), ours=percentile(before, 0.5), gate=2
    )


def opening(world: World) -> Iterator[Row]:
    """A file opened, asked once and closed."""
    words = [word for word in world.texts[0].split() if word not in STOP_WORDS][:3]

    def ours() -> None:
        with MemorySpace.open(world.path, durability="normal") as space:
            space.session(user("bench"), record=False).recall(" ".join(words))

    def plain() -> None:
        db = sqlite3.connect(world.path, isolation_level=None)
        db.execute("PRAGMA synchronous=NORMAL")
        sql = (
            "SELECT m.*, bm25(text_shared) AS score FROM text_shared t JOIN memories m ON m.key = t.rowid / 10"
            " WHERE text_shared MATCH ? ORDER BY score LIMIT 10"
        )
        db.execute(sql, (" OR ".join(f'"{word}"' for word in words),)).fetchall()
        db.close()

    yield compare("open + first recall", plain, ours, times=1, gate=3)
