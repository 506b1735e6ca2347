"""A space works over anybody's store, as long as it has the methods of `EventStore`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from engram_core import Fact, Location, MemorySpace, user
from engram_core.ports import Clock, EventStore
from engram_core.stores import InMemoryStore
from engram_core.testing import FrozenClock, memory_space_machine

BRIEF = settings(max_examples=5, stateful_step_count=20, deadline=None)
HUNT = settings(
    max_examples=10, stateful_step_count=10, phases=[Phase.generate], database=None, print_blob=False, deadline=None
)


class Minimal:
    """Exactly the methods of an `EventStore`, over a store in memory: no transactions, no notices, no erasing."""

    def __init__(self, clock: Clock) -> None:
        self._inner = InMemoryStore(clock=clock)

    @property
    def store_id(self) -> UUID:
        return self._inner.store_id

    def append(self, batch: Any) -> Any:
        return self._inner.append(batch)

    def read_stream(self, stream: str, **bounds: Any) -> Any:
        return self._inner.read_stream(stream, **bounds)

    def read(self, **bounds: Any) -> Any:
        return self._inner.read(**bounds)

    def head(self) -> int:
        return self._inner.head()

    def close(self) -> None:
        self._inner.close()


class Forgetful(Minimal):
    """Loses every tenth event when all are read."""

    def read(self, **bounds: Any) -> Any:
        return [event for event in super().read(**bounds) if event.position % 10]


def test_a_minimal_store_is_enough() -> None:
    """Every verb and every read answers as over the store in memory, also after opening the log again."""
    kept: dict[int, EventStore] = {}

    def make(clock: Clock) -> MemorySpace:
        store = Minimal(clock)
        space = MemorySpace.over(store, clock=clock)
        kept[id(space)] = store
        return space

    def again(space: MemorySpace, clock: Clock) -> MemorySpace:
        store = kept.pop(id(space))
        space.close()
        opened = MemorySpace.over(store, clock=clock)
        kept[id(opened)] = store
        return opened

    assert isinstance(Minimal(FrozenClock()), EventStore)
    run_state_machine_as_test(memory_space_machine(make, reopen=again), settings=BRIEF)


def test_the_machine_finds_faults() -> None:
    """A space over a store that loses events does not pass."""
    broken = memory_space_machine(lambda clock: MemorySpace.over(Forgetful(clock), clock=clock))
    with pytest.raises(BaseException):  # noqa: B017 -- an assertion, or the library's own error
        run_state_machine_as_test(broken, settings=HUNT)


class Overtaken(Minimal):
    """Lets another write in just before an append."""

    before: Any = None

    def append(self, batch: Any) -> Any:
        act, self.before = self.before, None
        if act is not None:
            act()
        return super().append(batch)


def test_a_write_that_came_in_between_is_seen() -> None:
    """Over a log without transactions another space may write between decision and append; nothing stale is kept."""
    store = Overtaken(FrozenClock())
    with MemorySpace.over(store, clock=FrozenClock()) as one, MemorySpace.over(store, clock=FrozenClock()) as two:
        ann, bob = one.session(user("ann")), two.session(user("bob"))
        shared = ann.remember(Fact("the ferry leaves at nine"))
        ann.tag(shared, "ferry")
        store.before = lambda: bob.tag(shared, "timetable")
        ann.remember(Fact("the harbour has two cranes"), links=[("about", ann.remember(Location("harbour")))])
        store.before = lambda: bob.edit(shared, content="says the harbour master")
        ann.remember(Fact("the quay was built in 1910"))
        assert "unchanged" == ann.tag(shared, "timetable").status
        assert ("ferry", "timetable") == ann.get(shared).tags
        assert "says the harbour master" == ann.get(shared).content
