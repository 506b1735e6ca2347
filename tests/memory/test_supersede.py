"""A memory takes another's place from an instant on. Source: model §3."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from engram_core.commands import AddLink, Archive, Remember, RemoveLink, Supersede
from engram_core.events import MemoryCreated, MemoryLinked, MemorySuperseded, MemoryValidityChanged
from engram_core.kinds import Fact, Person
from engram_core.testing import Scenario, happened, memory_created
from engram_core.testing.scenario import START
from engram_core.values import Link, Validity, Visibility, assistant, private, restricted, shared
from engram_core.vocab import Relation

DAY = timedelta(days=1)
SUPERSEDES = Relation.SUPERSEDES
BOT, OTHER = assistant("bot"), assistant("other")


def pair(old: Validity | None = None, new: Validity | None = None) -> Scenario[Any, Any]:
    """An old fact "a" and a new one "b"."""
    return Scenario[Any, Any]().given(
        memory_created(Fact("Alice lives in Rome."), validity=old or Validity()),
        happened(memory_created(Fact("Alice lives in Oslo."), validity=new or Validity()), "b"),
    )


def test_it_is_one_batch_of_edge_window_and_event() -> None:
    """The new one gets the instant as its beginning, the old one's open window ends there."""
    outcome = pair().when(Supersede("a", "b", START + DAY))
    outcome.then(
        happened(MemoryLinked(SUPERSEDES, "a"), "b"),
        happened(MemoryValidityChanged(Validity(START + DAY)), "b"),
        MemorySuperseded("b", START + DAY),
    )
    outcome.then_state("a", validity=Validity(None, START + DAY), lifecycle__superseded=(("b", START + DAY),))
    outcome.then_state("b", validity=Validity(START + DAY), edges__links={Link(SUPERSEDES, "a"): 3})


@pytest.mark.parametrize(
    ("given", "new", "expected"),
    [
        (START + DAY, Validity(START + 2 * DAY), START + DAY),
        (None, Validity(START + 2 * DAY), START + 2 * DAY),
        (None, Validity(), START),
    ],
)
def test_the_instant_is_given_or_that_of_the_new_one_or_now(
    given: datetime | None, new: Validity, expected: datetime
) -> None:
    """A beginning that was given to the new one stays."""
    outcome = pair(new=new).when(Supersede("a", "b", given))
    assert MemorySuperseded("b", expected) == outcome.events[-1]
    outcome.then_state("b", validity=new if new.valid_from else Validity(expected))


@pytest.mark.parametrize("offset", [timedelta(0), -DAY])
def test_it_must_begin_after_the_old_one(offset: timedelta) -> None:
    """Otherwise nothing would be left of the old one's truth."""
    pair(old=Validity(START)).when(Supersede("a", "b", START + offset)).then_rejected(
        "invalid_attributes", naming="effective_at"
    )


def test_it_must_begin_before_the_new_one_ends() -> None:
    """What is over takes nobody's place."""
    pair(new=Validity(None, START)).when(Supersede("a", "b", START)).then_rejected(
        "invalid_attributes", naming="effective_at"
    )


def test_a_closed_window_stays_closed() -> None:
    """It ended before."""
    outcome = pair(old=Validity(None, START - DAY)).when(Supersede("a", "b", START))
    outcome.then_state("a", validity=Validity(None, START - DAY))


def test_doing_it_again_changes_nothing() -> None:
    """And a second superseder may come beside the first."""
    once = pair().when(Supersede("a", "b"))
    once.when(Supersede("a", "b")).then_nothing()
    third = once.given(happened(memory_created(Fact("Alice lives in Bergen.")), "c"))
    third.when(Supersede("a", "c", START + DAY)).then_state(
        lifecycle__superseded=(("b", START), ("c", START + DAY)), validity=Validity(None, START)
    )


def test_circles_are_refused() -> None:
    """Whoever was superseded takes nobody's place who took his."""
    once = pair().when(Supersede("a", "b"))
    once.when(Supersede("b", "a")).then_rejected("conflict")
    once.when(Supersede("a", "a")).then_rejected("conflict")


def test_kinds_may_differ() -> None:
    """A person can take a fact's place."""
    scenario = Scenario[Any, Any]().given(
        memory_created(Fact("There is an Alice.")), happened(memory_created(Person(full_name="Alice")), "b")
    )
    assert scenario.when(Supersede("a", "b")).events


def test_an_archived_one_takes_nobodys_place() -> None:
    """But its own may be taken."""
    pair().when(Archive("b")).when(Supersede("a", "b")).then_rejected("illegal_transition")
    assert pair().when(Archive("a")).when(Supersede("a", "b")).events


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        (shared(), shared(), True),
        (private(), shared(), True),
        (private(), private(), True),
        (shared(), private(), False),
        (shared(), restricted(BOT), False),
        (restricted(BOT), private(), False),
        (restricted(BOT), restricted(BOT, OTHER), True),
        (restricted(BOT, OTHER), restricted(BOT), False),
    ],
)
def test_nobody_is_left_without_either(old: Visibility, new: Visibility, *, fits: bool) -> None:
    """The new one's audience includes the old one's, by command and at creation."""
    scenario = Scenario[Any, Any]().given(
        memory_created(Fact("old"), visibility=old), happened(memory_created(Fact("new"), visibility=new), "b")
    )
    creation = Remember(
        memory_id="n",
        kind="fact",
        attributes={"statement": "new"},
        attributes_version=1,
        visibility=new,
        links=(Link(SUPERSEDES, "a"),),
    )
    for command in (Supersede("a", "b"), AddLink("b", SUPERSEDES, "a"), creation):
        outcome = scenario.when(command)
        assert fits == (outcome.error is None)
        if not fits:
            outcome.then_rejected("conflict", naming="hidden")


def test_the_edge_alone_means_the_same() -> None:
    """Linking with `supersedes`, and creating with such a link, are supersessions."""
    linked = pair().when(AddLink("b", SUPERSEDES, "a"))
    assert linked.events == pair().when(Supersede("a", "b")).events
    created = pair().when(
        Remember(
            memory_id="n",
            kind="fact",
            attributes={"statement": "new"},
            attributes_version=1,
            links=(Link(SUPERSEDES, "a"),),
        )
    )
    assert [MemoryCreated, MemorySuperseded] == [type(event) for event in created.events]
    created.then_state("n", validity=Validity(START)).then_state("a", validity=Validity(None, START))


def test_its_edge_is_not_unlinked() -> None:
    """A supersession is taken back as a whole."""
    pair().when(Supersede("a", "b")).when(RemoveLink("b", SUPERSEDES, "a")).then_rejected("conflict", naming="undo")


def test_an_edge_that_stands_already_is_not_drawn_again() -> None:
    """As where a foreign log has the edge without what comes with it."""
    begun = Scenario[Any, Any]().given(
        memory_created(Fact("Alice lives in Rome.")),
        happened(memory_created(Fact("Alice lives in Oslo."), links=(Link(SUPERSEDES, "a"),)), "b"),
    )
    begun.when(Supersede("a", "b", START + DAY)).then(
        happened(MemoryValidityChanged(Validity(START + DAY)), "b"), MemorySuperseded("b", START + DAY)
    )
