"""The example of a store of one's own keeps the contract, survives the machines, and loses nothing to a kill."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

import engram_core
from engram_core import MemorySpace, user
from engram_core.errors import StoreError
from engram_core.ports import AtomicStore, Clock, EraserStore, EventStore
from engram_core.testing import (
    EventStoreContract,
    History,
    appending,
    event_store_machine,
    memory_space_machine,
    problems_of,
    whole_log,
)
from examples.store_in_a_file import FileStore

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = count()


@cache
def folder() -> Path:
    """Where the stores of this run are."""
    return Path(tempfile.mkdtemp(prefix="engram-"))


def teardown_module() -> None:
    """Removes all stores."""
    shutil.rmtree(folder(), ignore_errors=True)
    folder.cache_clear()


def new_store(clock: Clock | None = None) -> FileStore:
    return FileStore(folder() / str(next(NUMBERS)), clock=clock)


def another(store: FileStore) -> FileStore:
    return FileStore(store.directory)


def reopened(store: FileStore) -> FileStore:
    store.close()
    return another(store)


class TestFileStore(EventStoreContract, unittest.TestCase):
    """The whole contract, nothing skipped."""

    def make_store(self) -> EventStore:
        return new_store()

    def make_store_with_clock(self, clock: Clock) -> EventStore:
        return new_store(clock)

    def reopen(self, store: EventStore) -> EventStore:
        assert isinstance(store, FileStore)
        return reopened(store)

    def another(self, store: EventStore) -> EventStore:
        assert isinstance(store, FileStore)
        return another(store)

    def test_protocols(self) -> None:
        """It holds transactions and can erase."""
        store = self.fresh()
        assert isinstance(store, AtomicStore)
        assert isinstance(store, EraserStore)


TestMachine = event_store_machine(new_store, reopen=reopened, another=another).TestCase
TestMachine.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)


def space_over(clock: Clock) -> MemorySpace:
    return MemorySpace.over(new_store(clock), clock=clock)


TestSpaces = memory_space_machine(space_over).TestCase
TestSpaces.settings = settings(max_examples=2, stateful_step_count=10, deadline=None)

WRITER = """
import sys
from examples.store_in_a_file import FileStore
from engram_core.errors import ConcurrencyError
from engram_core.testing import History, appending
directory, notes, who = sys.argv[1:]
store = History(notes).watch(FileStore(directory), who)
print("ready", flush=True)
for number in range(10_000):
    stream = f"s{number % 3}"
    expected = len(store.read_stream(stream))
    try:
        store.append([appending(stream, f"{who}-{number}", f"{who}-{number}b", expected=expected, text="x" * 500)])
    except ConcurrencyError:
        continue
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills with a signal")
def test_processes_that_are_killed_lose_nothing(tmp_path: Path) -> None:
    """Two processes write to one log until they are killed: what was acknowledged is there, once, in order."""
    path = os.pathsep.join([str(ROOT), str(Path(engram_core.__file__).parents[1])])
    command = [sys.executable, "-c", WRITER, str(tmp_path / "log")]
    environment = {**os.environ, "PYTHONPATH": path}
    writers = [
        subprocess.Popen([*command, str(tmp_path / who), who], env=environment, stdout=subprocess.PIPE) for who in "ab"
    ]
    reader = FileStore(tmp_path / "log")
    for writer in writers:
        assert writer.stdout is not None
        assert b"ready\n" == writer.stdout.readline()
    until = time.monotonic() + 120
    while reader.head() < 60:
        assert time.monotonic() < until, "the writers write nothing"
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        assert writer.stdout is not None
        writer.stdout.close()
    log = whole_log(reader)
    assert () == problems_of(History.load(tmp_path / "a", tmp_path / "b"), log)
    assert reader.append([appending("s0", "after")]).positions == (len(log) + 1,)


def test_a_line_that_was_cut_is_no_commit(tmp_path: Path) -> None:
    """What a killed process left of a line is overwritten by the next commit."""
    store = FileStore(tmp_path)
    store.append([appending("a", "1")])
    with (tmp_path / "log.jsonl").open("ab") as file:
        file.write(b'[["half a ')
    assert ("1",) == tuple(event.id for event in FileStore(tmp_path).read())
    store.append([appending("a", "2", expected=1)])
    assert ("1", "2") == tuple(event.id for event in FileStore(tmp_path).read())


def test_what_another_object_erased_is_forgotten(tmp_path: Path) -> None:
    """An object that had read a text before somebody else erased it does not keep it."""
    store, second = FileStore(tmp_path), FileStore(tmp_path)
    store.append([appending("a", "1", text="secret")])
    assert "secret" in second.read()[0].data
    store.erase("a", "gone")
    assert "gone" == second.read()[0].data
    assert b"secret" not in (tmp_path / "log.jsonl").read_bytes()
    assert store.store_id == second.store_id


def test_a_transaction_that_fails_midway_leaves_the_file_alone(tmp_path: Path) -> None:
    """Nothing is written before the end."""
    store = FileStore(tmp_path)
    before = (tmp_path / "log.jsonl").read_bytes()
    with suppress(KeyError), store.transaction():
        store.append([appending("a", "1")])
        raise KeyError
    assert before == (tmp_path / "log.jsonl").read_bytes()
    assert 0 == store.head()


def test_a_closed_store_is_closed(tmp_path: Path) -> None:
    """Every use says so."""
    store = FileStore(tmp_path)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.head()


def test_a_space_keeps_its_promises_over_it(tmp_path: Path) -> None:
    """Log, chain and read model agree."""
    with MemorySpace.over(FileStore(tmp_path)) as space:
        ann = space.session(user("ann"))
        memory = ann.remember({"kind": "fact", "statement": "Oslo is wet"})
        ann.undo(ann.tag(memory, "rain"))
        assert space.maintenance(user("ann")).verify().ok
