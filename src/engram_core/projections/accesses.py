"""Who read what, when: a buffer that costs a read next to nothing, and the tables that its flushes fill."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from engram_core.events import MemoriesAccessed, RecordedEvent
from engram_core.projections.rows import cleaned
from engram_core.values import Actor, to_micros

__all__ = ["AccessBuffer", "Reads", "write_accesses"]

_MOST: Final = 2**31


class Reads(NamedTuple):
    """What one actor read in one session since the last flush.

    Attributes:
        actor: Who read.
        session_id: In which session.
        reads: Memory id, how often, and the last instant; in the order of the first read.
    """

    actor: Actor
    session_id: str | None
    reads: tuple[tuple[str, int, datetime], ...]


class AccessBuffer:
    """Reads that wait to be recorded with the next write. Usable from many threads; it never touches a database.

    Args:
        capacity: How many pairs of reader and memory are kept at most; beyond it, new pairs are not counted.
    """

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._reads: dict[tuple[Actor, str | None], dict[str, tuple[int, datetime]]] = {}
        self._size = 0
        self.dropped = 0
        """How many reads found no room."""

    def __len__(self) -> int:
        return self._size

    def __bool__(self) -> bool:
        return self._size > 0

    def record(self, actor: Actor, session: str | None, ids: Iterable[str], at: datetime) -> None:
        """Notes that memories were read, in order."""
        with self._lock:
            own = self._reads.setdefault((actor, session), {})
            before = len(own)
            for id in ids:
                known = own.get(id)
                if known is not None:
                    own[id] = (known[0] + 1, max(known[1], at))
                elif self._size + len(own) - before < self._capacity:
                    own[id] = (1, at)
                else:
                    self.dropped += 1
            self._size += len(own) - before

    def drain(self) -> tuple[Reads, ...]:
        """Takes out all that was noted, grouped by actor and session."""
        with self._lock:
            taken, self._reads, self._size = self._reads, {}, 0
        return tuple(
            Reads(actor, session, tuple((id, count, at) for id, (count, at) in own.items()))
            for (actor, session), own in taken.items()
            if own
        )

    def restore(self, drained: Iterable[Reads]) -> None:
        """Puts back what was drained, when it could not be written after all."""
        with self._lock:
            for actor, session, reads in drained:
                own = self._reads.setdefault((actor, session), {})
                for id, count, at in reads:
                    known, last = own.get(id, (0, at))
                    self._size += known == 0
                    own[id] = (known + count, max(at, last))


def write_accesses(tx: sqlite3.Connection, events: Iterable[RecordedEvent], prefix: str = "") -> None:
    """Projects the reads among some events; those of memories that are not there are passed over."""
    for recorded in events:
        event, actor = recorded.event, recorded.actor
        if not isinstance(event, MemoriesAccessed) or actor is None:
            continue
        name = cleaned(str(actor))
        for id, count, at in event.reads:
            found = tx.execute(f"SELECT key FROM {prefix}memories WHERE id = ?", (cleaned(id),)).fetchone()
            if found is None or count < 1:
                continue
            count, micros = min(count, _MOST), to_micros(at)
            tx.execute(
                f"INSERT INTO {prefix}reads VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
                " SET count = count + excluded.count, last_at = max(last_at, excluded.last_at)",
                (found[0], recorded.position, name, count, micros),
            )
            tx.execute(
                f"INSERT INTO {prefix}accesses VALUES (?, ?, ?) ON CONFLICT DO UPDATE"
                " SET count = count + excluded.count, last_at = max(last_at, excluded.last_at)",
                (found[0], count, micros),
            )
