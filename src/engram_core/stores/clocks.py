"""Instants as the log keeps them: whole microseconds since 1970, in UTC."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from engram_core.ports import Clock, SystemClock

__all__ = ["microseconds", "now_by"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(instant: datetime) -> int:
    """An aware instant as the log keeps it."""
    return (instant - _EPOCH) // _MICROSECOND


def now_by(clock: Clock | None) -> Callable[[], int]:
    """How a store reads the present: by the clock given to it, or by the machine's."""
    if clock is None or type(clock) is SystemClock:
        return lambda: time.time_ns() // 1_000
    return lambda: microseconds(clock.now())
