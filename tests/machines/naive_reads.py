"""What the naive space answers: one memory, listings, tags and neighbours, for one viewer."""

from __future__ import annotations

from typing import Any

from tests.machines.naive import NaiveSpace
from tests.machines.naive_base import Mem, Refused
from tests.machines.naive_kinds import BASE, DECAY, SYMMETRIC


def all_tags(m: Mem) -> set[str]:
    """Its own tags, and those of what was merged into it."""
    return {*m["tags"], *(tag for given in m["absorbed"].values() for tag in given["tags"])}


def disputed(space: NaiveSpace, viewer: str, m: Mem) -> bool:
    """A contradiction with a memory that he may see is open."""
    for other in space.memories.values():
        for source, target in ((m, other), (other, m)):
            began = source["links"].get(("contradicts", target["id"]))
            if began is None or m is other:
                continue
            sides_hold = all(recallable(space, viewer, side) for side in (m, other))
            confirmed = max(m["user_confirmed"], other["user_confirmed"]) > began
            ways = (m["resolved"].get(other["id"]), other["resolved"].get(m["id"]))
            if sides_hold and not confirmed and not any(way is not None and way[1] >= began for way in ways):
                return True
    return False


def recallable(space: NaiveSpace, viewer: str, m: Mem) -> bool:
    """Shown to him, and active or stale."""
    return space.shows(viewer, m["id"]) and space.status(m, viewer) in ("active", "stale")


def undermined(space: NaiveSpace, viewer: str, m: Mem, seen: frozenset[str] = frozenset()) -> bool:
    """Something that it rests on, by whatever steps, no longer holds."""
    for relation, target in m["links"]:
        if relation != "derived_from" or not space.sees(viewer, space.memories[target]):
            continue
        ground = space.memories[target]
        walked = {target}
        while (into := ground["merged_into"]) is not None and into not in walked:
            if not space.sees(viewer, space.memories[into]):
                break
            walked.add(into)
            ground = space.memories[into]
        if ground["id"] in seen or ground is m or (ground["merged_into"] is not None and target == m["id"]):
            continue
        if falls(space, viewer, ground) or undermined(space, viewer, ground, seen | {m["id"], ground["id"]}):
            return True
    return False


def falls(space: NaiveSpace, viewer: str, m: Mem) -> bool:
    """It no longer holds itself: superseded, gone, archived as wrong, or contradicted below the review threshold."""
    if space.status(m, viewer) in ("superseded", "deleted", "withdrawn") and m["merged_into"] is None:
        return True
    if m["stored"] == "archived" and m["because"] == "wrong":
        return True
    return bool(m["confidence"] < 0.60 and (m["doubted"] or disputed(space, viewer, m)))


def get(space: NaiveSpace, viewer: str, id: str) -> dict[str, Any]:
    """One memory, field by field."""
    if not space.shows(viewer, id):
        raise Refused("NotFoundError")
    m = space.memories[id]
    everything = viewer.startswith("user:")
    links = [(r, t) for r, t in m["links"] if everything or space.shows(viewer, t)]
    attributes = dict(m["attributes"])
    if m["absorbed"]:
        came = {name for given in m["absorbed"].values() for name in given["aliases"]}
        attributes["aliases"] = [*attributes.get("aliases", ()), *came]
    flags = {"disputed"} if disputed(space, viewer, m) else set()
    flags |= {"undermined"} if undermined(space, viewer, m) else set()
    # A fading that nobody minds while something stronger holds is still there.
    if space.effective(m) < threshold(m):
        flags.add("stale")
    return {
        "id": id,
        "kind": m["kind"],
        "attributes": {
            n: sorted(set(v)) if isinstance(v, list | tuple) else v for n, v in attributes.items() if v != []
        },
        "title": m["title"],
        "content": m["content"],
        "tags": sorted(all_tags(m)),
        "links": sorted(links),
        "evidence": [e for n, e in enumerate(m["evidence"]) if e[:2] not in [o[:2] for o in m["evidence"][:n]]],
        "confidence": m["confidence"],
        "last_confirmed_at": m["confirmed_at"],
        "pinned": m["pinned"],
        "user_weight": m["user_weight"],
        "lifetime": m["lifetime"],
        "visibility": m["visibility"],
        "validity": m["validity"],
        "external_ids": m["externals"],
        "created_at": m["created_at"],
        "updated_at": m["updated_at"],
        "source": m["source"],
        "status": space.status(m, viewer),
        "effective_confidence": space.effective(m),
        "importance": importance(space, viewer, m, disputed="disputed" in flags),
        "flags": sorted(flags),
    }


