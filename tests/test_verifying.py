"""What `verify` says of logs that are whole, growing, damaged, or not what was written."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engram_core.chain import ERASED_MARKER
from engram_core.errors import StoreError
from engram_core.kinds import Fact, Person
from engram_core.log import Anchor
from engram_core.ports import Recorded
from engram_core.space import MemorySpace
from engram_core.stores import InMemoryStore
from engram_core.values import system, user
from engram_core.verifying import VerifyReport
from tests.governance.rooms import Room, room
from tests.stores.tampering import raw


def checked(space: MemorySpace, **how: Any) -> VerifyReport:
    """What is found in a space."""
    return space.maintenance(system("test")).verify(**how)


def filled(path: Path | None = None) -> Room:
    """A room with some memories, one of them erased."""
    r = room(path)
    gone = r.ann.remember(Fact("to be forgotten"))
    r.ann.tag(r.ann.remember(Fact("to be kept")), "kept")
    r.ann.erase(gone)
    return r


def test_what_is_whole() -> None:
    """Its report is true, counts events and erased ones, and ends where the anchor of the space is."""
    r = filled()
    report = checked(r.space, anchor=r.space.anchor())
    assert report
    assert (report.events, report.erased, report.anchor) == (4, 1, r.space.anchor())
    assert (True, Anchor(0, "")) == (checked(room().space).ok, checked(room().space).anchor)


def test_progress_is_told() -> None:
    """Events done and to do, up to the last."""
    told: list[tuple[int, ...]] = []
    checked(filled().space, progress=lambda *done: told.append(done))
    assert (4, 4) == told[-1]


@pytest.mark.parametrize("in_file", [True, False], ids=["in a file", "in memory"])
def test_others_may_write_meanwhile(tmp_path: Path, in_file: bool) -> None:
    """One state of log and read model is looked at; what is written or erased meanwhile is no problem."""
    r = room(tmp_path / "space.db" if in_file else None)
    started, stop = threading.Event(), threading.Event()

    def write() -> None:
        while not stop.is_set():
            r.ann.erase(r.ann.remember(Fact("for a moment")))
            r.ann.remember(Fact("for longer"), on_duplicate="create")
            started.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert started.wait(60)
        problems = [problem for _ in range(8) for problem in checked(r.space).problems]
    finally:
        stop.set()
        writer.join()
    assert [] == problems
    r.space.close()


class Harmed(InMemoryStore):
    """A store in memory that gives some events back otherwise than it got them."""

    harm: Callable[[Recorded], Recorded] | None = None

    def read(self, *, after: int = 0, upto: int | None = None, limit: int = 1_000) -> tuple[Recorded, ...]:
        """As it is written, but for the harm."""
        found = super().read(after=after, upto=upto, limit=limit)
        return found if self.harm is None else tuple(map(self.harm, found))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"position": 9}, "position 2 is missing: 9 follows 1"),
        ({"version": 3}, r"version 3 of \S+ follows 0"),
        ({"recorded_at": 5}, "recorded before the position in front of it"),
        ({"data": "{}"}, "is not the one that was committed"),
        ({"data": b"{}"}, "data cannot be what was written"),
        ({"stream": None, "version": "1"}, "stream, version cannot be what was written"),
        ({"type": "MemoryDreamt"}, "unknown type MemoryDreamt"),
        ({"schema_version": 2}, "newer schema"),
        ({"actor_kind": "robot"}, "unknown kind 'robot'"),
        ({"occurred_at": 2**62}, "does not have its form"),
        ({"batch_id": "another"}, "the hash chain is broken"),
        ({"link": b"x"}, "the hash chain is broken"),
        ({"data": ERASED_MARKER}, "is erased, but no MemoryErased says so"),
    ],
    ids=lambda value: ", ".join(map(str, value)) if isinstance(value, dict) else "",
)
def test_what_is_not_as_it_was_written(changes: dict[str, Any], words: str) -> None:
    """Whatever it is, it is reported in words, and by no exception."""
    store = Harmed()
    space = MemorySpace.over(store)
    ann = space.session(user("ann"))
    for text in "one", "two", "three":
        ann.remember(Fact(text))
    assert checked(space).ok
    store.harm = lambda r: r._replace(**changes) if r.position == 2 else r
    report = checked(space)
    assert any(re.search(words, problem) for problem in report.problems), report.problems


def test_an_id_that_is_there_twice() -> None:
    """Two events cannot bear the same id."""
    store = Harmed()
    space = MemorySpace.over(store)
    for text in "one", "two":
        space.session(user("ann")).remember(Fact(text))
    (first, _) = store.read()
    store.harm = lambda r: r._replace(id=first.id)
    assert any("is there twice" in problem for problem in checked(space).problems)


def test_what_was_erased_must_stay_so(tmp_path: Path) -> None:
    """A payload that came back, from an old copy perhaps, is reported, though its commitment fits."""
    r = room(tmp_path / "space.db")
    gone = r.ann.remember(Fact("to be forgotten"))
    (was,) = r.space._engine.store.read()
    r.ann.erase(gone)
    r.space.close()
    with closing(raw(tmp_path / "space.db")) as connection:
        connection.execute("UPDATE erasure SET gate = 1")
        connection.execute("UPDATE events SET data = ? WHERE position = 1", (was.data,))
        connection.execute("UPDATE erasure SET gate = 0")
    with MemorySpace.open(tmp_path / "space.db") as space:
        problems = checked(space).problems
    assert any("whose payload is there" in problem for problem in problems)


def test_an_open_gate_and_a_wrong_index(tmp_path: Path) -> None:
    """What is wrong with the file itself is reported, too."""
    path = tmp_path / "space.db"
    r = filled(path)
    r.ann.remember(Fact("by name"), command_id="c-1")
    r.space.close()
    with closing(raw(path)) as connection:
        connection.execute("UPDATE erasure SET gate = 1")
        connection.execute("PRAGMA writable_schema = ON")
        (sql,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'events_command'").fetchone()
        connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'events_command'", (sql + " AND 0",))
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute("REINDEX events_command")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'events_command'", (sql,))
    with MemorySpace.open(path) as space:
        problems = checked(space).problems
    assert any("gate for erasures stands open" in problem for problem in problems)
    assert any("events_command" in problem for problem in problems)


_LENGTH = """
    UPDATE texts SET length = length + 1 WHERE key = (SELECT max(key) FROM texts);
    UPDATE text_totals SET length = length + 1 WHERE texts > 0
