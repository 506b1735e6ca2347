"""A log in memory, of encoded events, so that what is tested with it meets the real format."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from uuid import UUID, uuid4

from engram_core.chain import genesis, plan_append
from engram_core.errors import StoreError
from engram_core.ports import Appended, Clock, Recorded, StreamAppend, SystemClock
from engram_core.stores.clocks import now_by
from engram_core.stores.pages import bounds

__all__ = ["InMemoryStore"]


class InMemoryStore:
    """A space's log in memory: an `AtomicStore` and an `EraserStore`, usable from many threads.

    Args:
        clock: What `recorded_at` is read from; the machine's clock by default.
        store_id: Names the log; a new one by default.
    """

    def __init__(self, *, clock: Clock | None = None, store_id: UUID | None = None) -> None:
        self._id = store_id or uuid4()
        self.clock = clock or SystemClock()
        self._write_lock = threading.Lock()
        self._state_lock = threading.Lock()
        self._writer: int | None = None
        self._closed = False
        # Beyond the visible ones lie those of the running transaction, which its own thread alone sees.
        self._events: list[Recorded] = []
        self._visible = 0
        self._erased: dict[int, Recorded] = {}
        self._streams: dict[str, list[int]] = {}
        self._positions: dict[str, int] = {}

    @property
    def clock(self) -> Clock:
        """What `recorded_at` is read from."""
        return self._clock

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self._clock = clock
        self._now = now_by(clock)

    @property
    def store_id(self) -> UUID:
        """Names this log for ever."""
        return self._id

    def head(self) -> int:
        """The last position, 0 for an empty log."""
        self._check_open()
        return len(self._events) if self._owned() else self._visible

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        """Appends all or nothing, by `engram_core.chain.plan_append`."""
        if self._owned():
            return self._append(batch)
        with self.transaction():
            return self._append(batch)

    def _append(self, batch: Sequence[StreamAppend]) -> Appended:
        last = self._events[-1] if self._events else None
        planned = plan_append(
            batch,
            head=len(self._events),
            last_recorded_at=last.recorded_at if last else 0,
            last_link=(last.link if last else None) or genesis(self._id),
            now=self._now(),
            versions=lambda stream: len(self._streams.get(stream, ())),
            stored=self._stored,
        )
        if not planned.duplicate:
            with self._state_lock:
                for event in planned.events:
                    self._events.append(event)
                    self._streams.setdefault(event.stream, []).append(event.position)
                    self._positions[event.id] = event.position
        return planned

    def read_stream(
        self,
        stream: str,
        *,
        after: int = 0,
        upto: int | None = None,
        limit: int | None = None,
        backwards: bool = False,
    ) -> tuple[Recorded, ...]:
        """The events of one stream with `after` < version <= `upto`, at most `limit`."""
        after, upto, limit = bounds(after, upto, limit)
        self._check_open()
        with self._state_lock:
            head = len(self._events) if self._owned() else self._visible
            found = [p for p in self._streams.get(stream, ())[after:upto] if p <= head]
            return tuple(self._at(p) for p in islice(reversed(found) if backwards else found, limit))

    def read(self, *, after: int = 0, upto: int | None = None, limit: int = 1_000) -> tuple[Recorded, ...]:
        """The events with `after` < position <= `upto`, at most `limit`."""
        after, upto, limit = bounds(after, upto, limit)
        self._check_open()
        with self._state_lock:
            head = len(self._events) if self._owned() else self._visible
            return tuple(self._at(p) for p in range(after + 1, min(upto, head, after + limit) + 1))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Holds the write lock; what is done within takes effect at its end, or not at all if it raises."""
        if self._owned():
            raise RuntimeError("this thread is in a transaction already; they do not nest")
        with self._write_lock:
            self._check_open()
            self._writer = threading.get_ident()
            try:
                yield
            except BaseException:
                self._roll_back()
                raise
            else:
                with self._state_lock:
                    for position, event in self._erased.items():
                        self._events[position - 1] = event
                    self._visible = len(self._events)
            finally:
                self._erased = {}
                self._writer = None

    def erase(self, owner: str, marker: str) -> tuple[Recorded, ...]:
        """Replaces `data` of every event of this owner by the marker; all else stays."""
        if self._owned():
            return self._erase(owner, marker)
        with self.transaction():
            return self._erase(owner, marker)

    def _erase(self, owner: str, marker: str) -> tuple[Recorded, ...]:
        erased = tuple(event._replace(data=marker) for event in self._events if event.owner == owner)
        self._erased.update((event.position, event) for event in erased)
        return erased

    def scrub(self) -> bool:
        """Nothing of it was ever on a disk."""
        return True

    def close(self) -> None:
        """Ends the use of this log; closing twice is no error."""
        self._closed = True

    def _owned(self) -> bool:
        return self._writer == threading.get_ident()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the store is closed", code="store_closed", hint="open it again")

    def _at(self, position: int) -> Recorded:
        if self._erased and self._owned() and position in self._erased:
            return self._erased[position]
        return self._events[position - 1]

    def _stored(self, ids: Sequence[str]) -> dict[str, Recorded]:
        return {id: self._at(self._positions[id]) for id in ids if id in self._positions}

    def _roll_back(self) -> None:
        with self._state_lock:
            for event in reversed(self._events[self._visible :]):
                del self._positions[event.id]
                positions = self._streams[event.stream]
                positions.pop()
                if not positions:
                    del self._streams[event.stream]
            del self._events[self._visible :]
