"""The typed log: what goes in comes out, with its place; instants, anchors and repeated commands."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core.codec import EventCodec
from engram_core.decider import Change
from engram_core.errors import ConcurrencyError
from engram_core.events import Event, MemoryTagged, RecordedEvent
from engram_core.kinds import Fact
from engram_core.log import Anchor, Author, Decided, Log, Written, command_key
from engram_core.stores.in_memory import InMemoryStore
from engram_core.testing import FrozenClock, SequentialIds, memory_created, strategies
from engram_core.testing.scenario import START
from engram_core.values import assistant, user

ANN = Author(actor=user("ann"), session_id="s", client="cli")
CREATED = memory_created(Fact("x"))
HOUR = timedelta(hours=1)


def tagged(name: str) -> Event:
    """An event to tell from others."""
    return MemoryTagged((name,))


class Room:
    """A log over a store whose clock is at hand."""

    def __init__(self) -> None:
        self.clock = FrozenClock(START)
        self.log = Log(InMemoryStore(clock=self.clock), EventCodec(), SequentialIds())

    def write(self, *changes: tuple[str, Event], author: Author = ANN, **batch: Any) -> tuple[RecordedEvent, ...]:
        """Appends one batch to streams at whatever version they have."""
        decided = [Decided(Change(stream, event, stream), author, START) for stream, event in changes]
        expected = {stream: len(self.log.stream(stream)) for stream, _ in changes}
        return self.log.append([Written(decided, **batch)], expected)


def test_what_is_answered_is_what_is_read() -> None:
    """The recorded events of an append are those of the log, to the last field."""
    room = Room()
    told = room.write(("a", CREATED), ("b", CREATED), ("a", tagged("x")), causation_id="p", command_key="k")
    assert told == tuple(room.log.read())
    assert (ANN.actor, "s", "cli", "p") == (told[0].actor, told[0].session_id, told[0].client, told[0].causation_id)
    assert told[0:1] + told[1:2] == room.log.stream("a")


@settings(max_examples=40)
@given(st.lists(strategies.events().filter(lambda e: hasattr(type(e), "__attrs_attrs__")), max_size=5))
def test_every_event_is_answered_as_it_is_read(events: list[Any]) -> None:
    """Nothing is lost on the way through text."""
    written = [event for event in events if type(event).__name__ not in ("ErasedPayload", "UnknownEvent")]
    room = Room()
    told = room.write(*[("a", event) for event in written]) if written else ()
    assert told == tuple(room.log.read())


def test_a_batch_bears_the_id_of_its_first_event() -> None:
    """Every event of one command shares it; two batches of one commit have their own."""
    room = Room()
    first, second = (
        Written([Decided(Change(s, CREATED, s), ANN, START), Decided(Change(s, tagged("x"), s), ANN, START)])
        for s in "ab"
    )
    told = room.log.append([first, second], {"a": 0, "b": 0})
    assert [told[0].id] * 2 + [told[2].id] * 2 == [event.batch_id for event in told]
    assert told[2:] == room.log.batch(3)
    assert told[:2] == room.log.batch(1)
    assert () == room.log.batch(5)


def test_a_long_batch_is_read_whole() -> None:
    """Beyond the pages in which it is fetched."""
    room = Room()
    room.write(("a", CREATED))
    told = room.write(*[("b", tagged(str(n))) for n in range(1_100)])
    room.write(("c", CREATED))
    assert told == room.log.batch(2)


def test_a_batch_is_all_or_nothing() -> None:
    """One stream that has moved refuses them all."""
    room = Room()
    room.write(("a", CREATED))
    decided = [Decided(Change(stream, CREATED, stream), ANN, START) for stream in ("b", "a")]
    with pytest.raises(ConcurrencyError) as caught:
        room.log.append([Written(decided)], {"a": 0, "b": 0})
    assert "a" == caught.value.stream
    assert 1 == room.log.head()


def test_streams_and_the_log_are_read_in_stretches() -> None:
    """After a version or position, up to one."""
    room = Room()
    told = room.write(("a", CREATED), *[("a", tagged(str(n))) for n in range(4)])
    assert told[2:4] == room.log.stream("a", after=2, upto=4)
    assert told[1:3] == tuple(room.log.read(after=1, upto=3))
    assert [[1, 2], [3, 4], [5]] == [[r.position for r in page] for page in room.log.pages(size=2)]


@settings(max_examples=40)
@given(st.lists(st.integers(0, 3), max_size=8), st.integers(-1, 30))
def test_the_position_at_an_instant(steps: list[int], hour: int) -> None:
    """The last that was recorded at or before it, found by halving; 0 before the first."""
    room = Room()
    told: list[RecordedEvent] = []
    for n, step in enumerate(steps):
        room.clock.move(step * HOUR)
        told += room.write((f"m{n}", CREATED), (f"m{n}", tagged("x")))
    at = START + hour * HOUR
    assert sum(event.recorded_at <= at for event in told) == room.log.position_at(at)


def test_recorded_instants_never_fall() -> None:
    """When the clock is set back, the log keeps its time."""
    room = Room()
    room.write(("a", CREATED))
    room.clock.move(-HOUR)
    (late,) = room.write(("b", CREATED))
    assert START == late.recorded_at


def test_an_anchor_names_the_end_of_the_chain() -> None:
    """An empty log has one, too; each commit moves it."""
    room = Room()
    assert Anchor(0, "") == room.log.anchor()
    told = room.write(("a", CREATED), ("a", tagged("x")))
    assert told[-1].link is not None
    assert Anchor(2, told[-1].link.hex()) == room.log.anchor()
    assert told[0].link is None
    room.write(("b", CREATED))
    assert 3 == room.log.anchor().position


def test_a_command_is_known_by_its_actor_and_name() -> None:
    """The same name from another actor is another command, however kind and id are put together."""
    keys = {
        command_key(actor, name)
        for actor in (user("ann"), assistant("ann"), user("an"), user("ann:x"))
        for name in ("1", "n1", "x:1", "")
    }
    assert 16 == len(keys)
    assert command_key(user("ann"), "1") == command_key(user("ann"), "1")
