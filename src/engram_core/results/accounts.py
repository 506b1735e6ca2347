"""Results that account for a memory: what happened to it, why it is believed, who read it, what waits, what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from attrs import field, frozen

from engram_core.results.memory import Memory
from engram_core.values import Actor, EvidenceRef, Provenance
from engram_core.vocab import Relation, ReviewReason

__all__ = [
    "Accesses",
    "Basis",
    "BeliefChange",
    "Diff",
    "DiffRow",
    "Explanation",
    "GivenEvidence",
    "HistoryRow",
    "IllShape",
    "Read",
    "ReviewRow",
    "Stats",
    "Why",
]


@frozen(kw_only=True)
class HistoryRow:
    """One event of a memory's life.

    Attributes:
        type: The event's name, such as "MemoryConfirmed".
        at: When it happened.
        recorded_at: When it was recorded.
        actor: Who did it; None once that was erased.
        on_behalf_of: Who drafted it, when another merged the draft.
        session_id, client: Through what it was done.
        proposal_id: The proposal through which it came.
        revision: The memory's revision after it.
        details: The event's fields by name, in readable form; ids that the viewer may not see are None.
        masked: True when something in `details` was kept from the viewer.
        batch_id: What `undo` takes; None for those who may not undo.
        position: Place in the log; None for those who see only a part of it.
    """

    type: str
    at: datetime
    recorded_at: datetime
    actor: Actor | None
    revision: int
    on_behalf_of: Actor | None = None
    session_id: str | None = None
    client: str | None = None
    proposal_id: str | None = None
    details: Mapping[str, Any] = field(factory=dict)
    masked: bool = False
    batch_id: str | None = None
    position: int | None = None


@frozen(kw_only=True)
class GivenEvidence:
    """A piece of evidence with who gave it and when."""

    evidence: EvidenceRef
    actor: Actor | None
    at: datetime


@frozen(kw_only=True)
class BeliefChange:
    """One change of stored confidence.

    Attributes:
        type: The event that changed it.
        at: When.
        actor, on_behalf_of, proposal_id: Who, for whom, through which proposal.
        before: Confidence before; None at the memory's creation.
        after: Confidence after.
        by: The contradicting memory, where one is named and the viewer may see it.
    """

    type: str
    at: datetime
    actor: Actor | None
    before: float | None
    after: float
    on_behalf_of: Actor | None = None
    proposal_id: str | None = None
    by: str | None = None


@frozen(kw_only=True)
class Basis:
    """Why a memory is undermined: the way along derived_from, from the memory to what no longer holds.

    Attributes:
        path: Ids along the way, the memory first; None stands for one that cannot be shown.
        cause: "superseded", "disputed", "wrong", "deleted" or "erased".
    """

    path: tuple[str | None, ...]
    cause: str


@frozen(kw_only=True)
class Why:
    """Why a memory is believed, as far as the viewer may know.

    Attributes:
        memory: The memory.
        source: Where it came from.
        proposal_id: The proposal through which it came.
        evidence: What supports it, with who gave it and when.
        confidence: Every change of confidence, oldest first.
        rests_on: Memories that it is derived from.
        supports: Memories that are derived from it.
        disputed_by: Other sides of open contradictions.
        superseded_by: Memories that took its place.
        undermined: What it rests on and no longer holds.
    """

    memory: Memory[Any]
    source: Provenance
    proposal_id: str | None = None
    evidence: tuple[GivenEvidence, ...] = ()
    confidence: tuple[BeliefChange, ...] = ()
    rests_on: tuple[Memory[Any], ...] = ()
    supports: tuple[Memory[Any], ...] = ()
    disputed_by: tuple[Memory[Any], ...] = ()
    superseded_by: tuple[Memory[Any], ...] = ()
    undermined: tuple[Basis, ...] = ()


@frozen(kw_only=True)
class Explanation:
    """What the figures of a memory come from.

    Attributes:
        memory: The memory.
        status: Why it has its status, in one sentence.
        importance, retention, effective_confidence: The figure, and its terms by name, which add up to it or say how
            it was made.
        recall: The terms of a hit's score; empty when a memory was asked about.
    """

    memory: Memory[Any]
    status: str
    importance: Mapping[str, float] = field(factory=dict)
    retention: Mapping[str, float] = field(factory=dict)
    effective_confidence: Mapping[str, float] = field(factory=dict)
    recall: Mapping[str, float] = field(factory=dict)


@frozen(kw_only=True)
class Read:
    """How often one actor read a memory, and when last."""

    actor: Actor
    count: int
    last_at: datetime


@frozen(kw_only=True)
class Accesses:
    """Who read a memory; non-users are shown their own reads alone. False when nobody did.

    Attributes:
        count: How often it was read.
        last_at: When last.
        reads: One row for each actor.
    """

    count: int = 0
    last_at: datetime | None = None
    reads: tuple[Read, ...] = ()

    def __iter__(self) -> Iterator[Read]:
        return iter(self.reads)

    def __len__(self) -> int:
        return len(self.reads)


@frozen(kw_only=True)
class ReviewRow:
    """Something that waits for a person.

    Attributes:
        reason: Why.
        memory_id: The memory that it concerns.
        other_id: The other side of a contradiction or an edge, where there is one to be shown.
        proposal_id: The proposal that waits.
        evidence: The facts of the case, by name.
        actions: Verbs of a session that would close it.
    """

    reason: ReviewReason
    memory_id: str | None = None
    other_id: str | None = None
    proposal_id: str | None = None
    evidence: Mapping[str, Any] = field(factory=dict)
    actions: tuple[str, ...] = ()


@frozen(kw_only=True)
class Stats:
    """Figures of what the viewer may see.

    Attributes:
        memories: How many memories there are, archived ones included.
        by_kind, by_status: The same, divided.
        links: Edges between them.
        tags: Distinct tags on what is active or stale.
        disputed: How many have an open contradiction.
        first_at, last_at: The earliest creation and the latest change.
    """

    memories: int = 0
    by_kind: Mapping[str, int] = field(factory=dict)
    by_status: Mapping[str, int] = field(factory=dict)
    links: int = 0
    tags: int = 0
    disputed: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None


@frozen(kw_only=True)
class DiffRow:
    """One memory that is believed differently in two views.

    Attributes:
        change: "appeared", "gone" or "changed".
        memory_id: The memory.
        before: As the one view shows it; None if it does not.
        after: As the other view shows it; None if it does not.
        fields: What differs, of a changed one.
        because: What happened to it between the two, oldest first; empty when time alone made the change.
    """

    change: str
    memory_id: str
    before: Memory[Any] | None = None
    after: Memory[Any] | None = None
    fields: tuple[str, ...] = ()
    because: tuple[HistoryRow, ...] = ()


@frozen
class Diff:
    """What changed in what is believed, from one view to another; false when nothing did."""

    rows: tuple[DiffRow, ...] = ()

    def __iter__(self) -> Iterator[DiffRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def appeared(self) -> tuple[DiffRow, ...]:
        """What is believed now, and was not."""
        return tuple(row for row in self.rows if row.change == "appeared")

    @property
    def gone(self) -> tuple[DiffRow, ...]:
        """What was believed, and is no longer."""
        return tuple(row for row in self.rows if row.change == "gone")

    @property
    def changed(self) -> tuple[DiffRow, ...]:
        """What is believed in both, differently."""
        return tuple(row for row in self.rows if row.change == "changed")


@frozen
class IllShape:
    """Edges that every reader bears with, and that a person should look at.

    Attributes:
        relation: Of the edges.
        memory_ids: Of a second edge, the source and then its targets; of a circle, all that lie in it.
    """

    relation: Relation
    memory_ids: tuple[str, ...]
