"""The registry: a value of kinds that fit together, through which attributes go in and come out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any

import pytest
from attrs import evolve, frozen
from attrs.exceptions import FrozenInstanceError
from hypothesis import given
from hypothesis import strategies as st

from engram_core.errors import HistoryError, InvalidAttributesError
from engram_core.kinds import KINDS, Attributes, Column, Episode, Fact, KindRegistry, KindSpec, Person, Preference
from engram_core.values import PartialDate
from engram_core.vocab import Kind, Polarity, Relation


@frozen
class Recipe(Attributes):
    """A kind in its third version."""

    name: str
    minutes: float | None = None
    steps: tuple[str, ...] = ()


def renamed(raw: dict[str, Any]) -> dict[str, Any]:
    """From version 1, which had a title."""
    return {"name": raw.pop("title"), **raw}


def in_minutes(raw: dict[str, Any]) -> Mapping[str, Any]:
    """From version 2, which had hours."""
    hours = raw.pop("hours", None)
    return MappingProxyType(raw if hours is None else {**raw, "minutes": hours * 60})


RECIPE = KindSpec(
    kind="recipe",
    attributes=Recipe,
    view="view_recipes",
    label_fields=("name",),
    version=3,
    upcasters={1: renamed, 2: in_minutes},
)
LARGER = KINDS.with_kinds(RECIPE)


def listed(error: pytest.ExceptionInfo[InvalidAttributesError]) -> list[str]:
    """The fields that an error names."""
    return [problem.field for problem in error.value.problems]


# -- what a registry is --------------------------------------------------------------------------------


def test_the_twelve_are_there() -> None:
    """One spec for each kind, in the order of the vocabulary."""
    assert tuple(Kind) == KINDS.kinds
    assert len(Kind) == len(KINDS) == len({spec.view for spec in KINDS})


def test_a_kind_is_found_by_name_class_and_object() -> None:
    """All three lead to one spec; `event` is the kind of an Episode."""
    episode = Episode(datetime(2026, 1, 1, tzinfo=UTC))
    assert {"event"} == {KINDS.spec(asked).kind for asked in (Kind.EVENT, "event", Episode, episode)}
    assert "event" in KINDS
    assert Episode in KINDS
    assert "recipe" not in KINDS


@pytest.mark.parametrize("unknown", ["recipe", "", "Fact", "x" * 10_000, Recipe, Recipe("Soup"), int, 3, None, {}])
def test_an_unknown_kind_is_refused(unknown: object) -> None:
    """The error lists the kinds that there are, and repeats no novel."""
    with pytest.raises(InvalidAttributesError, match="fact, preference, person") as caught:
        KINDS.spec(unknown)
    assert len(str(caught.value)) < 300


def test_a_larger_registry_leaves_the_smaller_one_alone() -> None:
    """Registering is making another value."""
    assert (*KINDS.kinds, "recipe") == LARGER.kinds
    assert "recipe" not in KINDS
    assert KINDS.with_kinds(RECIPE) == LARGER
    with pytest.raises(FrozenInstanceError):
        KINDS.specs = ()  # type: ignore[misc]
    with pytest.raises(TypeError):
        RECIPE.upcasters[4] = renamed  # type: ignore[index]


def test_lists_of_names_are_taken_for_tuples() -> None:
    """Of fields and of relations; what is derived is the same."""
    listed = evolve(RECIPE, label_fields=["name"], text_fields=["name"], hot_fields=["minutes"], emits=["about"])
    assert (("name",), ("name",), ("minutes",), frozenset({Relation.ABOUT})) == (
        listed.label_fields,
        listed.text_fields,
        listed.hot_fields,
        listed.emits,
    )
    assert RECIPE == evolve(RECIPE, label_fields=["name"])


@pytest.mark.parametrize("changes", [{"kind": "fact"}, {"view": "VIEW_facts"}, {}])
def test_two_specs_share_nothing(changes: dict[str, Any]) -> None:
    """A kind, a class and a view belong to one spec."""
    with pytest.raises(InvalidAttributesError, match="is there twice"):
        LARGER.with_kinds(evolve(RECIPE, **{"kind": "meal", "view": "view_meals"} | changes))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"upcasters": {}}, "upcasters"),
        ({"upcasters": {1: renamed}}, "upcasters"),
        ({"upcasters": {2: in_minutes}}, "upcasters"),
        ({"upcasters": {1: renamed, 2: in_minutes, 3: renamed}}, "upcasters"),
        ({"upcasters": {0: renamed, 1: renamed, 2: in_minutes}}, "upcasters"),
        ({"version": 4}, "upcasters"),
        ({"version": 0}, "version"),
        ({"version": True}, "version"),
        ({"version": "3"}, "version"),
        ({"kind": "Recipe"}, "kind"),
        ({"kind": "a recipe"}, "kind"),
        ({"view": "view recipes"}, "view"),
        ({"label_fields": ()}, "label_fields"),
        ({"label_fields": ("title",)}, "label_fields"),
        ({"alias_field": "name"}, "alias_field"),
        ({"text_fields": ("minutes",)}, "text_fields"),
        ({"hot_fields": ("title",)}, "hot_fields"),
        ({"hot_fields": ("steps",)}, "hot_fields"),
        ({"columns": {"title": Column("$.title", "TEXT")}}, "columns"),
        ({"columns": {"name": Column("name", "TEXT")}}, "columns"),
        ({"columns": {"name": Column("$.name", "REAL")}}, "columns"),
        ({"columns": {"a b": Column("$.name", "TEXT")}}, "columns"),
        ({"requires": {Relation.WORKS_AT: 1}}, "requires"),
        ({"requires": {Relation.DERIVED_FROM: 0}}, "requires"),
        ({"attributes": dict}, "attributes"),
    ],
)
def test_what_does_not_fit_together_fails_when_it_is_made(changes: dict[str, Any], field: str) -> None:
    """A hole in the chain of upcasters, a column that leads nowhere: nobody meets them later."""
    with pytest.raises(InvalidAttributesError) as caught:
        evolve(RECIPE, **changes)
    assert {field} == set(listed(caught))


def test_all_that_does_not_fit_is_listed() -> None:
    """One error names every misfit of a spec."""
    with pytest.raises(InvalidAttributesError) as caught:
        evolve(RECIPE, view="-", version=0, label_fields=())
    assert ["view", "version", "label_fields"] == listed(caught)


def test_a_field_without_a_rule_is_refused() -> None:
    """A class may hold only what can be checked and stored."""

    @frozen
    class Odd(Attributes):
        thing: dict[str, int]

    with pytest.raises(TypeError, match="thing"):
        KindSpec(kind="odd", attributes=Odd, view="view_odd", label_fields=("thing",))


def test_views_show_every_field_typed() -> None:
    """By default each field is a column: numbers REAL, flags INTEGER, the rest TEXT."""
    types = {f"{spec.kind}.{name}": column.type for spec in KINDS for name, column in spec.columns.items()}
    assert {"preference.strength", "location.latitude", "location.longitude"} == {
        n for n, t in types.items() if t == "REAL"
    }
    assert {"contact.preferred"} == {name for name, type in types.items() if type == "INTEGER"}
    assert all(tuple(spec.columns) == tuple(a.name for a in spec.attributes.__attrs_attrs__) for spec in KINDS)  # type: ignore[attr-defined]


def test_entities_are_those_that_may_be_known_twice() -> None:
    """Four kinds have names under which two memories may mean one thing."""
    assert {"person", "organization", "location", "asset"} == {spec.kind for spec in KINDS if spec.entity}
    assert all(spec.alias_field == "aliases" for spec in KINDS if spec.entity)


# -- in and out ----------------------------------------------------------------------------------------


def test_mappings_go_through_the_constructor() -> None:
    """What it makes is what the constructor makes."""
    raw = {"polarity": "likes", "strength": 1, "target": "tea"}
    assert Preference("likes", 1, target="tea") == KINDS.structure("preference", raw)
    assert Fact("x") == KINDS.structure(Fact, MappingProxyType({"statement": " x "}))


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [
        ("fact", {}, ["statement"]),
        ("fact", {"statement": None}, ["statement"]),
        ("fact", {"statement": 1}, ["statement"]),
        ("fact", {"statement": "x", "extra": 1}, ["extra"]),
        ("fact", {"extra": 1, "other": 2}, ["statement", "extra", "other"]),
        ("fact", {1: 2}, ["statement", "1"]),
        ("preference", {"polarity": "hates", "strength": "7", "targt": "x"}, ["polarity", "strength", "targt"]),
        ("preference", {"strength": True}, ["polarity", "strength"]),
        ("contact", {"channel": "email", "value": "x", "preferred": "false"}, ["preferred"]),
        ("person", {"full_name": "A", "aliases": "Bo"}, ["aliases"]),
        ("event", {"occurred_at": "2026-03-05"}, ["occurred_at"]),
        ("event", {}, ["occurred_at"]),
        ("location", {"latitude": 91.0, "longitude": 0, "x": 0}, ["name", "latitude", "x"]),
        ("relationship", {}, ["subject_id", "predicate", "object_id"]),
        ("fact", [("statement", "x")], ["attributes"]),
        ("fact", None, ["attributes"]),
    ],
)
def test_what_is_wrong_with_a_mapping_is_listed(kind: str, raw: Any, expected: list[str]) -> None:
    """Nothing is coerced, nothing unknown is dropped, and all problems come at once, unknown fields last."""
    with pytest.raises(InvalidAttributesError) as caught:
        KINDS.structure(kind, raw)
    assert expected == listed(caught)
    assert kind == caught.value.subject


def test_what_comes_out_is_plain_and_short() -> None:
    """Words, instants and days become text, in field order; what is absent is left out."""
    episode = Episode(start_at=datetime(2026, 3, 5, 12, tzinfo=UTC), outcome="")
    assert {"start_at": "2026-03-05T12:00:00.000000Z", "outcome": ""} == KINDS.unstructure(episode)
    assert '{"full_name": "A", "roles": ["b"]}' == json.dumps(KINDS.unstructure(Person("A", roles=("b",))))
    found = KINDS.unstructure(Preference("likes"))
    assert {"polarity": "likes"} == found
    assert type(found["polarity"]) is str


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=9).filter(
    str.strip
)
DAY = st.one_of(st.dates(), st.dates().map(lambda d: PartialDate(f"{d.year:04}-{d.month:02}")))
BY_SORT: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXT,
    "texts": st.lists(TEXT, max_size=3),
    "number": st.floats(0, 1),
    "flag": st.booleans(),
    "instant": st.datetimes(timezones=st.just(UTC)).map(lambda instant: instant.replace(fold=0)),
    "day": DAY,
}


@st.composite
def attributes(draw: st.DrawFn) -> Attributes:
    """Attributes of any of the twelve."""
    spec = draw(st.sampled_from(KINDS.specs))
    given: dict[str, Any] = {}
    for rule in spec.rules:
        strategy = st.sampled_from(list(rule.vocabulary)) if rule.vocabulary else BY_SORT[rule.sort]
        if rule.is_required or draw(st.booleans()):
            given[rule.name] = draw(strategy)
    try:
        return spec.attributes(**given)
    except InvalidAttributesError:
        return Fact(draw(TEXT))


@given(attributes())
def test_attributes_survive_json(value: Attributes) -> None:
    """What is written and read again is equal, and typed as before."""
    raw = json.loads(json.dumps(KINDS.unstructure(value)))
    again = KINDS.structure(KINDS.spec(value).kind, raw, KINDS.spec(value).version)
    assert (value, repr(value)) == (again, repr(again))
    assert raw == KINDS.unstructure(again)


# -- versions ------------------------------------------------------------------------------------------


def test_an_older_payload_is_brought_up_to_date_as_a_whole() -> None:
    """Each upcaster gets what the one before it made; the given mapping stays as it was."""
    first = {"title": "Soup", "hours": 0.5}
    assert Recipe("Soup", 30.0) == LARGER.structure("recipe", first, 1)
    assert Recipe("Soup", 30.0) == LARGER.structure("recipe", {"name": "Soup", "hours": 0.5}, 2)
    assert {"title": "Soup", "hours": 0.5} == first
    assert {"name": "Soup", "minutes": 30.0} == LARGER.upcast("recipe", first, 1)
    assert {"name": "Soup"} == LARGER.upcast("recipe", {"name": "Soup"}, 3)


def test_what_an_upcaster_makes_is_checked_like_anything() -> None:
    """An old payload that was never right is refused."""
    with pytest.raises(InvalidAttributesError):
        LARGER.structure("recipe", {"title": "Soup", "colour": "red"}, 1)


@pytest.mark.parametrize("version", [4, 99, 0, -1, True, "1", 1.0])
def test_a_version_to_come_is_refused_by_name(version: Any) -> None:
    """The error says which kind and which version, and that upgrading helps."""
    for call in (LARGER.structure, LARGER.upcast):
        with pytest.raises(HistoryError, match="recipe has version 3 here") as caught:
            call("recipe", {"name": "Soup"}, version)
        assert ("recipe", version) == (caught.value.fields["kind"], caught.value.fields["version"])
        assert "upgrade" in caught.value.hint


def test_an_upcaster_that_fails_is_named() -> None:
    """Its own error is the cause."""
    with pytest.raises(HistoryError, match="recipe could not be brought from version 1 to 2") as caught:
        LARGER.structure("recipe", {}, 1)
    assert isinstance(caught.value.__cause__, KeyError)


# -- changes -------------------------------------------------------------------------------------------


def test_a_sparse_change_replaces_what_it_names() -> None:
    """Typed and raw values are the same to it; what it does not name stays."""
    raw = {"name": "Engram", "status": "active", "summary": "x"}
    changed = KINDS.change("project", raw, {"status": "done", "target_date": date(2026, 3, 5)})
    assert {"name": "Engram", "status": "done", "summary": "x", "target_date": "2026-03-05"} == changed
    assert "active" == raw["status"]


def test_none_clears_what_is_optional_and_nothing_else() -> None:
    """A required field cannot be cleared."""
    raw = {"full_name": "A", "aliases": ["B"], "notes": "x"}
    assert {"full_name": "A"} == KINDS.change("person", raw, {"aliases": None, "notes": None, "roles": None})
    with pytest.raises(InvalidAttributesError) as caught:
        KINDS.change("person", raw, {"full_name": None, "age": None, "notes": 1})
    assert ["full_name", "notes", "age"] == listed(caught)


def test_a_change_is_judged_with_all_that_stays() -> None:
    """Rules between fields hold for the whole."""
    raw = {"name": "Oslo", "latitude": 59.9, "longitude": 10.7}
    with pytest.raises(InvalidAttributesError):
        KINDS.change("location", raw, {"latitude": None})
    assert {"name": "Oslo"} == KINDS.change("location", raw, {"latitude": None, "longitude": None})


# -- what the rest of the core asks ----------------------------------------------------------------------


def test_texts_are_what_full_text_covers() -> None:
    """A person is found by name and alias; ids and words of a vocabulary are no text."""
    person = Person("Alice Ng", aliases=("Ali", "A"), notes="tall")
    assert (("full_name", "Alice Ng"), ("aliases", "Ali"), ("aliases", "A"), ("notes", "tall")) == KINDS.text(person)
    assert (("target", "tea"),) == KINDS.text(Preference("likes", target="tea"))
    relationship = KINDS.structure("relationship", {"subject_id": "a", "predicate": "knows", "object_id": "b"})
    assert (("predicate", "knows"),) == KINDS.text(relationship)


def test_a_label_is_the_first_that_is_present() -> None:
    """Blank text does not count; an episode may have none."""
    assert "tea" == KINDS.label(Preference("likes", context="drinks", target="tea"))
    assert "drinks" == KINDS.label(Preference("likes", context="drinks", target=" "))
    assert ("likes", str) == (KINDS.label(Preference("likes")), type(KINDS.label(Preference(Polarity.LIKES))))
    assert "" == KINDS.label(Episode(datetime(2026, 1, 1, tzinfo=UTC)))


def test_aliases_of_a_kind_without_any() -> None:
    """Only kinds with other names have them."""
    assert ("Ali",) == KINDS.aliases(Person("Alice", ("Ali",)))
    assert () == KINDS.aliases(Fact("x"))


def test_a_registry_names_its_kinds() -> None:
    """Its text is short."""
    assert "KindRegistry(fact)" == repr(KindRegistry((KINDS.spec("fact"),)))
    assert ["fact"] == [spec.kind for spec in KindRegistry((KINDS.spec("fact"),))]
