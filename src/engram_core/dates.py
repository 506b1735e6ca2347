"""A human date becomes a period, at the precision of its text. The only place that reads free dates.

A text names a calendar unit, and the period is that unit: "2026-03" is a month, "tomorrow" a day, "in 3 weeks"
the week, from Monday, in which the instant three weeks from now falls. What could mean two things is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import cached_property
from typing import Final, NoReturn

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.values import Period, checked_instant

__all__ = ["when"]

_HINT: Final = (
    'write for instance "2026", "2026-03", "2026-03-05 14:30", "5 March 2026", "Q2 2026", "tomorrow", '
    '"next friday", "last week", "in 3 days", "2 months ago" or "2026-01 to 2026-03"'
)
_LONGEST: Final = 100
_COUNTED: Final = "one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve"
_NUMBERS: Final = {"a": 1, "an": 1} | {word: n for n, word in enumerate(_COUNTED.split(", "), start=1)}
_UNITS: Final = ("second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade")
_CLOCK_UNITS: Final = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
}
_DAYS: Final = {
    "day before yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tomorrow": 1,
    "day after tomorrow": 2,
}
_STEPS: Final = {"last": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1}


def when(text: str, zone: str | tzinfo | None = None, now: datetime | None = None) -> Period:
    """The period that a human date means.

    "next friday" is the first one after today, "last friday" the latest before, "this friday" that of this
    week. "last 7 days" is the stretch up to now, "next 2 months" that from now on.

    Args:
        text: An absolute or relative date in English or ISO 8601.
        zone: IANA name or tzinfo of the calendar that is meant; None: UTC.
        now: Aware instant from which a relative date counts; None: the machine's clock.

    Returns: The half-open period, in UTC; days begin and end where they do in the zone, whatever its clocks do.
    Raises: InvalidAttributesError for text that is unknown or ambiguous, a naive `now`, an unknown zone.
    """
    if not isinstance(text, str):
        raise InvalidAttributesError("when", [Problem("text", f"must be text, not {type(text).__name__}")])
    reader = _Reader(text, _zone(zone), None if now is None else checked_instant(now, "now", "when"))
    try:
        return reader.read()
    except (OverflowError, ValueError) as error:
        if isinstance(error, InvalidAttributesError):
            raise
        reader.refuse("lies outside the calendar")


def _zone(zone: str | tzinfo | None) -> tzinfo:
    if zone is None:
        return UTC
    if isinstance(zone, tzinfo):
        return zone
    from zoneinfo import ZoneInfo

    if not isinstance(zone, str):
        problem = Problem("zone", f"must be a tzinfo or an IANA name, not {type(zone).__name__}")
        raise InvalidAttributesError("when", [problem])
    if zone == "UTC":  # known even where the system has no database of zones
        return UTC
    try:
        return ZoneInfo(zone)
    except (KeyError, ValueError, TypeError, OSError):
        problem = Problem("zone", "is neither a tzinfo nor a known IANA name")
        raise InvalidAttributesError("when", [problem], hint='such as "Europe/Oslo"') from None


class _Reader:
    """Reads one text."""

    def __init__(self, text: str, zone: tzinfo, now: datetime | None) -> None:
        self.shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        self.text = " ".join(text.casefold().replace(",", " ").split())
        self.zone = zone
        self._now = now

    @cached_property
    def now(self) -> datetime:
        """The instant from which relative dates count, in the zone."""
        return (self._now or datetime.now(UTC)).astimezone(self.zone)

    @cached_property
    def today(self) -> date:
        """The day of `now` in the zone."""
        return self.now.date()

    def refuse(self, problem: str, hint: str = _HINT) -> NoReturn:
        """Says what is wrong with the text."""
        raise InvalidAttributesError("when", [Problem("text", f"{self.shown!r} {problem}")], hint=hint)

    def read(self) -> Period:
        if len(self.text) > _LONGEST:
            self.refuse("is too long to be a date")
        between = re.fullmatch(r"(?:between (.+?) and|(?:from )?(.+?) ?(?:\.\.| to | until ) ?)(.+)", self.text)
        if between is None:
            return self.single(self.text)
        start, end = self.single(between[1] or between[2]), self.single(between[3].strip())
        if end.end <= start.start:
            self.refuse("ends before it begins")
        return Period(start.start, end.end)

    def single(self, text: str) -> Period:
        """The period of a text that names one unit, with or without a time of day."""
        for pattern, handler in _FORMS:
            if match := pattern.fullmatch(text):
                return handler(self, match)
        timed = _TIMED.fullmatch(text)
        if timed is None:
            self.refuse("is no date that is understood here")
        return self.at_time(self.single(timed["date"]), timed)

    # -- from the calendar to instants ----------------------------------------------------------------

    def instant(self, wall: datetime) -> datetime:
        """The first instant, in UTC, at which the zone's clocks show this or anything later."""
        found = wall.replace(tzinfo=self.zone).astimezone(UTC)
        if found.astimezone(self.zone).replace(tzinfo=None) <= wall:
            return found
        # The clocks jumped over it; the first later moment is that of the jump, between the two readings.
        low, high = wall.replace(tzinfo=self.zone, fold=1).astimezone(UTC), found
        while high - low > timedelta(microseconds=1):
            middle = low + (high - low) / 2
            if middle.astimezone(self.zone).replace(tzinfo=None) < wall:
                low = middle
            else:
                high = middle
        return high

    def days(self, start: date, end: date) -> Period:
        """The days from `start` up to, and without, `end`."""
        first, last = (self.instant(datetime.combine(day, time())) for day in (start, end))
        if first == last:
            self.refuse("was left out by the clocks of that zone")
        return Period(first, last)

    def unit(self, unit: str, day: date) -> Period:
        """The calendar unit in which a day lies."""
        from dateutil.relativedelta import relativedelta

        match unit:
            case "day":
                return self.days(day, day + timedelta(days=1))
            case "week":
                start = day - timedelta(days=day.weekday())
                return self.days(start, start + timedelta(days=7))
            case "weekend":
                start = day + timedelta(days=5 - day.weekday())
                return self.days(start, start + timedelta(days=2))
            case "month":
                start = day.replace(day=1)
                return self.days(start, start + relativedelta(months=1))
            case "quarter":
                start = day.replace(day=1, month=day.month - (day.month - 1) % 3)
                return self.days(start, start + relativedelta(months=3))
            case "year":
                return self.days(date(day.year, 1, 1), date(day.year + 1, 1, 1))
            case _:
                start = date(max(1, day.year - day.year % 10), 1, 1)
                return self.days(start, date(day.year - day.year % 10 + 10, 1, 1))

    def moved(self, steps: int, unit: str) -> date:
        """Today, moved by so many units; the end of a shorter month stands for the days it lacks."""
        from dateutil.relativedelta import relativedelta

        if abs(steps) > 100_000:
            self.refuse("lies too far away")
        match unit:
            case "quarter":
                return self.today + relativedelta(months=3 * steps)
            case "decade":
                return self.today + relativedelta(years=10 * steps)
            case "weekend":
                return self.today + timedelta(weeks=steps)
            case "day" | "week":
                return self.today + timedelta(**{f"{unit}s": steps})
            case _:
                return self.today + (relativedelta(months=steps) if unit == "month" else relativedelta(years=steps))

    def at_time(self, day: Period, match: re.Match[str]) -> Period:
        """A time of day within a day; as long as its last digit is worth."""
        if day.end - day.start > timedelta(hours=36) or day.end - day.start < timedelta(hours=12):
            self.refuse("has a time of day, but no day")
        hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
        half = match["half"]
        if (half and not 1 <= hour <= 12) or hour > 23 or minute > 59 or second > 59:
            self.refuse("has no such time of day")
        if half:
            hour = hour % 12 + (12 if half.startswith("p") else 0)
        fraction = match["fraction"] or ""
        micros = int(fraction.ljust(6, "0")) if fraction else 0
        first = day.start.astimezone(self.zone).date()
        wall = datetime.combine(first, time(hour, minute, second, micros))
        start = self.wall_instant(wall, match["offset"])
        if fraction:
            return Period(start, start + timedelta(microseconds=10 ** (6 - len(fraction))))
        precision = "second" if match["second"] else "minute" if match["minute"] else "hour"
        return Period(start, start + _CLOCK_UNITS[precision])

    def wall_instant(self, wall: datetime, offset: str | None) -> datetime:
        """The one instant at which clocks with that offset, or those of the zone, show this."""
        if offset is not None:
            digits = offset.replace(":", "").ljust(5, "0")
            minutes = 0 if offset == "z" else int(digits[1:3]) * 60 + int(digits[3:5])
            shift = timedelta(minutes=-minutes if offset.startswith("-") else minutes)
            return wall.replace(tzinfo=timezone(shift)).astimezone(UTC)
        first, second = (wall.replace(tzinfo=self.zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if first != second:
            times = "twice" if first < second else "never"
            self.refuse(f"happens {times} in that zone", 'add the offset, such as "+02:00"')
        return first


# -- the forms that are understood --------------------------------------------------------------------


def _iso(reader: _Reader, match: re.Match[str]) -> Period:
    day = date(int(match["year"]), int(match["month"] or 1), int(match["day"] or 1))
    return reader.unit("day" if match["day"] else "month" if match["month"] else "year", day)


def _slashed(reader: _Reader, match: re.Match[str]) -> Period:
    first, second, year = (int(match[n]) for n in (1, 2, 3))
    if first != second and first <= 12 and second <= 12:
        reader.refuse("could be either of two days", f'write "{year}-{second:02}-{first:02}" or name the month')
    day, month = (first, second) if second <= 12 else (second, first)
    return reader.unit("day", date(year, month, day))


def _named(reader: _Reader, match: re.Match[str]) -> Period:
    month = _month(match["name"])
    day = date(int(match["year"]), month, int(match["day"] or 1))
    if not match["day"]:
        return reader.unit("month", day)
    if match["weekday"] and _weekday(match["weekday"]) != day.weekday():
        reader.refuse("names a day of the week that does not fit")
    return reader.unit("day", day)


def _quarter(reader: _Reader, match: re.Match[str]) -> Period:
    return reader.unit("quarter", date(int(match["year"]), 3 * int(match["quarter"]) - 2, 1))


def _iso_week(reader: _Reader, match: re.Match[str]) -> Period:
    return reader.unit("week", date.fromisocalendar(int(match["year"]), int(match["week"]), 1))


def _decade(reader: _Reader, match: re.Match[str]) -> Period:
    return reader.unit("decade", date(int(match["year"]), 1, 1))


def _day(reader: _Reader, match: re.Match[str]) -> Period:
    return reader.unit("day", reader.today + timedelta(days=_DAYS[match["day"]]))


def _stepped(reader: _Reader, match: re.Match[str]) -> Period:
    return reader.unit(match["unit"], reader.moved(_STEPS[match["step"]], match["unit"]))


def _stepped_weekday(reader: _Reader, match: re.Match[str]) -> Period:
    ahead = _weekday(match["weekday"]) - reader.today.weekday()
    match _STEPS[match["step"]]:
        case 1:
            ahead = (ahead - 1) % 7 + 1
        case -1:
            ahead = ahead % 7 - 7
        case _:
            pass
    return reader.unit("day", reader.today + timedelta(days=ahead))


def _stepped_month(reader: _Reader, match: re.Match[str]) -> Period:
    month, step = _month(match["name"]), _STEPS[match["step"]]
    turned = (step > 0 and month <= reader.today.month) or (step < 0 and month >= reader.today.month)
    return reader.unit("month", date(reader.today.year + (step if turned else 0), month, 1))


def _counted(reader: _Reader, match: re.Match[str]) -> Period:
    steps = _number(match["number"]) * (-1 if match["ago"] == "ago" else 1)
    unit = match["unit"]
    if unit not in _CLOCK_UNITS:
        return reader.unit(unit, reader.moved(steps, unit))
    length = _CLOCK_UNITS[unit]
    found = reader.now.astimezone(UTC) + steps * length
    wall = found.astimezone(reader.zone)
    past = timedelta(minutes=wall.minute, seconds=wall.second, microseconds=wall.microsecond) % length
    return Period(found - past, found - past + length)


def _rolling(reader: _Reader, match: re.Match[str]) -> Period:
    steps = _number(match["number"]) * (1 if match["step"] in {"next", "coming"} else -1)
    unit = match["unit"]
    if not steps:
        reader.refuse("has no length")
    now = reader.now.astimezone(UTC)
    if unit in _CLOCK_UNITS:
        other = now + steps * _CLOCK_UNITS[unit]
    else:
        other = reader.instant(datetime.combine(reader.moved(steps, unit), reader.now.time()))
    return Period(min(now, other), max(now, other))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else _NUMBERS[text]


def _month(name: str) -> int:
    from dateutil.parser import parserinfo

    month = parserinfo().month(name[:3])
    assert isinstance(month, int)
    return month


def _weekday(name: str) -> int:
    from dateutil.parser import parserinfo

    weekday = parserinfo().weekday(name[:3])
    assert isinstance(weekday, int)
    return weekday


_TIME: Final = (
    r"(?:(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,6}))?)?)?"
    r"(?: ?(?P<half>[ap]m))?(?: ?(?P<offset>z|[+-]\d\d(?::?\d\d)?))?)"
)
_TIMED: Final = re.compile(rf"(?P<date>.+?)(?:t| at | ){_TIME}", re.ASCII)
_MONTH: Final = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY: Final = (
    r"(?P<weekday>mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:rs|rsday)?|fri(?:day)?|sat(?:urday)?"
    r"|sun(?:day)?)"
)
_YEAR: Final = r"(?P<year>\d{4})"
_DAY_OF_MONTH: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_STEP: Final = rf"(?P<step>{'|'.join(_STEPS)})"
_COUNT: Final = rf"(?P<number>\d{{1,6}}|{'|'.join(_NUMBERS)}) (?P<unit>{'|'.join(_UNITS)})s?"

_FORMS: Final[tuple[tuple[re.Pattern[str], Callable[[_Reader, re.Match[str]], Period]], ...]] = tuple(
    (re.compile(pattern, re.ASCII), handler)
    for pattern, handler in (
        (rf"{_YEAR}(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?", _iso),
        (rf"{_YEAR}(?P<sign>[/.])(?P<month>\d\d)(?:(?P=sign)(?P<day>\d\d))?", _iso),
        (r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})", _slashed),
        (rf"(?:{_WEEKDAY} )?(?:the )?{_DAY_OF_MONTH} (?:of )?{_MONTH} {_YEAR}", _named),
        (rf"(?:{_WEEKDAY} )?{_MONTH} {_DAY_OF_MONTH} {_YEAR}", _named),
        (rf"(?P<weekday>)(?P<day>){_MONTH} (?:of )?{_YEAR}", _named),
        (rf"q(?P<quarter>[1-4])(?: of)? {_YEAR}", _quarter),
        (rf"{_YEAR}[- ]?q(?P<quarter>[1-4])", _quarter),
        (rf"{_YEAR}-?w(?P<week>\d\d)", _iso_week),
        (r"(?:the )?(?P<year>\d{3}0)s", _decade),
        (rf"(?:the )?(?P<day>{'|'.join(_DAYS)})", _day),
        (rf"{_STEP} (?P<unit>week|weekend|month|quarter|year|decade)", _stepped),
        (rf"{_STEP} {_WEEKDAY}", _stepped_weekday),
        (rf"{_STEP} {_MONTH}", _stepped_month),
        (rf"in {_COUNT}(?P<ago>)", _counted),
        (rf"{_COUNT} (?P<ago>ago|from now)", _counted),
        (rf"(?:the )?(?P<step>last|past|previous|next|coming) {_COUNT}", _rolling),
    )
)
