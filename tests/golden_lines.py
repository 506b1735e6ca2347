"""Tables of what is told in each case, a line for each, which are read as a whole and compared one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

__all__ = ["GoldenLines"]


class GoldenLines:
    """A table in `tests/golden`.

    Args:
        file: Its name.
    """

    def __init__(self, file: str) -> None:
        self._path = Path(__file__).parent / "golden" / file

    def read(self) -> dict[str, str]:
        """What is told in each case, in the order of the file."""
        return dict(line.split(" | ", 1) for line in self._path.read_text("utf-8").splitlines())

    def write(self, cases: Iterable[str], told: Callable[[str], str]) -> None:
        """Writes the table anew, after a change that is meant."""
        self._path.write_text("".join(f"{name} | {told(name)}\n" for name in cases), "utf-8")
