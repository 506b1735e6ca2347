"""Strategies for the rules of a space: policies, limits, approval, kinds."""

from __future__ import annotations

from typing import Any

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from engram_core.approval import ApprovalPolicy, Permission
from engram_core.kinds import KINDS, KindRegistry, KindSpec
from engram_core.packs.outcomes import OUTCOMES, with_outcomes
from engram_core.policy import (
    ActorWeights,
    Decay,
    ImportancePolicy,
    Limits,
    Policy,
    RecallPolicy,
    RetentionPolicy,
    ReviewPolicy,
)
from engram_core.testing.strategies.values import actors
from engram_core.vocab import ActorKind

__all__ = ["approvals", "kind_registries", "kind_specs", "limits", "parts_of_policies", "policies"]

_share = st.floats(0, 1)
_weight = st.floats(0, 1, exclude_min=True)
_days = st.floats(0.5, 5_000)


def _some(cls: type[Any], **fields: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Objects of a class of which some fields are as they are by default."""
    return st.fixed_dictionaries({}, optional=fields).map(lambda given: cls(**given))


_PARTS: dict[type[Any], SearchStrategy[Any]] = {
    ActorWeights: st.builds(ActorWeights, prior=_share, confirm=_weight, contradict=_weight),
    Decay: st.builds(Decay, half_life_days=_days, stale_below=_share, ephemeral_days=_days, base_importance=_share),
    RetentionPolicy: _some(
        RetentionPolicy,
        recency=_share,
        centrality=_share,
        full_frequency=st.integers(1, 500),
        access_half_life_days=st.none() | _days,
        threshold=_share,
        newborn_days=_days,
    ),
    ImportancePolicy: _some(ImportancePolicy, per_evidence=_share, max_links=st.integers(0, 9), disputed=_share),
    ReviewPolicy: _some(ReviewPolicy, low_confidence=_share, expiring_days=_days, min_name=st.integers(0, 5)),
    RecallPolicy: _some(
        RecallPolicy,
        length=_share,
        semantic=_share,
        freshness=_share,
        depth=st.integers(1, 50),
        reach=st.integers(0, 4),
    ),
}


def parts_of_policies(cls: type[Any]) -> SearchStrategy[Any]:
    """One of the classes of which a `Policy` consists."""
    return _PARTS[cls]


def policies() -> SearchStrategy[Policy]:
    """Policies of which any part may be another than by default."""
    kinds = st.sampled_from([spec.kind for spec in KINDS])
    return _some(
        Policy,
        actors=st.dictionaries(st.sampled_from([kind.value for kind in ActorKind]), _PARTS[ActorWeights], max_size=2),
        corroboration=_weight,
        confidence_cap=_share,
        confidence_floor=_share,
        repeat_hours=st.floats(0, 100),
        decay=st.dictionaries(kinds, _PARTS[Decay], max_size=2),
        active_exempt=st.frozensets(kinds, max_size=3),
        retention=_PARTS[RetentionPolicy],
        importance=_PARTS[ImportancePolicy],
        review=_PARTS[ReviewPolicy],
        recall=_PARTS[RecallPolicy],
    )


def limits() -> SearchStrategy[Limits]:
    """Limits, some narrower or wider than by default; a statement always has room."""
    numbers = st.integers(1, 1_000)
    names = ("title", "tag", "tags", "aliases", "links", "evidences", "external_ids", "drafts", "depth", "listing")
    return st.dictionaries(st.sampled_from(names), numbers, max_size=3).map(lambda given: evolve(Limits(), **given))


def approvals() -> SearchStrategy[ApprovalPolicy]:
    """Both ready ones, and one's own."""
    granted = st.frozensets(st.sampled_from([one for one in Permission if one is not Permission.DELETE]), max_size=4)
    own = st.dictionaries(st.sampled_from(ActorKind) | actors(), granted, max_size=3).map(ApprovalPolicy.of)
    return st.one_of(st.just(ApprovalPolicy.review_all()), st.just(ApprovalPolicy.trust_assistants()), own)


def kind_specs() -> SearchStrategy[KindSpec]:
    """What is known of the twelve kinds, and of those of the pack of outcomes."""
    return st.sampled_from([*KINDS, *OUTCOMES])


def kind_registries() -> SearchStrategy[KindRegistry]:
    """The twelve kinds, and those with the pack of outcomes."""
    return st.sampled_from([KINDS, with_outcomes(KINDS)])
