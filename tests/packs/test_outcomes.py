"""The outcomes pack: six more kinds, of which the core knows nothing."""

from __future__ import annotations

import ast
from datetime import UTC, datetime
from pathlib import Path

import pytest

import engram_core.kinds
from engram_core.errors import InvalidAttributesError
from engram_core.kinds import KINDS
from engram_core.packs.outcomes import (
    OUTCOMES,
    BehaviorPattern,
    Decision,
    DecisionStatus,
    Estimate,
    Insight,
    Outcome,
    Result,
    Rule,
    with_outcomes,
)
from engram_core.vocab import Relation

LARGER = with_outcomes(KINDS)


def test_the_pack_adds_six_kinds_to_a_registry() -> None:
    """The twelve stay as they are, and are not told."""
    added = ("rule", "decision", "insight", "behavior_pattern", "estimate", "outcome")
    assert (*KINDS.kinds, *added) == LARGER.kinds
    assert not set(added) & set(KINDS.kinds)
    with pytest.raises(InvalidAttributesError, match="is there twice"):
        with_outcomes(LARGER)


def test_no_module_of_the_core_names_the_pack() -> None:
    """Taking it away would break nothing but itself."""
    source = Path(engram_core.kinds.__file__).parent.parent
    beside = {"packs", "testing"}
    core = [path for path in source.rglob("*.py") if not beside & {*path.relative_to(source).parts}]
    assert core
    for path in core:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            assert not any("packs" in name.split(".") for name in names), path


@pytest.mark.parametrize("kind", ["insight", "behavior_pattern", "estimate", "outcome"])
def test_conclusions_name_what_they_rest_on(kind: str) -> None:
    """They need at least one `derived_from` edge."""
    assert {Relation.DERIVED_FROM: 1} == dict(LARGER.spec(kind).requires)


@pytest.mark.parametrize("kind", ["rule", "decision"])
def test_rules_and_decisions_stand_alone(kind: str) -> None:
    """They are made, not derived."""
    assert {} == dict(LARGER.spec(kind).requires)


def test_every_kind_brings_how_it_fades() -> None:
    """The policy names the twelve only."""
    assert all(spec.decay is not None for spec in OUTCOMES)


def test_the_least_that_is_needed() -> None:
    """A decision is open and a result unknown until somebody says more."""
    assert (DecisionStatus.OPEN, Result.UNKNOWN) == (Decision("x").status, Outcome("x").result)
    assert (None, None, None) == (Rule("x").scope, BehaviorPattern("x").cadence, Estimate("x", 1).unit)
    assert "x" == Insight(" x ").statement


def test_the_pack_is_as_strict_as_the_core() -> None:
    """One constructor, one error, all problems; a default can be restored, not emptied."""
    with pytest.raises(InvalidAttributesError) as caught:
        Decision("", rationale=1, decided_at=datetime(2026, 1, 1), status="maybe")  # type: ignore[arg-type]
    assert ["statement", "rationale", "decided_at", "status"] == [p.field for p in caught.value.problems]
    with pytest.raises(InvalidAttributesError):
        Outcome("x", None)  # type: ignore[arg-type]
    with pytest.raises(InvalidAttributesError):
        Estimate("x", float("nan"))
    cleared = LARGER.change("decision", {"statement": "x", "status": "decided"}, {"status": None})
    assert {"statement": "x", "status": "open"} == cleared


def test_what_comes_back_is_typed() -> None:
    """Words and instants survive storage."""
    decision = Decision("x", decided_at=datetime(2026, 1, 1, tzinfo=UTC), status="reversed")
    assert decision == LARGER.structure("decision", LARGER.unstructure(decision))
    assert decision.status is DecisionStatus.REVERSED
