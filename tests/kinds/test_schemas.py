"""The twelve classes: what they take, what they refuse, and what comes out typed."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from attrs import evolve, fields
from attrs.exceptions import FrozenInstanceError
from hypothesis import given
from hypothesis import strategies as st

from engram_core.errors import InvalidAttributesError
from engram_core.kinds import (
    KINDS,
    Asset,
    Attributes,
    Contact,
    Episode,
    Fact,
    Goal,
    Location,
    Organization,
    Person,
    Preference,
    Project,
    Relationship,
    Skill,
)
from engram_core.kinds.fields import field_rules, plain
from engram_core.values import PartialDate
from engram_core.vocab import (
    AssetType,
    Channel,
    GoalStatus,
    Horizon,
    LocationType,
    OrgType,
    Polarity,
    Proficiency,
    ProjectStatus,
)

NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)

LEAST: dict[type[Attributes], dict[str, Any]] = {
    Fact: {"statement": "Water boils"},
    Preference: {"polarity": "likes"},
    Person: {"full_name": "Alice Ng"},
    Organization: {"name": "Acme"},
    Project: {"name": "Engram", "status": "active"},
    Skill: {"name": "Welding"},
    Goal: {"statement": "Run 10 km", "status": "active"},
    Contact: {"channel": "email", "value": "a@example.org"},
    Episode: {"occurred_at": NOON},
    Location: {"name": "Oslo"},
    Asset: {"asset_type": "file"},
    Relationship: {"subject_id": "a", "predicate": "manages", "object_id": "b"},
}
NEEDED_TEXT = [
    (Fact, "statement"),
    (Person, "full_name"),
    (Organization, "name"),
    (Project, "name"),
    (Skill, "name"),
    (Goal, "statement"),
    (Contact, "value"),
    (Location, "name"),
    (Relationship, "subject_id"),
    (Relationship, "predicate"),
    (Relationship, "object_id"),
]
OTHER_TEXT = [
    (Preference, "context"),
    (Preference, "target"),
    (Person, "notes"),
    (Organization, "url"),
    (Project, "summary"),
    (Contact, "label"),
    (Episode, "outcome"),
    (Location, "address"),
    (Asset, "name"),
    (Asset, "uri"),
    (Asset, "identifier"),
    (Asset, "notes"),
]
LISTS = [(Person, "aliases"), (Person, "roles"), (Organization, "aliases"), (Location, "aliases"), (Asset, "aliases")]
WORDS = [
    (Preference, "polarity", Polarity),
    (Organization, "org_type", OrgType),
    (Project, "status", ProjectStatus),
    (Skill, "proficiency", Proficiency),
    (Goal, "status", GoalStatus),
    (Goal, "horizon", Horizon),
    (Contact, "channel", Channel),
    (Location, "location_type", LocationType),
    (Asset, "asset_type", AssetType),
]
INSTANTS = [(Skill, "last_used_at"), (Episode, "occurred_at"), (Episode, "start_at"), (Episode, "end_at")]
DAYS = [(Project, "target_date"), (Goal, "target_date"), (Relationship, "since"), (Relationship, "until")]


def made(cls: type[Attributes], **changes: Any) -> Any:
    """An object with the least that its class needs, and these changes."""
    return cls(**(LEAST[cls] | changes))


def problems(cls: type[Attributes], **changes: Any) -> dict[str, str]:
    """What the constructor finds wrong, by field."""
    with pytest.raises(InvalidAttributesError) as caught:
        made(cls, **changes)
    return {problem.field: problem.problem for problem in caught.value.problems}


def test_every_field_of_every_class_is_tested_here() -> None:
    """The lists above name each field of the twelve once, but for numbers and flags."""
    named = {(cls, name) for cls, name, *_ in [*NEEDED_TEXT, *OTHER_TEXT, *LISTS, *WORDS, *INSTANTS, *DAYS]}
    others = {(Preference, "strength"), (Contact, "preferred"), (Location, "latitude"), (Location, "longitude")}
    assert named | others == {(s.attributes, a.name) for s in KINDS for a in fields(s.attributes)}


@pytest.mark.parametrize("cls", list(LEAST))
def test_the_least_that_is_needed_is_enough(cls: type[Attributes]) -> None:
    """Everything beside the required fields may be left out."""
    assert made(cls) == made(cls)


@pytest.mark.parametrize("cls", list(LEAST))
def test_objects_are_values(cls: type[Attributes]) -> None:
    """They are hashable, can be copied and pickled, and cannot be changed."""
    value = made(cls)
    assert {value} == {copy.deepcopy(value), pickle.loads(pickle.dumps(value)), evolve(value)}
    with pytest.raises(FrozenInstanceError):
        setattr(value, fields(cls)[0].name, "x")


def test_fields_can_be_given_by_place() -> None:
    """Required fields stand first."""
    assert Fact(statement="x") == Fact("x")
    assert Person(full_name="A", aliases=("B",)) == Person("A", ["B"])  # type: ignore[arg-type]


def test_what_has_no_form_stays_to_be_refused() -> None:
    """A naive instant is not made one of some time zone; what JSON can hold is plain."""
    naive = datetime(2026, 3, 5)
    assert naive is plain(naive)
    assert "2026-03-05T12:00:00.000000Z" == plain(NOON)
    assert ["2026-03-05", "2026", [1], 1, "likes"] == [
        plain(value) for value in (date(2026, 3, 5), PartialDate("2026"), (1,), 1, Polarity.LIKES)
    ]
    assert str is type(plain(Polarity.LIKES))


def test_each_field_has_the_sort_of_its_annotation() -> None:
    """On which columns, filters and full text rest."""
    found = [(rule.name, rule.sort, rule.vocabulary, rule.is_required) for rule in field_rules(Contact)]
    assert [
        ("channel", "word", Channel, True),
        ("value", "text", None, True),
        ("label", "text", None, False),
        ("preferred", "flag", None, False),
    ] == found
    sorts: dict[str, set[str]] = {}
    for spec in KINDS:
        for rule in spec.rules:
            sorts.setdefault(rule.sort, set()).add(f"{spec.kind}.{rule.name}")
    named = {f"{KINDS.spec(cls).kind}.{name}" for cls, name, *_ in INSTANTS}
    assert (named, {f"{KINDS.spec(cls).kind}.{name}" for cls, name in DAYS}) == (sorts["instant"], sorts["day"])
    assert {"text", "texts", "word", "number", "flag", "instant", "day"} == set(sorts)


# -- text ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cls", "name"), NEEDED_TEXT)
def test_required_text_is_stripped_and_not_blank(cls: type[Attributes], name: str) -> None:
    """Blanks around it go; blanks alone are refused, as is None."""
    assert "x y" == getattr(made(cls, **{name: " \tx y\n "}), name)
    for blank in ("", " ", "\n\t\u2003"):
        assert {name: "must not be blank"} == problems(cls, **{name: blank})
    assert {name: "is required"} == problems(cls, **{name: None})


@pytest.mark.parametrize(("cls", "name"), OTHER_TEXT)
def test_other_text_is_kept_as_given(cls: type[Attributes], name: str) -> None:
    """Not a blank of it is lost; None is its absence."""
    for text in ("  x\n", "", " "):
        assert text == getattr(made(cls, **{name: text}), name)
    assert getattr(made(cls, **{name: None}), name) is None


@pytest.mark.parametrize(
    ("cls", "name", "limit"), [(*f, 2_000) for f in NEEDED_TEXT] + [(*f, 5_000) for f in OTHER_TEXT]
)
def test_text_has_its_limits(cls: type[Attributes], name: str, limit: int) -> None:
    """The last character that fits is kept, one more is refused."""
    assert limit == len(getattr(made(cls, **{name: "é" * limit}), name))
    assert [name] == list(problems(cls, **{name: "x" * (limit + 1)}))


@pytest.mark.parametrize(("cls", "name"), NEEDED_TEXT + OTHER_TEXT)
@pytest.mark.parametrize("wrong", [1, True, 1.5, b"x", ["x"], {"x": 1}, "a\0b", "\ud800", NOON])
def test_text_is_text(cls: type[Attributes], name: str, wrong: object) -> None:
    """Nothing is made into text, and what no store carries is refused."""
    assert [name] == list(problems(cls, **{name: wrong}))


@pytest.mark.parametrize(("cls", "name"), LISTS)
def test_lists_of_text(cls: type[Attributes], name: str) -> None:
    """A list or tuple becomes a tuple; a text is no list, and no entry is blank or anything else."""
    assert ("a", " b") == getattr(made(cls, **{name: ["a", " b"]}), name)
    assert () == getattr(made(cls, **{name: []}), name)
    assert () == getattr(made(cls, **{name: None}), name)
    for wrong in ("abc", {"a"}, 1, [1], ["a", None], [" "], ["\0"], ["\udfff"], ["x" * 2_001], ["x"] * 51):
        assert [name] == list(problems(cls, **{name: wrong}))
    assert 50 == len(getattr(made(cls, **{name: ["x"] * 50}), name))


def test_every_wrong_entry_is_named() -> None:
    """The problem of a list tells the place of each entry."""
    assert {"aliases": "entry 1 must be text, not int; entry 3 must not be blank"} == problems(
        Person, aliases=[1, "ok", ""]
    )


# -- vocabularies, numbers, flags ------------------------------------------------------------------------


@pytest.mark.parametrize(("cls", "name", "vocabulary"), WORDS)
def test_words_come_from_their_vocabulary(cls: type[Attributes], name: str, vocabulary: type[Any]) -> None:
    """Members and their values are taken and become members; anything else is refused with the choice."""
    for word in vocabulary:
        assert getattr(made(cls, **{name: word.value}), name) is word
        assert getattr(made(cls, **{name: word}), name) is word
    first = next(iter(vocabulary)).value
    for wrong in ("nope", "", first.upper(), 1, True, ["x"], {}, b"x"):
        assert first in problems(cls, **{name: wrong})[name]


def test_a_long_wrong_word_is_cut_short() -> None:
    """An error repeats no novel."""
    assert len(problems(Preference, polarity="x" * 100_000)["polarity"]) < 200


@pytest.mark.parametrize(
    ("cls", "name", "low", "high", "rest"),
    [
        (Preference, "strength", 0, 1, {}),
        (Location, "latitude", -90, 90, {"longitude": 0}),
        (Location, "longitude", -180, 180, {"latitude": 0}),
    ],
)
def test_numbers_are_finite_and_in_range(
    cls: type[Attributes], name: str, low: float, high: float, rest: dict[str, Any]
) -> None:
    """Both bounds belong to the range; a whole number becomes a float; nothing else is a number."""
    for number in (low, high, (low + high) / 2):
        found = getattr(made(cls, **{name: number}, **rest), name)
        assert (number, float) == (found, type(found))
    beyond = (low - 1e-9, high + 1e-9, 10**400, -(10**400))
    for wrong in (*beyond, float("nan"), float("inf"), -float("inf"), True, False, "0", "0.5", 1j, [0]):
        assert [name] == list(problems(cls, **{name: wrong}, **rest))


def test_there_is_one_zero() -> None:
    """Minus nothing is nothing, so that equal values have equal text."""
    assert "0.0" == repr(Preference("likes", -0.0).strength)


def test_a_flag_is_true_or_false() -> None:
    """No number and no text is a flag."""
    assert [True, False, None] == [made(Contact, preferred=flag).preferred for flag in (True, False, None)]
    for wrong in (0, 1, "true", "false", "", []):
        assert ["preferred"] == list(problems(Contact, preferred=wrong))


# -- instants and days -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("cls", "name"), INSTANTS)
def test_instants_are_aware_and_become_utc(cls: type[Attributes], name: str) -> None:
    """Another zone's instant is the same instant; without a zone it is none, and a day is none."""
    local = datetime(2026, 3, 5, 14, 30, tzinfo=timezone(timedelta(hours=2)))
    for given_as in (local, local.isoformat(), "2026-03-05T12:30:00Z"):
        found = getattr(made(cls, **{name: given_as}), name)
        assert (local, UTC) == (found, found.tzinfo)
    edge = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    for wrong in (datetime(2026, 3, 5), date(2026, 3, 5), "2026-03-05", "2026-03-05T12:00", "soon", 0, True, edge):
        assert [name] == list(problems(cls, **{name: wrong}))


