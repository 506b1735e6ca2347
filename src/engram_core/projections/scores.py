"""Importance and retention of the whole space as columns, computed by one statement.

A memory has no row until scores are first recomputed after its creation; whoever needs the figures of one memory
computes them on the spot, by `engram_core.retention`, whose formulas these are. They count all that there is, as users
may see it: a view for others computes its own.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from engram_core.kinds import KindRegistry
from engram_core.lifecycle import decay_of
from engram_core.policy import Policy
from engram_core.values import to_micros

__all__ = ["recompute_scores", "score_parameters", "score_statement"]

_LIVE: Final = "('active', 'archived')"
_DAY: Final = "86400000000.0"

_MERGES: Final = f"""
away (key, next) AS (
    SELECT m.key, s.key FROM memories m JOIN memories s ON s.id = m.merged_into
    WHERE m.merged_into IS NOT NULL AND m.stored IN {_LIVE}),
on_way (key, place) AS (
    SELECT key, next FROM away UNION SELECT w.key, a.next FROM on_way w JOIN away a ON a.key = w.place),
place (key, place) AS MATERIALIZED (SELECT key, place FROM on_way WHERE place NOT IN (SELECT key FROM away))"""

# Contradictions and supersessions are no closeness; relationships join their ends, and are none themselves.
_FAR: Final = "('contradicts', 'supersedes')"
_RELATED: Final = """
related (one, other) AS MATERIALIZED (
    SELECT s.key, o.key FROM memories r
    JOIN memories s ON s.id = json_extract(r.attributes, '$.subject_id')
    JOIN memories o ON o.id = json_extract(r.attributes, '$.object_id')
    WHERE r.kind = 'relationship' AND r.stored = 'active' AND (r.expires_at IS NULL OR r.expires_at > :now))"""

_NEIGHBOURS: Final = f"""
joined (one, other) AS (
    SELECT source, target FROM links WHERE relation NOT IN {_FAR}
    UNION ALL SELECT one, other FROM related),
placed (one, other) AS MATERIALIZED (
    SELECT coalesce(a.place, j.one), coalesce(b.place, j.other) FROM joined j
    LEFT JOIN place a ON a.key = j.one LEFT JOIN place b ON b.key = j.other),
pairs (one, other) AS (SELECT one, other FROM placed UNION SELECT other, one FROM placed)"""


def _recallable(alias: str) -> str:
    return f"""{alias}.stored = 'active' AND ({alias}.expires_at IS NULL OR {alias}.expires_at > :now)
        AND NOT ({alias}.superseded AND EXISTS (
            SELECT 1 FROM supersessions x JOIN memories n ON n.key = x.new
            WHERE x.old = {alias}.key AND x.effective_at <= :now AND n.stored IN {_LIVE}))"""


_DISPUTES: Final = f"""
open (one, other) AS MATERIALIZED (
    SELECT l.source, l.target FROM links l
    JOIN memories a ON a.key = l.source JOIN memories b ON b.key = l.target
    WHERE l.relation = 'contradicts' AND a.user_confirmed <= l.began AND b.user_confirmed <= l.began
    AND {_recallable("a")} AND {_recallable("b")}
    AND NOT EXISTS (
        SELECT 1 FROM settled r WHERE r.what = 'resolved' AND r.at >= l.began
        AND ((r.one = l.source AND r.other = l.target) OR (r.one = l.target AND r.other = l.source)))),
