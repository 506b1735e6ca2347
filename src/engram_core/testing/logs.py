"""Histories of tests as logs: recorded events go into a store as the library itself would have written them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from engram_core.codec import EventCodec, Stamp
from engram_core.events import MemoryCreated, RecordedEvent
from engram_core.kinds import KINDS, Attributes, KindRegistry
from engram_core.ports import Expect, NewEvent, StreamAppend
from engram_core.stores.in_memory import InMemoryStore
from engram_core.testing.clocks import FrozenClock
from engram_core.values import SHARED, STANDARD, to_micros

__all__ = ["encoded", "memory_created", "store_of"]


def memory_created(attributes: Attributes, *, kinds: KindRegistry = KINDS, **fields: Any) -> MemoryCreated:
    """The beginning of a memory, for a history.

    Args:
        attributes: An object of its kind.
        kinds: The registry that knows the kind.
        fields: Other fields of `MemoryCreated`; by default those of a shared memory that a user states.
    """
    spec = kinds.spec(attributes)
    usual: dict[str, Any] = {"confidence": 0.95, "lifetime": STANDARD, "visibility": SHARED}
    begun = {"kind": spec.kind, "attributes": kinds.unstructure(attributes), "attributes_version": spec.version}
    return MemoryCreated(**{**begun, **usual, **fields})


def encoded(recorded: RecordedEvent, codec: EventCodec | None = None) -> NewEvent:
    """A recorded event as it is given to a store; its salt is its id."""
    assert recorded.actor is not None
    stamp = Stamp(
        id=recorded.id,
        owner=recorded.owner,
        occurred_at=to_micros(recorded.occurred_at),
        actor=recorded.actor,
        batch_id=recorded.batch_id,
        salt=recorded.id,
        on_behalf_of=recorded.on_behalf_of,
        session_id=recorded.session_id,
        client=recorded.client,
        causation_id=recorded.causation_id,
    )
    return (codec or EventCodec()).encode(recorded.event, stamp)


def store_of(history: Iterable[RecordedEvent]) -> InMemoryStore:
    """A store in memory that holds a history, commit by commit as its batches say."""
    events = tuple(history)
    clock = FrozenClock(events[0].recorded_at) if events else FrozenClock()
    store = InMemoryStore(clock=clock)
    codec = EventCodec()
    for _, batch in groupby(events, key=lambda event: event.batch_id):
        commit = tuple(batch)
        clock.set(commit[0].recorded_at)
        streams = dict.fromkeys(event.stream for event in commit)
        store.append(
            [
                StreamAppend(stream, Expect.ANY, [encoded(e, codec) for e in commit if e.stream == stream])
                for stream in streams
            ]
        )
    return store
