"""Processes that are killed, disks that are full, clocks that step back, copies that are restored."""

from __future__ import annotations

import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path

import pytest

from engram_core.chain import chain_link, genesis
from engram_core.errors import StoreError, StoreFull
from engram_core.ports import EventStore, Recorded
from engram_core.stores import SqliteStore
from engram_core.testing import FrozenClock, History, appending, problems_of, whole_log
from tests.stores import processes


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A new store."""
    found = SqliteStore(tmp_path / "log.db", durability="normal")
    yield found
    found.close()


def chained(store: EventStore) -> tuple[Recorded, ...]:
    """The whole log, after its chain was found whole."""
    log = whole_log(store)
    link, commit = genesis(store.store_id), []
    for event in log:
        commit.append(event._replace(link=None))
        if event.link is not None:
            link, commit = chain_link(link, commit), []
            assert link == event.link
    assert [] == commit
    return log


# -- kill -9


def killed(tmp_path: Path, rounds: int) -> None:
    """Kills a writer in each round, then compares what it noted with what is there."""
    path, picks = tmp_path / "log.db", random.Random(3)
    SqliteStore(path).close()
    notes = []
    for number in range(rounds):
        notes.append(tmp_path / f"notes {number}")
        writer = processes.start(processes.WRITER, path, notes[-1], f"w{number}", 1_000_000)
        processes.expect_line(writer, "ready")
        time.sleep(picks.uniform(0.0, 0.25))
        writer.kill()
        writer.communicate()
        store = SqliteStore(path)
        log = chained(store)
        assert () == problems_of(History.load(*notes), log)
        assert store.append([appending("after", f"after {number}")]).positions == (len(log) + 1,)
        history = History(tmp_path / f"after {number}")
        history.watch(store, "after").append([appending("after", f"after {number}")])
        history.close()
        notes.append(tmp_path / f"after {number}")
        store.close()
    assert len(log) > rounds


def test_a_killed_writer_loses_nothing(tmp_path: Path) -> None:
    """Whatever was acknowledged before `kill -9` is there once; what was not, is there whole or not at all."""
    killed(tmp_path, 6)


@pytest.mark.slow
def test_many_killed_writers_lose_nothing(tmp_path: Path) -> None:
    """The same, often."""
    killed(tmp_path, 100)


def test_a_writer_killed_while_it_checkpoints(tmp_path: Path) -> None:
    """The same, when the log is copied into the database after every few commits."""
    often = "from engram_core.stores import sqlite, wal\nwal.CHECKPOINT_BYTES, sqlite._COMMITS_A_LOOK = 20_000, 1\n"
    for number in range(6):
        path, notes = tmp_path / f"{number}.db", tmp_path / f"{number} notes"
        SqliteStore(path).close()
        empty = path.stat().st_size
        writer = processes.start(often + processes.WRITER, path, notes, "w", 1_000_000)
        processes.expect_line(writer, "ready")
        deadline = time.monotonic() + 60
        while path.stat().st_size == empty and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(0.01 * number)
        writer.kill()
        writer.communicate()
        assert path.stat().st_size > empty
        store = SqliteStore(path)
        assert () == problems_of(History.load(notes), chained(store))
        store.close()


# -- disk full


def test_a_full_disk(store: SqliteStore) -> None:
    """When there is no room the answer is StoreFull and nothing is written; with room again, all goes on."""
    store.append([appending("a", "1")])
    with store.transaction():
        (pages,) = store.writing().execute("PRAGMA page_count").fetchone()
        store.writing().execute(f"PRAGMA max_page_count={pages + 1}")
    refused = 0
    for number in range(20):
        with suppress(StoreFull):
            store.append([appending("b", f"b{number}", text="y" * 3_000)])
            continue
        refused += 1
    assert refused > 15
    with pytest.raises(StoreFull) as caught:
        store.append([appending("b", "big", text="y" * 30_000)])
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    assert "full" in str(caught.value.__cause__)
    assert not caught.value.retry
    log = chained(store)
    assert 21 - refused == len(log) == store.head()
    with store.transaction():
        store.writing().execute("PRAGMA max_page_count=1000000")
    assert (len(log) + 1,) == store.append([appending("b", "more", text="y" * 3_000)]).positions
    assert len(log) + 1 == len(chained(store))


def test_a_full_disk_within_a_transaction(store: SqliteStore) -> None:
    """SQLite may have rolled back by itself; the first error is what the caller gets."""
    with store.transaction():
        store.writing().execute("CREATE TABLE mine (x)")
        (pages,) = store.writing().execute("PRAGMA page_count").fetchone()
        store.writing().execute(f"PRAGMA max_page_count={pages}")

    def overfill() -> None:
        with store.transaction():
            store.append([appending("a", "1")])
            store.writing().execute("INSERT INTO mine VALUES (zeroblob(1000000))")

    with pytest.raises(StoreFull) as caught:
        overfill()
    assert "full" in str(caught.value.__cause__)
    assert 0 == store.head()
    assert (1,) == store.append([appending("a", "1")]).positions


# -- clocks and copies


def test_a_clock_that_steps_back_between_two_openings(tmp_path: Path) -> None:
    """`recorded_at` does not fall when a later process has an earlier clock."""
    clock = FrozenClock()
    for number in range(3):
        store = SqliteStore(tmp_path / "log.db", clock=clock)
        store.append([appending("a", str(number))])
        clock.move(timedelta(days=-1))
        times = [event.recorded_at for event in store.read()]
        store.close()
    assert [times[0]] * 3 == times


def test_backup_under_writes(store: SqliteStore, tmp_path: Path) -> None:
    """A copy made while others write opens, is whole, and is the beginning of the log."""
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            store.append([appending(f"s{number % 5}", f"e{number}", f"f{number}", text="x" * 500)])
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            time.sleep(0.05)
            store.backup(tmp_path / f"copy {number}.db")
    finally:
        stop.set()
        writer.join()
    log = chained(store)
    lengths = []
    for number in range(5):
        copy = SqliteStore(tmp_path / f"copy {number}.db", create=False)
        found = chained(copy)
        assert log[: len(found)] == found
        assert (copy.store_id, copy.head()) == (store.store_id, len(found))
        lengths.append(len(found))
        copy.append([appending("a", "on the copy")])
        copy.close()
    assert sorted(lengths) == lengths
    assert lengths[0] > 0
    assert len(log) == store.head()


def test_a_backup_overwrites_nothing(store: SqliteStore, tmp_path: Path) -> None:
    """A file that is there is left alone; so is the store's own; nothing half-made stays behind."""
    target = tmp_path / "precious"
    target.write_text("precious")
    for path in (target, store.path):
        with pytest.raises(StoreError) as caught:
            store.backup(path)
        assert "store_exists" == caught.value.code
    assert "precious" == target.read_text()
    with pytest.raises(StoreError):
        store.backup(tmp_path / "no such directory" / "copy")
    assert [] == [file.name for file in tmp_path.iterdir() if file.name.endswith(".new")]


def test_a_damaged_store_gives_no_backup(store: SqliteStore, tmp_path: Path) -> None:
    """A copy that is not whole does not get the name that was asked for."""
    for number in range(300):
        store.append([appending(f"s{number}", f"e{number}", text="x" * 200)])
    store.close()
    whole = bytearray(store.path.read_bytes())
    for page in range(3, len(whole) // 4096 - 1):
        whole[page * 4096 + 8 : page * 4096 + 40] = b"\xff" * 32
    store.path.write_bytes(whole)
    with suppress(StoreError), closing(SqliteStore(store.path)) as damaged:
        damaged.backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_an_older_copy_is_the_older_log(store: SqliteStore, tmp_path: Path) -> None:
    """A restored copy has the same id and an earlier head, by which a later checkpoint can be told to be ahead."""
    store.append([appending("a", "1")])
    store.backup(tmp_path / "copy.db")
    store.append([appending("a", "2")])
    store.close()
    shutil.copy(tmp_path / "copy.db", store.path)
    restored = SqliteStore(store.path)
    assert (1, store.store_id) == (restored.head(), restored.store_id)
    restored.close()
