"""Stores that fail when their log is opened again, when several objects use it, or when the clock steps back."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, Self
from uuid import UUID, uuid4

from engram_core.ports import Appended, Clock, Expect, Recorded, StreamAppend
from engram_core.stores.in_memory import InMemoryStore
from engram_core.testing.contracts.base import envelope
from engram_core.testing.zoo.base import breaks, listed

__all__ = ["HANDLES"]


class _Handle:
    """One object on a log that others may use as well; without a fault it is a good store.

    Args:
        disk: The log.
    """

    def __init__(self, disk: InMemoryStore | None = None, *, clock: Clock | None = None) -> None:
        self.disk = disk or InMemoryStore(clock=clock)

    @property
    def store_id(self) -> UUID:
        return self.disk.store_id

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        return self.disk.append(batch)

    def read_stream(self, stream: str, **bounds: Any) -> tuple[Recorded, ...]:
        return self.disk.read_stream(stream, **bounds)

    def read(self, **bounds: Any) -> tuple[Recorded, ...]:
        return self.disk.read(**bounds)

    def head(self) -> int:
        return self.disk.head()

    def close(self) -> None:
        pass

    @classmethod
    def with_clock(cls, clock: Clock) -> Self:
        return cls(clock=clock)

    def another(self) -> Self:
        return type(self)(self.disk)

    def reopen(self) -> Self:
        return type(self)(self.disk)


@breaks("a log that is opened again has lost nothing")
class LosesTheLastCommit(_Handle):
    def reopen(self) -> Self:
        kept = InMemoryStore(store_id=self.disk.store_id)
        *commits, _ = self.disk.read()
        for event in commits:
            kept.append([StreamAppend(event.stream, Expect.ANY, [envelope(event)])])
        return type(self)(kept)


@breaks("a log that is opened again is the same log")
class IsAnotherWhenOpenedAgain(_Handle):
    changed: UUID | None = None

    @property
    def store_id(self) -> UUID:
        return self.changed or self.disk.store_id

    def reopen(self) -> Self:
        again = super().reopen()
        again.changed = uuid4()
        return again


@breaks("a retry is recognised after the log was opened again")
class ForgetsIdsWhenClosed(_Handle):
    was_closed = False

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        return self.disk.append(batch)._replace(duplicate=False) if self.was_closed else self.disk.append(batch)

    def reopen(self) -> Self:
        again = super().reopen()
        again.was_closed = True
        return again


@breaks("the head is the log's, whoever wrote last")
class KnowsItsOwnHead(_Handle):
    def __init__(self, disk: InMemoryStore | None = None, *, clock: Clock | None = None) -> None:
        super().__init__(disk, clock=clock)
        self.own = self.disk.head()

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        answer = self.disk.append(batch)
        self.own = max(self.own, *answer.positions, 0)
        return answer

    def head(self) -> int:
        return self.own


@breaks("what another object wrote is read at once")
class ReadsWhatItKnew(KnowsItsOwnHead):
    def head(self) -> int:
        return self.disk.head()

    def read(self, **bounds: Any) -> tuple[Recorded, ...]:
        return tuple(event for event in self.disk.read(**bounds) if event.position <= self.own)


@breaks("versions are the log's, whoever wrote last")
class RemembersVersions(_Handle):
    def __init__(self, disk: InMemoryStore | None = None, *, clock: Clock | None = None) -> None:
        super().__init__(disk, clock=clock)
        self.versions: dict[str, int] = {}

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        known = [
            entry._replace(expected=Expect.ANY) if self.versions.get(entry.stream) == entry.expected else entry
            for entry in batch
        ]
        answer = self.disk.append(known)
        self.versions |= {event.stream: event.version for event in answer.events}
        return answer


@breaks("objects on one log take turns")
class LocksItselfAlone(_Handle):
    def __init__(self, disk: InMemoryStore | None = None, *, clock: Clock | None = None) -> None:
        super().__init__(disk, clock=clock)
        self.lock = threading.Lock()

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        with self.lock:
            found = [len(self.disk.read_stream(entry.stream)) for entry in batch]
            time.sleep(0.001)
            unguarded = [
                entry._replace(expected=Expect.ANY) if entry.expected == version else entry
                for entry, version in zip(batch, found, strict=True)
            ]
            return self.disk.append(unguarded)


class _Dating(_Handle):
    """Dates events anew when they are read and answered."""

    def dated(self, event: Recorded) -> Recorded:
        raise NotImplementedError

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        answer = self.disk.append(batch)
        return answer._replace(events=tuple(map(self.dated, answer.events)))

    def read(self, **bounds: Any) -> tuple[Recorded, ...]:
        return tuple(map(self.dated, self.disk.read(**bounds)))

    def read_stream(self, stream: str, **bounds: Any) -> tuple[Recorded, ...]:
        return tuple(map(self.dated, self.disk.read_stream(stream, **bounds)))


@breaks("time stands still when the clock steps back")
class FollowsTheClockBack(_Dating):
    def __init__(self, disk: InMemoryStore | None = None, *, clock: Clock | None = None) -> None:
        super().__init__(disk, clock=clock)
        self.seen: dict[int, int] = {}
        self.clock = clock

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        if self.clock is not None:
            now = int(self.clock.now().timestamp() * 1_000_000)
            count = sum(len(entry.events) for entry in batch)
            self.seen |= dict.fromkeys(range(self.disk.head() + 1, self.disk.head() + 1 + count), now)
        return super().append(batch)

    def dated(self, event: Recorded) -> Recorded:
        return event._replace(recorded_at=self.seen.get(event.position, event.recorded_at))


@breaks("one append has one instant")
class DatesEachEvent(_Dating):
    def dated(self, event: Recorded) -> Recorded:
        return event._replace(recorded_at=event.recorded_at + event.position)


HANDLES = listed(
    LosesTheLastCommit,
    IsAnotherWhenOpenedAgain,
    ForgetsIdsWhenClosed,
    KnowsItsOwnHead,
    ReadsWhatItKnew,
    RemembersVersions,
    LocksItselfAlone,
    FollowsTheClockBack,
    DatesEachEvent,
)
"""Broken stores by name: those whose log does not outlive, or is not shared by, the object that holds it."""
