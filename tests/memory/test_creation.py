"""How a memory begins. Source: model §2."""

from __future__ import annotations

from typing import Any

import pytest

from engram_core.commands import Remember
from engram_core.events import MemoryCreated
from engram_core.kinds import Fact, Person
from engram_core.testing import Scenario, happened, memory_created
from engram_core.values import Actor, Link, assistant, importer, plugin, system, user
from engram_core.vocab import Relation


def remembering(**fields: Any) -> Remember:
    """A new fact."""
    usual = {"memory_id": "n", "kind": "fact", "attributes": {"statement": "x"}, "attributes_version": 1}
    return Remember(**{**usual, **fields})


@pytest.mark.parametrize(
    ("by", "prior"),
    [(user("a"), 0.95), (assistant("a"), 0.60), (plugin("a"), 0.60), (importer("a"), 0.70), (system("a"), 0.70)],
    ids=str,
)
def test_belief_begins_at_the_prior_of_who_speaks(by: Actor, prior: float) -> None:
    """An explicit value wins and is recorded."""
    scenario = Scenario[Any, Any]()
    scenario.when(remembering(), by=by).then_state("n", confidence__confidence=prior)
    scenario.when(remembering(confidence=0.3), by=by).then_state("n", confidence__confidence=0.3)


def test_an_id_is_taken_once() -> None:
    """Also by a memory that the actor may not see; the words are the same."""
    scenario = Scenario[Any, Any]().given(memory_created(Fact("The sky is blue.")))
    scenario.when(remembering(memory_id="a")).then_rejected("conflict", naming="taken")


@pytest.mark.parametrize("by", [assistant("a"), plugin("a")], ids=str)
def test_assistants_and_plugins_choose_no_ids(by: Actor) -> None:
    """The others may supply one."""
    Scenario[Any, Any]().when(remembering(own_id=True), by=by).then_rejected("forbidden")
    assert Scenario[Any, Any]().when(remembering(own_id=True), by=importer("x")).events


def test_a_repeated_link_or_external_id_counts_once() -> None:
    """Lists of a creation hold each entry once."""
    about = Link(Relation.ABOUT, "a")
    outcome = (
        Scenario[Any, Any]()
        .given(memory_created(Fact("The sky is blue.")))
        .when(remembering(links=(about, about), external_ids=(("s", "1"), ("s", "1"))))
    )
    (created,) = outcome.events
    assert isinstance(created, MemoryCreated)
    assert ((about,), (("s", "1"),)) == (created.links, created.external_ids)
    outcome.then_state("n", edges__links={about: 2})


def test_a_contact_begins_with_one_owner_at_most() -> None:
    """Two at once are refused."""
    people = [memory_created(Person(full_name=name)) for name in ("Ann", "Bob")]
    scenario = Scenario[Any, Any]().given(people[0], happened(people[1], "b"))
    contact = {"kind": "contact", "attributes": {"channel": "email", "value": "a@b"}}
    both = (Link(Relation.OWNED_BY, "a"), Link(Relation.OWNED_BY, "b"))
    scenario.when(remembering(**contact, links=both)).then_rejected("conflict", naming="at most one")
    assert scenario.when(remembering(**contact, links=both[:1])).events
