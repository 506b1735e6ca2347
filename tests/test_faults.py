"""Whole spaces under faults: processes killed at every boundary, cut logs, full disks, busy neighbours, forks."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from engram_core.errors import StoreBusy, StoreFull, StoreReadOnly
from engram_core.kinds import Fact
from engram_core.log import Anchor
from engram_core.space import MemorySpace
from engram_core.stores import SqliteStore
from engram_core.testing.faults import Faults, crash_image, cut_log, flip, held, log_frames
from engram_core.values import system, user
from tests.governance.acts import ACTS, world
from tests.governance.rooms import room
from tests.stores import processes

ann = user("ann")


def problems(space: MemorySpace, anchor: Anchor | None = None) -> tuple[str, ...]:
    """What `verify` finds."""
    return space.maintenance(system("test")).verify(anchor=anchor).problems


def log_of(path: Path) -> list[Any]:
    """All events of a file that opens and is whole, read model included."""
    with MemorySpace.open(path, durability="normal") as space:
        assert () == problems(space)
        return list(space.events())


# -- killed at every boundary


@pytest.mark.parametrize("name", ["remember", "batch", "approve", "merge", "erase"])
def test_a_crash_between_any_two_statements(tmp_path: Path, name: str) -> None:
    """Whatever a process is doing when it dies, its command is there as a whole or not at all; tables fit the log."""
    path, faults = tmp_path / "space.db", Faults()
    r = room(path, connect=faults.connect)
    known = world(r)
    with r.bot.proposal("several changes") as asked:
        new = asked.remember(Fact("from a proposal"), links=[("derived_from", known["oslo"])])
        asked.contradict(known["tea"], by=new)
    r.ann.tag(known["oslo"], "before")
    before, anchor = list(r.space.events()), r.space.anchor()
    images: dict[bytes, Path] = {}

    def note(number: int) -> None:
        image = tmp_path / f"{number}.db"
        crash_image(path, image)
        wal = image.with_name(f"{image.name}-wal")
        digest = sha256(image.read_bytes() + (wal.read_bytes() if wal.exists() else b"")).digest()
        if images.setdefault(digest, image) is not image:
            image.unlink()
            wal.unlink(missing_ok=True)

    faults.on_statement = note
    acts: dict[str, Callable[..., Any]] = {
        **ACTS,
        "approve": lambda r, w: r.ann.approve(asked.receipt),
        "erase": lambda r, w: r.ann.erase(w["past"]),
    }
    acts[name](r, known)
    note(0)
    faults.on_statement = None
    after = list(r.space.events())
    assert before != after
    found = []
    for image in images.values():
        log = log_of(image)
        assert log in (before, after)
        found.append(log == after)
        with MemorySpace.open(image) as space:
            assert (name == "erase" and log == after) or () == problems(space, anchor)
            space.session(ann).remember(Fact("life goes on"))
            assert () == problems(space)
    assert found == sorted(found), "what was there once does not go again"
    assert [found[0], found[-1]] == [False, True]
    r.space.close()


KILLING = """
import os, shutil, sys
from engram_core import Fact, MemorySpace, Person, user
from engram_core.testing.faults import Faults

folder, first, step = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
number = first
while True:
    path, pid = f"{folder}/{number}.db", 0
    shutil.copyfile(f"{folder}/whole.db", path)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        faults = Faults()
        faults.kill(at=number)
        space = MemorySpace.open(path, connect=faults.connect)
        ann = space.session(user("ann"))
        with ann.batch() as batch:
            alice = batch.remember(Person("Alice"), tags=("new",))
            batch.remember(Fact("she moved"), links=[("about", alice)])
        os.write(write, b"acked")
        space.close()
        os._exit(0)
    os.close(write)
    acked = os.read(read, 5)
    os.close(read)
    _, status = os.waitpid(pid, 0)
    print(number, acked.decode() or "-", os.waitstatus_to_exitcode(status), flush=True)
    if os.waitstatus_to_exitcode(status) == 0:
        break
    number += step
