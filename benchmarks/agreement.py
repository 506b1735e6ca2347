"""That a floor leaves the very rows that the library leaves: both do the same, and every table is compared."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.floors import Floor
from benchmarks.world import draft, filled
from engram_core.projections.texts import text_terms

__all__ = ["differences", "terms_of"]

_TEXTS = (
    "Alice moved to a small flat near the river in Oslo",
    "the green bicycle that was lent to Ben has not come back yet, and he promised it twice",
    "tea at four",
    "they keep the spare keys in the second drawer of the kitchen table",
    "the museum is free on the first Sunday of each month",
)


def terms_of(text: str) -> str:
    """What the text index holds of a fact that says this."""
    return text_terms(title=None, fields=[text], content="", tags=())


def differences(folder: Path, size: int = 5_000) -> list[str]:
    """What a floor left otherwise than the library, in words; empty when every row of every table agrees.

    The library goes first, and the floor is then given its ids, salts and instants: what they are is chance.

    Args:
        folder: Where the files of a small space are made.
        size: How many memories it holds before.
    """
    world = filled(folder, size)
    floor = Floor(world.copy("agreement.db"))
    session, about, before = world.session, world.person, world.space.position
    one, *many = [f"{text} {before}" for text in _TEXTS]
    made = draft(one, about)
    remembered = session.remember(made.attributes, links=[("about", about)], similar=False)
    session.remember_many([draft(text, about) for text in many], batch=1_000)
    changed = [str(remembered.memory_id), *world.ids[:3]]
    session.confirm(changed[0])
    session.pin(changed[1])
    session.weigh(changed[2], 0.9)
    session.tag(changed[3], "red")
    ours = sqlite3.connect(world.path)
    events = ours.execute(
        "SELECT id, stream, version, json_extract(data, '$.salt'), occurred_at, recorded_at FROM events"
        " WHERE position > ? ORDER BY position",
        (before,),
    ).fetchall()
    batches = iter([*events[:2], *events[1 + len(many) :]])
    floor.event_id, floor.salt = _giver(events, 0), _giver(events, 3)
    floor.happened, floor.id = _giver(events, 4), _giver([event for event in events if event[2] == 1], 1)
    floor.recorded = lambda: int(next(batches)[5])
    floor.remember([one], about, [terms_of(one)])
    floor.remember(many, about, [terms_of(text) for text in many])
    floor.confirm(changed[0])
    floor.pin(changed[1])
    floor.weigh(changed[2])
    floor.tag(changed[3], "red")
    found = _compared(ours, floor.db)
    ours.close()
    floor.close()
    world.space.close()
    return found


def _giver(events: list[Any], column: int) -> Any:
    values = iter([event[column] for event in events])
    return lambda: next(values)


def _compared(ours: sqlite3.Connection, floor: sqlite3.Connection) -> list[str]:
    found = []
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%\\_data' ESCAPE '\\'"
    for (table,) in ours.execute(f"{tables} AND name NOT LIKE '%\\_idx' ESCAPE '\\' ORDER BY name").fetchall():
        rows = [set(map(repr, db.execute(f"SELECT * FROM {table}"))) for db in (ours, floor)]
        for side, other, who in ((rows[0], rows[1], "ours"), (rows[1], rows[0], "the floor's")):
            alone = sorted(side - other)
            if alone:
                found.append(f"{table}: {len(alone)} rows only {who}, such as {alone[0][:2000]}")
    return found


def main() -> None:
    """Prints the differences on a small space."""
    with tempfile.TemporaryDirectory() as folder:
        found = differences(Path(folder))
    sys.stdout.write("\n".join(found or ["every row of every table agrees"]) + "\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
