"""One file, many users: threads, processes, forks. Nobody loses anything, and nobody sees a lock."""

from __future__ import annotations

import gc
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engram_core.errors import StoreBusy, StoreError
from engram_core.ports import Expect
from engram_core.stores import SqliteStore, forks
from engram_core.testing import History, appending, problems_of, whole_log
from tests.stores import processes


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A new store."""
    found = SqliteStore(tmp_path / "log.db")
    yield found
    found.close()


def in_threads(*steps: object) -> None:
    """Runs steps at once; their errors are the test's."""
    errors: list[BaseException] = []

    def run(step: object) -> None:
        try:
            step()  # type: ignore[operator]
        except BaseException as error:  # noqa: BLE001 -- handed over to the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    if errors:
        raise errors[0]


def test_a_thousand_writes_from_four_threads(store: SqliteStore) -> None:
    """Every acknowledged write is there once, positions are dense, and no call fails."""
    history = History()

    def write(who: int) -> None:
        watched = history.watch(store, f"t{who}")
        for number in range(250):
            watched.append([appending(f"s{number % 7}", f"{who}-{number}")])
            if number % 25 == 0:
                watched.head()
                watched.read(after=max(0, store.head() - 10))

    in_threads(*(partial(write, who) for who in range(4)))
    assert 1_000 == store.head()
    assert () == problems_of(history, whole_log(store))


def test_a_thousand_writes_from_two_processes(tmp_path: Path) -> None:
    """The same between processes that write to the same streams and read in between."""
    path = tmp_path / "log.db"
    SqliteStore(path).close()
    notes = [tmp_path / who for who in ("left", "right")]
    writers = [processes.start(processes.WRITER, path, note, note.name, 500) for note in notes]
    for writer in writers:
        output, _ = writer.communicate(timeout=120)
        assert (0, "ready\n") == (writer.returncode, output)
    store = SqliteStore(path)
    calls = History.load(*notes)
    assert 1_000 <= sum(call.what == "append" and call.outcome == "ok" for call in calls)
    assert set() == {call.outcome for call in calls} - {"ok", "fail"}
    assert () == problems_of(calls, whole_log(store))
    store.close()


def test_a_file_is_opened_while_it_is_written(store: SqliteStore) -> None:
    """What another writes between two looks at a file does not make it look damaged."""
    written: list[str] = []

    class Overtaken(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            written.append(f"e{len(written)}")
            store.append([appending("s", written[-1])])
            return super().execute(*arguments)

    opened = SqliteStore(store.path, read_only=True, connect=partial(sqlite3.connect, factory=Overtaken))
    assert written
    assert opened.head() == len(written)
    opened.close()


def test_a_busy_process_is_waited_for(store: SqliteStore) -> None:
    """A writer waits while another holds the file, and goes on as soon as it is free."""
    with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.3, lambda: other.execute("COMMIT"))
        timer.start()
        began = time.monotonic()
        store.append([appending("a", "1")])
        assert 0.2 < time.monotonic() - began < 3
        timer.join()


def test_a_process_that_stays_busy(tmp_path: Path) -> None:
    """After the timeout the answer is StoreBusy, which may be retried; nothing was written, and reading went on."""
    store = SqliteStore(tmp_path / "log.db", busy_timeout=0.2)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy) as caught:
            store.append([appending("a", "1")])
        assert caught.value.retry
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
        assert 0 == store.head()
        assert not store.scrub()
        other.execute("ROLLBACK")
    assert (1,) == store.append([appending("a", "1")]).positions
    store.close()


def test_a_thread_that_stays_busy(tmp_path: Path) -> None:
    """The same for another thread's transaction, over the same store or another one on the file."""
    one = SqliteStore(tmp_path / "log.db", busy_timeout=0.1)
    two = SqliteStore(tmp_path / "log.db", busy_timeout=0.1)
    for other in (one, two):

        def blocked(other: SqliteStore = other) -> None:
            with pytest.raises(StoreBusy):
                other.append([appending("a", "1")])

        with one.transaction():
            in_threads(blocked)
    assert 0 == one.head()
    one.close()
    two.close()


