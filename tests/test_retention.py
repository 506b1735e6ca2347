"""Importance, retention and pruning, by example and by property."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import log
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from engram_core.policy import ImportancePolicy, Policy, RetentionPolicy
from engram_core.retention import (
    Signals,
    centrality,
    frequency,
    importance_score,
    is_pruning_candidate,
    recency,
    retention_score,
)

NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)
DAY = timedelta(days=1)
POLICY = Policy()
FACT = POLICY.decay["fact"]
EVENT = POLICY.decay["event"]
NEW = Signals(created_at=NOW, recorded_at=NOW, confidence=1.0)
OLD = Signals(created_at=NOW - 4_000 * DAY, recorded_at=NOW - 4_000 * DAY, confidence=0.5)


@st.composite
def signals(draw: st.DrawFn) -> Signals:
    """Signals of any memory."""
    ages = st.timedeltas(timedelta(0), timedelta(days=2_000))
    return Signals(
        created_at=NOW - draw(ages),
        recorded_at=NOW - draw(ages),
        confidence=draw(st.floats(0, 1)),
        last_confirmed_at=draw(st.none() | ages.map(lambda age: NOW - age)),
        last_access_at=draw(st.none() | ages.map(lambda age: NOW - age)),
        accesses=draw(st.integers(0, 500)),
        neighbours=draw(st.integers(0, 30)),
        evidences=draw(st.integers(0, 6)),
        links=draw(st.integers(0, 6)),
        is_disputed=draw(st.booleans()),
        user_weight=draw(st.none() | st.floats(0, 1)),
    )


# -- the terms -----------------------------------------------------------------------------------------


def test_recency_halves() -> None:
    """In a half-life; what lies ahead is as fresh as can be."""
    assert [1.0, 0.5, 0.25, 1.0] == [recency(NOW - age * DAY, NOW, 30) for age in (0, 30, 60, -5)]


def test_frequency_is_logarithmic_and_full_at_100() -> None:
    """ln(1 + n) / ln 101."""
    assert [0.0, 1.0, 1.0] == [frequency(n, 100) for n in (0, 100, 10_000)]
    assert log(11) / log(101) == pytest.approx(frequency(10, 100), abs=1e-12)


def test_centrality_is_full_at_10() -> None:
    """A tenth for each neighbour."""
    assert [0.0, 0.3, 1.0, 1.0] == [centrality(n, 10) for n in (0, 3, 10, 99)]


# -- retention -----------------------------------------------------------------------------------------


def test_the_score_of_a_new_memory() -> None:
    """Recency and confidence are all it has."""
    assert 0.35 + 0.20 == pytest.approx(retention_score(NEW, NOW, POLICY, FACT), abs=1e-12)


def test_the_score_of_a_memory_that_has_everything() -> None:
    """It is 1."""
    full = evolve(NEW, accesses=100, neighbours=10, user_weight=1.0, last_access_at=NOW)
    assert 1.0 == pytest.approx(retention_score(full, NOW, POLICY, FACT), abs=1e-12)


def test_the_score_is_the_weighted_sum() -> None:
    """Each term by its weight; age counts from the last access, belief from the last confirmation."""
    used = Signals(
        created_at=NOW - 730 * DAY,
        recorded_at=NOW,
        confidence=0.8,
        last_confirmed_at=NOW - 365 * DAY,
        last_access_at=NOW - 730 * DAY,
        accesses=10,
        neighbours=5,
        user_weight=0.3,
    )
    expected = 0.35 * 0.25 + 0.20 * log(11) / log(101) + 0.15 * 0.5 + 0.20 * 0.4 + 0.10 * 0.3
    assert expected == pytest.approx(retention_score(used, NOW, POLICY, FACT), abs=1e-12)


def test_accesses_may_fade() -> None:
    """If the policy says so, from the last one on."""
    fading = Policy(retention=RetentionPolicy(access_half_life_days=10))
    used = evolve(NEW, accesses=100, last_access_at=NOW - 10 * DAY)
    once = evolve(used, accesses=50)
    assert retention_score(once, NOW, POLICY, FACT) == retention_score(used, NOW, fading, FACT)


@given(signals())
def test_the_score_lies_between_0_and_1(given: Signals) -> None:
    """With the default weights, whatever is known."""
    assert 0 <= retention_score(given, NOW, POLICY, FACT) <= 1 + 1e-12
    assert 0 <= importance_score(given, POLICY, FACT) <= 1


@given(signals(), st.data())
def test_more_of_a_signal_never_lowers_the_score(given: Signals, data: st.DataObject) -> None:
    """Use, neighbours, belief and the user's weight each speak for a memory."""
    more: dict[str, Any] = data.draw(
        st.sampled_from(
            [
                {"accesses": given.accesses + 1},
                {"neighbours": given.neighbours + 1},
                {"confidence": 1.0},
                {"user_weight": 1.0},
                {"last_access_at": NOW},
                {"last_confirmed_at": NOW},
            ]
        )
    )
    before = retention_score(given, NOW, POLICY, FACT)
    assert before <= retention_score(evolve(given, **more), NOW, POLICY, FACT) + 1e-12


@given(signals(), st.timedeltas(timedelta(0), timedelta(days=1_000)))
def test_time_alone_never_raises_the_score(given: Signals, wait: timedelta) -> None:
    """What nobody uses or confirms sinks."""
    assert retention_score(given, NOW + wait, POLICY, FACT) <= retention_score(given, NOW, POLICY, FACT) + 1e-12


# -- pruning -------------------------------------------------------------------------------------------


def test_what_has_faded_is_a_candidate() -> None:
    """Unless it is pinned, permanent, or active and exempt."""
    assert is_pruning_candidate(OLD, NOW, POLICY, FACT)
    for exempt in ("is_pinned", "is_permanent", "is_exempt"):
        assert not is_pruning_candidate(evolve(OLD, **{exempt: True}), NOW, POLICY, FACT)


def test_nothing_young_is_a_candidate() -> None:
    """Age counts from recording, so that a backfill is safe; on day 14 it may be."""
    for age, expected in ((0 * DAY, False), (14 * DAY - timedelta(microseconds=1), False), (14 * DAY, True)):
        assert expected == is_pruning_candidate(evolve(OLD, recorded_at=NOW - age), NOW, POLICY, FACT)


def test_the_threshold_is_strict() -> None:
    """A score at the threshold is kept."""
    score = retention_score(OLD, NOW, POLICY, FACT)
    at = Policy(retention=RetentionPolicy(threshold=score))
    assert not is_pruning_candidate(OLD, NOW, at, FACT)


# -- importance ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 0.30),
        ({"evidences": 2}, 0.50),
        ({"evidences": 3}, 0.60),
        ({"evidences": 9}, 0.60),
        ({"links": 3}, 0.45),
        ({"links": 9}, 0.50),
        ({"is_disputed": True}, 0.45),
        ({"evidences": 9, "links": 9, "is_disputed": True}, 0.95),
        ({"user_weight": 0.0, "evidences": 9}, 0.0),
        ({"user_weight": 0.7}, 0.7),
        ({"user_weight": 0.0, "is_pinned": True}, 1.0),
    ],
)
def test_importance_of_an_event(changes: dict[str, Any], expected: float) -> None:
    """A pin decides, then the user's weight, then base and shares."""
    assert expected == pytest.approx(importance_score(evolve(NEW, **changes), POLICY, EVENT), abs=1e-12)


def test_importance_ends_at_1() -> None:
    """However much there is."""
    rich = Policy(importance=ImportancePolicy(per_evidence=1.0))
    assert 1.0 == importance_score(evolve(NEW, evidences=3), rich, EVENT)
