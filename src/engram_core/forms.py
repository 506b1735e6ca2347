"""How single values look in JSON: for each sort one writer and one strict reader. Used by `wire` alone.

A writer refuses whatever its reader would refuse, so that nothing can be written that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from math import isfinite
from typing import Any, Final, TypeAlias

from engram_core.values import (
    SHARED,
    STANDARD,
    Actor,
    EvidenceRef,
    Lifetime,
    Link,
    Validity,
    Visibility,
    ephemeral,
    instant_text,
    permanent,
    private,
)
from engram_core.vocab import EvidenceType, LifetimeKind, Relation, VisibilityKind

__all__ = [
    "ACTOR",
    "BOOL",
    "EVIDENCE",
    "ILL_FORMED",
    "INSTANT",
    "INT",
    "LIFETIME",
    "LINK",
    "NUMBER",
    "RAW",
    "RELATION",
    "TEXT",
    "VALIDITY",
    "VISIBILITY",
    "Form",
    "WireError",
    "enum_form",
    "form_of",
    "many",
    "optional",
    "read_actor",
    "read_evidence",
    "read_instant",
    "read_items",
    "read_object",
    "read_rows",
    "read_text",
    "several",
    "whole",
    "write_actor",
    "write_instant",
    "write_text",
]

_Encode: TypeAlias = Callable[[Any], Any]
_Decode: TypeAlias = Callable[[Any], Any]
Form: TypeAlias = tuple[_Encode, _Decode]
"""How a sort of value is written, and how it is read."""

_DEEPEST: Final = 32


class WireError(ValueError):
    """A payload that does not have the form of its class; the message names the field."""


ILL_FORMED: Final = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
"""What a reader or writer may raise for a value that has not its form."""


# -- scalars ----------------------------------------------------------------------------------------


def _exactly(*types: type) -> _Decode:
    names = " or ".join(t.__name__ for t in types)

    def checked(value: Any) -> Any:
        if type(value) not in types:
            raise WireError(f"must be {names}, not {type(value).__name__}")
        return value

    return checked


read_text = _exactly(str)
whole = _exactly(int)
_flag = _exactly(bool)


def write_text(value: Any) -> Any:
    """Text as it is."""
    return value if isinstance(value, str) else read_text(value)


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise WireError(f"must be a number, not {type(value).__name__}")
    number = float(value)
    if not isfinite(number):
        raise WireError("must be finite")
    return number


def _write_number(value: Any) -> Any:
    _number(value if type(value) is int or not isinstance(value, float) else float(value))
    return value


def read_instant(value: Any) -> datetime:
    """An aware instant, in UTC."""
    parsed = datetime.fromisoformat(read_text(value))
    if parsed.tzinfo is None:
        raise WireError("is a naive instant")
    return parsed if parsed.tzinfo is UTC else parsed.astimezone(UTC)


def write_instant(value: Any) -> Any:
    """An aware instant as text in UTC."""
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise WireError("must be an aware instant")
    return instant_text(value)


def form_of(cls: type, write: _Encode, read: _Decode) -> Form:
    """The forms of a class: what is of another class is not written."""

    def written(value: Any) -> Any:
        if not isinstance(value, cls):
            raise WireError(f"must be {cls.__name__}, not {type(value).__name__}")
        return write(value)

    return written, read


def enum_form(cls: type[StrEnum]) -> Form:
    """A word of a vocabulary."""
    return form_of(cls, lambda v: v.value, _member_of(cls))


def _member_of(cls: type[StrEnum]) -> _Decode:
    """What `cls(value)` gives, by one look into a table where the value is a word of it."""
    members: dict[Any, Any] = {member.value: member for member in cls}

    def read(value: Any) -> Any:
        found = members.get(value) if type(value) is str else None
        return cls(value) if found is None else found

    return read


def optional(codec: Form) -> Form:
    """What may be None."""
    enc, dec = codec
    return (lambda v: None if v is None else enc(v)), (lambda v: None if v is None else dec(v))


def many(codec: Form) -> Form:
    """A tuple of any length."""
    enc, dec = codec

    def items(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise WireError(f"must be a list, not {type(value).__name__}")
        return tuple([dec(item) for item in value])

    return form_of(tuple, lambda v: [enc(item) for item in v], items)


def several(*codecs: Form) -> Form:
    """A tuple of a given length."""

    def items(value: Any) -> tuple[Any, ...]:
        return tuple(codec[1](item) for codec, item in zip(codecs, read_items(value, len(codecs)), strict=True))

    return form_of(tuple, lambda v: [codec[0](item) for codec, item in zip(codecs, v, strict=True)], items)


def read_object(value: Any) -> Mapping[str, Any]:
    """An object of JSON."""
    if type(value) is not dict:
        raise WireError(f"must be an object, not {type(value).__name__}")
    return value


def _write_raw(value: Any, depth: int = 0) -> Any:
    """JSON of the application's own, in which nothing may turn into something else."""
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return _write_number(value) if isinstance(value, float) else value
        case _ if depth == _DEEPEST:
            raise WireError(f"is nested more than {_DEEPEST} deep")
        case list() | tuple():
            return [_write_raw(item, depth + 1) for item in value]
        case Mapping():
            return {write_text(key): _write_raw(item, depth + 1) for key, item in value.items()}
        case _:
            raise WireError(f"cannot hold {type(value).__name__}")


