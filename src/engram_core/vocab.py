"""The closed vocabularies: every word that the model knows, as a StrEnum. Extending one is a version bump."""

from __future__ import annotations

from enum import StrEnum

__all__ = [
    "ActorKind",
    "ArchiveReason",
    "AssetType",
    "Channel",
    "EvidenceType",
    "FieldGroup",
    "GoalStatus",
    "Horizon",
    "Kind",
    "LifetimeKind",
    "LocationType",
    "OrgType",
    "Polarity",
    "Proficiency",
    "ProjectStatus",
    "ProposalStatus",
    "ReceiptStatus",
    "Relation",
    "ReviewReason",
    "Status",
    "StoredStatus",
    "VisibilityKind",
]


class Kind(StrEnum):
    """The twelve kinds of memory; a larger registry may hold more, by name."""

    FACT = "fact"
    PREFERENCE = "preference"
    PERSON = "person"
    ORGANIZATION = "organization"
    PROJECT = "project"
    SKILL = "skill"
    GOAL = "goal"
    CONTACT = "contact"
    EVENT = "event"
    LOCATION = "location"
    ASSET = "asset"
    RELATIONSHIP = "relationship"


class Polarity(StrEnum):
    """How somebody stands to the target of a preference."""

    LIKES = "likes"
    DISLIKES = "dislikes"
    WANTS = "wants"
    AVOIDS = "avoids"
    PREFERS = "prefers"


class OrgType(StrEnum):
    """What sort of organization it is."""

    COMPANY = "company"
    TEAM = "team"
    COMMUNITY = "community"
    INSTITUTION = "institution"
    OTHER = "other"


class ProjectStatus(StrEnum):
    """Where a project stands."""

    IDEA = "idea"
    ACTIVE = "active"
    PAUSED = "paused"
    DONE = "done"
    ABANDONED = "abandoned"


class Proficiency(StrEnum):
    """How well a skill is mastered."""

    NOVICE = "novice"
    COMPETENT = "competent"
    PROFICIENT = "proficient"
    EXPERT = "expert"


class GoalStatus(StrEnum):
    """Where a goal stands."""

    ACTIVE = "active"
    ACHIEVED = "achieved"
    DROPPED = "dropped"


class Horizon(StrEnum):
    """How far away a goal lies."""

    SHORT = "short"
    MEDIUM = "medium"
    LONG = "long"


class Channel(StrEnum):
    """By what a contact is reached."""

    EMAIL = "email"
    PHONE = "phone"
    HANDLE = "handle"
    ADDRESS = "address"
    OTHER = "other"


class LocationType(StrEnum):
    """What sort of place it is."""

    HOME = "home"
    WORK = "work"
    CITY = "city"
    VENUE = "venue"
    OTHER = "other"


class AssetType(StrEnum):
    """What sort of thing is owned or used."""

    FILE = "file"
    DOCUMENT = "document"
    DEVICE = "device"
    ACCOUNT = "account"
    DOMAIN = "domain"
    REPOSITORY = "repository"
    OTHER = "other"


class Relation(StrEnum):
    """The ten relations of an edge, in their canonical direction."""

    ABOUT = "about"
    INVOLVES = "involves"
    PART_OF = "part_of"
    OWNED_BY = "owned_by"
    WORKS_AT = "works_at"
    LOCATED_IN = "located_in"
    RELATES_TO = "relates_to"
    SUPERSEDES = "supersedes"
    DERIVED_FROM = "derived_from"
    CONTRADICTS = "contradicts"


class EvidenceType(StrEnum):
    """What sort of support an evidence reference points to."""

    QUOTE = "quote"
    URI = "uri"
    CONVERSATION = "conversation"
    DOCUMENT = "document"
    OBSERVATION = "observation"


class ActorKind(StrEnum):
    """Who acts: a person, a model, the nightly pass, an import, or an extension."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    IMPORTER = "importer"
    PLUGIN = "plugin"


class LifetimeKind(StrEnum):
    """How long a memory is to be kept."""

    PERMANENT = "permanent"
    STANDARD = "standard"
    UNTIL = "until"
    EPHEMERAL = "ephemeral"


class VisibilityKind(StrEnum):
    """Who may see a memory."""

    SHARED = "shared"
    PRIVATE = "private"
    RESTRICTED = "restricted"


class StoredStatus(StrEnum):
    """What events alone decide about a memory's life; see `Status` for what time adds."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    DELETED = "deleted"
    WITHDRAWN = "withdrawn"
    ERASED = "erased"


class Status(StrEnum):
    """The status of a memory at an instant, strongest first in its derivation."""

    ERASED = "erased"
    DELETED = "deleted"
    WITHDRAWN = "withdrawn"
    ARCHIVED = "archived"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    STALE = "stale"
    ACTIVE = "active"


class ArchiveReason(StrEnum):
    """Why a memory was archived."""

    OBSOLETE = "obsolete"
    WRONG = "wrong"
    PRUNED = "pruned"
    EXPIRED = "expired"
    MERGED = "merged"


class FieldGroup(StrEnum):
    """Fields that change together: legality, conflicts, rebase and undo are judged by group."""

    TEXT = "text"
    ATTRIBUTES = "attributes"
    TAGS = "tags"
    EDGES = "edges"
    CONFIDENCE = "confidence"
    EVIDENCE = "evidence"
    IMPORTANCE = "importance"
    LIFECYCLE = "lifecycle"
    VISIBILITY = "visibility"
    LIFETIME = "lifetime"
    VALIDITY = "validity"


class ReceiptStatus(StrEnum):
    """What became of a write."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    DUPLICATE = "duplicate"
    PROPOSED = "proposed"


class ProposalStatus(StrEnum):
    """Where a proposal stands."""

    OPEN = "open"
    MERGED = "merged"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    UNDONE = "undone"


class ReviewReason(StrEnum):
    """Why something waits for a person, in the order of the review queue."""

    PROPOSAL = "proposal"
    CONTRADICTION = "contradiction"
    LOW_CONFIDENCE = "low_confidence"
    UNDERMINED = "undermined"
    SUPERSESSION_LAPSED = "supersession_lapsed"
    STALE = "stale"
    EXPIRING = "expiring"
    DUPLICATE = "duplicate"
    DANGLING_EDGE = "dangling_edge"
    OWNERLESS_CONTACT = "ownerless_contact"
