"""What every store says about the bounds of a read."""

from __future__ import annotations

__all__ = ["LAST", "bounds"]

LAST = 2**63 - 1
"""No position or version is greater: the largest integer of SQLite, and of most others."""


def bounds(after: int, upto: int | None, limit: int | None) -> tuple[int, int, int]:
    """The bounds of a read as three plain numbers.

    Raises: ValueError for a negative number; nothing counts from the end.
    """
    if after < 0 or (upto is not None and upto < 0) or (limit is not None and limit < 0):
        given = (("after", after), ("upto", upto), ("limit", limit))
        name, value = next((name, value) for name, value in given if value is not None and value < 0)
        raise ValueError(f"{name} is {value}; it counts from 0 upwards")
    last = LAST if upto is None else min(upto, LAST)
    most = LAST if limit is None else min(limit, LAST)
    return min(after, LAST), last, most
