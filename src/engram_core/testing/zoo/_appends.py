"""Stores that fail at appending: the wrong decision, the wrong place, or not all of it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from engram_core.chain import genesis, plan_append
from engram_core.errors import ConcurrencyError, DuplicateEvent
from engram_core.ports import Appended, Expect, NewEvent, Recorded, StreamAppend
from engram_core.stores.in_memory import InMemoryStore
from engram_core.testing.zoo.base import breaks, listed

__all__ = ["APPENDS"]

Batch = Sequence[StreamAppend]


def _new(batch: Batch) -> list[NewEvent]:
    return [event for entry in batch for event in entry.events]


class _Expecting(InMemoryStore):
    """Changes what was expected before the honest store sees it."""

    def append(self, batch: Batch) -> Appended:
        return super().append([entry._replace(expected=self.believed(entry)) for entry in batch])

    def believed(self, entry: StreamAppend) -> int | Expect:
        return entry.expected


@breaks("all or nothing: a batch that fails writes nothing")
class NotAtomic(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        if len(batch) < 2:
            return super().append(batch)
        answers = [super(NotAtomic, self).append([entry]) for entry in batch]
        return Appended(
            tuple(event for answer in answers for event in answer.events), all(answer.duplicate for answer in answers)
        )


@breaks("a conflict is an error that the caller sees")
class SwallowsConflicts(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        try:
            return super().append(batch)
        except ConcurrencyError:
            return Appended(())


@breaks("an expected version is compared with the stream's")
class IgnoresVersions(_Expecting):
    def believed(self, entry: StreamAppend) -> int | Expect:
        return Expect.ANY if isinstance(entry.expected, int) else entry.expected


@breaks("expecting 0 means that the stream must not exist")
class TakesZeroForAny(_Expecting):
    def believed(self, entry: StreamAppend) -> int | Expect:
        return entry.expected or Expect.ANY


@breaks("an expected version is neither too low nor too high")
class AllowsVersionsAhead(_Expecting):
    def believed(self, entry: StreamAppend) -> int | Expect:
        version = len(self.read_stream(entry.stream))
        return version if isinstance(entry.expected, int) and entry.expected > version else entry.expected


@breaks("Expect.EXISTS refuses a stream that does not exist")
class TakesExistsForAny(_Expecting):
    def believed(self, entry: StreamAppend) -> int | Expect:
        return Expect.ANY if entry.expected is Expect.EXISTS else entry.expected


@breaks("Expect.ANY accepts a stream that does not exist")
class TakesAnyForExists(_Expecting):
    def believed(self, entry: StreamAppend) -> int | Expect:
        return Expect.EXISTS if entry.expected is Expect.ANY else entry.expected


@breaks("Expect.ANY accepts a stream that exists")
class TakesAnyForNew(_Expecting):
    def believed(self, entry: StreamAppend) -> int | Expect:
        return 0 if entry.expected is Expect.ANY else entry.expected


@breaks("the expectation of every stream of a batch counts")
class ChecksTheFirstStreamOnly(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        return super().append([*batch[:1], *(entry._replace(expected=Expect.ANY) for entry in batch[1:])])


@breaks("an entry without events guards its stream's version")
class IgnoresGuards(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        return super().append([entry for entry in batch if entry.events])


@breaks("the conflict is about the first expectation that fails")
class BlamesTheLastStream(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        try:
            return super().append(batch)
        except ConcurrencyError:
            super().append(batch[::-1])
            raise


@breaks("a conflict tells the version that was found")
class TellsAWrongVersion(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        try:
            return super().append(batch)
        except ConcurrencyError as error:
            raise ConcurrencyError(error.stream, error.expected, error.expected) from None


@breaks("an event id is stored once")
class StoresIdsTwice(InMemoryStore):
    def _stored(self, ids: Sequence[str]) -> dict[str, Recorded]:
        return {}


@breaks("a retry after a lost answer succeeds")
class RefusesRetries(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        answer = super().append(batch)
        if answer.duplicate:
            raise DuplicateEvent("stored already")
        return answer


@breaks("a retry is recognised before its expectations are looked at")
class ChecksBeforeRetries(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        for entry in batch:
            version = len(self.read_stream(entry.stream))
            if isinstance(entry.expected, int) and entry.expected != version:
                raise ConcurrencyError(entry.stream, entry.expected, version)
        return super().append(batch)


@breaks("a retry is marked as one")
class HidesRetries(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        return super().append(batch)._replace(duplicate=False)


@breaks("a retry answers with the first recording")
class AnswersRetriesWithNothing(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        answer = super().append(batch)
        return Appended((), duplicate=True) if answer.duplicate else answer


@breaks("a stored id with other bytes is refused")
class TakesAnyBytesForARetry(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        new = _new(batch)
        known = self._stored([event.id for event in new])
        if new and len(known) == len(new):
            return Appended(tuple(known[event.id] for event in new), duplicate=True)
        return super().append(batch)


@breaks("a batch of which some ids are stored is refused")
class SkipsStoredIds(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        known = self._stored([event.id for event in _new(batch)])
        if len(known) < len(_new(batch)):
            batch = [
                entry._replace(events=tuple(event for event in entry.events if event.id not in known))
                for entry in batch
            ]
        return super().append(batch)


@breaks("an id may not be twice in a batch")
class AllowsRepeatedIds(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        return super().append(
            [entry._replace(events=tuple({event.id: event for event in entry.events}.values())) for entry in batch]
        )


@breaks("a stream may not be twice in a batch")
class AllowsRepeatedStreams(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        return super().append(list({entry.stream: entry for entry in batch}.values()))


@breaks("what is refused burns no position")
class LeavesGaps(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        try:
            return super().append(batch)
        except ConcurrencyError:
            self._events.append(self._events[-1])
            self._visible = len(self._events)
            raise


@breaks("versions count from 1 in each stream")
class CountsVersionsOverAll(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        planned = super().append(batch)
        return planned if planned.duplicate else self._changed(planned)

    def _changed(self, planned: Appended) -> Appended:
        events = tuple(event._replace(version=event.position) for event in planned.events)
        for event in events:
            self._events[event.position - 1] = event
        return planned._replace(events=events)


@breaks("positions follow the order of the batch")
class SortsBatches(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        return super().append(sorted(batch, key=lambda entry: entry.stream))


@breaks("an append without events writes nothing")
class MarksEmptyAppends(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        if batch and not _new(batch):
            mark = NewEvent(f"mark {self.head()}", "Mark", 1, "", "{}", b"", 0, "system", "mark")
            super().append([StreamAppend("marks", Expect.ANY, [mark])])
            return Appended(())
        return super().append(batch)


@breaks("streams are told apart by their exact names")
class FoldsStreamNames(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        return super().append([entry._replace(stream=entry.stream.casefold()) for entry in batch])

    def read_stream(
        self, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None, backwards: bool = False
    ) -> tuple[Recorded, ...]:
        return super().read_stream(stream.casefold(), after=after, upto=upto, limit=limit, backwards=backwards)


@breaks("ids are told apart by their exact text")
class TrimsIds(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        return super().append(
            [entry._replace(events=[event._replace(id=event.id.strip()) for event in entry.events]) for entry in batch]
        )


@breaks("threads take turns")
class WritesWithoutALock(InMemoryStore):
    def append(self, batch: Batch) -> Appended:
        planned = plan_append(
            batch,
            head=len(self._events),
            last_recorded_at=self._events[-1].recorded_at if self._events else 0,
            last_link=(self._events[-1].link if self._events else None) or genesis(self._id),
            now=self._now(),
            versions=lambda stream: len(self._streams.get(stream, ())),
            stored=self._stored,
        )
        time.sleep(0.001)
        if not planned.duplicate:
            for event in planned.events:
                self._events.append(event)
                self._streams.setdefault(event.stream, []).append(event.position)
                self._positions[event.id] = event.position
            self._visible = len(self._events)
        return planned


APPENDS = listed(
    NotAtomic,
    SwallowsConflicts,
    IgnoresVersions,
    TakesZeroForAny,
    AllowsVersionsAhead,
    TakesExistsForAny,
    TakesAnyForExists,
    TakesAnyForNew,
    ChecksTheFirstStreamOnly,
    IgnoresGuards,
    BlamesTheLastStream,
    TellsAWrongVersion,
    StoresIdsTwice,
    RefusesRetries,
    ChecksBeforeRetries,
    HidesRetries,
    AnswersRetriesWithNothing,
    TakesAnyBytesForARetry,
    SkipsStoredIds,
    AllowsRepeatedIds,
    AllowsRepeatedStreams,
    LeavesGaps,
    CountsVersionsOverAll,
    SortsBatches,
    MarksEmptyAppends,
    FoldsStreamNames,
    TrimsIds,
    WritesWithoutALock,
)
"""Broken stores by name: those that fail at appending."""
