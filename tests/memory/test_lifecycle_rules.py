"""What can be done to a memory in which stage of its life. Source: model §3."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from engram_core.commands import (
    AdjustImportance,
    Archive,
    Delete,
    Edit,
    MarkDistinct,
    Resolve,
    Restore,
    SetLifetime,
    SetValidity,
    Tag,
    UpdateAttributes,
)
from engram_core.events import (
    ContradictionResolved,
    MarkedDistinct,
    MemoryArchived,
    MemoryContradicted,
    MemoryDeleted,
    MemoryEdited,
    MemoryImportanceAdjusted,
    MemoryLifetimeChanged,
    MemoryNoted,
    MemoryRestored,
    MemoryTagged,
    MemoryValidityChanged,
)
from engram_core.kinds import Fact, Goal, Person
from engram_core.policy import Limits
from engram_core.testing import Scenario, happened, memory_created
from engram_core.testing.scenario import START
from engram_core.values import Validity, ephemeral, permanent, standard, until
from engram_core.vocab import ArchiveReason, StoredStatus

DAY = timedelta(days=1)


def fact(**fields: Any) -> Scenario[Any, Any]:
    """A fact "a", and another one "b"."""
    return Scenario[Any, Any]().given(
        memory_created(Fact("The sky is blue."), **fields), happened(memory_created(Fact("It is grey.")), "b")
    )


# -- nothing to do -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        Edit("a"),
        Edit("a", title=None, content=""),
        UpdateAttributes("a", {}),
        UpdateAttributes("a", {"statement": "The sky is blue."}),
        Tag("a"),
        Tag("a", ("x",), ("y",)),
        AdjustImportance("a"),
        AdjustImportance("a", pinned=False, user_weight=None),
        SetLifetime("a", standard()),
        SetValidity("a"),
        SetValidity("a", None, None),
        Restore("a"),
        Restore("a", standard()),
    ],
    ids=repr,
)
def test_what_is_so_already_emits_nothing(command: Any) -> None:
    """A command that changes nothing is no error either."""
    fact(tags=("x",)).when(command).then_nothing()


# -- archive, restore, delete --------------------------------------------------------------------------


@pytest.mark.parametrize("because", ArchiveReason)
def test_archiving_says_why_and_can_be_taken_back(because: ArchiveReason) -> None:
    """Once is enough, and restoring forgets the reason."""
    archived = fact().when(Archive("a", because, "note")).then(MemoryArchived(because, "note"))
    archived.then_state(lifecycle__stored=StoredStatus.ARCHIVED, lifecycle__because=because)
    archived.when(Archive("a", ArchiveReason.WRONG)).then_nothing()
    archived.when(Restore("a")).then(MemoryRestored()).then_state(
        lifecycle__stored=StoredStatus.ACTIVE, lifecycle__because=None
    )


def test_narrative_changes_need_an_active_memory() -> None:
    """The refusal says to restore it first."""
    archived = fact().when(Archive("a"))
    for command in (Edit("a", content="x"), UpdateAttributes("a", {"statement": "x"}), Tag("a", ("x",))):
        archived.when(command).then_rejected("illegal_transition", naming="restore it first")


def test_a_stale_or_expired_memory_can_be_corrected() -> None:
    """Its stored status is active."""
    fact(lifetime=until(START - DAY)).when(Edit("a", content="x"), at=9_000 * DAY).then(MemoryEdited(content="x"))


def test_on_a_deleted_memory_only_erasure_works() -> None:
    """Deleting it again is an error, too."""
    deleted = fact().when(Delete("a", "note")).then(MemoryDeleted("note"))
    for command in (Delete("a"), Archive("a"), Restore("a"), Edit("a", content="x"), AdjustImportance("a", True)):
        deleted.when(command).then_rejected("illegal_transition", naming="only erase")


def test_what_expired_needs_a_new_lifetime() -> None:
    """One that has ended, too, is no help; a later end, or none, is."""
    scenario = fact(lifetime=until(START))
    for expired in (scenario, scenario.when(Archive("a", ArchiveReason.EXPIRED)).scenario):
        expired.when(Restore("a", until(START - DAY))).then_rejected("illegal_transition", naming="lifetime")
        expired.when(Restore("a", standard())).then(MemoryRestored(standard())).then_state(
            lifetime=standard(), lifecycle__stored=StoredStatus.ACTIVE
        )
        expired.when(Restore("a", until(START + DAY))).then(MemoryRestored(until(START + DAY)))
    scenario.when(Archive("a")).when(Restore("a")).then_rejected("illegal_transition", naming="lifetime")


def test_an_ephemeral_memory_expires_like_any_other() -> None:
    """A fact after seven days, at the very instant."""
    archived = fact(lifetime=ephemeral()).when(Archive("a"))
    assert archived.when(Restore("a"), at=7 * DAY - timedelta(microseconds=1)).events
    archived.when(Restore("a"), at=7 * DAY).then_rejected("illegal_transition")


def test_a_pin_keeps() -> None:
    """What is pinned does not expire, and is restored without a new lifetime."""
    pinned = fact(lifetime=until(START - DAY), pinned=True).when(Archive("a"))
    pinned.when(Restore("a")).then(MemoryRestored())


def test_restoring_what_is_there_may_set_its_lifetime() -> None:
    """A lifetime that was asked for is not passed over."""
    fact().when(Restore("a", permanent())).then(MemoryLifetimeChanged(permanent()))


# -- text, tags, importance, windows -------------------------------------------------------------------


def test_a_title_is_stripped_and_can_be_cleared() -> None:
    """A blank one is refused."""
    titled = fact().when(Edit("a", title=" Sky ")).then(MemoryEdited(title="Sky"))
    titled.when(Edit("a", title=None)).then(MemoryEdited(title=None)).then_state(text__title=None)
    titled.when(Edit("a", title="  ")).then_rejected("invalid_attributes", naming="title")


def test_tags_are_normal_and_counted() -> None:
    """A tag in another spelling is the same; the limit counts what would be there."""
    outcome = fact().when(Tag("a", (" Straße ", "STRASSE", "two  words")))
    outcome.then(MemoryTagged(("strasse", "two  words")))
    fact(tags=("x",)).when(Tag("a", ("x",), ("x",))).then_nothing()
    full = Scenario[Any, Any](limits=Limits(tags=2)).given(memory_created(Fact("x"), tags=("x", "y", "z")))
    full.when(Tag("a", ("w",))).then_rejected("invalid_attributes", naming="tags")
    full.when(Tag("a", (), ("x",))).then(MemoryTagged((), ("x",)))
    full.when(Tag("a", ("w",), ("x", "y"))).then(MemoryTagged(("w",), ("x", "y")))


def test_limits_bind_only_what_is_given() -> None:
    """A memory from the time of wider limits can still be given a title."""
    narrow = Scenario[Any, Any](limits=Limits(content=3)).given(memory_created(Fact("x"), content="long ago"))
    narrow.when(Edit("a", title="T")).then(MemoryEdited(title="T"))
    narrow.when(Edit("a", content="long")).then_rejected("invalid_attributes", naming="content")


def test_importance_is_checked() -> None:
    """A pin is true or false, a weight a share."""
    fact().when(AdjustImportance("a", pinned=True, user_weight=1)).then(MemoryImportanceAdjusted(True, 1.0))
    for wrong in ({"pinned": "yes"}, {"pinned": 1}, {"user_weight": 1.1}, {"user_weight": True}):
        fact().when(AdjustImportance("a", **wrong)).then_rejected("invalid_attributes", naming=next(iter(wrong)))


def test_a_window_is_changed_side_by_side() -> None:
    """What is not mentioned stays, and what does not fit together is refused."""
    opened = fact(validity=Validity(START)).when(SetValidity("a", valid_to=START + DAY))
    opened.then(MemoryValidityChanged(Validity(START, START + DAY)))
    opened.when(SetValidity("a", valid_from=None)).then(MemoryValidityChanged(Validity(None, START + DAY)))
    opened.when(SetValidity("a", valid_to=START)).then_rejected("invalid_attributes", naming="valid_to")


def test_attributes_change_sparsely() -> None:
    """None clears an optional field, and is an error for a required one; the kind's checks hold."""
    goal = Scenario[Any, Any]().given(memory_created(Goal(statement="Run", status="active", horizon="short")))
    cleared = goal.when(UpdateAttributes("a", {"horizon": None, "status": "achieved"}))
    cleared.then_state(attributes__raw={"statement": "Run", "status": "achieved"})
    for wrong in ({"statement": None}, {"status": "won"}, {"speed": 1}):
        goal.when(UpdateAttributes("a", wrong)).then_rejected("invalid_attributes", naming=next(iter(wrong)))


