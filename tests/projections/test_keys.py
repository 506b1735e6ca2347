"""The integer key of a memory is the position at which it began."""

from __future__ import annotations

from pathlib import Path

from engram_core import Fact, MemorySpace, Person, user
from engram_core.events import MemoryCreated
from engram_core.stores.sqlite import SqliteStore


def keys(store: SqliteStore) -> list[tuple[str, int]]:
    """Ids and keys, in the order of keys."""
    with store.reading() as connection:
        return connection.execute("SELECT id, key FROM memories ORDER BY key").fetchall()


def test_keys_are_positions_of_creation(tmp_path: Path) -> None:
    """They follow creation, whatever happens to memories since, and are the same after a rebuild."""
    store = SqliteStore(tmp_path / "log.db")
    with MemorySpace.over(store) as space:
        ann = space.session(user("ann"))
        with ann.batch() as batch:
            first = batch.remember(Fact("one"))
            batch.remember(Person(full_name="Two"))
            batch.tag(first, "x")
        ann.remember(Fact("three"), links=[("about", batch.receipts[0])])
        ann.delete(batch.receipts[0])
        began = [(e.stream, e.position) for e in space.events() if isinstance(e.event, MemoryCreated)]
        assert 3 == len(began)
        assert began == keys(store)
        space.maintenance(user("ann")).rebuild()
        assert began == keys(store)
