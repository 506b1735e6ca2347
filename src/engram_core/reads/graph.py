"""Neighbours, shortest paths and subgraphs, breadth first, within bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.policy import Limits
from engram_core.reads.memories import by_keys, not_there
from engram_core.reads.snapshot import Snapshot
from engram_core.reads.walking import Step, Ways, Web, too_far, ways
from engram_core.results.graph import Edge, Neighbour, Path, Subgraph
from engram_core.results.memory import Memory

__all__ = ["neighbours", "path", "subgraph"]


def neighbours(
    snapshot: Snapshot, id: str, *, relation: object = None, direction: str = "both", depth: int = 1
) -> tuple[Neighbour, ...]:
    """Everything within some steps of a memory, nearest first.

    Raises: NotFoundError for the start; InvalidAttributesError; RejectedError where the walk reaches too many.
    """
    allowed = ways(relation, direction)
    _check_depth(depth, snapshot.library.limits)
    web = Web(snapshot)
    start = _started(web, id)
    reached = _levels(web, snapshot.library.limits, [start], allowed, depth)
    memories = by_keys(snapshot, {step.there for _, step in reached}) if reached else {}
    via = {key: memory.id for key, memory in memories.items()}
    via[start] = web.members([start])[start][0][1]
    found = [
        Neighbour(memories[step.there], step.relation, step.direction, level, via[step.here], step.relationship_id)
        for level, step in reached
        if step.there in memories and step.here in via
    ]
    if len(found) < 2:
        return tuple(found)
    kept: dict[tuple[str, str, str, str | None], Neighbour] = {}
    for one in sorted(found, key=_place_in_order):
        kept.setdefault((one.memory.id, one.relation, one.direction, one.relationship_id), one)
    return tuple(kept.values())


def _place_in_order(one: Neighbour) -> tuple[Any, ...]:
    return one.depth, one.relation, one.direction, one.memory.id, one.relationship_id or "", one.via


def path(snapshot: Snapshot, a: str, b: str) -> Path:
    """A shortest way between two memories, along or against any edges; of several the first by relation and id.

    Raises: NotFoundError; RejectedError when none was found within the bounds and there is more to walk.
    """
    limits = snapshot.library.limits
    web = Web(snapshot)
    start, goal = _started(web, a), _started(web, b)
    came: dict[int, Step | None] = {start: None}
    frontier = [start]
    allowed = ways(None, "both")
    for _ in range(limits.depth):
        if goal in came or not frontier:
            break
        steps = web.steps(frontier, allowed)
        ids = snapshot.ids({step.here for step in steps} | {step.there for step in steps})
        following = []
        for step in sorted(steps, key=lambda s: (ids[s.here], s.relation, s.direction, ids[s.there], s[4] or "")):
            if step.there not in came:
                came[step.there] = step
                following.append(step.there)
        if len(came) > limits.reached:
            raise too_far("memories", limits.reached)
        frontier = following
    if goal not in came:
        if frontier:
            raise too_far("steps", limits.depth)
        return Path()
    steps_back: list[Step] = []
    at = goal
    while (last := came[at]) is not None:
        steps_back.append(last)
        at = last.here
    memories = by_keys(snapshot, [start, *(step.there for step in steps_back)])
    chain = steps_back[::-1]
    return Path(
        (memories[start], *(memories[step.there] for step in chain)),
        tuple(
            Neighbour(
                memories[step.there], step.relation, step.direction, place, memories[step.here].id, step.relationship_id
            )
            for place, step in enumerate(chain, start=1)
        ),
    )


def subgraph(snapshot: Snapshot, ids: Iterable[str], *, depth: int = 1) -> Subgraph:
    """The memories within some steps of some others, with every edge between them.

    Raises: NotFoundError; InvalidAttributesError; RejectedError where the walk reaches too many.
    """
    _check_depth(depth, snapshot.library.limits, least=0)
    web = Web(snapshot)
    starts = [_started(web, id) for id in ids]
    allowed = ways(None, "both")
    reached = _levels(web, snapshot.library.limits, starts, allowed, depth)
    places = {*starts, *(step.there for _, step in reached)}
    memories = by_keys(snapshot, places)
    edges = set()
    for step in web.steps(sorted(places), Ways(allowed.out, frozenset(), True, False)):
        if step.here in memories and step.there in memories:
            here, there = memories[step.here].id, memories[step.there].id
            edges.add(Edge(here, step.relation, there, step.relationship_id))
    listed: list[Memory[Any]] = sorted(memories.values(), key=lambda memory: memory.id)
    return Subgraph(tuple(listed), tuple(sorted(edges, key=_edge_order)))


def _edge_order(edge: Edge) -> tuple[str, ...]:
    return edge.source, edge.relation, edge.target, edge.relationship_id or ""


def _levels(web: Web, limits: Limits, starts: Iterable[int], allowed: Ways, depth: int) -> list[tuple[int, Step]]:
    """Each edge by which a place was first reached, with the number of steps to it."""
    frontier = list(dict.fromkeys(starts))
    seen = set(frontier)
    found: list[tuple[int, Step]] = []
    for level in range(1, depth + 1):
        if not frontier:
            break
        new = [step for step in web.steps(frontier, allowed) if step.there not in seen]
        found += [(level, step) for step in new]
        frontier = sorted({step.there for step in new})
        seen.update(frontier)
        if len(seen) > limits.reached:
            raise too_far("memories", limits.reached)
    return found


def _started(web: Web, id: str) -> int:
    place = web.start(id)
    if place is None:
        raise not_there(id)
    return place


def _check_depth(depth: object, limits: Limits, least: int = 1) -> None:
    if isinstance(depth, bool) or not isinstance(depth, int) or not least <= depth <= limits.depth:
        problem = Problem("depth", f"must be a whole number, {least} to {limits.depth}")
        raise InvalidAttributesError("walk", [problem])
