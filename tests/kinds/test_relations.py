"""The table of relations: which kinds they join, and their names backwards."""

from __future__ import annotations

import pytest

from engram_core.kinds import KINDS, RELATIONS, emitted_by, inverse, named_relation, relation_names
from engram_core.vocab import Kind, Relation

EVERYONE = {"about", "relates_to", "supersedes", "derived_from", "contradicts", "located_in"}
PAIRS = {
    "involves": {(s, t) for s in ("project", "event", "goal") for t in ("person", "organization")},
    "part_of": {("goal", "goal"), ("project", "project"), ("location", "location")},
    "owned_by": {(s, t) for s in ("contact", "asset") for t in ("person", "organization")},
    "works_at": {("person", "organization")},
    "located_in": {(s.value, "location") for s in Kind},
}


@pytest.mark.parametrize("relation", list(Relation))
def test_a_relation_joins_the_kinds_of_the_model(relation: Relation) -> None:
    """Both ends are judged, for every pair of the twelve."""
    every = {(s.value, t.value) for s in Kind for t in Kind}
    allowed = {pair for pair in every if KINDS.link_problem(pair[0], relation, pair[1]) is None}
    assert PAIRS.get(relation.value, every) == allowed


def test_what_is_wrong_with_an_edge_is_said() -> None:
    """The reason names relation and kinds."""
    assert "fact may not emit works_at" == KINDS.link_problem("fact", Relation.WORKS_AT, "organization")
    assert "works_at leads to organization, not to person" == KINDS.link_problem("person", Relation.WORKS_AT, "person")
    assert "part_of joins goal with goal, not with project" == KINDS.link_problem("goal", Relation.PART_OF, "project")


def test_a_kind_beyond_the_twelve_may_emit_what_all_may() -> None:
    """Relations that name their sources name kinds of the twelve."""
    assert EVERYONE == {relation.value for relation in emitted_by("recipe")}


def test_names_lead_to_relations() -> None:
    """Canonical and inverse names are all different, and each leads to its relation and direction."""
    assert len(relation_names()) == len(set(relation_names())) == 18
    for relation in Relation:
        assert (relation, False) == named_relation(relation.value)
        backwards = inverse(relation)
        assert backwards is None or (relation, True) == named_relation(backwards)
    assert "owns" == inverse("owned_by")
    with pytest.raises(KeyError):
        named_relation("likes")


def test_symmetric_relations_have_no_inverse() -> None:
    """The other direction says the same."""
    symmetric = {relation for relation, rule in RELATIONS.items() if rule.symmetric}
    assert {Relation.RELATES_TO, Relation.CONTRADICTS} == symmetric == {r for r in Relation if inverse(r) is None}


def test_acyclic_and_single_relations() -> None:
    """Three lead never back; a contact has one owner."""
    assert {"part_of", "supersedes", "derived_from"} == {r.value for r, rule in RELATIONS.items() if rule.acyclic}
    assert {"owned_by": {"contact"}} == {r.value: set(rule.single) for r, rule in RELATIONS.items() if rule.single}