"""


def killed(tmp_path: Path, first: int, step: int) -> None:
    """Kills a process before one statement after the other, from opening to closing, then looks at what it left."""
    with MemorySpace.open(tmp_path / "whole.db") as space:
        space.session(ann).remember(Fact("before"))
    outcomes = [line.split() for line in processes.run(KILLING, tmp_path, first, step).splitlines()]
    assert ["acked", "0"] == outcomes[-1][1:]
    assert {"-9"} == {code for _, _, code in outcomes[:-1]}
    counts = []
    for number, acked, _ in outcomes:
        log = log_of(tmp_path / f"{number}.db")
        assert len(log) in ((3,) if acked == "acked" else (1, 3))
        counts.append(len(log))
    assert sorted(counts) == counts
    assert {1, 3} == set(counts)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_kill_9(tmp_path: Path) -> None:
    """A process killed before a statement leaves all it had acknowledged, and nothing half."""
    killed(tmp_path, first=2, step=5)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_kill_9_at_every_statement(tmp_path: Path) -> None:
    """The same at each of them."""
    killed(tmp_path, first=1, step=1)


# -- files that are not whole, or not the last ones


@pytest.fixture
def logged(tmp_path: Path) -> tuple[Path, list[Any], Anchor]:
    """A database with some commits in its write-ahead log, as a killed process leaves it; its events, its anchor."""
    path = tmp_path / "space.db"
    with MemorySpace.open(path) as space:
        space.session(ann).remember(Fact("copied already"))
    with MemorySpace.open(path) as space:
        for text in "one", "two", "three":
            space.session(ann).remember(Fact(text), tags=(text,))
        crash_image(path, tmp_path / "image.db")
        return tmp_path / "image.db", list(space.events()), space.anchor()


def test_a_cut_write_ahead_log(logged: tuple[Path, list[Any], Anchor], tmp_path: Path) -> None:
    """Wherever it was cut, the commits before the cut are there and whole; an anchor shows that later ones are not."""
    image, log, anchor = logged
    frames, copy = log_frames(image), tmp_path / "copy.db"
    lengths = []
    for size in sorted({0, 31, *frames, *(frame + 7 for frame in frames[:-1]), *(frame - 1 for frame in frames[1:])}):
        crash_image(image, copy)
        cut_log(copy, size)
        found = log_of(copy)
        assert log[: len(found)] == found
        lengths.append(len(found))
        with MemorySpace.open(copy) as space:
            cut = problems(space, anchor)
            assert (len(found) < len(log)) == any("its tail was cut" in problem for problem in cut)
    assert sorted(lengths) == lengths
    assert {1, 2, 3, 4} == set(lengths)


def test_a_damaged_write_ahead_log(logged: tuple[Path, list[Any], Anchor], tmp_path: Path) -> None:
    """A flipped bit in it takes the commits from there on, and none of it is taken for history."""
    image, log, anchor = logged
    picks, copy = random.Random(5), tmp_path / "copy.db"
    wal = copy.with_name("copy.db-wal")
    size = image.with_name("image.db-wal").stat().st_size
    for _ in range(40):
        crash_image(image, copy)
        flip(wal, picks.randrange(size), picks.randrange(8))
        found = log_of(copy)
        assert log[: len(found)] == found
        with MemorySpace.open(copy) as space:
            assert (found == log) == (() == problems(space, anchor))


def test_a_restored_older_file(tmp_path: Path) -> None:
    """It is whole in itself; the anchor of later says that its tail is gone, that of before that nothing else is."""
    path = tmp_path / "space.db"
    with MemorySpace.open(path) as space:
        session = space.session(ann)
        session.remember(Fact("before the copy"))
        early = space.anchor()
        space.maintenance(system("test")).backup(tmp_path / "copy.db")
        session.remember(Fact("after the copy"))
        late = space.anchor()
    shutil.copyfile(tmp_path / "copy.db", path)
    with MemorySpace.open(path) as space:
        assert () == problems(space) == problems(space, early)
        assert ["its tail was cut" in problem for problem in problems(space, late)] == [True]
        space.session(ann).remember(Fact("another history"))
        assert ["differs from the anchor" in problem for problem in problems(space, late)] == [True]


def test_a_clock_that_steps_back(tmp_path: Path) -> None:
    """Recorded instants do not fall, what was written stays known, and past views see prefixes of the log."""
    r = room(tmp_path / "space.db")
    ids = []
    for number in range(6):
        ids.append(r.ann.remember(Fact(f"number {number}")).memory_id)
        r.clock.move(timedelta(days=1 if number < 3 else -2))
    recorded = [event.recorded_at for event in r.space.events()]
    assert sorted(recorded) == recorded
    assert 6 == r.ann.count()
    r.clock.move(timedelta(days=30))
    for instant in recorded:
        seen = r.ann.as_of(known_at=instant).count()
        assert max(n for n, at in enumerate(recorded, start=1) if at == instant) == seen
    assert () == problems(r.space)
    r.space.close()


# -- no room, no right, no lock


def test_a_full_disk(tmp_path: Path) -> None:
    """What does not fit is refused as a whole, reads go on, and with room again writes do, too."""
    faults = Faults()
    space = MemorySpace.open(tmp_path / "space.db", connect=faults.connect, durability="normal")
    session = space.session(ann, record=False)
    kept = [session.remember(Fact("the first one")).memory_id]
    faults.fill(room=12)
    for number in range(30):
        with suppress(StoreFull):
            kept.append(session.remember(Fact(f"number {number}"), content="x" * 1_500).memory_id)
    assert 1 < len(kept) < 30
    with pytest.raises(StoreFull) as caught:
        session.remember(Fact("the large one"), content="y" * 19_000)
    assert not caught.value.retry
    assert set(kept) == {memory.id for memory in session.find_all()}
    assert () == problems(space)
    faults.free()
    kept.append(session.remember(Fact("the large one"), content="y" * 19_000).memory_id)
    assert set(kept) == {memory.id for memory in session.find_all()}
    assert () == problems(space)
    space.close()


def test_a_file_that_may_only_be_read(tmp_path: Path) -> None:
    """Everything can be read from it, and each write says that it may not be."""
    path = tmp_path / "space.db"
    with MemorySpace.open(path) as space:
        id = space.session(ann).remember(Fact("kept")).memory_id
    whole = path.read_bytes()
    with MemorySpace.open(path, read_only=True) as space:
        session = space.session(ann)
        assert [id] == [hit.id for hit in session.recall("kept")]
        for write in (lambda: session.remember(Fact("more")), lambda: session.erase(id), lambda: session.pin(id)):
            with pytest.raises(StoreReadOnly):
                write()
        assert () == problems(space)
    assert whole == path.read_bytes()


def test_another_process_that_writes(tmp_path: Path) -> None:
    """While it holds the file, reads go on and a write says that it may be tried again; then it can."""
    store = SqliteStore(tmp_path / "space.db", busy_timeout=0.1)
    space = MemorySpace.over(store)
    session = space.session(ann)
    id = session.remember(Fact("kept")).memory_id
    with held(tmp_path / "space.db"):
        with pytest.raises(StoreBusy) as caught:
            session.pin(id)
        assert caught.value.retry
        assert [id] == [hit.id for hit in session.recall("kept")]
        assert () == problems(space)
    session.pin(id)
    assert session.get(id).pinned
    space.close()
    store.close()


# -- many at once

OPENING = """
import sys
from engram_core import Fact, MemorySpace, user
print("ready", flush=True)
sys.stdin.readline()
with MemorySpace.open(sys.argv[1]) as space:
    space.session(user(sys.argv[2])).remember(Fact(f"by {sys.argv[2]}"))
