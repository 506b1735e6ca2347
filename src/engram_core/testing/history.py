"""Records what threads and processes did with a store, and proves from it that the store kept its promises.

Each call is noted when it begins and when it ends: ok, fail (refused, so nothing may be written) or unknown
(the answer was lost, so all or nothing may be). A history may be kept in a file, line by line, which a killed
process leaves behind complete but for its last call; the files of several processes are checked together.
"""

from __future__ import annotations

import json
import os
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

from engram_core.errors import ConcurrencyError, DuplicateEvent, StoreReadOnly
from engram_core.ports import Appended, EventStore, Expect, Recorded, StreamAppend

__all__ = ["Call", "History", "WatchedStore", "problems_of"]

_REFUSALS = (ConcurrencyError, DuplicateEvent, StoreReadOnly, ValueError)


class Call:
    """One call of a store.

    Attributes:
        who: Thread or process that called.
        what: "append", "read", "read_stream" or "head".
        asked: What was asked, in plain values.
        began, ended: Nanoseconds of the machine's monotonic clock; `ended` is None if no answer came.
        outcome: "ok", "fail" or "unknown".
        answer: What was answered, in plain values.
    """

    __slots__ = ("answer", "asked", "began", "ended", "outcome", "what", "who")

    def __init__(self, who: str, what: str, asked: Any, began: int) -> None:
        self.who = who
        self.what = what
        self.asked = asked
        self.began = began
        self.ended: int | None = None
        self.outcome = "unknown"
        self.answer: Any = None

    def __repr__(self) -> str:
        return f"{self.who} {self.what}({self.asked}) -> {self.outcome} {self.answer}"


class History:
    """The calls of many users of one log.

    Args:
        path: A file to which each line is written at once; without it, the history is kept in memory.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._lock = threading.Lock()
        self._numbers = count()
        self._lines: list[dict[str, Any]] = []
        self._file = None if path is None else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def watch(self, store: EventStore, who: str) -> WatchedStore:
        """The same store, with each call noted under this name."""
        return WatchedStore(store, self, who)

    def close(self) -> None:
        """Closes the file, if there is one."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls noted in memory."""
        return _calls(self._lines)

    @staticmethod
    def load(*paths: str | Path) -> tuple[Call, ...]:
        """The calls noted in files, each by one process."""
        return tuple(call for path in paths for call in _calls(_lines_of(Path(path))))

    def begin(self, who: str, what: str, asked: Any) -> int:
        """Notes that a call begins, and gives its number."""
        with self._lock:
            number = next(self._numbers)
            self._note({"n": number, "who": who, "what": what, "asked": asked, "at": time.monotonic_ns()})
        return number

    def end(self, number: int, outcome: str, answer: Any = None) -> None:
        """Notes how a call ended."""
        at = time.monotonic_ns()
        with self._lock:
            self._note({"n": number, "at": at, "outcome": outcome, "answer": answer})

    def _note(self, line: dict[str, Any]) -> None:
        if self._file is None:
            self._lines.append(line)
        else:
            os.write(self._file, json.dumps(line).encode() + b"\n")


class WatchedStore:
    """A store whose calls are noted; get it by `History.watch`."""

    def __init__(self, store: EventStore, history: History, who: str) -> None:
        self._store = store
        self._history = history
        self._who = who

    @property
    def store_id(self) -> UUID:
        """The store's id."""
        return self._store.store_id

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        """Appends, and notes it."""
        asked = [
            [
                entry.stream,
                entry.expected.value if isinstance(entry.expected, Expect) else entry.expected,
                [[event.id, event.data] for event in entry.events],
            ]
            for entry in batch
        ]
        number = self._history.begin(self._who, "append", asked)
        try:
            answer = self._store.append(batch)
        except _REFUSALS:
            self._history.end(number, "fail")
            raise
        except BaseException:
            self._history.end(number, "unknown")
            raise
        self._history.end(
            number, "ok", {"duplicate": answer.duplicate, "events": [_brief(event) for event in answer.events]}
        )
        return answer

    def read_stream(
        self, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None, backwards: bool = False
    ) -> tuple[Recorded, ...]:
        """Reads a stream, and notes it."""
        number = self._history.begin(self._who, "read_stream", [stream, after, upto, limit, backwards])
        found = self._store.read_stream(stream, after=after, upto=upto, limit=limit, backwards=backwards)
        self._history.end(number, "ok", [_brief(event) for event in found])
        return found

    def read(self, *, after: int = 0, upto: int | None = None, limit: int = 1_000) -> tuple[Recorded, ...]:
        """Reads the log, and notes it."""
        number = self._history.begin(self._who, "read", [after, upto, limit])
        found = self._store.read(after=after, upto=upto, limit=limit)
        self._history.end(number, "ok", [_brief(event) for event in found])
        return found

    def head(self) -> int:
        """Asks for the head, and notes it."""
        number = self._history.begin(self._who, "head", None)
        found = self._store.head()
        self._history.end(number, "ok", found)
        return found

    def close(self) -> None:
        """Closes the store."""
        self._store.close()


