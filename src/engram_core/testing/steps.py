"""Random verbs with their arguments, for state machines over whole spaces.

A memory is meant by a number, counted around those that there are, so that a failing example shrinks to a short one;
`placed` puts ids where the numbers stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from engram_core.values import (
    EvidenceRef,
    Validity,
    assistant,
    ephemeral,
    permanent,
    private,
    restricted,
    shared,
    standard,
    until,
)
from engram_core.vocab import Relation

__all__ = ["BOT", "FIRST", "OTHER", "START", "STEPS", "Step", "any_step", "named", "placed"]

Step: TypeAlias = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A verb of a session, its arguments, its options."""

START: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""The instant at which histories begin."""

BOT: Final = assistant("bot")
"""An assistant whom some restrictions list."""

OTHER: Final = assistant("other")
"""Another one."""

_DAY: Final = timedelta(days=1)
_ABSENT: Final = 11  # the number that names no memory


def named(number: int) -> str:
    """An id in the form that ids have."""
    return f"00000000-0000-7000-8000-{number:012x}"


_which = st.integers(0, _ABSENT)
_few = st.integers(0, 2)
_words = st.sampled_from(("oolong", "oolong tea", "Oslo", "Alice Ng", "x"))
_tags = st.sampled_from(("a", " B ", "two words", "é", "b"))
_relations = st.sampled_from([relation.value for relation in Relation])
_aliases = st.sampled_from(([], ["Al"], ["B"]))
_attributes: Final[SearchStrategy[dict[str, Any]]] = st.one_of(
    _words.map(lambda w: {"kind": "fact", "statement": w}),
    _words.map(lambda w: {"kind": "fact", "statement": w}),
    st.builds(lambda w, a: {"kind": "person", "full_name": w, "aliases": a}, _words, _aliases),
    st.builds(
        lambda p, t: {"kind": "preference", "polarity": p, "target": t}, st.sampled_from(("likes", "dislikes")), _words
    ),
    st.builds(lambda w, s: {"kind": "project", "name": w, "status": s}, _words, st.sampled_from(("active", "paused"))),
    _words.map(lambda w: {"kind": "contact", "channel": "email", "value": w}),
    _words.map(lambda w: {"kind": "location", "name": w}),
    st.integers(0, 3).map(lambda d: {"kind": "event", "occurred_at": _text(START - d * _DAY)}),
    st.builds(
        lambda a, b: {"kind": "relationship", "subject_id": a, "predicate": "knows", "object_id": b}, _which, _which
    ),
)
_evidence = st.builds(EvidenceRef, st.just("quote"), st.sampled_from(("q", "r", "s")), st.sampled_from((None, "n")))
_audiences = st.sampled_from(
    (shared(), shared(), private(), restricted(BOT), restricted(OTHER), restricted(BOT, OTHER))
)
_lifetimes = st.sampled_from(
    (standard(), permanent(), ephemeral(), until(START + 20 * _DAY), until(START + 400 * _DAY))
)
_instants = st.integers(-30, 60).map(lambda days: START + days * _DAY)
_optional: Final[Mapping[str, SearchStrategy[Any]]] = {
    "confidence": st.sampled_from((0.0, 0.3, 0.5, 0.9, 1.0)),
    "content": st.sampled_from(("a narrative", "more")),
    "evidence": st.lists(_evidence, min_size=1, max_size=2),
    "external_ids": st.just([("v", "1")]),
    "lifetime": _lifetimes,
    "links": st.lists(st.tuples(_relations, _which), min_size=1, max_size=2),
    "occurred_at": st.sampled_from((START - 500 * _DAY, START, START + 9000 * _DAY)),
    "on_duplicate": st.sampled_from(("return", "confirm", "create")),
    "pinned": st.booleans(),
    "tags": st.lists(_tags, min_size=1, max_size=2),
    "title": st.sampled_from(("A title", " Other ")),
    "user_weight": st.sampled_from((0.0, 0.5)),
    "validity": st.sampled_from((Validity(), Validity(START - _DAY), Validity(None, START + 9 * _DAY))),
    "visibility": _audiences,
}
_options = st.lists(st.sampled_from(sorted(_optional)), unique=True, max_size=3).flatmap(
    lambda names: st.fixed_dictionaries({name: _optional[name] for name in names})
)
_changes = st.sampled_from(
    (
        {"statement": "changed"}, {"statement": None}, {"full_name": "Alice"}, {"aliases": ["Al", "C"]},
        {"aliases": None}, {"status": "paused"}, {"status": "wrong"}, {"strength": 0.5}, {"strength": 2.0},
        {"target": "Oslo"}, {"notes": "n"}, {"label": "work"}, {"unknown": 1},
    )
)  # fmt: skip


def _text(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _verb(name: str, *args: SearchStrategy[Any], **options: SearchStrategy[Any]) -> SearchStrategy[Step]:
    return st.tuples(st.just(name), st.tuples(*args), st.fixed_dictionaries({}, optional=options))


def _with(name: str, *args: SearchStrategy[Any], **options: SearchStrategy[Any]) -> SearchStrategy[Step]:
    return st.tuples(st.just(name), st.tuples(*args), st.fixed_dictionaries(options))


STEPS: Final[Mapping[str, SearchStrategy[Step]]] = {
    "remember": st.tuples(st.just("remember"), st.tuples(_attributes), _options),
    "words": st.one_of(
        _verb("edit", _which, title=st.sampled_from((None, "A title", " ")), content=st.sampled_from(("", "more"))),
        _verb("update", _which, _changes),
        _verb("tag", _which, _tags, _tags),
        _verb("untag", _which, _tags),
    ),
    "edges": st.one_of(
        _verb("link", _which, _relations, _which),
        _verb("ensure_link", _which, _relations, _which),
        _verb("unlink", _which, _relations, _which),
        _verb("link", _which, st.sampled_from(("derived_from", "part_of", "relates_to")), _which),
    ),
    "belief": st.one_of(
        _verb("confirm", _which, evidence=_evidence),
        _with("contradict", _which, by=_which),
        _with("contradict", _which, by=_which),
        _verb("contradict", _which, evidence=_evidence),
        _verb("add_evidence", _which, _evidence, corroborates=st.booleans()),
        _with("resolve", _which, _which, keep=st.one_of(_which, st.just("both"))),
        _verb("mark_distinct", _which, _which),
    ),
    "keeping": st.one_of(
        _verb("pin", _which),
        _verb("unpin", _which),
        _verb("weigh", _which, st.sampled_from((None, 0.25, 1.5))),
        _verb("set_visibility", _which, _audiences),
        _verb("set_lifetime", _which, _lifetimes),
        _verb("set_validity", _which, valid_from=st.none() | _instants, valid_to=st.none() | _instants),
    ),
    "lives": st.one_of(
        _verb("supersede", _which, _which, effective_at=_instants),
        _verb("merge", _which, _which),
        _verb("merge", _which, _which),
        _verb("unmerge", _which),
        _verb("archive", _which, because=st.sampled_from(("wrong", "obsolete", "pruned"))),
        _verb("restore", _which, lifetime=_lifetimes),
        _verb("delete", _which),
    ),
    "people": st.one_of(
        _verb("merge", _few, _few),
        _verb("merge", _few, _few),
        _verb("unmerge", _few),
        _verb("update", _few, st.sampled_from(({"aliases": ["Al", "C"]}, {"full_name": "Alice"}))),
        _verb("tag", _few, _tags),
        _verb("untag", _few, _tags),
        _verb("confirm", _few),
        _verb("pin", _few),
    ),
}
"""Steps by what they are about. Those of "people" are about the memories of `FIRST`."""

any_step: Final = st.one_of(*STEPS.values())
"""A step of any sort."""

FIRST: Final[Sequence[Step]] = (
    ("remember", ({"kind": "person", "full_name": "Alice Ng", "aliases": ["Al"]},), {"tags": ["a"]}),
    ("remember", ({"kind": "person", "full_name": "Alicia", "aliases": []},), {"content": "more", "tags": ["b"]}),
    ("remember", ({"kind": "person", "full_name": "A. Ng", "aliases": ["B"]},), {"links": [("relates_to", 0)]}),
)
"""Three people to begin with, who may be one: most of what merging does takes two and a third."""


def placed(step: Step, ids: Sequence[str]) -> Step:
    """A step with ids in the place of its numbers.

    Args:
        step: Drawn from `STEPS`.
        ids: Of the memories that there are.
    """
    verb, args, options = step

    def id(number: int) -> str:
        return ids[number % len(ids)] if ids and number < _ABSENT else named(0xFFFF)

    def kept(value: Any) -> Any:
        return id(value) if isinstance(value, int) and not isinstance(value, bool) else value

    if verb == "remember":
        ends = {name: id(value) if name.endswith("_id") else value for name, value in args[0].items()}
        return verb, (ends,), {**options, "links": [(r, id(n)) for r, n in options.get("links", ())]}
    if verb == "weigh":
        return verb, (id(args[0]), args[1]), options
    meant = {name: kept(value) if name in {"by", "keep"} else value for name, value in options.items()}
    return verb, tuple(kept(arg) for arg in args), meant
