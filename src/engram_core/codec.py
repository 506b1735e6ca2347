"""Typed event ⇄ text: literal type names, versions with upcasters, the payload with its author and its salt."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any, Final, TypeAlias

from attrs import field, frozen

from engram_core import events as ev
from engram_core import wire
from engram_core.chain import ERASED_MARKER, commitment
from engram_core.compact import compact_json
from engram_core.errors import HistoryError
from engram_core.ports import NewEvent, Recorded
from engram_core.values import Actor, from_micros
from engram_core.vocab import ActorKind

__all__ = ["VERSIONS", "EventCodec", "EventUpcaster", "Stamp"]

VERSIONS: Final[Mapping[str, int]] = {cls.__name__: 1 for cls in ev.EVENTS}
"""The schema version in which each event type is written. Raising one needs an upcaster from every older version."""

_CLASSES: Final[Mapping[str, type[Any]]] = {cls.__name__: cls for cls in ev.EVENTS}

_ACTOR_KINDS: Final[Mapping[str, ActorKind]] = {kind.value: kind for kind in ActorKind}

_dumps: Final = compact_json(ascii=False)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _no_number(text)


_decoder: Final = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)


def _loads(text: str) -> Any:
    """JSON from its text, without a look for blanks around it, of which our own texts have none."""
    try:
        value, end = _decoder.raw_decode(text)
    except ValueError:
        return _decoder.decode(text)
    return value if end == len(text) else _decoder.decode(text)


_ENVELOPE: Final = frozenset({"by", "v", "salt"})
_AUTHOR: Final = frozenset({"id", "for", "session", "client"})

EventUpcaster: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Makes the payload of the next schema version from that of one version."""


@frozen(kw_only=True)
class Stamp:
    """What the envelope says of an event besides the event: who, when, in which batch, from what cause."""

    id: str
    owner: str
    occurred_at: int
    actor: Actor
    batch_id: str
    salt: str
    on_behalf_of: Actor | None = None
    session_id: str | None = None
    client: str | None = None
    causation_id: str | None = None
    command_key: str | None = None


@frozen
class EventCodec:
    """Writes events and reads them back, from every version ever released.

    Args:
        upcasters: (type, version) → how that version's payload becomes the next one's.
        lenient: Read an unknown type or a newer schema as `UnknownEvent`, instead of refusing it by name.
        versions: The version of each type that is written.
    """

    upcasters: Mapping[tuple[str, int], EventUpcaster] = field(factory=dict)
    lenient: bool = False
    versions: Mapping[str, int] = field(default=VERSIONS)

    def __attrs_post_init__(self) -> None:
        for type_name, current in self.versions.items():
            missing = [v for v in range(1, current) if (type_name, v) not in self.upcasters]
            if missing:
                raise ValueError(f"{type_name} is written in version {current}, but has no upcaster from {missing}")

    def encode(self, event: ev.Event, stamp: Stamp, value: Mapping[str, Any] | None = None) -> NewEvent:
        """The event as a store is given it.

        Args:
            event: The event.
            stamp: What is said of it.
            value: What `wire.encode` made of the same event, if it did already.

        Raises: ValueError for what `decode` would refuse, so that nothing is written that cannot be read.
        """
        by: dict[str, Any] = {"id": stamp.actor.id}
        if stamp.on_behalf_of is not None:
            by["for"] = wire.write_actor(stamp.on_behalf_of)
        if stamp.session_id is not None:
            by["session"] = wire.write_text(stamp.session_id)
        if stamp.client is not None:
            by["client"] = wire.write_text(stamp.client)
        data = _dumps({"by": by, "v": wire.encode(event) if value is None else value, "salt": stamp.salt})
        name = type(event).__name__
        if _CLASSES.get(name) is not type(event):
            raise wire.WireError(f"{name} is no event that is written")
        return NewEvent(
            stamp.id,
            name,
            self.versions[name],
            stamp.owner,
            data,
            commitment(data),
            stamp.occurred_at,
            stamp.actor.kind.value,
            stamp.batch_id,
            stamp.causation_id,
            stamp.command_key,
        )

    def decode(self, r: Recorded) -> ev.RecordedEvent:
        """The event as the model knows it.

        Raises: HistoryError for an unknown type, a newer schema, or a payload that does not have its form.
        """
        try:
            return self._decoded(r)
        except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise HistoryError(
                f"the payload of {r.type} at position {r.position} does not have its form: {error}",
                code="history_payload",
                hint="run verify(); the log was changed by something else",
                position=r.position,
                type=r.type,
            ) from error

    def _decoded(self, r: Recorded) -> ev.RecordedEvent:
        kind = _ACTOR_KINDS.get(r.actor_kind)
        if kind is None:
            raise HistoryError(
                f"position {r.position} is by an actor of the unknown kind {r.actor_kind!r}",
                hint="upgrade engram-core-memory",
                position=r.position,
                type=r.type,
            )
        if r.data == ERASED_MARKER:
            return _stamped(r, ev.ErasedPayload(r.type), kind, None, {})
        current = self.versions.get(r.type)
        if current is None or r.schema_version > current:
            if self.lenient:
                return _stamped(r, ev.UnknownEvent(r.type, r.schema_version, r.data), kind, None, {})
            known = "a newer schema of" if current is not None else "the unknown type"
            raise HistoryError(
                f"position {r.position} holds {known} {r.type} (version {r.schema_version})",
                hint="upgrade engram-core-memory, or open the log leniently to skip and report it",
                position=r.position,
                type=r.type,
                schema_version=r.schema_version,
            )
        envelope = _fields(_loads(r.data), _ENVELOPE)
        by = _fields(envelope["by"], _AUTHOR)
        if type(by["id"]) is not str or (len(by) > 1 and any(type(value) is not str for value in by.values())):
            raise ValueError("the author is not made of text")
        raw = envelope["v"]
        if r.schema_version < current:
            raw = self._upcast(r, raw, current)
        return _stamped(r, wire.decode(_CLASSES[r.type], raw), kind, _actor(kind, by["id"]), by)

    def _upcast(self, r: Recorded, raw: Any, current: int) -> Any:
        for version in range(r.schema_version, current):
            upcaster = self.upcasters.get((r.type, version))
            if upcaster is None:
                raise ValueError(f"there is no version {version}")
            try:
                raw = upcaster(raw)
            except Exception as error:
                raise HistoryError(
                    f"{r.type} at position {r.position} could not be brought from version {version} to {version + 1}:"
                    f" {error!r}",
                    code="upcaster_failed",
                    position=r.position,
                    type=r.type,
                    schema_version=r.schema_version,
                ) from error
        return raw


def _fields(value: Any, known: frozenset[str]) -> Mapping[str, Any]:
    """An object of JSON that has no other fields than these."""
    if type(value) is not dict:
        raise ValueError(f"an envelope must be an object, not {type(value).__name__}")
    if not value.keys() <= known:
        raise ValueError(f"an envelope has no field {', '.join(sorted(value.keys() - known))}")
    return value


@lru_cache(maxsize=1_024)
def _actor(kind: ActorKind, id: str) -> Actor:
    return Actor(kind, id)


def _stamped(
    r: Recorded, event: ev.Event, kind: ActorKind, actor: Actor | None, by: Mapping[str, Any]
) -> ev.RecordedEvent:
    drafter = by.get("for")
    return ev.RecordedEvent(
        event,
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
        kind,
        actor,
        None if drafter is None else wire.read_actor(drafter),
        by.get("session"),
        by.get("client"),
        r.link,
    )
