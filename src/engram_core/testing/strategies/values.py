"""Strategies for the small values and for the attributes of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from engram_core.errors import InvalidAttributesError
from engram_core.kinds import KINDS, Attributes, KindRegistry
from engram_core.kinds.fields import FieldRule, field_rules
from engram_core.values import (
    Actor,
    EvidenceRef,
    Lifetime,
    Link,
    PartialDate,
    Period,
    Provenance,
    Validity,
    Visibility,
    ephemeral,
    permanent,
    private,
    restricted,
    shared,
    standard,
    until,
)
from engram_core.vocab import ActorKind, EvidenceType, Relation

__all__ = [
    "actors",
    "attributes",
    "days",
    "evidence",
    "instants",
    "lifetimes",
    "links",
    "memory_ids",
    "partial_dates",
    "periods",
    "provenances",
    "raw_attributes",
    "tags",
    "texts",
    "validities",
    "visibilities",
]

A = TypeVar("A", bound=Attributes)


# -- values -----------------------------------------------------------------------------------------


def texts(*, blank: bool = True, max_size: int = 20) -> SearchStrategy[str]:
    """Text that can be stored: without NUL and lone surrogates; with `blank=False`, not blank."""
    any_text = st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=not blank, max_size=max_size
    )
    return any_text if blank else any_text.filter(lambda text: bool(text.strip()))


def instants() -> SearchStrategy[datetime]:
    """Aware instants in UTC, of years that leave room for calculating."""
    return st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 (bounds)


def partial_dates() -> SearchStrategy[PartialDate]:
    """Years and months."""
    years = st.integers(1, 9999).map(lambda year: f"{year:04d}")
    months = st.tuples(years, st.integers(1, 12)).map(lambda pair: f"{pair[0]}-{pair[1]:02d}")
    return st.one_of(years, months).map(PartialDate)


def days() -> SearchStrategy[date | PartialDate]:
    """Calendar days, months and years."""
    return st.one_of(st.dates(date(1900, 1, 1), date(2200, 1, 1)), partial_dates())


def periods() -> SearchStrategy[Period]:
    """Half-open stretches of time."""
    lengths = st.timedeltas(timedelta(microseconds=1), timedelta(days=4_000))
    return st.builds(lambda start, length: Period(start, start + length), instants(), lengths)


def actors(*kinds: ActorKind) -> SearchStrategy[Actor]:
    """Actors of the kinds, or of all: few names, so that they meet again, and odd ones."""
    names = st.one_of(st.sampled_from(["ann", "bob", "a:b", "%_"]), texts(blank=False, max_size=8))
    return st.builds(Actor, st.sampled_from(kinds or tuple(ActorKind)), names)


def evidence() -> SearchStrategy[EvidenceRef]:
    """References that support a memory."""
    return st.builds(EvidenceRef, st.sampled_from(EvidenceType), texts(blank=False), st.none() | texts())


def lifetimes() -> SearchStrategy[Lifetime]:
    """All four sorts."""
    return st.one_of(st.sampled_from([permanent(), standard(), ephemeral()]), instants().map(until))


def visibilities() -> SearchStrategy[Visibility]:
    """Shared, private, and restricted to a few."""
    few = st.lists(actors(), min_size=1, max_size=3).map(restricted)
    return st.one_of(st.just(shared()), st.just(private()), few)


def validities() -> SearchStrategy[Validity]:
    """Windows, open on either side or on none."""
    closed = periods().map(lambda period: Validity(period.start, period.end))
    return st.one_of(
        st.builds(Validity, st.none() | instants()), instants().map(lambda end: Validity(None, end)), closed
    )


def links(targets: SearchStrategy[str] | None = None) -> SearchStrategy[Link]:
    """Edges under any relation."""
    return st.builds(Link, st.sampled_from(Relation), targets or memory_ids())


def memory_ids() -> SearchStrategy[str]:
    """Few ids, so that commands and events meet the same memories."""
    return st.sampled_from(["a", "b", "c"])


def tags() -> SearchStrategy[tuple[str, ...]]:
    """A few tags in their normal form, each once."""
    return st.lists(st.sampled_from(["x", "y", "straße".casefold(), "two words"]), max_size=3, unique=True).map(tuple)


def provenances() -> SearchStrategy[Provenance]:
    """Where a memory came from."""
    return st.builds(
        Provenance,
        actor=actors(),
        on_behalf_of=st.none() | actors(),
        session_id=st.none() | texts(max_size=5),
        client=st.none() | texts(max_size=5),
        source_ref=st.none() | texts(max_size=5),
        redactions=st.integers(0, 3),
        redactor=st.none() | texts(max_size=5),
    )


# -- kinds ------------------------------------------------------------------------------------------


def attributes(cls: type[A]) -> SearchStrategy[A]:
    """Objects of an attribute class, of the twelve or of one's own; read from its rules."""
    return _built(cls)


@st.composite
def _built(draw: st.DrawFn, cls: type[A]) -> A:
    given = {rule.name: draw(_values(rule)) for rule in field_rules(cls) if rule.is_required or draw(st.booleans())}
    try:
        return cls(**given)
    except InvalidAttributesError:
        for rule in field_rules(cls):
            given.setdefault(rule.name, draw(_values(rule)))
    try:
        return cls(**given)
    except InvalidAttributesError:
        assume(False)
        raise


def _values(rule: FieldRule) -> SearchStrategy[Any]:
    match rule.sort:
        case "text":
            return texts(blank=not rule.is_required)
        case "texts":
            return st.lists(texts(blank=False, max_size=8), max_size=3).map(tuple)
        case "word":
            assert rule.vocabulary is not None
            return st.sampled_from(list(rule.vocabulary))
        case "number":
            return st.floats(0, 1)
        case "flag":
            return st.booleans()
        case "instant":
            return instants()
        case _:
            return days()


def raw_attributes(kinds: KindRegistry = KINDS) -> SearchStrategy[tuple[str, int, Mapping[str, Any]]]:
    """Kind, version and raw payload of any kind of a registry."""
    choices = [
        attributes(spec.attributes).map(
            lambda built, spec=spec: (spec.kind, spec.version, kinds.unstructure(built))  # type: ignore[misc]
        )
        for spec in kinds
    ]
    return st.one_of(choices)
