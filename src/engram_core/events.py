"""What can have happened: the closed union of events, and the stamp that the log puts on each.

An event carries everything that a later fold needs, with weights, caps and instants already resolved. Its payload
belongs to exactly one memory (the owner in its envelope), so that erasing a memory breaks nobody else's history.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

from attrs import field, frozen

from engram_core.values import (
    ALWAYS,
    UNSET,
    Actor,
    EvidenceRef,
    Lifetime,
    Link,
    Unset,
    Validity,
    Visibility,
)
from engram_core.vocab import ActorKind, ArchiveReason, FieldGroup, Relation

__all__ = [
    "EVENTS",
    "ContradictionResolved",
    "DraftAdded",
    "ErasedPayload",
    "Event",
    "MarkedDistinct",
    "MemoriesAccessed",
    "MemoryAbsorbed",
    "MemoryArchived",
    "MemoryAttributesUpdated",
    "MemoryConfirmed",
    "MemoryContradicted",
    "MemoryCreated",
    "MemoryDeleted",
    "MemoryEdited",
    "MemoryErased",
    "MemoryEvidenceAdded",
    "MemoryImportanceAdjusted",
    "MemoryLifetimeChanged",
    "MemoryLinked",
    "MemoryMerged",
    "MemoryMergedInto",
    "MemoryNoted",
    "MemoryRestored",
    "MemoryReverted",
    "MemorySuperseded",
    "MemoryTagged",
    "MemoryUnlinked",
    "MemoryUnmerged",
    "MemoryValidityChanged",
    "MemoryVisibilityChanged",
    "ProposalMerged",
    "ProposalOpened",
    "ProposalRebased",
    "ProposalRejected",
    "ProposalUndone",
    "ProposalWithdrawn",
    "RecordedEvent",
    "UnknownEvent",
]


# -- a memory's own life ----------------------------------------------------------------------------


@frozen(kw_only=True)
class MemoryCreated:
    """A memory began. `attributes` is the payload of its kind in schema version `attributes_version`."""

    kind: str
    attributes: Mapping[str, Any]
    attributes_version: int
    title: str | None = None
    content: str = ""
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    evidence: tuple[EvidenceRef, ...] = ()
    confidence: float
    pinned: bool = False
    user_weight: float | None = None
    lifetime: Lifetime
    visibility: Visibility
    validity: Validity = ALWAYS
    external_ids: tuple[tuple[str, str], ...] = ()
    source_ref: str | None = None
    redactions: int = 0
    redactor: str | None = None


@frozen
class MemoryEdited:
    """Title or content changed; what is UNSET stayed, a title of None was cleared."""

    title: str | Unset | None = UNSET
    content: str | Unset = UNSET
    redactions: int = 0


@frozen
class MemoryAttributesUpdated:
    """Some attributes changed; None cleared one. `confidence_cap` bounds belief when no user made the change."""

    changes: Mapping[str, Any]
    attributes_version: int
    confidence_cap: float | None = None
    redactions: int = 0


@frozen
class MemoryConfirmed:
    """Somebody vouched: c' = c + (1 − c)·weight up to `cap`. `vouched`: it moves the date of confirmation."""

    weight: float
    cap: float
    vouched: bool


@frozen
class MemoryContradicted:
    """Somebody disputed: c' = c·(1 − weight) down to `floor`; with `by`, an edge "contradicts" to that memory."""

    weight: float
    floor: float
    by: str | None = None
    evidence: EvidenceRef | None = None
    note: str = ""


@frozen
class MemoryEvidenceAdded:
    """Support was added; with a weight it also raises confidence, as a weak confirmation."""

    evidence: EvidenceRef
    weight: float | None = None
    cap: float = 1.0
    vouched: bool = False


@frozen
class MemoryImportanceAdjusted:
    """Pinned, unpinned, or weighed by hand; what is UNSET stayed, a weight of None was taken away."""

    pinned: bool | Unset = UNSET
    user_weight: float | Unset | None = UNSET


@frozen
class MemoryVisibilityChanged:
    """Others may see it from now on."""

    visibility: Visibility


@frozen
class MemoryLifetimeChanged:
    """It is to be kept for another time."""

    lifetime: Lifetime


@frozen
class MemoryValidityChanged:
    """It is true in another window."""

    validity: Validity


