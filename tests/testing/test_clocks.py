"""Clocks and ids for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from engram_core.ports import Clock, IdSource
from engram_core.testing import FrozenClock, SequentialIds

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_frozen_clock_moves_only_when_told() -> None:
    """It shows one instant, then another, forwards or back."""
    clock = FrozenClock(NOON)
    assert isinstance(clock, Clock)
    assert (NOON, NOON) == (clock.now(), clock.now())
    assert NOON + timedelta(days=1, seconds=2) == clock.move(days=1, seconds=2)
    clock.move(timedelta(days=-2))
    assert NOON - timedelta(days=1) + timedelta(seconds=2) == clock.now()
    clock.set(NOON)
    assert NOON == clock.now()


def test_a_clock_may_step() -> None:
    """With a step, every look is later than the one before."""
    clock = FrozenClock(NOON, step=timedelta(seconds=1))
    assert [NOON, NOON + timedelta(seconds=1)] == [clock.now(), clock.now()]


def test_a_naive_instant_is_refused() -> None:
    """A clock shows aware instants."""
    with pytest.raises(ValueError, match="aware"):
        FrozenClock(datetime(2026, 1, 1))


def test_ids_count() -> None:
    """They are UUIDs that can be named in advance."""
    ids = SequentialIds()
    assert isinstance(ids, IdSource)
    assert ["00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"] == [ids(), ids()]
    assert 7 == UUID(ids()).version
