"""Stores that fail at transactions or at erasure."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from engram_core.chain import commitment
from engram_core.ports import Appended, Recorded, StreamAppend
from engram_core.stores.in_memory import InMemoryStore
from engram_core.testing.zoo.base import breaks, listed

__all__ = ["WHOLES"]


class _Erasing(InMemoryStore):
    """Asks what an erasure reaches, and what it leaves, so that a fault can answer wrongly."""

    def _erase(self, owner: str, marker: str) -> tuple[Recorded, ...]:
        erased = tuple(self.without(event, marker) for event in self._events if self.reaches(owner, event))
        self._erased.update((event.position, event) for event in erased)
        return erased

    def reaches(self, owner: str, event: Recorded) -> bool:
        return event.owner == owner

    def without(self, event: Recorded, marker: str) -> Recorded:
        return event._replace(data=marker)


@breaks("a transaction that raises leaves nothing")
class CommitsInAnyCase(InMemoryStore):
    def _roll_back(self) -> None:
        self._visible = len(self._events)


@breaks("a transaction that raises gives its ids back")
class KeepsIdsOfRollbacks(InMemoryStore):
    def _roll_back(self) -> None:
        kept = dict(self._positions)
        super()._roll_back()
        self._positions = kept

    def _stored(self, ids: Sequence[str]) -> dict[str, Recorded]:
        return {
            id: self._events[min(self._positions[id], len(self._events)) - 1] for id in ids if id in self._positions
        }


@breaks("a transaction is hidden until its end")
class ShowsTooEarly(InMemoryStore):
    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        answer = super().append(batch)
        if self._owned():
            self._shown = True
        return answer

    _shown = False

    def head(self) -> int:
        return len(self._events)


@breaks("a transaction sees its own appends")
class HidesFromItself(InMemoryStore):
    def head(self) -> int:
        return self._visible


@breaks("appends of a transaction are all there at its end")
class LosesTheSecondAppend(InMemoryStore):
    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._count = 0
        with super().transaction():
            yield
        self._count = 0

    _count = 0

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        if self._owned():
            self._count += 1
            if self._count == 2:
                return Appended(())
        return super().append(batch)


@breaks("between a look and an append in a transaction, nobody else writes")
class LocksNothing(InMemoryStore):
    @contextmanager
    def transaction(self) -> Iterator[None]:
        yield
        time.sleep(0.0005)
        self._visible = len(self._events)


@breaks("transactions do not nest, and say so")
class Nests(InMemoryStore):
    @contextmanager
    def transaction(self) -> Iterator[None]:
        if self._owned():
            yield
            return
        with super().transaction():
            yield


@breaks("an erasure takes the payload away")
class KeepsErasedData(InMemoryStore):
    def erase(self, owner: str, marker: str) -> tuple[Recorded, ...]:
        return tuple(event._replace(data=marker) for event in self._events if event.owner == owner)


@breaks("an erasure reaches every stream that holds the owner's payloads")
class ErasesOneStream(_Erasing):
    def reaches(self, owner: str, event: Recorded) -> bool:
        return owner == event.owner == event.stream


@breaks("an erasure spares what others own in the same stream")
class ErasesTheWholeStream(_Erasing):
    def reaches(self, owner: str, event: Recorded) -> bool:
        return owner in {event.owner, event.stream}


@breaks("an erasure keeps the commitment")
class RecommitsErased(_Erasing):
    def without(self, event: Recorded, marker: str) -> Recorded:
        return event._replace(data=marker, commitment=commitment(marker))


@breaks("an erasure writes the marker it was given")
class ErasesToNothing(InMemoryStore):
    def erase(self, owner: str, marker: str) -> tuple[Recorded, ...]:
        return super().erase(owner, "")


@breaks("an erasure keeps the rows and their positions")
class RemovesErasedTails(InMemoryStore):
    def erase(self, owner: str, marker: str) -> tuple[Recorded, ...]:
        answer = super().erase(owner, marker)
        while self._events and self._events[-1].owner == owner:
            event = self._events.pop()
            self._streams[event.stream].pop()
            del self._positions[event.id]
        self._visible = len(self._events)
        return answer


@breaks("a retry is recognised after erasure")
class ForgetsErasedIds(InMemoryStore):
    def erase(self, owner: str, marker: str) -> tuple[Recorded, ...]:
        answer = super().erase(owner, marker)
        for event in answer:
            self._positions.pop(event.id, None)
        return answer


@breaks("a retry restores nothing that was erased")
class RestoresErasedData(InMemoryStore):
    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        answer = super().append(batch)
        if answer.duplicate and not self._owned():
            new = {event.id: event for entry in batch for event in entry.events}
            for event in answer.events:
                self._events[event.position - 1] = event._replace(data=new[event.id].data)
        return answer


@breaks("an erasure that is rolled back did not happen")
class ErasesAtOnce(InMemoryStore):
    def erase(self, owner: str, marker: str) -> tuple[Recorded, ...]:
        answer = super().erase(owner, marker)
        for event in answer:
            self._events[event.position - 1] = event
        return answer


@breaks("a scrub that nobody blocks succeeds")
class NeverScrubs(InMemoryStore):
    def scrub(self) -> bool:
        return False


WHOLES = listed(
    CommitsInAnyCase,
    KeepsIdsOfRollbacks,
    ShowsTooEarly,
    HidesFromItself,
    LosesTheSecondAppend,
    LocksNothing,
    Nests,
    KeepsErasedData,
    ErasesOneStream,
    ErasesTheWholeStream,
    RecommitsErased,
    ErasesToNothing,
    RemovesErasedTails,
    ForgetsErasedIds,
    RestoresErasedData,
    ErasesAtOnce,
    NeverScrubs,
)
"""Broken stores by name: those whose transactions or erasures do not hold."""
