"""Random verbs with their arguments, for machines over whole spaces."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from engram_core import (
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

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
BOT, OTHER = assistant("bot"), assistant("other")

TAGS = ("a", " B ", "two words", "é", "b")
RELATIONS = (
    "about", "involves", "part_of", "owned_by", "works_at", "located_in", "relates_to", "supersedes", "derived_from",
    "contradicts",
)  # fmt: skip
# The same memory is meant by a number modulo how many there are, so that shrinking stays close to what failed.
which = st.integers(0, 11)


def named(number: int) -> str:
    """An id in the form that ids have."""
    return f"00000000-0000-7000-8000-{number:012x}"


words = st.sampled_from(("oolong", "oolong tea", "Oslo", "Alice Ng", "x"))
statuses = st.sampled_from(("active", "paused"))
attributes: st.SearchStrategy[dict[str, Any]] = st.one_of(
    words.map(lambda w: {"kind": "fact", "statement": w}),
    words.map(lambda w: {"kind": "fact", "statement": w}),
    st.builds(
        lambda w, a: {"kind": "person", "full_name": w, "aliases": a}, words, st.sampled_from(([], ["Al"], ["B"]))
    ),
    st.builds(
        lambda p, t: {"kind": "preference", "polarity": p, "target": t}, st.sampled_from(("likes", "dislikes")), words
    ),
    st.builds(lambda w, s: {"kind": "project", "name": w, "status": s}, words, statuses),
    words.map(lambda w: {"kind": "contact", "channel": "email", "value": w}),
    words.map(lambda w: {"kind": "location", "name": w}),
    st.integers(0, 3).map(
        lambda d: {"kind": "event", "occurred_at": (START - d * DAY).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
    ),
    st.builds(
        lambda a, b: {"kind": "relationship", "subject_id": a, "predicate": "knows", "object_id": b}, which, which
    ),
)
evidence = st.builds(EvidenceRef, st.just("quote"), st.sampled_from(("q", "r", "s")), st.sampled_from((None, "n")))
audiences = st.sampled_from((shared(), shared(), private(), restricted(BOT), restricted(OTHER), restricted(BOT, OTHER)))
lifetimes = st.sampled_from((standard(), permanent(), ephemeral(), until(START + 20 * DAY), until(START + 400 * DAY)))
instants = st.integers(-30, 60).map(lambda days: START + days * DAY)
edges = st.tuples(st.sampled_from(RELATIONS), which)

_options: dict[str, st.SearchStrategy[Any]] = {
    "content": st.sampled_from(("a narrative", "more")),
    "title": st.sampled_from(("A title", " Other ")),
    "tags": st.lists(st.sampled_from(TAGS), min_size=1, max_size=2),
    "links": st.lists(edges, min_size=1, max_size=2),
    "evidence": st.lists(evidence, min_size=1, max_size=2),
    "confidence": st.sampled_from((0.0, 0.3, 0.5, 0.9, 1.0)),
    "pinned": st.booleans(),
    "user_weight": st.sampled_from((0.0, 0.5)),
    "lifetime": lifetimes,
    "visibility": audiences,
    "validity": st.sampled_from((Validity(), Validity(START - DAY), Validity(None, START + 9 * DAY))),
    "external_ids": st.just([("v", "1")]),
    "occurred_at": st.sampled_from((START - 500 * DAY, START, START + 9000 * DAY)),
    "on_duplicate": st.sampled_from(("return", "confirm", "create")),
}
options: st.SearchStrategy[dict[str, Any]] = st.lists(
    st.sampled_from(sorted(_options)), unique=True, max_size=3
).flatmap(lambda names: st.fixed_dictionaries({name: _options[name] for name in names}))
changes: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    (
        {"statement": "changed"}, {"statement": None}, {"full_name": "Alice"}, {"aliases": ["Al", "C"]},
        {"aliases": None}, {"status": "paused"}, {"status": "wrong"}, {"strength": 0.5}, {"strength": 2.0},
        {"target": "Oslo"}, {"notes": "n"}, {"label": "work"}, {"unknown": 1},
    )
)  # fmt: skip


def _verb(name: str, *args: Any, **options: Any) -> st.SearchStrategy[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    return st.tuples(st.just(name), st.tuples(*args), st.fixed_dictionaries({}, optional=options))


# Numbers among the arguments stand for memories; the machine puts ids in their places.
steps: dict[str, st.SearchStrategy[Any]] = {
    "remember": st.tuples(st.just("remember"), st.tuples(attributes), options),
    "words": st.one_of(
        _verb("edit", which, title=st.sampled_from((None, "A title", " ")), content=st.sampled_from(("", "more"))),
        _verb("update", which, changes),
        _verb("tag", which, st.sampled_from(TAGS), st.sampled_from(TAGS)),
        _verb("untag", which, st.sampled_from(TAGS)),
    ),
    "edges": st.one_of(
        _verb("link", which, st.sampled_from(RELATIONS), which),
        _verb("ensure_link", which, st.sampled_from(RELATIONS), which),
        _verb("unlink", which, st.sampled_from(RELATIONS), which),
        _verb("link", which, st.sampled_from(("derived_from", "part_of", "relates_to")), which),
    ),
    "belief": st.one_of(
        _verb("confirm", which, evidence=evidence),
        st.tuples(st.just("contradict"), st.tuples(which), st.fixed_dictionaries({"by": which})),
        st.tuples(st.just("contradict"), st.tuples(which), st.fixed_dictionaries({"by": which})),
        _verb("contradict", which, evidence=evidence),
        _verb("add_evidence", which, evidence, corroborates=st.booleans()),
        st.tuples(
            st.just("resolve"),
            st.tuples(which, which),
            st.fixed_dictionaries({"keep": st.one_of(which, st.just("both"))}),
        ),
        _verb("mark_distinct", which, which),
    ),
    "keeping": st.one_of(
        _verb("pin", which),
        _verb("unpin", which),
        _verb("weigh", which, st.sampled_from((None, 0.25, 1.5))),
        _verb("set_visibility", which, audiences),
        _verb("set_lifetime", which, lifetimes),
        _verb("set_validity", which, valid_from=st.none() | instants, valid_to=st.none() | instants),
    ),
    "lives": st.one_of(
        _verb("supersede", which, which, effective_at=instants),
        _verb("merge", which, which),
        _verb("merge", which, which),
        _verb("unmerge", which),
        _verb("archive", which, because=st.sampled_from(("wrong", "obsolete", "pruned"))),
        _verb("restore", which, lifetime=lifetimes),
        _verb("delete", which),
    ),
}
# Those who are there first may be one; most of what merging does takes two and a third.
FIRST: list[Any] = [
    ("remember", ({"kind": "person", "full_name": "Alice Ng", "aliases": ["Al"]},), {"tags": ["a"]}),
    (
        "remember",
        ({"kind": "person", "full_name": "Alicia", "aliases": []},),
        {"content": "a narrative", "tags": ["b"]},
    ),
    ("remember", ({"kind": "person", "full_name": "A. Ng", "aliases": ["B"]},), {"links": [("relates_to", 0)]}),
]
few = st.integers(0, 2)
steps["people"] = st.one_of(
    _verb("merge", few, few),
    _verb("merge", few, few),
    _verb("unmerge", few),
    _verb("update", few, st.sampled_from(({"aliases": ["Al", "C"]}, {"full_name": "Alice"}))),
    _verb("tag", few, st.sampled_from(TAGS)),
    _verb("untag", few, st.sampled_from(TAGS)),
    _verb("confirm", few),
    _verb("pin", few),
)
any_step = st.one_of(*steps.values())


def placed(step: tuple[str, tuple[Any, ...], dict[str, Any]], ids: list[str]) -> Any:
    """A step with ids in the place of numbers; a number beyond what there is names nothing."""
    verb, args, options = step
    absent = named(0xFFFF)

    def id(number: int) -> str:
        return ids[number % len(ids)] if ids and number < 11 else absent

    def kept(value: Any) -> Any:
        return id(value) if isinstance(value, int) and not isinstance(value, bool) else value

    if verb == "remember":
        given = {name: id(v) if name in ("subject_id", "object_id") else v for name, v in args[0].items()}
        options = {**options, "links": [(r, id(n)) for r, n in options.get("links", ())]}
        return verb, (given,), options
    if verb == "weigh":
        return verb, (id(args[0]), args[1]), options
    return (
        verb,
        tuple(kept(arg) for arg in args),
        {name: kept(v) if name in ("by", "keep") else v for name, v in options.items()},
    )
