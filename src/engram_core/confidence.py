"""The arithmetic of confidence: how belief rises, falls and fades. Pure functions of numbers."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from math import ceil, log2

from engram_core.values import EPOCH, from_micros, to_micros

__all__ = ["confirmed", "contradicted", "effective", "faded", "goes_stale_at"]

_DAY_MICROS = 86_400 * 1_000_000


def confirmed(confidence: float, weight: float, cap: float = 1.0) -> float:
    """Confidence after somebody vouched.

    Args:
        confidence: Stored confidence, in [0, 1].
        weight: Weight of the voucher, in (0, 1].
        cap: No rise ends above it; a confidence that is above it already stays, in [0, 1].

    Returns: c + (1 − c)·w within the cap; never less than `confidence`.
    Source: memory model §5.
    """
    return max(confidence, min(cap, confidence + (1.0 - confidence) * weight))


def contradicted(confidence: float, weight: float, floor: float = 0.0) -> float:
    """Confidence after somebody disputed.

    Args:
        confidence: Stored confidence, in [0, 1].
        weight: Weight of the disputer, in (0, 1].
        floor: No fall ends below it; a confidence that is below it already stays, in [0, 1].

    Returns: c·(1 − w) within the floor; never more than `confidence`.
    Source: memory model §5.
    """
    return min(confidence, max(floor, confidence * (1.0 - weight)))


def effective(confidence: float, since: datetime, now: datetime, half_life_days: float) -> float:
    """Confidence as it has faded by now.

    Args:
        confidence: Stored confidence, in [0, 1].
        since: Aware instant of the last confirmation, else of creation.
        now: Aware instant to which it has faded; before `since` nothing has.
        half_life_days: Days in which it halves; above 0.

    Returns: c · 2^(−Δt / half-life), in [0, 1].
    Source: memory model §5.
    """
    return faded(confidence, to_micros(now) - to_micros(since), half_life_days)


def faded(confidence: float, elapsed_micros: int, half_life_days: float) -> float:
    """As `effective`, over microseconds that have passed."""
    if elapsed_micros <= 0:
        return confidence
    share: float = 2.0 ** -((elapsed_micros / _DAY_MICROS) / half_life_days)
    return confidence * share


def goes_stale_at(confidence: float, since: datetime, half_life_days: float, stale_below: float) -> datetime | None:
    """The first instant at which effective confidence lies strictly below the threshold.

    Returns: An aware instant, exact to the microsecond against `effective`; `since` itself when the
        confidence is too low from the start; None when it does not happen before the year 10000.
    """
    if confidence < stale_below:
        return since
    if stale_below <= 0.0:
        return None
    held = _holds_for(confidence, half_life_days, stale_below)
    if held is None:
        return None
    end = to_micros(since) + held
    return from_micros(end) if end < _LAST_MICROS else None


@lru_cache(maxsize=4_096)
def _holds_for(confidence: float, half_life_days: float, stale_below: float) -> int | None:
    """Microseconds after which it lies below the threshold; None when no calendar has so many.

    Kept, because most memories of a kind begin with one of a few confidences.
    """
    guess = log2(confidence / stale_below) * half_life_days * _DAY_MICROS
    if guess >= 2 * _LAST_MICROS:
        return None
    low = high = max(0, ceil(guess))
    step = 1
    while faded(confidence, high, half_life_days) >= stale_below:
        low, high, step = high, high + step, step * 2
    step = 1
    while low > 0 and faded(confidence, low, half_life_days) < stale_below:
        low, step = max(0, low - step), step * 2
    while high - low > 1:
        middle = (low + high) // 2
        if faded(confidence, middle, half_life_days) < stale_below:
            high = middle
        else:
            low = middle
    return high


_LAST_MICROS = to_micros(datetime.max.replace(tzinfo=EPOCH.tzinfo))
