"""Filters become SQL over a row `m` of memories, with every value as a parameter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.filters import Filters, Operator, Span
from engram_core.kinds import Column, KindSpec
from engram_core.kinds.fields import FieldRule, field_rules
from engram_core.kinds.relations import RELATIONS
from engram_core.policy import number_problem
from engram_core.projections.views import attribute_sql
from engram_core.reads.snapshot import Snapshot
from engram_core.reads.walking import kin
from engram_core.values import PartialDate, instant_text
from engram_core.vocab import Status

__all__ = ["Condition", "condition", "recallable_only"]

_SIGNS: Final = {"eq": "=", "ne": "IS NOT", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ORDERED: Final = frozenset({"lt", "le", "gt", "ge"})
_RARE: Final = 2_000  # tags on no more memories than this are where a listing begins; others are asked of each row


class Condition(NamedTuple):
    """SQL that a row `m` must meet, and its parameters."""

    sql: str
    parameters: dict[str, Any]


class _Compiling:
    """Collects terms and parameters."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.terms: list[str] = []
        self.parameters: dict[str, Any] = {}

    def name(self, value: object) -> str:
        """A parameter for the value."""
        name = f"f{len(self.parameters)}"
        self.parameters[name] = value
        return f":{name}"


def recallable_only(snapshot: Snapshot) -> Condition:
    """What is active or stale, and nothing else asked."""
    return condition(snapshot, Filters())


def condition(snapshot: Snapshot, filters: Filters, *, listing: bool = False) -> Condition:
    """The SQL of filters, audience included.

    Args:
        snapshot: Through whose eyes.
        filters: What is wanted.
        listing: Whether the condition has all memories before it, and not a few that were chosen already.

    Raises: InvalidAttributesError when `where` names no field, or compares it with what it cannot hold.
    """
    made = _Compiling(snapshot)
    made.terms.append(_status(snapshot, filters.status))
    if filters.kinds is not None:
        made.terms.append(_of_kinds(filters.kinds))
    if filters.where:
        _where(made, filters)
    made.terms += [_tagged(made, (tag,), listing=listing) for tag in filters.tags]
    if filters.any_tags is not None:
        made.terms.append(_tagged(made, filters.any_tags, listing=listing))
    if filters.min_confidence is not None:
        made.terms.append(f"m.confidence >= {made.name(filters.min_confidence)}")
    if filters.created is not None:
        made.terms += _between(made, filters.created, "m.created_at", "m.created_at")
    if filters.occurred is not None:
        made.terms.append("m.happened_from IS NOT NULL")
        made.terms += _overlap(made, filters.occurred)
    for relation, backwards, id in filters.linked:
        symmetric = RELATIONS[relation].symmetric
        made.terms.append(_linked(made, relation.value, id, backwards=backwards, symmetric=symmetric))
    return Condition(" AND ".join(made.terms), made.parameters)


def _of_kinds(kinds: tuple[str, ...]) -> str:
    """Names of kinds are identifiers; written out, they match the partial indexes on attributes."""
    listed = ", ".join(f"'{kind}'" for kind in kinds)
    return f"m.kind = {listed}" if len(kinds) == 1 else f"m.kind IN ({listed})"


def _safe(made: _Compiling, text: str) -> str:
    """A parameter for text; what no store can hold equals nothing that is stored."""
    return made.name(text.encode("utf-8", "surrogatepass") if _is_foreign(text) else text)


def _is_foreign(text: str) -> bool:
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def _tagged(made: _Compiling, tags: Iterable[str], *, listing: bool) -> str:
    """The row bears one of some tags."""
    first = len(made.parameters)
    listed = ", ".join(_safe(made, tag) for tag in tags)
    if listing:
        given = dict(list(made.parameters.items())[first:])
        counted = f"SELECT count(*) FROM (SELECT 1 FROM tags t WHERE t.tag IN ({listed}) LIMIT {_RARE + 1})"
        if made.snapshot.one(counted, given)[0] <= _RARE:
            return f"m.key IN (SELECT t.key FROM tags t WHERE t.tag IN ({listed}))"
    return f"EXISTS (SELECT 1 FROM tags t WHERE t.tag IN ({listed}) AND t.key = m.key)"


