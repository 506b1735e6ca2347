"""A Hypothesis state machine that compares a store with plain lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engram_core.errors import ConcurrencyError, DuplicateEvent
from engram_core.ports import (
    AtomicStore,
    EraserStore,
    EventStore,
    Expect,
    Expected,
    NewEvent,
    Recorded,
    StreamAppend,
)
from engram_core.testing.building import new_event, whole_log
from engram_core.testing.contracts.base import envelope

__all__ = ["event_store_machine"]

_STREAMS = ("a", "b", "c")
_MARKER = '{"erased":true}'

_Row: TypeAlias = tuple[str, NewEvent]
_Way: TypeAlias = Callable[[EventStore], EventStore]

S = TypeVar("S", bound=EventStore)


class _Veto(Exception):
    """Ends a transaction without effect."""


def event_store_machine(
    make_store: Callable[[], S],
    *,
    reopen: Callable[[S], S] | None = None,
    another: Callable[[S], S] | None = None,
) -> type[RuleBasedStateMachine]:
    """A fresh state machine class; its `TestCase` runs it, with settings of your own if you set them on it.

    Args:
        make_store: Gives a new, empty store.
        reopen: Closes a store and opens its log again; without it, that is not tried.
        another: Gives a second store object on the same log, to write through either; the same.
    """

    class EventStoreMachine(_Machine):
        pass

    EventStoreMachine.make_store = staticmethod(make_store)
    EventStoreMachine.reopen = staticmethod(cast("_Way", reopen)) if reopen else None
    EventStoreMachine.another = staticmethod(cast("_Way", another)) if another else None
    return EventStoreMachine


_expectation = st.one_of(st.sampled_from(Expect), st.sampled_from(["right", "stale", "ahead", "zero"]))
_entries = st.lists(
    st.tuples(st.sampled_from(_STREAMS), _expectation, st.lists(st.text(max_size=3), max_size=3)),
    max_size=3,
    unique_by=lambda entry: entry[0],
)
_bound = st.integers(min_value=0, max_value=12)


class _Machine(RuleBasedStateMachine):
    make_store: Callable[[], EventStore]
    reopen: Callable[[EventStore], EventStore] | None
    another: Callable[[EventStore], EventStore] | None

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[_Row] = []
        self.calls: list[tuple[StreamAppend, ...]] = []
        self.ids = 0
        self.stores: list[EventStore] = []

    @initialize()
    def start(self) -> None:
        self.stores = [type(self).make_store()]
        self.name = self.stores[0].store_id
        if (another := type(self).another) is not None:
            self.stores.append(another(self.stores[0]))

    def teardown(self) -> None:
        for store in self.stores:
            store.close()

    # -- rules

    @rule(entries=_entries, data=st.data())
    def append(self, entries: list[tuple[str, Expect | str, list[str]]], data: st.DataObject) -> None:
        batch = tuple(self.entry(*entry) for entry in entries)
        self.attempt(data.draw(st.sampled_from(self.stores)), batch)

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def append_again(self, data: st.DataObject) -> None:
        batch = data.draw(st.sampled_from(self.calls))
        change = data.draw(st.sampled_from(["none", "expected", "bytes", "less", "more", "stream"]))
        entry = batch[0]
        match change:
            case "expected":
                entry = entry._replace(expected=data.draw(st.sampled_from([0, 1, 99, *Expect])))
            case "bytes":
                entry = entry._replace(events=(new_event(entry.events[0].id, text="changed"), *entry.events[1:]))
            case "less":
                entry = entry._replace(events=entry.events[1:])
            case "more":
                entry = entry._replace(events=(*entry.events, self.event("a", "more")))
            case "stream":
                taken = {e.stream for e in batch}
                entry = entry._replace(stream=next(s for s in (*_STREAMS, "d") if s not in taken))
            case _:
                pass
        self.attempt(data.draw(st.sampled_from(self.stores)), (entry, *batch[1:]))

    @precondition(lambda self: isinstance(self.stores[0], AtomicStore))
    @rule(batches=st.lists(_entries, max_size=3), commits=st.booleans(), data=st.data())
    def transact(
        self, batches: list[list[tuple[str, Expect | str, list[str]]]], commits: bool, data: st.DataObject
    ) -> None:
        store = data.draw(st.sampled_from(self.stores))
        assert isinstance(store, AtomicStore)
        before = list(self.rows), list(self.calls)
        try:
            with store.transaction():
                for entries in batches:
                    self.attempt(store, tuple(self.entry(*entry) for entry in entries))
                self.compare(store)
                if not commits:
                    raise _Veto
        except _Veto:
            self.rows, self.calls = before

    @precondition(lambda self: isinstance(self.stores[0], EraserStore))
    @rule(owner=st.sampled_from(_STREAMS), data=st.data())
    def erase(self, owner: str, data: st.DataObject) -> None:
        store = data.draw(st.sampled_from(self.stores))
        assert isinstance(store, EraserStore)
        answer = store.erase(owner, _MARKER)
        self.rows = [
            (stream, event._replace(data=_MARKER) if event.owner == owner else event) for stream, event in self.rows
        ]
        expected = [event for _, event in self.rows if event.owner == owner]
        assert expected == [envelope(event) for event in answer]

    @precondition(lambda self: type(self).reopen is not None)
    @rule()
    def open_again(self) -> None:
        reopen = type(self).reopen
        assert reopen is not None
        for index, store in enumerate(self.stores):
            self.stores[index] = reopen(store)

    @rule(after=_bound, upto=st.none() | _bound, limit=_bound, data=st.data())
    def read_log(self, after: int, upto: int | None, limit: int, data: st.DataObject) -> None:
        found = data.draw(st.sampled_from(self.stores)).read(after=after, upto=upto, limit=limit)
        assert self.placed()[after:upto][:limit] == [_placed(event) for event in found]

    @rule(
        stream=st.sampled_from(_STREAMS),
        after=_bound,
        upto=st.none() | _bound,
        limit=st.none() | _bound,
        backwards=st.booleans(),
        data=st.data(),
    )
    def read_one(
        self, stream: str, after: int, upto: int | None, limit: int | None, backwards: bool, data: st.DataObject
    ) -> None:
        store = data.draw(st.sampled_from(self.stores))
        found = store.read_stream(stream, after=after, upto=upto, limit=limit, backwards=backwards)
        expected = [row for row in self.placed() if row[1] == stream][after:upto]
        expected = (expected[::-1] if backwards else expected)[:limit]
        assert expected == [_placed(event) for event in found]

    # -- invariants

    @invariant()
    def agrees(self) -> None:
        for store in self.stores:
            self.compare(store)

    def compare(self, store: EventStore) -> None:
        log = whole_log(store)
        assert self.placed() == [_placed(event) for event in log]
        assert len(self.rows) == store.head()
        assert self.name == store.store_id
        times = [event.recorded_at for event in log]
        assert sorted(times) == times

    # -- the model

    def event(self, owner: str, text: str) -> NewEvent:
        self.ids += 1
        return new_event(f"e{self.ids}", owner=owner, text=text)

    def version(self, stream: str) -> int:
        return sum(1 for name, _ in self.rows if name == stream)

    def entry(self, stream: str, expected: Expect | str, texts: list[str]) -> StreamAppend:
        version = self.version(stream)
        wanted: Expected
        match expected:
            case Expect():
                wanted = expected
            case "right":
                wanted = version
            case "stale":
                wanted = max(0, version - 1)
            case "ahead":
                wanted = version + 1
            case _:
                wanted = 0
        owners = (stream, *_STREAMS)
        events = tuple(self.event(owners[index % 4], text) for index, text in enumerate(texts))
        return StreamAppend(stream, wanted, events)

    def placed(self) -> list[tuple[object, ...]]:
        versions: dict[str, int] = {}
        found: list[tuple[object, ...]] = []
        for position, (stream, event) in enumerate(self.rows, 1):
            versions[stream] = versions.get(stream, 0) + 1
            found.append((position, stream, versions[stream], event))
        return found

    def attempt(self, store: EventStore, batch: tuple[StreamAppend, ...]) -> None:
        """Appends, and requires what the model says: the answer, or the error."""
        wanted = [(entry.stream, event) for entry in batch for event in entry.events]
        places = {event.id: place for place, (_, event) in enumerate(self.rows)}
        known = [places[event.id] for _, event in wanted if event.id in places]
        if known:
            same = len(known) == len(wanted) and known == list(range(known[0], known[0] + len(known)))
            same = same and all(
                row[0] == stream and row[1] == event._replace(data=row[1].data)
                for (stream, event), row in zip(wanted, self.rows[known[0] :], strict=False)
            )
            if same:
                answer = store.append(batch)
                assert answer.duplicate
                assert [place + 1 for place in known] == list(answer.positions)
            else:
                self.must_fail(store, batch, DuplicateEvent)
            return
        for entry in batch:
            version = self.version(entry.stream)
            if (
                entry.expected is Expect.ANY
                or entry.expected == version
                or (entry.expected is Expect.EXISTS and version)
            ):
                continue
            error = self.must_fail(store, batch, ConcurrencyError)
            assert isinstance(error, ConcurrencyError)
            assert (entry.stream, version) == (error.stream, error.actual)
            return
        answer = store.append(batch)
        assert not answer.duplicate
        self.rows.extend(wanted)
        if wanted and batch[0].events:
            self.calls.append(batch)
        assert self.placed()[len(self.rows) - len(wanted) :] == [_placed(event) for event in answer.events]

    def must_fail(self, store: EventStore, batch: tuple[StreamAppend, ...], kind: type[Exception]) -> Exception:
        try:
            store.append(batch)
        except kind as error:
            return error
        raise AssertionError(f"{batch} should have raised {kind.__name__}")


def _placed(event: Recorded) -> tuple[object, ...]:
    return (event.position, event.stream, event.version, envelope(event))
