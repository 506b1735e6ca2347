"""How values look in JSON: one encoder and one strict decoder for each type of field. Used by the codec alone.

A class is written as an object of its fields, those at their default left out. Reading coerces nothing: text stays
text, a boolean is no number, an unknown field is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

from attrs import NOTHING, fields

from engram_core import commands, state
from engram_core.forms import (
    ACTOR,
    BOOL,
    EVIDENCE,
    ILL_FORMED,
    INSTANT,
    INT,
    LIFETIME,
    LINK,
    NUMBER,
    RAW,
    RELATION,
    TEXT,
    VALIDITY,
    VISIBILITY,
    Form,
    WireError,
    enum_form,
    form_of,
    many,
    optional,
    read_actor,
    read_evidence,
    read_instant,
    read_items,
    read_object,
    read_rows,
    read_text,
    several,
    whole,
    write_actor,
    write_instant,
    write_text,
)
from engram_core.vocab import ArchiveReason, FieldGroup, StoredStatus

__all__ = [
    "WireError",
    "decode",
    "decode_command",
    "decode_group",
    "encode",
    "encode_command",
    "encode_group",
    "read_actor",
    "write_actor",
    "write_text",
]

T = TypeVar("T")


# -- values with a form of their own ---------------------------------------------------------------


def _object(cls: type[Any]) -> Form:
    return form_of(cls, lambda v: encode(v), lambda v: decode(cls, v))  # noqa: PLW0108 (defined below)


def _supported(ref: Any, actor: Any, at: Any) -> state.Supported:
    return state.Supported(read_evidence(ref), None if actor is None else read_actor(actor), read_instant(at))


_LINKS: Final = form_of(
    Mapping,
    lambda v: [[*LINK[0](link), whole(at)] for link, at in v.items()],
    lambda v: {LINK[1](row[:2]): whole(row[2]) for row in read_rows(v, 3)},
)
_RESOLUTION: Final = form_of(
    state.Resolution,
    lambda v: [write_text(v.keep), whole(v.position)],
    lambda v: state.Resolution(read_text(read_items(v, 2)[0]), whole(v[1])),
)
_RESOLVED: Final = form_of(
    Mapping,
    lambda v: {write_text(other): _RESOLUTION[0](r) for other, r in v.items()},
    lambda v: {other: _RESOLUTION[1](pair) for other, pair in read_object(v).items()},
)
_CONFIRMED: Final = form_of(
    Mapping,
    lambda v: {write_actor(actor): write_instant(at) for actor, at in v.items()},
    lambda v: {read_actor(actor): read_instant(at) for actor, at in read_object(v).items()},
)
_DISPUTES: Final = form_of(
    frozenset,
    lambda v: sorted([write_actor(actor), write_text(ground)] for actor, ground in v),
    lambda v: frozenset((read_actor(actor), read_text(ground)) for actor, ground in read_rows(v, 2)),
)
_GROUPS: Final = form_of(
    Mapping,
    lambda v: {group.value: encode_group(group, value) for group, value in v.items()},
    lambda v: {FieldGroup(name): decode_group(FieldGroup(name), raw) for name, raw in read_object(v).items()},
)
_COMMAND: Final = (lambda v: encode_command(v), lambda v: decode_command(v))  # noqa: PLW0108 (defined below)

_FIELDS: Final[Mapping[str, Form]] = {
    "str": TEXT,
    "int": INT,
    "float": NUMBER,
    "bool": BOOL,
    "datetime": INSTANT,
    "Actor": ACTOR,
    "EvidenceRef": EVIDENCE,
    "Lifetime": LIFETIME,
    "Visibility": VISIBILITY,
    "Validity": VALIDITY,
    "Relation": RELATION,
    "ArchiveReason": enum_form(ArchiveReason),
    "StoredStatus": enum_form(StoredStatus),
    "Mapping[str, Any]": RAW,
    "Mapping[FieldGroup, Any]": _GROUPS,
    "Mapping[Link, int]": _LINKS,
    "Mapping[str, Resolution]": _RESOLVED,
    "Mapping[Actor, datetime]": _CONFIRMED,
    "frozenset[tuple[Actor, str]]": _DISPUTES,
    "frozenset[str]": form_of(frozenset, lambda v: sorted(map(write_text, v)), lambda v: frozenset(many(TEXT)[1](v))),
    "tuple[str, ...]": many(TEXT),
    "tuple[int, ...]": many(INT),
    "tuple[Link, ...]": many(LINK),
    "tuple[EvidenceRef, ...]": many(EVIDENCE),
    "tuple[tuple[str, str], ...]": many(several(TEXT, TEXT)),
    "tuple[tuple[int, int], ...]": many(several(INT, INT)),
    "tuple[tuple[str, datetime], ...]": many(several(TEXT, INSTANT)),
    "tuple[tuple[str, int, datetime], ...]": many(several(TEXT, INT, INSTANT)),
    "Any": _COMMAND,
}


# -- classes ----------------------------------------------------------------------------------------


_Writer: TypeAlias = tuple[str, Any, Callable[[Any], Any]]
_Reader: TypeAlias = tuple[type | None, Callable[[Any], Any]]
_Plan: TypeAlias = tuple[tuple[_Writer, ...], Mapping[str, _Reader]]
_plans: dict[type[Any], _Plan] = {}  # a cache of what the classes say; computing it twice is harmless


def _plan(cls: type[Any]) -> _Plan:
    """Of each field of a class: its name, its default, and how it is written; of which type it is as it is, or read."""
    known = _plans.get(cls)
    if known is None:
        known = _plans[cls] = _planned(cls)
    return known


def _planned(cls: type[Any]) -> _Plan:
    writers: list[_Writer] = []
    readers: dict[str, _Reader] = {}
    for attribute in fields(cls):
        default = attribute.default
        factory = getattr(default, "factory", None)
        if factory is not None:
            default = factory()
        base, (enc, dec) = _annotated(str(attribute.type))
        writers.append((attribute.name, default, enc))
        readers[attribute.name] = _PLAIN.get(base), dec
    return tuple(writers), readers


_PLAIN: Final = {"str": str, "int": int, "bool": bool}
"""Sorts of which every value is right that JSON has of their type."""


def _annotated(annotation: str) -> tuple[str, Form]:
    """The sort of a field, and how it is written; UNSET is never written, and None where it is allowed."""
    names = annotation.split(" | ")
    (base,) = (name for name in names if name not in ("None", "Unset"))
    return base, optional(_FIELDS[base]) if "None" in names else _FIELDS[base]


def encode(value: Any) -> dict[str, Any]:
    """An object of JSON for an attrs value, without the fields that are at their default.

    Raises: WireError for a value that `decode` would refuse.
    """
    out = {}
    name = ""
    try:
        for name, default, enc in _plan(type(value))[0]:
            field_value = getattr(value, name)
            if field_value is not default and (default is NOTHING or field_value != default):
                out[name] = enc(field_value)
    except ILL_FORMED as error:
        raise WireError(f"{type(value).__name__}.{name}: {error}") from error
    return out


def decode(cls: type[T], raw: Any) -> T:
    """The value of an attrs class from its object of JSON.

    Raises: WireError for an unknown, missing or ill-formed field.
    """
    readers = _plan(cls)[1]
    given = {}
    for name, value in read_object(raw).items():
        found = readers.get(name)
        if found is None:
            raise WireError(f"{cls.__name__} has no field {name!r}")
        plain, reader = found
        try:
            given[name] = value if type(value) is plain else reader(value)
        except ILL_FORMED as error:
            raise WireError(f"{cls.__name__}.{name}: {error}") from error
    try:
        return cls(**given)
    except TypeError as error:
        raise WireError(f"{cls.__name__}: {error}") from error


_GROUP_CODECS: Final[Mapping[FieldGroup, Form]] = {
    FieldGroup.TEXT: _object(state.Text),
    FieldGroup.ATTRIBUTES: _object(state.Payload),
    FieldGroup.TAGS: many(TEXT),
    FieldGroup.EDGES: _object(state.Edges),
    FieldGroup.CONFIDENCE: _object(state.Belief),
    FieldGroup.EVIDENCE: many(
        form_of(
            state.Supported,
            lambda v: [EVIDENCE[0](v.ref), None if v.actor is None else write_actor(v.actor), write_instant(v.at)],
            lambda v: _supported(*read_items(v, 3)),
        )
    ),
    FieldGroup.IMPORTANCE: _object(state.Importance),
    FieldGroup.LIFECYCLE: _object(state.Life),
    FieldGroup.VISIBILITY: VISIBILITY,
    FieldGroup.LIFETIME: LIFETIME,
    FieldGroup.VALIDITY: VALIDITY,
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
    name = type(command).__name__
    if _COMMANDS.get(name) is not type(command):
        raise WireError(f"{name} is no command")
    return {"command": name, **encode(command)}


def decode_command(raw: Any) -> Any:
    """A command from its JSON."""
    given = dict(read_object(raw))
    name = given.pop("command", None)
    cls = _COMMANDS.get(name) if isinstance(name, str) else None
    if cls is None:
        raise WireError(f"{name!r} is no known command")
    return decode(cls, given)
