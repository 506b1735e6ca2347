"""Dates that questions name."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram_core.moments import Moment, moments
from engram_core.values import to_micros


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what happened on October 25, 2022?", (2022, 10, 25)),
        ("on 31 July, 2023", (2023, 7, 31)),
        ("the 3rd of June", (None, 6, 3)),
        ("the first week of march 2020", (2020, 3, None)),
        ("in June", (None, 6, None)),
        ("in May", (None, 5, None)),
        ("by Sept. 3rd", (None, 9, 3)),
        ("in 2023?", (2023, None, None)),
        ("2023-05-03", (2023, 5, 3)),
        ("since 2023-05", (2023, 5, None)),
        ("2023年5月3日怎么样", (2023, 5, 3)),
        ("2023 年 5 月", (2023, 5, None)),
        ("我们在2023年5月3日做了什么", (2023, 5, 3)),
        ("他5月3号说了什么?", (None, 5, 3)),
        ("２０２３年の夏", (2023, None, None)),
        ("2023년 5월 3일에 무엇을 했나요?", (2023, 5, 3)),
        ("In May we met", (None, 5, None)),
        ("May 3: what happened?", (None, 5, 3)),
        ("Sept", (None, 9, None)),
        ("Feb, or sooner, or October", (None, 10, None)),
        ("May I see what July brought?", (None, 7, None)),
        ("may 5", (None, 5, 5)),
        ("5th of march", (None, 3, 5)),
    ],
)
def test_dates_are_told_from_figures_and_names(text: str, expected: tuple[int | None, ...]) -> None:
    """A year, a month, a day, as far as they are said."""
    assert (Moment(*expected),) == moments(text)


@pytest.mark.parametrize(
    "text",
    [
        *("may I march on?", "May I ask about the sea?", "Hello. May we?", "Mary decided", "Mar"),
        *("room 2023-x", "v2022.1", "12345", "x2023-05-03", "3个月", "上个月", "", "\x00\ud800"),
    ],
)
def test_other_words_and_figures_are_no_dates(text: str) -> None:
    """What only looks like a date is left alone."""
    assert () == moments(text)


def test_several_dates_are_all_named() -> None:
    """In the order in which they are said, once each."""
    assert (Moment(2022, 5), Moment(2023, 6)) == moments("May 2022 or June 2023 or May 2022")


def test_a_day_is_near_for_a_week() -> None:
    """What happened is told soon after; months and years hold or do not."""
    day, month = Moment(2023, 5, 30), Moment(None, 5)
    instants = {at: to_micros(datetime(2023, *at, 12, tzinfo=UTC)) for at in ((5, 29), (5, 30), (6, 6), (6, 7))}
    assert [0.0, 1.0, 0.5, 0.0] == [day.nearness(at) for at in instants.values()]
    assert [1.0, 1.0, 0.0, 0.0] == [month.nearness(at) for at in instants.values()]
    assert 0.0 == Moment(2023, 13, 40).nearness(instants[5, 30])
    assert 1.0 == Moment(1969).nearness(-1)