@pytest.mark.parametrize(("cls", "name"), DAYS)
def test_days_keep_their_precision(cls: type[Attributes], name: str) -> None:
    """A year stays a year; text becomes a date or a PartialDate; an instant is no day."""
    for given_as, expected in (
        ("2026", PartialDate("2026")),
        ("2026-03", PartialDate("2026-03")),
        ("2026-03-05", date(2026, 3, 5)),
        (PartialDate("2026"), PartialDate("2026")),
        (date(2026, 3, 5), date(2026, 3, 5)),
    ):
        assert expected == getattr(made(cls, **{name: given_as}), name)
    for wrong in (NOON, "2026-13", "2026-02-30", "20260305", "2026-W10-4", "٢٠٢٦", "26", "", "soon", 2026, True):
        assert [name] == list(problems(cls, **{name: wrong}))


# -- between fields --------------------------------------------------------------------------------------


def test_an_episode_has_an_instant_or_a_beginning() -> None:
    """One of the two is needed, and an end alone is not enough."""
    assert ["occurred_at"] == list(problems(Episode, occurred_at=None))
    assert ["occurred_at"] == list(problems(Episode, occurred_at=None, end_at=NOON))
    assert NOON == Episode(start_at=NOON).start_at


def test_an_episode_does_not_end_before_it_begins() -> None:
    """It may end at once; without a beginning, the instant counts as one."""
    assert NOON == Episode(start_at=NOON, end_at=NOON).end_at
    early = NOON - timedelta(microseconds=1)
    assert {"end_at": "must not be earlier than start_at"} == problems(Episode, start_at=NOON, end_at=early)
    assert {"end_at": "must not be earlier than occurred_at"} == problems(Episode, end_at=early)


