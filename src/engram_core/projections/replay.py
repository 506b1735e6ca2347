"""The log read again as commits with the states that they made: what a rebuild, a catch-up and a check are fed with."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from engram_core.codec import EventCodec
from engram_core.events import RecordedEvent
from engram_core.folding import fold
from engram_core.ports import EventStore, Recorded
from engram_core.projections.rows import Commit, Rows, Transition, is_memory_stream
from engram_core.state import MemoryState

__all__ = ["PAGE", "Replay", "commits_of"]

PAGE: Final = 1_000
_STATES_KEPT: Final = 4_096


class Replay:
    """Reads a log in whole commits, and folds the memories on the way; states are kept for as long as there is room.

    Args:
        store: The log.
        codec: Reads events.
        rows: Brings older payloads up to date.
        kept: How many states are kept; others are folded again from their streams when they are needed.
    """

    def __init__(self, store: EventStore, codec: EventCodec, rows: Rows, *, kept: int = _STATES_KEPT) -> None:
        self._store = store
        self._decode = codec.decode
        self._upcast = rows.upcast
        self._kept = kept
        self._states: OrderedDict[str, MemoryState] = OrderedDict()

    def commits(self, after: int, upto: int | None = None) -> Iterator[Commit]:
        """The commits after a position, in order, up to `upto` or the head as it is found."""
        for recorded in commits_of(self._store, after, upto):
            yield self.commit(recorded)

    def commit(self, recorded: list[Recorded]) -> Commit:
        """One commit with what it made of its memories."""
        events = tuple(map(self._decode, recorded))
        commands = [(r.command_key, r.batch_id) for r in recorded if r.command_key is not None]
        by_stream: dict[str, list[RecordedEvent]] = {}
        for event in events:
            if is_memory_stream(event.stream):
                by_stream.setdefault(event.stream, []).append(event)
        transitions = []
        for stream, own in by_stream.items():
            before = self._before(stream, own[0].version)
            after = fold(own, before, upcast=self._upcast)
            assert after is not None
            self._states[stream] = after
            transitions.append(Transition(before, after))
        while len(self._states) > self._kept:
            self._states.popitem(last=False)
        return Commit(events, tuple(transitions), tuple(dict.fromkeys(commands)))

    def _before(self, stream: str, version: int) -> MemoryState | None:
        if version == 1:
            return None
        known = self._states.pop(stream, None)
        if known is not None and known.revision == version - 1:
            return known
        return fold(map(self._decode, self._store.read_stream(stream, upto=version - 1)), upcast=self._upcast)


def commits_of(store: EventStore, after: int, upto: int | None = None) -> Iterator[list[Recorded]]:
    """The raw events of the log, commit by commit; the last of each bears the chain's link."""
    commit: list[Recorded] = []
    while True:
        page = store.read(after=after, upto=upto, limit=PAGE)
        if not page:
            break
        for event in page:
            commit.append(event)
            if event.link is not None:
                yield commit
                commit = []
        after = page[-1].position
    if commit:
        # A log that names no commits, or that is read up to the middle of one.
        yield commit
