"""Human dates: each text means one period, or is refused."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_core.dates import when
from engram_core.errors import InvalidAttributesError

NOW = datetime(2026, 3, 4, 14, 37, 12, 5, tzinfo=UTC)  # a Wednesday


def at(text: str) -> datetime:
    """The instant of ISO text, in UTC unless it says otherwise."""
    instant = datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def refused(text: Any, zone: Any = None, now: Any = NOW) -> InvalidAttributesError:
    """The error for a text."""
    with pytest.raises(InvalidAttributesError) as caught:
        when(text, zone=zone, now=now)
    return caught.value


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026", "2026-01-01", "2027-01-01"),
        ("2026-03", "2026-03-01", "2026-04-01"),
        ("2026-12", "2026-12-01", "2027-01-01"),
        ("2024-02-29", "2024-02-29", "2024-03-01"),
        ("2026/03/05", "2026-03-05", "2026-03-06"),
        ("2026.03", "2026-03-01", "2026-04-01"),
        ("2026-03-05 14:30", "2026-03-05T14:30", "2026-03-05T14:31"),
        ("2026-03-05T14:30:05", "2026-03-05T14:30:05", "2026-03-05T14:30:06"),
        ("2026-03-05T14:30:05.25", "2026-03-05T14:30:05.250000", "2026-03-05T14:30:05.260000"),
        ("2026-03-05T14:30:05.000001Z", "2026-03-05T14:30:05.000001", "2026-03-05T14:30:05.000002"),
        ("2026-03-05T14:30+02:00", "2026-03-05T12:30", "2026-03-05T12:31"),
        ("2026-03-05 14:30 -0530", "2026-03-05T20:00", "2026-03-05T20:01"),
        ("2026-03-05 2pm", "2026-03-05T14:00", "2026-03-05T15:00"),
        ("2026-03-05 at 12 am", "2026-03-05T00:00", "2026-03-05T01:00"),
        ("2026-03-05 at 12:05pm", "2026-03-05T12:05", "2026-03-05T12:06"),
        ("March 2026", "2026-03-01", "2026-04-01"),
        ("sept. 2026", "2026-09-01", "2026-10-01"),
        ("March of 2026", "2026-03-01", "2026-04-01"),
        ("5 March 2026", "2026-03-05", "2026-03-06"),
        ("the 5th of march, 2026", "2026-03-05", "2026-03-06"),
        ("March 5, 2026", "2026-03-05", "2026-03-06"),
        ("  THURSDAY,  5 Mar 2026 ", "2026-03-05", "2026-03-06"),
        ("5 March 2026 at 14:30", "2026-03-05T14:30", "2026-03-05T14:31"),
        ("25/12/2026", "2026-12-25", "2026-12-26"),
        ("12/25/2026", "2026-12-25", "2026-12-26"),
        ("3.3.2026", "2026-03-03", "2026-03-04"),
        ("Q2 2026", "2026-04-01", "2026-07-01"),
        ("2026-Q4", "2026-10-01", "2027-01-01"),
        ("2026-W10", "2026-03-02", "2026-03-09"),
        ("2020-W53", "2020-12-28", "2021-01-04"),
        ("the 1990s", "1990-01-01", "2000-01-01"),
        ("2026-01 to 2026-03", "2026-01-01", "2026-04-01"),
        ("from 2025 until March 2026", "2025-01-01", "2026-04-01"),
        ("between 2026-03-01 and 2026-03-05", "2026-03-01", "2026-03-06"),
        ("2025..2026", "2025-01-01", "2027-01-01"),
        ("9998", "9998-01-01", "9999-01-01"),
    ],
)
def test_an_absolute_text_needs_no_present(text: str, start: str, end: str) -> None:
    """It means the same whenever it is read, at its own precision."""
    for now in (None, NOW):
        period = when(text, now=now)
        assert (at(start), at(end)) == (period.start, period.end)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("today", "2026-03-04", "2026-03-05"),
        ("yesterday", "2026-03-03", "2026-03-04"),
        ("tomorrow", "2026-03-05", "2026-03-06"),
        ("the day after tomorrow", "2026-03-06", "2026-03-07"),
        ("day before yesterday", "2026-03-02", "2026-03-03"),
        ("Tomorrow at 9:30 pm", "2026-03-05T21:30", "2026-03-05T21:31"),
        ("yesterday 9am", "2026-03-03T09:00", "2026-03-03T10:00"),
        ("next friday", "2026-03-06", "2026-03-07"),
        ("next wednesday", "2026-03-11", "2026-03-12"),
        ("next tues", "2026-03-10", "2026-03-11"),
        ("last friday", "2026-02-27", "2026-02-28"),
        ("last wednesday", "2026-02-25", "2026-02-26"),
        ("last tuesday", "2026-03-03", "2026-03-04"),
        ("this monday", "2026-03-02", "2026-03-03"),
        ("this sunday", "2026-03-08", "2026-03-09"),
        ("coming thursday at 14:00", "2026-03-05T14:00", "2026-03-05T14:01"),
        ("this week", "2026-03-02", "2026-03-09"),
        ("last week", "2026-02-23", "2026-03-02"),
        ("next weekend", "2026-03-14", "2026-03-16"),
        ("this weekend", "2026-03-07", "2026-03-09"),
        ("this month", "2026-03-01", "2026-04-01"),
        ("previous month", "2026-02-01", "2026-03-01"),
        ("next quarter", "2026-04-01", "2026-07-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("this decade", "2020-01-01", "2030-01-01"),
        ("next march", "2027-03-01", "2027-04-01"),
        ("next april", "2026-04-01", "2026-05-01"),
        ("last march", "2025-03-01", "2025-04-01"),
        ("last february", "2026-02-01", "2026-03-01"),
        ("this december", "2026-12-01", "2027-01-01"),
        ("in 3 days", "2026-03-07", "2026-03-08"),
        ("three days ago", "2026-03-01", "2026-03-02"),
        ("a week from now", "2026-03-09", "2026-03-16"),
        ("in 2 months", "2026-05-01", "2026-06-01"),
        ("in one year", "2027-01-01", "2028-01-01"),
        ("2 quarters ago", "2025-07-01", "2025-10-01"),
        ("in 2 hours", "2026-03-04T16:00", "2026-03-04T17:00"),
        ("an hour ago", "2026-03-04T13:00", "2026-03-04T14:00"),
        ("in 30 minutes", "2026-03-04T15:07", "2026-03-04T15:08"),
        ("10 seconds ago", "2026-03-04T14:37:02", "2026-03-04T14:37:03"),
        ("last 7 days", "2026-02-25T14:37:12.000005", "2026-03-04T14:37:12.000005"),
        ("the past 12 hours", "2026-03-04T02:37:12.000005", "2026-03-04T14:37:12.000005"),
        ("next 2 months", "2026-03-04T14:37:12.000005", "2026-05-04T14:37:12.000005"),
        ("last monday to today", "2026-03-02", "2026-03-05"),
    ],
)
def test_a_relative_text_counts_from_now(text: str, start: str, end: str) -> None:
    """The named unit in which the instant that far away lies."""
    period = when(text, now=NOW)
    assert (at(start), at(end)) == (period.start, period.end)


def test_a_shorter_month_has_its_last_day() -> None:
    """A month before the end of March is February."""
    assert at("2026-02-01") == when("a month ago", now=at("2026-03-31")).start


@pytest.mark.parametrize(
    "text",
    ["", " ", "soon", "friday", "march", "5 march", "14:30", "10", "24", "now", "later today", "in days", "-1 days ago",
     "2026-13", "2026-00", "2026-02-30", "2026-3-5", "0000", "9999", "30 February 2026", "31/04/2026", "2026-W54",
     "Friday 5 March 2026", "2026-03-05 24:00", "2026-03-05 14:60", "2026-03-05 13pm", "2026-03 14:30",
     "last week 9am", "tomorrow 9:00 10:00", "in 999999 years", "in 99999999 days", "last 0 days", "2026 to 2025",
     "tomorrow to yesterday",
     "next", "next next week", "2026-03-05T14:30+25:00", "٢٠٢٦", "x" * 10_000, "2026\0", "\ud800", "2026; drop",
     "1 to", "to 1", "between 2026", "2 to 3 to 4"],
)  # fmt: skip
def test_what_is_unknown_or_impossible_is_refused(text: str) -> None:
    """With a hint, and without repeating a novel."""
    error = refused(text)
    assert error.hint
    assert ["text"] == [problem.field for problem in error.problems]
    assert len(str(error)) < 600


def test_what_could_be_two_days_is_refused() -> None:
    """The hint shows how to say which."""
    assert "2026-03-05" in refused("05/03/2026").hint


@pytest.mark.parametrize("wrong", [None, 2026, NOW, b"2026"])
def test_a_text_is_text(wrong: object) -> None:
    """Nothing else is read."""
    refused(wrong)


def test_now_is_aware() -> None:
    """A naive present is refused, by name."""
    assert ["now"] == [p.field for p in refused("today", now=datetime(2026, 3, 4)).problems]


def test_without_now_the_clock_is_read() -> None:
    """Whatever it says, tomorrow lies ahead of it by at most two days."""
    before = datetime.now(UTC)
    assert before < when("tomorrow").end < before + timedelta(days=2, minutes=5)


# -- zones ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "zone", "start", "end"),
    [
        ("2026-03-05", "Europe/Oslo", "2026-03-04T23:00", "2026-03-05T23:00"),
        ("2026-03-29", "Europe/Oslo", "2026-03-28T23:00", "2026-03-29T22:00"),
        ("2026-10-25", "Europe/Oslo", "2026-10-24T22:00", "2026-10-25T23:00"),
        ("2026-03", "America/New_York", "2026-03-01T05:00", "2026-04-01T04:00"),
        ("2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00", "2018-11-05T02:00"),
        ("2018-11-04 09:00", "America/Sao_Paulo", "2018-11-04T11:00", "2018-11-04T11:01"),
        ("2011-12-31", "Pacific/Apia", "2011-12-30T10:00", "2011-12-31T10:00"),
        ("today", "Pacific/Kiritimati", "2026-03-04T10:00", "2026-03-05T10:00"),
        ("tomorrow", "Pacific/Honolulu", "2026-03-05T10:00", "2026-03-06T10:00"),
        ("in 1 hour", "Asia/Kathmandu", "2026-03-04T15:15", "2026-03-04T16:15"),
        ("2026-03-05 09:30Z", "Asia/Tokyo", "2026-03-05T09:30", "2026-03-05T09:31"),
        ("2026", "UTC", "2026-01-01", "2027-01-01"),
        ("2026", timezone(timedelta(hours=-3)), "2026-01-01T03:00", "2027-01-01T03:00"),
        ("2026-10-25 02:30+01:00", "Europe/Oslo", "2026-10-25T01:30", "2026-10-25T01:31"),
    ],
)
def test_days_begin_where_they_begin_in_the_zone(text: str, zone: Any, start: str, end: str) -> None:
    """Short days, long days, and days whose midnight never came."""
    period = when(text, zone=zone, now=NOW)
    assert (at(start), at(end)) == (period.start, period.end)


@pytest.mark.parametrize(
    ("text", "zone", "reason"),
    [
        ("2026-03-29 02:30", "Europe/Oslo", "never"),
        ("2026-10-25 02:30", "Europe/Oslo", "twice"),
        ("2011-12-30", "Pacific/Apia", "left out"),
    ],
)
def test_what_the_clocks_skip_or_repeat_is_refused(text: str, zone: str, reason: str) -> None:
    """Such a time means no instant, or two."""
    assert reason in str(refused(text, zone))


@pytest.mark.parametrize("zone", ["Nowhere/Land", "", "../etc/passwd", "\0", 3])
def test_an_unknown_zone_is_refused(zone: object) -> None:
    """By name."""
    assert ["zone"] == [p.field for p in refused("2026", zone).problems]


ZONES = st.sampled_from(["UTC", "Europe/Oslo", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu"])
NOWS = st.datetimes(datetime(1975, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC))


@given(NOWS, ZONES, st.sampled_from(["day", "week", "month", "quarter", "year", "decade"]))
def test_units_tile_the_calendar(now: datetime, zone: str, unit: str) -> None:
    """This one begins where the last one ended, holds the present, and ends where the next one begins."""
    steps = ("last", "this", "next") if unit != "day" else ("yesterday", "today", "tomorrow")
    before, present, after = (when(s if unit == "day" else f"{s} {unit}", zone=zone, now=now) for s in steps)
    assert now in present
    assert (before.end, present.end) == (present.start, after.start)


@given(NOWS, ZONES, st.integers(-60, 60), st.sampled_from(["second", "minute", "hour"]))
def test_a_count_of_clock_units_lands_in_its_unit(now: datetime, zone: str, n: int, unit: str) -> None:
    """Exactly as long as the unit, and the instant is in it."""
    period = when(f"in {n} {unit}s" if n >= 0 else f"{-n} {unit}s ago", zone=zone, now=now)
    length = timedelta(**{f"{unit}s": 1})
    assert now + n * length in period
    assert length == period.end - period.start


@given(st.dates(datetime(1975, 1, 1).date(), datetime(2035, 1, 1).date()), ZONES)
def test_a_day_is_what_clocks_of_the_zone_call_it(day: Any, zone: str) -> None:
    """From its first instant to its last, and not a microsecond more."""
    period = when(day.isoformat(), zone=zone)
    tick = timedelta(microseconds=1)
    local = [(i.astimezone(ZoneInfo(zone))).date() for i in (period.start, period.end - tick)]
    assert [day, day] == local
    assert day not in [(i.astimezone(ZoneInfo(zone))).date() for i in (period.start - tick, period.end)]


@given(st.text(max_size=30) | st.text("0123456789-:/. ToZtq", max_size=20))
def test_any_other_text_is_refused_and_nothing_else_happens(text: str) -> None:
    """Reading a date raises one error, or gives a period."""
    with suppress(InvalidAttributesError):
        assert when(text, now=NOW).start < when(text, now=NOW).end
