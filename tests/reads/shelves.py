"""Spaces for the tests of reads: a clock that stands still, and ids that the test chooses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from attrs import frozen

from engram_core.session import Session
from engram_core.space import MemorySpace
from engram_core.testing import FrozenClock
from engram_core.values import assistant, user

START = datetime(2026, 1, 1, tzinfo=UTC)


@frozen
class Desk:
    """A space with a person and an assistant at it."""

    space: MemorySpace
    clock: FrozenClock
    ann: Session
    bot: Session


def desk(**options: Any) -> Desk:
    """A new space in memory."""
    clock = FrozenClock(START)
    space = MemorySpace.in_memory(clock=clock, **options)
    return Desk(
        space, clock, space.session(user("ann"), record=False), space.session(assistant("claude"), record=False)
    )


def named(number: int) -> str:
    """An id in the form that ids have."""
    return f"00000000-0000-7000-8000-{number:012x}"
