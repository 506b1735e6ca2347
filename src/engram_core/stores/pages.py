"""What every store says about the bounds of a read."""

from __future__ import annotations

__all__ = ["LAST", "bounds"]

LAST = 2**63 - 1
"""No position or version is greater: the largest integer of SQLite, and of most others."""


def bounds(after: int, upto: int | None, limit: int | None) -> tuple[int, int, int]:
    """The bounds of a read as three plain numbers.

    Raises: ValueError for a negative number; nothing counts from the end.
    """
    for name, value in (("after", after), ("upto", upto), ("limit", limit)):
        if value is not None and value < 0:
            raise ValueError(f"{name} is {value}; it counts from 0 upwards")
    last, most = (LAST if value is None else min(value, LAST) for value in (upto, limit))
    return min(after, LAST), last, most
