"""Stores that keep something else than they were given, or number, date or link it wrongly."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from uuid import UUID, uuid4

from engram_core.ports import Appended, NewEvent, Recorded, StreamAppend
from engram_core.stores.in_memory import InMemoryStore
from engram_core.testing.zoo.base import breaks, listed

__all__ = ["RECORDS"]


class _Altering(InMemoryStore):
    """Alters events on their way in."""

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        return super().append(
            [entry._replace(events=[self.altered(entry.stream, event) for event in entry.events]) for entry in batch]
        )

    def altered(self, stream: str, event: NewEvent) -> NewEvent:
        return event


class _Rewriting(InMemoryStore):
    """Alters events as they are recorded, in the log and in the answer."""

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        planned = super().append(batch)
        if planned.duplicate:
            return planned
        events = tuple(self.rewritten(event, planned.events) for event in planned.events)
        for event in events:
            self._events[event.position - 1] = event
        return planned._replace(events=events)

    def rewritten(self, event: Recorded, events: Sequence[Recorded]) -> Recorded:
        return event


@breaks("payloads are not parsed and written anew")
class ReformatsJson(_Altering):
    def altered(self, stream: str, event: NewEvent) -> NewEvent:
        try:
            return event._replace(data=json.dumps(json.loads(event.data)))
        except ValueError:
            return event


@breaks("payloads are kept beyond a NUL")
class CutsAtNul(_Altering):
    def altered(self, stream: str, event: NewEvent) -> NewEvent:
        return event._replace(data=event.data.split("\x00")[0])


@breaks("payloads keep the white space around them")
class TrimsPayloads(_Altering):
    def altered(self, stream: str, event: NewEvent) -> NewEvent:
        return event._replace(data=event.data.strip())


@breaks("payloads keep their code points")
class NormalisesLetters(_Altering):
    def altered(self, stream: str, event: NewEvent) -> NewEvent:
        return event._replace(data=unicodedata.normalize("NFC", event.data))


@breaks("payloads of any length are kept whole")
class CutsLongPayloads(_Altering):
    def altered(self, stream: str, event: NewEvent) -> NewEvent:
        return event._replace(data=event.data[:65_535])


@breaks("the owner is kept")
class TakesTheStreamForTheOwner(_Altering):
    def altered(self, stream: str, event: NewEvent) -> NewEvent:
        return event._replace(owner=stream)


@breaks("causes are kept")
class ForgetsCauses(_Altering):
    def altered(self, stream: str, event: NewEvent) -> NewEvent:
        return event._replace(causation_id=None)


@breaks("command keys are kept, and their absence is")
class EmptiesCommandKeys(_Altering):
    def altered(self, stream: str, event: NewEvent) -> NewEvent:
        return event._replace(command_key=event.command_key or "")


@breaks("instants keep their microseconds and their sign")
class RoundsInstants(_Altering):
    def altered(self, stream: str, event: NewEvent) -> NewEvent:
        return event._replace(occurred_at=event.occurred_at // 1_000 * 1_000)


@breaks("schema versions are kept")
class ForgetsSchemaVersions(_Altering):
    def altered(self, stream: str, event: NewEvent) -> NewEvent:
        return event._replace(schema_version=1)


@breaks("batch ids are kept")
class ForgetsBatches(_Altering):
    def altered(self, stream: str, event: NewEvent) -> NewEvent:
        return event._replace(batch_id=event.id)


@breaks("recorded_at never falls")
class LetsTimeFall(_Rewriting):
    def rewritten(self, event: Recorded, events: Sequence[Recorded]) -> Recorded:
        return event._replace(recorded_at=event.recorded_at - 1_000_000 * event.position)


@breaks("recorded_at is the store's own time")
class RecordsTheCallersTime(_Rewriting):
    def rewritten(self, event: Recorded, events: Sequence[Recorded]) -> Recorded:
        return event._replace(recorded_at=event.occurred_at)


@breaks("positions count from 1")
class CountsPositionsFromZero(_Rewriting):
    def rewritten(self, event: Recorded, events: Sequence[Recorded]) -> Recorded:
        return event._replace(position=event.position - 1)


@breaks("versions count from 1")
class CountsVersionsFromZero(_Rewriting):
    def rewritten(self, event: Recorded, events: Sequence[Recorded]) -> Recorded:
        return event._replace(version=event.version - 1)


@breaks("the last event of an append carries the link")
class ForgetsLinks(_Rewriting):
    def rewritten(self, event: Recorded, events: Sequence[Recorded]) -> Recorded:
        return event._replace(link=None)


@breaks("only the last event of an append carries a link")
class LinksEveryEvent(_Rewriting):
    def rewritten(self, event: Recorded, events: Sequence[Recorded]) -> Recorded:
        return event._replace(link=events[-1].link)


@breaks("a link is over the one before it")
class StartsTheChainAnew(_Rewriting):
    def rewritten(self, event: Recorded, events: Sequence[Recorded]) -> Recorded:
        return event._replace(link=event.link and bytes(reversed(event.link)))


@breaks("the answer is what is stored")
class AnswersOtherwise(InMemoryStore):
    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        planned = super().append(batch)
        return planned._replace(events=tuple(event._replace(link=None) for event in planned.events))


@breaks("the answer is in the order of positions")
class AnswersBackwards(InMemoryStore):
    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        planned = super().append(batch)
        return planned._replace(events=planned.events[::-1])


@breaks("the store's id stays")
class ChangesItsId(InMemoryStore):
    @property
    def store_id(self) -> UUID:
        return uuid4()


@breaks("two logs have two ids")
class SharesItsId(InMemoryStore):
    def __init__(self) -> None:
        super().__init__(store_id=UUID(int=7))


@breaks("two logs share no event")
class SharesItsEvents(InMemoryStore):
    # Those of the store that was made before it; so the fault shows where two are made, and nowhere else.
    _before: SharesItsEvents | None = None

    def __init__(self) -> None:
        super().__init__()
        before, SharesItsEvents._before = SharesItsEvents._before, self
        if before is not None and not before._closed:
            self._events, self._streams, self._positions = before._events, before._streams, before._positions
            self._visible = before._visible

    def close(self) -> None:
        super().close()
        SharesItsEvents._before = None


RECORDS = listed(
    ReformatsJson,
    CutsAtNul,
    TrimsPayloads,
    NormalisesLetters,
    CutsLongPayloads,
    TakesTheStreamForTheOwner,
    ForgetsCauses,
    EmptiesCommandKeys,
    RoundsInstants,
    ForgetsSchemaVersions,
    ForgetsBatches,
    LetsTimeFall,
    RecordsTheCallersTime,
    CountsPositionsFromZero,
    CountsVersionsFromZero,
    ForgetsLinks,
    LinksEveryEvent,
    StartsTheChainAnew,
    AnswersOtherwise,
    AnswersBackwards,
    ChangesItsId,
    SharesItsId,
    SharesItsEvents,
)
"""Broken stores by name: those that record something else than they should."""
