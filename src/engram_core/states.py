"""A cache of folded memories, valid for exactly one position of the log, and filled after a commit only."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock, get_ident

from engram_core.state import MemoryState

__all__ = ["StateCache"]


class StateCache:
    """The memories that were written last, so that the next command need not fold them again.

    It is used under the store's write lock. As soon as the log stands elsewhere than where the cache was filled,
    because another process or handle wrote, it is empty.

    Args:
        capacity: How many memories are kept.
    """

    def __init__(self, capacity: int = 2_000) -> None:
        self._capacity = capacity
        self._states: OrderedDict[str, MemoryState] = OrderedDict()
        self._position = -1
        self._turn = 0
        self._holder: int | None = None
        self._lock = Lock()

    def at(self, position: int) -> int:
        """Says, under the write lock, where the log stands; gives this writer's turn, until `release`."""
        with self._lock:
            if position != self._position:
                self._states.clear()
                self._position = position
            self._holder = get_ident()
            self._turn += 1
            return self._turn

    def release(self, turn: int) -> None:
        """Ends a writer's turn; he reads no more from the cache."""
        with self._lock:
            if turn == self._turn:
                self._holder = None

    def get(self, id: str) -> MemoryState | None:
        """A memory, if it is here and this thread has its turn."""
        return self._states.get(id) if self._holder == get_ident() else None

    def keep(self, turn: int, states: Mapping[str, MemoryState], position: int) -> None:
        """Takes in memories as the commit of a turn left them, unless another turn has begun since."""
        with self._lock:
            if turn != self._turn:
                return
            self._position = position
            for id, state in states.items():
                self._states[id] = state
                self._states.move_to_end(id)
            while len(self._states) > self._capacity:
                self._states.popitem(last=False)

    def clear(self) -> None:
        """Forgets everything, because payloads of the log were replaced."""
        with self._lock:
            self._states.clear()
