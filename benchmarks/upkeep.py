"""What the whole space costs: rebuilt, verified, scored, looked through, and kept."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.agreement import terms_of
from benchmarks.floors import Floor
from benchmarks.measuring import Cost, Row, beside, rounds
from benchmarks.reads import connected
from benchmarks.world import World, draft, filled
from engram_core import MemorySpace, system
from engram_core.projections import tables, texts
from engram_core.projections.schema import OTHER_TABLES, TABLES

__all__ = ["maintenance", "rebuild", "scores", "size", "undo"]

_COPIED = (*TABLES, *(f"past_{name}" for name in TABLES), *OTHER_TABLES, "texts", "past_texts", "names")
_LANES = (*texts.LANES, texts.PAST_LANE)

# This space has no merges, relationships, disputes or supersessions; a statement that leaves them out is the floor.
_SCORES = """
WITH near (key, degree, links) AS (
    SELECT key, count(DISTINCT other), count(*) FROM
        (SELECT source AS key, target AS other FROM links UNION ALL SELECT target, source FROM links) GROUP BY key)
INSERT INTO scores (key, importance, retention, degree, computed_at)
SELECT m.key,
    CASE WHEN m.pinned THEN 1.0 WHEN m.user_weight IS NOT NULL THEN m.user_weight
    ELSE min(1.0, d.base + :per_evidence * min(m.evidence_count, :max_evidence)
        + :per_link * min(coalesce(n.links, 0), :max_links)) END,
    :recency * pow(2.0, -((:now - coalesce(a.last_at, m.created_at)) / 86400000000.0) / d.half_life)
        + :frequency * min(1.0, ln(1.0 + coalesce(a.count, 0)) / ln(1.0 + :full_frequency))
        + :centrality * min(1.0, coalesce(n.degree, 0) / (:full_centrality * 1.0))
        + :confidence * (m.confidence
            * pow(2.0, -((:now - coalesce(m.confirmed_at, m.created_at)) / 86400000000.0) / d.half_life))
        + :user_weight * coalesce(m.user_weight, 0.0),
    coalesce(n.degree, 0), :now
