"""Recall for one reading of the space: the viewer's audience, time and filters meet the ranking."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final

from engram_core.confidence import faded
from engram_core.lifecycle import decay_of
from engram_core.projections.lanes import VisibleTexts
from engram_core.projections.nearness import Near
from engram_core.reads.conditions import Condition
from engram_core.reads.snapshot import Snapshot
from engram_core.recall import Ranked, Scope, Signals, ranked
from engram_core.retention import Signals as Standing
from engram_core.retention import importance_score

__all__ = ["recalled"]

_ROW: Final = (
    "m.key, m.id, m.kind, m.confidence, m.created_at, m.confirmed_at, m.stale_at, m.pinned, m.user_weight,"
    " m.evidence_count, coalesce(m.happened_from, m.created_at)"
)


def recalled(
    snapshot: Snapshot,
    text: str,
    condition: Condition,
    *,
    limit: int,
    near: Callable[[VisibleTexts], Near] | None = None,
    notes: list[str] | None = None,
) -> list[Ranked]:
    """What answers a question, best first.

    Args:
        snapshot: One viewer's reading.
        text: The question.
        condition: What a hit must meet, audience included.
        limit: How many hits at most.
        near: How near texts are to the question in meaning; None: words alone decide.
        notes: Takes what must be known of the answer.
    """
    sql, past = snapshot.sql, snapshot.parameters["known"] is not None
    still = ""
    if past and not snapshot.point.actor.is_user:
        still = f"({{row}}.stored IN ('active', 'archived') AND {sql.audience('{row}')})"
    scope = Scope(
        admit=_Admission(snapshot, condition),
        weigh=_Weighing(snapshot),
        at=itemgetter(-1),
        readable="" if snapshot.sees_all else sql.audience("{row}"),
        still=still,
        position=snapshot.parameters["known"],
        parameters=snapshot.parameters,
    )
    return ranked(snapshot.connection, text, scope, snapshot.library.policy.recall, limit=limit, near=near, notes=notes)


class _Admission:
    """Which of some memories pass; each table with a past is asked by key, so that none is walked through."""

    def __init__(self, snapshot: Snapshot, condition: Condition) -> None:
        self._snapshot = snapshot
        self._parameters = condition.parameters
        select = f"SELECT {_ROW} FROM json_each(:keys) j CROSS JOIN main.{{table}} m ON m.key = j.value WHERE "
        if snapshot.parameters["known"] is None:
            self._statements = [select.format(table="memories") + condition.sql]
        else:
            then = "m.from_position <= :known AND "
            self._statements = [
                f"{select.format(table='memories')}{then}{condition.sql}",
                f"{select.format(table='past_memories')}{then}m.to_position > :known AND {condition.sql}",
            ]

    def __call__(self, keys: Sequence[int]) -> list[Any]:
        parameters = {**self._parameters, "keys": json.dumps(keys)}
        return [row for statement in self._statements for row in self._snapshot.all(statement, parameters)]


class _Weighing:
    """What stands beside the match: how fresh, important and sure a memory is at the reading's now.

    Importance counts what lies in the memory itself; what links and disputes add is shown with it, but ranking does
    not walk the graph for it.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._library = snapshot.library
        self._point = snapshot.point
        self._now: int = snapshot.parameters["now"]
        self._importance: dict[tuple[Any, ...], float] = {}

    def __call__(self, row: Sequence[Any]) -> Signals:
        _, _, kind, confidence, created_at, confirmed_at, stale_at, pinned, user_weight, evidences, _ = row
        policy = self._library.policy
        decay = decay_of(kind, policy, self._library.kinds)
        matters = self._importance.get(signs := (kind, pinned, user_weight, evidences))
        if matters is None:
            standing = Standing(
                created_at=self._point.now,
                recorded_at=self._point.now,
                confidence=0.0,
                evidences=evidences,
                is_pinned=bool(pinned),
                user_weight=user_weight,
            )
            matters = self._importance[signs] = importance_score(standing, policy, decay)
        since = created_at if confirmed_at is None else confirmed_at
        latest = max(created_at, since)
        return Signals(
            freshness=faded(1.0, max(0, self._now - latest), policy.recall.fresh_half_life_days),
            importance=matters,
            confidence=faded(confidence, max(0, self._now - since), decay.half_life_days),
            stale=stale_at is not None and stale_at <= self._now,
        )
