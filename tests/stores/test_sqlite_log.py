"""What is particular to the log in SQLite: append-only tables, snapshots, other tables in the same transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from engram_core.errors import ConcurrencyError, StoreFull
from engram_core.ports import StreamAppend
from engram_core.stores import SqliteStore
from engram_core.testing import appending, new_event, whole_log


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A new store."""
    found = SqliteStore(tmp_path / "log.db", durability="normal")
    yield found
    found.close()


def change(store: SqliteStore, *statements: str) -> None:
    """Runs statements in a transaction of the store."""
    with store.transaction():
        for statement in statements:
            store.writing().execute(statement)


COLUMNS = (
    "position stream version id type schema_version owner data commitment occurred_at recorded_at actor_kind batch"
)

REPLACE = (
    "INSERT OR REPLACE INTO events SELECT 1, 'z', 9, 'new', type, 1, owner, data, commitment, 0, 0, 'user', NULL,"
    " NULL, NULL, NULL FROM events LIMIT 1"
)
NULLABLE = (("causation", "'x'"), ("command", "'x'"), ("link", "x'00'"))


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM events",
        "DELETE FROM events WHERE position = 2",
        REPLACE,
        *(f"UPDATE events SET {column} = {column}" for column in COLUMNS.split()),
        *(f"UPDATE events SET {column} = {value}" for column, value in NULLABLE),
    ],
)
def test_the_log_is_append_only(store: SqliteStore, statement: str) -> None:
    """SQL that deletes, replaces or changes an event fails, in whatever column."""
    before = store.append([appending("a", "1", "2")]).events
    with pytest.raises(sqlite3.IntegrityError, match=r"append-only|only an erasure"):
        change(store, statement)
    assert before == whole_log(store)


def test_the_gate_is_shut_after_an_erasure(store: SqliteStore) -> None:
    """The trigger that an erasure lifts holds again within the same transaction."""
    store.append([appending("a", "1")])
    with store.transaction():
        store.erase("a", "gone")
        with pytest.raises(sqlite3.IntegrityError, match="only an erasure"):
            store.writing().execute("UPDATE events SET data = 'x'")
    assert "gone" == store.read()[0].data


def test_common_values_take_no_space(store: SqliteStore) -> None:
    """Owner and batch are NULL where they repeat stream and id, and read as they were given."""
    given = (new_event("1", owner="a"), new_event("2", owner="b", batch_id="1"))
    store.append([StreamAppend("a", 0, given)])
    with store.reading() as connection:
        assert [(None, None), ("b", "1")] == connection.execute("SELECT owner, batch FROM events").fetchall()
    assert [("a", "1"), ("b", "1")] == [(event.owner, event.batch_id) for event in store.read()]


def test_indexes_are_used(store: SqliteStore) -> None:
    """No statement of the store scans the events."""
    with store.reading() as connection:
        for where in (
            "stream = 'a' AND version > 1 AND version <= 9 ORDER BY version DESC LIMIT 5",
            "position > 1 AND position <= 9 ORDER BY position LIMIT 5",
            "id = '1'",
            "owner = 'a'",
            "command = 'a'",
        ):
            plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM events WHERE {where}").fetchall()
            assert all("SEARCH" in row[3] for row in plan), (where, plan)


def test_statements_of_an_append(store: SqliteStore) -> None:
    """The usual append looks nothing up by event id: six statements, however many events."""
    seen: list[str] = []
    store.append([appending("a", "0")])
    store.prepare(lambda connection: connection.set_trace_callback(seen.append))
    store.append([appending("a", *(str(number) for number in range(1, 11)), expected=1)])
    assert ["BEGIN", "SELECT", "SELECT", *["INSERT"] * 10, "UPDATE", "COMMIT"] == [sql.split()[0] for sql in seen]


def test_other_tables_commit_with_the_log(store: SqliteStore) -> None:
    """What is written by `writing()` in a transaction stands or falls with its appends."""
    with store.transaction():
        store.writing().execute("CREATE TABLE mine (x)")
        store.append([appending("a", "1")])
        store.writing().execute("INSERT INTO mine VALUES (1)")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        change(store, "INSERT INTO mine VALUES (2)", "INSERT INTO none VALUES (2)")
    with store.reading() as connection:
        assert [(1,)] == connection.execute("SELECT x FROM mine").fetchall()
    assert 1 == store.head()


