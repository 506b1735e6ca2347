"""Opening makes the tables fit, whatever state they are in; rebuilding loses nothing."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest

from engram_core import Fact, MemorySpace, Person, Policy, StoreReadOnly, user
from engram_core.projections import rebuilding, schema
from engram_core.stores.in_memory import InMemoryStore
from engram_core.stores.sqlite import SqliteStore
from tests.projections.histories import Driver, PlainStore, tables

STEPS = [("remember", n % 10, n % 7, n % 5) for n in range(40)] + [("confirm", n, 0, 1) for n in range(9)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A space's file with some history."""
    made = tmp_path / "space.db"
    driver = Driver(SqliteStore(made, durability="normal"))
    driver.run(STEPS)
    driver.space.close()
    driver.engine.store.close()
    return made


def content(space: MemorySpace) -> dict[str, list[Any]]:
    with space._engine.host.reading() as tx:
        return tables(tx)


def opened(path: Path, **options: Any) -> tuple[dict[str, list[Any]], list[str]]:
    with MemorySpace.open(path, **options) as space:
        return content(space), space._engine.read_model.check()


def tampered(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_nothing_is_written_where_all_is_well(path: Path) -> None:
    """Opening and reading leave the file as it is."""
    before = path.read_bytes()
    with MemorySpace.open(path) as space:
        space.session(user("ann"), record=False).find()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE meta SET value = 0 WHERE name = 'schema'",
        "UPDATE meta SET value = 'x' WHERE name = 'kinds'",
        "UPDATE meta SET value = 'x' WHERE name = 'store'",
        "UPDATE meta SET value = 99999 WHERE name = 'position'",
        "DELETE FROM meta WHERE name = 'terms'",
    ],
)
@pytest.mark.parametrize("small", [0, 10_000])
def test_tables_of_another_make_are_built_anew(
    path: Path, statement: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another schema, other kinds, another log, or a log that is shorter than what they hold."""
    monkeypatch.setattr("engram_core.projections.read_model._SMALL", small)
    expected, _ = opened(path)
    tampered(path, statement, "DELETE FROM memories WHERE key % 2", "DELETE FROM tags")
    assert opened(path) == (expected, [])


def test_a_file_without_tables_gets_them(path: Path) -> None:
    """The log is what counts."""
    expected, _ = opened(path)
    views = ["view_evidence", *(spec.view for spec in _kinds())]
    tampered(path, *(f"DROP VIEW {name}" for name in views), *schema.drop_statements())
    found, problems = opened(path)
    assert (found, problems) == (expected, [])


def _kinds() -> Any:
    from engram_core import KINDS

    return KINDS


def test_tables_that_lag_catch_up(path: Path) -> None:
    """Somebody appended to the log without a space."""
    other = SqliteStore(path)
    source = Driver(InMemoryStore(), first_id=7_000)
    source.run([("remember", 0, n, 0) for n in range(5)])
    from engram_core.ports import NewEvent, StreamAppend

    for r in source.engine.store.read():
        new = NewEvent(
            r.id, r.type, r.schema_version, r.owner, r.data, r.commitment, r.occurred_at, r.actor_kind, r.batch_id
        )
        other.append([StreamAppend(r.stream, r.version - 1, [new])])
    other.close()
    with MemorySpace.open(path) as space:
        assert space._engine.read_model.check() == []
        assert space.session(user("ann")).get(source.ids[0])


def test_another_policy_recomputes_what_depends_on_it(path: Path) -> None:
    """Scores go with any change of the policy, instants of staleness with that of decay."""
    with MemorySpace.open(path) as space:
        space.maintenance(user("ann")).recompute_scores()
    gentle = Policy()
    weights = attrs.evolve(gentle, retention=attrs.evolve(gentle.retention, recency=0.5))
    with MemorySpace.open(path, policy=weights) as space, space._engine.host.reading() as tx:
        assert tx.execute("SELECT count(*) FROM scores").fetchone() == (0,)
    slow = attrs.evolve(
        gentle, decay={**gentle.decay, "fact": attrs.evolve(gentle.decay["fact"], half_life_days=9999.0)}
    )
    before, _ = opened(path)
    after, problems = opened(path, policy=slow)
    assert problems == []
    assert after["memories"] != before["memories"]


def test_a_log_that_can_only_be_read(path: Path) -> None:
    """With fitting tables they are used; without, they are made in memory. Writing is refused."""
    expected, _ = opened(path)
    for statement in ("SELECT 1", "UPDATE meta SET value = 0 WHERE name = 'schema'"):
        tampered(path, statement)
        size = path.read_bytes()
        with MemorySpace.open(path, read_only=True) as space:
            assert content(space) == expected
            with pytest.raises(StoreReadOnly):
                space.session(user("ann")).remember(Fact(statement="no"))
        assert path.read_bytes() == size


def test_a_file_restored_from_an_older_copy(path: Path, tmp_path: Path) -> None:
    """The read model lies in the same file, and goes back with the log."""
    copy = tmp_path / "copy.db"
    with MemorySpace.open(path) as space:
        space.maintenance(user("ann")).backup(copy)
        space.session(user("ann")).remember(Fact(statement="later"))
    shutil.copy(copy, path)
    for extra in ("-wal", "-shm"):
        path.with_name(path.name + extra).unlink(missing_ok=True)
    assert opened(path)[1] == []


# -- rebuilding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", ["sqlite", "memory", "plain"])
def test_writers_during_a_rebuild_lose_nothing(sort: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes between its pages and beside it from another thread are all there afterwards."""
    monkeypatch.setattr(rebuilding, "_EVENTS_A_TRANSACTION", 7)
    make: dict[str, Callable[[], Any]] = {
        "sqlite": lambda: SqliteStore(tmp_path / "a.db", durability="normal"),
        "memory": InMemoryStore,
        "plain": lambda: PlainStore(InMemoryStore()),
    }
    driver = Driver(make[sort]())
    driver.run(STEPS)
    written: list[str] = []
    stop = threading.Event()

    def write() -> None:
        session = driver.space.session(user("eve"))
        while not stop.is_set() and len(written) < 200:
            written.append(str(session.remember(Fact(statement=f"beside {len(written)}"), similar=False).memory_id))

    thread = threading.Thread(target=write)
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))
        if len(seen) == 1:
            thread.start()

    driver.model.rebuild(progress)
    stop.set()
    thread.join()
    assert seen[-1][0] == seen[-1][1]
    assert driver.model.check() == []
    for id in written:
        assert driver.ann.get(id)
    with driver.engine.host.reading() as tx:
        left = tx.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'rebuild_*'").fetchall()
    assert left == []
    driver.space.close()


