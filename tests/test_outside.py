"""What an application brings (a clock, ids) has its say where the door promises it, and is checked where it answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from engram_core import EngramError, Fact, InvalidAttributesError, MemorySpace, user
from engram_core.ports import ClockedStore
from engram_core.stores import InMemoryStore, SqliteStore
from engram_core.testing import FrozenClock

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
STORES: dict[str, Callable[[Path, Any], Any]] = {
    "memory": lambda folder, clock: InMemoryStore(clock=clock),
    "file": lambda folder, clock: SqliteStore(folder / "a.db", clock=clock),
}


@pytest.mark.parametrize("make", STORES.values(), ids=STORES)
@pytest.mark.parametrize("own", [None, FrozenClock(NOON - timedelta(days=900))], ids=["machine", "other"])
def test_the_clock_of_a_space_is_that_of_its_store(tmp_path: Path, make: Callable[..., Any], own: Any) -> None:
    """`recorded_at` comes from the clock given to the space, whatever clock the store had."""
    store = make(tmp_path, own)
    assert isinstance(store, ClockedStore)
    with MemorySpace.over(store, clock=FrozenClock(NOON)) as space:
        space.session(user("ann")).remember(Fact("oolong"))
        (event,) = space.events()
        assert (NOON, NOON) == (event.recorded_at, event.occurred_at)
    store.close()


@pytest.mark.parametrize("make", STORES.values(), ids=STORES)
def test_a_space_without_a_clock_goes_by_that_of_its_store(tmp_path: Path, make: Callable[..., Any]) -> None:
    """So that no memory happens long before or after it is recorded."""
    store = make(tmp_path, FrozenClock(NOON))
    with MemorySpace.over(store) as space:
        ann = space.session(user("ann"))
        assert NOON == ann.get(ann.remember(Fact("oolong"))).created_at
    store.close()


def test_a_past_view_of_a_space_over_a_store_goes_by_its_clock() -> None:
    """`as_of(known_at=…)` cuts where the clock of the space says."""
    clock = FrozenClock(NOON)
    with MemorySpace.over(InMemoryStore(), clock=clock) as space:
        ann = space.session(user("ann"))
        ann.remember(Fact("oolong"))
        clock.move(days=1)
        ann.remember(Fact("sencha"))
        assert (1, 2) == (ann.as_of(known_at=NOON).count(), ann.count())


class Clock:
    """Shows what it is told to."""

    def __init__(self, shows: Any) -> None:
        self.shows = shows

    def now(self) -> Any:
        return self.shows() if callable(self.shows) else self.shows


def failing() -> Any:
    """Raises."""
    raise OSError("the clock stopped")


CLOCKS = {
    "raises": failing,
    "None": None,
    "number": 5,
    "naive": datetime(2026, 3, 1),
    "beyond": datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))),
}
IDS = {
    "raises": failing,
    "None": lambda: None,
    "number": lambda: 5,
    "blank": lambda: " ",
    "surrogate": lambda: "\ud800",
    "long": lambda: "x" * 100_000,
    "dollar": lambda: "$1",
}


@pytest.mark.parametrize("shows", CLOCKS.values(), ids=CLOCKS)
def test_a_wrong_clock_is_named(shows: Any) -> None:
    """Nothing is written, and the space works again as soon as its clock does."""
    clock = Clock(NOON)
    with MemorySpace.in_memory(clock=clock) as space:
        ann = space.session(user("ann"))
        ann.remember(Fact("oolong"))
        clock.shows = shows
        for call in (lambda: ann.remember(Fact("sencha")), lambda: ann.find(), lambda: ann.recall("oolong")):
            with pytest.raises(InvalidAttributesError, match="clock"):
                call()
        clock.shows = NOON
        assert 1 == ann.count()
        assert 1 == space.position


@pytest.mark.parametrize("gives", IDS.values(), ids=IDS)
def test_wrong_ids_are_named(gives: Any) -> None:
    """Nothing half is written: what the log holds can be read."""
    with MemorySpace.in_memory(ids=gives) as space:
        ann = space.session(user("ann"))
        for _ in range(2):
            with pytest.raises(EngramError):
                ann.remember(Fact("oolong"))
        assert () == space.maintenance(user("ann")).verify().problems
        assert 0 == ann.count()


def test_an_id_that_comes_twice_is_refused() -> None:
    """What has the id stays as it is."""
    with MemorySpace.in_memory(ids=lambda: "one") as space:
        ann = space.session(user("ann"))
        ann.remember(Fact("oolong"))
        with pytest.raises(EngramError, match="one"):
            ann.remember(Fact("sencha"))
        assert ["oolong"] == [memory.attributes.statement for memory in ann.find()]
        assert () == space.maintenance(user("ann")).verify().problems


def test_ids_may_be_uuids() -> None:
    """A source may give objects; what is stored is their text."""
    made = [UUID(int=n) for n in range(1, 9)]
    left = iter(made)
    with MemorySpace.in_memory(ids=lambda: next(left)) as space:
        receipt = space.session(user("ann")).remember(Fact("x"))
    assert receipt.memory_id in {str(id) for id in made}