def test_readers_do_not_wait(store: SqliteStore) -> None:
    """While one thread holds a transaction open, others read what was there before it."""
    store.append([appending("a", "1")])
    seen: list[int] = []
    with store.transaction():
        store.append([appending("a", "2")])
        in_threads(lambda: seen.append(store.head()))
    assert [1] == seen


def test_threads_that_end_leave_nothing(store: SqliteStore) -> None:
    """The connection of a thread is closed when the thread has ended."""

    def files() -> int:
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir()))

    store.append([appending("a", "1")])
    in_threads(*[store.head] * 4)
    before = files()
    for _ in range(20):
        in_threads(*[store.head] * 4)
    # SQLite keeps some files of closed connections open, for the next ones.
    assert files() <= before + 4


def test_close_while_others_read(tmp_path: Path) -> None:
    """Closing waits for a read in another thread; afterwards that thread is told that the store is closed."""
    store = SqliteStore(tmp_path / "log.db")
    store.append([appending("a", *(str(number) for number in range(1_000)))])
    told: list[str] = []

    def read() -> None:
        try:
            while True:
                assert 1_000 == len(store.read())
        except StoreError as error:
            told.append(error.code)

    def close() -> None:
        time.sleep(0.1)
        store.close()

    in_threads(read, read, close)
    assert ["store_closed"] * 2 == told
    assert ["log.db"] == [file.name for file in tmp_path.iterdir()]


def test_writers_of_one_process_take_turns(store: SqliteStore) -> None:
    """A thread that writes without pause does not starve another."""
    done: list[float] = []
    began = time.monotonic()

    def write(who: str) -> None:
        for number in range(100):
            store.append([appending("s", f"{who}{number}", expected=Expect.ANY)])
        done.append(time.monotonic() - began)

    in_threads(partial(write, "a"), partial(write, "b"))
    assert 200 == store.head()


# -- forks

