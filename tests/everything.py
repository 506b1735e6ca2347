"""Everything that a view answers, laid open to the last field, so that two views can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import attrs

from engram_core import EngramError
from engram_core.filters import ge, one_of, unset
from engram_core.results import Memory, Page
from engram_core.testing.steps import START
from engram_core.view import View
from engram_core.vocab import ReviewReason

ORDERS = ("created_at", "updated_at", "occurred_at", "last_confirmed_at", "confidence", "importance", "title", "kind")
QUESTIONS = ("oolong tea", "Alice Al", "Oslo", "more narrative", "secret", "which oolong tea in January 2026?")
FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"status": None},
    {"status": ("archived", "superseded", "expired")},
    {"tags": ["b"]},
    {"any_tags": ["a", "two words"]},
    {"kind": "person"},
    {"kind": "preference", "where": {"strength": unset}},
    {"kind": "person", "where": {"full_name": one_of("Alice", "Alice Ng")}},
    {"min_confidence": 0.6},
    {"created": (START - timedelta(days=1), START + timedelta(days=1))},
    {"kind": "preference", "where": {"strength": ge(0.5)}},
)
LINES = (
    "oolong",
    "kind:person",
    "is:active tag:a",
    "is:disputed",
    "is:undermined is:any",
    "is:stale",
    "is:pinned",
    '"oolong tea" confidence>0.5',
    "created:2026-01 kind:fact,person",
    "kind:person full_name~Alice",
)
RELATIONS = (
    {"relation": "relates_to"},
    {"relation": "about", "direction": "in"},
    {"relation": ("derived_from", "contradicts")},
    {"relation": "relationship"},
)


def laid_open(value: Any) -> Any:
    """A value as plain tuples of all that it holds, whatever its repr leaves out."""
    if isinstance(value, Memory):
        names = [name for name in dir(value) if not name.startswith("_")]
        return tuple((name, laid_open(getattr(value, name))) for name in names)
    if attrs.has(type(value)):
        fields = [(f.name, laid_open(getattr(value, f.name))) for f in attrs.fields(type(value))]
        return type(value).__name__, tuple(fields)
    if isinstance(value, Mapping):
        return tuple((laid_open(name), laid_open(held)) for name, held in value.items())
    if isinstance(value, set | frozenset):
        return tuple(sorted(map(repr, value)))
    if isinstance(value, tuple | list):
        return tuple(map(laid_open, value))
    return repr(value)


def told(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What comes of a call: the answer, or the error with all that it says."""
    try:
        return laid_open(call(*args, **options))
    except EngramError as error:
        return type(error).__name__, str(error), error.code, error.hint, repr(error.fields)


def paged(call: Callable[..., Page[Any]], **options: Any) -> list[Any]:
    """A whole listing, with the cursors between its pages."""
    found: list[Any] = []
    after: str | None = None
    while True:
        try:
            page = call(after=after, **options)
        except EngramError as error:
            return [*found, told(_raised, error)]
        found += [laid_open(page.items), page.next]
        if page.next is None:
            return found
        after = page.next


def _raised(error: EngramError) -> None:
    raise error


def everything(view: View, ids: Sequence[str], proposals: Sequence[str] = ()) -> Iterator[tuple[str, Any]]:
    """Every read, by what was asked.

    Args:
        view: Whose answers.
        ids: Memories to ask about one by one, whether or not they are there.
        proposals: Proposals likewise.
    """
    yield "all", laid_open(list(view.find_all(status=None)))
    for order in ORDERS:
        yield f"find by {order}", paged(view.find, order=order, limit=2, status=None, descending=order == "title")
    for filters in FILTERS:
        yield f"count {filters}", told(view.count, **filters)
        yield f"find {filters}", [m.id for m in view.find_all(**filters)]
    yield "tags", laid_open(view.tags())
    yield "stats", laid_open(view.stats())
    far = timedelta(days=600)
    yield "timeline", paged(view.timeline, start=START - far, end=START + far, limit=3)
    yield "reviews", paged(view.reviews, limit=100)
    yield "some reviews", paged(view.reviews, limit=1)
    for reason in ReviewReason:
        yield f"reviews, {reason}", told(view.reviews, reason=reason)
    for status in (None, "open", "merged", "rejected", "withdrawn"):
        yield f"proposals, {status}", told(view.proposals, status=status)
    yield "proposals one by one", paged(view.proposals, status=None, limit=1)
    for proposal in proposals:
        yield f"proposal {proposal}", told(view.proposal, proposal)
    for question in QUESTIONS:
        hits = view.recall(question)
        yield f"recall {question}", (laid_open(hits), hits.as_text())
        yield f"recall one for {question}", laid_open(view.recall(question, limit=1, status=None))
        yield f"recall a person for {question}", laid_open(view.recall(question, kind="person"))
        if hits:
            yield f"why {question}", told(view.explain, hits[0])
    for line in LINES:
        yield f"search {line}", told(view.search, line)
    for id in ids:
        yield from _about(view, id, ids)


def _about(view: View, id: str, ids: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for name in ("get", "neighbours", "history", "why", "explain", "scores", "accesses"):
        yield f"{name} {id}", told(getattr(view, name), id)
    yield f"drawn {id}", told(lambda: _drawn(view, id))
    yield f"far from {id}", told(view.neighbours, id, depth=3)
    for asked in RELATIONS:
        yield f"{asked} of {id}", told(view.neighbours, id, **asked)
    for end in (ids[0], ids[-1], ids[len(ids) // 2]):
        yield f"path from {end} to {id}", told(view.path, end, id)
    yield f"about {id}", told(view.find, about=id)
    yield f"linked to {id}", told(view.count, linked=("relates_to", id), status=None)
    for line in (f"about:{id}", f"linked:{id} oolong", f"linked:derived_from:{id}"):
        yield f"search {line}", told(view.search, line)


def _drawn(view: View, id: str) -> tuple[Any, ...]:
    graph = view.subgraph(id, depth=2)
    return graph, graph.to_mermaid(), graph.to_dot()


def diffs(view: View, instants: Sequence[datetime]) -> Iterator[tuple[str, Any]]:
    """What changed between some instants, and up to the present."""
    views = [view.as_of(known_at=instant) for instant in instants]
    for before, after in zip(views, [*views[1:], view], strict=True):
        yield "diff", told(before.diff, after)
