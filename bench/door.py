"""What the common operations of the door cost on this machine: one line each.

python bench/door.py [--memories 2000]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from engram_core import Draft, Fact, MemorySpace, Person, Session, user

WORDS = "harbour lantern copper orchard meadow signal ribbon granite willow ember compass velvet".split()


def sentence(n: int) -> str:
    """A statement of its own for each number, of words that recur."""
    return " ".join(WORDS[(n * step + step) % len(WORDS)] for step in (1, 5, 7, 11)) + f" {n}"


def line(name: str, seconds: Sequence[float]) -> None:
    """One result: the median, and what only one call in a hundred exceeds."""
    ordered = sorted(seconds)
    slow = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    print(f"{name:<36}{statistics.median(ordered) * 1e3:>10.3f} ms{slow * 1e3:>10.3f} ms")


def timed(action: Callable[[int], object], times: int) -> list[float]:
    """How long each call took."""
    taken = []
    for n in range(times):
        start = time.perf_counter()
        action(n)
        taken.append(time.perf_counter() - start)
    return taken


@contextmanager
def spaces(folder: Path) -> Iterator[list[tuple[str, MemorySpace]]]:
    """The same space in memory, and in a file with full durability."""
    with MemorySpace.in_memory() as memory, MemorySpace.open(folder / "bench.db") as file:
        yield [("in memory", memory), ("SQLite file", file)]


def measure(session: Session, memories: int) -> None:
    """Fills a space and asks it."""
    person = session.remember(Person(full_name="Ann Lee"))
    drafts = [Draft(Fact(statement=sentence(n)), links=[("about", person)]) for n in range(memories)]
    start = time.perf_counter()
    session.remember_many(drafts)
    pace = memories / (time.perf_counter() - start)
    print(f"{'remember_many':<36}{pace:>10,.0f} a second")
    line("remember", timed(lambda n: session.remember(Fact(statement=f"single {sentence(n)}")), 100))
    line("get", timed(lambda _: session.get(person), 200))
    line("find, a page of 50", timed(lambda _: session.find(kind="fact"), 50))
    line("count by kind", timed(lambda _: session.count(kind="fact"), 50))
    line("recall, three words", timed(lambda n: session.recall(" ".join(sentence(n).split()[:3])), 50))
    line("recall, one rare word", timed(lambda n: session.recall(str(n)), 50))


def main(argv: Sequence[str] | None = None) -> int:
    """Measures both stores."""
    parser = argparse.ArgumentParser(description="What the common operations cost.")
    parser.add_argument("--memories", type=int, default=2_000, help="how many memories the space holds")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder, spaces(Path(folder)) as opened:
        for name, space in opened:
            print(f"\n{name}, {options.memories:,} memories{'median':>22}{'99 of 100':>13}")
            measure(space.session(user("bench"), record=False), options.memories)
    return 0


if __name__ == "__main__":
    sys.exit(main())