"""
_LEVEL = """
    UPDATE text_shared_content SET id = id + 1;
    UPDATE texts SET document = document + 1;
    INSERT INTO text_shared (text_shared) VALUES ('rebuild')
"""
_OTHERWISE = """
    CREATE TEMP TABLE kept AS SELECT * FROM {lane}_content;
    UPDATE {lane} SET terms = 'pearl' WHERE rowid = (SELECT max(id) FROM {lane}_content);
    UPDATE {lane}_content SET c0 = (SELECT c0 FROM kept WHERE kept.id = {lane}_content.id)
"""


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (_OTHERWISE.format(lane="text_shared"), "the index of text_shared does not find"),
        (_OTHERWISE.format(lane="text_past"), "the index of text_past does not find"),
        ("INSERT INTO text_private (rowid, terms) VALUES (990, 'pearl')", "the index of text_private does not find"),
        (_LENGTH, "the length of the text of"),
        (_LEVEL, "the length of the text of"),
        ("UPDATE names SET to_position = NULL", "the names of .* should have ended"),
        ("INSERT INTO names VALUES ('pearl', 99, 0, 1, 99, NULL)", "names holds"),
    ],
    ids=["other words", "other words in the past", "a text of nobody", "length", "level", "end of a name", "a name"],
)
def test_what_recall_finds_is_compared(tmp_path: Path, script: str, words: str) -> None:
    """Words that are found and were never said, or said and not found, are reported, and a rebuild ends it."""
    r = filled(tmp_path / "space.db")
    ann = r.ann.remember(Person("Ann", aliases=("Annie",)))
    r.ann.update(ann, aliases=("Nan",))
    r.ann.remember(Fact("the whale sings"))
    assert checked(r.space).ok
    r.space.close()
    with closing(raw(tmp_path / "space.db")) as connection:
        connection.executescript(script)
    with MemorySpace.open(tmp_path / "space.db") as space:
        problems = checked(space).problems
        assert any(re.search(words, problem) for problem in problems), problems
        space.maintenance(system("test")).rebuild()
        assert () == checked(space).problems


def test_a_cut_tail_and_another_history() -> None:
    """An anchor that was kept shows both."""
    r = filled()
    later = Anchor(9, "00" * 32)
    assert ["its tail was cut" in problem for problem in checked(r.space, anchor=later).problems] == [True]
    other = r.space.anchor()._replace(link="00" * 32)
    assert ["differs from the anchor" in problem for problem in checked(r.space, anchor=other).problems] == [True]


def test_many_problems_are_cut_short() -> None:
    """A log of which nothing fits does not give a report without end."""
    store = Harmed()
    space = MemorySpace.over(store)
    space.session(user("ann")).remember_many([Fact(f"number {number}") for number in range(1_200)])
    store.harm = lambda r: r._replace(data="")
    assert 1_000 == len(checked(space).problems)


def test_a_closed_space_cannot_be_verified() -> None:
    """That is no finding about its log."""
    space = filled().space
    space.close()
    with pytest.raises(StoreError) as caught:
        checked(space)
    assert "store_closed" == caught.value.code
