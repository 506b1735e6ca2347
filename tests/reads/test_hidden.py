"""What an actor reads is the same, to the letter, whether or not memories hidden from him exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core.errors import EngramError
from engram_core.kinds import Contact, Episode, Fact, Person, Relationship
from engram_core.session import Session
from engram_core.values import EvidenceRef, assistant, private, restricted
from engram_core.vocab import EvidenceType
from tests.reads.shelves import START, Desk, desk, named

HIDDEN = 500


def visible(d: Desk, between: Callable[[Desk, int], None]) -> None:
    """Some life of memories that the assistant sees; between any two steps something else may happen."""
    ann = d.ann
    steps: list[Callable[[], object]] = [
        lambda: ann.remember(Person(full_name="Alice Ng", aliases=("Ali",)), id=named(1), tags=["friends"]),
        lambda: ann.remember(Person(full_name="Bob"), id=named(2), tags=["friends"]),
        lambda: ann.remember(Fact("Alice drinks oolong"), id=named(3), links=[("about", named(1))], tags=["tea"]),
        lambda: ann.remember(Fact("Alice drinks coffee"), id=named(4), links=[("about", named(1))]),
        lambda: ann.contradict(named(3), by=named(4)),
        lambda: ann.remember(Fact("Alice likes cups"), id=named(5), links=[("derived_from", named(3))]),
        lambda: ann.remember(Contact(channel="email", value="a@x"), id=named(6), links=[("owned_by", named(1))]),
        lambda: ann.remember(Relationship(subject_id=named(1), predicate="knows", object_id=named(2)), id=named(7)),
        lambda: ann.remember(Episode(occurred_at=START - timedelta(days=2)), id=named(8), title="dinner"),
        lambda: ann.remember(Fact("for claude"), id=named(9), visibility=restricted(assistant("claude"))),
        lambda: ann.edit(named(9), content="oolong is for claude"),
        lambda: ann.confirm(named(4), evidence=EvidenceRef(EvidenceType.QUOTE, "coffee!")),
        lambda: ann.supersede(named(5), named(4)),
        lambda: ann.archive(named(8)),
        lambda: ann.remember(Person(full_name="Robert"), id=named(10)),
        lambda: ann.merge(named(2), named(10)),
        lambda: ann.delete(named(6)),
    ]
    for number, step in enumerate(steps):
        d.clock.set(START + timedelta(hours=number))
        step()
        between(d, number)


def reads(bot: Session) -> Iterator[tuple[str, Any]]:
    """Everything that can be read, with what came of it."""
    ids = [named(number) for number in (*range(1, 12), HIDDEN, HIDDEN + 1)]

    def asked(name: str, call: Callable[..., Any], *args: Any, **options: Any) -> tuple[str, Any]:
        try:
            return name, repr(call(*args, **options))
        except EngramError as error:
            return name, (type(error).__name__, str(error), repr(error.fields))

    for order in ("created_at", "updated_at", "confidence", "importance", "title", "kind", "id", "occurred_at"):
        yield asked(f"find by {order}", bot.find, order=order, limit=3)
        yield asked(f"all by {order}", bot.find, order=order, status=None, descending=True)
    yield asked("count", bot.count)
    yield asked("tags", bot.tags)
    yield asked("stats", bot.stats)
    yield asked("timeline", bot.timeline, START - timedelta(days=30), START + timedelta(days=30))
    yield asked("reviews", bot.reviews, limit=2)
    yield asked("all reviews", bot.reviews, limit=1000)
    yield asked("proposals", bot.proposals)
    for question in ("oolong", "Alice", "secret oolong coffee", "who drinks?"):
        yield asked(f"recall {question}", bot.recall, question)
        yield "as text", bot.recall(question).as_text()
    for memory_id in ids:
        for name in ("get", "neighbours", "history", "why", "explain", "scores", "accesses", "subgraph"):
            yield asked(f"{name} {memory_id}", getattr(bot, name), memory_id)
        yield asked(f"about {memory_id}", bot.find, about=memory_id)
        yield asked(f"path {memory_id}", bot.path, named(1), memory_id)
        yield asked(f"far {memory_id}", bot.neighbours, memory_id, depth=4)


def secrets(d: Desk, number: int) -> None:
    """Hidden memories, tied to the visible ones in whatever way hidden memories can be."""
    ann = d.ann
    audience = private() if number % 2 else restricted(assistant("other"))
    links = (
        [("about", named(1))] if number < 2 else [("about", named(1)), ("derived_from", named(3))][: 1 + (number > 4)]
    )
    text = "secret oolong coffee Alice " * (number + 1)
    ann.remember(Fact(text.strip()), id=named(HIDDEN + number), links=links, visibility=audience, tags=["tea", "x"])
    if number == 3:
        ann.remember(Person(full_name="Ali"), id=named(600), visibility=private())
        ann.remember(
            Relationship(subject_id=named(1), predicate="hates", object_id=named(2)),
            id=named(601),
            visibility=private(),
        )
        ann.link(named(HIDDEN + 1), "relates_to", named(HIDDEN + 2))
    if number == 8:
        ann.delete(named(HIDDEN + 2))
        ann.archive(named(HIDDEN + 3))


def test_hidden_is_absent_in_every_read() -> None:
    """Two spaces with the same visible life, one with hidden memories besides, read alike: now, later, and then."""
    plain, rich = desk(), desk()
    visible(plain, lambda d, number: None)
    visible(rich, secrets)
    assert rich.ann.count() > plain.ann.count()
    for at in (None, START + timedelta(days=800)):
        for known in (None, START + timedelta(hours=6)):
            views = []
            for d in (plain, rich):
                d.clock.set(START + timedelta(days=1))
                view: Any = d.bot if known is None else d.bot.as_of(known_at=known)
                views.append(view if at is None else view.at(at))
            for (name, expected), (_, actual) in zip(reads(views[0]), reads(views[1]), strict=True):
                assert expected == actual, (name, at, known)


def test_the_test_sees_differences() -> None:
    """A user's reads do differ, so that the comparison above says something."""
    plain, rich = desk(), desk()
    visible(plain, lambda d, number: None)
    visible(rich, secrets)
    assert dict(reads(plain.ann)) != dict(reads(rich.ann))


@settings(max_examples=15)
@given(st.lists(st.integers(0, 16), max_size=6, unique=True))
def test_wherever_secrets_are_written_nothing_moves(places: list[int]) -> None:
    """Positions and keys that hidden memories take up never show."""
    plain, rich = desk(), desk()
    visible(plain, lambda d, number: None)

    def some(d: Desk, number: int) -> None:
        if number in places:
            d.ann.remember(Fact(f"secret {number} oolong"), id=named(HIDDEN + number), visibility=private())

    visible(rich, some)
    for (name, expected), (_, actual) in zip(reads(plain.bot), reads(rich.bot), strict=True):
        assert expected == actual, name


def test_errors_do_not_tell() -> None:
    """Asking for the hidden and for the absent gives one text, in every read that takes a memory."""
    d = desk()
    hidden = d.ann.remember(Fact("secret"), id=named(HIDDEN), visibility=private())
    for name in ("get", "neighbours", "history", "why", "explain", "scores", "accesses"):
        texts = set()
        for id in (named(HIDDEN), named(HIDDEN + 1)):
            with pytest.raises(EngramError) as caught:
                getattr(d.bot, name)(id)
            texts.add((type(caught.value), str(caught.value).replace(id, "ID")))
        assert len(texts) == 1, name
    assert d.ann.get(hidden).id == named(HIDDEN)
