"""The query language of `search`: one line of words, phrases and conditions, as a person types it.

    kind:person tag:"two words" is:stale confidence>0.5 created:2026-03 linked:<id> status=active words "a phrase"

| written | means |
| --- | --- |
| `word` | asked as `recall` asks it |
| `"a phrase"` | the text must hold these words in this order, whatever their case |
| `kind:person,fact` | one of these kinds |
| `tag:x`, `tag:"two words"` | this tag; each further one as well |
| `is:stale` | this status (active, stale, expired, superseded, archived), or any; or disputed, undermined, pinned |
| `about:<id>`, `linked:<id>`, `linked:owns:<id>` | an edge about it; any edge or relationship; an edge of that name |
| `created:2026-03`, `occurred:2025..2026` | within the day, month or year, or from the one to the end of the other |
| `created>2026-03`, `created<=2026-03-05` | after its end, before its end; likewise `>=` and `<` |
| `confidence>0.5` | stored confidence; also `>=`, `<`, `<=`, `=`, `!=` |
| `field=value` | an attribute of the kinds asked for; also `!=`, `<`, `<=`, `>`, `>=`, and `~` for "contains" |
| `status:stale` | as `is:stale` |
| `status=active` | the attribute where a kind asked for has it (project, goal); else as `is:active` |

A value with blanks stands in double quotes, and so does a word that would otherwise be read as a condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from attrs import evolve, field, frozen

from engram_core.dates import when
from engram_core.errors import EngramError, InvalidAttributesError, Problem
from engram_core.filters import Filters, Operator, contains, unset
from engram_core.kinds import KindRegistry, relation_names
from engram_core.kinds.fields import field_rules
from engram_core.values import Period
from engram_core.vocab import Status

__all__ = ["Query", "parsed"]

_TOKEN: Final = re.compile(
    r"""(?P<name>[A-Za-z_]+)(?P<sign>:(?!//)|!=|>=|<=|=|>|<|~)(?P<value>(?:"[^"]*"|[^\s"])*)"""
    r"""|"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+)|(?P<open>")"""
)
_SIGNS: Final = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_MARKS: Final = ("disputed", "undermined", "pinned")
_NAMES: Final = ("kind", "tag", "is", "about", "linked", "created", "occurred", "confidence")


@frozen(kw_only=True)
class Query:
    """What a line asks for.

    Attributes:
        words: What is asked as recall asks it, phrases included.
        phrases: What the text must hold.
        filters: All that `find` could have been given.
        marks: "disputed", "undermined", "pinned": what a memory must be besides.
        linked: Ids with which it must have an edge of any sort.
        confidence: Pairs of operator and number for the stored confidence.
    """

    words: str = ""
    phrases: tuple[str, ...] = ()
    filters: Filters = field(factory=Filters)
    marks: frozenset[str] = frozenset()
    linked: tuple[str, ...] = ()
    confidence: tuple[tuple[str, float], ...] = ()


@frozen
class _Reading:
    """A line as far as it was read."""

    kinds: KindRegistry
    now: datetime
    words: list[str] = field(factory=list)
    phrases: list[str] = field(factory=list)
    filters: dict[str, Any] = field(factory=dict)
    fields: list[tuple[str, str, str, int]] = field(factory=list)
    edges: list[tuple[str, str]] = field(factory=list)
    marks: set[str] = field(factory=set)
    linked: list[str] = field(factory=list)
    confidence: list[tuple[str, float]] = field(factory=list)


class _WrongError(Exception):
    """What is wrong with one condition."""


def parsed(text: str, kinds: KindRegistry, now: datetime) -> Query:
    """The meaning of a line.

    Args:
        text: The line; any text is legal but for conditions that make no sense.
        kinds: Whose attributes can be compared.
        now: Aware instant for dates such as "yesterday", read in UTC.

    Raises: InvalidAttributesError that names every condition that is wrong, as it was written.
    """
    reading = _Reading(kinds, now)
    problems: list[Problem] = []
    for token in _TOKEN.finditer(text):
        name, sign, value = token["name"], token["sign"], token["value"]
        if name is None:
            _take_text(token, reading, problems)
            continue
        if not name.islower():
            name = name.lower()
            if name not in _NAMES:
                reading.words.append(token[0].replace('"', " "))  # no condition begins with a capital but one of ours
                continue
        try:
            _take(reading, name, sign, value.replace('"', ""), token.start())
        except _WrongError as error:
            problems.append(_problem(token[0], str(error), token.start()))
        except EngramError as error:
            problems.append(_problem(token[0], error.message, token.start()))
    where, wrong = _where(reading)
    problems += wrong
    filters = Filters()
    if not problems:
        try:
            filters = _filters(reading, where)
        except InvalidAttributesError as error:
            problems += error.problems
    if problems:
        raise InvalidAttributesError("search", problems, hint="put double quotes around what is meant as a word")
    return Query(
        words=" ".join(reading.words),
        phrases=tuple(reading.phrases),
        filters=filters,
        marks=frozenset(reading.marks),
        linked=tuple(reading.linked),
        confidence=tuple(reading.confidence),
    )


def _problem(condition: str, message: str, at: int) -> Problem:
    """What is wrong with a condition, and where it stands, counted from 1."""
    return Problem(condition, f"{message} (character {at + 1})")


def _take_text(token: re.Match[str], reading: _Reading, problems: list[Problem]) -> None:
    if token["open"] is not None:
        problems.append(_problem('"', "is opened and never closed", token.start()))
    elif token["word"] is not None:
        reading.words.append(token["word"])
    elif token["phrase"].strip():
        reading.words.append(token["phrase"])
        reading.phrases.append(" ".join(token["phrase"].split()))


def _take(reading: _Reading, name: str, sign: str, value: str, at: int) -> None:
    if not value:
        raise _WrongError("lacks a value")
    if name in _TIMES:
        _take_time(reading, name, sign, value)
    elif name == "confidence":
        _take_confidence(reading, sign, value)
    elif sign != ":":
        reading.fields.append((name, sign, value, at))
    elif name in _TAKERS:
        _TAKERS[name](reading, value)
    else:
        raise _WrongError(f"is no condition; there are {', '.join(_NAMES)}, and field=value")


def _take_kind(reading: _Reading, value: str) -> None:
    reading.filters.setdefault("kind", []).extend(reading.kinds.spec(kind).kind for kind in value.split(",") if kind)


def _take_tag(reading: _Reading, value: str) -> None:
    reading.filters.setdefault("tags", []).append(value)


def _take_is(reading: _Reading, value: str) -> None:
    if value in _MARKS:
        reading.marks.add(value)
    elif value == "any":
        reading.filters["status"] = None
    elif value in frozenset(Status):
        if reading.filters.get("status", ()) is not None:
            reading.filters.setdefault("status", []).append(value)
    else:
        raise _WrongError(f"{value!r} is none of {', '.join((*Status, 'any', *_MARKS))}")


def _take_about(reading: _Reading, value: str) -> None:
    reading.edges.append(("about", value))


def _take_linked(reading: _Reading, value: str) -> None:
    relation, colon, id = value.partition(":")
    if not colon:
        reading.linked.append(value)
    elif relation in relation_names():
        reading.edges.append((relation, id))
    else:
        raise _WrongError(f"{relation!r} is none of {', '.join(relation_names())}")


_TAKERS: Final[Mapping[str, Callable[[_Reading, str], None]]] = {
    "kind": _take_kind,
    "tag": _take_tag,
    "is": _take_is,
    "status": _take_is,
    "about": _take_about,
    "linked": _take_linked,
}
_TIMES: Final = ("created", "occurred")


def _take_confidence(reading: _Reading, sign: str, value: str) -> None:
    if sign not in _SIGNS:
        raise _WrongError(f"confidence takes {', '.join(_SIGNS)}")
    reading.confidence.append((_SIGNS[sign], _number(value)))


def _number(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        raise _WrongError(f"{value!r} is no number") from None
    if number != number or number in {float("inf"), float("-inf")}:  # noqa: PLR0124
        raise _WrongError(f"{value!r} is no finite number")
    return number


def _take_time(reading: _Reading, name: str, sign: str, value: str) -> None:
    first, dots, last = value.partition("..")
    start = None if dots and not first else _period(first, reading.now)
    end = None if dots and not last else _period(last, reading.now) if dots else start
    span: tuple[datetime | None, datetime | None]
    match sign:
        case ":" | "=":
            span = (None if start is None else start.start, None if end is None else end.end)
        case ">" if start:
            span = (start.end, None)
        case ">=" if start:
            span = (start.start, None)
        case "<" if start:
            span = (None, start.start)
        case "<=" if start:
            span = (None, start.end)
        case _:
            raise _WrongError(f"{name} takes :, =, <, <=, > and >=")
    if dots and sign not in {":", "="}:
        raise _WrongError("a range stands after a colon")
    known = reading.filters.get(name)
    reading.filters[name] = span if known is None else _both(known, span)


def _both(one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[datetime | None, datetime | None]:
    """Where two stretches overlap; nothing, where they do not."""
    starts = [side for side in (one[0], other[0]) if side is not None]
    ends = [side for side in (one[1], other[1]) if side is not None]
    start, end = max(starts, default=None), min(ends, default=None)
    if start is not None and end is not None and end < start:
        end = start
    return start, end


def _period(text: str, now: datetime) -> Period:
    return when(text, zone="UTC", now=now)


# -- attributes -------------------------------------------------------------------------------------


def _where(reading: _Reading) -> tuple[list[tuple[str, Operator]], list[Problem]]:
    """The comparisons of attributes, with values of the sort that the fields of that name hold."""
    wanted = reading.filters.get("kind")
    found, problems = [], []
    for name, sign, value, at in reading.fields:
        sorts = {
            rule.sort
            for spec in reading.kinds
            if wanted is None or spec.kind in wanted
            for rule in field_rules(spec.attributes)
            if rule.name == name
        }
        try:
            if name == "status" and sign == "=" and not sorts:
                _take_is(reading, value)
            elif not sorts:
                raise _WrongError("is not a field of what is asked for")
            else:
                found.append((name, _operator(sorts, sign, value)))
        except _WrongError as error:
            problems.append(_problem(f"{name}{sign}{value}", str(error), at))
    return found, problems


def _operator(sorts: set[str], sign: str, value: str) -> Operator:
    if sign == "~" or (sign == "=" and sorts == {"texts"}):
        return contains(value)
    if value == "unset" and sign in {"=", "!="}:
        return unset() if sign == "=" else Operator("ne", (None,))
    made: object = value
    if "flag" in sorts and value in {"true", "false"}:
        made = value == "true"
    elif sorts == {"flag"}:
        raise _WrongError("must be true or false")
    elif "number" in sorts:
        try:
            made = _number(value)
        except _WrongError:
            if sorts == {"number"}:
                raise
    return Operator(_SIGNS[sign], (made,))


def _filters(reading: _Reading, where: list[tuple[str, Operator]]) -> Filters:
    """The filters of `find`; several comparisons of one field and several edges hold together."""
    made = Filters.of(reading.filters, reading.kinds)
    linked = tuple(
        edge for name, id in reading.edges for edge in Filters.of({"linked": (name, id)}, reading.kinds).linked
    )
    return evolve(made, where=tuple(where), linked=linked)
