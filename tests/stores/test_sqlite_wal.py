"""The write-ahead log stays small, and is copied only while nobody can write."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from engram_core.stores import SqliteStore, wal
from engram_core.stores import sqlite as sqlite_store
from engram_core.testing import appending, whole_log


def fill(store: SqliteStore, count: int, start: int = 0) -> None:
    """Appends events of some two kilobytes."""
    for number in range(start, start + count):
        store.append([appending("s", f"e{number}", text="x" * 2_000)])


def test_the_log_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is copied when it has grown to its bound, and starts anew; so it does not grow with what is written."""
    monkeypatch.setattr(wal, "CHECKPOINT_BYTES", 1_500_000)
    store = SqliteStore(tmp_path / "log.db", durability="normal")
    largest = 0
    for number in range(0, 1_200, 20):
        fill(store, 20, number)
        largest = max(largest, wal.size(store.path))
    assert 1_500_000 < largest < 2_200_000
    assert store.path.stat().st_size > 2_000_000
    assert 1_200 == len(whole_log(store))
    store.close()
    assert 0 == wal.size(store.path)


def test_a_big_commit_is_noticed_at_once(tmp_path: Path) -> None:
    """One transaction of many events is copied when it has been committed."""
    store = SqliteStore(tmp_path / "log.db", durability="normal")
    store.append([appending("s", *(str(number) for number in range(4_000)), text="x" * 2_000)])
    assert wal.used(store.path) > wal.KEPT_BYTES
    assert store.path.stat().st_size > 8_000_000
    fill(store, 1)
    assert wal.used(store.path) < 100_000  # it started anew
    assert wal.KEPT_BYTES == wal.size(store.path)  # and its file was cut
    store.close()


def test_what_is_left_of_rounds_before_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file keeps its length when the log starts anew; only frames of the present round are in use."""
    monkeypatch.setattr(wal, "CHECKPOINT_BYTES", 400_000)
    store = SqliteStore(tmp_path / "log.db", durability="normal")
    used, length = [wal.used(store.path)], 0
    for number in range(200):
        fill(store, 1, number)
        used.append(wal.used(store.path))
        assert wal.size(store.path) >= length
        length = wal.size(store.path)
    rounds = sum(later < before for before, later in pairwise(used))
    assert 2 <= rounds <= 10
    assert 400_000 < max(used) < 800_000
    with closing(sqlite3.connect(tmp_path / "log.db")) as other:
        _, frames, _ = other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        (page,) = other.execute("PRAGMA page_size").fetchone()
    assert 32 + frames * (24 + page) == used[-1]
    store.close()
    assert 0 == wal.used(store.path)


def test_a_reader_delays_the_copy_and_does_not_stop_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a long reader needs the log, it grows; when he has gone, it starts anew. Nobody waits for him."""
    monkeypatch.setattr(wal, "CHECKPOINT_BYTES", 100_000)
    store, other = SqliteStore(tmp_path / "log.db"), SqliteStore(tmp_path / "log.db")
    fill(store, 20)
    with other.reading() as connection:
        assert (20,) == connection.execute("SELECT count(*) FROM events").fetchone()
        fill(store, 200, 20)
        assert wal.used(store.path) > 400_000
        assert (20,) == connection.execute("SELECT count(*) FROM events").fetchone()
    fill(store, 300, 220)
    fill(store, 20, 520)
    assert wal.used(store.path) < 500_000
    assert 540 == other.head()
    other.close()
    store.close()


def test_the_copy_runs_under_the_write_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the log is copied, no connection of any process can begin to write."""
    monkeypatch.setattr(wal, "CHECKPOINT_BYTES", 100_000)
    store = SqliteStore(tmp_path / "log.db", durability="normal")
    copy, tried = wal.checkpoint, []

    def watched(extra: object) -> bool:
        with closing(sqlite3.connect(store.path, isolation_level=None, timeout=0)) as stranger:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                stranger.execute("BEGIN IMMEDIATE")
            tried.append(copy(extra))  # type: ignore[arg-type]
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                stranger.execute("BEGIN IMMEDIATE")
        return tried[-1]

    monkeypatch.setattr(wal, "checkpoint", watched)
    fill(store, 100)
    assert tried
    assert all(tried)
    store.close()


def test_no_connection_copies_by_itself(tmp_path: Path) -> None:
    """Without our own copying, nothing is copied, however large the log."""
    store = SqliteStore(tmp_path / "log.db", durability="normal")
    before = store.path.stat().st_size
    store._large = 10**12
    fill(store, 2_500)
    assert wal.size(store.path) > 2 * wal.CHECKPOINT_BYTES
    assert before == store.path.stat().st_size
    store.close()
    assert 0 == wal.size(store.path)
    assert store.path.stat().st_size > 5_000_000


def test_writers_and_copies_under_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two stores on one file, each copying after every commit that it can, lose nothing."""
    monkeypatch.setattr(wal, "CHECKPOINT_BYTES", 10_000)
    monkeypatch.setattr(sqlite_store, "_COMMITS_A_LOOK", 1)
    stores = [SqliteStore(tmp_path / "log.db", durability="normal") for _ in range(2)]

    def write(who: int) -> None:
        for number in range(150):
            stores[who].append([appending("s", f"{who}-{number}", text="x" * 500)])

    threads = [threading.Thread(target=write, args=(who,)) for who in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert 300 == len({event.id for event in whole_log(stores[0])}) == stores[1].head()
    with stores[0].reading() as connection:
        assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()
    for store in stores:
        store.close()


def test_a_log_that_cannot_be_looked_at_takes_no_commit_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that may open no more files is not told that what it committed has failed."""

    def refused(path: Path) -> int:
        raise OSError(24, "too many open files", str(path))

    monkeypatch.setattr(wal, "used", refused)
    store = SqliteStore(tmp_path / "log.db", durability="normal")
    fill(store, 40)
    assert 40 == store.head()
    store.close()
