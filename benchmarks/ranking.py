"""Recall's own ranking, written by hand for one space: the floor of recall.

It gives the same hits in the same order, and leaves out whatever this space has none of: sessions, dates in questions,
merges, disputes, private texts, views of the past, embedders, explanations. One function, plain statements, no classes.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections import Counter
from heapq import nlargest
from typing import Any

from engram_core.analysis import question
from engram_core.policy import RecallPolicy
from engram_core.projections.texts import LENGTHS

__all__ = ["by_hand"]

_DAY = 86_400_000_000
_LINKING = "'about', 'involves', 'owned_by', 'works_at', 'located_in', 'part_of'"
_ADMIT = """
SELECT m.key, m.id, m.confidence, m.created_at, m.confirmed_at, m.stale_at, m.pinned, m.user_weight, m.evidence_count
FROM json_each(:keys) j CROSS JOIN memories m ON m.key = j.value
WHERE m.kind = 'fact' AND m.stored = 'active' AND m.lane = 0 AND (m.expires_at IS NULL OR m.expires_at > :now)
    AND NOT (m.superseded = 1
        AND EXISTS (SELECT 1 FROM supersessions s WHERE s.old = m.key AND s.effective_at <= :now))"""
_SHOWN = """
SELECT m.*, (SELECT json_group_array(l.relation || ' ' || n.id) FROM links l JOIN memories n ON n.key = l.target
    WHERE l.source = m.key AND n.stored IN ('active', 'archived') AND n.lane = 0),
    (SELECT count(*) FROM (SELECT 1 FROM links l JOIN memories n ON n.key = l.source
        WHERE l.target = m.key AND n.stored IN ('active', 'archived') AND n.lane = 0 LIMIT 10))
