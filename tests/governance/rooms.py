"""Spaces for the tests of governance: a clock that stands still, a person, an assistant, and whatever else is asked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import frozen

from engram_core.maintenance import Maintenance
from engram_core.session import Session
from engram_core.space import MemorySpace
from engram_core.testing import FrozenClock
from engram_core.values import assistant, system, user

START = datetime(2026, 1, 1, tzinfo=UTC)


@frozen
class Room:
    """A space with a person and an assistant in it, and somebody who tidies up at night."""

    space: MemorySpace
    clock: FrozenClock
    ann: Session
    bot: Session
    nightly: Maintenance


def room(path: Path | None = None, **options: Any) -> Room:
    """A new space, in memory or in a file."""
    clock = options.pop("clock", None) or FrozenClock(START)
    if path is None:
        space = MemorySpace.in_memory(clock=clock, **options)
    else:
        space = MemorySpace.open(path, clock=clock, durability="normal", **options)
    return beside(space, clock)


def beside(space: MemorySpace, clock: FrozenClock | None = None) -> Room:
    """A room of a space that is there."""
    return Room(
        space,
        clock or FrozenClock(START),
        space.session(user("ann"), record=False),
        space.session(assistant("claude"), session_id="s-42", record=False),
        space.maintenance(system("nightly")),
    )


def everything(view: Any, *, drop: tuple[str, ...] = ("revision", "updated_at")) -> dict[str, Any]:
    """All that a viewer can observe of every memory, but for the figures that only ever rise."""
    found: dict[str, Any] = {}
    for memory in view.find_all(status=ANY, order="id"):
        told = {name: getattr(memory, name) for name in OBSERVED if name not in drop}
        found[memory.id] = told
    return {
        "memories": found,
        "tags": dict(view.tags()),
        "edges": sorted(edges(view, list(found))),
        "queue": [(str(row.reason), row.memory_id, row.other_id, row.proposal_id) for row in pages(view, "reviews")],
        "recall": sorted((hit.memory.id, sorted(hit.memory.flags)) for hit in view.recall(ASKED, limit=20, status=ANY)),
        "pruned": [id for id in found if view.scores(id).is_pruning_candidate],
        "timeline": [memory.id for memory in view.timeline(LONG_AGO, FAR_OFF)],
    }


def edges(view: Any, ids: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """Every edge that can be walked, from both ends."""
    for id in ids:
        for n in view.neighbours(id):
            yield (id, str(n.relation), n.direction, n.memory.id)


def pages(view: Any, listing: str) -> list[Any]:
    """All rows of a listing."""
    rows: list[Any] = []
    after = None
    while True:
        page = getattr(view, listing)(limit=1_000, after=after)
        rows += page
        after = page.next
        if after is None:
            return rows


LONG_AGO, FAR_OFF = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
ASKED = "Alice Ally Bob Robert Ode lives in Oslo or Bergen, likes tea, the sea, a surprise, rain"
ANY = ("active", "stale", "expired", "superseded", "archived")
OBSERVED = (
    "attributes",
    "confidence",
    "content",
    "created_at",
    "display_title",
    "evidence",
    "external_ids",
    "flags",
    "importance",
    "last_confirmed_at",
    "lifetime",
    "links",
    "pinned",
    "revision",
    "source",
    "status",
    "tags",
    "title",
    "updated_at",
    "user_weight",
    "validity",
    "visibility",
)
