"""What was decided, what came of it, and what was learned: six kinds for work that is looked back on."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, cast

from attrs import field, frozen

from engram_core.kinds import Attributes, KindRegistry, KindSpec
from engram_core.policy import Decay
from engram_core.vocab import Relation

__all__ = [
    "OUTCOMES",
    "BehaviorPattern",
    "Decision",
    "DecisionStatus",
    "Estimate",
    "Insight",
    "Outcome",
    "Result",
    "Rule",
    "with_outcomes",
]


class DecisionStatus(StrEnum):
    """Where a decision stands."""

    OPEN = "open"
    DECIDED = "decided"
    REVERSED = "reversed"


class Result(StrEnum):
    """How something turned out."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILURE = "failure"
    UNKNOWN = "unknown"


# For type checkers alone, as in `engram_core.kinds.schemas`.


def _status(value: DecisionStatus | str) -> DecisionStatus:
    return cast("DecisionStatus", value)


def _result(value: Result | str) -> Result:
    return cast("Result", value)


@frozen
class Rule(Attributes):
    """Something to go by.

    Attributes:
        statement: What to do or not to do.
        scope: Where it applies.
    """

    statement: str
    scope: str | None = None


@frozen
class Decision(Attributes):
    """A choice, and why it was made.

    Attributes:
        statement: What was, or is to be, decided.
        rationale: Why.
        decided_at: When.
        status: Where it stands.
    """

    statement: str
    rationale: str | None = None
    decided_at: datetime | None = None
    status: DecisionStatus = field(default=DecisionStatus.OPEN, converter=_status)


@frozen
class Insight(Attributes):
    """A conclusion from other memories, which its `derived_from` edges name."""

    statement: str


@frozen
class BehaviorPattern(Attributes):
    """A habit that other memories show.

    Attributes:
        statement: What is done again and again.
        cadence: How often or when, such as "every Monday".
    """

    statement: str
    cadence: str | None = None


@frozen
class Estimate(Attributes):
    """A number that was reckoned from other memories.

    Attributes:
        quantity: What is estimated, such as "hours a week".
        value: How much.
        unit: Of what.
        method: How it was reckoned.
    """

    quantity: str
    value: float
    unit: str | None = None
    method: str | None = None


@frozen
class Outcome(Attributes):
    """What came of something that was remembered.

    Attributes:
        statement: What came of it.
        result: How it turned out.
        occurred_at: When that was known.
    """

    statement: str
    result: Result = field(default=Result.UNKNOWN, converter=_result)
    occurred_at: datetime | None = None


# They fade like the twelve's facts; what was reckoned from data of a season fades like an affair.
_LASTING: Final = Decay(half_life_days=365.0, stale_below=0.35, base_importance=0.55)
_PASSING: Final = Decay(half_life_days=180.0, stale_below=0.40, base_importance=0.45)
_CONCLUDED: Final = {Relation.DERIVED_FROM: 1}

OUTCOMES: Final = (
    KindSpec(kind="rule", attributes=Rule, view="view_rules", label_fields=("statement",), decay=_LASTING),
    KindSpec(
        kind="decision",
        attributes=Decision,
        view="view_decisions",
        label_fields=("statement",),
        decay=_LASTING,
        hot_fields=("status",),
    ),
    KindSpec(
        kind="insight",
        attributes=Insight,
        view="view_insights",
        label_fields=("statement",),
        decay=_LASTING,
        requires=_CONCLUDED,
    ),
    KindSpec(
        kind="behavior_pattern",
        attributes=BehaviorPattern,
        view="view_behavior_patterns",
        label_fields=("statement",),
        decay=_PASSING,
        requires=_CONCLUDED,
    ),
    KindSpec(
        kind="estimate",
        attributes=Estimate,
        view="view_estimates",
        label_fields=("quantity",),
        decay=_PASSING,
        requires=_CONCLUDED,
    ),
    KindSpec(
        kind="outcome",
        attributes=Outcome,
        view="view_outcomes",
        label_fields=("statement",),
        decay=_LASTING,
        requires=_CONCLUDED,
        hot_fields=("result",),
    ),
)
"""The specs of the pack's six kinds."""


def with_outcomes(kinds: KindRegistry) -> KindRegistry:
    """A registry that holds the six kinds of this pack, too.

    Raises: InvalidAttributesError if one of their names is taken.
    """
    return kinds.with_kinds(*OUTCOMES)