FROM json_each(?) j CROSS JOIN memories m ON m.key = j.value"""


def by_hand(
    db: sqlite3.Connection, text: str, policy: RecallPolicy, half_life: float, base_importance: float, evidence: float
) -> list[tuple[Any, ...]]:
    """The rows of the ten best facts for a question, best first."""
    asked = question(text)
    now = time.time_ns() // 1_000
    texts, length = db.execute("SELECT sum(texts), sum(length) FROM text_totals").fetchone()
    terms = json.dumps(asked.terms)
    held = dict(
        db.execute(
            "SELECT v.term, v.doc FROM json_each(?) j CROSS JOIN text_shared_terms v ON v.term = j.value", (terms,)
        ).fetchall()
    )
    order = {term: at for at, term in enumerate(asked.terms)}
    rarest = sorted(held, key=lambda term: (held[term], order[term]))[: policy.terms]
    weights = {term: math.log(1.0 + (texts - held[term] + 0.5) / (held[term] + 0.5)) for term in rarest}
    k, brevity = policy.saturation, policy.saturation * (1.0 - policy.length)
    per_term = policy.saturation * policy.length * texts / length
    norms = [brevity + per_term * one for one in LENGTHS]
    scores: dict[str, float] = {}
    read: list[str] = []
    left = policy.postings
    for term, weight in weights.items():
        once = {str(level): weight * (k + 1.0) / (1 + norm) for level, norm in enumerate(norms)}
        if read and held[term] > left and (len(scores) >= 10 or held[term] > 5 * policy.postings):
            either = " OR ".join(f'"{other}"' for other in read)
            match = f'"{term}" AND ({either})'
            sql = "SELECT group_concat(rowid) FROM text_shared WHERE terms MATCH ?"
            for document in (db.execute(sql, (match,)).fetchone()[0] or "").split(","):
                if document in scores:
                    scores[document] += once[document[-1]]
            continue
        read.append(term)
        left -= held[term]
        (found,) = db.execute("SELECT group_concat(doc) FROM text_shared_places WHERE term = ?", (term,)).fetchone()
        for document, count in Counter(found.split(",")).items():
            level = document[-1]
            gain = once[level] if count == 1 else weight * count * (k + 1.0) / (count + norms[int(level)])
            scores[document] = scores.get(document, 0.0) + gain
    if not scores:
        return []
    wanted = taken = 2 * policy.depth
    while True:
        least = min(nlargest(taken, scores.values()))
        best = sorted((-score, -int(document[:-1])) for document, score in scores.items() if score >= least)[:taken]
        bases = {-key: -score for score, key in best}
        rows = {row[0]: row for row in db.execute(_ADMIT, {"keys": json.dumps(list(bases)), "now": now})}
        if len(rows) >= min(wanted, taken) or taken >= len(scores):
            break
        taken *= 4
    keys = sorted(rows, key=lambda key: (-bases[key], -key))[:wanted]
    named = _named(db, terms, keys, policy.named)
    keys = sorted(keys, key=lambda key: (-bases[key] * (1.0 + named.get(key, 0.0)), rows[key][1]))[: policy.depth]
    said = dict(
        db.execute(
            "SELECT t.key, f.terms FROM json_each(?) j CROSS JOIN texts t ON t.key = j.value"
            " CROSS JOIN text_shared f ON f.rowid = t.document",
            (json.dumps(keys),),
        ).fetchall()
    )
    matches = {}
    for key in keys:
        spaced = f" {said[key]} ".replace(" ", "  ").replace("\n", " \n ")
        counts = {term: count for term in weights if (count := spaced.count(f" {term} "))}
        norm = brevity + per_term * (said[key].count(" ") + said[key].count("\n") + 1)
        value = sum(weights[term] * count * (k + 1.0) / (count + norm) for term, count in counts.items())
        value += policy.pair * sum(
            (weights[one] + weights[other]) / 2.0
            for one, other in asked.pairs
            if one in counts and other in counts and f" {one}  {other} " in spaced
        )
        value += policy.passage * max(
            sum(weights[t] * n * (k + 1.0) / (n + k) for t in counts if (n := line.count(f" {t} ")))
            for line in spaced.split("\n")
        )
        matches[key] = value * (1.0 + named.get(key, 0.0))
    scale = 1.0 / (max(matches.values(), default=0.0) or 1.0)
    hits = []
    for key, value in matches.items():
        _, id, confidence, created, confirmed, stale_at, pinned, weight, evidences = rows[key]
        since = created if confirmed is None else confirmed
        importance = (
            1.0 if pinned else weight if weight is not None else min(1.0, base_importance + evidence * evidences)
        )
        score = value * scale + policy.importance * importance
        score += policy.freshness * 2.0 ** -(max(0, now - max(created, since)) / _DAY / policy.fresh_half_life_days)
        score += policy.confidence * confidence * 2.0 ** -(max(0, now - since) / _DAY / half_life)
        hits.append((-(score - policy.stale * (stale_at is not None and stale_at <= now)), id, key))
    chosen = [key for _, _, key in sorted(hits)[:10]]
    shown = {row[0]: row for row in db.execute(_SHOWN, (json.dumps(chosen),))}
    return [shown[key] for key in chosen]


def _named(db: sqlite3.Connection, terms: str, keys: list[int], gain: float) -> dict[int, float]:
    """What each memory gains that is linked to somebody whom the question names."""
    said: dict[tuple[int, int], list[str]] = {}
    sizes: dict[tuple[int, int], int] = {}
    most: dict[str, int] = {}
    for term, key, phrase, size in db.execute(
        "SELECT n.term, n.key, n.phrase, n.size FROM json_each(?) j CROSS JOIN names n ON n.term = j.value"
        " WHERE n.to_position IS NULL",
        (terms,),
    ).fetchall():
        said.setdefault((key, phrase), []).append(term)
        sizes[key, phrase] = size
    for words in said.values():
        for term in words:
            most[term] = max(most.get(term, 0), len(words))
    people: dict[int, float] = {}
    for name, words in said.items():
        if any(len(words) == most[term] for term in words):
            people[name[0]] = max(people.get(name[0], 0.0), len(words) / sizes[name])
    if not people or len(people) > 32:
        return {}
    found: dict[int, float] = {}
    for key, target in db.execute(
        "SELECT l.source, l.target FROM json_each(?) j CROSS JOIN links l ON l.source = j.value"
        f" WHERE +l.relation IN ({_LINKING}) AND +l.target IN (SELECT value FROM json_each(?))",
        (json.dumps(keys), json.dumps(list(people))),
    ).fetchall():
        found[key] = max(found.get(key, 0.0), gain * people[target])
    return found
