"""The review queue: what waits for a person, derived from what is there. Source: model §8.

Each reason is one query over what the viewer may see; the rows are ordered by reason, importance, age and id. A query
begins at the few that may wait, which indexes name (`reads.waiting`), and never at everything; reasons behind a page
are not looked into.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from math import ceil
from typing import Any, Final, NamedTuple

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.reads import waiting
from engram_core.reads.disputes import is_doubted, open_pairs, undermined
from engram_core.reads.listing import Cursor, check_limit, importance_sql, read_cursor, write_cursor
from engram_core.reads.namesakes import by_contact, by_name
from engram_core.reads.snapshot import Snapshot
from engram_core.results.accounts import ReviewRow
from engram_core.results.listings import Page
from engram_core.values import from_micros
from engram_core.vocab import ReviewReason

__all__ = ["reviews"]

_DAY: Final = 86_400_000_000


class _Case(NamedTuple):
    """Something that waits, before the memory that it concerns is looked at.

    `holds` asks what is too dear to ask of all; it is asked in the order of the queue, and no longer than needed.
    """

    key: int
    other: str | None = None
    evidence: Mapping[str, Any] = {}
    holds: Callable[[], bool] = lambda: True


class _Place(NamedTuple):
    """A place in the queue, by which it is sorted; `number` tells apart what is masked alike."""

    rank: int
    unimportance: float
    at: int
    id: str
    other: str = ""
    number: int = 0


class _Placed(NamedTuple):
    """What waits at a place in the queue."""

    place: _Place
    memory_id: str | None
    other: str | None = None
    proposal_id: str | None = None
    evidence: Mapping[str, Any] = {}
    holds: Callable[[], bool] = lambda: True


class _Stretch(NamedTuple):
    """The part of one reason that is asked for: as many as there is room for, after a place."""

    rank: int
    last: _Place | None
    room: int


def reviews(
    snapshot: Snapshot, *, reason: ReviewReason | str | None = None, limit: int = 50, after: str | None = None
) -> Page[ReviewRow]:
    """One page of the review queue.

    Args:
        snapshot: Through whose eyes.
        reason: Only rows of this reason.
        limit: How many, 1 to 1,000.
        after: The `next` of the page before.

    Raises: InvalidAttributesError.
    """
    limit = check_limit(limit, snapshot.library.limits)
    chosen = list(ReviewReason) if reason is None else [_reason(reason)]
    query = f"reviews:{reason}"
    last = None
    if after is not None:
        (rank, unimportance, at, id, number), other = read_cursor(after, query, 5)
        last = _Place(rank, unimportance, at, id, other, number)
    shown = list(islice(_waiting(snapshot, chosen, last, limit + 1), limit + 1))
    following = None
    if len(shown) > limit:
        end = shown[limit - 1][1].place
        following = write_cursor(Cursor((*end[:4], end.number), end.other), query)
    return Page(tuple(_row(found, placed) for found, placed in shown[:limit]), following)


def _waiting(
    snapshot: Snapshot, reasons: Iterable[ReviewReason], last: _Place | None, room: int
) -> Iterator[tuple[ReviewReason, _Placed]]:
    """What waits after a place in the queue, in order; reasons that nobody comes to are not looked into."""
    ranks = {reason: rank for rank, reason in enumerate(ReviewReason)}
    for reason in reasons:
        if last is None or ranks[reason] >= last.rank:
            find, _ = _FINDERS[reason]
            for placed in find(snapshot, _Stretch(ranks[reason], last, room)):
                if (last is None or placed.place > last) and placed.holds():
                    yield reason, placed


def _reason(given: ReviewReason | str) -> ReviewReason:
    try:
        return ReviewReason(given)
    except ValueError:
        problem = Problem("reason", f"{given!r} is none of {', '.join(ReviewReason)}")
        raise InvalidAttributesError("reviews", [problem]) from None


def _sorted(snapshot: Snapshot, stretch: _Stretch, cases: Iterable[_Case]) -> Iterator[_Placed]:
    """The cases of one reason in the order of the queue; what is masked alike keeps the order in which it came."""
    found = list(cases)
    figures = _figures(snapshot, {case.key for case in found})
    placed, alike = [], Counter[_Place]()
    for case in found:
        if case.key in figures:
            importance, created_at, id = figures[case.key]
            place = _Place(stretch.rank, -importance, created_at, id, case.other or "")
            alike[place] += 1
            place = place._replace(number=alike[place])
            placed.append(_Placed(place, id, case.other, None, case.evidence, case.holds))
    return iter(sorted(placed, key=lambda one: one.place))


def _figures(snapshot: Snapshot, keys: Iterable[int]) -> dict[int, tuple[float, int, str]]:
    """Importance, beginning and id of memories that are shown to the viewer; less than reading them would be."""
    rows = snapshot.all(
        f"SELECT m.key, {importance_sql(snapshot)}, m.created_at, m.id FROM json_each(:keys) j"
        f" CROSS JOIN memories m ON m.key = j.value WHERE {snapshot.sql.shown('m')}",
        {"keys": json.dumps(list(keys))},
    )
    return {key: (importance, created_at, id) for key, importance, created_at, id in rows}


def _first(
    snapshot: Snapshot,
    stretch: _Stretch,
    columns: str,
    where: str,
    evidence: Callable[..., Mapping[str, Any]],
    more: Mapping[str, Any] = {},
) -> Iterator[_Placed]:
    """The first memories `m` that fulfil a condition, in the order of the queue; SQLite keeps no more of them.

    Args:
        snapshot: Through whose eyes.
        stretch: How many, after which place.
        columns: SQL of what `evidence` is made from.
        where: SQL.
        evidence: Makes the evidence of a row.
        more: Parameters.
    """
    chosen = (
        f"SELECT -({importance_sql(snapshot)}) AS unimportance, m.created_at AS at, m.id AS id, {columns}"
        f" FROM memories m WHERE {where} LIMIT -1"  # so that nothing of it is computed twice
    )
    more = {**more, "room": stretch.room}
    beyond = "1"
    if stretch.last is not None and stretch.last.rank == stretch.rank:
        beyond = "(unimportance, at, id) > (:unimportance, :at, :id)"
        more |= {"unimportance": stretch.last.unimportance, "at": stretch.last.at, "id": stretch.last.id}
    rows = snapshot.all(f"SELECT * FROM ({chosen}) WHERE {beyond} ORDER BY unimportance, at, id LIMIT :room", more)
    for unimportance, at, id, *rest in rows:
        yield _Placed(_Place(stretch.rank, unimportance, at, id), id, evidence=evidence(*rest))


def _row(reason: ReviewReason, placed: _Placed) -> ReviewRow:
    return ReviewRow(
        reason=reason,
        memory_id=placed.memory_id,
        other_id=placed.other,
        proposal_id=placed.proposal_id,
        evidence=placed.evidence,
        actions=_FINDERS[reason][1],
    )


# -- the reasons ------------------------------------------------------------------------------------


def _proposals(snapshot: Snapshot, stretch: _Stretch) -> Iterator[_Placed]:
    # One of which every draft was erased since was open in no past that can still be read.
    asked = (
        "SELECT p.opened_at, p.id, p.author, (SELECT count(*) FROM drafts d WHERE d.proposal = p.id) FROM proposals p"
        " WHERE {when} AND EXISTS (SELECT 1 FROM drafts d WHERE d.proposal = p.id AND d.digest IS NOT NULL)"
        " AND (:everybody OR p.author = :viewer) AND {beyond}"
    )
    more: dict[str, Any] = {"everybody": snapshot.point.actor.is_user, "room": stretch.room}
    beyond = "1"
    if stretch.last is not None and stretch.last.rank == stretch.rank:
        beyond = "(p.opened_at, p.id) > (:at, :id)"
        more |= {"at": stretch.last.at, "id": stretch.last.id}
    sql = asked.format(when="p.closed_position IS NULL", beyond=beyond)
    if snapshot.parameters["known"] is not None:
        sql = (
            asked.format(when="p.closed_position IS NULL AND p.position <= :known", beyond=beyond)
            + " UNION ALL "
            + asked.format(when="p.closed_position > :known AND p.position <= :known", beyond=beyond)
        )
    for at, id, author, drafts in snapshot.all(f"{sql} ORDER BY 1, 2 LIMIT :room", more):
        evidence = {"author": author, "opened_at": from_micros(at), "drafts": drafts}
        yield _Placed(_Place(stretch.rank, 0.0, at, id), None, proposal_id=id, evidence=evidence)


def _contradictions(snapshot: Snapshot, stretch: _Stretch) -> Iterator[_Placed]:
    """One row a pair: of the two the less believed one, of equals the older."""
    pairs = open_pairs(snapshot)
    rows = snapshot.all(
        "SELECT m.key, m.confidence, m.created_at, m.id FROM json_each(:keys) j CROSS JOIN memories m"
        f" ON m.key = j.value WHERE {snapshot.sql.shown('m')}",
        {"keys": json.dumps(list({key for pair in pairs for key in pair}))},
    )
    sides = {key: (confidence, created_at, id, key) for key, confidence, created_at, id in rows}
    cases = []
    for pair in pairs:
        doubted, believed = sorted(sides[key] for key in pair)
        evidence = {"confidence": doubted[0], "other_confidence": believed[0]}
        cases.append(_Case(doubted[3], believed[2], evidence))
    return _sorted(snapshot, stretch, cases)


def _low_confidence(snapshot: Snapshot, stretch: _Stretch) -> Iterator[_Placed]:
    """Believed below the threshold, and disputed by a memory, by evidence or by somebody's word."""
    threshold = snapshot.library.policy.review.low_confidence
    disputed = {key for pair in open_pairs(snapshot) for key in pair}
    rows = snapshot.all(
        "SELECT m.key, m.id, m.confidence FROM memories m WHERE m.key IN"
        " (SELECT value FROM json_each(:keys) UNION SELECT d.key FROM memories d WHERE d.doubted = 1)"
        f" AND m.confidence < :threshold AND {snapshot.sql.recallable('m')}",
        {"threshold": threshold, "keys": json.dumps(sorted(disputed))},
    )
    cases = []
    for key, id, confidence in rows:
        evidence = {"confidence": confidence, "threshold": threshold}
        if key in disputed:
            cases.append(_Case(key, None, evidence))
        else:
            cases.append(_Case(key, None, evidence, holds=partial(is_doubted, snapshot, id)))
    return _sorted(snapshot, stretch, cases)


