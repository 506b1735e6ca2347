"""A view of the past answers as a space does that was fed the log up to then, and no more."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core import EngramError, MemorySpace, Session, user
from engram_core.ports import Recorded
from engram_core.stores import InMemoryStore
from engram_core.testing import FrozenClock, whole_log
from engram_core.testing.steps import BOT, FIRST, START, STEPS, Step, any_step, named, placed
from engram_core.values import Actor
from engram_core.view import View
from tests.everything import everything, told

ANN = user("ann")
HOUR = timedelta(hours=1)
ACTS = ("step", "step", "step", "batch", "propose", "approve", "undo", "erase", "wait")
acts = st.lists(st.tuples(st.sampled_from(ACTS), any_step), min_size=4, max_size=14)


class Life:
    """A space in memory to which something happens every hour."""

    def __init__(self, happenings: list[tuple[str, Step]]) -> None:
        self.clock = FrozenClock(START)
        self.store = InMemoryStore(clock=self.clock)
        self.space = MemorySpace.over(self.store, clock=self.clock)
        self.ids: list[str] = []
        self.times: list[datetime] = []
        self.last: Any = None
        self.proposed: Any = None
        for step in FIRST:
            self.happen("step", step)
        for act, step in happenings:
            self.happen(act, step)
        self.clock.move(HOUR)

    def session(self, actor: Actor) -> Session:
        return self.space.session(actor, record=False)

    def happen(self, act: str, step: Step) -> None:
        self.clock.move(HOUR)
        try:
            getattr(self, act)(step)
        except EngramError:
            return
        self.times.append(self.clock.now())

    def given(self, step: Step) -> Step:
        verb, args, options = placed(step, self.ids)
        return verb, args, {**options, "id": named(len(self.ids) + 1)} if verb == "remember" else options

    def keep(self, receipt: Any) -> None:
        if receipt.status == "created":
            self.ids.append(receipt.memory_id)
        self.last = receipt.batch_id or self.last

    def step(self, step: Step) -> None:
        verb, args, options = self.given(step)
        self.keep(getattr(self.session(ANN), verb)(*args, **options))

    def batch(self, step: Step) -> None:
        verb, args, options = self.given(step)
        with self.session(ANN).batch() as block:
            block.tag(self.ids[0], "together")
            getattr(block, verb)(*args, **options)
        self.keep(block.receipts[1])

    def propose(self, step: Step) -> None:
        verb, args, options = placed(step, self.ids)
        self.proposed = getattr(self.session(BOT), verb)(*args, **options).proposal_id or self.proposed

    def approve(self, step: Step) -> None:
        if self.proposed is not None:
            receipt = self.session(ANN).approve(self.proposed)
            if receipt.memory_id is not None and receipt.memory_id not in self.ids:
                self.ids.append(receipt.memory_id)

    def undo(self, step: Step) -> None:
        if self.last is not None:
            self.session(ANN).undo(self.last)

    def erase(self, step: Step) -> None:
        self.session(ANN).erase(self.ids[-1])

    def wait(self, step: Step) -> None:
        self.clock.move(days=9)

    def then(self, instant: datetime) -> MemorySpace:
        """A space with the log up to an instant, as the log stands today."""
        prefix = [event for event in whole_log(self.store) if event.recorded_at <= micros(instant)]
        return MemorySpace.over(store_of(prefix, self.store), clock=FrozenClock(instant))


def micros(instant: datetime) -> int:
    """Microseconds since 1970."""
    return round((instant - datetime(1970, 1, 1, tzinfo=instant.tzinfo)) / timedelta(microseconds=1))


def store_of(events: list[Recorded], origin: InMemoryStore) -> InMemoryStore:
    """A store that holds these very events: same ids, positions and instants."""
    store = InMemoryStore()
    store._id = origin._id
    for event in events:
        store._events.append(event)
        store._streams.setdefault(event.stream, []).append(event.position)
        store._positions[event.id] = event.position
    store._visible = len(events)
    return store


def seen(view: View, ids: list[str]) -> dict[str, Any]:
    """What a view answers to every read."""
    return dict(everything(view, [*ids, named(0xFFFF)]))


@settings(max_examples=20, deadline=None)
@given(acts, st.integers(0, 20), st.sampled_from((None, -40, 0, 5)))
def test_a_user_sees_what_a_replay_of_the_prefix_shows(
    happenings: list[tuple[str, Step]], number: int, days: int | None
) -> None:
    """Whatever was undone, merged, hidden, deleted or erased since; and for valid time as well."""
    life = Life(happenings)
    instant = life.times[number % len(life.times)]
    with life.space, life.then(instant) as replay:
        past: View = life.session(ANN).as_of(known_at=instant)
        present: View = replay.session(ANN, record=False)
        if days is not None:
            past, present = (view.as_of(valid_at=START + timedelta(days=days)) for view in (past, present))
        expected, actual = seen(present, life.ids), seen(past, life.ids)
        for name, value in expected.items():
            assert value == actual[name], name
        earlier = life.times[number % len(life.times) // 2]
        expected_diff, actual_diff = (told(view.as_of(known_at=earlier).diff, view) for view in (present, past))
        assert expected_diff == actual_diff


@settings(max_examples=15, deadline=None)
@given(acts, st.integers(0, 20))
def test_others_see_of_it_what_they_may_see_now(happenings: list[tuple[str, Step]], number: int) -> None:
    """A memory is in a non-user's past view iff it was shown to him then and is not hidden or gone today."""
    life = Life(happenings)
    instant = life.times[number % len(life.times)]
    with life.space, life.then(instant) as replay:
        past = life.session(BOT).as_of(known_at=instant)
        then = {m.id for m in replay.session(BOT, record=False).find_all(status=None)}
        today = {m.id for m in life.session(BOT).find_all(status=None)}
        assert then & today == {m.id for m in past.find_all(status=None)}
        assert len(then & today) == past.count(status=None)
        if then == today:
            expected, actual = seen(replay.session(BOT, record=False), life.ids), seen(past, life.ids)
            for name, value in expected.items():
                assert value == actual[name], name


@settings(max_examples=10, deadline=None)
@given(st.lists(STEPS["remember"], min_size=2, max_size=6))
def test_what_is_yet_to_come_is_not_there(first: list[Step]) -> None:
    """A view pinned before the first event is empty, and one pinned to the present is the present."""
    life = Life([("step", step) for step in first])
    with life.space:
        before = life.session(ANN).as_of(known_at=START)
        assert (0, {}, 0) == (before.count(status=None), before.tags(), len(before.recall("oolong")))
        now = life.session(ANN).as_of(known_at=life.clock.now())
        assert seen(life.session(ANN), life.ids) == seen(now, life.ids)
