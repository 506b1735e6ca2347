"""What happened to a memory, from its own stream, as far as the viewer may know. Source: model §8, §9.

For those who do not see everything a history starts where the memory last became visible to them; ids of memories that
they may not see are masked, and so is the place of an event in the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from typing import Any, Final

from attrs import fields

from engram_core.audience import may_see
from engram_core.events import (
    ErasedPayload,
    MemoryAbsorbed,
    MemoryCreated,
    MemoryReverted,
    MemoryVisibilityChanged,
    RecordedEvent,
    UnknownEvent,
)
from engram_core.folding import evolve
from engram_core.reads.memories import not_there
from engram_core.reads.snapshot import Snapshot, can_exist
from engram_core.results.accounts import HistoryRow
from engram_core.state import MemoryState
from engram_core.values import UNSET, EvidenceRef, Lifetime, Link, Validity, Visibility
from engram_core.vocab import FieldGroup

__all__ = ["history", "readable", "rows_of", "seen_events", "states"]

_IDS: Final = frozenset({"by", "target", "source", "survivor", "other", "keep", "separated"})
_HIDDEN_FROM_OTHERS: Final = frozenset({"batch_id", "event_ids", "redo"})


def history(snapshot: Snapshot, id: str) -> tuple[HistoryRow, ...]:
    """The events of a memory's life, oldest first.

    Raises: NotFoundError; users are also told of what was deleted, withdrawn or erased.
    """
    return rows_of(snapshot, seen_events(snapshot, id))


def seen_events(snapshot: Snapshot, id: str) -> tuple[RecordedEvent, ...]:
    """The events of a memory's stream that the viewer may know of.

    Raises: NotFoundError.
    """
    actor = snapshot.point.actor
    if snapshot.key(id) is None and not (actor.is_user and _was_there(snapshot, id)):
        raise not_there(id)
    known = snapshot.known
    events = tuple(event for event in snapshot.library.log.stream(id) if event.position <= known)
    return events if snapshot.sees_all else events[_visible_from(snapshot, events) :]


def _was_there(snapshot: Snapshot, id: str) -> bool:
    return can_exist(id) and snapshot.one("SELECT 1 FROM memories m WHERE m.id = :id", {"id": id}) is not None


def _visible_from(snapshot: Snapshot, events: Iterable[RecordedEvent]) -> int:
    """Index of the event by which the memory last became visible to the viewer."""
    start, sees = 0, False
    for place, recorded in enumerate(events):
        seen_by = _visibility(recorded)
        if seen_by is None:
            continue
        now_sees = may_see(snapshot.point.actor, seen_by)
        if now_sees and not sees:
            start = place
        sees = now_sees
    return start


def _visibility(recorded: RecordedEvent) -> Visibility | None:
    match recorded.event:
        case MemoryCreated(visibility=visibility) | MemoryVisibilityChanged(visibility=visibility):
            return visibility
        case MemoryReverted(restored=restored):
            found = restored.get(FieldGroup.VISIBILITY)
            return found if isinstance(found, Visibility) else None
        case _:
            return None


# -- rows -------------------------------------------------------------------------------------------


def rows_of(snapshot: Snapshot, events: Iterable[RecordedEvent]) -> tuple[HistoryRow, ...]:
    """The rows of events that the viewer may know of."""
    listed = list(events)
    visible = None if snapshot.sees_all else _named(snapshot, listed)
    return tuple(_row(recorded, visible) for recorded in listed)


def _named(snapshot: Snapshot, events: Iterable[RecordedEvent]) -> frozenset[str]:
    """Of all ids that the events name, those that the viewer is shown."""
    ids = {id for recorded in events for id in _ids(recorded)}
    rows = snapshot.all(
        f"SELECT m.id FROM memories m WHERE m.id IN (SELECT value FROM json_each(:ids)) AND {snapshot.sql.shown('m')}",
        {"ids": json.dumps(sorted(ids))},
    )
    return frozenset(id for (id,) in rows)


def _ids(recorded: RecordedEvent) -> Iterator[str]:
    event = recorded.event
    for name in _IDS:
        value = getattr(event, name, None)
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            yield from value
    if isinstance(event, MemoryCreated):
        yield from (link.target for link in event.links)


def _row(recorded: RecordedEvent, visible: frozenset[str] | None) -> HistoryRow:
    details, masked = _details(recorded.event, visible)
    everything = visible is None
    return HistoryRow(
        type=recorded.type,
        at=recorded.occurred_at,
        recorded_at=recorded.recorded_at,
        actor=recorded.actor,
        on_behalf_of=recorded.on_behalf_of,
        session_id=recorded.session_id,
        client=recorded.client,
        proposal_id=recorded.causation_id,
        revision=recorded.version,
        details=details,
        masked=masked,
        batch_id=recorded.batch_id if everything else None,
        position=recorded.position if everything else None,
    )


def _details(event: Any, visible: frozenset[str] | None) -> tuple[Mapping[str, Any], bool]:
    """The fields that an event sets, in readable form; and whether something was masked."""
    if isinstance(event, ErasedPayload | UnknownEvent):
        return {}, False
    details: dict[str, Any] = {}
    masked = False
    for attribute in fields(type(event)):
        name, value = attribute.name, getattr(event, attribute.name)
        if value is UNSET or value == attribute.default or name == "attributes_version":
            continue
        if visible is not None and name in _HIDDEN_FROM_OTHERS:
            continue
        if name in _IDS and visible is not None:
            kept, hidden = _masked(value, visible)
            masked = masked or hidden
            details[name] = kept
        elif name == "links" and isinstance(event, MemoryCreated):
            shown = [link for link in value if visible is None or link.target in visible]
            if shown:
                details[name] = readable(shown)
        elif name == "restored":
            details[name] = tuple(sorted(str(group) for group in value))
        else:
            details[name] = readable(value)
    if isinstance(event, MemoryAbsorbed) and masked:
        details = {"source": None}
    elif masked:  # what was said about a hidden memory may repeat its words
        details = {name: value for name, value in details.items() if name not in ("note", "evidence")}
    return details, masked


def _masked(value: Any, visible: frozenset[str]) -> tuple[Any, bool]:
    if isinstance(value, tuple):
        kept = tuple(id if id in visible else None for id in value)
        return kept, None in kept
    if value is None or value == "both" or value in visible:
        return value, False
    return None, True


def readable(value: Any) -> Any:
    """A value of an event in a form for people and for JSON-minded tools; instants and evidence stay typed."""
    match value:
        case Enum():
            return value.value
        case Link():
            return (value.relation.value, value.target)
        case Visibility():
            return value.kind.value if not value.actors else (value.kind.value, *sorted(map(str, value.actors)))
        case Lifetime() | Validity() | EvidenceRef() | datetime() | str():
            return value
        case Mapping():
            return {str(key): readable(item) for key, item in value.items()}
        case list() | tuple():
            return tuple(readable(item) for item in value)
        case _:
            return value


def states(
    snapshot: Snapshot, events: Iterable[RecordedEvent]
) -> Iterator[tuple[MemoryState | None, RecordedEvent, MemoryState]]:
    """Each event with the state before and after it."""
    state: MemoryState | None = None
    for recorded in events:
        before = state
        state = evolve(before, recorded, upcast=snapshot.library.kinds.upcast)
        if state is not None:
            yield before, recorded, state
