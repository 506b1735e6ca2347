"""How a peer's program measures; stands alone, because nothing of ours is in its environment."""

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def given() -> tuple[dict[str, Any], Path]:
    """Texts and questions, and a folder for files."""
    return json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])


def median(action: Callable[[Any], object], values: Iterable[Any], portions: int = 5) -> float:
    """Microseconds of CPU for each value, the median of some portions."""
    listed = list(values)
    portions = min(portions, len(listed))
    size = len(listed) // portions
    taken = []
    for start in range(0, size * portions, size):
        part = listed[start : start + size]
        gc.collect()
        started = time.process_time()
        for value in part:
            action(value)
        taken.append((time.process_time() - started) / size * 1e6)
    return statistics.median(taken)


def each(action: Callable[[Any], object], values: Iterable[Any]) -> list[float]:
    """Microseconds of CPU for each value, in order of size."""
    taken = []
    for value in values:
        started = time.process_time()
        action(value)
        taken.append((time.process_time() - started) * 1e6)
    return sorted(taken)


def told(figures: dict[str, float]) -> None:
    """Prints the figures, as the last line."""
    sys.stdout.write(json.dumps({name: round(value, 1) for name, value in figures.items()}) + "\n")
