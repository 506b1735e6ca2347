"""Each rule of the history checker finds a store that breaks it, in what a few callers were told."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from engram_core.errors import ConcurrencyError
from engram_core.ports import Appended, Expect, Recorded, StreamAppend
from engram_core.stores import InMemoryStore
from engram_core.testing import History, appending, problems_of, whole_log

Rows = tuple[Recorded, ...]


class Store(InMemoryStore):
    """A good store, whose log a fault may change before anybody reads it; loses one answer on the way."""

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        if batch[0].events[0].id == "lost 1":
            self.lose(batch)
            raise OSError("the line is dead")
        return super().append(batch)

    def lose(self, batch: Sequence[StreamAppend]) -> None:
        super().append(batch)

    def read(self, *, after: int = 0, upto: int | None = None, limit: int = 1_000) -> Rows:
        return tuple(self.log(super().read()))[after:upto][:limit]

    def log(self, events: Rows) -> Sequence[Recorded]:
        return events


class LeavesAGap(Store):
    def log(self, events: Rows) -> Sequence[Recorded]:
        return [event._replace(position=event.position + (event.position > 2)) for event in events]


class ForgetsVersions(Store):
    def log(self, events: Rows) -> Sequence[Recorded]:
        return [event._replace(version=1) for event in events]


class Doubles(Store):
    def log(self, events: Rows) -> Sequence[Recorded]:
        return [*events, *(event._replace(position=len(events) + 1) for event in events[-1:])]


class TurnsBack(Store):
    def log(self, events: Rows) -> Sequence[Recorded]:
        return [event._replace(recorded_at=-event.position) for event in events]


class Invents(Store):
    def log(self, events: Rows) -> Sequence[Recorded]:
        return [*events, *(event._replace(position=len(events) + 1, id="nobody's") for event in events[-1:])]


class WritesAndRefuses(Store):
    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        try:
            return super().append(batch)
        except ConcurrencyError:
            super().append([entry._replace(expected=Expect.ANY) for entry in batch])
            raise


class Tears(Store):
    def lose(self, batch: Sequence[StreamAppend]) -> None:
        InMemoryStore.append(self, [batch[0]._replace(events=batch[0].events[:1])])


class AlwaysTheFirst(Store):
    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        answer = super().append(batch)
        return Appended(tuple(event._replace(position=place) for place, event in enumerate(answer.events, 1)))


class AnswersOthers(Store):
    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        super().append(batch)
        return Appended(InMemoryStore.read(self, limit=1))


class Loses(Store):
    def log(self, events: Rows) -> Sequence[Recorded]:
        return events[1:]


class Alters(Store):
    def log(self, events: Rows) -> Sequence[Recorded]:
        return [event._replace(data=event.data.upper()) for event in events]


class Deaf(Store):
    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        return super().append([entry._replace(expected=Expect.ANY) for entry in batch])


class LateHead(Store):
    def head(self) -> int:
        return max(0, super().head() - 3)


class EarlyHead(Store):
    def head(self) -> int:
        return super().head() + 5


class LatePages(Store):
    def read(self, *, after: int = 0, upto: int | None = None, limit: int = 1_000) -> Rows:
        found = super().read(after=after, upto=upto, limit=limit)
        return found if limit == 500 else found[:-3]  # the whole log is read honestly


class LateStreams(Store):
    def read_stream(self, stream: str, **bounds: Any) -> Rows:
        return super().read_stream(stream, **bounds)[:-1]


class MixedStreams(Store):
    def read_stream(self, stream: str, **bounds: Any) -> Rows:
        return (*super().read_stream(stream, **bounds), *InMemoryStore.read_stream(self, "b"))


def found_in(store: InMemoryStore) -> tuple[str, ...]:
    """What the checker says of a few calls by two callers."""
    history = History()
    ann, bob = history.watch(store, "ann"), history.watch(store, "bob")
    ann.append([appending("a", "1", "2", expected=0)])
    bob.append([appending("b", "3"), appending("a", "4", expected=2)])
    with suppress(ConcurrencyError):
        ann.append([appending("a", "refused", expected=7)])
    with suppress(OSError):
        bob.append([appending("c", "lost 1", "lost 2")])
    ann.head()
    bob.read(after=1)
    ann.read_stream("a", after=1)
    return problems_of(history, whole_log(store))


def test_a_good_store_has_no_problems() -> None:
    """So what is found below is found for the one fault."""
    assert () == found_in(Store())


@pytest.mark.parametrize(
    ("cls", "complaint"),
    [
        (LeavesAGap, "positions are not dense"),
        (ForgetsVersions, "has version 1 of a, not 2"),
        (Doubles, "is in the log 2 times"),
        (TurnsBack, "time falls at position 2"),
        (Invents, "nobody's is in the log, and nobody appended it"),
        (WritesAndRefuses, "refused is in the log, though it was refused"),
        (Tears, "a part of what bob may have written is in the log"),
        (AlwaysTheFirst, "was given a place before an append that had ended already"),
        (AnswersOthers, "answers other events than were appended"),
        (Loses, "1 was acknowledged to ann, and is lost"),
        (Alters, "1 was acknowledged as"),
        (Deaf, "ann expected a at 7, and appended at 3"),
        (LateHead, "is not between 4 and 6"),
        (EarlyHead, "is not between 4 and 6"),
        (LatePages, "read([1, None, 1000]) -> ok"),
        (LateStreams, "read_stream(['a', 1, None, None, False]) -> ok"),
        (MixedStreams, "is no part of the log, or lacks what had been answered before"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "told",
)
def test_the_rule_finds_it(cls: type[Store], complaint: str) -> None:
    """A store with this fault is complained about in these words."""
    problems = found_in(cls())
    assert any(complaint in problem for problem in problems), problems