FORKING = """
import os, sys, threading, time
from pathlib import Path
from engram_core.errors import StoreError
from engram_core.stores import SqliteStore, forks
from engram_core.testing import appending, whole_log
path, case = sys.argv[1], sys.argv[2]
store = SqliteStore(path, busy_timeout=1)
store.append([appending("p", "before")])

def child(step):
    pid = os.fork()
    if pid == 0:
        try:
            step()
        except BaseException as error:  # noqa: BLE001 -- handed over to the test
            print("child:", repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    return pid

def write(who):
    for number in range(40):
        store.append([appending("s", f"{who}-{number}")])

if case == "both write":
    pids = [child(lambda who=who: write(who)) for who in "ab"]
    write("parent")
    assert [0, 0] == [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    assert 121 == store.head(), store.head()
elif case == "parent closes first":
    read, gate = os.pipe()
    def late():
        os.read(read, 1)
        store.append([appending("s", "late")])
        store.close()
    pid = child(late)
    store.append([appending("p", "after")])
    store.close()
    os.write(gate, b"x")
    assert 0 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    store = SqliteStore(path)
    assert ["before", "after", "late"] == [event.id for event in store.read()]
elif case == "child exits":
    pid = os.fork()
    if pid == 0:
        sys.exit(0)
    assert 0 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    store.append([appending("p", "after")])
    assert 2 == store.head()
elif case == "within a transaction":
    def use():
        for use in (store.head, lambda: store.append([appending("s", "x")])):
            try:
                use()
            except StoreError as error:
                assert error.code == "store_forked", error
            else:
                raise AssertionError("it let itself be used")
    with store.transaction():
        store.append([appending("s", "mine")])
        pid = child(use)
        assert 0 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert 2 == store.head()
    try:
        with store.transaction():
            store.append([appending("s", "kept")])
            pid = os.fork()
    except StoreError as error:
        assert pid == 0 and error.code == "store_forked", error
        os._exit(7)
    assert 7 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert 3 == store.head()
elif case == "two stores on the file":
    other = SqliteStore(path, busy_timeout=1)
    other.append([appending("p", "other")])
    def use():
        store.append([appending("s", "child")])
        other.append([appending("s", "child's other")])
    began = time.monotonic()
    pid = child(use)
    assert time.monotonic() - began < 0.9
    assert 0 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert 4 == store.head() == other.head()
    def fail():
        try:
            other.append([appending("s", "x")])
        except StoreError as error:
            assert error.code == "store_forked", error
        else:
            raise AssertionError("it let itself be used")
    with store.transaction():
        store.append([appending("s", "mine")])
        pid = child(fail)
    assert 0 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert 5 == store.head() == other.head()
    other.close()
elif case == "other threads at work":
    stop = []
    def work():
        number = 0
        while not stop:
            store.append([appending("w", f"w{number}")])
            store.read(limit=3)
            number += 1
    threads = [threading.Thread(target=lambda: [store.read(limit=5) for _ in iter(lambda: not stop, False)]),
               threading.Thread(target=work)]
    for thread in threads:
        thread.start()
    for round in range(15):
        pid = child(lambda: store.append([appending("s", f"child {round}")]))
        assert 0 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    stop.append(1)
    for thread in threads:
        thread.join()
    assert 15 == len(store.read_stream("s"))
    log = whole_log(store)
    assert [event.position for event in log] == list(range(1, len(log) + 1))
store.close()
assert [Path(path).name] == os.listdir(Path(path).parent), os.listdir(Path(path).parent)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.parametrize(
    "case",
    [
        "both write",
        "parent closes first",
        "child exits",
        "within a transaction",
        "two stores on the file",
        "other threads at work",
    ],
)
def test_fork(tmp_path: Path, case: str) -> None:
    """After a fork both sides go on, each with connections of its own; what either acknowledged is kept."""
    assert "" == processes.run(FORKING, tmp_path / "log.db", case)


def test_what_a_fork_does_to_each_side(store: SqliteStore) -> None:
    """The steps around a fork, without one: pause and go on, as a parent, then pause and begin anew, as a child."""
    store.append([appending("a", "1")])
    for end in (forks.resume_all, forks.restart_all):
        assert store.head() > 0
        forks.pause_all()
        assert not store.path.with_name(f"{store.path.name}-wal").exists(), "a connection was left open"
        end()
        store.append([appending("a", f"after {end.__name__}")])
    with store.reading() as connection:
        forks.pause_all()
        forks.restart_all()
        with pytest.raises(StoreError) as caught:
            store.head()
        assert "store_forked" == caught.value.code
        connection.close()


def test_close_within_a_transaction(tmp_path: Path) -> None:
    """The transaction still commits, and its connection is closed at its end."""
    store = SqliteStore(tmp_path / "log.db")
    with store.transaction():
        store.append([appending("a", "1")])
        store.close()
    assert ["log.db"] == [file.name for file in tmp_path.iterdir()]
    store = SqliteStore(tmp_path / "log.db")
    assert 1 == store.head()
    with store.reading():
        store.close()
    assert ["log.db"] == [file.name for file in tmp_path.iterdir()]


def test_a_link_to_the_file(store: SqliteStore, tmp_path: Path) -> None:
    """A symbolic link is the file: same side files, same lock."""
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(store.path)
    store.append([appending("a", "1")])
    other = SqliteStore(link)
    assert 1 == other.head()
    assert (2,) == other.append([appending("a", "2")]).positions
    other.close()
    assert ["link.db"] == [file.name for file in link.parent.iterdir()]


def test_a_transaction_ends_where_it_began(store: SqliteStore) -> None:
    """Another thread cannot end it."""
    held = store.transaction()
    held.__enter__()

    def end() -> None:
        with pytest.raises(RuntimeError, match="thread"):
            held.__exit__(None, None, None)

    in_threads(end)
