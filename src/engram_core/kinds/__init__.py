"""What can be remembered: the twelve kinds, and the registry that holds them."""

from __future__ import annotations

from typing import Final

from engram_core.kinds.fields import Attributes, within
from engram_core.kinds.registry import KindRegistry
from engram_core.kinds.relations import (
    RELATIONS,
    RelationRule,
    emitted_by,
    inverse,
    named_relation,
    relation_names,
)
from engram_core.kinds.schemas import (
    Asset,
    Contact,
    Episode,
    Fact,
    Goal,
    Location,
    Organization,
    Person,
    Preference,
    Project,
    Relationship,
    Skill,
)
from engram_core.kinds.specs import Column, KindSpec

__all__ = [
    "KINDS",
    "RELATIONS",
    "Asset",
    "Attributes",
    "Column",
    "Contact",
    "Episode",
    "Fact",
    "Goal",
    "KindRegistry",
    "KindSpec",
    "Location",
    "Organization",
    "Person",
    "Preference",
    "Project",
    "RelationRule",
    "Relationship",
    "Skill",
    "emitted_by",
    "inverse",
    "named_relation",
    "relation_names",
    "within",
]

KINDS: Final = KindRegistry(
    (
        KindSpec(kind="fact", attributes=Fact, view="view_facts", label_fields=("statement",)),
        KindSpec(
            kind="preference",
            attributes=Preference,
            view="view_preferences",
            label_fields=("target", "context", "polarity"),
            hot_fields=("polarity", "target"),
        ),
        KindSpec(
            kind="person",
            attributes=Person,
            view="view_people",
            label_fields=("full_name",),
            alias_field="aliases",
            entity=True,
        ),
        KindSpec(
            kind="organization",
            attributes=Organization,
            view="view_organizations",
            label_fields=("name",),
            alias_field="aliases",
            entity=True,
        ),
        KindSpec(
            kind="project",
            attributes=Project,
            view="view_projects",
            label_fields=("name",),
            hot_fields=("status",),
        ),
        KindSpec(kind="skill", attributes=Skill, view="view_skills", label_fields=("name",)),
        KindSpec(
            kind="goal",
            attributes=Goal,
            view="view_goals",
            label_fields=("statement",),
            hot_fields=("status",),
        ),
        KindSpec(
            kind="contact",
            attributes=Contact,
            view="view_contacts",
            label_fields=("value",),
            hot_fields=("channel", "value"),
        ),
        KindSpec(kind="event", attributes=Episode, view="view_events", label_fields=("outcome",)),
        KindSpec(
            kind="location",
            attributes=Location,
            view="view_locations",
            label_fields=("name",),
            alias_field="aliases",
            entity=True,
        ),
        KindSpec(
            kind="asset",
            attributes=Asset,
            view="view_assets",
            label_fields=("name", "identifier", "uri", "asset_type"),
            alias_field="aliases",
            entity=True,
            hot_fields=("asset_type",),
        ),
        KindSpec(
            kind="relationship",
            attributes=Relationship,
            view="view_relationships",
            label_fields=("predicate",),
            text_fields=("predicate",),
            hot_fields=("subject_id", "object_id"),
        ),
    )
)
"""The twelve kinds."""