def test_an_erasure_during_a_rebuild_begins_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was half built may hold what is to vanish."""
    monkeypatch.setattr(rebuilding, "_EVENTS_A_TRANSACTION", 5)
    driver = Driver(SqliteStore(tmp_path / "a.db", durability="normal"))
    driver.run(STEPS)
    pages = iter(range(1_000))
    real = rebuilding.fill

    def fill(*given: Any, **options: Any) -> int:
        if next(pages) in {3, 9}:
            thread = threading.Thread(target=lambda: driver.ann.erase(driver.ids[next(pages) % 5]))
            waiting.append(thread)
        return real(*given, **options)

    waiting: list[threading.Thread] = []

    def progress(done: int, total: int) -> None:
        for thread in waiting:
            if not thread.ident:
                thread.start()

    monkeypatch.setattr(rebuilding, "fill", fill)
    driver.model.rebuild(progress)
    for thread in waiting:
        thread.join()
    assert len(waiting) == 2
    assert driver.model.check() == []
    driver.space.close()


def test_views_of_the_application_survive_a_rebuild(tmp_path: Path) -> None:
    """A view of theirs on our tables neither hinders it nor is changed by it."""
    with MemorySpace.open(tmp_path / "a.db") as space:
        space.session(user("ann")).remember(Person(full_name="Alice Ng"))
        with space._engine.host.transaction() as tx:
            tx.execute("CREATE VIEW mine AS SELECT id FROM memories WHERE kind = 'person'")
        space.maintenance(user("ann")).rebuild()
        with space._engine.host.reading() as tx:
            assert len(tx.execute("SELECT * FROM mine").fetchall()) == 1


def test_scores_are_taken_along(tmp_path: Path) -> None:
    """They are no part of the log, and as good as before."""
    with MemorySpace.open(tmp_path / "a.db") as space:
        space.session(user("ann")).remember(Person(full_name="Alice Ng"))
        keeper = space.maintenance(user("ann"))
        assert keeper.recompute_scores() == 1
        keeper.rebuild()
        with space._engine.host.reading() as tx:
            assert tx.execute("SELECT count(*) FROM scores").fetchone() == (1,)


def test_an_interrupted_rebuild_is_cleared_away(tmp_path: Path) -> None:
    """By the next one, and by an erasure; the present tables were never touched."""
    driver = Driver(SqliteStore(tmp_path / "a.db", durability="normal"))
    driver.run(STEPS)

    class Halt(BaseException):
        pass

    def halt(done: int, total: int) -> None:
        raise Halt

    shadows = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name GLOB 'rebuild_*'"
    for clear in (lambda: driver.ann.erase(driver.ids[0]), driver.model.rebuild):
        with pytest.raises(Halt):
            driver.model.rebuild(halt)
        with driver.engine.host.reading() as tx:
            assert tx.execute(shadows).fetchone()[0] > 0
        clear()
        with driver.engine.host.reading() as tx:
            assert tx.execute(shadows).fetchone()[0] == 0
        assert driver.model.check() == []
    driver.clock.move(timedelta(days=1))
    driver.space.close()
