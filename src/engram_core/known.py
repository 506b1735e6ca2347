"""What a decision may look at, and the checks that all rules share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from engram_core.decider import Change, Context
from engram_core.errors import ConflictError, NotFoundError
from engram_core.events import Event
from engram_core.kinds.relations import RELATIONS
from engram_core.state import MemoryState
from engram_core.values import Link
from engram_core.vocab import Relation, StoredStatus

__all__ = ["GONE", "Known", "cap_of", "is_there", "live", "mirrored", "one", "other_of", "visible"]

GONE: Final = (StoredStatus.DELETED, StoredStatus.ERASED, StoredStatus.WITHDRAWN)
"""Stored states in which there is nothing left to relate to."""


@frozen
class Known:
    """What a decision may look at.

    Attributes:
        memories: The memories that a command names, by id, as far as the actor may see them.
        leads_to: Ids reachable from the command's target along its relation, for those that must stay acyclic; None:
            follow the edges of `memories`.
        taken: Ids that exist, whoever may see them.
    """

    memories: Mapping[str, MemoryState] = field(factory=dict)
    leads_to: frozenset[str] | None = None
    taken: frozenset[str] = frozenset()

    def reaches(self, start: str, goal: str, relation: Relation) -> bool:
        """True when following the relation from `start` leads to `goal`."""
        if self.leads_to is not None:
            return start == goal or goal in self.leads_to
        seen, open_ids = set(), [start]
        while open_ids:
            id = open_ids.pop()
            if id == goal:
                return True
            if id in seen or id not in self.memories:
                continue
            seen.add(id)
            open_ids += [link.target for link in self.memories[id].edges.links if link.relation is relation]
        return False


def one(memory: MemoryState, event: Event | None) -> tuple[Change, ...]:
    """The one change that this event is to a memory; none without an event."""
    return () if event is None else (Change(memory.id, event, memory.id),)


def visible(id: str, known: Known) -> MemoryState:
    """A memory that the actor may see.

    Raises: NotFoundError, alike for what is hidden and for what is not there.
    """
    found = known.memories.get(id)
    if found is None:
        raise NotFoundError(f"there is no memory {id}", memory_id=id)
    return found


def live(id: str, known: Known, field_name: str) -> MemoryState:
    """The other memory of a command: it must be there, and neither deleted nor erased nor withdrawn."""
    found = visible(id, known)
    if found.lifecycle.stored in GONE:
        raise ConflictError(
            f"{field_name} {id} is {found.lifecycle.stored}", hint="name a memory that is there", memory_id=id
        )
    return found


def other_of(id: str, memory: MemoryState, known: Known) -> MemoryState:
    """The other memory of a pair: another one, and one that is there."""
    if id == memory.id:
        raise ConflictError("a memory cannot be related to itself", hint="name two different ones", memory_id=id)
    return live(id, known, "the other memory")


def is_there(id: str, known: Known) -> bool:
    """True for a memory that the actor may see, and that is neither deleted nor erased nor withdrawn."""
    found = known.memories.get(id)
    return found is not None and found.lifecycle.stored not in GONE


def mirrored(link: Link, memory: MemoryState, known: Known) -> bool:
    """True when a symmetric edge stands in the other memory's stream."""
    if not RELATIONS[link.relation].symmetric:
        return False
    other = known.memories.get(link.target)
    return other is not None and is_there(other.id, known) and Link(link.relation, memory.id) in other.edges.links


def cap_of(ctx: Context) -> float:
    """The confidence above which this actor lifts nothing."""
    return 1.0 if ctx.actor.is_user else ctx.policy.confidence_cap
