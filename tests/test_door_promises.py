"""What callers of the door may rely on beside single rules: names, retries, defaults."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engram_core import (
    ApprovalPolicy,
    ConflictError,
    EvidenceRef,
    Fact,
    InvalidAttributesError,
    Limits,
    MemorySpace,
    Person,
    assistant,
    permanent,
    private,
    system,
    user,
)
from engram_core.kinds import Episode
from engram_core.testing import FrozenClock

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAY = NOW - timedelta(days=1)
PAGE = EvidenceRef("document", "page 4")


@pytest.fixture
def space() -> Iterator[MemorySpace]:
    """A space at noon of a day, in which assistants may add evidence."""
    policy = ApprovalPolicy.of({"assistant": ["evidence", "confirm"]})
    with MemorySpace.in_memory(clock=FrozenClock(NOW), approval=policy) as made:
        yield made


def test_a_repeated_reference_makes_nothing_more_important(space: MemorySpace) -> None:
    """It counts once, whoever repeats it; who did is told by `why`."""
    ann, bot = space.session(user("ann")), space.session(assistant("bot"))
    once, often = ann.remember(Fact("one"), evidence=PAGE), ann.remember(Fact("two"), evidence=[PAGE, PAGE])
    for _ in range(3):
        bot.add_evidence(often, PAGE)
    assert ann.get(once).importance == ann.get(often).importance
    assert (PAGE,) == ann.get(often).evidence
    assert [user("ann"), *[assistant("bot")] * 3] == [given.actor for given in ann.why(often).evidence]
    assert ann.find(order="importance")[0].importance == ann.get(once).importance
    space.maintenance(system("night")).rebuild()
    assert ann.get(once).importance == ann.get(often).importance


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Episode(occurred_at=DAY, outcome="dull"), Episode(occurred_at=DAY, outcome="great")),
        (
            {"kind": "relationship", "predicate": "works for", "since": "2024"},
            {"kind": "relationship", "predicate": "leads", "since": "2024"},
        ),
    ],
    ids=["episode", "relationship"],
)
def test_a_correction_with_the_same_date_takes_the_place(space: MemorySpace, old: Any, new: Any) -> None:
    """Where both begin at the same time, the new one stands from now on."""
    ann = space.session(user("ann"))
    if isinstance(old, dict):
        ends = {"subject_id": ann.remember(Person("A")).memory_id, "object_id": ann.remember(Person("B")).memory_id}
        old, new = ({**each, **ends} for each in (old, new))
    before = ann.remember(old)
    after = ann.supersede(before, new)
    assert "superseded" == ann.get(before).status
    assert "active" == ann.get(after).status


def test_what_was_superseded_may_supersede(space: MemorySpace) -> None:
    """An edge to something older needs no instant that a caller could not give."""
    ann = space.session(user("ann"))
    a, b, c = (
        ann.remember(Fact(text), occurred_at=NOW - timedelta(days=n)) for n, text in ((1, "a"), (2, "b"), (3, "c"))
    )
    ann.link(a, "supersedes", b)
    assert "changed" == ann.link(b, "supersedes", c).status
    assert "superseded" == ann.get(c).status


def test_a_superseding_receipt_tells_of_its_whole_batch(space: MemorySpace) -> None:
    """Its events are all that was written, the first time and again."""
    ann = space.session(user("ann"))
    old = ann.remember(Fact("old"))
    first = ann.supersede(old, Fact("new"), command_id="k")
    assert first == ann.supersede(old, Fact("new"), command_id="k")
    assert [e.event for e in space.events() if e.batch_id == first.batch_id] == list(first.events)
    assert "created" == first.status


def test_a_space_may_lower_the_limits_of_attributes() -> None:
    """For new memories and for changes; what was longer before stays as it is."""
    with MemorySpace.in_memory(limits=Limits(statement=500, text=600, aliases=1)) as space:
        ann = space.session(user("ann"))
        fits = ann.remember(Person("p" * 500, aliases=("a",), notes="n" * 600))
        for wrong, field in (
            (Fact("x" * 501), "statement"),
            (Person("p", aliases=("a", "b")), "aliases"),
            (Person("p", aliases=("a" * 501,)), "aliases"),
            (Person("p", notes="n" * 601), "notes"),
        ):
            with pytest.raises(InvalidAttributesError) as caught:
                ann.remember(wrong)
            assert [field] == [problem.field for problem in caught.value.problems]
        with pytest.raises(InvalidAttributesError, match="notes"):
            ann.update(fits, notes="n" * 601)
        ann.update(fits, aliases=("other",))


def test_only_the_memory_must_be_given_by_place(space: MemorySpace) -> None:
    """All that follows it may be named."""
    ann = space.session(user("ann"))
    one, two = ann.remember(Fact("one")), ann.remember(Fact("two"))
    ann.add_evidence(one, evidence=PAGE)
    ann.weigh(one, weight=0.5)
    ann.link(one, relation="about", target=two)
    ann.ensure_link(one, relation="about", target=two)
    ann.unlink(one, relation="about", target=two)
    ann.set_visibility(one, visibility=private())
    ann.set_lifetime(one, lifetime=permanent())
    assert 1 == len(ann.recall(query="two"))
    assert 1 == len(ann.search(text="two"))
    assert ann.diff(other=ann.at(now=NOW)) is not None
    third = ann.supersede(two, new=Fact("three"))
    ann.undo(batch=third)
    ann.redo(batch=third)
    assert space.maintenance(system("night")).verify(space.anchor()).ok


def test_a_recorded_event_has_the_names_of_the_envelope(space: MemorySpace) -> None:
    """`event_id` is its id."""
    space.session(user("ann")).remember(Fact("one"))
    (event,) = space.events()
    assert event.id == event.event_id == event.batch_id


def test_words_stand_for_values_that_need_no_more(space: MemorySpace) -> None:
    """Of visibilities and lifetimes; a word that is none is answered with what there is."""
    ann = space.session(user("ann"))
    one = ann.remember(Fact("one"), visibility="private", lifetime="permanent")
    assert (private(), permanent()) == (ann.get(one).visibility, ann.get(one).lifetime)
    ann.set_visibility(one, "shared")
    ann.set_lifetime(one, "ephemeral")
    assert ("shared", "ephemeral") == (ann.get(one).visibility.kind, ann.get(one).lifetime.kind)
    for act in (
        lambda: ann.remember(Fact("two"), visibility="restricted"),
        lambda: ann.set_visibility(one, "hidden"),
        lambda: ann.remember(Fact("two"), lifetime="until"),
        lambda: ann.set_lifetime(one, 5),
    ):
        with pytest.raises(InvalidAttributesError, match=r"must be (shared|permanent)"):
            act()


def test_a_chain_of_supersessions_may_be_said_at_one_instant(space: MemorySpace) -> None:
    """What is over by then takes another's place all the same; only a circle is refused."""
    ann = space.session(user("ann"))
    a, b, c = (ann.remember(Fact(text)) for text in ("a", "b", "c"))
    ann.link(a, "supersedes", b)
    ann.link(b, "supersedes", c)
    assert ["active", "superseded", "superseded"] == [ann.get(each).status for each in (a, b, c)]
    for later in (a, b):
        with pytest.raises(ConflictError):
            ann.link(c, "supersedes", later)
    assert 3 == len(ann.search("status:superseded")) + len(ann.search("status:active"))
