"""The review queue the plain way: each reason looks through everything, and all that was found is sorted.

What `engram_core.reads.queue` answers, it must answer as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from engram_core.identity import normal_name
from engram_core.reads.disputes import disputes, is_doubted, undermined
from engram_core.reads.listing import importance_sql
from engram_core.reads.snapshot import Snapshot
from engram_core.results.accounts import ReviewRow
from engram_core.values import from_micros
from engram_core.vocab import ReviewReason

__all__ = ["whole_queue"]

_DAY: Final = 86_400_000_000


class _Case(NamedTuple):
    """Something that waits, before the memory that it concerns is looked at."""

    key: int | None
    other: str | None = None
    proposal_id: str | None = None
    evidence: Mapping[str, Any] = {}
    at: int = 0
    holds: Callable[[], bool] = lambda: True


def whole_queue(snapshot: Snapshot) -> list[ReviewRow]:
    """All that waits, in order."""
    rows = []
    for reason, (find, actions) in _FINDERS.items():
        placed = []
        for case in find(snapshot):
            other = case.other or ""
            figures = None if case.key is None else _figures(snapshot, case.key)
            if case.key is None:
                placed.append(((0.0, case.at, case.proposal_id or "", other), None, case))
            elif figures is not None:
                importance, created_at, id = figures
                placed.append(((-importance, created_at, id, other), id, case))
        rows += [
            ReviewRow(
                reason=reason,
                memory_id=id,
                other_id=case.other,
                proposal_id=case.proposal_id,
                evidence=case.evidence,
                actions=actions,
            )
            for _, id, case in sorted(placed, key=lambda one: one[0])
            if case.holds()
        ]
    return rows


def _figures(snapshot: Snapshot, key: int) -> tuple[float, int, str] | None:
    found: tuple[float, int, str] | None = snapshot.one(
        f"SELECT {importance_sql(snapshot)}, m.created_at, m.id FROM memories m"
        f" WHERE m.key = :key AND {snapshot.sql.shown('m')}",
        {"key": key},
    )
    return found


def _proposals(snapshot: Snapshot) -> Iterator[_Case]:
    is_user = snapshot.point.actor.is_user
    rows = snapshot.all(
        "SELECT p.id, p.author, p.opened_at, (SELECT count(*) FROM drafts d WHERE d.proposal = p.id) FROM proposals p"
        " WHERE p.position <= :upto AND (p.closed_position IS NULL OR p.closed_position > :upto)"
        # One of which every draft was erased since was open in no past that can still be read.
        " AND EXISTS (SELECT 1 FROM drafts d WHERE d.proposal = p.id AND d.digest IS NOT NULL)"
        " AND (:everybody OR p.author = :viewer)",
        {"upto": snapshot.known, "everybody": is_user},
    )
    for id, author, opened_at, drafts in rows:
        evidence = {"author": author, "opened_at": from_micros(opened_at), "drafts": drafts}
        yield _Case(None, None, id, evidence, opened_at)


def _disputed_pairs(snapshot: Snapshot) -> dict[int, list[int]]:
    rows = snapshot.all("SELECT l.source, l.target FROM links l WHERE l.relation = 'contradicts'")
    return disputes(snapshot, {key for row in rows for key in row})


def _contradictions(snapshot: Snapshot) -> Iterator[_Case]:
    """One row a pair: of the two the less believed one, of equals the older."""
    found = _disputed_pairs(snapshot)
    rows = snapshot.all(
        "SELECT m.key, m.confidence, m.created_at, m.id FROM json_each(:keys) j CROSS JOIN memories m"
        f" ON m.key = j.value WHERE {snapshot.sql.shown('m')}",
        {"keys": json.dumps(list(found))},
    )
    sides = {key: (confidence, created_at, id, key) for key, confidence, created_at, id in rows}
    told = set()
    for key, others in found.items():
        for other in others:
            pair = frozenset((key, other))
            if pair in told or not pair <= sides.keys():
                continue
            told.add(pair)
            doubted, believed = sorted(sides[k] for k in pair)
            evidence = {"confidence": doubted[0], "other_confidence": believed[0]}
            yield _Case(doubted[3], believed[2], None, evidence)


def _low_confidence(snapshot: Snapshot) -> Iterator[_Case]:
    """Believed below the threshold, and disputed by a memory, by evidence or by somebody's word."""
    threshold = snapshot.library.policy.review.low_confidence
    rows = snapshot.all(
        "SELECT m.key, m.id, m.confidence, m.revision FROM memories m"
        f" WHERE m.confidence < :threshold AND {snapshot.sql.recallable('m')}",
        {"threshold": threshold},
    )
    open_pairs = disputes(snapshot, [row[0] for row in rows])
    for key, id, confidence, revision in rows:
        evidence = {"confidence": confidence, "threshold": threshold}
        if key in open_pairs:
            yield _Case(key, None, None, evidence)
        elif revision > 1:  # somebody has done more than to write it down
            yield _Case(key, None, None, evidence, holds=partial(is_doubted, snapshot, id))


