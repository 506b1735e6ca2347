"""What can be asked for: the closed union of commands. A proposal's drafts are commands, too."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from attrs import field, frozen

from engram_core.values import (
    SHARED,
    STANDARD,
    UNSET,
    EvidenceRef,
    Lifetime,
    Link,
    Unset,
    Validity,
    Visibility,
)
from engram_core.vocab import ArchiveReason, Relation

__all__ = [
    "COMMANDS",
    "AddEvidence",
    "AddLink",
    "AdjustImportance",
    "Archive",
    "Command",
    "Confirm",
    "Contradict",
    "Delete",
    "Edit",
    "MarkDistinct",
    "Merge",
    "Remember",
    "RemoveLink",
    "Resolve",
    "Restore",
    "SetLifetime",
    "SetValidity",
    "SetVisibility",
    "Supersede",
    "Tag",
    "Unmerge",
    "UpdateAttributes",
]


@frozen(kw_only=True)
class Remember:
    """Begin a memory. `attributes` is the payload of the kind in its current schema, already validated.

    `own_id`: the id was chosen by the caller, not drawn.
    """

    memory_id: str
    own_id: bool = False
    kind: str
    attributes: Mapping[str, Any]
    attributes_version: int
    title: str | None = None
    content: str = ""
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    evidence: tuple[EvidenceRef, ...] = ()
    confidence: float | None = None
    pinned: bool = False
    user_weight: float | None = None
    lifetime: Lifetime = STANDARD
    visibility: Visibility = SHARED
    validity: Validity | None = None
    external_ids: tuple[tuple[str, str], ...] = ()
    source_ref: str | None = None
    redactions: int = 0
    redactor: str | None = None
    on_duplicate: str = "return"


@frozen
class Edit:
    """Change title or content; UNSET leaves, a title of None clears."""

    memory_id: str
    title: str | Unset | None = UNSET
    content: str | Unset = UNSET
    redactions: int = 0


@frozen
class UpdateAttributes:
    """Change some attributes; None clears an optional one."""

    memory_id: str
    changes: Mapping[str, Any]
    redactions: int = 0


@frozen
class AddEvidence:
    """Add support; with `corroborates` it also raises confidence a little."""

    memory_id: str
    evidence: EvidenceRef
    corroborates: bool = False


@frozen
class Confirm:
    """Vouch for a memory, perhaps with evidence."""

    memory_id: str
    evidence: EvidenceRef | None = None


@frozen
class Contradict:
    """Dispute a memory: by another memory, by evidence, or by one's word alone."""

    memory_id: str
    by: str | None = None
    evidence: EvidenceRef | None = None
    note: str = ""


@frozen
class AdjustImportance:
    """Pin, unpin, or weigh by hand; UNSET leaves, a weight of None takes it away."""

    memory_id: str
    pinned: bool | Unset = UNSET
    user_weight: float | Unset | None = UNSET


@frozen
class Tag:
    """Add and remove tags."""

    memory_id: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@frozen
class AddLink:
    """Begin an edge. With `ensure`, one that is there already is no conflict."""

    memory_id: str
    relation: Relation
    target: str
    ensure: bool = False


@frozen
class RemoveLink:
    """End an edge; a symmetric one from either end."""

    memory_id: str
    relation: Relation
    target: str


@frozen
class SetVisibility:
    """Say who may see it."""

    memory_id: str
    visibility: Visibility


@frozen
class SetLifetime:
    """Say how long to keep it."""

    memory_id: str
    lifetime: Lifetime


@frozen
class SetValidity:
    """Say when it is true; UNSET leaves a side, None opens it."""

    memory_id: str
    valid_from: datetime | Unset | None = UNSET
    valid_to: datetime | Unset | None = UNSET


@frozen
class Supersede:
    """Let a memory take another's place from an instant on."""

    memory_id: str
    by: str
    effective_at: datetime | None = None


@frozen
class Merge:
    """Two memories are one thing: the survivor stays, the source is archived."""

    memory_id: str
    source: str


@frozen
class Unmerge:
    """Take a merge back, by its source."""

    memory_id: str


@frozen
class MarkDistinct:
    """Two memories are not one thing, for good."""

    memory_id: str
    other: str


@frozen
class Resolve:
    """End a dispute: keep one of the two ids, or "both"."""

    memory_id: str
    other: str
    keep: str
    note: str = ""


@frozen
class Archive:
    """Take a memory out of recall."""

    memory_id: str
    because: ArchiveReason = ArchiveReason.OBSOLETE
    note: str = ""


@frozen
class Restore:
    """Bring an archived memory back; an expired one needs a new lifetime."""

    memory_id: str
    lifetime: Lifetime | None = None


@frozen
class Delete:
    """Take a memory out of every query."""

    memory_id: str
    note: str = field(default="")


Command: TypeAlias = (
    Remember
    | Edit
    | UpdateAttributes
    | AddEvidence
    | Confirm
    | Contradict
    | AdjustImportance
    | Tag
    | AddLink
    | RemoveLink
    | SetVisibility
    | SetLifetime
    | SetValidity
    | Supersede
    | Merge
    | Unmerge
    | MarkDistinct
    | Resolve
    | Archive
    | Restore
    | Delete
)
"""Everything that can be asked of memories. Erasing and undoing work on whole histories, and are verbs of the space."""

COMMANDS: Final[tuple[type[Any], ...]] = Command.__args__
"""The command classes, in the order of the union."""
