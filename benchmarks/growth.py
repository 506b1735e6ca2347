"""What operations cost as a space grows from a thousand memories to a million: figures as JSON, curves as SVG.

    python -m benchmarks.growth                          # up to 100,000
    python -m benchmarks.growth --upto 1000000           # a while, and some gigabytes
    python -m benchmarks.growth --plot                   # draw again what was measured last

One space grows; at each size every operation is measured, in µs of CPU. Figures go to `benchmarks/results/growth.json`
and the curves to `docs/explanation/growth.svg`.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import one, percentile
from benchmarks.plot import drawn
from benchmarks.words import invented
from benchmarks.world import draft
from engram_core import Draft, MemorySpace, Person, system, user
from engram_core.analysis import STOP_WORDS

_SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
_RESULT = Path(__file__).parent / "results" / "growth.json"
_PICTURE = Path(__file__).parent.parent / "docs" / "explanation" / "growth.svg"
_DRAWN = (
    "remember one",
    "remember, of 1,000",
    "confirm",
    "recall, rare word, p50",
    "rebuild, an event",
    "find a page of 50",
    "get",
)


def measured(upto: int, folder: Path) -> Iterator[tuple[int, dict[str, float]]]:
    """The figures at each size, smallest first: once without, then with what takes long."""
    texts = invented(upto + 20_000)
    spare = iter([f"{text} {number}" for number, text in enumerate(texts[upto:])])
    common, rare = _questions(texts[:1_000], Counter(word for text in texts[:5_000] for word in set(text.split())))
    space = MemorySpace.open(folder / "growing.db", durability="normal")
    session, keeper = space.session(user("bench"), record=False), space.maintenance(system("bench"))
    ids: list[str] = []
    people: list[str] = []
    for size in (size for size in _SIZES if size <= upto):
        named = [
            Draft(Person(full_name=f"{texts[at].split()[0]} {at}".title()), similar=False)
            for at in range(50 * len(people), size, 50)
        ]
        people += [str(receipt.memory_id) for receipt in session.remember_many(named, batch=1_000).receipts]
        costs = []
        for start in range(len(ids), size, 1_000):
            part = texts[start : start + 1_000]
            drafts = [draft(text, people[(start + at) % len(people)]) for at, text in enumerate(part)]
            report: list[Any] = []
            costs.append(one(lambda: report.append(session.remember_many(drafts, batch=1_000)), 1_000).cpu)  # noqa: B023
            ids += [str(receipt.memory_id) for receipt in report[0].receipts]
        figures = {"remember, of 1,000": statistics.median(costs[-20:])}
        # A rebuild leaves room in the file, which what comes then fills.
        figures["bytes a memory"] = _bytes(folder / "growing.db") / size
        chosen = random.Random(size).sample(ids, 200)
        fresh = [draft(text, people[0]) for text in itertools.islice(spare, 200)]
        actions: dict[str, tuple[Callable[[Any], object], Sequence[Any]]] = {
            "get": (session.get, chosen),
            "find a page of 50": (lambda _: session.find(kind="fact", limit=50), chosen[:50]),
            "neighbours": (session.neighbours, chosen),
            "recall, rare word": (session.recall, rare),
            "recall, common words": (session.recall, common),
            "review page": (lambda _: session.reviews(limit=50), range(3)),
            "remember one": (lambda new: session.remember(new.attributes, similar=False), fresh[:150]),
            "remember one, with overlap report": (lambda new: session.remember(new.attributes), fresh[150:]),
            "confirm": (session.confirm, chosen),
            "tag and undo it": (lambda one: session.undo(session.tag(one, "soon gone")), chosen[:20]),
            "open": (lambda _: MemorySpace.open(folder / "growing.db", durability="normal").close(), range(5)),
        }
        for name, (action, over) in actions.items():
            taken = _each(action, over)
            figures[f"{name}, p50" if name.startswith("recall") else name] = statistics.median(taken)
            if name.startswith("recall"):
                figures[f"{name}, p99"] = percentile(taken, 0.99)
        yield size, figures
        gc.collect()
        figures["recompute scores, a memory"] = one(keeper.recompute_scores, size).cpu
        figures["rebuild, an event"] = one(keeper.rebuild, space.position).cpu
        yield size, figures
    space.close()


def _bytes(path: Path) -> int:
    """What a file holds, what is still in its write-ahead log included."""
    db = sqlite3.connect(path)
    pages, size = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    db.close()
    return int(pages * size)


def _each(action: Callable[[Any], object], over: Sequence[Any]) -> list[float]:
    taken = []
    for value in over:
        started = time.process_time()
        action(value)
        taken.append((time.process_time() - started) * 1e6)
    return taken


def _questions(texts: Sequence[str], frequency: Counter[str]) -> tuple[list[str], list[str]]:
    """Questions of common words alone, and questions with a rare one beside them."""
    rng = random.Random(5)
    words = [word for word, _ in frequency.most_common() if word not in STOP_WORDS]
    common = [f"what of {' and '.join(rng.sample(words[:40], 3))}?" for _ in range(100)]
    rare = []
    for text in rng.choices(texts, k=100):
        known = sorted((word for word in text.split() if word not in STOP_WORDS), key=lambda word: frequency[word])
        rare.append(f"what of {known[0]} and {rng.choice(words[:40])}?")
    return common, rare


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, keeps and draws."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.growth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--upto", type=int, default=100_000, choices=_SIZES)
    parser.add_argument("--folder", type=Path, help="where the file lies")
    parser.add_argument("--plot", action="store_true", help="measure nothing")
    options = parser.parse_args(argv)
    if not options.plot:
        results: dict[str, dict[str, float]] = {}
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            for size, figures in measured(options.upto, Path(folder)):
                results[str(size)] = {name: round(value, 1) for name, value in figures.items()}
                print(f"{size:>9,}  " + "  ".join(f"{n} {v:,.0f}" for n, v in figures.items()), flush=True)
                _RESULT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    known = json.loads(_RESULT.read_text(encoding="utf-8"))
    curves = {
        name: [(int(size), figures[name]) for size, figures in known.items() if name in figures] for name in _DRAWN
    }
    _PICTURE.write_text(drawn(curves, "memories", "µs of CPU"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
