"""What recall finds, and what it costs.

    python -m benchmarks.recall speed [SIZE ...]       # questions over invented memories, beside plain FTS5
    python -m benchmarks.recall index [SIZE ...]       # the text index alone: the same texts in, beside plain FTS5
    python -m benchmarks.recall past [SIZE ...]        # views of the past beside the present, for users and assistants
    python -m benchmarks.recall meaning [SIZE ...]     # the same with random vectors of 384 figures beside the words
    python -m benchmarks.recall quality PATH [UNIT …]  # a retrieval benchmark that lies outside this repository
    python -m benchmarks.recall quality PATH --embedder minilm    # or words, random: the semantic half beside

`quality` takes the folder of a benchmark with a `recallbench` package: `load(name)` gives collections of memories
(id, text, timestamp, speaker) and queries, `evaluate(dataset, factory)` scores a system. Its data stay where they are.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import random
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.words import invented, questions_about
from engram_core import Draft, Fact, MemorySpace, Person, assistant, private, restricted, user
from engram_core.analysis import STOP_WORDS, forget
from engram_core.ports import Embedder
from engram_core.projections import texts
from engram_core.testing import FakeEmbedder, FrozenClock

_STATEMENT = 500
_OPENING = 80


class System:
    """The library as a benchmark sees it: memories in time order, each about its speaker, sessions by the day."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._space = MemorySpace.in_memory(embedder=embedder)
        self._ids: dict[str, str] = {}

    def index(self, items: Iterable[tuple[str, str, str | None, str | None]]) -> None:
        """Remembers (id, text, ISO timestamp or None, speaker or None)."""
        people: dict[str, str] = {}
        days: dict[str, list[tuple[str, Draft]]] = {}
        keeper = self._space.session(user("bench"))
        for id, text, stamp, speaker in items:
            if speaker and speaker not in people:
                people[speaker] = str(keeper.remember(Person(full_name=speaker)).memory_id)
            days.setdefault((stamp or "")[:10], []).append((id, _draft(text, stamp, people.get(speaker or ""))))
        for day, drafts in days.items():
            session = self._space.session(user("bench"), session_id=day or None)
            report = session.remember_many([draft for _, draft in drafts])
            for (id, _), receipt in zip(drafts, report.receipts, strict=True):
                self._ids[str(receipt.memory_id)] = id
        self._session = self._space.session(user("bench"), record=False)

    def search(self, query: str, k: int) -> list[str]:
        """The benchmark's ids of the hits, best first."""
        return [self._ids[hit.id] for hit in self._session.recall(query, limit=k, kind="fact")]

    def close(self) -> None:
        """Forgets all."""
        self._space.close()


def _draft(text: str, stamp: str | None, about: str | None) -> Draft:
    opening, content = (text, "") if len(text) <= _STATEMENT else (text[:_OPENING], text)
    at = datetime.fromisoformat(stamp) if stamp else None
    return Draft(
        Fact(statement=opening),
        content=content,
        links=[("about", about)] if about else [],
        occurred_at=at if at is None or at.tzinfo else at.replace(tzinfo=UTC),
        on_duplicate="create",
        similar=False,
    )


class RandomEmbedder:
    """A model that knows nothing: each text gets a direction drawn from its hash."""

    name = "random"

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension
        self._known: dict[str, list[float]] = {}

    def encode(self, texts: Sequence[str], purpose: str) -> list[list[float]]:
        """One vector for each text."""
        return [self._known.get(text) or self._drawn(text) for text in texts]

    def remember(self, texts: Sequence[str]) -> None:
        """Draws the vectors of texts beforehand."""
        self._known = {text: self._drawn(text) for text in texts}

    def _drawn(self, text: str) -> list[float]:
        drawn = random.Random(hashlib.sha256(text.encode()).digest())
        return [drawn.gauss(0.0, 1.0) for _ in range(self.dimension)]


def _embedder(name: str) -> Embedder | None:
    match name:
        case "minilm":
            from engram_core.embedders import MiniLM

            return MiniLM()
        case "words":
            return FakeEmbedder(dimension=256)
        case "random":
            return RandomEmbedder()
        case _:
            return None