def test_an_emptied_list_is_gone() -> None:
    """Aliases can be taken away."""
    person = Scenario[Any, Any]().given(memory_created(Person(full_name="Ann", aliases=("A",))))
    person.when(UpdateAttributes("a", {"aliases": ()})).then_state(attributes__raw={"full_name": "Ann"})


# -- two memories --------------------------------------------------------------------------------------


def test_marking_two_distinct_is_for_good() -> None:
    """Said of one, it holds for both."""
    once = fact().when(MarkDistinct("a", "b")).then(MarkedDistinct("b"))
    once.when(MarkDistinct("a", "b")).then_nothing()
    once.when(MarkDistinct("b", "a")).then_nothing()
    fact().when(MarkDistinct("a", "a")).then_rejected("conflict")


def test_a_dispute_is_resolved_for_one_side_or_both() -> None:
    """The side that is not kept is archived as wrong."""
    disputed = fact().given(MemoryContradicted(0.8, 0.0, "b"))
    disputed.when(Resolve("a", "b", "both", "n")).then(ContradictionResolved("b", "both"), MemoryNoted("b", "n"))
    disputed.when(Resolve("a", "b", "a")).then(
        ContradictionResolved("b", "a"), happened(MemoryArchived(ArchiveReason.WRONG), "b")
    )
    disputed.when(Resolve("a", "b", "b")).then(ContradictionResolved("b", "b"), MemoryArchived(ArchiveReason.WRONG))
    disputed.when(Resolve("a", "b", "c")).then_rejected("invalid_attributes", naming="keep")


def test_resolving_again_changes_nothing_until_somebody_disputes_anew() -> None:
    """Another decision, and an answer to a new dispute, count."""
    settled = fact().given(MemoryContradicted(0.8, 0.0, "b")).when(Resolve("a", "b", "both"))
    settled.when(Resolve("a", "b", "both")).then_nothing()
    settled.when(Resolve("b", "a", "both")).then_nothing()
    assert settled.when(Resolve("a", "b", "a")).events
    anew = settled.given(MemoryContradicted(0.8, 0.0, "b"))
    assert anew.when(Resolve("a", "b", "both")).events