def _status(snapshot: Snapshot, wanted: frozenset[Status] | None) -> str:
    sql = snapshot.sql
    if wanted is None:
        return sql.shown("m")
    if wanted == frozenset({Status.ACTIVE, Status.STALE}):
        return sql.recallable("m")
    listed = ", ".join(f"'{status}'" for status in sorted(wanted))
    return f"{sql.shown('m')} AND {sql.status('m')} IN ({listed})"


def _between(made: _Compiling, span: Span, start: str, end: str) -> Iterator[str]:
    if span.start is not None:
        yield f"{start} >= {made.name(span.start)}"
    if span.end is not None:
        yield f"{end} < {made.name(span.end)}"


def _overlap(made: _Compiling, span: Span) -> Iterator[str]:
    """An episode that lasts is found wherever a part of it lies in the span."""
    if span.start is not None:
        yield f"m.happened_to >= {made.name(span.start)}"
    if span.end is not None:
        yield f"m.happened_from < {made.name(span.end)}"


# -- edges ------------------------------------------------------------------------------------------


def _linked(made: _Compiling, relation: str, id: str, *, backwards: bool, symmetric: bool) -> str:
    """The row has an edge to one memory, or from it; edges of merged memories are those of their survivor."""
    keys = kin(made.snapshot, id)
    if not keys:
        return "0"
    listed, name = made.name(json.dumps(keys)), made.name(relation)
    chosen = []
    for near, far, wanted in (("source", "target", not backwards), ("target", "source", backwards)):
        if wanted or symmetric:
            chosen.append(
                f"SELECT e.{near} FROM links e WHERE e.{far} IN (SELECT value FROM json_each({listed}))"
                f" AND e.relation = {name}"
            )
    ends = " UNION ".join(chosen)
    if made.snapshot.one("SELECT 1 FROM memories s WHERE s.merged_into IS NOT NULL LIMIT 1"):
        traced = made.snapshot.sql.traced("s")
        ends = (
            f"WITH RECURSIVE ends (key) AS (SELECT * FROM ({ends}) UNION"
            " SELECT v.key FROM ends JOIN memories s ON s.key = ends.key JOIN memories v ON v.id = s.merged_into"
            f" WHERE s.merged_into IS NOT NULL AND {traced}) SELECT key FROM ends"
        )
    return f"m.key IN ({ends}) AND m.key NOT IN (SELECT value FROM json_each({listed}))"


# -- attributes -------------------------------------------------------------------------------------


def _where(made: _Compiling, filters: Filters) -> None:
    kinds = made.snapshot.library.kinds
    specs = [spec for spec in kinds if filters.kinds is None or spec.kind in filters.kinds]
    problems: list[Problem] = []
    for name, operator in filters.where:
        holders = [(spec, rule) for spec in specs for rule in field_rules(spec.attributes) if rule.name == name]
        if not holders:
            problems.append(_no_such_field(name, specs))
            continue
        terms: list[str] = []
        wrong: list[str] = []
        for spec, rule in holders:
            try:
                compared = _compared(made, rule, operator)
            except _WrongError as error:
                wrong.append(str(error))
                continue
            terms.append(f"({_of_kinds((spec.kind,))} AND {compared})")
        if terms:
            made.terms.append(f"({' OR '.join(terms)})")
        else:
            problems.append(Problem(f"where.{name}", wrong[0]))
    if problems:
        raise InvalidAttributesError("filters", problems)


def _no_such_field(name: str, specs: list[KindSpec]) -> Problem:
    shown = name if len(name) <= 40 else f"{name[:40]}…"
    listed = ", ".join(dict.fromkeys(rule.name for spec in specs for rule in field_rules(spec.attributes)))
    owner = specs[0].kind if len(specs) == 1 else "any of these kinds"
    return Problem(f"where.{shown}", f"is not a field of {owner}; there are {listed}")


class _WrongError(Exception):
    """Why a field cannot be compared so."""