def test_a_location_has_both_coordinates_or_none() -> None:
    """The missing one is named."""
    assert ["longitude"] == list(problems(Location, latitude=59.9))
    assert ["latitude"] == list(problems(Location, longitude=10.7))
    assert 0.0 == made(Location, latitude=0, longitude=0).latitude


def test_a_relationship_joins_two() -> None:
    """Subject and object differ, whatever form the ids come in."""
    id = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
    assert str(id) == Relationship(id, "knows", "b").subject_id
    assert ["object_id"] == list(problems(Relationship, subject_id="x", object_id=" x"))
    assert ["object_id"] == list(problems(Relationship, subject_id=id, object_id=str(id)))


@pytest.mark.parametrize(
    ("since", "until", "fits"),
    [
        ("2024-03-05", "2024-03-05", True),
        ("2024-03-05", "2024-03-04", False),
        ("2024-03-05", "2024-03", True),
        ("2024-03-05", "2024", True),
        ("2024-03-05", "2024-02", False),
        ("2024-03-05", "2023", False),
        ("2024", "2024-01-01", True),
        ("2024", "2023-12-31", False),
        ("2024-12", "2024-11", False),
        ("2024-12", "2024", True),
    ],
)
def test_a_relationship_does_not_end_surely_before_it_began(since: str, until: str, fits: bool) -> None:
    """Where precision leaves it open, it is not refused."""
    if fits:
        assert made(Relationship, since=since, until=until).until is not None
    else:
        assert {"until": "must not be earlier than since"} == problems(Relationship, since=since, until=until)