disputed (key) AS (SELECT one FROM open UNION SELECT other FROM open)"""

# All that is counted, in one pass that leads from memory to memory; every memory counts itself as nothing. What was
# merged is counted where it went; where nothing was, an edge is a neighbour and a link at once.
_COUNTED: Final = """
counted (key, near, other, link) AS (
    SELECT one, other, other, 0 FROM pairs WHERE one <> other
    UNION ALL SELECT source, NULL, target, 1 FROM links
    UNION ALL SELECT target, NULL, source, 1 FROM links
    UNION ALL SELECT key, NULL, key, 0 FROM memories)"""
_COUNTED_UNMERGED: Final = f"""
counted (key, near, other, link) AS (
    SELECT source, iif(relation IN {_FAR} OR source = target, NULL, target), target, 1 FROM links
    UNION ALL SELECT target, iif(relation IN {_FAR} OR source = target, NULL, source), source, 1 FROM links
    UNION ALL SELECT one, other, other, 0 FROM related WHERE one <> other
    UNION ALL SELECT other, one, one, 0 FROM related WHERE one <> other
    UNION ALL SELECT key, NULL, key, 0 FROM memories)"""
_STANDING: Final = f"""
standing (key, degree, links) AS (
    SELECT key, count(DISTINCT near), sum(link) FROM counted
    WHERE other NOT IN (SELECT key FROM memories WHERE stored NOT IN {_LIVE}) GROUP BY key)"""


def _faded(since: str, half_life: str) -> str:
    """2^(−age / half-life), and 1 where the age is negative."""
    return f"CASE WHEN :now <= {since} THEN 1.0 ELSE pow(2.0, -(((:now - {since}) / {_DAY}) / {half_life})) END"


_USED: Final = "used (key, count, last_at) AS (SELECT key, count, last_at FROM accesses)"
_USED_FADING: Final = f"""
used (key, count, last_at) AS MATERIALIZED (
    SELECT key, sum(count * {_faded("last_at", ":access_half_life")}), max(last_at) FROM reads GROUP BY key)"""


def score_statement(*, fading: bool, merged: bool = True, prefix: str = "") -> str:
    """The statement that writes the scores of every memory that is there.

    Args:
        fading: Accesses count less as they grow old.
        merged: Something may have been merged.
        prefix: Of the table that is written.
    """
    counted = f"{_MERGES}, {_RELATED}, {_NEIGHBOURS}, {_COUNTED}" if merged else f"{_RELATED}, {_COUNTED_UNMERGED}"
    return f"""
WITH RECURSIVE {counted}, {_STANDING}, {_DISPUTES}, {_USED_FADING if fading else _USED},
decays (kind, half_life, base) AS MATERIALIZED (
    SELECT key, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:decays))
INSERT INTO {prefix}scores (key, importance, retention, degree, computed_at)
SELECT m.key,
    CASE WHEN m.pinned THEN 1.0 WHEN m.user_weight IS NOT NULL THEN m.user_weight
    ELSE min(1.0, coalesce(d.base, :base)
        + :per_evidence * min(m.evidence_count, :max_evidence)
        + :per_link * min(g.links, :max_links)
        + iif(m.key IN (SELECT key FROM disputed), :disputed, 0.0)) END,
    :recency * {_faded("coalesce(u.last_at, m.created_at)", "coalesce(d.half_life, :half_life)")}
        + :frequency * min(1.0, ln(1.0 + coalesce(u.count, 0)) / ln(1.0 + :full_frequency))
        + :centrality * min(1.0, g.degree / (:full_centrality * 1.0))
        + :confidence * (m.confidence
            * {_faded("coalesce(m.confirmed_at, m.created_at)", "coalesce(d.half_life, :half_life)")})
        + :user_weight * coalesce(m.user_weight, 0.0),
    g.degree, :now
FROM standing g CROSS JOIN memories m ON m.key = g.key
LEFT JOIN decays d ON d.kind = m.kind LEFT JOIN used u ON u.key = m.key
WHERE m.stored IN {_LIVE}"""


def score_parameters(policy: Policy, kinds: KindRegistry, now: datetime) -> Mapping[str, Any]:
    """What the statement reads: every constant of the policy, and the instant."""
    retention, importance = policy.retention, policy.importance
    names = dict.fromkeys([*kinds.kinds, *policy.decay])
    decays = {kind: decay_of(kind, policy, kinds) for kind in names}
    other = policy.decay["fact"]
    return {
        "now": to_micros(now),
        "decays": json.dumps({kind: [d.half_life_days, d.base_importance] for kind, d in decays.items()}),
        "half_life": other.half_life_days,
        "base": other.base_importance,
        "per_evidence": importance.per_evidence,
        "max_evidence": importance.max_evidence,
        "per_link": importance.per_link,
        "max_links": importance.max_links,
        "disputed": importance.disputed,
        "recency": retention.recency,
        "frequency": retention.frequency,
        "centrality": retention.centrality,
        "confidence": retention.confidence,
        "user_weight": retention.user_weight,
        "full_frequency": retention.full_frequency,
        "full_centrality": retention.full_centrality,
        "access_half_life": retention.access_half_life_days,
    }


def recompute_scores(tx: sqlite3.Connection, policy: Policy, kinds: KindRegistry, now: datetime) -> int:
    """Writes the scores of the whole space as of an instant; gives the number of memories that have some."""
    tx.execute("DELETE FROM scores")
    fading = policy.retention.access_half_life_days is not None
    (merged,) = tx.execute("SELECT EXISTS (SELECT 1 FROM memories WHERE merged_into IS NOT NULL)").fetchone()
    statement = score_statement(fading=fading, merged=bool(merged))
    tx.execute(statement, score_parameters(policy, kinds, now))
    written: int = tx.execute("SELECT changes()").fetchone()[0]
    return written
