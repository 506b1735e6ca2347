"""What writing costs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from benchmarks.agreement import differences, terms_of
from benchmarks.measuring import ROUNDS, Cost, Row, beside, compare, rounds
from benchmarks.world import World, draft
from engram_core import Draft, user
from engram_core.codec import EventCodec
from engram_core.decider import Change
from engram_core.events import MemoryCreated
from engram_core.log import Author, Decided, Log, Written
from engram_core.stores.sqlite import SqliteStore

__all__ = ["agreement", "append", "change", "change_accessed", "overlap", "remember", "remember_many"]

_TIMES = 100
_ACCESSES = 10_000


def agreement(world: World) -> Iterator[Row]:
    """Not a cost: whether floor and library leave the same rows, so that the other areas mean what they say."""
    folder = world.folder / "agreement"
    folder.mkdir()
    found = differences(folder)
    yield Row(
        area="rows that a floor leaves otherwise",
        floor=1,
        ours=len(found),
        gate=0,
        unit="sorts",
        note="; ".join(line[:200] for line in found),
    )


def append(world: World) -> Iterator[Row]:
    """Events alone, one and ten in a transaction."""
    floor = world.floor()
    store = SqliteStore(world.copy("log.db"), durability="normal")
    log = Log(store, EventCodec(), world.space._engine.options.ids)
    recorded = next(
        event
        for event in world.space.events()
        if isinstance(event.event, MemoryCreated) and event.event.kind == "fact" and not event.event.tags
    )
    made, author = recorded.event, Author(actor=user("bench"))
    assert isinstance(made, MemoryCreated)
    text, about = str(made.attributes["statement"]), made.links[0].target

    def ours(count: int) -> None:
        for _ in range(_TIMES):
            stream = str(log.ids())
            change, now = Change(stream, made, stream), datetime.now(UTC)
            log.append([Written([Decided(change, author, now)] * count)], {stream: 0})

    def plain(count: int) -> None:
        for _ in range(_TIMES):
            floor.append(count, text, about)

    for count, gate in ((1, 2.0), (10, 2.2)):
        name = f"append {count} event{'s' * (count > 1)}"
        yield compare(name, lambda: plain(count), lambda: ours(count), times=_TIMES, gate=gate, warm_up=1)  # noqa: B023
    floor.close()
    store.close()


def remember(world: World) -> Iterator[Row]:
    """One memory in a transaction, exact duplicates looked up."""
    floor, session, about = world.floor(), world.session, world.person
    ready: list[tuple[str, str]] = []
    texts: list[str] = []
    drafts: list[Draft] = []

    def prepare() -> None:
        ready[:] = [(text, terms_of(text)) for text in world.take(_TIMES)]
        texts[:] = world.take(_TIMES)
        drafts[:] = [draft(text, about) for text in world.take(_TIMES)]

    def plain() -> None:
        for text, terms in ready:
            floor.remember([text], about, [terms])

    def analysing() -> None:
        for text in texts:
            floor.remember([text], about, [terms_of(text)])

    def ours() -> None:
        for one in drafts:
            session.remember(one.attributes, links=[("about", about)], similar=False)

    alone, with_analysis, library = rounds((plain, analysing, ours), times=_TIMES, warm_up=1, prepare=prepare)
    note = "the floor is given each text's terms, as if its index made them in C"
    yield beside("remember one", alone, library, 1.8, note)
    yield beside("remember one (floor: analyses as well)", with_analysis, library)
    floor.close()


def overlap(world: World) -> Iterator[Row]:
    """One memory with the report of what it may repeat."""
    session, about = world.session, world.person
    drafts: list[Draft] = []

    def prepare() -> None:
        drafts[:] = [draft(text, about) for text in world.take(20)]

    def ours() -> None:
        for one in drafts:
            session.remember(one.attributes, links=[("about", about)])

    (cost,) = rounds((ours,), times=20, prepare=prepare)
    yield beside("remember one, with overlap report (floor: the budget, 10 ms)", Cost(10_000, 10_000), cost, 1)


def remember_many(world: World) -> Iterator[Row]:
    """A thousand memories in a transaction, for each."""
    floor, session, about = world.floor(), world.session, world.person
    texts: list[str] = []
    terms: list[str] = []
    drafts: list[Draft] = []

    def prepare() -> None:
        texts[:] = world.take(1_000)
        terms[:] = map(terms_of, texts)
        drafts[:] = [draft(text, about) for text in world.take(1_000)]

    alone, library = rounds(
        (lambda: floor.remember(texts, about, terms), lambda: session.remember_many(drafts, batch=1_000)),
        times=1_000,
        warm_up=1,
        prepare=prepare,
    )
    yield beside("remember_many, of 1,000", alone, library, 2.5, f"{1e6 / library.cpu:,.0f} memories a second of CPU")
    floor.close()


def change(world: World) -> Iterator[Row]:
    """Changes of one memory's own row, each time of another memory."""
    floor, session = world.floor(), world.session
    verbs: tuple[tuple[str, Callable[[str], object], Callable[[str], object]], ...] = (
        ("confirm one", floor.confirm, session.confirm),
        ("pin one", floor.pin, session.pin),
        ("weigh one", floor.weigh, lambda one: session.weigh(one, 0.9)),
        ("tag one", lambda one: floor.tag(one, "red"), lambda one: session.tag(one, "red")),
    )
    turns = ROUNDS + 1
    portion = min(_TIMES, len(world.ids) // turns)
    for name, plain, ours in verbs:
        # Spread over the whole space, the newest last; no memory is changed twice by one verb.
        spread = world.ids[:: max(1, len(world.ids) // (portion * turns))]
        portions = iter([spread[place::turns][:portion] for place in range(turns)])
        yield _changes(name, plain, ours, lambda: next(portions), portion)  # noqa: B023
    floor.close()


def change_accessed(world: World) -> Iterator[Row]:
    """The same for memories that were read ten thousand times."""
    session, reader = world.session, world.space.session(user("reader"))
    ids = world.ids[-4:]
    for _ in range(100):
        for id in ids:
            for _ in range(_ACCESSES // 100):
                reader.get(id)
        world.space.flush()
    assert {session.accesses(id).count for id in ids} == {_ACCESSES}
    floor, weights = world.floor(), itertools.cycle(range(1, 100))
    # Nobody vouches for the same thing twice in a row.
    people = itertools.cycle([world.space.session(user(f"reader {number}"), record=False) for number in range(1_000)])
    verbs: tuple[tuple[str, Callable[[str], object], Callable[[str], object]], ...] = (
        ("confirm one that was read 10,000 times", floor.confirm, lambda one: next(people).confirm(one)),
        ("weigh one that was read 10,000 times", floor.weigh, lambda one: session.weigh(one, next(weights) / 100)),
    )
    for name, plain, ours in verbs:
        yield _changes(name, plain, ours, lambda: list(ids) * 25, len(ids) * 25)
    floor.close()


def _changes(
    name: str,
    plain: Callable[[str], object],
    ours: Callable[[str], object],
    chosen: Callable[[], Sequence[str]],
    times: int,
) -> Row:
    ids: list[str] = []

    def prepare() -> None:
        ids[:] = chosen()

    def each(verb: Callable[[str], object]) -> None:
        for id in ids:
            verb(id)

    alone, library = rounds((lambda: each(plain), lambda: each(ours)), times=times, warm_up=1, prepare=prepare)
    return beside(name, alone, library, 2.5)