def problems_of(history: History | Iterable[Call], log: Sequence[Recorded]) -> tuple[str, ...]:
    """What in a history contradicts the final log, or itself; empty if every promise was kept.

    Args:
        history: All calls that wrote to the log; calls that only read may be left out.
        log: The whole log, read when all calls had ended.

    Returns: One line for each broken promise: what was acknowledged is there once, what was refused is not,
        what was lost is there whole or not at all; positions and versions are dense and follow real time;
        every success is consistent with what was expected; every read is a part of the log, and shows all
        that was answered before.
    """
    calls = tuple(history.calls if isinstance(history, History) else history)
    return (*_shape(log), *_writes(calls, log), *_reads(calls, log))


def _brief(event: Recorded) -> list[Any]:
    return [event.position, event.stream, event.version, event.id, event.data]


def _lines_of(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().split(b"\n"):
        try:
            yield json.loads(line)
        except ValueError:
            return  # the line during which the process was killed


def _calls(lines: Iterable[Mapping[str, Any]]) -> tuple[Call, ...]:
    calls: dict[int, Call] = {}
    for line in lines:
        if "what" in line:
            calls[line["n"]] = Call(line["who"], line["what"], line["asked"], line["at"])
        else:
            call = calls[line["n"]]
            call.ended, call.outcome, call.answer = line["at"], line["outcome"], line["answer"]
    return tuple(calls.values())


def _shape(log: Sequence[Recorded]) -> Iterator[str]:
    if [event.position for event in log] != list(range(1, len(log) + 1)):
        yield "positions are not dense"
    versions: Counter[str] = Counter()
    for event in log:
        versions[event.stream] += 1
        if event.version != versions[event.stream]:
            yield f"{event.id} has version {event.version} of {event.stream}, not {versions[event.stream]}"
    for id, times in Counter(event.id for event in log).items():
        if times > 1:
            yield f"{id} is in the log {times} times"
    for before, after in pairwise(log):
        if after.recorded_at < before.recorded_at:
            yield f"time falls at position {after.position}"


def _writes(calls: Sequence[Call], log: Sequence[Recorded]) -> Iterator[str]:
    places = {event.id: event for event in log}
    appends = [call for call in calls if call.what == "append"]
    acked = {event[3] for call in appends if call.outcome == "ok" for event in call.answer["events"]}
    asked = {id for call in appends for _, _, events in call.asked for id, _ in events}
    possible = {id for call in appends if call.outcome != "fail" for _, _, events in call.asked for id, _ in events}
    for event in log:
        if event.id not in asked:
            yield f"{event.id} is in the log, and nobody appended it"
        elif event.id not in possible:
            yield f"{event.id} is in the log, though it was refused"
    for call in appends:
        wanted = [(stream, id, data) for stream, _, events in call.asked for id, data in events]
        found = [places[id] for _, id, _ in wanted if id in places]
        if call.outcome == "ok":
            yield from _acknowledged(call, wanted, places)
        elif call.outcome == "unknown" and not acked.intersection(id for _, id, _ in wanted):
            first = found[0].position if found else 0
            if found and [event.position for event in found] != list(range(first, first + len(wanted))):
                yield f"a part of what {call.who} may have written is in the log: {call.asked}"
    ended = sorted(
        (call.ended, call.answer["events"][-1][0])
        for call in appends
        if call.outcome == "ok" and call.ended and call.answer["events"]
    )
    latest = 0
    for call in sorted(appends, key=lambda call: call.began):
        if call.outcome == "ok" and call.answer["events"] and not call.answer["duplicate"]:
            while ended and ended[0][0] < call.began:
                latest = max(latest, ended.pop(0)[1])
            if call.answer["events"][0][0] <= latest:
                yield f"{call} was given a place before an append that had ended already"


def _acknowledged(call: Call, wanted: Sequence[tuple[str, str, str]], places: Mapping[str, Recorded]) -> Iterator[str]:
    answered = call.answer["events"]
    if [(stream, id) for stream, id, _ in wanted] != [(event[1], event[3]) for event in answered]:
        yield f"{call} answers other events than were appended"
        return
    for (_, id, data), event in zip(wanted, answered, strict=True):
        if id not in places:
            yield f"{id} was acknowledged to {call.who}, and is lost"
        elif _brief(places[id]) != event or places[id].data != data:
            yield f"{id} was acknowledged as {event}, and is {_brief(places[id])}"
    if call.answer["duplicate"]:
        return
    first = {event[1]: event[2] for event in reversed(answered)}
    for stream, expected, events in call.asked:
        version = first.get(stream, 1) - 1
        if not events or stream not in first:
            continue
        if (isinstance(expected, int) and expected != version) or (expected == "exists" and version == 0):
            yield f"{call.who} expected {stream} at {expected}, and appended at {version}"


def _reads(calls: Sequence[Call], log: Sequence[Recorded]) -> Iterator[str]:
    streams: dict[str, list[list[Any]]] = {}
    whole = [_brief(event) for event in log]
    for event in whole:
        streams.setdefault(event[1], []).append(event)
    due = _Due(calls)
    for call in calls:
        if call.what == "append" or call.outcome != "ok":
            continue
        if call.what == "head":
            newest = due.at(call.began, None)
            if not newest <= call.answer <= len(log):
                yield f"{call} is not between {newest} and {len(log)}"
            continue
        asked = call.asked if call.what == "read_stream" else (None, *call.asked, False)
        stream, after, upto, limit, backwards = asked
        source, place = (whole, 0) if stream is None else (streams.get(stream, []), 2)
        if not _is_part(call.answer, source, place, after, upto, limit, backwards, due.at(call.began, stream)):
            yield f"{call} is no part of the log, or lacks what had been answered before"


class _Due:
    """What had been answered before an instant, and so must be seen after it."""

    def __init__(self, calls: Sequence[Call]) -> None:
        # By stream, None standing for the whole log: instants, and the greatest place answered up to each of them.
        self._instants: dict[str | None, list[int]] = {}
        self._places: dict[str | None, list[int]] = {}
        answered = [(call.ended, call.answer["events"]) for call in calls if call.what == "append" and call.answer]
        for ended, events in sorted((ended, events) for ended, events in answered if ended is not None):
            for position, stream, version, *_ in events:
                self._note(None, ended, position)
                self._note(stream, ended, version)

    def _note(self, stream: str | None, ended: int, place: int) -> None:
        places = self._places.setdefault(stream, [])
        places.append(max(place, places[-1] if places else 0))
        self._instants.setdefault(stream, []).append(ended)

    def at(self, instant: int, stream: str | None) -> int:
        """The greatest position, or version of a stream, that had been answered before the instant."""
        earlier = bisect_left(self._instants.get(stream, []), instant)
        return self._places[stream][earlier - 1] if earlier else 0


def _is_part(
    answer: Sequence[list[Any]],
    source: Sequence[list[Any]],
    place: int,
    after: int,
    upto: int | None,
    limit: int | None,
    backwards: bool,
    due: int,
) -> bool:
    """Whether an answer is what the log gave at a length that was at least `due`."""
    shown = {event[place] for event in answer}
    # Only lengths that could have made a difference need a look: the least, and the one that the answer
    # shows.
    for length in {due, max(due, *shown, 0) if shown else due}:
        rows = [row for row in source[:length] if row[place] > after and (upto is None or row[place] <= upto)]
        rows = (rows[::-1] if backwards else rows)[:limit]
        if list(answer) == rows:
            return True
    return False
