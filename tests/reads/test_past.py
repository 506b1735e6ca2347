"""Past views: what was known then, as the log stands today, on both axes of time."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core.errors import EngramError, InvalidAttributesError, NotFoundError
from engram_core.kinds import Fact, Person
from engram_core.values import Validity, private, shared
from engram_core.view import View
from tests.reads.shelves import START, Desk, desk, named

HOUR = timedelta(hours=1)


def shown(view: View) -> dict[str, Any]:
    """What a view answers, as plain text."""
    every = [m.id for m in view.find_all(status=None)]
    return {
        "find": repr(view.find(limit=1000)),
        "by importance": repr(view.find(order="importance", limit=1000, status=None)),
        "memories": [(m, m.flags, m.links, m.tags, m.importance, m.status) for m in map(view.get, every)],
        "count": view.count(),
        "tagged": view.count(tags=["a"]),
        "about": repr([view.find(about=named(n)) for n in range(3)]),
        "tags": view.tags(),
        "stats": view.stats(),
        "neighbours": repr([view.neighbours(id) for id in every]),
        "far": repr([view.neighbours(id, depth=3) for id in every]),
        "history": [view.history(id) for id in every],
        "why": [repr(view.why(id)) for id in every],
        "scores": [view.scores(id) for id in every],
        "reviews": view.reviews(limit=1000).items,
        "recall": [(hit.id, hit.score) for hit in view.recall("word0 word1 person")],
    }


def act(d: Desk, chance: random.Random, number: int) -> None:
    """One step of a random life; steps that the rules refuse are none."""
    ann = d.ann
    ids = [m.id for m in ann.find_all(status=None)]

    def some() -> str:
        return chance.choice(ids)

    new = named(number)
    if number < 3:
        ann.remember(Person(full_name=f"person {number}"), id=new, tags=["a"])
        return
    steps: list[Any] = [
        lambda: ann.remember(Fact(f"word{chance.randrange(3)} x{number}"), id=new, links=[("about", some())]),
        lambda: ann.remember(Fact(f"word0 y{number}"), id=new, links=[("derived_from", some())], tags=["a", "b"]),
        lambda: ann.link(some(), "relates_to", some()),
        lambda: ann.tag(some(), chance.choice("abc")),
        lambda: ann.untag(some(), "a"),
        lambda: ann.confirm(some()),
        lambda: ann.contradict(some(), by=some()),
        lambda: ann.supersede(some(), some()),
        lambda: ann.archive(some(), because=chance.choice(["wrong", "obsolete"])),
        lambda: ann.restore(some()),
        lambda: ann.pin(some()),
        lambda: ann.edit(some(), content=f"word1 z{number}"),
        lambda: ann.merge(named(0), named(1)),
        lambda: ann.unmerge(named(1)),
    ]
    chance.choice(steps)()


@settings(max_examples=12)
@given(st.integers(0, 10_000))
def test_a_past_view_answers_as_the_present_did(seed: int) -> None:
    """Whatever is read at a past instant is what was read at that instant, then the present."""
    chance = random.Random(seed)
    d = desk()
    kept: list[tuple[datetime, dict[str, Any], dict[str, Any]]] = []
    for number in range(18):
        d.clock.move(HOUR)
        try:
            act(d, chance, number)
        except EngramError:
            continue
        if number % 3 == 0:
            kept.append((d.clock.now(), shown(d.ann), shown(d.bot)))
    d.clock.move(HOUR)
    for at, by_ann, by_bot in kept:
        for view, expected in ((d.ann.as_of(known_at=at), by_ann), (d.bot.as_of(known_at=at), by_bot)):
            actual = shown(view)
            for name, value in expected.items():
                assert value == actual[name], (name, at)


def test_what_was_deleted_since_is_shown_to_users_alone() -> None:
    """Users find it in past views; nobody finds what was withdrawn or deleted in the present."""
    d = desk()
    deleted = d.ann.remember(Fact("deleted"), id=named(1))
    withdrawn = d.ann.remember(Fact("withdrawn"), id=named(2))
    d.clock.move(HOUR)
    d.ann.delete(deleted)
    d.ann.undo(withdrawn)
    then = START
    assert d.ann.count() == 0
    assert {m.id for m in d.ann.as_of(known_at=then).find()} == {named(1), named(2)}
    assert d.bot.as_of(known_at=then).count() == 0
    assert d.ann.as_of(known_at=then).get(deleted).status == "active"
    with pytest.raises(NotFoundError):
        d.bot.as_of(known_at=then).get(deleted)


def test_erased_ones_are_in_no_view() -> None:
    """What was erased is gone from every past as well."""
    d = desk()
    id = d.ann.remember(Fact("to be forgotten"), tags=["t"])
    d.clock.move(HOUR)
    d.ann.erase(id)
    then = d.ann.as_of(known_at=START)
    assert (then.count(status=None), then.tags(), then.recall("forgotten").items) == (0, {}, ())
    with pytest.raises(NotFoundError):
        then.get(id)


def test_the_past_shows_what_could_be_seen_then_and_can_be_now() -> None:
    """Opening a memory does not open its past, and hiding one hides its past."""
    d = desk()
    opened = d.ann.remember(Fact("opened"), visibility=private())
    closed = d.ann.remember(Fact("closed"))
    d.clock.move(HOUR)
    d.ann.set_visibility(opened, shared())
    d.ann.set_visibility(closed, private())
    assert [m.id for m in d.bot.find()] == [opened.memory_id]
    assert d.bot.as_of(known_at=START).count() == 0
    assert d.ann.as_of(known_at=START).count() == 2


def test_valid_time_shows_what_held_then() -> None:
    """A superseded fact holds until its successor begins; windows are half-open; both axes combine."""
    d = desk()
    spring, summer = START - timedelta(days=300), START - timedelta(days=200)
    bergen = d.ann.remember(Fact("Alice lives in Bergen"), validity=Validity(spring))
    d.clock.move(HOUR)
    oslo = d.ann.supersede(bergen, Fact("Alice lives in Oslo"), effective_at=summer)
    assert [m.id for m in d.ann.find()] == [oslo.memory_id]
    then = d.ann.as_of(valid_at=summer - HOUR)
    assert [(m.id, m.status) for m in then.find()] == [(bergen.memory_id, "active")]
    assert [m.id for m in d.ann.as_of(valid_at=summer).find()] == [oslo.memory_id]
    assert d.ann.as_of(valid_at=spring - HOUR).count(status=None) == 0
    both = d.ann.as_of(known_at=START, valid_at=summer + HOUR)
    assert [m.id for m in both.find()] == [bergen.memory_id]
    assert [m.id for m in d.ann.as_of(known_at=START).as_of(valid_at=summer + HOUR).find()] == [bergen.memory_id]


def test_pinned_views_stay_as_they_are() -> None:
    """What is written later does not show in a view that was taken before."""
    d = desk()
    d.ann.remember(Fact("one"))
    views = [d.ann.as_of(known_at=START), d.ann.at(START), d.ann.as_of(valid_at=START)]
    before = [view.find() for view in views]
    d.ann.remember(Fact("two"))
    assert [view.find() for view in views] == before
    with pytest.raises(InvalidAttributesError):
        d.ann.as_of()
    with pytest.raises(InvalidAttributesError):
        d.ann.as_of(known_at=datetime(2026, 1, 1))
