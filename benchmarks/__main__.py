"""Measures every area beside its floor: prints a table, and keeps it as JSON in `benchmarks/results/`.

    python -m benchmarks                                # every area at 10,000 memories
    python -m benchmarks writes                         # one group, in seconds: writes, loads, undoing, reads, upkeep …
    python -m benchmarks remember change --size 100000  # some areas, on a larger space
    python -m benchmarks --list                         # the names of areas and groups
    python -m benchmarks --sizes 10000 100000 1000000   # one after the other
    python -m benchmarks writes --peers                 # others beside it, each in an environment of its own
    python -m benchmarks writes --profile out.prof      # what ours does, for snakeviz or pstats

Run it from a clone with the library installed, or with `PYTHONPATH=src`. Floor and library take turns within one run;
figures are medians of five rounds of CPU time, with the time on the wall beside them. Ratios are what counts: absolute
figures are those of one machine on one day. `agreement` shows that floor and library leave the same rows to the byte;
when it names a table, the library's rows have changed and `floors.py` must follow before ratios mean anything.
A run of some areas prints; a run of all areas, or one with `--keep`, also keeps its figures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import cold, crowd, peaks, reads, recalls, upkeep, writes
from benchmarks.measuring import Row, table
from benchmarks.world import World, filled

Area = Callable[[World], Iterator[Row]]

# Reads come before writes: what one area leaves behind must not weigh on another.
GROUPS: dict[str, dict[str, Area]] = {
    "reads": {
        "recall": recalls.recall,
        "as_of": recalls.as_of,
        "find": reads.find,
        "neighbours": reads.neighbours,
        "reviews": reads.reviews,
        "history": reads.history,
    },
    "upkeep": {
        "read_log": reads.read_log,
        "scores": upkeep.scores,
        "rebuild": upkeep.rebuild,
        "maintenance": upkeep.maintenance,
        "peaks": peaks.peaks,
    },
    "cold": {"import": cold.importing, "opening": recalls.opening},
    "crowd": {"crowd": crowd.crowd},
    "writes": {
        "agreement": writes.agreement,
        "append": writes.append,
        "remember": writes.remember,
        "overlap": writes.overlap,
        "remember_many": writes.remember_many,
        "change": writes.change,
        "change_accessed": writes.change_accessed,
    },
    "loads": {"load": reads.load},
    "undoing": {"undo": upkeep.undo},
    "sizes": {"size": upkeep.size},
}
AREAS = {name: area for group in GROUPS.values() for name, area in group.items()}
RESULTS = Path(__file__).parent / "results"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the chosen areas."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("areas", nargs="*", metavar="AREA", help="areas or groups of areas; all of them by default")
    parser.add_argument("--size", "--sizes", dest="sizes", nargs="+", type=int, default=[10_000], metavar="N")
    parser.add_argument("--folder", type=Path, help="where the files lie; a file system in memory measures best")
    parser.add_argument("--keep", action="store_true", help="keep the figures, though not all areas were run")
    parser.add_argument("--list", action="store_true", help="print the names of areas")
    parser.add_argument("--profile", type=Path, help="write what cProfile finds in the chosen areas")
    parser.add_argument("--peers", action="store_true", help="measure others beside it, in environments of their own")
    options = parser.parse_args(argv)
    if options.list:
        for group, areas in GROUPS.items():
            print(f"{group:<10}{'  '.join(areas)}")
        return 0
    unknown = [name for name in options.areas if name not in GROUPS and name not in AREAS]
    if unknown:
        parser.error(f"there is no area {', '.join(unknown)}; --list names them")
    chosen = [
        name
        for group, areas in GROUPS.items()
        for name in areas
        if not options.areas or name in options.areas or group in options.areas
    ]
    for size in options.sizes:
        rows = _measured(size, chosen, options.folder, options.profile, peers=options.peers)
        print(f"\n{size:,} memories, CPython {platform.python_version()}, SQLite {sqlite3.sqlite_version}\n")
        print(table(rows), flush=True)
        if options.keep or len(chosen) == len(AREAS):
            _keep(size, rows)
    return 0


def _measured(size: int, chosen: Sequence[str], folder: Path | None, profile: Path | None, *, peers: bool) -> list[Row]:
    shm = Path("/dev/shm")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=folder or (shm if shm.is_dir() else None)) as place:
        started = time.perf_counter()
        world = filled(Path(place), size)
        _say(f"filled with {size:,} in {time.perf_counter() - started:.1f} s")
        with _Profiled(profile):
            for name in chosen:
                started = time.perf_counter()
                for row in AREAS[name](world):
                    rows.append(row)
                    _say(f"{row.area:<62}{row.ratio:8.2f}  {row.verdict}")
                _say(f"    {name}: {time.perf_counter() - started:.1f} s")
        if peers:
            from benchmarks.peers import beside_peers, measured

            rows = beside_peers(rows, measured(world, _say))
        world.space.close()
    return rows


class _Profiled:
    """Runs a block under the profiler, if a file is named."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def __enter__(self) -> None:
        if self._path is not None:
            from cProfile import Profile

            self._profile = Profile()
            self._profile.enable()

    def __exit__(self, *_: object) -> None:
        if self._path is not None:
            self._profile.disable()
            self._profile.dump_stats(self._path)


def _keep(size: int, rows: Sequence[Row]) -> None:
    RESULTS.mkdir(exist_ok=True)
    kept: dict[str, Any] = {
        "size": size,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "rows": [row.as_json() for row in rows],
    }
    path = RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}-{size}.json"
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
