"""What reading costs, but for recall."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.measuring import Cost, Row, beside, compare, rounds
from benchmarks.world import World, draft
from engram_core import system
from engram_core.folding import fold

__all__ = ["connected", "find", "load", "neighbours", "read_log", "reviews"]

_TIMES = 100
_EVENTS = (
    "SELECT position, stream, version, id, type, schema_version, owner, data, commitment, occurred_at, recorded_at,"
    " actor_kind, batch, causation, command, link FROM events"
)
_DATA = 7

# Only what lives, and is shown to this viewer; attributes, tags and evidence lie there as JSON.
_SHOWN = "m.stored IN ('active', 'archived') AND m.lane = 0"
_PAGE = f"SELECT m.* FROM memories m WHERE m.kind = 'fact' AND {_SHOWN} ORDER BY m.created_at DESC, m.id DESC LIMIT 50"
_LINKS = (
    " (SELECT json_group_array(l.relation || ' ' || n.id) FROM links l JOIN memories n ON n.key = l.target"
    " WHERE l.source = m.key AND n.stored IN ('active', 'archived') AND n.lane = 0)"
)
_ONE = f"SELECT m.*,{_LINKS} FROM memories m WHERE m.id = ? AND {_SHOWN}"
_NEAR = f"""
SELECT m.*, l.relation, 'out' FROM links l JOIN memories m ON m.key = l.target WHERE l.source = :key AND {_SHOWN}
UNION ALL
SELECT m.*, l.relation, 'in' FROM links l JOIN memories m ON m.key = l.source WHERE l.target = :key AND {_SHOWN}"""
_JSON = (8, 9, 10, 28, 29)  # columns of a memory that hold JSON


def connected(world: World) -> sqlite3.Connection:
    """A connection to the space's own file, as one would open it by hand."""
    db = sqlite3.connect(world.path, isolation_level=None, cached_statements=256)
    db.execute("PRAGMA cache_size=-65536")
    return db


def _decoded(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(json.loads(row[place]) for place in _JSON if row[place]) for row in rows]


def _each(action: Callable[[str], object], ids: Sequence[str]) -> Callable[[], None]:
    def run() -> None:
        for id in ids:
            action(id)

    return run


