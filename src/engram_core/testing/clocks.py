"""A clock that stands still until it is told otherwise, and ids that count."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

__all__ = ["FrozenClock", "SequentialIds"]


class FrozenClock:
    """A `Clock` that shows one instant until it is moved; it may be moved back, as clocks are.

    Args:
        at: The instant it shows first, aware.
        step: What every look moves it on by; nothing by default.
    """

    def __init__(self, at: datetime = datetime(2026, 1, 1, tzinfo=UTC), *, step: timedelta = timedelta(0)) -> None:
        self._at = _aware(at)
        self._step = step
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """The instant it shows."""
        with self._lock:
            shown = self._at
            self._at += self._step
            return shown

    def move(self, by: timedelta | None = None, *, days: float = 0, seconds: float = 0) -> datetime:
        """Moves it on, or back by a negative amount, and gives the new instant."""
        with self._lock:
            self._at += (by or timedelta(0)) + timedelta(days=days, seconds=seconds)
            return self._at

    def set(self, at: datetime) -> None:
        """Has it show another instant."""
        aware = _aware(at)
        with self._lock:
            self._at = aware


class SequentialIds:
    """An `IdSource` of well-formed UUIDs that count from 1, so that a test can name them in advance."""

    def __init__(self, start: int = 1) -> None:
        self._next = start
        self._lock = threading.Lock()

    def __call__(self) -> str:
        """The next id."""
        with self._lock:
            number = self._next
            self._next += 1
        return f"00000000-0000-7000-8000-{number:012x}"


def _aware(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise ValueError("a clock shows aware instants; give it a time zone")
    return at
