"""The small values: what they take, what they refuse, what they mean."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_core.errors import InvalidAttributesError
from engram_core.values import (
    EPOCH,
    UNSET,
    Actor,
    EvidenceRef,
    Lifetime,
    PartialDate,
    Period,
    Validity,
    Visibility,
    assistant,
    canonical_id,
    checked_instant,
    ephemeral,
    from_micros,
    importer,
    instant_text,
    permanent,
    plugin,
    private,
    restricted,
    shared,
    standard,
    system,
    text_problem,
    to_micros,
    until,
    user,
)
from engram_core.vocab import ActorKind, EvidenceType, LifetimeKind, VisibilityKind

NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)
NAIVE = datetime(2026, 3, 5, 12)
EAST = timezone(timedelta(hours=5, minutes=30))
AWARE = st.datetimes(timezones=st.sampled_from([UTC, EAST, timezone(-timedelta(hours=8))])).filter(
    lambda instant: 2 <= instant.year <= 9998
)


def named(*args: Any, call: Any) -> list[str]:
    """The fields that a call refuses."""
    with pytest.raises(InvalidAttributesError) as caught:
        call(*args)
    return [problem.field for problem in caught.value.problems]


# -- instants ------------------------------------------------------------------------------------------


@given(AWARE)
def test_microseconds_and_text_are_exact(instant: datetime) -> None:
    """Both say the same instant, and nothing of it is lost."""
    assert instant == from_micros(to_micros(instant)) == datetime.fromisoformat(instant_text(instant))


@given(AWARE, AWARE)
def test_order_of_text_is_order_of_time(one: datetime, other: datetime) -> None:
    """So a store may sort text."""
    assert (one < other) == (instant_text(one) < instant_text(other)) == (to_micros(one) < to_micros(other))


def test_the_epoch_is_zero() -> None:
    """Microseconds count from 1970."""
    assert (0, "1970-01-01T00:00:00.000000Z") == (to_micros(EPOCH), instant_text(EPOCH))


def test_an_instant_is_aware() -> None:
    """It comes back in UTC; a naive one, a day, a text and what lies outside the calendar are refused."""
    assert UTC is checked_instant(NOON.astimezone(EAST), "x").tzinfo
    edge = datetime.min.replace(tzinfo=EAST)
    for wrong in (NAIVE, date(2026, 3, 5), "2026-03-05T12:00:00Z", 0, None, edge):
        assert ["at"] == named(wrong, "at", call=checked_instant)


# -- text ----------------------------------------------------------------------------------------------


@given(st.text())
def test_text_is_storable_or_refused(text: str) -> None:
    """What is not refused can be encoded, and holds no NUL."""
    if text_problem(text) is None:
        assert "\0" not in text
        assert text == text.encode().decode()
    else:
        assert "\0" in text or any("\ud800" <= c <= "\udfff" for c in text)


def test_the_rules_of_text() -> None:
    """Length and blankness are asked for."""
    assert [None, None, None] == [text_problem(""), text_problem("x", at_most=1), text_problem(" ")]
    for problem in (text_problem("xx", at_most=1), text_problem(" \n", blank=False), text_problem("\0")):
        assert problem
    assert text_problem(b"x") == "must be text, not bytes"


def test_only_a_uuid_is_one_whatever_its_case() -> None:
    """Other ids are what they are, to the letter."""
    upper = "0123ABCD-89AB-CDEF-0123-456789ABCDEF"
    assert [upper.lower(), upper.lower()] == [canonical_id(upper), canonical_id(upper.lower())]
    for other in ("Ann", "ann", upper + "0", upper.replace("-", ""), ""):
        assert other == canonical_id(other)


# -- actors --------------------------------------------------------------------------------------------


def test_an_actor_is_kind_and_id_to_the_letter() -> None:
    """Nothing is folded, stripped or taken for part of another."""
    assert Actor("user", "ann") == user("ann")
    assert len({user("ann"), user("Ann"), user("ann "), assistant("ann"), user("an")}) == 5
    assert "assistant:claude" == str(assistant("claude"))


def test_each_kind_of_actor_has_its_maker() -> None:
    """And only users are users."""
    made = [user("x"), assistant("x"), system("x"), importer("x"), plugin("x")]
    assert list(ActorKind) == [actor.kind for actor in made]
    assert [True, False, False, False, False] == [actor.is_user for actor in made]


def test_what_is_no_actor() -> None:
    """All problems at once."""
    assert ["kind", "id"] == named("robot", " ", call=Actor)
    for wrong in ("", "\t", "a\0", "\ud800", "x" * 201, 1, None):
        assert ["id"] == named("user", wrong, call=Actor)
    for wrong in (None, 1, [], "User"):
        assert ["kind"] == named(wrong, "x", call=Actor)


# -- dates and periods -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2024", date(2024, 1, 1), date(2024, 12, 31)),
        ("2024-02", date(2024, 2, 1), date(2024, 2, 29)),
        ("2023-02", date(2023, 2, 1), date(2023, 2, 28)),
        ("9999-12", date(9999, 12, 1), date(9999, 12, 31)),
        ("0001", date(1, 1, 1), date(1, 12, 31)),
    ],
)
def test_a_partial_date_spans_its_days(text: str, first: date, last: date) -> None:
    """It may mean any of them."""
    partial = PartialDate(text)
    assert (first, last, text) == (partial.first, partial.last, str(partial))


@pytest.mark.parametrize(
    "wrong", ["", "24", "2024-13", "2024-00", "0000", "2024-1", "2024-01-01", "2024\n", " 2024", "٢٠٢٤", 2024, None]
)
def test_what_is_no_partial_date(wrong: Any) -> None:
    """Year, or year and month, in plain digits."""
    assert ["text"] == named(wrong, call=PartialDate)


def test_a_period_is_half_open() -> None:
    """Its end is not in it."""
    hour = Period(NOON, NOON + timedelta(hours=1))
    assert [True, True, False, False] == [
        at in hour for at in (NOON, NOON + timedelta(minutes=59), hour.end, NOON - timedelta(microseconds=1))
    ]
    assert "noon" not in hour
    assert UTC is Period(NOON.astimezone(EAST), NOON + timedelta(1)).start.tzinfo


def test_what_is_no_period() -> None:
    """It has a length, and both ends are aware."""
    assert ["end"] == named(NOON, NOON, call=Period)
    assert ["start"] == named(NAIVE, NOON, call=Period)


# -- evidence ------------------------------------------------------------------------------------------


def test_evidence_is_typed() -> None:
    """The value is stripped, the note kept."""
    evidence = EvidenceRef("quote", " it is so ", " p. 3 ")
    assert (EvidenceType.QUOTE, "it is so", " p. 3 ") == (evidence.type, evidence.value, evidence.note)


def test_what_is_no_evidence() -> None:
    """All problems at once."""
    assert ["type", "value", "note"] == named("hearsay", " ", 1, call=EvidenceRef)
    assert ["value"] == named("uri", "a\0b", call=EvidenceRef)


# -- lifetime, visibility, validity ------------------------------------------------------------------------


def test_the_four_lifetimes() -> None:
    """Only `until` has an instant, and it has one."""
    made = [permanent(), standard(), until(NOON), ephemeral()]
    assert list(LifetimeKind) == [lifetime.kind for lifetime in made]
    assert [None, None, NOON, None] == [lifetime.expires_at for lifetime in made]
    assert ["expires_at"] == named(LifetimeKind.UNTIL, call=Lifetime)
    assert ["expires_at"] == named(LifetimeKind.STANDARD, NOON, call=Lifetime)


def test_until_a_period_ends() -> None:
    """A period stands for its end; a naive instant is refused."""
    assert until(NOON) == until(Period(NOON - timedelta(days=1), NOON)) == until(NOON.astimezone(EAST))
    assert ["until"] == named(NAIVE, call=until)


def test_the_three_visibilities() -> None:
    """A restriction lists somebody, each once; the others nobody."""
    claude = assistant("claude")
    assert [VisibilityKind.SHARED, VisibilityKind.PRIVATE] == [shared().kind, private().kind]
    assert restricted(claude) == restricted(claude, claude) == restricted([claude])
    assert {claude, user("ann")} == restricted(claude, [user("ann")]).actors
    assert ["actors"] == named(call=restricted)
    assert ["actors"] == named("claude", call=restricted)
    assert ["actors"] == named(VisibilityKind.SHARED, frozenset({claude}), call=Visibility)


def test_a_validity_holds_from_and_not_to() -> None:
    """An open side has no bound."""
    later = NOON + timedelta(hours=1)
    window = Validity(NOON, later)
    assert [False, True, True, False] == [
        window.holds_at(at) for at in (NOON - timedelta(1), NOON, later - timedelta(microseconds=1), later)
    ]
    assert Validity().holds_at(NOON)
    assert Validity(None, later).holds_at(EPOCH)
    assert not Validity(later).holds_at(NOON)


def test_what_is_no_validity() -> None:
    """A window has a length, and aware ends."""
    assert ["valid_to"] == named(NOON, NOON, call=Validity)
    assert ["valid_from"] == named(NAIVE, call=Validity)


@pytest.mark.parametrize(
    "value", [user("a"), PartialDate("2024"), Period(NOON, NOON + timedelta(1)), until(NOON), restricted(user("a")),
              Validity(NOON), EvidenceRef("uri", "x"), shared()],
)  # fmt: skip
def test_values_survive_pickle(value: object) -> None:
    """And stay equal and hashable."""
    again = pickle.loads(pickle.dumps(value))
    assert {value} == {again}
    assert repr(value) == repr(again)


def test_unset_is_neither_none_nor_true() -> None:
    """It is one thing, whatever happens to it."""
    assert not UNSET
    assert UNSET is not None
    assert UNSET is pickle.loads(pickle.dumps(UNSET))
    assert "UNSET" == repr(UNSET)
