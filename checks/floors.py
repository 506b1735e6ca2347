"""Which files belong to which floor, as docs/reading-order.md has it."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

__all__ = ["ROOT", "SOURCE", "files_of"]

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "engram_core"


def files_of(floors: Container[int]) -> list[Path]:
    """The files of some floors, in reading order, as paths from the root of the project."""
    found: list[Path] = []
    floor = None
    for line in (ROOT / "docs" / "reading-order.md").read_text("utf-8").splitlines():
        if heading := re.match(r"## (?:Floor (\d+))?", line):
            floor = int(heading[1]) if heading[1] else None
        elif (entry := re.match(r"- `([\w.]+)`", line)) and floor is not None and floor in floors:
            place = SOURCE.joinpath(*entry[1].split("."))
            path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
            found.append(path.relative_to(ROOT))
    return found