def quality(path: str, units: Sequence[str], embedder: Embedder | None = None) -> dict[str, Any]:
    """Prints recall and nDCG at 10, for all queries and for each category."""
    results = {}
    sys.path.insert(0, path)
    bench = importlib.import_module("recallbench")
    for unit in units:
        result = bench.evaluate(bench.load(unit), partial(System, embedder))
        results[unit] = {"overall": result["overall"], "by_category": result["by_category"]}
        _say(f"{unit:<14}{_figures(result['overall'])}   p50 {result['latency_ms']['p50']:.1f} ms")
        for category, figures in result["by_category"].items():
            _say(f"    {category:<14}{_figures(figures)}   n {figures['n']}")
    return results


def _figures(figures: dict[str, float]) -> str:
    return f"R@10 {figures['recall@10']:.3f}   nDCG@10 {figures['ndcg@10']:.3f}"


def speed(sizes: Sequence[int]) -> dict[str, Any]:
    """Prints the cost of adding and of asking, for the library and for hand-written FTS5 in the same run."""
    results: dict[str, Any] = {}
    for size in sizes:
        given = invented(size)
        questions = questions_about(given)
        space = MemorySpace.in_memory()
        started = time.process_time()
        for day in range(0, size, 1_000):
            session = space.session(user("bench"), session_id=f"day {day}")
            session.remember_many([_draft(text, None, None) for text in given[day : day + 1_000]])
        added = time.process_time() - started
        asker = space.session(user("bench"), record=False)
        floor = _Floor()
        started = time.process_time()
        floor.index(given)
        plain = time.process_time() - started
        each, alone = 1e6 * added / size, 1e6 * plain / size
        _say(f"{size:>9,} memories: added at {each:.0f} µs each, FTS5 alone {alone:.0f} µs")
        ours, theirs = (
            _percentiles(partial(asker.recall, kind="fact"), questions),
            _percentiles(floor.search, questions),
        )
        _say(f"          recall          {_told(ours)}")
        _say(f"          FTS5, any word  {_told(theirs)}")
        results[str(size)] = {"added, µs": each, "FTS5 added, µs": alone, "recall, ms": ours, "FTS5, ms": theirs}
        space.close()
    return results


def meaning(sizes: Sequence[int]) -> dict[str, Any]:
    """Prints what a question costs where every text has a vector; what the model itself costs is left out."""
    results: dict[str, Any] = {}
    for size in sizes:
        given = invented(size)
        questions = questions_about(given)[:100]
        model = RandomEmbedder(384)
        space = MemorySpace.in_memory(embedder=model)
        for day in range(0, size, 1_000):
            session = space.session(user("bench"), session_id=f"day {day}")
            session.remember_many([_draft(text, None, None) for text in given[day : day + 1_000]])
        space.flush()
        model.remember(questions)
        asker = space.session(user("bench"), record=False)
        found = _percentiles(partial(asker.recall, kind="fact"), questions)
        _say(f"{size:>9,} memories   {_told(found)}")
        results[str(size)] = {"recall, ms": found}
        space.close()
    return results


def index(sizes: Sequence[int]) -> dict[str, Any]:
    """Prints what the text index costs by itself, from text to rows, when its words are new to it and when it knows
    them, for the library's analysis and lanes and for FTS5 with porter stems.
    """
    results: dict[str, Any] = {}
    for size in sizes:
        given = invented(size)
        plain = min(_indexed_plainly(given) for _ in range(3))
        forget()
        cold = _indexed(given)
        warm = min(_indexed(given) for _ in range(3))
        first, then = f"{cold:.1f} ({cold / plain:.2f} x)", f"{warm:.1f} ({warm / plain:.2f} x)"
        _say(f"{size:>9,} texts: FTS5 {plain:.1f} µs each, ours {first} at first, then {then}")
        results[str(size)] = {"FTS5, µs": plain, "first, µs": cold, "then, µs": warm}
    return results


def _indexed_plainly(given: Sequence[str]) -> float:
    floor = _Floor()
    started = time.process_time()
    floor.index(given)
    return 1e6 * (time.process_time() - started) / len(given)


def _indexed(given: Sequence[str]) -> float:
    db = sqlite3.connect(":memory:", isolation_level=None)
    for statement in texts.create_statements():
        db.execute(statement)
    started = time.process_time()
    for at in range(0, len(given), 1_000):
        part = [
            texts.Text(key, key, 0, texts.text_terms(title=None, fields=[text], content="", tags=()))
            for key, text in enumerate(given[at : at + 1_000], at + 1)
        ]
        db.execute("BEGIN")
        texts.write_texts(db, part, fresh=True)
        db.execute("COMMIT")
    return 1e6 * (time.process_time() - started) / len(given)


