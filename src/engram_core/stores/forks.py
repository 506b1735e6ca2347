"""What happens around a fork: no connection to a file may be open then, and none may be opened meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Protocol
from weakref import WeakSet, WeakValueDictionary

__all__ = ["Lock", "Pausable", "file_lock", "opening", "pause_all", "restart_all", "resume_all", "survive_forks"]


class Lock(Protocol):
    """A lock, re-entrant or not."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Takes it, if it can in time."""
        ...

    def release(self) -> None:
        """Gives it back."""
        ...


class Pausable(Protocol):
    """Connections of one store, as a fork sees them."""

    timeout: float

    @property
    def file(self) -> threading.Lock:
        """The lock that stands for the file, the same for all stores on it."""
        ...

    def owned(self) -> bool:
        """Whether this thread holds the write lock."""
        ...

    def pause(self, take: Callable[[Lock], bool], *, busy: bool) -> bool:
        """Closes what is not in use, and lets nothing start; False if a connection stayed open."""
        ...

    def restart(self, *, unfit: bool) -> None:
        """Begins anew, in the child."""
        ...


# Stores of one process on one file share the lock, so that their threads queue instead of polling. Should two
# of them be born at once and miss each other, SQLite's own lock still keeps them apart.
_locks: WeakValueDictionary[tuple[int, int], threading.Lock] = WeakValueDictionary()
_alive: WeakSet[Pausable] = WeakSet()
_hooked: list[int] = []


def file_lock(path: Path) -> threading.Lock:
    """The lock of all who write a file in this process."""
    try:
        found = path.stat()
    except OSError:
        return threading.Lock()  # the file has gone; who uses it will be told
    return _locks.setdefault((found.st_dev, found.st_ino), threading.Lock())


_taken: list[Lock] = []
_harmed: list[Lock] = []


class _Openings:
    """Counts those who are opening a file by connections that no store knows yet; a fork waits for them."""

    def __init__(self, running: tuple[int, ...] = ()) -> None:
        self._changed = threading.Condition()
        self._running = [*running]
        self._shut = False

    def begin(self) -> None:
        """Waits while a fork is under way."""
        with self._changed:
            self._changed.wait_for(lambda: not self._shut)
            self._running.append(threading.get_ident())

    def end(self) -> None:
        """It is open, or has failed."""
        with self._changed:
            self._running.remove(threading.get_ident())
            self._changed.notify_all()

    def shut_out(self, timeout: float) -> None:
        """Lets none begin, and waits for those of other threads; not for ever, since one of them may hang."""
        with self._changed:
            self._shut = True
            self._changed.wait_for(lambda: not {*self._running} - {threading.get_ident()}, timeout)

    def let_in(self) -> None:
        """The fork is over."""
        with self._changed:
            self._shut = False
            self._changed.notify_all()

    def in_child(self) -> _Openings:
        """What is left of it in a child, in which other threads are no more, and its lock may be held for ever."""
        return _Openings(tuple(one for one in self._running if one == threading.get_ident()))


_openings = [_Openings()]
_forking = [threading.RLock()]
_LONGEST_OPENING = 30.0


@contextmanager
def opening() -> Iterator[None]:
    """Keeps forks away while a file is made and recognised, and until its store can be told of forks."""
    if not _hooked and hasattr(os, "register_at_fork"):
        _hooked.append(1)
        os.register_at_fork(before=pause_all, after_in_parent=resume_all, after_in_child=restart_all)
    _openings[0].begin()
    try:
        yield
    finally:
        _openings[0].end()


def survive_forks(connections: Pausable) -> None:
    """Has connections paused before every fork, and begun anew in the child; called within `opening`."""
    _alive.add(connections)


def pause_all() -> None:
    """Closes every connection of this process and lets none be opened; called before a fork."""
    _forking[0].acquire()  # two threads that fork at once would each end the pause of the other
    _openings[0].shut_out(_LONGEST_OPENING)
    everyone = tuple(_alive)
    mine = [connections.file for connections in everyone if connections.owned()]
    for connections in everyone:
        deadline = monotonic() + connections.timeout

        def take(lock: Lock, deadline: float = deadline) -> bool:
            if any(lock is other for other in _taken):
                return True
            if not lock.acquire(timeout=max(0.0, deadline - monotonic())):
                return False
            _taken.append(lock)
            return True

        if not connections.pause(take, busy=any(connections.file is file for file in mine)):
            _harmed.append(connections.file)


def resume_all() -> None:
    """Lets connections be opened again; called after a fork, in the parent."""
    _harmed.clear()
    while _taken:
        _taken.pop().release()
    _openings[0].let_in()
    _forking[0].release()


def restart_all() -> None:
    """Has every store begin anew with connections of its own; called after a fork, in the child."""
    _forking[0] = threading.RLock()
    _openings[0] = _openings[0].in_child()
    _taken.clear()
    _locks.clear()
    for connections in tuple(_alive):
        connections.restart(unfit=any(connections.file is file for file in _harmed))
    _harmed.clear()
