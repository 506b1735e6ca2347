"""Which edges there may be, seen by whom. Source: model §5."""

from __future__ import annotations

from typing import Any

import pytest

from engram_core.commands import AddLink, Delete, Remember, RemoveLink
from engram_core.decider import Change
from engram_core.errors import RejectedError
from engram_core.events import MemoryDeleted, MemoryLinked, MemoryUnlinked
from engram_core.kinds import (
    KINDS,
    RELATIONS,
    Asset,
    Attributes,
    Contact,
    Fact,
    Goal,
    Location,
    Organization,
    Person,
    Project,
)
from engram_core.memory import Known, decide
from engram_core.policy import Limits
from engram_core.testing import Happened, Scenario, happened, memory_created
from engram_core.values import Link, assistant, private
from engram_core.vocab import Relation
from tests.memory.contexts import context_of

R = Relation
BOT = assistant("bot")
EXAMPLES: dict[str, Attributes] = {
    "person": Person(full_name="Ann"),
    "organization": Organization(name="Acme"),
    "project": Project(name="Moon", status="active"),
    "goal": Goal(statement="Sleep", status="active"),
    "location": Location(name="Oslo"),
    "contact": Contact(channel="email", value="a@example.org"),
    "asset": Asset(asset_type="device"),
    "fact": Fact("The sky is blue."),
}


def begun(id: str, attributes: Attributes, **fields: Any) -> Happened:
    """A memory of that id."""
    return happened(memory_created(attributes, **fields), id)


def pair(source: str, target: str) -> Scenario[Any, Any]:
    """A memory "a" of one kind, and "b" of another."""
    return Scenario[Any, Any]().given(begun("a", EXAMPLES[source]), begun("b", EXAMPLES[target]))


# -- both ends -----------------------------------------------------------------------------------------

ALLOWED = {
    (source, relation, target)
    for source in EXAMPLES
    for relation, targets, sources in [
        (R.ABOUT, set(EXAMPLES), set(EXAMPLES)),
        (R.INVOLVES, {"person", "organization"}, {"project", "goal"}),
        (R.OWNED_BY, {"person", "organization"}, {"contact", "asset"}),
        (R.WORKS_AT, {"organization"}, {"person"}),
        (R.LOCATED_IN, {"location"}, set(EXAMPLES)),
        (R.RELATES_TO, set(EXAMPLES), set(EXAMPLES)),
        (R.SUPERSEDES, set(EXAMPLES), set(EXAMPLES)),
        (R.DERIVED_FROM, set(EXAMPLES), set(EXAMPLES)),
        (R.CONTRADICTS, set(EXAMPLES), set(EXAMPLES)),
    ]
    for target in targets
    if source in sources
} | {(kind, R.PART_OF, kind) for kind in ("project", "goal", "location")}


@pytest.mark.parametrize("source", EXAMPLES)
@pytest.mark.parametrize("relation", Relation)
def test_both_ends_are_checked(source: str, relation: Relation) -> None:
    """Exactly the pairs of kinds that the model lists can be joined, at creation and later."""
    found = set()
    for target in EXAMPLES:
        scenario = pair(source, target)
        later = scenario.when(AddLink("a", relation, "b"))
        spec = KINDS.spec(source)
        new = Remember(
            memory_id="n",
            kind=source,
            attributes=KINDS.unstructure(EXAMPLES[source]),
            attributes_version=spec.version,
            links=(Link(relation, "b"),),
        )
        assert (later.error is None) == (scenario.when(new).error is None)
        if later.error is None:
            found.add((source, relation, target))
    assert found == {allowed for allowed in ALLOWED if allowed[:2] == (source, relation)}


def test_a_kind_says_what_it_may_emit() -> None:
    """The refusal lists it."""
    pair("fact", "organization").when(AddLink("a", R.WORKS_AT, "b")).then_rejected("conflict", naming="about")


def test_no_memory_is_linked_to_itself() -> None:
    """Under any relation."""
    for relation in Relation:
        pair("project", "project").when(AddLink("a", relation, "a")).then_rejected("conflict")


# -- the target ----------------------------------------------------------------------------------------


def test_a_new_edge_needs_a_target() -> None:
    """A missing or deleted one is refused; an archived one is there."""
    scenario = pair("fact", "fact")
    scenario.when(AddLink("a", R.ABOUT, "c")).then_rejected("not_found")
    scenario.when(Delete("b")).when(AddLink("a", R.ABOUT, "b")).then_rejected("conflict", naming="deleted")


def test_edges_may_dangle() -> None:
    """What becomes of the target writes nothing here, and the edge can be taken away."""
    scenario = pair("fact", "fact").when(AddLink("a", R.ABOUT, "b")).when(Delete("b"))
    scenario.then(happened(MemoryDeleted(), "b")).then_state(edges__links={Link(R.ABOUT, "b"): 3})
    scenario.when(RemoveLink("a", R.ABOUT, "b")).then(MemoryUnlinked(R.ABOUT, "b"))


# -- once ----------------------------------------------------------------------------------------------


def test_a_second_edge_is_a_conflict() -> None:
    """`ensure` makes it no error and no event."""
    once = pair("fact", "person").when(AddLink("a", R.ABOUT, "b")).then(MemoryLinked(R.ABOUT, "b"))
    once.when(AddLink("a", R.ABOUT, "b")).then_rejected("conflict", naming="ensure_link")
    once.when(AddLink("a", R.ABOUT, "b", ensure=True)).then_nothing()


