"""A floor and our way of doing the same, in turns; and what comes of it as a row of the table."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from attrs import asdict, evolve, frozen

__all__ = ["ROUNDS", "Cost", "Row", "beside", "compare", "one", "percentile", "rounds", "table"]

ROUNDS = 5


class Cost(NamedTuple):
    """Microseconds of CPU and of the clock on the wall."""

    cpu: float
    wall: float


@frozen(kw_only=True)
class Row:
    """One area: microseconds of CPU (or what `unit` says) for each operation.

    Attributes:
        area: What was done.
        floor: What SQLite alone costs.
        ours: What the library costs.
        gate: The ratio that ours must not exceed; None where only the figures are of interest.
        unit: Of floor and ours.
        floor_wall, ours_wall: The same by the clock on the wall, where that was measured.
        note: What must be known to read the row.
        peers: What others take for the same, by name, in the row's unit.
    """

    area: str
    floor: float
    ours: float
    gate: float | None = None
    unit: str = "µs"
    floor_wall: float | None = None
    ours_wall: float | None = None
    note: str = ""
    peers: dict[str, float] | None = None

    @property
    def ratio(self) -> float:
        """Ours by the floor."""
        return self.ours / self.floor if self.floor else float("inf")

    @property
    def verdict(self) -> str:
        """Whether the gate holds."""
        if self.gate is None:
            return ""
        return "ok" if self.ratio <= self.gate else "missed"

    def noted(self, note: str) -> Row:
        """The row with one more thing to know."""
        return evolve(self, note="; ".join(part for part in (self.note, note) if part))

    def as_json(self) -> dict[str, Any]:
        """The row with what follows from it."""
        return {**asdict(self), "ratio": round(self.ratio, 3), "verdict": self.verdict}


def one(action: Callable[[], object], times: int = 1) -> Cost:
    """What each of the times costs that an action does its work in one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return Cost((time.process_time() - cpu) / times * 1e6, (time.perf_counter() - wall) / times * 1e6)


def rounds(
    actions: Iterable[Callable[[], object]],
    *,
    times: int,
    repeat: int = ROUNDS,
    warm_up: int = 0,
    prepare: Callable[[], object] = lambda: None,
) -> list[Cost]:
    """Runs actions in turns, so many rounds, and gives the medians of each.

    The rounds of the warm-up come first and do not count: in them files grow, and pages and words become known.
    Before each round `prepare` runs, which is not measured. Garbage is collected before each action: what one side
    leaves must not be another's to clean up.
    """
    actions = list(actions)
    taken: list[list[Cost]] = [[] for _ in actions]
    for turn in range(-warm_up, repeat):
        prepare()
        for action, costs in zip(actions, taken, strict=True):
            gc.collect()
            cost = one(action, times)
            if turn >= 0:
                costs.append(cost)
    return [
        Cost(statistics.median(cost.cpu for cost in costs), statistics.median(cost.wall for cost in costs))
        for costs in taken
    ]


def beside(area: str, floor: Cost, ours: Cost, gate: float | None = None, note: str = "") -> Row:
    """The row of two costs."""
    return Row(
        area=area,
        floor=floor.cpu,
        ours=ours.cpu,
        gate=gate,
        floor_wall=floor.wall,
        ours_wall=ours.wall,
        note=note,
    )


def compare(
    area: str,
    floor: Callable[[], object],
    ours: Callable[[], object],
    *,
    times: int,
    gate: float | None = None,
    repeat: int = ROUNDS,
    warm_up: int = 0,
    note: str = "",
) -> Row:
    """Runs both in turns and takes the medians; each call of an action does the operation `times` times."""
    alone, library = rounds((floor, ours), times=times, repeat=repeat, warm_up=warm_up)
    return beside(area, alone, library, gate, note)


def percentile(values: Iterable[float], share: float) -> float:
    """The value that a share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def table(rows: Iterable[Row]) -> str:
    """The rows in Markdown."""
    rows = list(rows)
    with_peers = any(row.peers for row in rows)
    lines = [
        "| area | floor | ours | ratio | gate | | wall: floor | ours |",
        "| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |",
    ]
    if with_peers:
        lines = [lines[0] + " peers |", lines[1] + " --- |"]
    for row in rows:
        gate = "" if row.gate is None else f"≤ {row.gate:g}"
        wall = [f"{value:,.1f}" if value is not None else "" for value in (row.floor_wall, row.ours_wall)]
        figures = f"{row.floor:,.1f} {row.unit} | {row.ours:,.1f} {row.unit} | {row.ratio:.2f}"
        line = f"| {row.area} | {figures} | {gate} | {row.verdict} | {wall[0]} | {wall[1]} |"
        if with_peers:
            others = sorted((row.peers or {}).items(), key=lambda peer: peer[1])
            line += f" {', '.join(f'{name} {value:,.0f}' for name, value in others)} |"
        lines.append(line)
    notes = [f"- {row.area}: {row.note}" for row in rows if row.note]
    return "\n".join([*lines, *(["", *notes] if notes else [])])
