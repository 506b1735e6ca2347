"""Which field groups an event touches: one table, and what its content makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from engram_core.events import (
    ContradictionResolved,
    MarkedDistinct,
    MemoryAbsorbed,
    MemoryArchived,
    MemoryAttributesUpdated,
    MemoryConfirmed,
    MemoryContradicted,
    MemoryCreated,
    MemoryDeleted,
    MemoryEdited,
    MemoryErased,
    MemoryEvidenceAdded,
    MemoryImportanceAdjusted,
    MemoryLifetimeChanged,
    MemoryLinked,
    MemoryMerged,
    MemoryMergedInto,
    MemoryNoted,
    MemoryRestored,
    MemoryReverted,
    MemorySuperseded,
    MemoryTagged,
    MemoryUnlinked,
    MemoryUnmerged,
    MemoryValidityChanged,
    MemoryVisibilityChanged,
)
from engram_core.vocab import FieldGroup

__all__ = ["TOUCHES", "groups_touched"]

_G = FieldGroup
_ALL: Final = frozenset(FieldGroup)

TOUCHES: Final[Mapping[type[Any], frozenset[FieldGroup]]] = {
    MemoryCreated: _ALL,
    MemoryEdited: frozenset({_G.TEXT}),
    MemoryAttributesUpdated: frozenset({_G.ATTRIBUTES}),
    MemoryConfirmed: frozenset({_G.CONFIDENCE}),
    MemoryContradicted: frozenset({_G.CONFIDENCE, _G.EDGES}),
    MemoryEvidenceAdded: frozenset({_G.EVIDENCE}),
    MemoryImportanceAdjusted: frozenset({_G.IMPORTANCE}),
    MemoryVisibilityChanged: frozenset({_G.VISIBILITY}),
    MemoryLifetimeChanged: frozenset({_G.LIFETIME}),
    MemoryValidityChanged: frozenset({_G.VALIDITY}),
    MemoryTagged: frozenset({_G.TAGS}),
    MemoryLinked: frozenset({_G.EDGES}),
    MemoryUnlinked: frozenset({_G.EDGES}),
    MemorySuperseded: frozenset({_G.LIFECYCLE, _G.VALIDITY}),
    MemoryArchived: frozenset({_G.LIFECYCLE}),
    MemoryRestored: frozenset({_G.LIFECYCLE}),
    MemoryDeleted: frozenset({_G.LIFECYCLE}),
    MemoryErased: _ALL,
    MemoryMerged: frozenset({_G.ATTRIBUTES, _G.TAGS}),
    MemoryAbsorbed: frozenset({_G.ATTRIBUTES, _G.TAGS}),
    MemoryMergedInto: frozenset({_G.LIFECYCLE}),
    MemoryUnmerged: frozenset({_G.LIFECYCLE, _G.ATTRIBUTES, _G.TAGS}),
    ContradictionResolved: frozenset({_G.EDGES}),
    MarkedDistinct: frozenset({_G.EDGES}),
    MemoryNoted: frozenset(),
}
"""Which field groups an event touches, beyond what its content adds (see `groups_touched`)."""


def groups_touched(event: object, stream: str) -> frozenset[FieldGroup]:
    """The groups that this very event touched in a stream: the table, and what its content makes of it."""
    groups = TOUCHES.get(type(event), frozenset())
    match event:
        case MemoryUnmerged(source=source):
            lifecycle = frozenset({_G.LIFECYCLE})
            return lifecycle if source == stream else groups - lifecycle
        case MemoryEvidenceAdded(weight=weight) if weight is not None:
            return groups | {_G.CONFIDENCE}
        case MemoryAttributesUpdated(confidence_cap=cap) if cap is not None:
            return groups | {_G.CONFIDENCE}
        case MemoryContradicted(by=None):
            return groups - {_G.EDGES}
        case MemoryRestored(lifetime=lifetime) if lifetime is not None:
            return groups | {_G.LIFETIME}
        case MemoryReverted(restored=restored, separated=separated):
            absorbed = {_G.ATTRIBUTES, _G.TAGS} if separated else set()
            return frozenset(restored) | absorbed
        case _:
            return groups