def _undermined(snapshot: Snapshot, stretch: _Stretch) -> Iterator[_Placed]:
    listed = waiting.resting(snapshot)
    rows = snapshot.all(
        "SELECT DISTINCT source FROM (SELECT l.source FROM links l JOIN memories m ON m.key = l.source"
        f" WHERE l.relation = 'derived_from' AND {snapshot.sql.recallable('m')}{listed.sql('l.source')} LIMIT -1)",
        listed.parameters,
    )
    cases = []
    for key, bases in undermined(snapshot, [key for (key,) in rows]).items():
        nearest = bases[0]
        cases.append(_Case(key, nearest.path[-1], {"path": nearest.path, "cause": nearest.cause}))
    return _sorted(snapshot, stretch, cases)


def _lapsed(snapshot: Snapshot, stretch: _Stretch) -> Iterator[_Placed]:
    """What took its place is gone, and no user has confirmed it since."""
    sql = snapshot.sql
    rows = snapshot.all(
        f"SELECT m.key, n.id, n.stored, s.effective_at FROM {waiting.replacing(snapshot)}"
        f" CROSS JOIN memories m ON m.key = s.old WHERE s.effective_at <= :valid AND {sql.recallable('m')}"
        " AND n.stored IN ('deleted', 'erased', 'withdrawn') AND m.user_confirmed < n.from_position"
        f" AND {sql.traced('n')} ORDER BY s.effective_at, n.id"
    )
    cases = []
    for key, id, stored, effective_at in rows:
        shown = id if snapshot.sees_all else None
        cases.append(_Case(key, shown, {"was": stored, "effective_at": from_micros(effective_at)}))
    return _sorted(snapshot, stretch, cases)


