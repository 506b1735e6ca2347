"""The tables of docs/explanation/performance.md, from the runs that are kept in `benchmarks/results/`.

    python -m benchmarks.summary           # prints them
    python -m benchmarks.summary --write   # puts them in their places

Each row is the median of the last runs of its size, with the smallest and the largest ratio of any of them beside it;
a gate is held when the median holds it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["main"]

_RESULTS = Path(__file__).parent / "results"
_PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "performance.md"
_RUNS = 3
_HEAD = ("| area | floor | ours | ratio | of all runs | gate | |", "| --- | ---: | ---: | ---: | --- | ---: | --- |")


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the tables, or writes them into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.summary", description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="put them into the page instead")
    options = parser.parse_args(argv)
    page = _PAGE.read_text("utf-8")
    for size, runs in _runs().items():
        heading, lines = f"## At {size:,} memories", _table(runs[-_RUNS:])
        if options.write:
            page = _placed(page, heading, lines)
        else:
            print(f"\n{heading}, {len(runs[-_RUNS:])} runs\n", *lines, sep="\n")
    if options.write:
        _PAGE.write_text(page, "utf-8")
    return 0


def _runs() -> dict[int, list[Mapping[str, Any]]]:
    """What was measured at each size, the oldest run first."""
    found: dict[int, list[Mapping[str, Any]]] = {}
    for path in sorted(_RESULTS.glob("*-*-*.json")):
        run = json.loads(path.read_text("utf-8"))
        found.setdefault(run["size"], []).append({row["area"]: row for row in run["rows"]})
    return dict(sorted(found.items()))


def _table(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    areas = dict.fromkeys(area for run in runs for area in run)
    return [*_HEAD, *(_line(area, [run[area] for run in runs if area in run]) for area in areas)]


def _line(area: str, rows: Sequence[Mapping[str, Any]]) -> str:
    floor, ours = (statistics.median(row[side] for row in rows) for side in ("floor", "ours"))
    ratios = sorted(row["ratio"] for row in rows)
    ratio, gate = statistics.median(ratios), rows[-1]["gate"]
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}" if len(ratios) > 1 else "one run"
    verdict = "" if gate is None else "ok" if ratio <= gate else "missed"
    bound = "" if gate is None else f"≤ {gate:g}"
    peers = {name: value for row in rows for name, value in (row["peers"] or {}).items()}
    beside = f" ({', '.join(f'{name} {value:,.0f}' for name, value in sorted(peers.items()))})" if peers else ""
    unit = rows[-1]["unit"]
    figures = f"{_figure(floor)} {unit} | {_figure(ours)} {unit} | {ratio:.2f} | {spread}"
    return f"| {area}{beside} | {figures} | {bound} | {verdict} |"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _placed(page: str, heading: str, table: Iterable[str]) -> str:
    """The page with another table in the place of the first one under a heading."""
    before, found, after = page.partition(f"{heading}\n")
    if not found:
        sys.exit(f"{_PAGE.name} has no heading {heading!r}")
    lines = after.split("\n")
    start = next(at for at, line in enumerate(lines) if line.startswith("|"))
    end = next(at for at in range(start, len(lines)) if not lines[at].startswith("|"))
    return before + found + "\n".join([*lines[:start], *table, *lines[end:]])


if __name__ == "__main__":
    sys.exit(main())
