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
        also: Groups that some forms of it touch besides; what changed there meanwhile stands in nobody's way.
        other: Groups that it touches on the other memory that it names, if it does.
    """

    stored: frozenset[StoredStatus]
    groups: frozenset[FieldGroup]
    ends_in: StoredStatus | None = None
    also: frozenset[FieldGroup] = frozenset()
    other: frozenset[FieldGroup] = frozenset()


_S = StoredStatus
_G = FieldGroup
_ACTIVE: Final = frozenset({_S.ACTIVE})
_KEPT: Final = frozenset({_S.ACTIVE, _S.ARCHIVED})

LEGAL: Final[Mapping[type[Any], Legality]] = {
    Remember: Legality(frozenset(), frozenset(FieldGroup), _S.ACTIVE, other=frozenset({_G.LIFECYCLE, _G.VALIDITY})),
    Edit: Legality(_ACTIVE, frozenset({_G.TEXT})),
    UpdateAttributes: Legality(_ACTIVE, frozenset({_G.ATTRIBUTES}), also=frozenset({_G.CONFIDENCE})),
    Tag: Legality(_ACTIVE, frozenset({_G.TAGS})),
    AddLink: Legality(
        _ACTIVE,
        frozenset({_G.EDGES}),
        also=frozenset({_G.VALIDITY}),
        other=frozenset({_G.LIFECYCLE, _G.VALIDITY}),
    ),
    RemoveLink: Legality(_ACTIVE, frozenset({_G.EDGES}), other=frozenset({_G.EDGES})),
    AddEvidence: Legality(_KEPT, frozenset({_G.EVIDENCE}), also=frozenset({_G.CONFIDENCE})),
    Confirm: Legality(_KEPT, frozenset({_G.CONFIDENCE}), also=frozenset({_G.EVIDENCE})),
    Contradict: Legality(_KEPT, frozenset({_G.CONFIDENCE, _G.EDGES}), other=frozenset({_G.EDGES})),
    AdjustImportance: Legality(_KEPT, frozenset({_G.IMPORTANCE})),
    SetVisibility: Legality(_KEPT, frozenset({_G.VISIBILITY})),
    SetLifetime: Legality(_KEPT, frozenset({_G.LIFETIME})),
    SetValidity: Legality(_KEPT, frozenset({_G.VALIDITY})),
    Supersede: Legality(_KEPT, frozenset({_G.LIFECYCLE, _G.VALIDITY}), other=frozenset({_G.EDGES, _G.VALIDITY})),
    Merge: Legality(_ACTIVE, frozenset({_G.ATTRIBUTES, _G.TAGS}), other=frozenset({_G.LIFECYCLE})),
    Unmerge: Legality(
        frozenset({_S.ARCHIVED}), frozenset({_G.LIFECYCLE}), _S.ACTIVE, other=frozenset({_G.ATTRIBUTES, _G.TAGS})
    ),
    MarkDistinct: Legality(_KEPT, frozenset({_G.EDGES})),
    Resolve: Legality(_KEPT, frozenset({_G.EDGES}), also=frozenset({_G.LIFECYCLE}), other=frozenset({_G.LIFECYCLE})),
    Archive: Legality(_KEPT, frozenset({_G.LIFECYCLE}), _S.ARCHIVED),
    Restore: Legality(_KEPT, frozenset({_G.LIFECYCLE}), _S.ACTIVE, also=frozenset({_G.LIFETIME})),
    Delete: Legality(_KEPT, frozenset({_G.LIFECYCLE}), _S.DELETED),
}
"""The state machine of a memory. Where the state is already the one that is asked for, a command changes nothing."""