def _stale(snapshot: Snapshot, stretch: _Stretch) -> Iterator[_Placed]:
    def evidence(stale_at: int, confidence: float) -> Mapping[str, Any]:
        return {"stale_since": from_micros(stale_at), "confidence": confidence}

    where = f"m.stale_at <= :now AND m.stored = 'active' AND {snapshot.sql.recallable('m')}"
    return _first(snapshot, stretch, "m.stale_at, m.confidence", where, evidence)


def _expiring(snapshot: Snapshot, stretch: _Stretch) -> Iterator[_Placed]:
    """Within some days of its end; an ephemeral one from half of its time on."""
    lens = snapshot.lens
    ahead = int(snapshot.library.policy.review.expiring_days * _DAY)
    halves = {kind: lens.decay(kind).ephemeral_days * _DAY / 2 for kind in snapshot.library.kinds.kinds}
    half = f"CASE m.kind {' '.join(f'WHEN {kind!r} THEN {days!r}' for kind, days in halves.items())} ELSE :half END"
    other = lens.decay("").ephemeral_days * _DAY / 2
    where = (
        "m.expires_at > :now AND m.expires_at <= :now + :ahead"
        f" AND iif(m.lifetime = 'ephemeral', m.expires_at - {half} <= :now, m.expires_at <= :now + :soon)"
        f" AND {snapshot.sql.recallable('m')}"
    )
    return _first(
        snapshot,
        stretch,
        "m.expires_at, m.lifetime",
        where,
        lambda expires_at, lifetime: {"expires_at": from_micros(expires_at), "lifetime": lifetime},
        {"soon": ahead, "half": other, "ahead": max(ahead, ceil(max(other, *halves.values())))},
    )


