"""Open contradictions between memories, and what rests on something that no longer holds. Source: model §8."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from engram_core.events import MemoryContradicted
from engram_core.folding import dispute_key, fold
from engram_core.reads.snapshot import Snapshot
from engram_core.results.accounts import Basis

__all__ = ["disputed_sql", "disputes", "is_doubted", "open_pairs", "undermined"]


def _open(snapshot: Snapshot, here: str, there: str, since: str) -> str:
    """SQL: the contradiction between two rows, whose edge began at `since`, is open to the viewer's eyes."""
    sql = snapshot.sql
    return (
        f"{sql.recallable(here)} AND {sql.recallable(there)}"
        f" AND {here}.user_confirmed <= {since} AND {there}.user_confirmed <= {since}"
        f" AND NOT EXISTS (SELECT 1 FROM settled r WHERE r.what = 'resolved' AND r.at >= {since}"
        f" AND ((r.one = {here}.key AND r.other = {there}.key) OR (r.one = {there}.key AND r.other = {here}.key)))"
    )


def disputed_sql(snapshot: Snapshot, alias: str) -> str:
    """SQL: the row is one side of an open contradiction."""
    return (
        f"(EXISTS (SELECT 1 FROM links d JOIN memories o ON o.key = d.target WHERE d.source = {alias}.key"
        f" AND d.relation = 'contradicts' AND {_open(snapshot, alias, 'o', 'd.began')})"
        f" OR EXISTS (SELECT 1 FROM links d JOIN memories o ON o.key = d.source WHERE d.target = {alias}.key"
        f" AND d.relation = 'contradicts' AND {_open(snapshot, alias, 'o', 'd.began')}))"
    )


def disputes(snapshot: Snapshot, keys: Iterable[int]) -> dict[int, list[int]]:
    """The open contradictions of some memories.

    Args:
        snapshot: Through whose eyes.
        keys: Keys of the memories that are asked about.

    Returns: By key, the keys of the other sides; memories without an open contradiction are left out.
    """
    listed = json.dumps(list(keys))
    if listed == "[]":
        return {}
    found: dict[int, list[int]] = {}
    for near, far in (("source", "target"), ("target", "source")):
        rows = snapshot.all(
            f"SELECT h.key, o.key FROM json_each(:keys) j CROSS JOIN links d ON d.{near} = j.value"
            f" JOIN memories h ON h.key = d.{near} JOIN memories o ON o.key = d.{far}"
            f" WHERE d.relation = 'contradicts' AND {_open(snapshot, 'h', 'o', 'd.began')}",
            {"keys": listed},
        )
        for here, there in rows:
            if there not in found.setdefault(here, []):
                found[here].append(there)
    return found


def open_pairs(snapshot: Snapshot) -> list[tuple[int, int]]:
    """All open contradictions, each once, whoever of the two contradicted the other."""
    rows = snapshot.all(
        "SELECT h.key, o.key FROM links d JOIN memories h ON h.key = d.source JOIN memories o ON o.key = d.target"
        f" WHERE d.relation = 'contradicts' AND {_open(snapshot, 'h', 'o', 'd.began')}"
    )
    return list({frozenset(row): row for row in rows if row[0] != row[1]}.values())


def is_doubted(snapshot: Snapshot, id: str) -> bool:
    """True when somebody disputes it by a word or evidence of his own, and no user confirmed it since."""
    library = snapshot.library
    events = [recorded for recorded in library.log.stream(id) if recorded.position <= snapshot.known]
    state = fold(events, upcast=library.kinds.upcast)
    if state is None:
        return False
    belief = state.confidence
    # What was undone is among the events, but no longer among what is disputed.
    return any(
        isinstance(recorded.event, MemoryContradicted)
        and recorded.event.by is None
        and belief.user_confirmed < recorded.position <= belief.disputed
        and any(ground == dispute_key(None, recorded.event.evidence) for _, ground in belief.disputes)
        for recorded in events
    )


class _Ground(NamedTuple):
    """A memory that others are derived from: how it may be named, and why it does not hold, if so."""

    key: int
    id: str | None
    cause: str | None
    survivor: str | None


