"""A question becomes ranked, explained hits.

Four steps, each over what the viewer may read and nothing else:

1. weigh the question's terms: the rarer among his texts, the heavier;
2. gather candidates: the lists of the rare terms are read whole, whatever their age, and the commonest terms only
   add to texts that a rarer one found;
3. widen: a candidate lends a share of its score to what was stored just before and after it in the same session,
   and gains when the question names the entity that it is linked to;
4. look into the texts of the best: passages, words side by side, and the terms beside the match.

A hit's score is the sum of its parts, in their order. Ties end in the id.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nlargest
from typing import Any, Final, NamedTuple

from attrs import field, frozen

from engram_core.analysis import Question, question
from engram_core.matching import Weights, match_parts, named_entities, weights
from engram_core.meaning import Meaning
from engram_core.moments import Moment, moments
from engram_core.policy import RecallPolicy
from engram_core.projections.lanes import VisibleTexts
from engram_core.projections.nearness import Near
from engram_core.projections.texts import LENGTHS

__all__ = ["Ranked", "Scope", "Signals", "ranked"]

_JUDGES: Final = 10  # the best matches of the words by which a model is judged
_ROUNDING: Final = 1e-9
_TOLD: Final = 5  # words that a note names
_FAR: Final = 5  # for want of candidates a list is read that is up to so many times longer than the postings


class Signals(NamedTuple):
    """What stands beside the match; shares in [0, 1]."""

    freshness: float
    importance: float
    confidence: float
    stale: bool


class Ranked(NamedTuple):
    """One hit: its score is the sum of its parts, added in their order."""

    key: int
    id: str
    score: float
    parts: tuple[tuple[str, float], ...]


@frozen(kw_only=True)
class Scope:
    """What one viewer reads at one position.

    Attributes:
        admit: Of the memories with these keys a row each that passes audience, status, time and filters: first its
            key and its id, then whatever `weigh` needs.
        weigh: What stands beside the match, from such a row.
        at: When it happened, from such a row, in microseconds since 1970; None: nobody knows.
        readable: SQL over columns lane and audience of a row `{row}`: the viewer may read it; empty: he may read all.
        still: For a past view, SQL over a present row `{row}` of `memories`: he may read it today as well.
        position: The known position of a past view; None: the present.
        parameters: Named parameters of `readable` and `still`.
    """

    admit: Callable[[Sequence[int]], Iterable[Sequence[Any]]]
    weigh: Callable[[Sequence[Any]], Signals]
    at: Callable[[Sequence[Any]], int] | None = None
    readable: str = ""
    still: str = ""
    position: int | None = None
    parameters: Mapping[str, Any] = field(factory=dict)


class _Candidate:
    """What is known of one memory while it is ranked."""

    __slots__ = ("base", "context", "dated", "named", "row")

    def __init__(self, row: Sequence[Any], base: float) -> None:
        self.row = row
        self.base = base
        self.context = 0.0
        self.named = 0.0
        self.dated = 0.0

    def order(self) -> tuple[float, str]:
        return (-(self.base + self.context) * (1.0 + self.named) * (1.0 + self.dated), self.row[1])


def ranked(
    connection: sqlite3.Connection,
    text: str,
    scope: Scope,
    policy: RecallPolicy,
    *,
    limit: int = 10,
    near: Callable[[VisibleTexts], Near] | None = None,
    notes: list[str] | None = None,
) -> list[Ranked]:
    """The best hits for a question, best first.

    Args:
        connection: An open connection to the read model; only read from.
        text: The question; any string is legal.
        scope: What the viewer reads.
        policy: The weights.
        limit: How many hits at most, at least 1.
        near: How near texts are to the question in meaning; None: words alone decide.
        notes: Takes what must be known of the answer: which words were too common to find by.

    Returns: Hits, ordered by score, then id; none for a question without words.
    Raises: sqlite3.Error: if the database cannot be read.
    """
    asked = question(text)
    if not asked.terms:
        return []
    texts = VisibleTexts(
        connection,
        readable=scope.readable,
        still=scope.still,
        position=scope.position,
        parameters=scope.parameters,
    )
    meaning = Meaning(near(texts)) if near is not None else None
    weighed = weights(texts, asked, policy)
    if not weighed.terms and meaning is None:
        return []
    depth = max(policy.depth, limit)
    scores, lending = _gathered(texts, weighed, policy, limit)
    candidates = _admitted(scores, scope, 2 * depth) if scores else {}
    if lending and len(candidates) < limit:
        # Most of what was found fails the filters; what holds the commoner words alone may pass them.
        scores, lending = _gathered(texts, weighed, policy, math.inf)
        candidates = _admitted(scores, scope, 2 * depth)
    if lending and notes is not None:
        listed = ", ".join(repr(term) for term in lending[:_TOLD])
        notes.append(f"found by its rarer words: what holds no other than {listed} was not looked at")
    entities = texts.with_merged(named_entities(texts, asked)) if policy.named else {}
    dates = moments(text) if policy.dated and scope.at else ()
    gain = (1.0 + policy.named * bool(entities)) * (1.0 + policy.dated * bool(dates))
    _lend_context(texts, candidates, scores, scope, policy, depth=depth, gain=gain)
    _mark_named(texts, candidates, entities, policy, depth=depth, gain=gain)
    _mark_dated(candidates.values(), dates, scope, policy)
    best = sorted(candidates.values(), key=_Candidate.order)[:depth]
    if meaning is None:
        return _judged(texts, best, asked, weighed, None, scope, policy, limit)
    best += _near(meaning, best, candidates, scope, depth)
    _mark_named(texts, {one.row[0]: one for one in best}, entities, policy, depth=len(best), gain=gain)
    _mark_dated(best, dates, scope, policy)
    meant = _Meant(meaning, _meant(texts, best, meaning, policy))
    return _judged(texts, best, asked, weighed, meant, scope, policy, limit)


def _near(
    meaning: Meaning, best: list[_Candidate], candidates: Mapping[int, _Candidate], scope: Scope, depth: int
) -> list[_Candidate]:
    """The nearest in meaning among what passes the filters, beside those that the words chose."""
    chosen = {one.row[0] for one in best}
    found: list[_Candidate] = []
    looked, taken = 0, 4 * depth
    while len(found) < depth and looked < meaning.count:
        near = meaning.nearest(taken)[looked:]
        fresh = [key for key in near if key not in chosen]
        rows = {row[0]: row for row in scope.admit(fresh)} if fresh else {}
        found += [candidates.get(key) or _Candidate(rows[key], 0.0) for key in fresh if key in rows]
        if not near or not meaning.shares(near[-1:]).get(near[-1]):
            break  # all that is further away has nothing to add
        looked, taken = taken, 4 * taken
    return found[:depth]


class _Meant(NamedTuple):
    """The semantic half: how far to believe it is asked of `meaning`; `shares` are in [0, 1], by key."""

    meaning: Meaning
    shares: dict[int, float]


def _meant(texts: VisibleTexts, best: Sequence[_Candidate], meaning: Meaning, policy: RecallPolicy) -> dict[int, float]:
    """How near in meaning each candidate is, lifted by its session and by a name as its words are."""
    keys = [one.row[0] for one in best]
    lent: list[tuple[int, int, float]] = []
    if policy.context and policy.reach:
        lent = [
            (key, int(document[:-1]), policy.context**step)
            for key, earlier, later in texts.around(keys, policy.reach)
            for side in (earlier, later)
            for step, document in enumerate(side, start=1)
        ]
    shares = meaning.shares({*keys, *(neighbour for _, neighbour, _ in lent)})
    found = {key: shares.get(key, 0.0) for key in keys}
    for key, neighbour, part in lent:
        found[key] += part * shares.get(neighbour, 0.0)
    for one in best:
        found[one.row[0]] *= (1.0 + one.named) * (1.0 + one.dated)
    top = max(found.values(), default=0.0)
    return {key: value / top for key, value in found.items()} if top else found


def _gathered(
    texts: VisibleTexts, weighed: Weights, policy: RecallPolicy, limit: float
) -> tuple[dict[str, float], list[str]]:
    """The match of every text that holds a term whose list was read, keyed like `VisibleTexts.places`.

    Beside it the terms that only added to what others had found.
    """
    scores: dict[str, float] = {}
    lending: list[str] = []
    known = scores.get
    read: list[str] = []
    left = policy.postings
    norms = [weighed.norm(length) for length in LENGTHS]
    for term in weighed.terms:
        frequency = weighed.frequency[term]
        if read and frequency > left and (len(scores) >= limit or frequency > _FAR * policy.postings):
            lending.append(term)
            once = [weighed.match(term, 1, norm) for norm in norms]
            for document in texts.holding(term, read):
                if document in scores:
                    scores[document] += once[int(document[-1])]
            continue
        read.append(term)
        left -= frequency
        single = {str(level): weighed.match(term, 1, norm) for level, norm in enumerate(norms)}
        for document, count in Counter(texts.places(term)).items():
            level = document[-1]
            gain = single[level] if count == 1 else weighed.match(term, count, norms[int(level)])
            scores[document] = known(document, 0.0) + gain
    return scores, lending


def _admitted(scores: dict[str, float], scope: Scope, wanted: int) -> dict[int, _Candidate]:
    """The best that pass the filters, as many as wanted; looked through in growing portions."""
    taken = wanted
    while True:
        least = min(nlargest(taken, scores.values()))
        best = sorted((-score, -int(document[:-1])) for document, score in scores.items() if score >= least)[:taken]
        bases = {-key: -score for score, key in best}
        admitted = {row[0]: _Candidate(row, bases[row[0]]) for row in scope.admit(list(bases))}
        if len(admitted) >= min(wanted, taken) or taken >= len(scores):
            break
        taken *= 4
    if len(admitted) <= wanted:
        return admitted
    kept = sorted(admitted, key=lambda key: (-admitted[key].base, -key))[:wanted]
    return {key: admitted[key] for key in kept}


def _lend_context(
    texts: VisibleTexts,
    candidates: dict[int, _Candidate],
    scores: dict[str, float],
    scope: Scope,
    policy: RecallPolicy,
    *,
    depth: int,
    gain: float,
) -> None:
    """Gives what was stored around a strong candidate in its session a share of its score.

    What is lent to becomes a candidate itself where it can still be among the best `depth`, even if the others gain
    nothing more and it gains the factor `gain`.
    """
    if not policy.context or not policy.reach:
        return
    strong = sorted(candidates, key=lambda key: (-candidates[key].base, -key))[:depth]
    lent: dict[str, float] = {}
    held = lent.get
    shares = [policy.context**step for step in range(1, policy.reach + 1)]
    for key, earlier, later in texts.around(strong, policy.reach):
        base = candidates[key].base
        for side in (earlier, later):
            for document, share in zip(side, shares, strict=False):
                lent[document] = held(document, 0.0) + base * share
    outside: dict[int, tuple[float, float]] = {}
    for document, context in lent.items():
        key = int(document[:-1])
        candidate = candidates.get(key)
        if candidate:
            candidate.context = context
        else:
            outside[key] = scores.get(document, 0.0), context
    least = _least(candidates, depth)
    within = sorted(key for key, (base, context) in outside.items() if (base + context) * gain >= least)
    for row in scope.admit(within) if within else ():
        base, context = outside[row[0]]
        candidates[row[0]] = _Candidate(row, base)
        candidates[row[0]].context = context


def _mark_named(
    texts: VisibleTexts,
    candidates: dict[int, _Candidate],
    entities: Mapping[int, float],
    policy: RecallPolicy,
    *,
    depth: int,
    gain: float,
) -> None:
    """Marks what is linked to an entity that the question names, where that can bring it among the best."""
    if not entities:
        return
    least = _least(candidates, depth)
    within = [key for key, one in candidates.items() if (one.base + one.context) * gain >= least]
    for key, entity in texts.linked(within, entities):
        candidates[key].named = max(candidates[key].named, policy.named * entities[entity])


def _mark_dated(candidates: Iterable[_Candidate], dates: Sequence[Moment], scope: Scope, policy: RecallPolicy) -> None:
    """Marks what happened when the question says."""
    if not dates or scope.at is None:
        return
    for one in candidates:
        at = scope.at(one.row)
        one.dated = policy.dated * max(date.nearness(at) for date in dates)


def _least(candidates: dict[int, _Candidate], depth: int) -> float:
    """What a candidate surely needs to be among the best so many."""
    reached = nlargest(depth, (one.base + one.context for one in candidates.values()))
    return reached[-1] if len(reached) == depth else 0.0


def _judged(
    texts: VisibleTexts,
    best: list[_Candidate],
    asked: Question,
    weighed: Weights,
    meant: _Meant | None,
    scope: Scope,
    policy: RecallPolicy,
    limit: int,
) -> list[Ranked]:
    """The final order: every part of every score of the first so many."""
    found = texts.terms([one.row[0] for one in best])
    matches = []
    for one in best:
        parts = match_parts(found.get(one.row[0], ""), asked, weighed, policy)
        if one.context:
            parts.append(("session", one.context))
        if one.named:
            parts.append(("named", sum(value for _, value in parts) * one.named))
        if one.dated:
            parts.append(("dated", sum(value for _, value in parts) * one.dated))
        matches.append(parts)
    sums = [sum(value for _, value in parts) for parts in matches]
    top = max(sums, default=0.0)
    scale, nearness = (1.0 / top if top else 0.0), 0.0
    if meant is not None:
        whole = policy.lexical + policy.semantic or 1.0
        spoken = nlargest(_JUDGES, (one for one in zip(sums, (one.row[0] for one in best), strict=True) if one[0]))
        nearness = policy.semantic / whole * meant.meaning.trust([key for _, key in spoken])
        scale *= policy.lexical / whole
    rated = []
    for one, match in zip(best, matches, strict=True):
        parts = [(name, value * scale) for name, value in match]
        if meant is not None and nearness and (share := meant.shares[one.row[0]]):
            parts.append(("meaning", nearness * share))
        if parts:
            rated.append((sum(value for _, value in parts), one, parts))
    beside = policy.freshness + policy.importance + policy.confidence + policy.stale
    reached = nlargest(limit, (value for value, _, _ in rated))
    least = reached[-1] - beside - _ROUNDING if len(reached) == limit else -math.inf
    hits = []
    for value, one, parts in rated:
        if value < least:
            continue  # nothing beside the match can bring it among the first
        signals = scope.weigh(one.row)
        parts.append(("freshness", policy.freshness * signals.freshness))
        parts.append(("importance", policy.importance * signals.importance))
        parts.append(("confidence", policy.confidence * signals.confidence))
        if signals.stale:
            parts.append(("stale", -policy.stale))
        hits.append(Ranked(one.row[0], one.row[1], sum(value for _, value in parts), tuple(parts)))
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit]