@frozen
class MemoryTagged:
    """Tags came or went."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@frozen
class MemoryLinked:
    """An edge in canonical direction began, from this memory to the target."""

    relation: Relation
    target: str


@frozen
class MemoryUnlinked:
    """An edge from this memory to the target ended."""

    relation: Relation
    target: str


@frozen
class MemorySuperseded:
    """Another memory took its place from `effective_at` on; an open validity was closed there."""

    by: str
    effective_at: datetime


@frozen
class MemoryArchived:
    """It left recall, and can come back."""

    because: ArchiveReason
    note: str = ""


@frozen
class MemoryRestored:
    """It came back from the archive, with a new lifetime if one is given."""

    lifetime: Lifetime | None = None


@frozen
class MemoryDeleted:
    """It left every query; its history stays for users."""

    note: str = ""


@frozen
class MemoryErased:
    """Every payload that it owned was replaced by a marker; `event_ids` lists those events.

    `shared`: everybody could see it, so that everybody may know that it is gone. `merged_into`: where it lived on, so
    that what came through it can still be taken back.
    """

    event_ids: tuple[str, ...]
    because: str = "requested"
    note: str = ""
    shared: bool = False
    merged_into: str | None = None


# -- merging ----------------------------------------------------------------------------------------


@frozen
class MemoryMerged:
    """On the survivor: another memory was found to be the same thing. Ids alone; the text is in MemoryAbsorbed."""

    source: str


@frozen
class MemoryAbsorbed:
    """On the survivor's stream, owned by the source: what the source gave, and takes along when it goes.

    `through`: the memories through which it came, when it had been merged into another one before; the nearest to
    the survivor first.
    """

    source: str
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    through: tuple[str, ...] = ()


@frozen
class MemoryMergedInto:
    """On the source: it lives on in the survivor, and is archived."""

    survivor: str


@frozen
class MemoryUnmerged:
    """On both: survivor and source are two again; what the merge gave is taken back."""

    source: str
    survivor: str


@frozen
class MemoryReverted:
    """A batch was undone or redone: groups of fields were set to values computed when that was decided.

    `restored` maps a FieldGroup to its whole value; `separated` lists sources whose absorption was taken back;
    `stored`-only effects such as a withdrawn creation are part of the lifecycle group.
    """

    batch_id: str
    restored: Mapping[FieldGroup, Any] = field(factory=dict)
    separated: tuple[str, ...] = ()
    redo: bool = False


# -- between memories -------------------------------------------------------------------------------


@frozen
class ContradictionResolved:
    """A person ended the dispute of two memories: `keep` is one of their ids, or "both"."""

    other: str
    keep: str
    note: str = ""


@frozen
class MemoryNoted:
    """What was said when somebody judged two memories; it goes as soon as one of the two is erased."""

    other: str
    note: str = ""
    evidence: EvidenceRef | None = None


@frozen
class MarkedDistinct:
    """A person said that two memories are not the same thing, for good."""

    other: str


@frozen
class MemoriesAccessed:
    """Reads since the last flush by one actor: memory id, how often, and the last instant."""

    reads: tuple[tuple[str, int, datetime], ...]


# -- proposals --------------------------------------------------------------------------------------


@frozen
class ProposalOpened:
    """Somebody asks for changes that others decide."""

    title: str
    rationale: str = ""
    evidence: tuple[EvidenceRef, ...] = ()


@frozen
class DraftAdded:
    """One command of a proposal, owned by the memory that it would change, with the revision it was drafted at."""

    draft: int
    command: Any
    memory_id: str
    base_revision: int
    drafted_at: datetime


@frozen
class ProposalRebased:
    """Drafts were set upon today's revisions: draft number and new base."""

    bases: tuple[tuple[int, int], ...]


@frozen
class ProposalMerged:
    """The named drafts took effect, in this event's batch."""

    drafts: tuple[int, ...]
    confirmed: bool = False


@frozen
class ProposalRejected:
    """The named drafts were not believed; without drafts, all that were open."""

    drafts: tuple[int, ...] = ()
    note: str = ""


@frozen
class ProposalWithdrawn:
    """Its author took it back."""

    note: str = ""


@frozen
class ProposalUndone:
    """The batch in which the named drafts took effect was undone (or redone)."""

    batch_id: str
    drafts: tuple[int, ...]
    redo: bool = False


# -- what the log may hold besides ------------------------------------------------------------------


@frozen
class ErasedPayload:
    """Stands for an event whose payload was erased; it changes nothing."""

    type: str


@frozen
class UnknownEvent:
    """An event of a type or schema that this version does not know, kept verbatim; read in lenient mode only."""

    type: str
    schema_version: int
    data: str


Event: TypeAlias = (
    MemoryCreated
    | MemoryEdited
    | MemoryAttributesUpdated
    | MemoryConfirmed
    | MemoryContradicted
    | MemoryEvidenceAdded
    | MemoryImportanceAdjusted
    | MemoryVisibilityChanged
    | MemoryLifetimeChanged
    | MemoryValidityChanged
    | MemoryTagged
    | MemoryLinked
    | MemoryUnlinked
    | MemorySuperseded
    | MemoryArchived
    | MemoryRestored
    | MemoryDeleted
    | MemoryErased
    | MemoryMerged
    | MemoryAbsorbed
    | MemoryMergedInto
    | MemoryUnmerged
    | MemoryReverted
    | ContradictionResolved
    | MemoryNoted
    | MarkedDistinct
    | MemoriesAccessed
    | ProposalOpened
    | DraftAdded
    | ProposalRebased
    | ProposalMerged
    | ProposalRejected
    | ProposalWithdrawn
    | ProposalUndone
    | ErasedPayload
    | UnknownEvent
)
"""Everything that a log can hold."""

EVENTS: Final[tuple[type[Any], ...]] = tuple(cls for cls in Event.__args__ if cls not in (ErasedPayload, UnknownEvent))
"""The event classes that are written, in the order of the union."""


class RecordedEvent(NamedTuple):
    """An event with the stamp of the log.

    Attributes:
        event: What happened.
        position: Place in the space's order, from 1.
        stream: The memory or proposal in whose stream it stands.
        version: Place in that stream, from 1.
        id, type, schema_version, owner, batch_id, causation_id: As in the envelope.
        occurred_at: Aware instant at which it happened, as the caller says.
        recorded_at: Aware instant at which the store recorded it.
        actor_kind: Kind of the actor; survives erasure.
        actor: Who did it; None once the payload is erased.
        on_behalf_of: Who drafted it, when another merged the draft.
        session_id, client: Through what it was done.
    """

    event: Event
    position: int
    stream: str
    version: int
    id: str
    type: str
    schema_version: int
    owner: str
    batch_id: str
    causation_id: str | None
    occurred_at: datetime
    recorded_at: datetime
    actor_kind: ActorKind
    actor: Actor | None
    on_behalf_of: Actor | None = None
    session_id: str | None = None
    client: str | None = None
    link: bytes | None = None

    @property
    def event_id(self) -> str:
        """The `id`, under its name in the envelope."""
        return self.id
