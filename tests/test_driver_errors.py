"""Whatever SQLite or the file system says arrives as an error of ours, says whether a retry can help, and passes."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engram_core.errors import (
    InvalidAttributesError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from engram_core.kinds import Fact
from engram_core.space import MemorySpace
from engram_core.stores import SqliteStore
from engram_core.stores.driver import translated
from engram_core.testing.faults import Faults, driver_error
from engram_core.values import system, user

SPECIAL: dict[str, tuple[type[StoreError], str]] = {
    "SQLITE_BUSY": (StoreBusy, "store_busy"),
    "SQLITE_LOCKED": (StoreBusy, "store_busy"),
    "SQLITE_PROTOCOL": (StoreBusy, "store_busy"),
    "SQLITE_SCHEMA": (StoreBusy, "store_busy"),
    "SQLITE_INTERRUPT": (StoreBusy, "store_busy"),
    "SQLITE_FULL": (StoreFull, "store_full"),
    "SQLITE_IOERR_SHMSIZE": (StoreFull, "store_full"),
    "SQLITE_NOTADB": (StoreCorrupt, "store_corrupt"),
    "SQLITE_CORRUPT": (StoreCorrupt, "store_corrupt"),
    "SQLITE_READONLY": (StoreReadOnly, "store_read_only"),
    "SQLITE_CANTOPEN": (StoreError, "store_unreachable"),
    "SQLITE_ERROR": (StoreError, "store_statement"),
    "SQLITE_CONSTRAINT": (StoreError, "store_statement"),
    "SQLITE_MISMATCH": (StoreError, "store_statement"),
    "SQLITE_RANGE": (StoreError, "store_statement"),
}
"""What becomes of a code, or of all codes that begin like it; anything else is a plain StoreError."""


def codes() -> list[str]:
    """The names of all results by which SQLite reports failure."""
    families = tuple(
        f"SQLITE_{word}"
        for word in (
            "ABORT AUTH BUSY CANTOPEN CONSTRAINT CORRUPT EMPTY ERROR FORMAT FULL INTERNAL INTERRUPT IOERR LOCKED"
            " MISMATCH MISUSE NOLFS NOTADB NOTFOUND PERM PROTOCOL RANGE READONLY SCHEMA TOOBIG"
        ).split()
    )
    return sorted(
        name
        for name, value in vars(sqlite3).items()
        if isinstance(value, int) and (name in families or name.startswith(tuple(f"{f}_" for f in families)))
    )


def expected_of(name: str) -> tuple[type[StoreError], str]:
    """The class and the code of our error."""
    if name in SPECIAL:
        return SPECIAL[name]
    family = "_".join(name.split("_")[:2])
    return SPECIAL.get(family, (StoreError, "store"))


class Opened:
    """A space whose driver fails on demand."""

    def __init__(self, path: Path) -> None:
        self.faults = Faults()
        self.space = MemorySpace.open(path, connect=self.faults.connect, durability="normal")
        self.ann = self.space.session(user("ann"), record=False)
        self.kept = self.ann.remember(Fact("kept")).memory_id


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """One space for all errors: each must leave it usable for the next."""
    found = Opened(tmp_path_factory.mktemp("errors") / "space.db")
    yield found
    assert () == found.space.maintenance(system("test")).verify().problems
    found.space.close()


@pytest.mark.parametrize("name", codes())
def test_every_code_of_sqlite(opened: Opened, name: str) -> None:
    """In a write, at its commit and in a read: our error with the first cause; nothing is half, and all goes on."""
    kind, code = expected_of(name)
    before = opened.space.position
    steps: list[tuple[str, Callable[[], object]]] = [
        ("UPDATE meta", lambda: opened.ann.remember(Fact(f"not kept for {name}"))),
        ("COMMIT", lambda: opened.ann.remember(Fact(f"not kept for {name}"))),
        ("SELECT", lambda: opened.ann.get(opened.kept)),
    ]
    if code != "store_statement":
        steps.append(("UPDATE head", steps[0][1]))  # a store takes a failed constraint for an id that was taken
    for at, step in steps:
        for rolls_back in (False, True) if at != "SELECT" else (False,):
            cause = driver_error(name)
            opened.faults.fail(cause, at=at, rolls_back=rolls_back)
            with pytest.raises(StoreError) as caught:
                step()
            found = caught.value
            assert (kind, code, kind is StoreBusy) == (type(found), found.code, found.retry)
            assert cause is found.__cause__
            assert found.hint
            assert before == opened.space.position
    assert "created" == opened.ann.remember(Fact(f"kept after {name}")).status
    assert "kept" == opened.ann.get(opened.kept).attributes.statement  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["SQLITE_BUSY", "SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_CORRUPT"])
def test_errors_while_opening(tmp_path: Path, name: str) -> None:
    """They arrive as ours, too, whichever statement fails; afterwards the space opens."""
    path = tmp_path / "space.db"
    MemorySpace.open(path).close()
    faults = Faults()
    MemorySpace.open(path, connect=faults.connect).close()
    for number in range(1, faults.executed + 1):
        failing = Faults()

        def fail(statement: int, number: int = number) -> None:
            if statement == number:
                raise driver_error(name)

        failing.on_statement = fail
        with suppress(expected_of(name)[0]):
            MemorySpace.open(path, connect=failing.connect, durability="normal").close()
    with MemorySpace.open(path) as space:
        assert 0 == space.position


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (errno.ENOSPC, StoreFull, "store_full"),
        (errno.EDQUOT, StoreFull, "store_full"),
        (errno.EROFS, StoreReadOnly, "store_read_only"),
        (errno.EACCES, StoreError, "store_unreachable"),
        (errno.ENAMETOOLONG, StoreError, "store_unreachable"),
    ],
)
def test_errors_of_the_file_system(tmp_path: Path, number: int, kind: type[StoreError], code: str) -> None:
    """Making a file or a copy asks the file system directly; its errors are ours, too."""

    def refuse(self: Path, target: Path) -> None:
        raise OSError(number, "no")

    def refuse_to_touch(self: Path, **how: Any) -> None:
        raise OSError(number, "no")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "hardlink_to", refuse)
        patch.setattr(Path, "touch", refuse_to_touch)
        with pytest.raises(StoreError) as caught:
            SqliteStore(tmp_path / "new.db")
    assert (kind, code, number) == (type(caught.value), caught.value.code, caught.value.fields["errno"])
    assert [] == list(tmp_path.iterdir())


def test_what_is_none_of_the_drivers_passes(tmp_path: Path) -> None:
    """An application's own error is not dressed up."""
    assert translated(ValueError("mine"), tmp_path) is None
    store = SqliteStore(tmp_path / "log.db")
    with pytest.raises(ZeroDivisionError), store.transaction():
        _ = 1 / 0
    with pytest.raises(sqlite3.OperationalError), store.reading() as connection:
        connection.execute("SELECT * FROM nothing")
    store.close()


