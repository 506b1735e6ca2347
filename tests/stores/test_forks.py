"""A fork while a file is being opened: it waits for the opening, and no other begins meanwhile."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from engram_core.stores import SqliteStore, forks
from engram_core.testing import appending
from tests.stores import processes

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")

FORKING = """
import os, sqlite3, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
from engram_core.stores import SqliteStore, forks
from engram_core.testing import appending

path, case = sys.argv[1:]
begun, go_on, inside = threading.Event(), threading.Event(), []

def child(step):
    pid = os.fork()
    if pid == 0:
        os._exit(int(not step()))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def slowly(*arguments, **how):
    inside.append(1)
    begun.set()
    go_on.wait(0.3 if case == "waits" else 60)
    connection = sqlite3.connect(*arguments, **how)
    inside.pop()
    return connection

def use(path):
    store = SqliteStore(path)
    store.append([appending("s", "child")])
    store.close()
    return True

def use_and_fork():
    forks._LONGEST_OPENING = 3_600  # what was under way in the parent is not under way here
    return use(path + " of the child") and 0 == child(lambda: use(path + " of its child"))

thread = threading.Thread(target=lambda: SqliteStore(path, connect=slowly).close())
if case == "waits":
    thread.start()
    begun.wait()
    assert 0 == child(lambda: not inside), "a connection was under way in the child"
    thread.join()
elif case == "not for ever":
    forks._LONGEST_OPENING = 0.01
    thread.start()
    begun.wait()
    assert 0 == child(use_and_fork)
    assert inside, "it was meant to be under way still"
    go_on.set()
    thread.join()
elif case == "within":
    SqliteStore(path).close()
    forks._LONGEST_OPENING = 3_600
    pids = []
    def forking(*arguments, **how):
        if not pids:
            pids.append(os.fork())
        return sqlite3.connect(*arguments, **how)
    store = SqliteStore(path, connect=forking)
    store.append([appending("s", f"side {min(pids[0], 1)}")])
    if pids[0] == 0:
        os._exit(0)
    assert 0 == os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1])
    assert 2 == store.head()
    store.close()
"""


@needs_fork
@pytest.mark.parametrize("case", ["waits", "not for ever", "within"])
def test_a_fork_while_a_file_is_opened(tmp_path: Path, case: str) -> None:
    """It waits until no connection is under way, but not for ever, and not for its own thread; both sides go on."""
    assert "" == processes.run(FORKING, tmp_path / "log.db", case)


def test_an_opening_during_a_fork(tmp_path: Path) -> None:
    """No connection is made before the fork is over; then the store opens as ever."""
    made = threading.Event()

    def connect(*arguments: Any, **how: Any) -> sqlite3.Connection:
        made.set()
        return sqlite3.connect(*arguments, **how)

    SqliteStore(tmp_path / "first.db").close()
    forks.pause_all()
    try:
        thread = threading.Thread(target=lambda: SqliteStore(tmp_path / "log.db", connect=connect).close())
        thread.start()
        assert not made.wait(0.3)
    finally:
        forks.resume_all()
    thread.join()
    assert made.is_set()


def test_who_is_opening_a_connection_to_write_by_is_not_idle(tmp_path: Path) -> None:
    """A fork that may not wait for him knows that a connection is under way, which the child must not use."""
    slow, begun, go_on = threading.Event(), threading.Event(), threading.Event()
    taken: list[forks.Lock] = []

    def connect(*arguments: Any, **how: Any) -> sqlite3.Connection:
        if slow.is_set():
            begun.set()
            go_on.wait(60)
        return sqlite3.connect(*arguments, **how)

    def take(lock: forks.Lock) -> bool:
        if got := lock.acquire(timeout=0):
            taken.append(lock)
        return got

    store = SqliteStore(tmp_path / "log.db", connect=connect, busy_timeout=0)
    forks.pause_all()  # closes the connection that there was
    forks.resume_all()
    slow.set()
    thread = threading.Thread(target=lambda: store.append([appending("s", "e")]))
    thread.start()
    begun.wait()
    assert not store._connections.pause(take, busy=False)
    for lock in taken:
        lock.release()
    go_on.set()
    thread.join()
    assert 1 == store.head()
    store.close()