def _undermined(snapshot: Snapshot) -> Iterator[_Case]:
    rows = snapshot.all(
        "SELECT DISTINCT source FROM (SELECT l.source FROM links l JOIN memories m ON m.key = l.source"
        f" WHERE l.relation = 'derived_from' AND {snapshot.sql.recallable('m')} LIMIT -1)"
    )
    for key, bases in undermined(snapshot, [key for (key,) in rows]).items():
        nearest = bases[0]
        yield _Case(key, nearest.path[-1], None, {"path": nearest.path, "cause": nearest.cause})


def _lapsed(snapshot: Snapshot) -> Iterator[_Case]:
    """What took its place is gone, and no user has confirmed it since."""
    sql = snapshot.sql
    rows = snapshot.all(
        "SELECT m.key, n.id, n.stored, s.effective_at FROM supersessions s JOIN memories m ON m.key = s.old"
        f" JOIN memories n ON n.key = s.new WHERE s.effective_at <= :valid AND {sql.recallable('m')}"
        " AND n.stored IN ('deleted', 'erased', 'withdrawn') AND m.user_confirmed < n.from_position"
        f" AND {sql.traced('n')} ORDER BY s.effective_at, n.id"
    )
    for key, id, stored, effective_at in rows:
        shown = id if snapshot.sees_all else None
        yield _Case(key, shown, None, {"was": stored, "effective_at": from_micros(effective_at)})


def _stale(snapshot: Snapshot) -> Iterator[_Case]:
    rows = snapshot.all(
        "SELECT m.key, m.stale_at, m.confidence FROM memories m"
        f" WHERE m.stale_at <= :now AND {snapshot.sql.recallable('m')}"
    )
    for key, stale_at, confidence in rows:
        yield _Case(key, None, None, {"stale_since": from_micros(stale_at), "confidence": confidence})


def _expiring(snapshot: Snapshot) -> Iterator[_Case]:
    """Within some days of its end; an ephemeral one from half of its time on."""
    lens = snapshot.lens
    ahead = lens.micros + int(snapshot.library.policy.review.expiring_days * _DAY)
    rows = snapshot.all(
        "SELECT m.key, m.kind, m.lifetime, m.expires_at FROM memories m"
        f" WHERE m.expires_at > :now AND {snapshot.sql.recallable('m')}"
    )
    for key, kind, lifetime, expires_at in rows:
        if lifetime == "ephemeral":
            due = expires_at - lens.decay(kind).ephemeral_days * _DAY / 2 <= lens.micros
        else:
            due = expires_at <= ahead
        if due:
            yield _Case(key, None, None, {"expires_at": from_micros(expires_at), "lifetime": lifetime})


def _dangling(snapshot: Snapshot) -> Iterator[_Case]:
    """Edges to what is gone; users also learn of edges to what was never there."""
    sql = snapshot.sql
    # What is gone has an index of its own, and is little: begin there, not at every edge.
    rows = snapshot.all(
        "SELECT l.source, m.id, l.relation, n.id, n.stored FROM memories n CROSS JOIN links l ON l.target = n.key"
        " CROSS JOIN memories m ON m.key = l.source"
        " WHERE n.stored NOT IN ('active', 'archived') AND n.merged_into IS NULL"
        f" AND m.stored = 'active' AND {sql.shown('m')} AND {sql.traced('n')} ORDER BY l.source, n.id, l.relation"
    )
    if snapshot.sees_all:
        rows += snapshot.all(
            "SELECT d.source, m.id, d.relation, d.target_id, 'missing' FROM dangling d"
            f" CROSS JOIN memories m ON m.key = d.source WHERE m.stored = 'active' AND {sql.shown('m')}"
            " AND (:known IS NULL OR d.from_position <= :known) ORDER BY d.source, d.target_id, d.relation"
        )
    for key, source, relation, target, reason in rows:
        shown = target if snapshot.sees_all else None
        edge = {"source": source, "relation": relation, "target": shown, "reason": reason}
        yield _Case(key, shown, None, edge)