def past(sizes: Sequence[int]) -> dict[str, Any]:
    """Prints what a question costs in views of the past; a tenth of all was edited, hidden or deleted since."""
    results: dict[str, Any] = {}
    for size in sizes:
        given = invented(size)
        questions = questions_about(given)[:100]
        clock = FrozenClock(datetime(2026, 1, 1, tzinfo=UTC))
        space = MemorySpace.in_memory(clock=clock)
        bot = assistant("bot")
        for day in range(0, size, 1_000):
            clock.move(days=1)
            session = space.session(user("bench"), session_id=f"day {day}")
            made = session.remember_many([_draft(text, None, None) for text in given[day : day + 1_000]]).receipts
            for receipt in made[:70]:
                session.edit(receipt, content="harbour")
            for number, receipt in enumerate(made[70:100]):
                match number % 3:
                    case 0:
                        session.set_visibility(receipt, private())
                    case 1:
                        session.set_visibility(receipt, restricted(bot))
                    case _:
                        session.delete(receipt)
        for actor in (user("bench"), bot):
            view = space.session(actor, record=False)
            found = {"now": _percentiles(partial(view.recall, kind="fact"), questions)}
            for share in (0.1, 0.5, 0.9):
                then = view.as_of(known_at=clock.now() - timedelta(days=size / 1_000 * (1 - share)))
                found[f"{share:.0%} of the log"] = _percentiles(partial(then.recall, kind="fact"), questions)
            for when, figures in found.items():
                _say(f"{size:>9,} memories, {actor.kind:<10}{when:<16}{_told(figures)}")
            results[f"{size}, {actor.kind}, ms"] = found
        space.close()
    return results


class _Floor:
    """FTS5 as one would write it by hand: porter stems, any word of the question but stop words, a narrow filter."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        self._db.execute("CREATE TABLE rows (key INTEGER PRIMARY KEY, kind TEXT, status TEXT)")
        self._db.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter unicode61')")

    def index(self, texts: Sequence[str]) -> None:
        for at in range(0, len(texts), 1_000):
            self._db.execute("BEGIN")
            part = list(enumerate(texts[at : at + 1_000], at))
            self._db.executemany("INSERT INTO rows VALUES (?, 'fact', 'active')", [(key,) for key, _ in part])
            self._db.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", part)
            self._db.execute("COMMIT")

    def search(self, text: str) -> list[Any]:
        words = " OR ".join(f'"{word}"' for word in text.rstrip("?").split() if word not in STOP_WORDS)
        return self._db.execute(
            "SELECT r.key, bm25(texts) AS score FROM texts JOIN rows r ON r.key = texts.rowid"
            " WHERE texts MATCH ? AND r.kind = 'fact' AND r.status = 'active' ORDER BY score LIMIT 10",
            (words,),
        ).fetchall()


def _told(figures: dict[str, float]) -> str:
    return "   ".join(f"{name} {value:.2f}" for name, value in figures.items()) + " ms"


def _percentiles(ask: Callable[[str], object], questions: Sequence[str]) -> dict[str, float]:
    for question in questions[:20]:
        ask(question)
    taken = []
    for question in questions:
        started = time.process_time()
        ask(question)
        taken.append(1e3 * (time.process_time() - started))
    taken.sort()
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    found = {name: taken[min(len(taken) - 1, int(share * len(taken)))] for name, share in shares.items()}
    return {**found, "max": taken[-1]}


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    fast = parts.add_parser("speed")
    fast.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000])
    near = parts.add_parser("meaning")
    near.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000])
    for alone in ("index", "past"):
        parts.add_parser(alone).add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000])
    good = parts.add_parser("quality")
    good.add_argument("path")
    good.add_argument("units", nargs="*", default=["turn", "fact", "session"])
    good.add_argument("--embedder", choices=["none", "minilm", "words", "random"], default="none")
    parser.add_argument("--json", help="a file whose figures under the part's and the embedder's name are replaced")
    chosen = parser.parse_args()
    name, figures = chosen.part, {}
    if chosen.part == "speed":
        figures = speed(chosen.sizes)
    elif chosen.part == "meaning":
        figures = meaning(chosen.sizes)
    elif chosen.part == "index":
        figures = index(chosen.sizes)
    elif chosen.part == "past":
        figures = past(chosen.sizes)
    else:
        name += f", embedder {chosen.embedder}"
        figures = quality(chosen.path, chosen.units, _embedder(chosen.embedder))
    if chosen.json:
        file = Path(chosen.json)
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        file.write_text(json.dumps({**known, name: figures}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
