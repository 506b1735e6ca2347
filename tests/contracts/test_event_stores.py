"""The stores of the library keep the contract that the library ships."""

from __future__ import annotations

import shutil
import tempfile
import unittest
from pathlib import Path

from engram_core.ports import AtomicStore, Clock, EraserStore, EventStore, SqlStore
from engram_core.stores import InMemoryStore, SqliteStore
from engram_core.testing import EventStoreContract


class TestInMemoryStore(EventStoreContract, unittest.TestCase):
    """The log in memory."""

    def make_store(self) -> EventStore:
        return InMemoryStore()

    def make_store_with_clock(self, clock: Clock) -> EventStore:
        return InMemoryStore(clock=clock)

    def test_protocols(self) -> None:
        """It is an atomic store that can erase, and holds no SQL."""
        store = self.fresh()
        assert isinstance(store, AtomicStore)
        assert isinstance(store, EraserStore)
        assert not isinstance(store, SqlStore)


class TestSqliteStore(EventStoreContract, unittest.TestCase):
    """The log in a SQLite file."""

    def make_store(self) -> EventStore:
        return self.store_at(None)

    def make_store_with_clock(self, clock: Clock) -> EventStore:
        return self.store_at(clock)

    def store_at(self, clock: Clock | None) -> EventStore:
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory)
        return SqliteStore(Path(directory) / "log.db", clock=clock, durability="normal")

    def reopen(self, store: EventStore) -> EventStore:
        assert isinstance(store, SqliteStore)
        store.close()
        return SqliteStore(store.path, create=False)

    def another(self, store: EventStore) -> EventStore:
        assert isinstance(store, SqliteStore)
        return SqliteStore(store.path)

    def test_protocols(self) -> None:
        """It is an atomic store in SQL that can erase."""
        store = self.fresh()
        assert isinstance(store, SqlStore)
        assert isinstance(store, EraserStore)
