"""An application's own projections: in step with the log, or behind it, never beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from engram_core import Fact, MemorySpace, ProjectionError, user
from engram_core.events import RecordedEvent
from engram_core.projections import running
from engram_core.projections.running import following
from engram_core.stores.in_memory import InMemoryStore
from engram_core.stores.sqlite import SqliteStore
from tests.projections.histories import PlainStore

SORTS = ("sqlite", "memory", "plain")


class Journal:
    """Writes down each event's position; fails where it is told to."""

    def __init__(self, version: int = 1, name: str = "journal", fails_at: int | None = None) -> None:
        self.name = name
        self.version = version
        self.fails_at = fails_at
        self.pages: list[int] = []

    def setup(self, tx: sqlite3.Connection) -> None:
        tx.execute(f"CREATE TABLE app_{self.name} (position INTEGER PRIMARY KEY, type TEXT)")

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        self.pages.append(len(events))
        for event in events:
            tx.execute(f"INSERT INTO app_{self.name} VALUES (?, ?)", (event.position, event.type))
            if event.position == self.fails_at:
                raise RuntimeError("no")

    def teardown(self, tx: sqlite3.Connection) -> None:
        tx.execute(f"DROP TABLE app_{self.name}")


@pytest.fixture(params=SORTS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    make: dict[str, Callable[[], Any]] = {
        "sqlite": lambda: SqliteStore(tmp_path / "a.db", durability="normal"),
        "memory": InMemoryStore,
        "plain": lambda: PlainStore(InMemoryStore()),
    }
    made = make[request.param]()
    yield made
    made.close()


def write(space: MemorySpace, count: int, start: int = 0) -> None:
    ann = space.session(user("ann"))
    for n in range(start, start + count):
        ann.remember(Fact(statement=f"fact {n}"), similar=False)


def noted(space: MemorySpace, name: str = "journal") -> list[int]:
    with space._engine.host.reading() as tx:
        return [row[0] for row in tx.execute(f"SELECT position FROM app_{name} ORDER BY 1")]


def test_an_inline_projection_is_in_step(store: Any) -> None:
    """Built from the whole log on first use, then part of each write."""
    with MemorySpace.over(store) as space:
        write(space, 3)
    journal = Journal()
    with MemorySpace.over(store, projections=(journal,)) as space:
        assert noted(space) == [1, 2, 3]
        write(space, 2, 3)
        assert noted(space) == [1, 2, 3, 4, 5]
    if not isinstance(store, PlainStore):  # over such a log, each write is rehearsed
        assert journal.pages == [3, 1, 1]


def test_what_others_wrote_is_taken_in_first(store: Any) -> None:
    """A process without the projection leaves it behind; the next write with it closes the gap."""
    with MemorySpace.over(store, projections=(Journal(),)) as space, MemorySpace.over(store) as other:
        write(space, 1)
        write(other, 2, 1)
        write(space, 1, 3)
        assert noted(space) == [1, 2, 3, 4]


def test_a_failing_inline_projection_vetoes(store: Any) -> None:
    """Nothing is written, by it or by us or to the log; corrected, it goes on."""
    journal = Journal(fails_at=2)
    with MemorySpace.over(store, projections=(journal,)) as space:
        write(space, 1)
        with pytest.raises(ProjectionError, match="journal"):
            write(space, 1, 1)
        assert store.head() == 1
        assert noted(space) == [1]
        assert space._engine.read_model.check() == []
        journal.fails_at = None
        write(space, 1, 2)
        assert noted(space) == [1, 2]


def test_another_version_is_built_anew(store: Any) -> None:
    """Its old tables go first."""
    with MemorySpace.over(store, projections=(Journal(),)) as space:
        write(space, 3)
    with MemorySpace.over(store, projections=(Journal(version=2),)) as space:
        assert noted(space) == [1, 2, 3]
        write(space, 1, 3)
        assert noted(space) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "tampering", ["UPDATE projection_checkpoints SET store = 'x'", "UPDATE projection_checkpoints SET position = 99"]
)
def test_a_checkpoint_that_does_not_fit(tmp_path: Path, tampering: str) -> None:
    """Of another log, or ahead of this one: it is built anew."""
    path = tmp_path / "a.db"
    with MemorySpace.open(path, projections=(Journal(),)) as space:
        write(space, 3)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(tampering)
    connection.execute("DELETE FROM app_journal")
    connection.close()
    with MemorySpace.open(path, projections=(Journal(),)) as space:
        assert noted(space) == [1, 2, 3]


def test_a_following_projection_waits(store: Any) -> None:
    """It costs a write nothing, and comes along when it is told to, in pages."""
    journal = Journal()
    with MemorySpace.over(store, projections=(following(journal),)) as space:
        write(space, 5)
        assert noted(space) == []
        assert space._engine.read_model.follow() == 5
        assert space._engine.read_model.follow() == 0
        assert noted(space) == [1, 2, 3, 4, 5]
    assert journal.pages == [5]


def test_a_following_projection_stops(store: Any) -> None:
    """It stays where it was, the error is raised, writes go on; corrected, it goes on as if nothing had been."""
    journal = Journal(fails_at=2)
    with MemorySpace.over(store, projections=(following(journal),)) as space:
        write(space, 3)
        with pytest.raises(ProjectionError, match="journal"):
            space._engine.read_model.follow()
        assert noted(space) == []
        write(space, 1, 3)
        journal.fails_at = None
        assert space._engine.read_model.follow() == 4
        assert noted(space) == [1, 2, 3, 4]


def test_a_following_projection_parks(store: Any) -> None:
    """What it could not take in is noted with the reason, and is all that is missing."""
    with MemorySpace.over(store, projections=(following(Journal(fails_at=2), "park"),)) as space:
        write(space, 4)
        assert space._engine.read_model.follow() == 4
        assert noted(space) == [1, 3, 4]
        (parked,) = space._engine.read_model.parked()
        assert (parked.name, parked.position, parked.last_position) == ("journal", 2, 2)
        assert "RuntimeError" in parked.error


def test_pages_end_with_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit is never torn, and each page has a transaction."""
    monkeypatch.setattr(running, "_PAGE", 3)
    journal = Journal()
    with MemorySpace.open(tmp_path / "a.db", projections=(following(journal),)) as space:
        ann = space.session(user("ann"))
        for n in range(3):
            with ann.batch() as batch:
                batch.remember(Fact(statement=f"a {n}"))
                batch.remember(Fact(statement=f"b {n}"))
        space._engine.read_model.follow()
    assert journal.pages == [4, 2]


def test_names_are_unique() -> None:
    """Two checkpoints of one name would be one."""
    with pytest.raises(ValueError, match="journal"):
        MemorySpace.in_memory(projections=(Journal(), following(Journal())))
    with pytest.raises(ValueError, match="skip"):
        following(Journal(), "skip")  # type: ignore[arg-type]


def test_a_rebuild_leaves_them_alone(store: Any) -> None:
    """Theirs are not our tables."""
    journal = Journal()
    with MemorySpace.over(store, projections=(journal,)) as space:
        write(space, 3)
        space.maintenance(user("ann")).rebuild()
        write(space, 1, 3)
        assert noted(space) == [1, 2, 3, 4]
    if not isinstance(store, PlainStore):
        assert journal.pages == [1, 1, 1, 1]
