"""The state of one memory: its field groups, and what it bears beside them.

The attribute `confidence` holds all that the group `FieldGroup.CONFIDENCE` stands for, and so on. Legality, revision
conflicts, rebase and undo speak of groups, and read them here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from attrs import field, frozen

from engram_core.values import Actor, EvidenceRef, Lifetime, Link, Provenance, Validity, Visibility
from engram_core.vocab import ArchiveReason, FieldGroup, StoredStatus

__all__ = [
    "Absorbed",
    "Belief",
    "Edges",
    "Importance",
    "Life",
    "MemoryState",
    "Origin",
    "Payload",
    "Resolution",
    "Supported",
    "Text",
]


@frozen
class Text:
    """Group TEXT: an explicit title, if there is one, and the narrative."""

    title: str | None = None
    content: str = ""


@frozen
class Payload:
    """Group ATTRIBUTES: the raw payload of the kind, in the schema version in which it was last written."""

    version: int = 1
    raw: Mapping[str, Any] = field(factory=dict)


@frozen
class Resolution:
    """How a person ended a dispute: which id to keep or "both", and at which position of the log."""

    keep: str
    position: int


@frozen
class Edges:
    """Group EDGES: outgoing links with the position at which each began; disputes ended, twins denied."""

    links: Mapping[Link, int] = field(factory=dict)
    resolved: Mapping[str, Resolution] = field(factory=dict)
    distinct: frozenset[str] = frozenset()


@frozen
class Belief:
    """Group CONFIDENCE: the stored number, and what decides whether the next voice counts.

    Attributes:
        confidence: In [0, 1].
        last_confirmed_at: When a user or a corroborating source last vouched.
        confirmed: When each actor last confirmed.
        disputes: Who disputed by what; the same voice and ground count once.
        user_confirmed: Position of the last confirmation by a user, 0 if none.
        disputed: Position of the last contradiction, 0 if none.
    """

    confidence: float
    last_confirmed_at: datetime | None = None
    confirmed: Mapping[Actor, datetime] = field(factory=dict)
    disputes: frozenset[tuple[Actor, str]] = frozenset()
    user_confirmed: int = 0
    disputed: int = 0


@frozen
class Supported:
    """One item of group EVIDENCE: the reference, who gave it and when."""

    ref: EvidenceRef
    actor: Actor | None
    at: datetime


@frozen
class Importance:
    """Group IMPORTANCE: signals set by hand."""

    pinned: bool = False
    user_weight: float | None = None


@frozen
class Life:
    """Group LIFECYCLE: what events alone decide; time and other memories are judged in `lifecycle`.

    Attributes:
        stored: The stored status.
        because: Why it was archived.
        superseded: Superseding memories with the instant from which each holds.
        merged_into: The survivor of a merge.
    """

    stored: StoredStatus = StoredStatus.ACTIVE
    because: ArchiveReason | None = None
    superseded: tuple[tuple[str, datetime], ...] = ()
    merged_into: str | None = None


@frozen
class Absorbed:
    """What a merged source gave: kept apart, so that unmerge and erasure can take it back whole.

    `through`: the merged sources through which it came; they take it along when they go.
    """

    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    through: tuple[str, ...] = ()


@frozen
class Origin:
    """How a memory began; fixed for ever (the source goes when the payload is erased)."""

    source: Provenance | None
    created_at: datetime
    recorded_at: datetime
    position: int
    batch_id: str


@frozen
class MemoryState:
    """One memory as its events left it. Group attributes bear the names of `FieldGroup`."""

    id: str
    kind: str
    origin: Origin
    external_ids: tuple[tuple[str, str], ...]
    text: Text
    attributes: Payload
    tags: tuple[str, ...]
    edges: Edges
    confidence: Belief
    evidence: tuple[Supported, ...]
    importance: Importance
    lifecycle: Life
    visibility: Visibility
    lifetime: Lifetime
    validity: Validity
    absorbed: Mapping[str, Absorbed]
    revision: int
    position: int
    updated_at: datetime
    redacted: bool
    touched: Mapping[FieldGroup, int]

    @property
    def all_tags(self) -> tuple[str, ...]:
        """Its own tags and those of what it absorbed, each once."""
        if not self.absorbed:
            return self.tags
        return tuple(dict.fromkeys([*self.tags, *(tag for given in self.absorbed.values() for tag in given.tags)]))

    @property
    def absorbed_aliases(self) -> tuple[str, ...]:
        """The aliases that merged sources gave."""
        return tuple(dict.fromkeys(alias for given in self.absorbed.values() for alias in given.aliases))

    def group(self, group: FieldGroup) -> Any:
        """The whole value of one field group."""
        return getattr(self, group.value)

    def last_touched(self, groups: Iterable[FieldGroup]) -> int:
        """The last revision that touched one of the groups."""
        return max((self.touched.get(group, 0) for group in groups), default=0)