def _ownerless(snapshot: Snapshot) -> Iterator[_Case]:
    sql = snapshot.sql
    rows = snapshot.all(
        f"SELECT m.key FROM memories m WHERE m.kind = 'contact' AND {sql.recallable('m')} AND NOT EXISTS"
        " (SELECT 1 FROM links l JOIN memories n ON n.key = l.target WHERE l.source = m.key"
        f" AND l.relation = 'owned_by' AND {sql.shown('n')})"
    )
    for (key,) in rows:
        yield _Case(key)


def _duplicates(snapshot: Snapshot) -> Iterator[_Case]:
    """Two entities of a kind that share a name or a contact, unless they were marked distinct."""
    pairs: dict[tuple[int, int], dict[str, list[str]]] = {}
    for sort, blocks in (("shared", _by_name(snapshot)), ("contacts", _by_contact(snapshot))):
        for (_, text), keys in blocks.items():
            first, *others = dict.fromkeys(keys)
            for other in others:
                pairs.setdefault((other, first), {}).setdefault(sort, []).append(text)
    denied = {frozenset(row) for row in snapshot.all("SELECT one, other FROM settled WHERE what = 'distinct'")}
    ids = snapshot.ids({first for _, first in pairs})
    for (key, first), alike in pairs.items():
        if frozenset((key, first)) not in denied:
            yield _Case(key, ids[first], None, {sort: tuple(texts) for sort, texts in alike.items()})


def _by_name(snapshot: Snapshot) -> dict[tuple[str, str], list[int]]:
    """Entities by kind and each of their names, the oldest first."""
    rows = snapshot.all(
        f"SELECT m.key, m.kind, m.attributes FROM memories m WHERE m.kind IN ({_entities(snapshot)})"
        f" AND {snapshot.sql.recallable('m')} ORDER BY m.created_at, m.id"
    )
    least = snapshot.library.policy.review.min_name
    names: dict[tuple[str, str], list[int]] = {}
    for key, kind, text in rows:
        for name in _names(snapshot, kind, json.loads(text)):
            if len(name) >= least:
                names.setdefault((kind, name), []).append(key)
    return names


def _by_contact(snapshot: Snapshot) -> dict[tuple[str, str], list[int]]:
    """Entities by kind and each contact that is theirs, the oldest first."""
    sql = snapshot.sql
    rows = snapshot.all(
        "SELECT o.key, o.kind, json_extract(c.attributes, '$.channel'), json_extract(c.attributes, '$.value')"
        " FROM memories c JOIN links l ON l.source = c.key AND l.relation = 'owned_by'"
        " JOIN memories o ON o.key = l.target WHERE c.kind = 'contact'"
        f" AND o.kind IN ({_entities(snapshot)}) AND {sql.recallable('c')} AND {sql.recallable('o')}"
        " ORDER BY o.created_at, o.id, c.created_at, c.id"
    )
    contacts: dict[tuple[str, str], list[int]] = {}
    for key, kind, channel, value in rows:
        contacts.setdefault((kind, f"{channel}: {normal_name(value)}"), []).append(key)
    return contacts


def _entities(snapshot: Snapshot) -> str:
    return ", ".join(f"'{spec.kind}'" for spec in snapshot.library.kinds if spec.entity)


def _names(snapshot: Snapshot, kind: str, raw: Mapping[str, Any]) -> frozenset[str]:
    spec = snapshot.library.kinds.spec(kind)
    label = next((str(raw[name]) for name in spec.label_fields if raw.get(name)), "")
    others = raw.get(spec.alias_field, ()) if spec.alias_field else ()
    return frozenset(normal_name(name) for name in (label, *others) if name)


_FINDERS: Final[Mapping[ReviewReason, tuple[Callable[[Snapshot], Iterator[_Case]], tuple[str, ...]]]] = {
    ReviewReason.PROPOSAL: (_proposals, ("approve", "reject", "rebase")),
    ReviewReason.CONTRADICTION: (_contradictions, ("resolve", "confirm", "supersede", "archive")),
    ReviewReason.LOW_CONFIDENCE: (_low_confidence, ("confirm", "archive")),
    ReviewReason.UNDERMINED: (_undermined, ("unlink", "archive", "restore")),
    ReviewReason.SUPERSESSION_LAPSED: (_lapsed, ("confirm", "supersede", "archive")),
    ReviewReason.STALE: (_stale, ("confirm", "update", "archive")),
    ReviewReason.EXPIRING: (_expiring, ("set_lifetime", "pin", "archive")),
    ReviewReason.DUPLICATE: (_duplicates, ("merge", "mark_distinct")),
    ReviewReason.DANGLING_EDGE: (_dangling, ("unlink",)),
    ReviewReason.OWNERLESS_CONTACT: (_ownerless, ("link", "archive")),
}
