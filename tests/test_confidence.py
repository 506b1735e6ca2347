"""The arithmetic of confidence, by the model's check values and by property."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_core.confidence import confirmed, contradicted, effective, goes_stale_at
from engram_core.policy import Policy
from engram_core.vocab import ActorKind

POLICY = Policy()
START = datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)
TICK = timedelta(microseconds=1)
SHARES = st.floats(0, 1)
WEIGHTS = st.floats(0, 1, exclude_min=True)
HALF_LIVES = st.floats(1, 1_000)


def prior(kind: str) -> float:
    """What the word of a sort of actor is worth at first."""
    return POLICY.weights(ActorKind(kind)).prior


def test_priors() -> None:
    """Users are believed most, assistants and plugins least."""
    expected = {"user": 0.95, "assistant": 0.60, "plugin": 0.60, "importer": 0.70, "system": 0.70}
    assert expected == {kind.value: prior(kind) for kind in ActorKind}


@pytest.mark.parametrize(
    ("before", "weight", "after"),
    [
        (0.95, POLICY.weights(ActorKind.USER).confirm, 0.995),
        (0.60, POLICY.weights(ActorKind.ASSISTANT).confirm, 0.76),
        (0.60, POLICY.corroboration, 0.68),
    ],
)
def test_check_values_of_confirmation(before: float, weight: float, after: float) -> None:
    """A user, an assistant, and corroborating evidence."""
    assert after == pytest.approx(confirmed(before, weight), abs=1e-12)


@pytest.mark.parametrize(("kind", "after"), [("user", 0.19), ("assistant", 0.57)])
def test_check_values_of_contradiction(kind: str, after: float) -> None:
    """A user disputes, and an assistant does."""
    weight = POLICY.weights(ActorKind(kind)).contradict
    assert after == pytest.approx(contradicted(0.95, weight), abs=1e-12)


def test_staleness_is_exact_to_the_microsecond() -> None:
    """It begins where effective confidence first lies below, for each of many confidences and half-lives."""
    for step in range(200):
        confidence, half_life = 0.4 + step / 400, 1.0 + step * 3.7
        at = goes_stale_at(confidence, START, half_life, 0.35)
        assert at is not None
        assert effective(confidence, START, at, half_life) < 0.35 <= effective(confidence, START, at - TICK, half_life)


def test_what_fades_beyond_the_calendar_is_never_stale() -> None:
    """The year 9999 is the last."""
    late = datetime(9999, 12, 31, tzinfo=UTC)
    early, soon = goes_stale_at(0.9, late, 1.0, 0.85), goes_stale_at(0.9, START, 1.0, 0.85)
    assert early is not None
    assert soon is not None
    assert early - late == soon - START
    assert goes_stale_at(0.9, late, 30.0, 0.3) is None


@given(SHARES, WEIGHTS, SHARES)
def test_confirming_never_lowers_and_never_passes_the_cap(before: float, weight: float, cap: float) -> None:
    """A confidence above the cap stays where it is."""
    after = confirmed(before, weight, cap)
    assert before <= after <= max(before, cap) <= 1


@given(SHARES, WEIGHTS, SHARES)
def test_contradicting_never_lifts_and_never_passes_the_floor(before: float, weight: float, floor: float) -> None:
    """A confidence below the floor stays where it is."""
    after = contradicted(before, weight, floor)
    assert 0 <= min(before, floor) <= after <= before


@given(SHARES, WEIGHTS, WEIGHTS)
def test_more_weight_moves_further(before: float, one: float, other: float) -> None:
    """Both ways, up to rounding."""
    low, high = sorted((one, other))
    assert confirmed(before, low) <= confirmed(before, high) + 1e-12
    assert contradicted(before, high) <= contradicted(before, low) + 1e-12


@given(SHARES, SHARES, WEIGHTS)
def test_order_is_kept(one: float, other: float, weight: float) -> None:
    """What was believed more is believed more after the same."""
    low, high = sorted((one, other))
    assert confirmed(low, weight) <= confirmed(high, weight) + 1e-12
    assert contradicted(low, weight) <= contradicted(high, weight) + 1e-12


# -- fading --------------------------------------------------------------------------------------------


def test_it_halves_in_a_half_life() -> None:
    """Exactly, and nothing fades before it began."""
    assert 0.4 == effective(0.8, START, START + timedelta(days=30), 30)
    assert 0.8 == effective(0.8, START, START, 30) == effective(0.8, START, START - timedelta(days=9), 30)


@pytest.mark.parametrize(
    ("who", "kind", "days", "expected"), [("importer", "fact", 365, 0.35), ("assistant", "person", 730, 0.30)]
)
def test_what_is_exactly_at_the_threshold_is_not_stale(who: str, kind: str, days: int, expected: float) -> None:
    """Stale means strictly below: a microsecond later it is."""
    decay = POLICY.decay[kind]
    at = START + timedelta(days=days)
    assert expected == decay.stale_below == effective(prior(who), START, at, decay.half_life_days)
    stale = goes_stale_at(prior(who), START, decay.half_life_days, decay.stale_below)
    assert stale is not None
    assert at < stale <= at + timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("kind", "who", "days"),
    [
        ("fact", "user", 525.81),
        ("fact", "importer", 365),
        ("fact", "assistant", 283.83),
        ("person", "user", 1213.96),
        ("person", "importer", 892.35),
        ("person", "assistant", 730),
        ("contact", "user", 224.63),
        ("contact", "importer", 145.32),
        ("contact", "assistant", 105.29),
        ("event", "user", 27.78),
        ("event", "importer", 14.56),
        ("event", "assistant", 7.89),
    ],
)
def test_days_until_stale(kind: str, who: str, days: float) -> None:
    """The model's table."""
    decay = POLICY.decay[kind]
    stale = goes_stale_at(prior(who), START, decay.half_life_days, decay.stale_below)
    assert stale is not None
    assert days == pytest.approx((stale - START) / timedelta(days=1), abs=0.005)


