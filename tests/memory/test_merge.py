"""Two memories of one thing become one, and two again. Source: model §8."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve, frozen

from engram_core.commands import Archive, Delete, Merge, Restore, Tag, Unmerge
from engram_core.errors import ForbiddenError
from engram_core.events import (
    MemoryAbsorbed,
    MemoryErased,
    MemoryMerged,
    MemoryMergedInto,
    MemoryUnmerged,
)
from engram_core.kinds import KINDS, Attributes, Fact, KindSpec, Organization, Person
from engram_core.memory import Known, decide, memory_decider
from engram_core.testing import Scenario, happened, memory_created
from engram_core.values import EvidenceRef, assistant, private, standard
from engram_core.vocab import ArchiveReason, StoredStatus
from tests.memory.contexts import context_of

ALICE = memory_created(Person(full_name="Alice Ng", aliases=("Ali",)), tags=("x",), confidence=0.9)
TWIN = memory_created(
    Person(full_name="A. Ng", aliases=("Ali", "Ally")),
    tags=("x", "y"),
    confidence=0.5,
    evidence=(EvidenceRef("quote", "hello"),),
)


def pair() -> Scenario[Any, Any]:
    """The survivor "a" and its twin "b"."""
    return Scenario[Any, Any]().given(ALICE, happened(TWIN, "b"))


def test_ids_and_text_go_into_events_of_their_owners() -> None:
    """What the source gave is owned by the source, so that erasing it takes that along."""
    outcome = pair().when(Merge("a", "b"))
    outcome.then(
        MemoryMerged("b"), MemoryAbsorbed("b", ("A. Ng", "Ally"), ("y",)), happened(MemoryMergedInto("a"), "b")
    )
    assert ["a", "b", "b"] == [change.owner for change in outcome.changes]


def test_names_of_an_older_schema_are_read_in_theirs() -> None:
    """Of either side: what an upcaster makes a name is one."""

    @frozen
    class Ship(Attributes):
        name: str
        aliases: tuple[str, ...] = ()

    ship = KindSpec(
        kind="ship",
        attributes=Ship,
        version=2,
        upcasters={1: lambda raw: {"name": raw["called"]}},
        view="view_ships",
        label_fields=("name",),
        alias_field="aliases",
        entity=True,
    )
    kinds = KINDS.with_kinds(ship)
    known = Scenario[Any, Any](memory_decider(kinds), kinds=kinds)
    for a, b, given in (
        ({"called": "Fram"}, {"called": "Gjøa"}, ("Gjøa",)),
        ({"called": "Fram"}, {"called": "Fram"}, ()),
    ):
        begun = [
            happened(evolve(memory_created(Ship("x"), kinds=kinds), attributes=raw, attributes_version=1), id)
            for id, raw in (("a", a), ("b", b))
        ]
        _, absorbed, _ = decide(Merge("a", "b"), known.given(*begun).state, context_of(kinds=kinds))
        assert MemoryAbsorbed("b", given) == absorbed.event


def test_the_survivor_keeps_what_it_is() -> None:
    """Id, confidence, dates and evidence stay; aliases and tags are united."""
    outcome = pair().when(Merge("a", "b"))
    outcome.then_state(
        "a",
        confidence__confidence=0.9,
        evidence=(),
        tags=("x",),
        all_tags=("x", "y"),
        absorbed_aliases=("A. Ng", "Ally"),
    )
    outcome.then_state(
        "b",
        lifecycle__stored=StoredStatus.ARCHIVED,
        lifecycle__because=ArchiveReason.MERGED,
        lifecycle__merged_into="a",
    )


def test_unmerge_takes_back_what_the_merge_gave() -> None:
    """And nothing else: what happened since stays."""
    merged = pair().when(Merge("a", "b")).when(Tag("a", ("z",)))
    apart = merged.when(Unmerge("b"))
    apart.then(happened(MemoryUnmerged("b", "a"), "a"), MemoryUnmerged("b", "a"))
    apart.then_state("a", all_tags=("x", "z"), absorbed_aliases=())
    apart.then_state("b", lifecycle__stored=StoredStatus.ACTIVE, lifecycle__merged_into=None)


def test_a_merged_source_returns_by_unmerge_alone() -> None:
    """Restoring it is refused, and does not tell into what it was merged."""
    merged = pair().when(Merge("a", "b"))
    merged.when(Restore("b", standard())).then_rejected("illegal_transition", naming="unmerge")
    pair().when(Archive("b")).when(Unmerge("b")).then_rejected("illegal_transition", naming="restore")


def test_merging_again_changes_nothing() -> None:
    """The source is there already."""
    pair().when(Merge("a", "b")).when(Merge("a", "b")).then_nothing()


def test_merges_chain_and_make_no_circle() -> None:
    """What a source absorbed goes along; a survivor that was merged itself cannot be merged back."""
    third = memory_created(Person(full_name="Alice"), tags=("w",))
    chained = pair().given(happened(third, "c")).when(Merge("b", "c")).when(Merge("a", "b"))
    chained.then_state("a", all_tags=("x", "y", "w"), absorbed_aliases=("A. Ng", "Ally", "Alice"))
    for source in ("b", "c"):
        chained.when(Merge(source, "a")).then_rejected("illegal_transition")
    chained.when(Merge("a", "a")).then_rejected("conflict")


@pytest.mark.parametrize(
    ("one", "other"), [(Person(full_name="A"), Organization(name="A")), (Fact("same"), Fact("same"))]
)
def test_only_two_of_one_entity_kind(one: Any, other: Any) -> None:
    """Other things are superseded instead."""
    scenario = Scenario[Any, Any]().given(memory_created(one), happened(memory_created(other), "b"))
    scenario.when(Merge("a", "b")).then_rejected("conflict")


def test_both_must_be_live() -> None:
    """Archived and deleted ones are neither survivor nor source."""
    for ended in (Archive, Delete):
        assert pair().when(ended("a")).when(Merge("a", "b")).error is not None
        assert pair().when(ended("b")).when(Merge("a", "b")).error is not None


def test_the_survivors_audience_includes_the_sources() -> None:
    """Nobody loses sight of what he could see."""
    hidden = memory_created(Person(full_name="Alice"), visibility=private())
    Scenario[Any, Any]().given(hidden, happened(TWIN, "b")).when(Merge("a", "b")).then_rejected("conflict")
    assert Scenario[Any, Any]().given(TWIN, happened(hidden, "b")).when(Merge("a", "b")).events


def test_an_erased_survivor_lets_its_source_go() -> None:
    """No event is written to what was erased."""
    erased = pair().when(Merge("a", "b")).given(MemoryErased(()))
    erased.when(Unmerge("b")).then(MemoryUnmerged("b", "a"))


def test_what_the_actor_may_not_see_is_not_unmerged() -> None:
    """Half of an unmerge would leave the survivor with what was not taken back."""
    bot = assistant("bot")
    state = pair().when(Merge("a", "b")).scenario.state.memories["b"]
    with pytest.raises(ForbiddenError, match="ask a user"):
        decide(Unmerge("b"), Known({"b": state}), context_of(bot))
