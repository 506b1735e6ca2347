"""What writing costs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from benchmarks.measuring import Row, compare
from benchmarks.world import World, draft
from engram_core import user
from engram_core.codec import EventCodec
from engram_core.decider import Change
from engram_core.events import MemoryCreated
from engram_core.log import Author, Decided, Log, Written
from engram_core.stores.sqlite import SqliteStore

__all__ = ["append", "confirm", "remember", "remember_many", "undo"]


def append(world: World) -> Iterator[Row]:
    """Events alone, one and ten in a transaction."""
    floor = world.floor()
    store = SqliteStore(world.copy("log.db"), durability="normal")
    log = Log(store, EventCodec(), world.space._engine.options.ids)
    recorded = next(event for event in world.space.events(after=1) if isinstance(event.event, MemoryCreated))
    author = Author(actor=user("bench"))

    def ours(count: int) -> None:
        for _ in range(_TIMES):
            stream = str(log.ids())
            change = Change(stream, recorded.event, stream)
            decided = [Decided(change, author, recorded.occurred_at) for _ in range(count)]
            log.append([Written(decided)], {stream: 0})

    def plain(count: int) -> None:
        for _ in range(_TIMES):
            floor.append(count, world.texts[0])

    for count, gate in ((1, 2.0), (10, 2.2)):
        name = f"append {count} event{'s' * (count > 1)}"
        yield compare(name, lambda: plain(count), lambda: ours(count), times=_TIMES, gate=gate)  # noqa: B023
    floor.close()
    store.close()


def remember(world: World) -> Iterator[Row]:
    """One memory in a transaction, exact duplicates looked up."""
    floor = world.floor()

    def ours() -> None:
        for text in world.take(_TIMES):
            one = draft(text, world.person)
            world.session.remember(one.attributes, links=[("about", world.person)], similar=False)

    def plain() -> None:
        for text in world.take(_TIMES):
            floor.remember([text])

    yield compare("remember one", plain, ours, times=_TIMES, gate=1.8)
    floor.close()


def remember_many(world: World) -> Iterator[Row]:
    """A thousand memories in a transaction, for each."""
    floor = world.floor()

    def ours() -> None:
        world.session.remember_many([draft(text, world.person) for text in world.take(1_000)], batch=1_000)

    yield compare("remember_many, of 1,000", lambda: floor.remember(world.take(1_000)), ours, times=1_000, gate=2.5)
    floor.close()


def confirm(world: World) -> Iterator[Row]:
    """Changes of one memory's own row."""
    floor = world.floor()
    session = world.session
    step = max(1, len(world.ids) // 997)
    chosen = itertools.cycle(world.ids[::step])
    verbs = (
        ("confirm one", session.confirm, "confirmed_at = updated_at + 1"),
        ("pin one", session.pin, "pinned = 1"),
        ("weigh one", lambda ref: session.weigh(ref, 0.9), "user_weight = 0.9"),
    )
    for name, verb, setting in verbs:
        pinned = iter(world.ids)

        def ours() -> None:
            for _ in range(_TIMES):
                verb(next(pinned))  # noqa: B023

        def plain() -> None:
            for _ in range(_TIMES):
                floor.change(next(chosen), setting)  # noqa: B023

        yield compare(name, plain, ours, times=_TIMES, gate=2.5)
    floor.close()


def undo(world: World) -> Iterator[Row]:
    """The undoing of a batch, against what it may take: 5 ms, and 60 µs for each memory it touched."""
    for count in (1, 1_000):
        made = [
            world.session.remember_many([draft(text, world.person) for text in world.take(count)], batch=1_000)
            for _ in range(5)
        ]
        batches = iter([report.receipts[0] for report in made])
        row = compare("", lambda: None, lambda: world.session.undo(next(batches)), times=1)  # noqa: B023
        yield Row(
            area=f"undo a batch of {count:,} (floor: the budget)", floor=5_000 + 60 * count, ours=row.ours, gate=1
        )


_TIMES = 100
