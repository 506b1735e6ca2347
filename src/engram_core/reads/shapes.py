"""Edges that no single actor could have made: where one is hidden from whoever made the other, both were allowed."""

from __future__ import annotations

import sqlite3
from typing import Final

from engram_core.kinds.relations import RELATIONS
from engram_core.results.accounts import IllShape
from engram_core.vocab import Relation

__all__ = ["ill_shapes"]

_LIVE: Final = "('active', 'archived')"


def ill_shapes(tx: sqlite3.Connection) -> dict[str, list[IllShape]]:
    """What lies in the read model: "second_edge" where a kind may have one alone, "circle" where there may be none.

    Args:
        tx: A connection to the read model. Whoever is shown this must be allowed to see all.

    Returns: Lists by sort, in the order of ids; a sort of which there is none is left out.
    """
    home = _Homes(tx)
    second = [
        IllShape(relation, (source, *targets))
        for relation, rule in RELATIONS.items()
        if rule.single
        for source, targets in sorted(_edges(tx, relation, home, rule.single).items())
        if len(targets) > 1
    ]
    circles = [
        IllShape(relation, circle)
        for relation, rule in RELATIONS.items()
        if rule.acyclic
        for circle in sorted(_circles(_edges(tx, relation, home)))
    ]
    return {name: found for name, found in (("second_edge", second), ("circle", circles)) if found}


class _Homes(dict[str, str]):
    """Where memories live: what was merged, in the last of its survivors."""

    def __init__(self, tx: sqlite3.Connection) -> None:
        super().__init__(tx.execute("SELECT id, merged_into FROM memories WHERE merged_into IS NOT NULL"))

    def of(self, id: str) -> str:
        """The memory itself, or its last survivor."""
        seen = {id}
        while (further := self.get(id)) is not None and further not in seen:
            seen.add(further)
            id = further
        return id


def _edges(
    tx: sqlite3.Connection, relation: Relation, home: _Homes, kinds: frozenset[str] | None = None
) -> dict[str, list[str]]:
    """All edges of a relation between memories that are there, each once, merges resolved."""
    edges: dict[str, dict[str, None]] = {}
    for kind, source, target in tx.execute(
        "SELECT m.kind, m.id, n.id FROM links l"
        " CROSS JOIN memories m ON m.key = l.source CROSS JOIN memories n ON n.key = l.target"
        f" WHERE l.relation = ? AND m.stored IN {_LIVE} AND n.stored IN {_LIVE} ORDER BY 2, 3",
        (relation.value,),
    ):
        if kinds is None or kind in kinds:
            edges.setdefault(home.of(source), {})[home.of(target)] = None
    return {source: list(targets) for source, targets in edges.items()}


def _circles(edges: dict[str, list[str]]) -> list[tuple[str, ...]]:
    """The sets of memories that lead to each other, by Tarjan's method without recursion."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    inside: set[str] = set()
    circles: list[tuple[str, ...]] = []
    for start in sorted(edges):
        if start in order:
            continue
        path = [(start, iter(edges[start]))]
        order[start] = lowest[start] = len(order)
        waiting.append(start)
        inside.add(start)
        while path:
            id, targets = path[-1]
            target = next(targets, None)
            if target is None:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[id])
                if lowest[id] == order[id]:
                    members: list[str] = []
                    while not members or members[-1] != id:
                        members.append(waiting.pop())
                    inside.difference_update(members)
                    if len(members) > 1 or id in edges.get(id, ()):
                        circles.append(tuple(sorted(members)))
            elif target not in order:
                order[target] = lowest[target] = len(order)
                waiting.append(target)
                inside.add(target)
                path.append((target, iter(edges.get(target, ()))))
            elif target in inside:
                lowest[id] = min(lowest[id], order[target])
    return circles
