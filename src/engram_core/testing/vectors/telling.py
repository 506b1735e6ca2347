"""Questions of vectors, and answers as JSON can hold them and as they are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from enum import Enum
from math import isclose
from typing import Any, Final

from attrs import fields, has

from engram_core.errors import NotFoundError
from engram_core.kinds import KINDS
from engram_core.results import Memory
from engram_core.values import Actor, PartialDate, instant_text
from engram_core.view import View

__all__ = ["ASKS", "alike", "told"]

_FIELDS: Final = (
    "id", "kind", "title", "display_title", "content", "tags", "links", "evidence", "confidence",
    "effective_confidence", "last_confirmed_at", "pinned", "user_weight", "importance", "lifetime", "visibility",
    "validity", "external_ids", "created_at", "updated_at", "revision", "status", "flags",
)  # fmt: skip
_SCORES: Final = ("importance", "retention", "effective_confidence", "terms", "is_pruning_candidate")
_ROW: Final = ("type", "at", "actor", "on_behalf_of", "proposal_id", "revision", "masked")


def told(value: Any) -> Any:
    """A value as JSON can hold it; a memory within an answer by its id."""
    match value:
        case None | bool() | float():
            return value
        case Enum():
            return value.value
        case int() | str():
            return value
        case Actor():
            return f"{value.kind.value}:{value.id}"
        case Memory():
            return value.id
        case PartialDate() | date() if not isinstance(value, datetime):
            return str(value)
        case datetime():
            return instant_text(value)
        case Mapping():
            return {str(told(key)): told(item) for key, item in value.items()}
        case frozenset() | set():
            return sorted(map(told, value))
        case list() | tuple():
            return [told(item) for item in value]
        case _ if has(type(value)):
            return {attribute.name: told(getattr(value, attribute.name)) for attribute in fields(type(value))}
        case _:
            raise TypeError(f"{type(value).__name__} has no form in JSON")


def alike(one: Any, other: Any) -> bool:
    """Whether two answers are the same; the last digits of a figure do not count."""
    if isinstance(one, bool) or isinstance(other, bool) or not isinstance(one, float | int):
        if isinstance(one, dict) and isinstance(other, dict):
            return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
        if isinstance(one, list) and isinstance(other, list):
            return len(one) == len(other) and all(map(alike, one, other))
        return bool(one == other and type(one) is type(other))
    return isinstance(other, float | int) and isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def _whole(memory: Memory[Any]) -> dict[str, Any]:
    found = {name: told(getattr(memory, name)) for name in _FIELDS}
    return {**found, "attributes": told(KINDS.unstructure(memory.attributes))}


def _some(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: told(getattr(value, name)) for name in names}


def _get(view: View, id: str) -> Any:
    try:
        return _whole(view.get(id))
    except NotFoundError as error:
        return {"refused": error.code}


def _find(view: View, **filters: Any) -> Any:
    page = view.find(**filters)
    return {"ids": [memory.id for memory in page], "more": page.next is not None}


def _why(view: View, id: str) -> Any:
    why = view.why(id)
    return {
        "confidence": [[change.type, told(change.before), change.after] for change in why.confidence],
        "evidence": [[told(given.evidence), told(given.actor)] for given in why.evidence],
        "rests_on": told(why.rests_on),
        "supports": told(why.supports),
        "disputed_by": told(why.disputed_by),
        "superseded_by": told(why.superseded_by),
        "undermined": [[told(basis.path), basis.cause] for basis in why.undermined],
    }


ASKS: Final[Mapping[str, Callable[..., Any]]] = {
    "get": _get,
    "find": _find,
    "count": lambda view, **filters: view.count(**filters),
    "recall": lambda view, text, **options: [
        {"id": hit.id, "score": hit.score, "explanation": told(hit.explanation)} for hit in view.recall(text, **options)
    ],
    "neighbours": lambda view, m, **options: [
        [n.memory.id, told(n.relation), told(n.direction), n.depth] for n in view.neighbours(m, **options)
    ],
    "path": lambda view, a, b: told(view.path(a, b).memories),
    "history": lambda view, m: [_some(row, _ROW) for row in view.history(m)],
    "why": _why,
    "scores": lambda view, m: _some(view.scores(m), _SCORES),
    "tags": lambda view: view.tags(),
    "stats": lambda view: told(view.stats()),
    "reviews": lambda view: [[told(row.reason), row.memory_id, row.proposal_id] for row in view.reviews()],
    "proposals": lambda view, **options: [[p.id, told(p.status), len(p.drafts)] for p in view.proposals(**options)],
    "timeline": lambda view, start, end: told(
        [memory.id for memory in view.timeline(datetime.fromisoformat(start), datetime.fromisoformat(end))]
    ),
}
"""What can be asked, by name: a function of a view and of the question's arguments."""