def _dangling(snapshot: Snapshot, stretch: _Stretch) -> Iterator[_Placed]:
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
    cases = []
    for key, source, relation, target, reason in rows:
        shown = target if snapshot.sees_all else None
        edge = {"source": source, "relation": relation, "target": shown, "reason": reason}
        cases.append(_Case(key, shown, edge))
    return _sorted(snapshot, stretch, cases)


def _ownerless(snapshot: Snapshot, stretch: _Stretch) -> Iterator[_Placed]:
    sql = snapshot.sql
    where = (
        f"m.kind = 'contact' AND {sql.recallable('m')}{waiting.unowned(snapshot)} AND NOT EXISTS"
        " (SELECT 1 FROM links l JOIN memories n ON n.key = l.target WHERE l.source = m.key"
        f" AND l.relation = 'owned_by' AND {sql.shown('n')})"
    )
    return _first(snapshot, stretch, "NULL", where, lambda _: {})


def _duplicates(snapshot: Snapshot, stretch: _Stretch) -> Iterator[_Placed]:
    """Two entities of a kind that share a name or a contact, unless they were marked distinct."""
    pairs: dict[tuple[int, int], dict[str, list[str]]] = {}
    for sort, blocks in (("shared", by_name(snapshot)), ("contacts", by_contact(snapshot))):
        for (_, text), keys in blocks.items():
            first, *others = dict.fromkeys(keys)
            for other in others:
                pairs.setdefault((other, first), {}).setdefault(sort, []).append(text)
    denied = {
        frozenset(row)
        for row in snapshot.all(
            "SELECT r.one, r.other FROM json_each(:keys) j CROSS JOIN settled r ON r.one = j.value"
            " WHERE r.what = 'distinct' UNION ALL SELECT r.one, r.other FROM json_each(:keys) j"
            " CROSS JOIN settled r ON r.other = j.value WHERE r.what = 'distinct'",
            {"keys": json.dumps(list(dict.fromkeys(other for other, _ in pairs)))},
        )
    }
    ids = snapshot.ids({first for _, first in pairs})
    cases = []
    for (key, first), alike in pairs.items():
        if frozenset((key, first)) not in denied:
            cases.append(_Case(key, ids[first], {sort: tuple(texts) for sort, texts in alike.items()}))
    return _sorted(snapshot, stretch, cases)


_FINDERS: Final[Mapping[ReviewReason, tuple[Callable[[Snapshot, _Stretch], Iterator[_Placed]], tuple[str, ...]]]] = {
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
