"""Which files a SqliteStore makes, opens and refuses; a refused file is left as it was found."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from engram_core.errors import StoreCorrupt, StoreError, StoreReadOnly
from engram_core.stores import SqliteStore
from engram_core.stores.sqlite_schema import APPLICATION_ID, FORMAT
from engram_core.testing import appending, whole_log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file is, or is to be."""
    return tmp_path / "space # 1%41?.db"


@pytest.fixture
def filled(path: Path) -> Path:
    """A file with some events, closed."""
    store = SqliteStore(path)
    for number in range(60):
        store.append([appending(f"s{number % 7}", f"e{number}", text="x" * 300)])
    store.close()
    return path


def raw(path: Path) -> sqlite3.Connection:
    """A connection of somebody else."""
    return sqlite3.connect(path, isolation_level=None)


def edit(path: Path, *statements: str) -> None:
    """Changes a file behind the store's back."""
    connection = raw(path)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def refused(path: Path, kind: type[StoreError] = StoreCorrupt, **options: object) -> StoreError:
    """The error with which a file is refused; no byte of it may change."""
    before = path.read_bytes()
    with pytest.raises(kind) as caught:
        SqliteStore(path, **options)  # type: ignore[arg-type]
    assert before == path.read_bytes()
    return caught.value


# -- making


def test_a_new_file_is_ours(path: Path) -> None:
    """It says whose it is, and in which format; it has a write-ahead log; nothing else is left beside it."""
    SqliteStore(path).close()
    assert [path.name] == [file.name for file in path.parent.iterdir()]
    connection = raw(path)
    facts = [
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version", "journal_mode", "auto_vacuum")
    ]
    connection.close()
    assert [APPLICATION_ID, FORMAT, "wal", 0] == facts


def test_settings_of_every_connection(path: Path) -> None:
    """Commits wait for the disk, deleted text is overwritten, and nobody checkpoints on his own."""
    store = SqliteStore(path)
    expected = {
        "synchronous": 2,
        "wal_autocheckpoint": 0,
        "secure_delete": 1,
        "foreign_keys": 1,
        "temp_store": 2,
        "recursive_triggers": 1,
    }
    with store.transaction(), store.reading() as connection:
        assert connection is store.writing()
        assert expected == {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in expected}
    with store.reading() as connection:
        assert expected == {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in expected}
    store.close()
    store = SqliteStore(path, durability="normal")
    with store.transaction():
        assert (1,) == store.writing().execute("PRAGMA synchronous").fetchone()
    store.close()


def test_no_file_is_made_unless_wanted(path: Path) -> None:
    """Without `create`, or for reading, an absent file is an error that says so."""
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(StoreError) as caught:
            SqliteStore(path, **options)  # type: ignore[arg-type]
        assert "store_missing" == caught.value.code
    assert [] == list(path.parent.iterdir())


def test_no_directory_is_made(tmp_path: Path) -> None:
    """A missing directory is an error, not something to be made in passing."""
    with pytest.raises(StoreError) as caught:
        SqliteStore(tmp_path / "none" / "a.db")
    assert "store_unreachable" == caught.value.code
    assert [] == list(tmp_path.iterdir())


def test_arguments_are_checked(path: Path) -> None:
    """A log in memory is another class, and durability is one of two."""
    for wrong in ("", ":memory:"):
        with pytest.raises(ValueError, match="InMemoryStore"):
            SqliteStore(wrong)
    with pytest.raises(ValueError, match="durability"):
        SqliteStore(path, durability="none")  # type: ignore[arg-type]


