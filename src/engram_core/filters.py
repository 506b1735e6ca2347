"""The filters of every read, as values: operators on attributes, and what `find(**filters)` takes, checked.

    find(kind="project", where={"status": one_of("active", "idea"), "target_date": lt("2027")}, tags=["work"])

In `where`, a bare value means `eq` of it, and None means `unset`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from attrs import frozen

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.identity import normal_tag
from engram_core.kinds import KindRegistry, named_relation, relation_names
from engram_core.policy import number_problem
from engram_core.values import Period, canonical_id, instant_problem, to_micros
from engram_core.vocab import Relation, Status

__all__ = [
    "FILTERS",
    "Filters",
    "Operator",
    "Span",
    "contains",
    "eq",
    "ge",
    "gt",
    "id_of",
    "le",
    "lt",
    "ne",
    "one_of",
    "unset",
]

FILTERS: Final = (
    "kind", "where", "tags", "any_tags", "status", "min_confidence", "created", "occurred", "linked", "about",
)  # fmt: skip
"""The names of the filters."""

_RECALLABLE: Final = (Status.ACTIVE, Status.STALE)


@frozen
class Operator:
    """A comparison with an attribute. Made by the functions of this module."""

    name: str
    values: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(repr(value) for value in self.values)})"


def eq(value: object) -> Operator:
    """Equal to the value."""
    return unset() if value is None else Operator("eq", (value,))


def ne(value: object) -> Operator:
    """Anything but the value; an attribute that is not set differs from every value."""
    return Operator("ne", (value,))


def lt(value: object) -> Operator:
    """Less than, or before, the value. A month or a year stands at its first day."""
    return Operator("lt", (value,))


def le(value: object) -> Operator:
    """At most the value."""
    return Operator("le", (value,))


def gt(value: object) -> Operator:
    """More than, or after, the value."""
    return Operator("gt", (value,))


def ge(value: object) -> Operator:
    """At least the value."""
    return Operator("ge", (value,))


def one_of(*values: object) -> Operator:
    """Equal to one of the values, given one by one or as one collection."""
    if len(values) == 1 and isinstance(values[0], list | tuple | set | frozenset):
        values = tuple(values[0])
    return Operator("one_of", values)


def contains(value: str) -> Operator:
    """A text that contains the value to the letter; a list of which one entry is the value."""
    return Operator("contains", (value,))


def unset() -> Operator:
    """Not given, or an empty list."""
    return Operator("unset")


@frozen
class Span:
    """A half-open stretch [start, end) in microseconds since 1970 UTC; None leaves a side open."""

    start: int | None = None
    end: int | None = None


@frozen(kw_only=True)
class Filters:
    """What a read is restricted to, checked and in normal form. Made by `Filters.of`.

    Attributes:
        kinds: Names of kinds; None: all.
        where: Pairs of field and operator.
        tags: All of these.
        any_tags: At least one of these; None: no matter.
        status: One of these; None: any that can be seen.
        min_confidence: Stored confidence, at least.
        created, occurred: Stretches of time; None: whenever.
        linked: Triples of relation, whether it is read backwards, and the id at the other end.
    """

    kinds: tuple[str, ...] | None = None
    where: tuple[tuple[str, Operator], ...] = ()
    tags: tuple[str, ...] = ()
    any_tags: tuple[str, ...] | None = None
    status: frozenset[Status] | None = frozenset(_RECALLABLE)
    min_confidence: float | None = None
    created: Span | None = None
    occurred: Span | None = None
    linked: tuple[tuple[Relation, bool, str], ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any], kinds: KindRegistry) -> Filters:
        """The filters of a call, as given by name.

        Raises: InvalidAttributesError that lists every filter that is wrong.
        """
        problems: list[Problem] = []
        made: dict[str, Any] = {}
        for name, value in given.items():
            reader = _READERS.get(name)
            if reader is None:
                problems.append(Problem(name, f"is no filter; there are {', '.join(FILTERS)}"))
                continue
            try:
                made[name] = reader(value, kinds)
            except _WrongError as error:
                problems.append(Problem(name, str(error)))
            except InvalidAttributesError as error:
                problems += [Problem(name, problem.problem) for problem in error.problems]
        if problems:
            raise InvalidAttributesError("filters", problems)
        linked = made.pop("linked", ()) + made.pop("about", ())
        if "kind" in made:
            made["kinds"] = made.pop("kind")
        return cls(linked=linked, **made)


def id_of(m: object) -> str:
    """The id that a memory is named by: an id itself, or what bears one.

    Raises: InvalidAttributesError for anything else.
    """
    from uuid import UUID

    if isinstance(m, str):
        return canonical_id(m)
    if isinstance(m, UUID):
        return str(m)
    for name in ("memory_id", "id"):
        found = getattr(m, name, None)
        if isinstance(found, str | UUID):
            return canonical_id(str(found))
    problem = f"must be an id, a Memory or a Receipt, not {type(m).__name__}"
    raise InvalidAttributesError("memory", [Problem("id", problem)])


class _WrongError(Exception):
    """What is wrong with one filter."""


def _several(value: object, what: str) -> tuple[Any, ...]:
    """One value or a collection of them, as a tuple."""
    if isinstance(value, str | type):
        return (value,)
    if isinstance(value, Iterable) and not isinstance(value, Mapping | bytes):
        return tuple(value)
    raise _WrongError(f"must be {what} or several, not {type(value).__name__}")


def _kinds(value: object, kinds: KindRegistry) -> tuple[str, ...] | None:
    if value is None:
        return None
    return tuple(dict.fromkeys(kinds.spec(kind).kind for kind in _several(value, "a kind")))


def _where(value: object, _: KindRegistry) -> tuple[tuple[str, Operator], ...]:
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise _WrongError(f"must be a mapping of fields to values or operators, not {type(value).__name__}")
    found = []
    for name, wanted in value.items():
        if not isinstance(name, str):
            raise _WrongError(f"{name!r} is no name of a field")
        if callable(wanted) and getattr(wanted, "__module__", None) == __name__:
            if wanted is not unset:
                raise _WrongError(f"{name}: give {wanted.__name__} a value")
            wanted = unset()
        found.append((name, wanted if isinstance(wanted, Operator) else eq(wanted)))
    return tuple(found)


def _tags(value: object, _: KindRegistry) -> tuple[str, ...]:
    if value is None:
        return ()
    tags = _several(value, "a tag")
    for tag in tags:
        if not isinstance(tag, str):
            raise _WrongError(f"{tag!r} is no tag")
    return tuple(dict.fromkeys(normal_tag(tag) for tag in tags))


def _any_tags(value: object, kinds: KindRegistry) -> tuple[str, ...] | None:
    return None if value is None else _tags(value, kinds)


def _status(value: object, _: KindRegistry) -> frozenset[Status] | None:
    if value is None:
        return None
    found = set()
    for word in _several(value, "a status"):
        try:
            found.add(Status(word))
        except ValueError:
            raise _WrongError(f"{word!r} is none of {', '.join(Status)}") from None
    return frozenset(found)


def _confidence(value: object, _: KindRegistry) -> float | None:
    if value is None:
        return None
    problem = number_problem(value, low=0.0, high=1.0)
    if problem:
        raise _WrongError(problem)
    assert isinstance(value, int | float)
    return float(value)


def _span(value: object, _: KindRegistry) -> Span | None:
    if value is None:
        return None
    if isinstance(value, Period):
        return Span(to_micros(value.start), to_micros(value.end))
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise _WrongError("must be a Period, or a pair of instants (from, to), the end excluded")
    sides = []
    for side in value:
        problem = None if side is None else instant_problem(side)
        if problem:
            raise _WrongError(problem)
        sides.append(to_micros(side) if isinstance(side, datetime) else None)
    start, end = sides
    if start is not None and end is not None and end < start:
        raise _WrongError("must not end before it starts")
    return Span(start, end)


def _linked(value: object, _: KindRegistry) -> tuple[tuple[Relation, bool, str], ...]:
    if value is None:
        return ()
    if not isinstance(value, tuple | list) or len(value) != 2 or not isinstance(value[0], str):
        raise _WrongError("must be a pair of a relation (or its inverse name) and a memory")
    try:
        relation, backwards = named_relation(value[0])
    except KeyError:
        raise _WrongError(f"{value[0]!r} is none of {', '.join(relation_names())}") from None
    return ((relation, backwards, id_of(value[1])),)


def _about(value: object, _: KindRegistry) -> tuple[tuple[Relation, bool, str], ...]:
    return () if value is None else ((Relation.ABOUT, False, id_of(value)),)


_READERS: Final = {
    "kind": _kinds,
    "where": _where,
    "tags": _tags,
    "any_tags": _any_tags,
    "status": _status,
    "min_confidence": _confidence,
    "created": _span,
    "occurred": _span,
    "linked": _linked,
    "about": _about,
}
