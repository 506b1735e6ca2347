"""Dates that a question names, as far as they can be told from figures and the names of months."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple

__all__ = ["Moment", "moments"]

_MONTHS: Final = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_SHORT: Final = {name[:3]: number for number, name in enumerate(_MONTHS, start=1)}
_NAME: Final = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS) + "|sept"
_DATE: Final = re.compile(
    r"(?<![a-z0-9_-])(?:"  # Han and Hangul letters stand before a date without a blank
    r"(?P<iso>(?:19|20)\d\d)-(?P<iso_month>\d\d)(?:-(?P<iso_day>\d\d))?"
    r"|(?:(?P<han>(?:19|20)\d\d)\s?[年년]\s?)?(?P<han_month>\d{1,2})\s?[月월](?:\s?(?P<han_day>\d{1,2})\s?[日号號일])?"
    r"|(?P<han_alone>(?:19|20)\d\d)\s?[年년]"
    rf"|(?:(?P<before>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?)?(?P<name>{_NAME})\b\.?"
    r"(?:\s(?P<after>\d{1,2})(?:st|nd|rd|th)?(?!\w))?(?:,?\s(?:of\s)?(?P<year>(?:19|20)\d\d))?"
    r"|(?P<alone>(?:19|20)\d\d)(?![\w-])"
    r")",
    re.IGNORECASE,
)
_BEGINS: Final = re.compile(r"(?:^|[.?!:;\"(\n])\s*\Z")
_SOON: Final = 7  # days in which people tell what happened


class Moment(NamedTuple):
    """A year, a month or a day; None for what was not said."""

    year: int | None
    month: int | None = None
    day: int | None = None

    def nearness(self, micros: int) -> float:
        """How well an instant (microseconds since 1970) fits, in [0, 1]; by half in the week after a day."""
        at = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)).date()
        if self._holds(at):
            return 1.0
        if self.day is None:
            return 0.0
        return 0.5 if any(self._holds(at - timedelta(days=days)) for days in range(1, _SOON + 1)) else 0.0

    def _holds(self, at: date) -> bool:
        said = zip(self, (at.year, at.month, at.day), strict=True)
        return all(wanted is None or wanted == found for wanted, found in said)


def moments(text: str) -> tuple[Moment, ...]:
    """The dates that a text names; "may" and "march" without a figure count only where they are written large.

    "May" at the beginning asks, as in "May I see it?", and is no date.
    """
    found = []
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    for match in _DATE.finditer(text):
        part = match.groupdict()
        year = part["iso"] or part["han"] or part["han_alone"] or part["year"] or part["alone"]
        day = part["iso_day"] or part["han_day"] or part["before"] or part["after"]
        month = part["iso_month"] or part["han_month"]
        if name := part["name"]:
            if not (year or day) and ((len(name) < 4 and name.lower() != "may") or name[0].islower()):
                continue
            if name == "May" and not (year or day) and _BEGINS.search(text, 0, match.start()):
                continue
            number: int | None = _SHORT[name[:3].lower()]
        else:
            number = int(month) if month else None
        found.append(Moment(int(year) if year else None, number, int(day) if day else None))
    return tuple(dict.fromkeys(found))