def test_all_problems_come_at_once_in_field_order() -> None:
    """One error lists them, those between fields included."""
    with pytest.raises(InvalidAttributesError) as caught:
        Relationship("", 1, "", since=NOON, until="x")  # type: ignore[arg-type]
    assert ["subject_id", "predicate", "object_id", "since", "until"] == [p.field for p in caught.value.problems]
    with pytest.raises(InvalidAttributesError) as caught:
        Location("", longitude=1, location_type="moon")
    assert ["name", "latitude", "location_type"] == [p.field for p in caught.value.problems]
    assert "Location: name: must not be blank; latitude: " in str(caught.value)


# -- properties ------------------------------------------------------------------------------------------

ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.binary(max_size=3),
    st.datetimes(), st.dates(), st.lists(st.text(max_size=3), max_size=3), st.sampled_from(["likes", "2024", "a@b"]),
    st.uuids(), st.just("x" * 6_000), st.characters(categories=["Cs"]),
)  # fmt: skip


@given(st.data())
def test_whatever_is_given_a_class_takes_it_typed_or_refuses_it(data: st.DataObject) -> None:
    """No input ends in any other error; what is taken is taken again, unchanged."""
    cls = data.draw(st.sampled_from(list(LEAST)))
    names = [attribute.name for attribute in fields(cls)]
    changes = data.draw(st.dictionaries(st.sampled_from(names), ANYTHING))
    try:
        value = made(cls, **changes)
    except InvalidAttributesError as error:
        found = [problem.field for problem in error.problems]
        assert [name for name in names if name in found] == found
    else:
        assert value == cls(**{name: getattr(value, name) for name in names})