def _compared(made: _Compiling, rule: FieldRule, operator: Operator) -> str:
    """The comparison of one field, written as the indexes on attributes write it."""
    path = attribute_sql(Column(f"$.{rule.name}", "TEXT"), "m.")
    if operator.name == "unset":
        return f"{path} IS NULL"
    if operator == Operator("ne", (None,)):
        return f"{path} IS NOT NULL"
    sort = rule.sort
    if operator.name == "contains":
        return _contains(made, rule, operator.values[0], path)
    if operator.name == "one_of":
        listed = [_value(rule, value, operator) for value in operator.values]
        return f"{path} IN ({', '.join(_bound(made, value) for value in listed)})" if listed else "0"
    value = _value(rule, operator.values[0], operator)
    if sort == "day" and operator.name in _ORDERED:
        path, value = f"substr({path} || '-01-01', 1, 10)", f"{value}-01-01"[:10]
    return f"{path} {_SIGNS[operator.name]} {_bound(made, value)}"


def _bound(made: _Compiling, value: object) -> str:
    return _safe(made, value) if isinstance(value, str) else made.name(value)


def _contains(made: _Compiling, rule: FieldRule, value: object, path: str) -> str:
    if not isinstance(value, str):
        raise _WrongError(f"contains a text, not {type(value).__name__}")
    if rule.sort == "texts":
        return f"EXISTS (SELECT 1 FROM json_each(m.attributes, '$.{rule.name}') WHERE value = {_safe(made, value)})"
    if rule.sort == "text":
        return f"instr({path}, {_safe(made, value)}) > 0"
    raise _WrongError("contains is for texts and lists; this is a " + _SORTS[rule.sort])


def _value(rule: FieldRule, value: object, operator: Operator) -> object:
    """The stored form of a value that is compared with a field."""
    sort = rule.sort
    if operator.name in _ORDERED and sort in {"word", "flag", "texts"}:
        raise _WrongError(f"{operator.name} needs an order, and a {_SORTS[sort]} has none")
    return _STORED[sort](rule, value)


def _text(_: FieldRule, value: object) -> object:
    from uuid import UUID

    if isinstance(value, UUID):
        return str(value)
    if not isinstance(value, str):
        raise _WrongError(f"must be text, not {type(value).__name__}")
    return str(value)


def _number(_: FieldRule, value: object) -> object:
    problem = number_problem(value)
    if problem:
        raise _WrongError(problem)
    assert isinstance(value, int | float)
    try:
        return float(value)
    except OverflowError:
        raise _WrongError("is too large") from None


def _flag(_: FieldRule, value: object) -> object:
    if not isinstance(value, bool):
        raise _WrongError(f"must be True or False, not {type(value).__name__}")
    return int(value)


def _word(rule: FieldRule, value: object) -> object:
    found = rule.check(value)
    if not isinstance(found, StrEnum):
        raise _WrongError(str(found))
    return found.value


def _instant(rule: FieldRule, value: object) -> object:
    found = rule.check(value)
    if not isinstance(found, datetime):
        raise _WrongError(str(found))
    return instant_text(found)


def _day(rule: FieldRule, value: object) -> object:
    found = rule.check(value)
    if isinstance(found, PartialDate):
        return found.text
    if not isinstance(found, date):
        raise _WrongError(str(found))
    return found.isoformat()


def _texts(_: FieldRule, value: object) -> object:
    if isinstance(value, str):
        raise _WrongError("is a list; use contains(…) for one of its entries")
    if not isinstance(value, list | tuple) or not all(isinstance(entry, str) for entry in value):
        raise _WrongError(f"must be a list of texts, not {type(value).__name__}")
    return json.dumps(list(value), ensure_ascii=False, separators=(",", ":"))


_SORTS: Final = {
    "text": "text",
    "texts": "list",
    "word": "word of a closed vocabulary",
    "number": "number",
    "flag": "flag",
    "instant": "instant",
    "day": "date",
}
_STORED: Final[dict[str, Callable[[FieldRule, object], object]]] = {
    "text": _text,
    "texts": _texts,
    "word": _word,
    "number": _number,
    "flag": _flag,
    "instant": _instant,
    "day": _day,
}
