"""What a field of a kind may hold, read from its annotation, and the one place where it is checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

from attrs import NOTHING, Attribute, fields

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.policy import Limits, number_problem
from engram_core.values import DateLike, PartialDate, instant_problem, instant_text, text_problem

__all__ = ["Attributes", "FieldRule", "field_rules", "plain", "within"]

_LIMITS: Final = Limits()
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_RANGE: Final = "engram_core.range"
_BARE: Final = object.__setattr__


class _Wrong(str):
    """What is wrong with a value; a type of its own, since a value may be a string."""

    __slots__ = ()


class FieldRule(NamedTuple):
    """One field of a kind.

    Attributes:
        name: The field's name.
        default: What it holds when it is not given; `attrs.NOTHING` when it must be given.
        check: Maps a value that is not None to its typed form, or to what is wrong with it.
        sort: text, texts, word, number, flag, instant or day.
        vocabulary: The words of a field of the sort word.
    """

    name: str
    default: object
    check: Callable[[Any], Any]
    sort: str
    vocabulary: type[StrEnum] | None = None

    @property
    def is_required(self) -> bool:
        """True when it must be given, and cannot be cleared."""
        return self.default is NOTHING


class Attributes:
    """Base of the attribute classes of all kinds: constructing one checks every field.

    A subclass is decorated with `attrs.frozen` and annotates its fields with `str`, `float`, `bool`, a
    StrEnum, `datetime`, `date | PartialDate` or `tuple[str, ...]`, and with `| None` where one is optional.
    The annotation is the rule; `within(low, high)` as metadata adds a range.

    Raises: InvalidAttributesError that lists all problems, in the order of the fields.
    """

    __slots__ = ()

    def __attrs_post_init__(self) -> None:
        rules = field_rules(self.__class__)
        problems: dict[str, str] = {}
        for name, default, check, _, _ in rules:
            value = getattr(self, name)
            if value is default:
                continue
            typed = check(value) if value is not None else () if default == () else _Wrong("is required")
            if typed is not value:
                if type(typed) is _Wrong:
                    problems[name] = typed
                else:
                    _BARE(self, name, typed)
        for name, problem in self._joint_problems(problems):
            problems.setdefault(name, problem)
        if problems:
            listed = [Problem(rule.name, str(problems[rule.name])) for rule in rules if rule.name in problems]
            raise InvalidAttributesError(type(self).__name__, listed)

    def _joint_problems(self, bad: Mapping[str, str]) -> Iterable[tuple[str, str]]:
        """What is wrong between fields, as (field, problem); those in `bad` failed alone and are not read."""
        return ()


def within(low: float, high: float) -> dict[str, object]:
    """Metadata of a number that must lie in [low, high]."""
    return {_RANGE: (low, high)}


def _rules(cls: type[Any]) -> tuple[FieldRule, ...]:
    hints = get_type_hints(cls)
    return tuple(_rule(attribute, hints[attribute.name]) for attribute in fields(cls))


field_rules: Callable[[type], tuple[FieldRule, ...]] = cache(_rules)
"""The rules of an attribute class, in field order. Raises TypeError when an annotation has no rule."""


def plain(value: object) -> object:
    """The form of a value that JSON can hold; the constructor takes it back, and refuses what has none."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, datetime):
        return value if instant_problem(value) else instant_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, PartialDate):
        return value.text
    return list(value) if isinstance(value, tuple) else value


def _rule(attribute: Attribute[Any], hint: Any) -> FieldRule:
    options = frozenset(get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)) - {NoneType}
    sort: str
    check: Callable[[Any], Any]
    vocabulary: type[StrEnum] | None = None
    if options == {str}:
        sort = "text"
        check = _needed_text if attribute.default is NOTHING else _text
    elif options == {tuple[str, ...]}:
        sort, check = "texts", _texts
    elif options == {float}:
        sort, check = "number", partial(_number, bounds=attribute.metadata.get(_RANGE, (None, None)))
    elif options == {bool}:
        sort, check = "flag", _flag
    elif options == {datetime}:
        sort, check = "instant", _instant
    elif options == {date, PartialDate}:
        sort, check = "day", _day
    elif len(options) == 1 and isinstance(word := next(iter(options)), type) and issubclass(word, StrEnum):
        sort, check, vocabulary = "word", partial(_word, vocabulary=word), word
    else:
        raise TypeError(f"{attribute.name}: no rule for a field of type {hint}")
    return FieldRule(attribute.name, attribute.default, check, sort, vocabulary)


def _needed_text(value: object) -> object:
    text = str.__str__(value).strip() if isinstance(value, str) else value
    problem = text_problem(text, at_most=_LIMITS.statement, blank=False)
    return _Wrong(problem) if problem else text


def _text(value: Any) -> object:
    problem = text_problem(value, at_most=_LIMITS.text)
    if problem:
        return _Wrong(problem)
    return value if type(value) is str else str.__str__(value)


def _texts(value: object) -> object:
    if not isinstance(value, tuple | list):
        return _Wrong(f"must be a list of texts, not {type(value).__name__}")
    if len(value) > _LIMITS.aliases:
        return _Wrong(f"has {len(value):,} entries; at most {_LIMITS.aliases:,} are allowed")
    wrong = "; ".join(_entry_problems(value))
    return _Wrong(wrong) if wrong else tuple(str.__str__(entry) for entry in value)


def _entry_problems(entries: Iterable[object]) -> Iterator[str]:
    for place, entry in enumerate(entries, start=1):
        problem = text_problem(entry, at_most=_LIMITS.statement, blank=False)
        if problem:
            yield f"entry {place} {problem}"


def _word(value: object, *, vocabulary: type[StrEnum]) -> object:
    if type(value) is vocabulary:
        return value
    if not isinstance(value, str):
        return _Wrong(f"must be one of {', '.join(vocabulary)}, not {type(value).__name__}")
    try:
        return vocabulary(value)
    except ValueError:
        shown = value if len(value) <= 40 else f"{value[:40]}…"
        return _Wrong(f"{shown!r} is none of {', '.join(vocabulary)}")


def _number(value: Any, *, bounds: tuple[float | None, float | None]) -> object:
    problem = number_problem(value, low=bounds[0], high=bounds[1])
    if problem:
        return _Wrong(problem)
    try:
        # Adding 0.0 makes one zero of two, so that equal values have equal text.
        return float(value) + 0.0
    except OverflowError:
        return _Wrong("is too large")


def _flag(value: object) -> object:
    return value if type(value) is bool else _Wrong(f"must be True or False, not {type(value).__name__}")


def _instant(value: Any) -> object:
    if type(value) is datetime and value.tzinfo is UTC:
        return value
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return _Wrong("is no ISO 8601 instant, such as 2026-03-05T14:30:00Z")
    problem = instant_problem(value)
    return _Wrong(problem) if problem else value.astimezone(UTC)


def _day(value: object) -> object:
    if isinstance(value, PartialDate) or type(value) is date:
        return value
    if isinstance(value, datetime):
        return _Wrong("must be a date, not an instant: its day depends on the time zone")
    if isinstance(value, date):
        return date(value.year, value.month, value.day)
    if not isinstance(value, str):
        return _Wrong(f"must be a date, a PartialDate or ISO text, not {type(value).__name__}")
    try:
        return _iso_day(value)
    except ValueError:
        return _Wrong('is no date of the form "2026", "2026-03" or "2026-03-05"')


def _iso_day(text: str) -> DateLike:
    return date.fromisoformat(text) if _DAY.fullmatch(text) else PartialDate(text)