@pytest.mark.parametrize("relation", [r for r, rule in RELATIONS.items() if rule.symmetric])
def test_a_symmetric_pair_has_one_edge(relation: Relation) -> None:
    """The other direction is the same edge, and either end may end it."""
    once = pair("fact", "fact").when(AddLink("a", relation, "b"))
    once.when(AddLink("b", relation, "a")).then_rejected("conflict")
    once.when(AddLink("b", relation, "a", ensure=True)).then_nothing()
    once.when(RemoveLink("b", relation, "a")).then(happened(MemoryUnlinked(relation, "b"), "a"))
    once.when(RemoveLink("a", relation, "b")).then(MemoryUnlinked(relation, "b"))
    once.when(Delete("a")).when(RemoveLink("b", relation, "a")).then_nothing()


def test_directed_edges_may_face_each_other() -> None:
    """`about` says something else in each direction."""
    once = pair("fact", "fact").when(AddLink("a", R.ABOUT, "b"))
    once.when(AddLink("b", R.ABOUT, "a")).then(MemoryLinked(R.ABOUT, "a"))
    once.when(RemoveLink("b", R.ABOUT, "a")).then_nothing()


def test_an_absent_edge_ends_without_an_event() -> None:
    """Unlinking what is not linked changes nothing."""
    pair("fact", "fact").when(RemoveLink("a", R.ABOUT, "b")).then_nothing()
    pair("fact", "fact").when(RemoveLink("a", R.ABOUT, "nowhere")).then_nothing()


def test_links_are_limited() -> None:
    """One more than the limit is refused."""
    scenario = Scenario[Any, Any](limits=Limits(links=1)).given(
        begun("a", Fact("x"), links=(Link(R.ABOUT, "b"),)), begun("b", Fact("y")), begun("c", Fact("z"))
    )
    scenario.when(AddLink("a", R.ABOUT, "c")).then_rejected("invalid_attributes", naming="links")


# -- shape ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", [R.PART_OF, R.DERIVED_FROM, R.SUPERSEDES])
def test_circles_are_refused(relation: Relation) -> None:
    """However long the way back is."""
    goal = Goal(statement="Sleep", status="active")
    scenario = Scenario[Any, Any]().given(*(begun(id, goal) for id in "abc"))
    chain = scenario.given(MemoryLinked(relation, "b"), happened(MemoryLinked(relation, "c"), "b"))
    chain.when(AddLink("c", relation, "a")).then_rejected("conflict")
    assert chain.when(AddLink("a", relation, "c")).events


def test_other_relations_may_run_in_circles() -> None:
    """Nothing is wrong with two that are about each other."""
    assert {R.PART_OF, R.DERIVED_FROM, R.SUPERSEDES} == {r for r, rule in RELATIONS.items() if rule.acyclic}


def test_a_contact_has_one_owner() -> None:
    """A second one is refused until the first is unlinked or gone; an asset may have several."""
    people = [begun("b", Person(full_name="Ann")), begun("c", Person(full_name="Bob"))]
    contact = Scenario[Any, Any]().given(begun("a", EXAMPLES["contact"]), *people)
    owned = contact.when(AddLink("a", R.OWNED_BY, "b"))
    owned.when(AddLink("a", R.OWNED_BY, "c")).then_rejected("conflict", naming="at most one")
    assert owned.when(RemoveLink("a", R.OWNED_BY, "b")).when(AddLink("a", R.OWNED_BY, "c")).events
    assert owned.when(Delete("b")).when(AddLink("a", R.OWNED_BY, "c")).events
    asset = Scenario[Any, Any]().given(begun("a", EXAMPLES["asset"]), *people)
    assert asset.when(AddLink("a", R.OWNED_BY, "b")).when(AddLink("a", R.OWNED_BY, "c")).events


# -- hidden ends ---------------------------------------------------------------------------------------


def as_seen_by_bot(scenario: Scenario[Any, Any]) -> Known:
    """What the assistant's decisions may look at: all but what is private."""
    shown = {id: m for id, m in scenario.state.memories.items() if m.visibility != private()}
    return Known(shown, None, frozenset(scenario.state.memories))


def bot_asks(scenario: Scenario[Any, Any], command: Any) -> object:
    """What the assistant is answered."""
    try:
        return decide(command, as_seen_by_bot(scenario), context_of(BOT))
    except (RejectedError, LookupError) as error:
        return type(error).__name__, str(error).replace("hidden", "absent")


@pytest.mark.parametrize("relation", [R.ABOUT, R.RELATES_TO, R.SUPERSEDES])
def test_an_edge_to_a_hidden_memory_is_as_absent_as_its_end(relation: Relation) -> None:
    """Linking and unlinking answer as for an id that never was, whether or not the edge is there."""
    scenario = Scenario[Any, Any]().given(
        begun("a", Fact("x"), links=(Link(relation, "hidden"),)), begun("hidden", Fact("y"), visibility=private())
    )
    for command in (AddLink, RemoveLink):
        hidden = bot_asks(scenario, command("a", relation, "hidden"))
        assert hidden == bot_asks(scenario, command("a", relation, "absent"))


def test_a_hidden_owner_does_not_count() -> None:
    """A second owner that hidden rows cause is tolerated: the rule looks at what the actor may see."""
    scenario = Scenario[Any, Any]().given(
        begun("a", EXAMPLES["contact"], links=(Link(R.OWNED_BY, "hidden"),)),
        begun("hidden", Person(full_name="Ann"), visibility=private()),
        begun("b", Person(full_name="Bob")),
    )
    assert (Change("a", MemoryLinked(R.OWNED_BY, "b"), "a"),) == bot_asks(scenario, AddLink("a", R.OWNED_BY, "b"))
    scenario.when(AddLink("a", R.OWNED_BY, "b")).then_rejected("conflict")
