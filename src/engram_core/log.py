"""The typed log: changes go in with their author, recorded events come out; positions, instants, anchors."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from attrs import frozen

from engram_core import wire
from engram_core.chain import plan_append
from engram_core.codec import EventCodec, Stamp
from engram_core.decider import Change
from engram_core.events import RecordedEvent
from engram_core.ports import Appended, EventStore, IdSource, Recorded, StreamAppend
from engram_core.values import Actor, from_micros, to_micros

__all__ = ["Anchor", "Author", "Decided", "Log", "Written", "command_key"]

_PAGE = 1_000


class Anchor(NamedTuple):
    """A place in the hash chain, to be kept elsewhere: whoever holds it can tell any later change of what lies before.

    Attributes:
        position: The last position that it covers; 0 for an empty log.
        link: The chain's link there, in hexadecimal.
    """

    position: int
    link: str


@frozen(kw_only=True)
class Author:
    """Who writes, and through what.

    Attributes:
        actor: Who does it.
        on_behalf_of: Whose draft it is, when another merges it.
        session_id: The session in which it happens.
        client: The program through which it happens.
    """

    actor: Actor
    on_behalf_of: Actor | None = None
    session_id: str | None = None
    client: str | None = None


class Decided(NamedTuple):
    """A change with its author and the instant at which it happened."""

    change: Change
    author: Author
    occurred_at: datetime


class Written(NamedTuple):
    """What goes in as one batch."""

    decided: Sequence[Decided]
    causation_id: str | None = None
    command_key: str | None = None


def command_key(actor: Actor, command_id: str) -> str:
    """The name under which a repeated command is known: the same command_id of another actor is another command."""
    return sha256(f"{actor.kind}\0{actor.id}\0{command_id}".encode()).hexdigest()[:32]


class Log:
    """One space's log in the model's own terms.

    Args:
        store: Where it is kept.
        codec: How events are written.
        ids: Where event ids come from.
    """

    def __init__(self, store: EventStore, codec: EventCodec, ids: IdSource) -> None:
        self.store = store
        self.codec = codec
        self.ids = ids

    def append(
        self,
        batches: Sequence[Written],
        expected: Mapping[str, int],
        vet: Callable[[tuple[RecordedEvent, ...]], None] | None = None,
    ) -> tuple[RecordedEvent, ...]:
        """Appends batches in one commit.

        Args:
            batches: What is to be written, each under a batch id of its own.
            expected: The version that each stream had when it was decided.
            vet: Is shown the events as they would be recorded, and may raise: then nothing is appended.

        Returns: The recorded events, in order.
        Raises: ConcurrencyError when a stream has moved; StoreError; whatever `vet` raises.
        """
        entries: dict[str, list[tuple[Change, Stamp]]] = {}
        for batch in batches:
            batch_id = ""
            for decided in batch.decided:
                id = str(self.ids())
                batch_id = batch_id or id
                entry = (decided.change, _stamp(id, batch_id, decided, batch))
                entries.setdefault(decided.change.stream, []).append(entry)
        appends = []
        last, value = None, None
        for stream, listed in entries.items():
            made = []
            for change, stamp in listed:
                if change.event is not last:  # one event may happen to many memories
                    last, value = change.event, wire.encode(change.event)
                made.append(self.codec.encode(change.event, stamp, value))
            appends.append(StreamAppend(stream, expected[stream], made))
        items = [item for entry in entries.values() for item in entry]
        if vet is not None:
            vet(self._recorded(self._planned(appends, expected), items))
        return self._recorded(self.store.append(appends), items)

    def _planned(self, appends: Sequence[StreamAppend], expected: Mapping[str, int]) -> Appended:
        """What an append would record, as far as it can be known beforehand."""
        return plan_append(
            appends,
            head=self.store.head(),
            last_recorded_at=0,
            last_link=b"",
            now=max(event.occurred_at for entry in appends for event in entry.events),
            versions=expected.__getitem__,
            stored=lambda _: {},
        )

    def _recorded(self, appended: Appended, items: Sequence[tuple[Change, Stamp]]) -> tuple[RecordedEvent, ...]:
        """Joins what was appended with the events that are at hand, instead of reading the text back."""
        return tuple(
            RecordedEvent(
                change.event,
                r.position,
                r.stream,
                r.version,
                r.id,
                r.type,
                r.schema_version,
                r.owner,
                r.batch_id,
                r.causation_id,
                from_micros(r.occurred_at),
                from_micros(r.recorded_at),
                stamp.actor.kind,
                stamp.actor,
                stamp.on_behalf_of,
                stamp.session_id,
                stamp.client,
                r.link,
            )
            for r, (change, stamp) in zip(appended.events, items, strict=True)
        )

    def stream(self, stream: str, *, after: int = 0, upto: int | None = None) -> tuple[RecordedEvent, ...]:
        """The events of one stream with `after` < version <= `upto`."""
        decode = self.codec.decode
        return tuple(decode(r) for r in self.store.read_stream(stream, after=after, upto=upto))

    def read(self, *, after: int = 0, upto: int | None = None) -> Iterator[RecordedEvent]:
        """The events with `after` < position <= `upto`, in order; pages are fetched as they are needed."""
        decode = self.codec.decode
        for page in self.pages(after=after, upto=upto):
            for r in page:
                yield decode(r)

    def pages(self, *, after: int = 0, upto: int | None = None, size: int = _PAGE) -> Iterator[tuple[Recorded, ...]]:
        """The raw events in pages of at most `size`, up to `upto` or the head as it is found."""
        while True:
            page = self.store.read(after=after, upto=upto, limit=size)
            if not page:
                return
            yield page
            after = page[-1].position

    def batch(self, position: int) -> tuple[RecordedEvent, ...]:
        """The events of the batch that begins at a position."""
        found: list[RecordedEvent] = []
        after = position - 1
        while True:
            page = self.store.read(after=after, limit=64 if not found else _PAGE)
            for r in page:
                if found and r.batch_id != found[0].batch_id:
                    return tuple(found)
                found.append(self.codec.decode(r))
            if not page:
                return tuple(found)
            after = page[-1].position

    def head(self) -> int:
        """The last position."""
        return self.store.head()

    def position_at(self, instant: datetime) -> int:
        """The last position recorded at or before an instant; 0 if there was none. Recorded instants never fall."""
        micros = to_micros(instant)
        low, high = 0, self.store.head()
        while low < high:
            middle = (low + high + 1) // 2
            (found,) = self.store.read(after=middle - 1, limit=1)
            if found.recorded_at <= micros:
                low = middle
            else:
                high = middle - 1
        return low

    def anchor(self) -> Anchor:
        """The end of the hash chain as it stands."""
        head = self.store.head()
        if not head:
            return Anchor(0, "")
        (last,) = self.store.read(after=head - 1, limit=1)
        return Anchor(last.position, (last.link or b"").hex())


def _stamp(id: str, batch_id: str, decided: Decided, batch: Written) -> Stamp:
    author = decided.author
    return Stamp(
        id=id,
        owner=decided.change.owner,
        occurred_at=to_micros(decided.occurred_at),
        actor=author.actor,
        batch_id=batch_id,
        salt=secrets.token_urlsafe(16),
        on_behalf_of=author.on_behalf_of,
        session_id=author.session_id,
        client=author.client,
        causation_id=batch.causation_id,
        command_key=batch.command_key,
    )
