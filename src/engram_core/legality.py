"""Which command is legal in which stored status, and which field groups it touches: one table, read by everybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from engram_core.commands import (
    AddEvidence,
    AddLink,
    AdjustImportance,
    Archive,
    Confirm,
    Contradict,
    Delete,
    Edit,
    MarkDistinct,
    Merge,
    Remember,
    RemoveLink,
    Resolve,
    Restore,
    SetLifetime,
    SetValidity,
    SetVisibility,
    Supersede,
    Tag,
    Unmerge,
    UpdateAttributes,
)
from engram_core.vocab import FieldGroup, StoredStatus

__all__ = ["LEGAL", "Legality"]


@frozen
class Legality:
    """Where a command is legal, and what it touches on the memory that it names.

    Attributes:
        stored: Stored statuses in which the memory must be; empty: it must not exist yet.
        groups: The field groups that its revision check reads, and that its events touch.
        ends_in: The stored status that it leaves; None: it leaves the status alone.
    """

    stored: frozenset[StoredStatus]
    groups: frozenset[FieldGroup]
    ends_in: StoredStatus | None = None


_S = StoredStatus
_G = FieldGroup
_ACTIVE: Final = frozenset({_S.ACTIVE})
_KEPT: Final = frozenset({_S.ACTIVE, _S.ARCHIVED})

LEGAL: Final[Mapping[type[Any], Legality]] = {
    Remember: Legality(frozenset(), frozenset(FieldGroup), _S.ACTIVE),
    Edit: Legality(_ACTIVE, frozenset({_G.TEXT})),
    UpdateAttributes: Legality(_ACTIVE, frozenset({_G.ATTRIBUTES})),
    Tag: Legality(_ACTIVE, frozenset({_G.TAGS})),
    AddLink: Legality(_ACTIVE, frozenset({_G.EDGES})),
    RemoveLink: Legality(_ACTIVE, frozenset({_G.EDGES})),
    AddEvidence: Legality(_KEPT, frozenset({_G.EVIDENCE})),
    Confirm: Legality(_KEPT, frozenset({_G.CONFIDENCE})),
    Contradict: Legality(_KEPT, frozenset({_G.CONFIDENCE, _G.EDGES})),
    AdjustImportance: Legality(_KEPT, frozenset({_G.IMPORTANCE})),
    SetVisibility: Legality(_KEPT, frozenset({_G.VISIBILITY})),
    SetLifetime: Legality(_KEPT, frozenset({_G.LIFETIME})),
    SetValidity: Legality(_KEPT, frozenset({_G.VALIDITY})),
    Supersede: Legality(_KEPT, frozenset({_G.LIFECYCLE, _G.VALIDITY})),
    Merge: Legality(_ACTIVE, frozenset({_G.ATTRIBUTES, _G.TAGS})),
    Unmerge: Legality(frozenset({_S.ARCHIVED}), frozenset({_G.LIFECYCLE}), _S.ACTIVE),
    MarkDistinct: Legality(_KEPT, frozenset({_G.EDGES})),
    Resolve: Legality(_KEPT, frozenset({_G.EDGES})),
    Archive: Legality(_KEPT, frozenset({_G.LIFECYCLE}), _S.ARCHIVED),
    Restore: Legality(_KEPT, frozenset({_G.LIFECYCLE}), _S.ACTIVE),
    Delete: Legality(_KEPT, frozenset({_G.LIFECYCLE}), _S.DELETED),
}
"""The state machine of a memory. Where the state is already the one that is asked for, a command changes nothing."""
