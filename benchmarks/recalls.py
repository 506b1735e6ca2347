"""What recall costs: now, in a past view, and in a file that was just opened."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.measuring import Row, compare, percentile
from benchmarks.ranking import by_hand
from benchmarks.reads import connected
from benchmarks.world import World
from engram_core import MemorySpace, user
from engram_core.analysis import STOP_WORDS, question
from engram_core.results.listings import Hits

__all__ = ["as_of", "opening", "recall"]

_NARROW = (
    "SELECT m.key, bm25(text_shared) AS score FROM text_shared t JOIN memories m ON m.key = t.rowid / 10"
    " WHERE text_shared MATCH ? AND m.kind = 'fact' AND m.stored = 'active' AND m.lane = 0 ORDER BY score LIMIT 10"
)


def _any_of(words: Sequence[str]) -> str:
    return " OR ".join(f'"{word}"' for word in words)


def _latencies(asks: Sequence[Callable[[str], object]], questions: Sequence[str]) -> list[list[float]]:
    taken: list[list[float]] = [[] for _ in asks]
    for text in questions[:20]:
        for ask in asks:
            ask(text)
    for text in questions:
        for ask, times in zip(asks, taken, strict=True):
            started = time.process_time()
            ask(text)
            times.append((time.process_time() - started) * 1e6)
    return taken


def recall(world: World) -> Iterator[Row]:
    """Natural questions, with a filter, ten hits: beside the same ranking by hand, and beside bm25 alone."""
    db = connected(world)
    policy = world.space._engine.options.policy
    decay = policy.decay["fact"]
    settled = (policy.recall, decay.half_life_days, decay.base_importance, policy.importance.per_evidence)

    def same(text: str) -> list[Any]:
        return by_hand(db, text, *settled)

    def ours(text: str) -> Hits:
        return world.session.recall(text, kind="fact")

    def plain(text: str) -> object:
        keys = db.execute(_NARROW, (_any_of(question(text).terms),)).fetchall()
        return [db.execute("SELECT * FROM memories WHERE key = ?", key[:1]).fetchone() for key in keys]

    others = [text for text in world.questions if [row[1] for row in same(text)] != [hit.id for hit in ours(text)]]
    note = f"of {len(world.questions)} questions {len(others)} are answered otherwise by hand"
    alone, library, bare = _latencies((same, ours, plain), world.questions)
    for share, gate in ((0.5, 1.5), (0.95, None), (0.99, 1.5)):
        yield Row(
            area=f"recall, p{share * 100:.0f} (floor: the same ranking by hand)",
            floor=percentile(alone, share),
            ours=percentile(library, share),
            gate=gate,
            note=note if share == 0.5 else "",
        )
    yield Row(area="recall, p50 (floor: bm25 alone)", floor=percentile(bare, 0.5), ours=percentile(library, 0.5))
    budget = 2_000 if len(world.texts) <= 10_000 else 15_000
    yield Row(area=f"recall, p50 (floor: {budget / 1_000:g} ms)", floor=budget, ours=percentile(library, 0.5), gate=1)
    db.close()


def as_of(world: World) -> Iterator[Row]:
    """Recall of what was known when half of the log was written, against recall now."""
    halfway = next(world.space.events(after=world.space.position // 2)).recorded_at
    past = world.session.as_of(known_at=halfway)
    present, before = _latencies((world.session.recall, past.recall), world.questions[:100])
    for share, gate in ((0.5, 2.0), (0.99, None)):
        name = f"as_of recall, p{share * 100:.0f} (floor: now)"
        yield Row(area=name, floor=percentile(present, share), ours=percentile(before, share), gate=gate)


def opening(world: World) -> Iterator[Row]:
    """A file opened, asked once and closed."""
    words = [word for word in world.texts[0].split() if word not in STOP_WORDS][:3]
    terms = _any_of(question(" ".join(words)).terms)

    def ours() -> None:
        for _ in range(5):
            with MemorySpace.open(world.path, durability="normal") as space:
                space.session(user("bench"), record=False).recall(" ".join(words))

    def plain() -> None:
        for _ in range(5):
            db = sqlite3.connect(world.path, isolation_level=None)
            db.execute("PRAGMA synchronous=NORMAL")
            keys = db.execute(_NARROW, (terms,)).fetchall()
            for key in keys:
                db.execute("SELECT * FROM memories WHERE key = ?", key[:1]).fetchone()
            db.close()

    yield compare("open + first recall", plain, ours, times=5, gate=3)