@given(SHARES, HALF_LIVES, st.floats(0.01, 1))
def test_the_instant_of_staleness_is_exact_to_the_microsecond(
    confidence: float, half_life: float, below: float
) -> None:
    """At it the memory is stale, and just before it is not, unless it was so from the start."""
    stale = goes_stale_at(confidence, START, half_life, below)
    assert stale is not None
    assert effective(confidence, START, stale, half_life) < below
    if confidence < below:
        assert START == stale
    else:
        assert effective(confidence, START, stale - TICK, half_life) >= below


@given(
    SHARES,
    HALF_LIVES,
    st.timedeltas(timedelta(0), timedelta(days=3_000)),
    st.timedeltas(timedelta(0), timedelta(days=3_000)),
)
def test_fading_goes_one_way(confidence: float, half_life: float, one: timedelta, other: timedelta) -> None:
    """Later is never more, and always within bounds."""
    early, late = sorted((one, other))
    before, after = (effective(confidence, START, START + age, half_life) for age in (early, late))
    assert 0 <= after <= before <= confidence


@pytest.mark.parametrize(("confidence", "half_life", "below"), [(1.0, 1e9, 0.5), (1.0, 365.0, 0.0), (1.0, 1e5, 5e-324)])
def test_what_never_goes_stale(confidence: float, half_life: float, below: float) -> None:
    """A threshold that is not reached in the calendar, or cannot be."""
    assert goes_stale_at(confidence, START, half_life, below) is None


@pytest.mark.parametrize("half_life", [1e-9, 1e-300])
def test_what_fades_at_once(half_life: float) -> None:
    """No half-life is too short to reckon with."""
    stale = goes_stale_at(1.0, START, half_life, 0.5)
    assert stale is not None
    assert START < stale <= START + timedelta(milliseconds=1)