# -- paths


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "must not be blank"),
        ("a\0b", "NUL"),
        (None, "must be a str or a Path, not NoneType"),
        (7, "must be a str or a Path, not int"),
        (b"bytes", "must be a str or a Path, not bytes"),
    ],
)
def test_what_is_no_path(tmp_path: Path, path: Any, words: str) -> None:
    """It is refused with words, for a space and for a copy of one, and nothing is made."""
    with pytest.raises(InvalidAttributesError, match=words):
        MemorySpace.open(path)
    with MemorySpace.open(tmp_path / "space.db") as space, pytest.raises(InvalidAttributesError, match=words):
        space.maintenance(system("test")).backup(path)
    assert ["space.db"] == [file.name for file in tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("here", "is a directory"),
        ("pipe", "is no ordinary file"),
        ("x" * 300, "cannot be reached"),
        ("none/space.db", "cannot be opened"),
        ("space.db/below", "cannot be"),
    ],
)
def test_where_no_file_can_be(tmp_path: Path, name: str, words: str) -> None:
    """A directory, a pipe, a name that is too long, a place that is not there."""
    (tmp_path / "here").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with MemorySpace.open(tmp_path / "space.db") as space:
        for act in (
            lambda: MemorySpace.open(tmp_path / name),
            lambda: space.maintenance(system("x")).backup(tmp_path / name),
        ):
            with pytest.raises(StoreError, match=words) as caught:
                act()
            assert "store_unreachable" == caught.value.code
    assert {"here", "pipe", "space.db"} == {file.name for file in tmp_path.iterdir()}


def test_the_longest_name(tmp_path: Path) -> None:
    """A name may be as long as the file system allows, less what SQLite appends."""
    name = "x" * 251
    with MemorySpace.open(tmp_path / name) as space:
        space.session(user("ann")).remember(Fact("kept"))
        space.maintenance(system("test")).backup(tmp_path / ("y" * 251))
    with MemorySpace.open(tmp_path / ("y" * 251)) as copy:
        assert 1 == copy.position


# -- closed spaces


@pytest.mark.parametrize("in_file", [True, False], ids=["in a file", "in memory"])
def test_a_closed_space_says_so(tmp_path: Path, in_file: bool) -> None:
    """Every read, every write, the host's side: one error, with one code."""
    space = MemorySpace.open(tmp_path / "space.db") if in_file else MemorySpace.in_memory()
    ann, upkeep = space.session(user("ann")), space.maintenance(system("test"))
    kept = ann.remember(Fact("kept")).memory_id
    space.close()
    space.close()
    acts: list[Callable[[], object]] = [
        lambda: ann.get(kept),
        lambda: ann.find(),
        lambda: ann.recall("kept"),
        lambda: ann.history(kept),
        lambda: ann.reviews(),
        lambda: ann.remember(Fact("more")),
        lambda: ann.tag(kept, "x"),
        lambda: ann.erase(kept),
        lambda: space.position,
        lambda: list(space.events()),
        space.anchor,
        upkeep.verify,
        upkeep.rebuild,
        upkeep.report,
        upkeep.recompute_scores,
        lambda: upkeep.expire(),
    ]
    if in_file:
        acts.append(lambda: upkeep.backup(tmp_path / "copy.db"))
    for number, act in enumerate(acts):
        with pytest.raises(StoreError) as caught:
            act()
        assert ("store_closed", number) == (caught.value.code, number)
