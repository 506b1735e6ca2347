"""What the whole space costs: rebuilt, verified, scored, kept and imported."""

from __future__ import annotations

import json
import resource
import sqlite3
import statistics
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

from benchmarks.agreement import terms_of
from benchmarks.floors import Floor
from benchmarks.measuring import ROUNDS, Row, compare
from benchmarks.world import World, filled
from engram_core import system
from engram_core.projections import schema
from engram_core.projections.scores import recompute_scores

__all__ = ["importing", "rebuild", "scores", "size"]

_COPIED = ("memories", "links", "batches")


def _rebuilt(world: World) -> None:
    """Reads the log, decodes it, and writes every row and index into a new file."""
    source = sqlite3.connect(world.path, isolation_level=None)
    target = world.folder / "rebuilt.db"
    target.unlink(missing_ok=True)
    db = sqlite3.connect(target, isolation_level=None, cached_statements=256)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute("BEGIN")
    for statement in schema.table_statements():
        db.execute(statement)
    db.execute("CREATE VIRTUAL TABLE text_shared USING fts5(terms)")
    for row in source.execute("SELECT * FROM events ORDER BY position"):
        json.loads(row[7])
    for table in _COPIED:
        rows = source.execute(f"SELECT * FROM {table}")
        db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows.description))})", rows)
    texts = (
        (key, json.loads(value).get("statement", ""))
        for key, value in source.execute("SELECT key, attributes FROM memories")
    )
    db.executemany("INSERT INTO text_shared (rowid, terms) VALUES (?, ?)", texts)
    for statement in schema.index_statements():
        db.execute(statement)
    db.execute("COMMIT")
    db.close()
    source.close()


def rebuild(world: World) -> Iterator[Row]:
    """The read model anew, and the whole file checked, an event."""
    keeper = world.space.maintenance(system("bench"))
    events = world.space.position
    row = compare("rebuild", lambda: _rebuilt(world), keeper.rebuild, times=events, gate=2.0, repeat=3)
    yield row
    checked = compare("", lambda: None, keeper.verify, times=events, repeat=3)
    yield Row(area="verify (floor: our rebuild)", floor=row.ours, ours=checked.ours, gate=1.5)


def scores(world: World) -> Iterator[Row]:
    """All scores, a memory; the floor is the statement alone."""
    keeper = world.space.maintenance(system("bench"))
    options = world.space._engine.options
    db = sqlite3.connect(world.copy("scores.db"), isolation_level=None)

    def plain() -> None:
        db.execute("BEGIN IMMEDIATE")
        recompute_scores(db, options.policy, options.kinds, datetime.now(UTC))
        db.execute("COMMIT")

    yield compare("recompute all scores", plain, keeper.recompute_scores, times=len(world.ids), gate=1.3)
    db.close()


def size(world: World) -> Iterator[Row]:
    """Bytes a memory: the file just filled, against one that was filled by hand."""
    for name in ("small", "full"):
        (world.folder / name).mkdir()
    small = filled(world.folder / "small", 1)
    floor = Floor(small.copy("hand.db"))
    for at in range(0, len(world.texts), 1_000):
        part = world.texts[at : at + 1_000]
        floor.remember(part, small.person, [terms_of(text) for text in part])
    floor.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    floor.close()
    small.space.close()
    full = filled(world.folder / "full", len(world.texts))
    full.space.close()
    taken = [path.stat().st_size / len(world.texts) for path in (small.folder / "hand.db", full.path)]
    yield Row(area="file, bytes a memory", floor=taken[0], ours=taken[1], gate=1.35, unit="B")


def importing(_: World) -> Iterator[Row]:
    """A cold process that imports the library, or goes on to a first memory, against one that imports its parts."""
    first = (
        "from engram_core import Fact, MemorySpace, user\n"
        "MemorySpace.in_memory().session(user('a')).remember(Fact('a b'))"
    )
    programs = ("import attrs, cattrs, uuid6, sqlite3", "import engram_core", first)
    taken: tuple[list[float], ...] = ([], [], [])
    for _round in range(ROUNDS):
        for program, times in zip(programs, taken, strict=True):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", program], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            times.append(used * 1e6)
    floor, ours, cold = (statistics.median(times) for times in taken)
    yield Row(area="import engram_core", floor=floor, ours=ours, gate=1.0)
    yield Row(area="cold process to a first memory", floor=floor, ours=cold, gate=1.6)
