"""A floor and our way of doing the same, in turns; and what comes of it as a row of the table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

from attrs import asdict, frozen

__all__ = ["ROUNDS", "Row", "compare", "one", "percentile", "table"]

ROUNDS = 5


@frozen(kw_only=True)
class Row:
    """One area: microseconds of CPU (or what `unit` says) for each operation.

    Attributes:
        area: What was done.
        floor: What SQLite alone costs.
        ours: What the library costs.
        gate: The ratio that ours must not exceed; None where only the figures are of interest.
        unit: Of floor and ours.
    """

    area: str
    floor: float
    ours: float
    gate: float | None = None
    unit: str = "µs"

    @property
    def ratio(self) -> float:
        """Ours by the floor."""
        return self.ours / self.floor

    @property
    def verdict(self) -> str:
        """Whether the gate holds."""
        if self.gate is None:
            return ""
        return "ok" if self.ratio <= self.gate else "missed"

    def as_json(self) -> dict[str, Any]:
        """The row with what follows from it."""
        return {**asdict(self), "ratio": round(self.ratio, 3), "verdict": self.verdict}


def one(action: Callable[[], object], times: int = 1) -> float:
    """Microseconds of CPU for each of the times that an action does its work in one call."""
    started = time.process_time()
    action()
    return (time.process_time() - started) / times * 1e6


def compare(
    area: str,
    floor: Callable[[], object],
    ours: Callable[[], object],
    *,
    times: int,
    gate: float | None = None,
    rounds: int = ROUNDS,
) -> Row:
    """Runs both in turns and takes the medians; each call of an action does the operation `times` times."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        taken[0].append(one(floor, times))
        taken[1].append(one(ours, times))
    return Row(area=area, floor=statistics.median(taken[0]), ours=statistics.median(taken[1]), gate=gate)


def percentile(values: Iterable[float], share: float) -> float:
    """The value that a share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def table(rows: Iterable[Row]) -> str:
    """The rows in Markdown."""
    lines = ["| area | floor | ours | ratio | gate | |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    for row in rows:
        gate = "" if row.gate is None else f"≤ {row.gate:g}"
        figures = f"{row.floor:,.1f} {row.unit} | {row.ours:,.1f} {row.unit} | {row.ratio:.2f}"
        lines.append(f"| {row.area} | {figures} | {gate} | {row.verdict} |")
    return "\n".join(lines)
