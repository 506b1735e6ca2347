"""Events and batches for tests of stores, which neither know nor care what a memory is."""

from __future__ import annotations

import json

from engram_core.chain import commitment
from engram_core.ports import EventStore, Expect, Expected, NewEvent, Recorded, StreamAppend

__all__ = ["appending", "new_event", "whole_log"]


def new_event(
    id: str,
    *,
    owner: str = "a",
    text: str = "",
    data: str | None = None,
    type: str = "Noted",
    schema_version: int = 1,
    occurred_at: int = 1_750_000_000_000_000,
    actor_kind: str = "user",
    batch_id: str | None = None,
    causation_id: str | None = None,
    command_key: str | None = None,
) -> NewEvent:
    """A `NewEvent` with a true commitment; `data` is what is to be stored, or else is made around `text`."""
    if data is None:
        data = json.dumps({"salt": f"salt of {id}", "v": {"text": text}}, ensure_ascii=False)
    return NewEvent(
        id,
        type,
        schema_version,
        owner,
        data,
        commitment(data),
        occurred_at,
        actor_kind,
        batch_id or id,
        causation_id,
        command_key,
    )


def appending(stream: str, *ids: str, expected: Expected = Expect.ANY, text: str = "") -> StreamAppend:
    """An entry that appends plain events of these ids to a stream, which owns them."""
    return StreamAppend(stream, expected, tuple(new_event(id, owner=stream, text=text, batch_id=ids[0]) for id in ids))


def whole_log(store: EventStore, *, page: int = 500) -> tuple[Recorded, ...]:
    """All events of a store, read page by page."""
    found: list[Recorded] = []
    while events := store.read(after=len(found), limit=page):
        found.extend(events)
    return tuple(found)
