"""Walking the graph as one viewer sees it: merged memories are one place, relationships are edges, nothing hidden is
passed through.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from engram_core.errors import InvalidAttributesError, Problem, RejectedError
from engram_core.kinds.relations import RELATIONS, named_relation, relation_names
from engram_core.reads.snapshot import Snapshot
from engram_core.results.graph import Direction
from engram_core.vocab import Relation

__all__ = ["RELATIONSHIP", "Step", "Ways", "Web", "kin", "too_far", "ways"]

RELATIONSHIP = "relationship"
"""The name under which relationships are asked for, whatever their predicate."""

_SYMMETRIC: Final = frozenset(relation.value for relation, rules in RELATIONS.items() if rules.symmetric)


class Step(NamedTuple):
    """One edge that was walked, between places: from `here` to `there`."""

    here: int
    there: int
    relation: str
    direction: Direction
    relationship_id: str | None = None


class Ways(NamedTuple):
    """Which edges are walked.

    Attributes:
        out: Relations that are walked along.
        back: Relations that are walked against.
        reified_out, reified_back: Whether relationships are walked from subject to object, and back.
    """

    out: frozenset[str]
    back: frozenset[str]
    reified_out: bool
    reified_back: bool


def ways(relation: object, direction: str) -> Ways:
    """Which edges a call asks for.

    Args:
        relation: None for all; a relation, the inverse name of one, "relationship"; or several of these.
        direction: "out", "in" or "both", as seen along the named relation. An inverse name has one direction only.

    Raises: InvalidAttributesError for a name that is not known.
    """
    if direction not in ("out", "in", "both"):
        problem = Problem("direction", f'{direction!r} is none of "out", "in", "both"')
        raise InvalidAttributesError("neighbours", [problem])
    if relation is None:
        return _named((*Relation, RELATIONSHIP), direction)
    if isinstance(relation, str):
        return _named((str(relation),), direction)
    if isinstance(relation, Iterable) and not isinstance(relation, bytes | type):
        return _named(tuple(map(str, relation)), direction)
    problem = Problem("relation", f"must be a relation or several, not {type(relation).__name__}")
    raise InvalidAttributesError("neighbours", [problem])


@lru_cache(maxsize=256)
def _named(names: tuple[str, ...], direction: str) -> Ways:
    """The ways of some names; there are few that are asked for."""
    along, against = direction != "in", direction != "out"
    out, back = set(), set()
    for name in names:
        if name == RELATIONSHIP:
            continue
        try:
            found, backwards = named_relation(name)
        except KeyError:
            listed = ", ".join((*relation_names(), RELATIONSHIP))
            problem = Problem("relation", f"{name!r} is none of {listed}")
            raise InvalidAttributesError("neighbours", [problem]) from None
        if RELATIONS[found].symmetric:
            out.add(found.value)
            back.add(found.value)
        elif backwards:
            (back if along else out).add(found.value)
        else:
            out.update([found.value] if along else [])
            back.update([found.value] if against else [])
    reified = RELATIONSHIP in names
    return Ways(frozenset(out), frozenset(back), reified and along, reified and against)


class Web:
    """The graph around some places, read level by level.

    A place is a memory that nothing else replaced by merging; it stands for its merged sources, too.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._place: dict[int, int | None] = {}
        self._members: dict[int, list[tuple[int, str]]] = {}
        self._merges: bool | None = None
        self._reifies = True

    def start(self, id: str) -> int | None:
        """The place of a memory; None when it is not shown to the viewer."""
        key = self._snapshot.key(id)
        if key is None:
            return None
        if self._has_merges():
            return self._places([key])[key] or key
        self._place[key], self._members[key] = key, [(key, id)]
        return key

    def _has_merges(self) -> bool:
        """Whether anything was merged at all; most spaces are walked without looking for it at every step."""
        if self._merges is None:
            merged = "EXISTS (SELECT 1 FROM memories s WHERE s.merged_into IS NOT NULL)"
            # Of the past no index tells whether there were relationships.
            is_past = self._snapshot.parameters["known"] is not None
            reified = "1" if is_past else "EXISTS (SELECT 1 FROM memories r WHERE r.kind = 'relationship')"
            found = self._snapshot.one(f"SELECT {merged}, {reified}")
            self._merges, self._reifies = bool(found[0]), bool(found[1])
        return self._merges

    def _has_relationships(self) -> bool:
        self._has_merges()
        return self._reifies

    def members(self, places: Iterable[int]) -> dict[int, list[tuple[int, str]]]:
        """Key and id of the memories that each place stands for."""
        asked = list(dict.fromkeys(places))
        new = [place for place in asked if place not in self._members]
        ids = self._snapshot.ids(new) if new else {}
        self._members.update((place, [(place, ids[place])]) for place in new)
        stands_for = {ids[place]: place for place in new}
        todo = list(stands_for) if new and self._has_merges() else []
        traced = self._snapshot.sql.traced("s")
        while todo:
            rows = self._snapshot.all(
                "SELECT s.merged_into, s.key, s.id FROM memories s WHERE s.merged_into IS NOT NULL"
                f" AND s.merged_into IN (SELECT value FROM json_each(:ids)) AND s.stored <> 'erased' AND {traced}",
                {"ids": json.dumps(todo)},
            )
            todo = []
            for survivor, key, id in rows:
                if id not in stands_for:
                    stands_for[id] = stands_for[survivor]
                    self._members[stands_for[id]].append((key, id))
                    todo.append(id)
        return {place: self._members[place] for place in asked}

    def steps(self, places: Iterable[int], allowed: Ways) -> list[Step]:
        """All edges from some places, each end a place; loops within a place are none."""
        members = self.members(places)
        here = {key: place for place, own in members.items() for key, _ in own}
        raw = list(self._edges(here, allowed))
        if (allowed.reified_out or allowed.reified_back) and self._has_relationships():
            ids = {id: place for place, own in members.items() for _, id in own}
            raw += self._relationships(ids, allowed)
        ends = self._places({step.there for step in raw})
        found = []
        for step in raw:
            there = ends[step.there]
            if there is not None and there != step.here:
                found.append(step if there == step.there else step._replace(there=there))
        return list(dict.fromkeys(found))

    def _edges(self, here: dict[int, int], allowed: Ways) -> Iterator[Step]:
        listed = {"keys": json.dumps(list(here))}
        # Where nothing was merged an end is its own place, if it is shown; else `_places` has to ask where it went.
        is_plain = not self._has_merges() and self._snapshot.parameters["known"] is None
        ends = f" CROSS JOIN memories m ON m.key = l.{{far}} WHERE {self._snapshot.sql.shown('m')}" if is_plain else ""
        asked = [
            f"SELECT l.{near}, l.{far}, l.relation, '{direction}' FROM json_each(:keys) j"
            f" CROSS JOIN links l ON l.{near} = j.value{ends.format(far=far)}"
            for near, far, relations, direction in (
                ("source", "target", allowed.out, "out"),
                ("target", "source", allowed.back, "in"),
            )
            if relations
        ]
        for start, end, relation, direction in self._snapshot.all(" UNION ALL ".join(asked), listed) if asked else ():
            if relation in (allowed.out if direction == "out" else allowed.back):
                if is_plain:
                    self._place[end] = end
                yield Step(here[start], end, relation, "both" if relation in _SYMMETRIC else direction)

    def _relationships(self, ids: dict[str, int], allowed: Ways) -> Iterator[Step]:
        recallable = self._snapshot.sql.recallable("r")
        asked = [
            f"SELECT json_extract(r.attributes, '$.{near}'), o.key, json_extract(r.attributes, '$.predicate'),"
            f" '{direction}', r.id FROM memories r JOIN memories o ON o.id = json_extract(r.attributes, '$.{far}')"
            f" WHERE r.kind = 'relationship' AND json_extract(r.attributes, '$.{near}') IN"
            f" (SELECT value FROM json_each(:ids)) AND {recallable}"
            for near, far, walked, direction in (
                ("subject_id", "object_id", allowed.reified_out, "out"),
                ("object_id", "subject_id", allowed.reified_back, "in"),
            )
            if walked
        ]
        for start, end, predicate, direction, id in self._snapshot.all(
            " UNION ALL ".join(asked), {"ids": json.dumps(list(ids))}
        ):
            yield Step(ids[start], end, predicate, direction, id)

    def _places(self, keys: Iterable[int]) -> dict[int, int | None]:
        """The place of each memory; None where the viewer is shown none."""
        asked = set(keys)
        unknown = asked - self._place.keys()
        if not unknown:
            return {key: self._place[key] for key in asked}
        leads: dict[int, int | None] = {}
        shown: set[int] = set()
        todo = unknown
        sql = self._snapshot.sql
        while todo:
            rows = self._snapshot.all(
                f"SELECT m.key, {sql.shown('m')}, (SELECT v.key FROM memories v WHERE v.id = m.merged_into)"
                " FROM json_each(:keys) j CROSS JOIN memories m ON m.key = j.value"
                f" WHERE m.stored <> 'erased' AND {sql.traced('m')}",
                {"keys": json.dumps(sorted(todo))},
            )
            leads.update((key, survivor) for key, _, survivor in rows)
            shown.update(key for key, is_shown, _ in rows if is_shown)
            todo = {survivor for _, _, survivor in rows if survivor is not None and survivor not in leads}
        for key in unknown:
            self._place[key] = _end(key, leads, shown)
        return {key: self._place[key] for key in asked}


def _end(key: int, links: dict[int, int | None], shown: set[int]) -> int | None:
    """Follows merges as far as the viewer is shown where they lead."""
    best: int | None = None
    seen: set[int] = set()
    current: int | None = key
    while current is not None and current not in seen and current in links:
        seen.add(current)
        if current in shown:
            best = current
        current = links[current]
    return best


def kin(snapshot: Snapshot, id: str) -> list[int]:
    """The keys of a memory and of all that is one with it by merging, as far as the viewer may see.

    Returns: None of them when the memory is not shown to him.
    """
    web = Web(snapshot)
    place = web.start(id)
    return [] if place is None else [key for key, _ in web.members([place])[place]]


def too_far(what: str, limit: int) -> RejectedError:
    """The error at the bound of a traversal."""
    return RejectedError(
        f"the walk reaches more than {limit:,} {what}",
        code="traversal_limit",
        hint="name a relation, walk less deep, or raise the space's Limits",
        limit=limit,
    )