FROM memories m JOIN decays d ON d.kind = m.kind LEFT JOIN near n ON n.key = m.key LEFT JOIN accesses a ON a.key = m.key
WHERE m.stored IN ('active', 'archived')"""


def _rebuilt(world: World) -> None:
    """Reads the log, decodes it, and writes every row and index into a new file.

    The rows are taken ready from the present tables: making them of the events is left out, so this is a lower bound.
    """
    source = connected(world)
    target = world.folder / "rebuilt.db"
    for old in world.folder.glob("rebuilt.db*"):
        old.unlink()
    db = sqlite3.connect(target, isolation_level=None, cached_statements=256)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute("PRAGMA cache_size=-65536")
    db.execute("BEGIN")
    tables.create_tables(db, "")
    db.execute("DELETE FROM text_totals")
    for row in source.execute("SELECT * FROM events ORDER BY position"):
        json.loads(row[7])
    for table in (*_COPIED, "text_totals"):
        rows = source.execute(f"SELECT * FROM {table}")
        db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows.description))})", rows)
    for lane in _LANES:
        db.executemany(
            f"INSERT INTO {lane} (rowid, terms) VALUES (?, ?)", source.execute(f"SELECT rowid, terms FROM {lane}")
        )
    for statement in tables.create_indexes(world.space._engine.options.kinds, ""):
        db.execute(statement)
    db.execute("COMMIT")
    db.close()
    source.close()


def rebuild(world: World) -> Iterator[Row]:
    """The read model anew, and the whole file checked, an event."""
    keeper = world.space.maintenance(system("bench"))
    events = world.space.position
    alone, anew, checked = rounds((lambda: _rebuilt(world), keeper.rebuild, keeper.verify), times=events, repeat=3)
    yield beside("rebuild", alone, anew, 2.0, "the floor takes its rows ready from the present tables")
    yield beside("verify (floor: our rebuild)", anew, checked, 1.5)


def scores(world: World) -> Iterator[Row]:
    """All scores, a memory."""
    keeper = world.space.maintenance(system("bench"))
    options = world.space._engine.options
    db = sqlite3.connect(world.copy("scores.db"), isolation_level=None)
    db.execute("PRAGMA synchronous=NORMAL")
    policy, kinds = options.policy, options.kinds
    decays = [(kind, policy.decay[kind].half_life_days, policy.decay[kind].base_importance) for kind in kinds.kinds]
    db.execute("CREATE TEMP TABLE decays (kind PRIMARY KEY, half_life REAL, base REAL)")
    db.executemany("INSERT INTO decays VALUES (?, ?, ?)", decays)
    figures = {
        name: getattr(part, name)
        for part in (policy.importance, policy.retention)
        for name in dir(part)
        if isinstance(getattr(part, name), int | float)
    }

    def plain(now: datetime | None = None) -> None:
        at = int((now or datetime.now(UTC)).timestamp() * 1e6)
        db.execute("BEGIN IMMEDIATE")
        db.execute("DELETE FROM scores")
        db.execute(_SCORES, {**figures, "now": at})
        db.execute("COMMIT")

    (memories,) = db.execute("SELECT count(*) FROM memories").fetchone()
    alone, ours = rounds((plain, keeper.recompute_scores), times=memories)
    told = sqlite3.connect(world.path)
    plain(datetime.fromtimestamp(told.execute("SELECT computed_at FROM scores").fetchone()[0] / 1e6, UTC))
    select = "SELECT key, round(importance, 9), round(retention, 9), degree FROM scores"
    assert set(db.execute(select)) == set(told.execute(select)), "the floor's figures are others"
    yield beside("recompute all scores", alone, ours, 1.3, f"{ours.wall * memories / 1e6:.2f} s in all")
    told.close()
    db.close()


def maintenance(world: World) -> Iterator[Row]:
    """Each pass over the whole space, a memory; the budget is 5 s for 100,000."""
    space = MemorySpace.open(world.copy("kept.db"), durability="normal")
    keeper = space.maintenance(system("bench"))
    for name, work in (
        ("pruning candidates", keeper.propose_pruning),
        ("merge candidates", keeper.propose_merges),
        ("contradictions", keeper.detect_contradictions),
        ("expiry", keeper.expire),
        ("report", keeper.report),
    ):
        (first,) = rounds((work,), times=len(world.texts), repeat=1)
        (again,) = rounds((work,), times=len(world.texts), repeat=3)
        budget = Cost(50, 50)
        note = (
            f"{first.wall * len(world.texts) / 1e6:.2f} s at first, {again.wall * len(world.texts) / 1e6:.2f} s again"
        )
        yield beside(f"maintenance: {name} (floor: 50 µs a memory)", budget, first, 1, note)
    space.close()


def undo(world: World) -> Iterator[Row]:
    """The undoing of a batch, against what it may take: 5 ms, and 60 µs for each memory it touched."""
    session = world.session
    for count in (1, 1_000):
        made = [
            session.remember_many([draft(text, world.person) for text in world.take(count)], batch=1_000)
            for _ in range(5)
        ]
        batches = iter([report.receipts[0] for report in made])
        (cost,) = rounds((lambda: session.undo(next(batches)),), times=1)  # noqa: B023
        budget = 5_000.0 + 60 * count
        yield beside(f"undo a batch of {count:,} (floor: the budget)", Cost(budget, budget), cost, 1)


def size(world: World) -> Iterator[Row]:
    """Bytes a memory: a file that the library filled, against one that was filled by hand with the same memories."""
    texts = world.texts[:20_000]
    (world.folder / "sized").mkdir()
    ours = filled(world.folder / "sized", 1)
    floor = Floor(ours.copy("hand.db"))
    for at in range(0, len(texts), 1_000):
        part = texts[at : at + 1_000]
        floor.remember(part, ours.person, [terms_of(text) for text in part])
        ours.session.remember_many([draft(text, ours.person) for text in part], batch=1_000)
    floor.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    parts = _parts(floor.db, len(texts))
    floor.close()
    ours.space.close()
    hand, library = (path.stat().st_size / len(texts) for path in (floor.path, ours.path))
    yield Row(area="file, bytes a memory", floor=hand, ours=library, gate=1.35, unit="B", note=parts)
    (world.folder / "sized" / Path("ours.db")).unlink()


def _parts(db: sqlite3.Connection, count: int) -> str:
    """What takes the room."""
    rows = db.execute(
        "SELECT CASE WHEN s.name LIKE 'text_shared%' THEN 'text index'"
        " WHEN coalesce(o.tbl_name, s.name) = s.name THEN s.name ELSE 'indexes of ' || o.tbl_name END, sum(s.pgsize)"
        " FROM dbstat s LEFT JOIN sqlite_schema o ON o.name = s.name WHERE s.aggregate = 1 GROUP BY 1 ORDER BY 2 DESC"
    ).fetchall()
    return ", ".join(f"{name} {taken / count:,.0f}" for name, taken in rows[:9])