def undermined(snapshot: Snapshot, keys: Iterable[int]) -> dict[int, list[Basis]]:
    """What some memories rest on and no longer holds, through derived_from, transitively.

    Returns: By key, the nearest causes with the way to each; memories that rest on firm ground are left out.
    """
    starts = list(keys)
    grounds: dict[int, list[int]] = {}
    known: dict[int, _Ground] = {}
    open_keys = set(starts)
    while open_keys:
        grounds.update((key, []) for key in open_keys)
        rows = snapshot.all(
            "SELECT l.source, l.target FROM links l WHERE l.relation = 'derived_from'"
            " AND l.source IN (SELECT value FROM json_each(:keys))",
            {"keys": json.dumps(sorted(open_keys))},
        )
        _learn(snapshot, {target for _, target in rows} - known.keys(), known)
        open_keys = set()
        for source, target in rows:
            end = _survivor(snapshot, target, known)
            if end is not None:
                grounds[source].append(end)
                if end not in grounds and known[end].cause is None:
                    open_keys.add(end)
    found = {}
    for start in starts:
        causes = _causes(start, grounds, known)
        if causes:
            (own,) = snapshot.all("SELECT m.id FROM memories m WHERE m.key = :key", {"key": start})
            found[start] = [Basis(path=(own[0], *path), cause=cause) for path, cause in causes]
    return found


def _learn(snapshot: Snapshot, keys: Iterable[int], known: dict[int, _Ground]) -> None:
    """Looks up memories that others are derived from; those that the viewer may not see stay unknown."""
    listed = json.dumps(sorted(keys))
    if listed == "[]":
        return
    sql = snapshot.sql
    rows = snapshot.all(
        f"SELECT m.key, m.id, {sql.status('m')}, m.because, m.merged_into, m.confidence, m.doubted FROM memories m"
        " WHERE m.key IN (SELECT value FROM json_each(:keys))"
        f" AND {sql.traced('m')}",
        {"keys": listed},
    )
    doubted = {row[0]: bool(row[6]) for row in rows if row[5] < snapshot.library.policy.review.low_confidence}
    disputed = disputes(snapshot, doubted)
    for key, id, status, because, survivor, *_ in rows:
        cause = None
        if status in {"superseded", "deleted", "erased", "withdrawn"} and survivor is None:
            cause = "deleted" if status == "withdrawn" else status
        elif status == "archived" and because == "wrong":
            cause = "wrong"
        elif key in disputed or (doubted.get(key) and is_doubted(snapshot, id)):
            cause = "disputed"
        named = None if status in {"deleted", "erased", "withdrawn"} and not snapshot.sees_all else id
        known[key] = _Ground(key, named, cause, survivor)


def _survivor(snapshot: Snapshot, key: int, known: dict[int, _Ground]) -> int | None:
    """Where a ground lives on after merges; None when the viewer may not see it."""
    seen: set[int] = set()
    while key in known and known[key].survivor is not None and key not in seen:
        seen.add(key)
        found = snapshot.one("SELECT m.key FROM memories m WHERE m.id = :id", {"id": known[key].survivor})
        if found is None:
            break
        if found[0] not in known:
            _learn(snapshot, {found[0]}, known)
        key = found[0]
    return key if key in known else None


def _causes(
    start: int, grounds: dict[int, list[int]], known: dict[int, _Ground]
) -> list[tuple[tuple[str | None, ...], str]]:
    """Breadth-first: the causes that are reached from a memory, each with a shortest way to it."""
    found: list[tuple[tuple[str | None, ...], str]] = []
    seen = {start}
    level: list[tuple[int, tuple[str | None, ...]]] = [(start, ())]
    while level:
        following = []
        for key, path in level:
            for ground in sorted(grounds.get(key, ()), key=lambda g: (known[g].id or "", known[g].cause or "")):
                if ground in seen:
                    continue
                seen.add(ground)
                way = (*path, known[ground].id)
                cause = known[ground].cause
                if cause is not None:
                    found.append((way, cause))
                else:
                    following.append((ground, way))
        level = following
    return found
