"""Compares what was expected with what came, and shows one below the other."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from math import isclose
from typing import Any

from attrs import NOTHING, fields, has

from engram_core.events import Event
from engram_core.values import UNSET

__all__ = ["difference", "equal", "event_lines", "field_lines", "lines"]


def equal(one: Any, other: Any) -> bool:
    """Equality to which the last bits of a float do not count."""
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=0.0, abs_tol=1e-12)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(equal(a, b) for a, b in zip(one, other, strict=True))
    if has(type(one)) and type(one) is type(other):
        return all(equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(type(one)))
    return bool(one == other)


def difference(headline: str, expected: Iterable[str], actual: Iterable[str]) -> str:
    """A headline, and below it what is missing (-), what is there instead (+), and what both have."""
    compared = difflib.ndiff(list(expected), list(actual))
    shown = [line for line in compared if not line.startswith("?")]
    return "\n".join([f"{headline} (- expected, + actual)", *shown])


def event_lines(pairs: Iterable[tuple[str, Event]]) -> list[str]:
    """Events in their streams: a line for each, and one for each field that is not as usual."""
    return [line for stream, event in pairs for line in _told(stream, event)]


def _told(stream: str, event: Event) -> Iterator[str]:
    yield f"{type(event).__name__} in {stream}"
    for attribute in fields(type(event)):
        value, default = getattr(event, attribute.name), attribute.default
        if value is not UNSET and (default is NOTHING or value != default):
            yield f"    {attribute.name} = {value!r}"


def field_lines(values: Mapping[str, Any]) -> list[str]:
    """A line for each named value."""
    return [f"{name} = {value!r}" for name, value in values.items()]


def lines(value: Any) -> list[str]:
    """A line for each item of what has items, else one for all."""
    if isinstance(value, Mapping):
        return field_lines({str(key): item for key, item in value.items()})
    return [repr(item) for item in value] if isinstance(value, list | tuple) else [repr(value)]
