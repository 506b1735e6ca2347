"""Four readers and one writer at once, each a process of its own on one file: whether reads wait for writes.

python -m benchmarks.crowd PATH ROLE SECONDS    # ROLE: read or write; prints figures as JSON
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.measuring import Row
from benchmarks.words import invented, questions_about
from benchmarks.world import World, draft
from engram_core import MemorySpace, user

__all__ = ["crowd"]

_SECONDS = 4.0
_READERS = 4


def crowd(world: World) -> Iterator[Row]:
    """CPU for each read while nobody writes, and while somebody does; how many a second there were stands beside."""
    path = str(world.copy("crowd.db"))
    quiet = _run(path, writers=0)
    busy = _run(path, writers=1)
    alone, beside_writer = (
        statistics.median(one["cpu"] for one in run if one["role"] == "read") for run in (quiet, busy)
    )
    figures = {
        name: sum(one["done"] / one["seconds"] for one in run if one["role"] == role)
        for name, run, role in (("reads alone", quiet, "read"), ("reads", busy, "read"), ("writes", busy, "write"))
    }
    note = "a second, all processes together: " + ", ".join(f"{name} {value:,.0f}" for name, value in figures.items())
    worst = max(one["worst"] for one in busy if one["role"] == "read")
    yield Row(
        area="a read of four readers beside a writer (floor: without)",
        floor=alone,
        ours=beside_writer,
        gate=1.5,
        note=f"{note}; the slowest read took {worst:.0f} ms by the clock",
    )


def _run(path: str, writers: int) -> list[dict[str, Any]]:
    roles = ["read"] * _READERS + ["write"] * writers
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.crowd", path, role, str(_SECONDS), str(number)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, role in enumerate(roles)
    ]
    results = []
    for process in running:
        out, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"a process of the crowd ended with {process.returncode}")
        results.append(json.loads(out))
    return results


def main(path: str, role: str, seconds: str, seed: str) -> None:
    """Reads or writes for some seconds, after a while for the others to get ready."""
    texts = invented(2_000, seed=100 + int(seed))
    # The space's own texts, so that there is something to find.
    questions = questions_about(invented(2_000), seed=int(seed))
    with MemorySpace.open(path, durability="normal") as space:
        session = space.session(user("bench"), record=False)
        person = next(iter(session.find(kind="person", limit=1))).id
        page = session.find(limit=200)
        ids = itertools.cycle([memory.id for memory in page])
        asked = itertools.cycle(questions)
        done, worst = 0, 0.0
        begun, cpu, until = time.perf_counter(), time.process_time(), time.perf_counter() + float(seconds)
        while (now := time.perf_counter()) < until:
            if role == "write":
                one = draft(f"{texts[done % len(texts)]} {done} {seed}", person)
                session.remember(one.attributes, links=[("about", person)], similar=False)
            elif done % 10:
                session.get(next(ids))
            else:
                session.recall(next(asked))
            done += 1
            worst = max(worst, time.perf_counter() - now)
        taken, used = time.perf_counter() - begun, time.process_time() - cpu
    print(json.dumps({"role": role, "done": done, "seconds": taken, "cpu": 1e6 * used / done, "worst": 1e3 * worst}))


if __name__ == "__main__":
    main(*sys.argv[1:])
