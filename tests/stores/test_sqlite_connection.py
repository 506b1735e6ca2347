"""The writing connection of a store is let go when a large transaction has made it slow."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_core import Draft, Fact, MemorySpace, system, user
from engram_core.stores import SqliteStore
from engram_core.stores import sqlite as sqlite_store
from engram_core.testing import appending


def writer_of(store: SqliteStore) -> object:
    """The connection by which a store writes."""
    with store.transaction():
        return store.writing()


def test_the_first_small_commit_after_large_ones_is_the_last_of_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large ones in a row keep theirs, and so do small ones in a row."""
    monkeypatch.setattr(sqlite_store, "_LARGE_TRANSACTION", 100)
    store = SqliteStore(tmp_path / "log.db")
    first = writer_of(store)
    for number in range(2):
        store.append([appending(f"s{number}", *(f"{number}-{event}" for event in range(200)))])
        with store.transaction():
            assert first is store.writing()
            store.append([appending(f"t{number}", *(f"t{number}-{event}" for event in range(200)))])
    store.append([appending("u", "u")])
    second = writer_of(store)
    assert first is not second
    store.append([appending("v", "v")])
    assert second is writer_of(store)
    assert 802 == store.head()
    store.close()


def test_a_connection_that_cannot_be_replaced_takes_no_commit_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was committed stays so, and the next write goes by the old one."""
    monkeypatch.setattr(sqlite_store, "_LARGE_TRANSACTION", 100)
    store = SqliteStore(tmp_path / "log.db")
    first = writer_of(store)
    store.append([appending("s", *(str(number) for number in range(200)))])
    store._connections.extra = lambda: 1 / 0  # type: ignore[assignment]
    store.append([appending("t", "t")])
    assert first is writer_of(store)
    assert 202 == store.append([appending("u", "u")]).events[-1].position
    store.close()


def test_a_space_writes_on_over_a_new_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own functions, and what a reader holds, are there as before."""
    monkeypatch.setattr(sqlite_store, "_LARGE_TRANSACTION", 100)
    with MemorySpace.open(tmp_path / "memory.db") as space:
        session = space.session(user("ada"))
        session.remember_many([Draft(Fact(f"The tide table of week {number} lies in the hut")) for number in range(60)])
        for number in range(3):
            made = session.remember(Fact(f"The boat was painted {number} times"), similar=False)
            session.confirm(made)
        assert 63 == session.stats().memories
        assert space.maintenance(system("test")).verify().ok