def threshold(m: Mem) -> float:
    """Effective confidence strictly below which it is stale."""
    return float(DECAY[m["kind"]][1])


def importance(space: NaiveSpace, viewer: str, m: Mem, *, disputed: bool) -> float:
    """Base by kind, evidence, links to what he may see, an open contradiction."""
    if m["pinned"]:
        return 1.0
    if m["user_weight"] is not None:
        return float(m["user_weight"])
    edges = sum(space.shows(viewer, t) for _, t in m["links"])
    edges += sum(t == m["id"] for o in space.memories.values() if space.shows(viewer, o["id"]) for _, t in o["links"])
    score = (
        BASE[m["kind"]] + 0.10 * min(3, len({e[:2] for e in m["evidence"]})) + 0.05 * min(4, edges) + 0.15 * disputed
    )
    return float(min(1.0, score))


def find(space: NaiveSpace, viewer: str, **filters: Any) -> list[str]:
    """The ids that pass the filters, by creation."""
    found = [m for m in space.memories.values() if passes(space, viewer, m, filters)]
    return [m["id"] for m in sorted(found, key=lambda m: (m["created_at"], m["id"]))]


def passes(space: NaiveSpace, viewer: str, m: Mem, filters: dict[str, Any]) -> bool:
    """Whether a memory passes them all."""
    wanted = filters.get("status", ("active", "stale"))
    if not space.shows(viewer, m["id"]) or (wanted is not None and space.status(m, viewer) not in wanted):
        return False
    tags = all_tags(m)
    start, end = filters.get("created", (None, None))
    tests = [
        "kind" not in filters or m["kind"] == filters["kind"],
        all(tag in tags for tag in filters.get("tags", ())),
        "any_tags" not in filters or any(tag in tags for tag in filters["any_tags"]),
        m["confidence"] >= filters.get("min_confidence", 0.0),
        start is None or start <= m["created_at"] < end,
        all(m["attributes"].get(name) == value for name, value in filters.get("where", {}).items()),
    ]
    return all(tests)


def tags(space: NaiveSpace, viewer: str) -> dict[str, int]:
    """How many active or stale memories bear each tag."""
    counted: dict[str, int] = {}
    for m in space.memories.values():
        for tag in all_tags(m) if recallable(space, viewer, m) else ():
            counted[tag] = counted.get(tag, 0) + 1
    return counted


def chain(space: NaiveSpace, viewer: str, id: str) -> list[str]:
    """A memory, and what it was merged into, as far as he may see."""
    found: list[str] = []
    at: str | None = id
    while at is not None and at not in found and space.sees(viewer, space.memories[at]):
        found.append(at)
        at = space.memories[at]["merged_into"]
    return found


def place(space: NaiveSpace, viewer: str, id: str) -> str | None:
    """Where a memory lives on after merges, as far as he is shown it."""
    shown = [one for one in chain(space, viewer, id) if space.shows(viewer, one)]
    return shown[-1] if shown else None


def edges(space: NaiveSpace) -> list[tuple[str, str, str]]:
    """All edges, whoever may see them."""
    return [(m["id"], relation, target) for m in space.memories.values() for relation, target in m["links"]]


def neighbours(space: NaiveSpace, viewer: str, id: str, depth: int) -> set[tuple[str, str, str, int]]:
    """(memory, relation or predicate, direction, distance) of what is reached, each place at its nearest."""
    if not space.shows(viewer, id):
        raise Refused("NotFoundError")
    walked = [(source, relation, target, relation in SYMMETRIC) for source, relation, target in edges(space)]
    for m in space.memories.values():
        if m["kind"] == "relationship" and recallable(space, viewer, m):
            own = m["attributes"]
            if own["subject_id"] in space.memories and own["object_id"] in space.memories:
                walked.append((own["subject_id"], own["predicate"], own["object_id"], False))
    frontier = {place(space, viewer, id) or id}
    seen, found = set(frontier), set()
    for level in range(1, depth + 1):
        reached = set()
        for near, relation, far, direction in [
            *((s, r, t, "both" if both else "out") for s, r, t, both in walked),
            *((t, r, s, "both" if both else "in") for s, r, t, both in walked),
        ]:
            there = place(space, viewer, far)
            here = set(chain(space, viewer, near)) & frontier
            if here and there is not None and there not in seen:
                found.add((there, relation, direction, level))
                reached.add(there)
        seen |= reached
        frontier = reached
    return found
