"""The ten relations: which kinds they join, and under which name they are asked for backwards."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import frozen

from engram_core.vocab import Kind, Relation

__all__ = ["RELATIONS", "RelationRule", "emitted_by", "inverse", "named_relation", "relation_names"]


@frozen(kw_only=True)
class RelationRule:
    """What holds for the edges of one relation.

    Attributes:
        sources: Kinds of the twelve that may emit it; None: all. A kind beyond them declares what it emits.
        targets: Kinds that it may point to; None: all.
        alike: Both ends must be of the same kind.
        symmetric: Both directions say the same; a pair has one edge.
        acyclic: Following it never leads back.
        inverse: The query name of the other direction; None when symmetric.
        single: Kinds whose memories have at most one such edge.
    """

    sources: frozenset[str] | None = None
    targets: frozenset[str] | None = None
    alike: bool = False
    symmetric: bool = False
    acyclic: bool = False
    inverse: str | None = None
    single: frozenset[str] = frozenset()


def _kinds(*kinds: Kind) -> frozenset[str]:
    return frozenset(kind.value for kind in kinds)


_PARTIES: Final = _kinds(Kind.PERSON, Kind.ORGANIZATION)
_WHOLES: Final = _kinds(Kind.GOAL, Kind.PROJECT, Kind.LOCATION)

RELATIONS: Final[Mapping[Relation, RelationRule]] = MappingProxyType(
    {
        Relation.ABOUT: RelationRule(inverse="subject_of"),
        Relation.INVOLVES: RelationRule(
            sources=_kinds(Kind.PROJECT, Kind.EVENT, Kind.GOAL), targets=_PARTIES, inverse="involved_in"
        ),
        Relation.PART_OF: RelationRule(sources=_WHOLES, targets=_WHOLES, alike=True, acyclic=True, inverse="contains"),
        Relation.OWNED_BY: RelationRule(
            sources=_kinds(Kind.CONTACT, Kind.ASSET),
            targets=_PARTIES,
            inverse="owns",
            single=_kinds(Kind.CONTACT),
        ),
        Relation.WORKS_AT: RelationRule(
            sources=_kinds(Kind.PERSON), targets=_kinds(Kind.ORGANIZATION), inverse="employs"
        ),
        Relation.LOCATED_IN: RelationRule(targets=_kinds(Kind.LOCATION), inverse="location_of"),
        Relation.RELATES_TO: RelationRule(symmetric=True),
        Relation.SUPERSEDES: RelationRule(acyclic=True, inverse="superseded_by"),
        Relation.DERIVED_FROM: RelationRule(acyclic=True, inverse="basis_of"),
        Relation.CONTRADICTS: RelationRule(symmetric=True),
    }
)
"""The rule of every relation. Source: memory model, section 6."""

_INVERSES: Final[Mapping[str, Relation]] = MappingProxyType(
    {rule.inverse: relation for relation, rule in RELATIONS.items() if rule.inverse is not None}
)

_NAMED: Final[Mapping[str, tuple[Relation, bool]]] = {
    **{relation.value: (relation, False) for relation in Relation},
    **{inverse: (relation, True) for inverse, relation in _INVERSES.items()},
}


def emitted_by(kind: str) -> frozenset[Relation]:
    """The relations that a kind of the twelve may emit; for any other kind those that every kind may."""
    return frozenset(relation for relation, rule in RELATIONS.items() if rule.sources is None or kind in rule.sources)


def inverse(relation: Relation | str) -> str | None:
    """The query name of a relation's other direction; None when both directions are the same."""
    return RELATIONS[Relation(relation)].inverse


def named_relation(name: str) -> tuple[Relation, bool]:
    """The relation behind a name, and True when the name reads it backwards ("owns" is `owned_by` backwards).

    Raises: KeyError for a name that is neither a relation nor an inverse.
    """
    return _NAMED[name]


def relation_names() -> tuple[str, ...]:
    """Every name that `named_relation` knows, canonical ones first."""
    return (*(relation.value for relation in Relation), *_INVERSES)
