"""Each store agrees with plain lists, whatever is done to it in whatever order."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from engram_core.ports import EventStore
from engram_core.stores import InMemoryStore, SqliteStore
from engram_core.testing import BROKEN_STORES, event_store_machine

BRIEF = settings(max_examples=40, stateful_step_count=25, deadline=None)
HUNT = settings(BRIEF, max_examples=1_000, phases=[Phase.generate], database=None, print_blob=False)
SOAK = settings(max_examples=1_000, stateful_step_count=40, deadline=None)


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory for many small files."""
    path = Path(tempfile.mkdtemp())
    yield path
    shutil.rmtree(path)


def sqlite_machine(directory: Path) -> type:
    """The machine over SQLite files, with two handles, each of which is closed and opened again."""
    numbers = iter(range(10**9))

    def make() -> EventStore:
        return SqliteStore(directory / f"{next(numbers)}.db", durability="normal")

    def another(store: EventStore) -> EventStore:
        assert isinstance(store, SqliteStore)
        return SqliteStore(store.path, durability="normal")

    def reopen(store: EventStore) -> EventStore:
        store.close()
        return another(store)

    return event_store_machine(make, reopen=reopen, another=another)


def test_in_memory() -> None:
    """The log in memory agrees with the model."""
    run_state_machine_as_test(event_store_machine(InMemoryStore), settings=BRIEF)


def test_sqlite(directory: Path) -> None:
    """The log in a file agrees with the model, through two handles and over reopening."""
    run_state_machine_as_test(sqlite_machine(directory), settings=BRIEF)


@pytest.mark.slow
def test_sqlite_for_long(directory: Path) -> None:
    """The same, for a while."""
    run_state_machine_as_test(sqlite_machine(directory), settings=SOAK)


@pytest.mark.parametrize("name", ["not_atomic", "ignores_versions", "skips_stored_ids", "commits_in_any_case"])
def test_the_machine_finds_faults(name: str) -> None:
    """A broken store does not agree with the model."""
    with pytest.raises(BaseException):  # noqa: B017 -- an assertion, or the store's own error
        run_state_machine_as_test(event_store_machine(BROKEN_STORES[name]), settings=HUNT)


def test_each_machine_is_a_class_of_its_own() -> None:
    """Settings on one machine's test case are not those of another."""
    one, two = event_store_machine(InMemoryStore), event_store_machine(InMemoryStore)
    assert one is not two
    assert one.TestCase is not two.TestCase