# -- values of the model ----------------------------------------------------------------------------


def read_actor(value: Any) -> Actor:
    """An actor from "kind:id"."""
    return _actor(read_text(value))


@lru_cache(maxsize=1_024)
def _actor(text: str) -> Actor:
    kind, _, id = text.partition(":")
    return Actor(kind, id)


write_actor, _ = ACTOR = form_of(Actor, str, read_actor)


def _write_visibility(value: Visibility) -> Any:
    if not value.actors:
        return value.kind.value
    return [value.kind.value, *sorted(map(write_actor, value.actors))]


_VISIBILITIES: Final = {each.kind.value: each for each in (SHARED, private())}


def _read_visibility(value: Any) -> Visibility:
    if type(value) is str and (found := _VISIBILITIES.get(value)) is not None:
        return found
    if type(value) is list and value:
        return Visibility(VisibilityKind(value[0]), frozenset(read_actor(actor) for actor in value[1:]))
    return Visibility(VisibilityKind(value))


def _write_lifetime(value: Lifetime) -> Any:
    return value.kind.value if value.expires_at is None else [value.kind.value, write_instant(value.expires_at)]


_LIFETIMES: Final = {each.kind.value: each for each in (STANDARD, permanent(), ephemeral())}


def _read_lifetime(value: Any) -> Lifetime:
    if type(value) is str and (found := _LIFETIMES.get(value)) is not None:
        return found
    if type(value) is list:
        kind, end = read_items(value, 2)
        return Lifetime(LifetimeKind(kind), read_instant(end))
    return Lifetime(LifetimeKind(value))


def read_evidence(value: Any) -> EvidenceRef:
    """Evidence from its list."""
    if type(value) is not list or not 2 <= len(value) <= 3:
        raise WireError("must be a list of type, value and perhaps a note")
    return EvidenceRef(EvidenceType(value[0]), read_text(value[1]), None if len(value) < 3 else read_text(value[2]))


def read_items(value: Any, count: int) -> list[Any]:
    """A list of so many."""
    if type(value) is not list or len(value) != count:
        raise WireError(f"must be a list of {count}")
    return value


def read_rows(value: Any, count: int) -> list[list[Any]]:
    """A list of lists of so many each."""
    if type(value) is not list:
        raise WireError(f"must be a list, not {type(value).__name__}")
    return [read_items(row, count) for row in value]


TEXT: Final = (write_text, read_text)
INT: Final = (whole, whole)
NUMBER: Final = (_write_number, _number)
BOOL: Final = (_flag, _flag)
INSTANT: Final = (write_instant, read_instant)
_MAYBE_INSTANT: Final = optional(INSTANT)
_, _relation = RELATION = enum_form(Relation)
LINK: Final = form_of(
    Link,
    lambda v: [RELATION[0](v.relation), write_text(v.target)],
    lambda v: Link(_relation(read_items(v, 2)[0]), read_text(v[1])),
)
EVIDENCE: Final = form_of(
    EvidenceRef,
    lambda v: [v.type.value, v.value] if v.note is None else [v.type.value, v.value, v.note],
    read_evidence,
)
LIFETIME: Final = form_of(Lifetime, _write_lifetime, _read_lifetime)
VISIBILITY: Final = form_of(Visibility, _write_visibility, _read_visibility)
VALIDITY: Final = form_of(
    Validity,
    lambda v: [_MAYBE_INSTANT[0](v.valid_from), _MAYBE_INSTANT[0](v.valid_to)],
    lambda v: Validity(*map(_MAYBE_INSTANT[1], read_items(v, 2))),
)
RAW: Final = form_of(Mapping, _write_raw, read_object)