"""


def test_processes_that_make_one_file_at_once(tmp_path: Path) -> None:
    """One of them makes it, all of them use it, and nothing is left beside it."""
    path = tmp_path / "space.db"
    starters = [processes.start(OPENING, path, name) for name in ("ann", "bob", "eve")]
    for starter in starters:
        processes.expect_line(starter, "ready")
    for starter in starters:
        assert starter.stdin is not None
        starter.stdin.write("go\n")
        starter.stdin.flush()
    for starter in starters:
        output, _ = starter.communicate(timeout=120)
        assert (0, "") == (starter.returncode, output)
    assert ["space.db"] == [file.name for file in tmp_path.iterdir()]
    assert 3 == len(log_of(path))


FORKING = """
import os, sys, threading
from engram_core import Fact, MemorySpace, system, user
folder, case = sys.argv[1], sys.argv[2]

def child(step):
    pid = os.fork()
    if pid == 0:
        try:
            step()
        except BaseException as error:  # noqa: BLE001 -- handed over to the test
            print("child:", repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    assert 0 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def write(space, name):
    space.session(user(name)).remember(Fact(f"by {name}"))

def write_elsewhere(name):
    with MemorySpace.open(f"{folder}/space.db") as space:
        write(space, name)

space = MemorySpace.open(f"{folder}/space.db")
write(space, "before")
count = 1
if case == "open space":
    for number in range(3):
        child(lambda: (write(space, f"child {number}"), space.close()))
        write(space, f"parent {number}")
        assert 1 + 2 * (number + 1) == space.session(user("ann")).count()
    count = 7
elif case == "while opening":
    stop = []
    def opener(number):
        rounds = 0
        while not stop:
            rounds += 1
            MemorySpace.open(f"{folder}/space.db", read_only=True).close()
            MemorySpace.open(f"{folder}/other {number} {rounds}.db").close()
    threads = [threading.Thread(target=opener, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for number in range(12):
        child(lambda: write_elsewhere(f"child {number}"))
        count += 1
    stop.append(1)
    for thread in threads:
        thread.join()
elif case == "two threads fork":
    def forker(who):
        for number in range(6):
            child(lambda: write(space, f"{who} {number}"))
            write(space, f"parent of {who} {number}")
    threads = [threading.Thread(target=forker, args=(who,)) for who in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    count = 25
assert count == space.session(user("ann")).count(), space.session(user("ann")).count()
assert () == space.maintenance(system("test")).verify().problems
space.close()
"""


LOADING = """
import os, signal, sys, threading, time, warnings
from engram_core import Fact, MemorySpace, user

warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
begun = threading.Event()

class Slowly:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            begun.set()
            time.sleep(0.3)

sys.meta_path.insert(0, Slowly())
space = MemorySpace.in_memory()

def use(space):
    ann = space.session(user("ann"))
    ann.remember(Fact("The boat is blue"))
    assert 1 == len(ann.recall("boat"))

thread = threading.Thread(target=lambda: use(space))
thread.start()
begun.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    use(MemorySpace.in_memory())
    os._exit(0)
assert 0 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.parametrize("module", ["uuid6", "engram_core.reads.asking"])
def test_a_fork_while_a_module_is_loaded(module: str) -> None:
    """A child does not wait for what another thread of its parent was loading at its first use."""
    assert "" == processes.run(LOADING, module)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.parametrize("case", ["open space", "while opening", "two threads fork"])
def test_forks(tmp_path: Path, case: str) -> None:
    """Both sides of a fork go on, whatever other threads were opening or forking meanwhile."""
    assert "" == processes.run(FORKING, tmp_path, case)


WRITING = """
import sys
from engram_core import Fact, MemorySpace, user
with MemorySpace.open(sys.argv[1], durability="normal") as space:
    ann = space.session(user("ann"))
    print("ready", flush=True)
    for number in range(100_000):
        ann.tag(ann.remember(Fact(f"of the other process, {number}")), "x")
"""


def test_backups_while_a_thread_and_a_process_write(tmp_path: Path) -> None:
    """Each copy opens, verifies, is a beginning of the log, and goes on as a space of its own."""
    path, stop = tmp_path / "space.db", threading.Event()
    space = MemorySpace.open(path, durability="normal")
    other = processes.start(WRITING, path)
    processes.expect_line(other, "ready")

    def write() -> None:
        session = space.session(ann)
        for number in range(100_000):
            if stop.is_set():
                return
            session.pin(session.remember(Fact(f"of the thread, {number}")))

    writer = threading.Thread(target=write)
    writer.start()
    copies = [tmp_path / f"copy {number}.db" for number in range(4)]
    try:
        for copy in copies:
            time.sleep(0.1)
            space.maintenance(system("test")).backup(copy)
    finally:
        stop.set()
        writer.join()
        other.kill()
        other.communicate()
    log = list(space.events())
    lengths = []
    for copy in copies:
        found = log_of(copy)
        assert log[: len(found)] == found
        lengths.append(len(found))
        with MemorySpace.open(copy) as opened:
            opened.session(ann).remember(Fact("on the copy"))
            assert () == problems(opened)
    assert sorted(lengths) == lengths
    assert 0 < lengths[0] < lengths[-1] <= len(log)
    assert () == problems(space)
    space.close()