def test_a_race_to_make_it_has_one_winner(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who finds, when his file is ready, that another made it first, uses that one."""
    first = SqliteStore(path)
    first.append([appending("a", "1")])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "exists", lambda self, **_: False)
        second = SqliteStore(path)
    assert (first.store_id, 1) == (second.store_id, second.head())
    first.close()
    second.close()
    assert [path.name] == [file.name for file in path.parent.iterdir()]


def test_without_hard_links(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the file system has none, the file still gets its name, and still replaces nothing."""

    def refuse(self: Path, target: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    store = SqliteStore(path)
    store.append([appending("a", "1")])
    with pytest.raises(StoreError, match="is there already"):
        store.backup(path)
    store.backup(path.with_name("copy"))
    store.close()
    assert {path.name, "copy"} == {file.name for file in path.parent.iterdir()}


# -- refusing


@pytest.mark.parametrize(
    "content", [b"", b"plain text, and rather long " * 400, b"SQLite format 3\x00", b"\x00" * 8192]
)
def test_what_is_no_database_is_refused(path: Path, content: bytes) -> None:
    """Text, an empty file, a bare header and zeros are refused."""
    path.write_bytes(content)
    refused(path)
    refused(path, read_only=True)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    """A directory is no file."""
    with pytest.raises(StoreError):
        SqliteStore(tmp_path)


def test_another_applications_database_is_refused(path: Path) -> None:
    """A database that is not ours is neither used nor changed, even an empty one, even with a write-ahead log."""
    edit(path, "PRAGMA journal_mode=WAL", "CREATE TABLE events (x)")
    assert "store_foreign" == refused(path).code
    edit(path, f"PRAGMA application_id={APPLICATION_ID + 1}", f"PRAGMA user_version={FORMAT}")
    assert "store_foreign" == refused(path).code


@pytest.mark.parametrize("version", [0, FORMAT + 1])
def test_another_format_is_refused(filled: Path, version: int) -> None:
    """A file of a newer release is refused, and says so."""
    edit(filled, f"PRAGMA user_version={version}")
    error = refused(filled)
    assert ("store_newer", version) == (error.code, error.fields["found"])


@pytest.mark.parametrize("keep", [1, 99, 100, 4095, 4096, 8192, -4096, -1])
def test_a_cut_file_is_refused(filled: Path, keep: int) -> None:
    """A file that was cut anywhere is refused."""
    size = filled.stat().st_size
    with filled.open("rb+") as file:
        file.truncate(keep if keep > 0 else size + keep)
    refused(filled)


@pytest.mark.parametrize(
    "harm",
    [
        "DROP TABLE head",
        "DELETE FROM head",
        "DROP TABLE events",
        "UPDATE head SET position = position + 1",
        "UPDATE head SET position = 0",
        "UPDATE head SET store_id = 'none'",
    ],
)
def test_a_harmed_file_is_refused(filled: Path, harm: str) -> None:
    """A file of ours that lacks a table, or whose head does not fit its events, is refused."""
    edit(filled, harm)
    refused(filled)


def test_byte_flips_are_refused_or_reported(filled: Path) -> None:
    """Whatever byte changes: no other error than ours, and the file is never taken for a new one."""
    whole = filled.read_bytes()
    store = SqliteStore(filled)
    log, name = whole_log(store), store.store_id
    store.close()
    picks = random.Random(7)
    places = [*range(110), *(picks.randrange(len(whole)) for _ in range(300))]
    outcomes = {"refused": 0, "reported": 0, "same": 0, "other": 0}
    for place in places:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << picks.randrange(8)
        filled.write_bytes(flipped)
        try:
            store = SqliteStore(filled)
        except StoreError:
            outcomes["refused"] += 1
            assert flipped == filled.read_bytes()
            continue
        try:
            found = whole_log(store)
            outcomes["same" if found == log and store.store_id == name else "other"] += 1
            assert len(found) <= len(log)
        except (StoreError, ValueError):
            outcomes["reported"] += 1
        finally:
            store.close()
    assert outcomes["refused"] > 20
    assert outcomes["same"] > 20


# -- reading only


def test_read_only(filled: Path) -> None:
    """It reads everything and writes nothing; each refusal is a StoreReadOnly."""
    store = SqliteStore(filled, read_only=True)
    assert 60 == len(whole_log(store)) == store.head()
    for write in (
        lambda: store.append([appending("a", "1")]),
        lambda: store.transaction().__enter__(),
        lambda: store.erase("s1", "gone"),
        lambda: store.scrub(),
    ):
        with pytest.raises(StoreReadOnly):
            write()
    with store.reading() as connection, pytest.raises(sqlite3.OperationalError):
        connection.execute("DELETE FROM events")
    store.close()


def test_read_only_beside_a_writer(filled: Path) -> None:
    """It follows a writer, whose last commits are still in the write-ahead log."""
    writer, reader = SqliteStore(filled), SqliteStore(filled, read_only=True)
    writer.append([appending("a", "1")])
    assert 61 == reader.head()
    reader.close()
    writer.append([appending("a", "2")])
    writer.close()


def test_a_file_that_may_not_be_written(filled: Path) -> None:
    """When the file cannot be written, opening it for writing says what to do instead."""

    def read_only(database: str, **options: object) -> sqlite3.Connection:
        return sqlite3.connect(database.replace("mode=rw", "mode=ro"), **options)  # type: ignore[call-overload, no-any-return]

    with pytest.raises(StoreReadOnly, match="read_only=True"):
        SqliteStore(filled, connect=read_only)


# -- an application's own connections


@pytest.fixture
def mine(path: Path) -> Iterator[tuple[SqliteStore, list[sqlite3.Connection]]]:
    """A store whose connections the application opens."""
    opened: list[sqlite3.Connection] = []

    class Mine(sqlite3.Connection):
        pass

    def connect(database: str, **options: object) -> sqlite3.Connection:
        connection = sqlite3.connect(database, factory=Mine, **options)  # type: ignore[call-overload]
        opened.append(connection)
        return connection  # type: ignore[no-any-return]

    store = SqliteStore(path, connect=connect)
    yield store, opened
    store.close()


def test_connect(mine: tuple[SqliteStore, list[sqlite3.Connection]]) -> None:
    """All connections come from the application's `connect`; all are closed at the end."""
    store, opened = mine
    with store.transaction():
        assert store.writing() in opened
    with store.reading() as connection:
        assert connection in opened
    store.close()
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_prepare(path: Path) -> None:
    """A hook runs once on each connection, those that are open included, before its next use."""
    store = SqliteStore(path)
    assert 0 == store.head()
    seen: list[sqlite3.Connection] = []

    def hook(connection: sqlite3.Connection) -> None:
        seen.append(connection)
        connection.create_function("twice", 1, lambda x: 2 * x, deterministic=True)

    store.prepare(hook)
    for _ in range(2):
        with store.reading() as connection:
            assert (4,) == connection.execute("SELECT twice(2)").fetchone()
        with store.transaction():
            assert (6,) == store.writing().execute("SELECT twice(3)").fetchone()
    assert 2 == len(seen)
    store.close()


def test_use_after_close(path: Path) -> None:
    """A closed store says that it is closed."""
    store = SqliteStore(path)
    store.close()
    for use in (store.head, store.read, lambda: store.append([]), store.scrub, lambda: store.transaction().__enter__()):
        with pytest.raises(StoreError) as caught:
            use()
        assert "store_closed" == caught.value.code