def load(world: World) -> Iterator[Row]:
    """A memory's state from its events."""
    engine, db = world.space._engine, connected(world)
    for count, text in zip((10, 100, 1_000), world.take(3), strict=True):
        made = draft(text, world.person)
        id = str(world.session.remember(made.attributes, similar=False).memory_id)
        for number in range(count - 1):
            world.session.edit(id, content=f"version {number}")
        times = max(1, 1_000 // count)

        def ours() -> None:
            for _ in range(times):  # noqa: B023
                fold(engine.log.stream(id))  # noqa: B023

        def plain() -> None:
            for _ in range(times):  # noqa: B023
                rows = db.execute(f"{_EVENTS} WHERE stream = ? ORDER BY version", (id,)).fetchall()  # noqa: B023
                for row in rows:
                    json.loads(row[_DATA])

        yield compare(f"load a memory of {count:,} events", plain, ours, times=times, gate=2.0)
    db.close()


def read_log(world: World) -> Iterator[Row]:
    """The log as typed events, an event."""
    db = connected(world)

    def ours() -> None:
        for _ in world.space.events():
            pass

    def plain() -> None:
        for row in db.execute(f"{_EVENTS} ORDER BY position"):
            json.loads(row[_DATA])

    yield compare("read the log as typed events", plain, ours, times=world.space.position, gate=2.0)
    db.close()


def find(world: World) -> Iterator[Row]:
    """A page by each sort of filter, and a memory by its id."""
    db, session = connected(world), world.session
    ids = world.ids[:: max(1, len(world.ids) // _TIMES)][:_TIMES]
    assert [row[1] for row in db.execute(_PAGE)] == [
        one.id for one in session.find(kind="fact", limit=50, descending=True)
    ]
    yield compare(
        "find a page of 50",
        _each(lambda _: _decoded(db.execute(_PAGE).fetchall()), ids),
        _each(lambda _: session.find(kind="fact", limit=50, order="created_at", descending=True), ids),
        times=len(ids),
        gate=4,
    )
    yield compare(
        "get",
        _each(lambda one: _decoded(db.execute(_ONE, (one,)).fetchall()), ids),
        _each(session.get, ids),
        times=len(ids),
        gate=2.5,
    )
    by_tag = (
        "SELECT m.* FROM tags t CROSS JOIN memories m ON m.key = t.key WHERE t.tag = 'garden' AND"
        f" {_SHOWN} ORDER BY m.created_at DESC, m.id DESC LIMIT 50"
    )
    assert [row[1] for row in db.execute(by_tag)] == [
        one.id for one in session.find(tags=["garden"], limit=50, descending=True)
    ]
    yield compare(
        "find a page of 50 by tag",
        lambda: _decoded(db.execute(by_tag).fetchall()),
        lambda: session.find(tags=["garden"], limit=50, descending=True),
        times=1,
        gate=4,
    )
    counted = (
        "SELECT t.tag, count(*) FROM tags t JOIN memories m ON m.key = t.key"
        f" WHERE {_SHOWN} AND m.stored = 'active' GROUP BY t.tag"
    )
    assert dict(db.execute(counted)) == session.tags()
    yield compare("tags", lambda: db.execute(counted).fetchall(), session.tags, times=1)
    grouped = f"SELECT m.kind, m.stored, count(*) FROM memories m WHERE {_SHOWN} GROUP BY 1, 2"
    yield compare("stats", lambda: db.execute(grouped).fetchall(), session.stats, times=1)
    world.space.maintenance(system("bench")).recompute_scores()
    ranked = (
        f"SELECT m.* FROM memories m JOIN scores s ON s.key = m.key WHERE {_SHOWN}"
        " ORDER BY s.importance DESC, m.id DESC LIMIT 50"
    )
    yield compare(
        "find a page of 50 by importance (floor: as last recomputed)",
        lambda: _decoded(db.execute(ranked).fetchall()),
        lambda: session.find(order="importance", limit=50, descending=True),
        times=1,
    )
    db.close()


def neighbours(world: World) -> Iterator[Row]:
    """What is linked to a fact, and to a person of whom fifty memories tell."""
    db, session = connected(world), world.session
    facts = world.ids[:: max(1, len(world.ids) // _TIMES)][:_TIMES]

    def plain(id: str) -> list[tuple[Any, ...]]:
        (key,) = db.execute(f"SELECT m.key FROM memories m WHERE m.id = ? AND {_SHOWN}", (id,)).fetchone()
        rows = db.execute(_NEAR, {"key": key}).fetchall()
        _decoded(rows)
        return rows

    for name, ids in (("neighbours of a fact", facts), ("neighbours of a person", [world.person] * 5)):
        found = sorted((one.memory.id, str(one.relation), str(one.direction)) for one in session.neighbours(ids[0]))
        assert found == sorted((row[1], row[-2], row[-1]) for row in plain(ids[0])), "the floor finds others"
        yield compare(name, _each(plain, ids), _each(session.neighbours, ids), times=len(ids), gate=4)
    db.close()


def reviews(world: World) -> Iterator[Row]:
    """A page of what waits for a person; what it costs must not grow with the space."""
    session = world.session
    (cost,) = rounds((lambda: session.reviews(limit=50),), times=1)
    note = f"{len(session.reviews(limit=1_000))} rows wait, or more"
    yield beside("review page (floor: 5 ms)", Cost(5_000, 5_000), cost, 1, note)


def history(world: World) -> Iterator[Row]:
    """How a memory came to be what it is, and why it is believed."""
    session = world.session
    ids = list(itertools.islice(world.ids, _TIMES))
    for name, ask in (("history", session.history), ("why", session.why)):
        (cost,) = rounds((_each(ask, ids),), times=len(ids))
        yield beside(f"{name} (floor: 1 ms)", Cost(1_000, 1_000), cost)
