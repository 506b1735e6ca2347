"""The append decision table and the hash chain: pure functions that every store adapter shares.

A commit's link is SHA-256 over the previous link and one line an event. The line is a JSON array of all that
survives erasure, with the commitment to the payload in its stead; so erasing a payload breaks nothing, and
any other change shows. The salt that makes a commitment safe to keep lies inside the payload text, and dies
with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from uuid import UUID

from engram_core.compact import compact_json
from engram_core.errors import ConcurrencyError, DuplicateEvent
from engram_core.ports import Appended, Expect, NewEvent, Recorded, StreamAppend

__all__ = [
    "ERASED_MARKER",
    "chain_link",
    "check_expected",
    "check_repeats",
    "commitment",
    "genesis",
    "place",
    "place_all",
    "plan_append",
]

ERASED_MARKER = '{"erased":true}'
"""What stands in the place of an erased payload."""

_line = compact_json(ascii=True)


def commitment(data: str) -> bytes:
    """SHA-256 of a payload's text, which holds its own salt."""
    return sha256(data.encode()).digest()


def genesis(store_id: UUID) -> bytes:
    """The link before the first commit of a store."""
    return sha256(b"engram_core/1/" + store_id.bytes).digest()


def chain_link(previous: bytes, events: Iterable[Recorded]) -> bytes:
    """The link of a commit: one hash over the previous link and the surviving envelope of each event."""
    digest = sha256(previous)
    for e in events:
        position, stream, version, id, type, schema, owner, _, commit, *rest, _ = e
        line = _line([position, stream, version, id, type, schema, owner, commit.hex(), *rest])
        digest.update(b"\n" + line.encode())
    return digest.digest()


def plan_append(
    batch: Sequence[StreamAppend],
    *,
    head: int,
    last_recorded_at: int,
    last_link: bytes,
    now: int,
    versions: Callable[[str], int],
    stored: Callable[[Sequence[str]], Mapping[str, Recorded]],
) -> Appended:
    """Decides an append against the state under the write lock; the adapter then writes what is new.

    Args:
        batch: What is to be appended.
        head, last_recorded_at, last_link: The log's last position, instant (microseconds) and link.
        now: The store's clock, in microseconds.
        versions: Gives the version of a stream, 0 if there is none.
        stored: Gives those of the named events that are stored, by id.

    Returns: The events to write with contiguous positions, the link on the last; or, when every id was stored
        before by the same call, the first recording and `duplicate=True`, whatever was expected.
    Raises: ValueError for a stream or id that is repeated in the batch; DuplicateEvent when some ids are
        stored, or other bytes; ConcurrencyError for the first expectation that fails. The order of the checks
        counts.
    """
    check_repeats(batch)
    ids = [event.id for entry in batch for event in entry.events]
    known = stored(ids) if ids else {}
    if known:
        return _same_again(batch, ids, known)
    found = [versions(entry.stream) for entry in batch]
    for entry, version in zip(batch, found, strict=True):
        check_expected(entry.stream, entry.expected, version)
    return Appended(place_all(batch, found, head=head, recorded_at=max(last_recorded_at, now), last_link=last_link))


def check_repeats(batch: Sequence[StreamAppend]) -> None:
    """Raises ValueError when a batch names a stream or an event id twice."""
    if len(batch) == 1 and len(batch[0].events) == 1:
        return
    streams = [entry.stream for entry in batch]
    if len(set(streams)) != len(streams):
        raise ValueError("a batch names a stream twice; give each stream one entry")
    ids = [event.id for entry in batch for event in entry.events]
    if len(set(ids)) != len(ids):
        raise ValueError("a batch names an event id twice; give each event an id of its own")


def check_expected(stream: str, expected: int | Expect, actual: int) -> None:
    """Raises ConcurrencyError unless the stream's version is what was expected."""
    if expected is Expect.ANY or (expected is Expect.EXISTS and actual > 0) or expected == actual:
        return
    raise ConcurrencyError(stream, expected.value if isinstance(expected, Expect) else expected, actual)


def place_all(
    batch: Sequence[StreamAppend], versions: Iterable[int], *, head: int, recorded_at: int, last_link: bytes
) -> tuple[Recorded, ...]:
    """The events of a batch at their places after `head`; `versions` are those of its streams, in order."""
    events: list[Recorded] = []
    position = head
    for (stream, _, new), version in zip(batch, versions, strict=True):
        for event in new:
            position += 1
            version += 1
            events.append(place(event, position, stream, version, recorded_at))
    if events:
        # All but the last field, which is the link itself.
        events[-1] = Recorded(*events[-1][:-1], chain_link(last_link, events))
    return tuple(events)


def place(event: NewEvent, position: int, stream: str, version: int, recorded_at: int) -> Recorded:
    """The event at its place, without a link."""
    id, type, schema, owner, data, commit, occurred_at, actor_kind, batch_id, causation, command = event
    return Recorded(
        position,
        stream,
        version,
        id,
        type,
        schema,
        owner,
        data,
        commit,
        occurred_at,
        recorded_at,
        actor_kind,
        batch_id,
        causation,
        command,
        None,
    )


def _same_again(batch: Sequence[StreamAppend], ids: Sequence[str], known: Mapping[str, Recorded]) -> Appended:
    """A retry after a lost answer succeeds with the first recording; any other repeated id is refused."""
    first = known.get(ids[0])
    if first is not None and len(known) == len(ids):
        wanted = [(entry.stream, event) for entry in batch for event in entry.events]
        found = [known[id] for id in ids]
        same = all(
            row.stream == stream and row.position == first.position + offset and _same_event(event, row)
            for offset, ((stream, event), row) in enumerate(zip(wanted, found, strict=True))
        )
        if same:
            return Appended(tuple(found), duplicate=True)
    taken = next(id for id in ids if id in known)
    raise DuplicateEvent(
        f"the event id {taken} is stored already, with other bytes or in another batch",
        hint="retry with the very same batch, or give new events new ids",
        event_id=taken,
    )


def _same_event(event: NewEvent, row: Recorded) -> bool:
    """Whether a row is this event's recording, perhaps with its payload erased since."""
    again = place(event, row.position, row.stream, row.version, row.recorded_at)
    same_envelope = again._replace(data=row.data, link=row.link) == row
    return same_envelope and (row.data == event.data or row.commitment == commitment(event.data))