def test_writing_needs_a_transaction(store: SqliteStore) -> None:
    """Outside of a transaction there is no connection to write by."""
    with pytest.raises(RuntimeError, match="no transaction"):
        store.writing()


def test_reading_is_one_snapshot(store: SqliteStore) -> None:
    """From its first statement to its end a block sees one state, whoever writes; nested blocks see the same."""
    store.append([appending("a", "1")])
    count = "SELECT count(*) FROM events"
    with store.reading() as connection:
        assert (1,) == connection.execute(count).fetchone()
        store.append([appending("a", "2")])
        with store.reading() as again:
            assert again is connection
            assert (1,) == again.execute(count).fetchone()
        assert (1,) == connection.execute(count).fetchone()
    with store.reading() as connection:
        assert (2,) == connection.execute(count).fetchone()


def test_a_block_that_raises_ends_its_snapshot(store: SqliteStore) -> None:
    """An error inside `reading()` passes, and the next block sees the present."""
    with pytest.raises(sqlite3.OperationalError), store.reading() as connection:
        connection.execute("SELECT * FROM events, none")
    store.append([appending("a", "1")])
    assert 1 == store.head()


def go_on_regardless(store: SqliteStore) -> None:
    """Appends more than there is room for, and leaves the transaction as if that had succeeded."""
    with store.transaction(), suppress(Exception):
        store.append([appending("b", *(f"b{number}" for number in range(500)))])


def test_a_swallowed_failure_spoils_the_transaction(store: SqliteStore) -> None:
    """An append that failed half-way cannot be committed, even by a caller who goes on as if nothing had been."""
    store.append([appending("a", "1")])
    with store.transaction():
        (pages,) = store.writing().execute("PRAGMA page_count").fetchone()
        store.writing().execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreFull):
        go_on_regardless(store)
    assert ["1"] == [event.id for event in whole_log(store)]


def test_a_refused_batch_leaves_no_rows_behind(store: SqliteStore) -> None:
    """A batch of which a later id is stored is taken back before anything else is done in the transaction."""
    store.append([appending("a", "1")])
    with store.transaction():
        with pytest.raises(Exception, match="stored already"):
            store.append([appending("b", "2", "3", "1")])
        assert (1,) == store.writing().execute("SELECT count(*) FROM events").fetchone()
        with pytest.raises(ConcurrencyError):
            store.append([appending("b", "2", expected=3)])
        assert (2,) == store.append([appending("b", "2", expected=0)]).positions
    assert 2 == store.head()


def test_the_head_within_a_transaction_is_its_own(store: SqliteStore) -> None:
    """It moves with each append of the transaction, and is back where it was when that is given up."""
    store.append([appending("s", "a")])
    with store.transaction():
        assert 1 == store.head()
        store.append([appending("s", "b")])
        assert 2 == store.head()
        store.append([appending("s", "c"), appending("t", "d")])
        assert 4 == store.head()
    with suppress(KeyError), store.transaction():
        store.append([appending("s", "e")])
        assert 5 == store.head()
        raise KeyError
    with store.transaction():
        assert 4 == store.head()
    assert 4 == store.append([appending("s", "f")]).positions[0] - 1
    assert not store.problems()


def test_an_append_that_a_savepoint_takes_back_leaves_no_gap(store: SqliteStore) -> None:
    """Whoever writes on the store's own connection may set savepoints; the log goes on from where it really is."""
    with store.transaction():
        store.append([appending("s", "a")])
        store.writing().execute("SAVEPOINT mine")
        store.append([appending("s", "b"), appending("t", "c")])
        store.writing().execute("ROLLBACK TO mine")
        assert 1 == store.head()
        assert (2,) == store.append([appending("t", "d")]).positions
    assert ["a", "d"] == [event.id for event in whole_log(store)]
    assert not store.problems()
