"""How values look in JSON: one encoder and one strict decoder for each type of field. Used by the codec alone.

A class is written as an object of its fields, those at their default left out. Reading coerces nothing: text stays
text, a boolean is no number, an unknown field is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias, TypeVar

from attrs import NOTHING, fields

from engram_core import commands, state
from engram_core.values import (
    UNSET,
    Actor,
    EvidenceRef,
    Lifetime,
    Link,
    Validity,
    Visibility,
    instant_text,
)
from engram_core.vocab import (
    ArchiveReason,
    EvidenceType,
    FieldGroup,
    LifetimeKind,
    Relation,
    StoredStatus,
    VisibilityKind,
)

__all__ = [
    "WireError",
    "decode",
    "decode_command",
    "decode_group",
    "encode",
    "encode_command",
    "encode_group",
    "read_actor",
]

T = TypeVar("T")
_Encode: TypeAlias = Callable[[Any], Any]
_Decode: TypeAlias = Callable[[Any], Any]


class WireError(ValueError):
    """A payload that does not have the form of its class; the message names the field."""


# -- scalars ----------------------------------------------------------------------------------------


def _same(value: Any) -> Any:
    return value


def _exactly(*types: type) -> _Decode:
    names = " or ".join(t.__name__ for t in types)

    def checked(value: Any) -> Any:
        if type(value) not in types:
            raise WireError(f"must be {names}, not {type(value).__name__}")
        return value

    return checked


_text = _exactly(str)
_whole = _exactly(int)


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise WireError(f"must be a number, not {type(value).__name__}")
    return float(value)


def _instant(value: Any) -> datetime:
    parsed = datetime.fromisoformat(_text(value))
    if parsed.tzinfo is None:
        raise WireError("is a naive instant")
    return parsed


def _enum(cls: type[StrEnum]) -> tuple[_Encode, _Decode]:
    return (lambda v: v.value), cls


def _optional(codec: tuple[_Encode, _Decode]) -> tuple[_Encode, _Decode]:
    enc, dec = codec
    return (lambda v: None if v is None else enc(v)), (lambda v: None if v is None else dec(v))


def _many(codec: tuple[_Encode, _Decode]) -> tuple[_Encode, _Decode]:
    enc, dec = codec

    def items(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise WireError(f"must be a list, not {type(value).__name__}")
        return tuple(dec(item) for item in value)

    return (lambda v: [enc(item) for item in v]), items


def _tuple(*codecs: tuple[_Encode, _Decode]) -> tuple[_Encode, _Decode]:
    def items(value: Any) -> tuple[Any, ...]:
        return tuple(codec[1](item) for codec, item in zip(codecs, _items(value, len(codecs)), strict=True))

    return (lambda v: [codec[0](item) for codec, item in zip(codecs, v, strict=True)]), items


def _object(cls: type[Any]) -> tuple[_Encode, _Decode]:
    return _encoded, (lambda v: decode(cls, v))


def _encoded(value: Any) -> dict[str, Any]:
    return encode(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    if type(value) is not dict:
        raise WireError(f"must be an object, not {type(value).__name__}")
    return value


# -- values of the model ----------------------------------------------------------------------------


def read_actor(value: Any) -> Actor:
    """An actor from "kind:id"."""
    kind, _, id = _text(value).partition(":")
    return Actor(kind, id)


def _write_visibility(value: Visibility) -> Any:
    if not value.actors:
        return value.kind.value
    return [value.kind.value, *sorted(str(actor) for actor in value.actors)]


def _read_visibility(value: Any) -> Visibility:
    if type(value) is list and value:
        return Visibility(VisibilityKind(value[0]), frozenset(read_actor(actor) for actor in value[1:]))
    return Visibility(VisibilityKind(value))


def _write_lifetime(value: Lifetime) -> Any:
    return value.kind.value if value.expires_at is None else [value.kind.value, instant_text(value.expires_at)]


def _read_lifetime(value: Any) -> Lifetime:
    if type(value) is list:
        kind, end = _items(value, 2)
        return Lifetime(LifetimeKind(kind), _instant(end))
    return Lifetime(LifetimeKind(value))


def _write_evidence(value: EvidenceRef) -> Any:
    return [value.type.value, value.value] if value.note is None else [value.type.value, value.value, value.note]


def _read_evidence(value: Any) -> EvidenceRef:
    if type(value) is not list or not 2 <= len(value) <= 3:
        raise WireError("must be a list of type, value and perhaps a note")
    return EvidenceRef(EvidenceType(value[0]), _text(value[1]), None if len(value) < 3 else _text(value[2]))


def _items(value: Any, count: int) -> list[Any]:
    if type(value) is not list or len(value) != count:
        raise WireError(f"must be a list of {count}")
    return value


def _rows(value: Any, count: int) -> list[list[Any]]:
    if type(value) is not list:
        raise WireError(f"must be a list, not {type(value).__name__}")
    return [_items(row, count) for row in value]


def _link(relation: Any, target: Any) -> Link:
    return Link(Relation(relation), _text(target))


def _resolution(keep: Any, position: Any) -> state.Resolution:
    return state.Resolution(_text(keep), _whole(position))


def _supported(ref: Any, actor: Any, at: Any) -> state.Supported:
    return state.Supported(_read_evidence(ref), None if actor is None else read_actor(actor), _instant(at))


_TEXT: Final = (_same, _text)
_INT: Final = (_same, _whole)
_NUMBER: Final = (_same, _number)
_BOOL: Final = (_same, _exactly(bool))
_INSTANT: Final = (instant_text, _instant)
_ACTOR: Final = (str, read_actor)
_LINK: Final = (
    lambda v: [v.relation.value, v.target],
    lambda v: _link(*_items(v, 2)),
)
_EVIDENCE: Final = (_write_evidence, _read_evidence)
_LIFETIME: Final = (_write_lifetime, _read_lifetime)
_VISIBILITY: Final = (_write_visibility, _read_visibility)
_VALIDITY: Final = (
    lambda v: [v.valid_from and instant_text(v.valid_from), v.valid_to and instant_text(v.valid_to)],
    lambda v: Validity(*(None if side is None else _instant(side) for side in _items(v, 2))),
)
_RAW: Final = (dict, _mapping)
_LINKS: Final = (
    lambda v: [[link.relation.value, link.target, at] for link, at in v.items()],
    lambda v: {_link(relation, target): _whole(at) for relation, target, at in _rows(v, 3)},
)
_RESOLVED: Final = (
    lambda v: {other: [r.keep, r.position] for other, r in v.items()},
    lambda v: {other: _resolution(*_items(pair, 2)) for other, pair in _mapping(v).items()},
)
_CONFIRMED: Final = (
    lambda v: {str(actor): instant_text(at) for actor, at in v.items()},
    lambda v: {read_actor(actor): _instant(at) for actor, at in _mapping(v).items()},
)
_DISPUTES: Final = (
    lambda v: sorted([str(actor), ground] for actor, ground in v),
    lambda v: frozenset((read_actor(actor), _text(ground)) for actor, ground in _rows(v, 2)),
)
_GROUPS: Final = (
    lambda v: {group.value: encode_group(group, value) for group, value in v.items()},
    lambda v: {FieldGroup(name): decode_group(FieldGroup(name), raw) for name, raw in _mapping(v).items()},
)
_COMMAND: Final = (lambda v: encode_command(v), lambda v: decode_command(v))  # noqa: PLW0108 (defined below)

_FIELDS: Final[Mapping[str, tuple[_Encode, _Decode]]] = {
    "str": _TEXT,
    "int": _INT,
    "float": _NUMBER,
    "bool": _BOOL,
    "datetime": _INSTANT,
    "Actor": _ACTOR,
    "EvidenceRef": _EVIDENCE,
    "Lifetime": _LIFETIME,
    "Visibility": _VISIBILITY,
    "Validity": _VALIDITY,
    "Relation": _enum(Relation),
    "ArchiveReason": _enum(ArchiveReason),
    "StoredStatus": _enum(StoredStatus),
    "Mapping[str, Any]": _RAW,
    "Mapping[FieldGroup, Any]": _GROUPS,
    "Mapping[Link, int]": _LINKS,
    "Mapping[str, Resolution]": _RESOLVED,
    "Mapping[Actor, datetime]": _CONFIRMED,
    "frozenset[tuple[Actor, str]]": _DISPUTES,
    "frozenset[str]": (sorted, lambda v: frozenset(_many(_TEXT)[1](v))),
    "tuple[str, ...]": _many(_TEXT),
    "tuple[int, ...]": _many(_INT),
    "tuple[Link, ...]": _many(_LINK),
    "tuple[EvidenceRef, ...]": _many(_EVIDENCE),
    "tuple[tuple[str, str], ...]": _many(_tuple(_TEXT, _TEXT)),
    "tuple[tuple[int, int], ...]": _many(_tuple(_INT, _INT)),
    "tuple[tuple[str, datetime], ...]": _many(_tuple(_TEXT, _INSTANT)),
    "tuple[tuple[str, int, datetime], ...]": _many(_tuple(_TEXT, _INT, _INSTANT)),
    "Any": _COMMAND,
}


# -- classes ----------------------------------------------------------------------------------------


_Plan: TypeAlias = tuple[tuple[tuple[str, Any, _Encode], ...], Mapping[str, _Decode]]
_plans: dict[type[Any], _Plan] = {}  # a cache of what the classes say; computing it twice is harmless


def _plan(cls: type[Any]) -> _Plan:
    """Of each field of a class: its name, its default, and how it is written and read."""
    known = _plans.get(cls)
    if known is None:
        known = _plans[cls] = _planned(cls)
    return known


def _planned(cls: type[Any]) -> _Plan:
    writers, readers = [], {}
    for attribute in fields(cls):
        default = attribute.default
        factory = getattr(default, "factory", None)
        if factory is not None:
            default = factory()
        enc, dec = _of(str(attribute.type))
        writers.append((attribute.name, default, enc))
        readers[attribute.name] = dec
    return tuple(writers), readers


def _of(annotation: str) -> tuple[_Encode, _Decode]:
    """How a field of an annotation is written; UNSET is never written, and None where it is allowed."""
    names = annotation.split(" | ")
    (base,) = (name for name in names if name not in ("None", "Unset"))
    return _optional(_FIELDS[base]) if "None" in names else _FIELDS[base]


def encode(value: Any) -> dict[str, Any]:
    """An object of JSON for an attrs value, without the fields that are at their default."""
    out = {}
    for name, default, enc in _plan(type(value))[0]:
        field_value = getattr(value, name)
        if field_value is UNSET or (default is not NOTHING and field_value == default):
            continue
        out[name] = enc(field_value)
    return out


def decode(cls: type[T], raw: Any) -> T:
    """The value of an attrs class from its object of JSON.

    Raises: WireError for an unknown, missing or ill-formed field.
    """
    readers = _plan(cls)[1]
    given = {}
    for name, value in _mapping(raw).items():
        reader = readers.get(name)
        if reader is None:
            raise WireError(f"{cls.__name__} has no field {name!r}")
        try:
            given[name] = reader(value)
        except (WireError, ValueError, TypeError, KeyError, IndexError) as error:
            raise WireError(f"{cls.__name__}.{name}: {error}") from error
    try:
        return cls(**given)
    except TypeError as error:
        raise WireError(f"{cls.__name__}: {error}") from error


_GROUP_CODECS: Final[Mapping[FieldGroup, tuple[_Encode, _Decode]]] = {
    FieldGroup.TEXT: _object(state.Text),
    FieldGroup.ATTRIBUTES: _object(state.Payload),
    FieldGroup.TAGS: _many(_TEXT),
    FieldGroup.EDGES: _object(state.Edges),
    FieldGroup.CONFIDENCE: _object(state.Belief),
    FieldGroup.EVIDENCE: _many(
        (
            lambda v: [_write_evidence(v.ref), None if v.actor is None else str(v.actor), instant_text(v.at)],
            lambda v: _supported(*_items(v, 3)),
        )
    ),
    FieldGroup.IMPORTANCE: _object(state.Importance),
    FieldGroup.LIFECYCLE: _object(state.Life),
    FieldGroup.VISIBILITY: _VISIBILITY,
    FieldGroup.LIFETIME: _LIFETIME,
    FieldGroup.VALIDITY: _VALIDITY,
}


def encode_group(group: FieldGroup, value: Any) -> Any:
    """JSON of the whole value of a field group."""
    return _GROUP_CODECS[group][0](value)


def decode_group(group: FieldGroup, raw: Any) -> Any:
    """The whole value of a field group from its JSON."""
    return _GROUP_CODECS[group][1](raw)


_COMMANDS: Final = {cls.__name__: cls for cls in commands.COMMANDS}


def encode_command(command: Any) -> dict[str, Any]:
    """JSON of a command, with its name."""
    return {"command": type(command).__name__, **encode(command)}


def decode_command(raw: Any) -> Any:
    """A command from its JSON."""
    given = dict(_mapping(raw))
    name = given.pop("command", None)
    cls = _COMMANDS.get(name) if isinstance(name, str) else None
    if cls is None:
        raise WireError(f"{name!r} is no known command")
    return decode(cls, given)
