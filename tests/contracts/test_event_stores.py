"""The stores of the library keep the contract that the library ships."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
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


class Sluggish(InMemoryStore):
    """Makes other threads wait for a running transaction, and is slow to let them go on."""

    def __init__(self) -> None:
        super().__init__()
        self.holder: int | None = None
        self.ended = threading.Event()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.holder = threading.get_ident()
        self.ended.clear()
        try:
            with super().transaction():
                yield
        finally:
            self.holder = None
            self.ended.set()

    def head(self) -> int:
        if self.holder not in (None, threading.get_ident()):
            self.ended.wait(60)
            time.sleep(0.5)
        return super().head()


def test_the_contract_waits_for_whom_a_store_makes_wait() -> None:
    """A reader that comes late is no fault of the store."""

    class Case(EventStoreContract, unittest.TestCase):
        def make_store(self) -> EventStore:
            return Sluggish()

    result = unittest.TestResult()
    Case("test_transaction_is_hidden_until_its_end").run(result)
    assert [] == [told for _, told in (*result.failures, *result.errors, *result.skipped)]
    assert 1 == result.testsRun
