"""Measures every area beside its floor: prints a table, and keeps it as JSON in `benchmarks/results/`.

python -m benchmarks [--size 10000] [--areas remember recall …] [--folder /dev/shm]
"""

from __future__ import annotations

import argparse
import json
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import reads, upkeep, writes
from benchmarks.measuring import Row, table
from benchmarks.world import World, filled

# Reads come before writes, and undo last of these: what one area leaves behind must not weigh on another.
AREAS: dict[str, Callable[[World], Iterator[Row]]] = {
    "recall": reads.recall,
    "as_of": reads.as_of,
    "find": reads.find,
    "read_log": reads.read_log,
    "scores": upkeep.scores,
    "rebuild": upkeep.rebuild,
    "opening": reads.opening,
    "append": writes.append,
    "remember": writes.remember,
    "remember_many": writes.remember_many,
    "confirm": writes.confirm,
    "load": reads.load,
    "undo": writes.undo,
    "size": upkeep.size,
    "import": upkeep.importing,
}
RESULTS = Path(__file__).parent / "results"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the chosen areas."""
    parser = argparse.ArgumentParser(description="What each operation costs, beside hand-written SQLite.")
    parser.add_argument("--size", type=int, default=10_000, help="how many memories the space holds")
    parser.add_argument("--areas", nargs="*", choices=list(AREAS), default=list(AREAS))
    parser.add_argument("--folder", type=Path, help="where the files lie; a file system in memory measures best")
    options = parser.parse_args(argv)
    shm = Path("/dev/shm")
    parent = options.folder or (shm if shm.is_dir() else None)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        world = filled(Path(folder), options.size)
        for name in (area for area in AREAS if area in options.areas):
            for row in AREAS[name](world):
                rows.append(row)
                print(f"{row.area:<44}{row.ratio:8.2f}  {row.verdict}", file=sys.stderr, flush=True)
        world.space.close()
    print(f"{options.size:,} memories, CPython {platform.python_version()}, SQLite {sqlite3.sqlite_version}\n")
    print(table(rows))
    RESULTS.mkdir(exist_ok=True)
    kept = {
        "size": options.size,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "machine": platform.machine(),
        "rows": [row.as_json() for row in rows],
    }
    stamp = time.strftime("%Y%m%d-%H%M%S")
    (RESULTS / f"{stamp}-{options.size}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
