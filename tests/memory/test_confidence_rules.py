"""Who may move belief, how far, and how often. Source: model §4."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from attrs import evolve as replaced
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core.commands import AddEvidence, Confirm, Contradict, UpdateAttributes
from engram_core.events import (
    MemoryAttributesUpdated,
    MemoryConfirmed,
    MemoryContradicted,
    MemoryEvidenceAdded,
    MemoryUnlinked,
)
from engram_core.kinds import Fact
from engram_core.policy import ActorWeights, Limits, Policy
from engram_core.testing import Scenario, happened, memory_created
from engram_core.values import Actor, EvidenceRef, Link, assistant, importer, plugin, system, user
from engram_core.vocab import ActorKind, Relation

ANN, BOT = user("ann"), assistant("bot")
OTHERS = [BOT, importer("vcard"), plugin("x"), system("nightly")]
FACT = Fact("The sky is blue.")
QUOTE, PAGE = EvidenceRef("quote", "Look up."), EvidenceRef("uri", "https://example.org")
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
CARL = user("carl")


def told(confidence: float = 0.95, *, by: Actor = CARL, **fields: Any) -> Scenario[Any, Any]:
    """A fact that somebody else than those who act stated."""
    begun = happened(memory_created(FACT, confidence=confidence, **fields), by=by)
    return Scenario[Any, Any]().given(begun, happened(memory_created(Fact("It is grey.")), "b", by=by))


def confidence(scenario: Scenario[Any, Any]) -> float:
    """The stored confidence of the fact."""
    return float(scenario.state.memories["a"].confidence.confidence)


# -- the check values ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "command", "by", "after"),
    [
        (0.95, Confirm("a"), ANN, 0.995),
        (0.60, Confirm("a"), BOT, 0.76),
        (0.60, AddEvidence("a", QUOTE, corroborates=True), BOT, 0.68),
        (0.95, Contradict("a"), ANN, 0.19),
        (0.95, Contradict("a"), BOT, 0.57),
    ],
)
def test_check_values(before: float, command: Any, by: Actor, after: float) -> None:
    """The numbers that the model gives hold from command to state."""
    told(before).when(command, by=by).then_state(confidence__confidence=after)


@pytest.mark.parametrize(("by", "prior"), [(ANN, 0.95), (BOT, 0.60), (OTHERS[1], 0.70), (OTHERS[2], 0.60)])
def test_weights_and_bounds_stand_in_the_event(by: Actor, prior: float) -> None:
    """A later policy changes no fold, since the event says what weighed."""
    cap, floor = (1.0, 0.0) if by.is_user else (0.90, 0.40)
    confirm, contradict = (0.90, 0.80) if by.is_user else (0.40, 0.40)
    told().when(Confirm("a"), by=by).then(MemoryConfirmed(confirm, cap, by.is_user))
    told().when(Contradict("a"), by=by).then(MemoryContradicted(contradict, floor))
    assert prior == Policy().weights(by.kind).prior


def test_another_policy_weighs_only_what_is_decided_under_it() -> None:
    """The history of the old policy folds to the same number."""
    first = told(0.60).when(Confirm("a"), by=BOT)
    heavier = Policy(actors={ActorKind.ASSISTANT: ActorWeights(prior=0.6, confirm=0.8, contradict=0.8)})
    later = Scenario[Any, Any](policy=heavier)
    later.history = first.scenario.history
    later.then_state(confidence__confidence=0.76)
    later.when(Confirm("a"), by=assistant("other")).then(MemoryConfirmed(0.8, 0.90, False))


# -- nobody but a user lifts high ----------------------------------------------------------------------


@pytest.mark.parametrize("by", OTHERS, ids=str)
def test_fifty_confirmations_stay_below_the_cap(by: Actor) -> None:
    """Whoever is no user, and however often he vouches, with new evidence each time, ends at 0.90."""
    scenario = told(0.60)
    for n in range(50):
        ref = EvidenceRef("quote", f"No. {n}")
        scenario = scenario.when(Confirm("a", ref), by=by, at=n * DAY).scenario
        scenario = scenario.when(AddEvidence("a", EvidenceRef("uri", f"u:{n}"), True), by=by, at=n * DAY).scenario
    assert confidence(scenario) == pytest.approx(0.90, abs=1e-9)


def test_what_a_user_lifted_stays() -> None:
    """A non-user's confirmation of what lies above his cap lowers nothing."""
    told(0.99).when(Confirm("a"), by=BOT).then_state(confidence__confidence=0.99)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(OTHERS), st.integers(0, 5), st.booleans()), max_size=8), st.floats(0, 0.9))
def test_non_users_never_pass_the_cap(acts: list[tuple[Actor, int, bool]], start: float) -> None:
    """No sequence of confirmations and evidence by others lifts a memory above 0.90."""
    scenario = told(start)
    for n, (by, day, evidence) in enumerate(acts):
        ref = EvidenceRef("quote", str(n))
        command = AddEvidence("a", ref, corroborates=True) if evidence else Confirm("a", ref)
        scenario = scenario.when(command, by=by, at=day * DAY).scenario
        assert start <= confidence(scenario) <= 0.90 + 1e-12


# -- how often -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [ANN, *OTHERS], ids=str)
def test_a_second_confirmation_within_a_day_changes_nothing(by: Actor) -> None:
    """The same actor, without new evidence, must wait 24 hours; at the 24th he may."""
    once = told(0.60).when(Confirm("a"), by=by)
    once.when(Confirm("a"), by=by, at=DAY - timedelta(microseconds=1)).then_nothing()
    assert once.when(Confirm("a"), by=by, at=DAY).events
    assert once.when(Confirm("a"), by=assistant("another"), at=HOUR).events


def test_new_evidence_makes_it_count_at_once() -> None:
    """Evidence that is known already does not."""
    once = told(0.60).when(Confirm("a", QUOTE), by=BOT)
    once.when(Confirm("a", PAGE), by=BOT, at=HOUR).then(MemoryEvidenceAdded(PAGE), MemoryConfirmed(0.4, 0.9, False))
    noted = EvidenceRef("quote", "Look up.", "again")
    once.when(Confirm("a", noted), by=BOT, at=HOUR).then_nothing()
    once.when(Confirm("a", noted), by=BOT, at=DAY).then(MemoryEvidenceAdded(noted), MemoryConfirmed(0.4, 0.9, False))


def test_a_user_may_answer_a_dispute_at_once() -> None:
    """His word counts again as soon as somebody has disputed the memory since."""
    once = told().when(Confirm("a"), by=ANN)
    disputed = once.when(Contradict("a"), by=BOT, at=HOUR)
    disputed.when(Confirm("a"), by=ANN, at=HOUR).then(MemoryConfirmed(0.9, 1.0, True))
    disputed.when(Confirm("a"), by=ANN, at=HOUR).when(Confirm("a"), by=ANN, at=2 * HOUR).then_nothing()


def test_a_draft_is_judged_when_it_was_made() -> None:
    """What was drafted before the last confirmation is a repetition, and does not move it back."""
    once = told(0.60).when(Confirm("a"), by=BOT, at=3 * DAY)
    once.when(Confirm("a"), by=BOT, at=DAY, now=4 * DAY).then_nothing()
    late = once.given(happened(MemoryConfirmed(0.4, 0.9, False), by=BOT, at=DAY))
    assert {BOT: late.start + 3 * DAY} == late.state.memories["a"].confidence.confirmed


def test_a_repeated_reference_boosts_once() -> None:
    """The second time it is kept, with its actor, and weighs nothing."""
    once = told(0.60).when(AddEvidence("a", QUOTE, corroborates=True), by=BOT)
    again = once.when(AddEvidence("a", QUOTE, corroborates=True), by=ANN).then(MemoryEvidenceAdded(QUOTE))
    again.then_state(confidence__confidence=0.68)
    assert [BOT, ANN] == [item.actor for item in again.scenario.state.memories["a"].evidence]


def test_evidence_is_limited_by_whichever_way_it_comes() -> None:
    """A confirmation brings no evidence beyond the limit either."""
    full = Scenario[Any, Any](limits=Limits(evidences=1)).given(memory_created(FACT, evidence=(QUOTE,)))
    full.when(AddEvidence("a", PAGE)).then_rejected("invalid_attributes", naming="evidence")
    full.when(Confirm("a", PAGE)).then_rejected("invalid_attributes", naming="evidence")


# -- what moves the date -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "by", "moves"),
    [
        (Confirm("a"), ANN, True),
        (Confirm("a"), BOT, False),
        (Confirm("a", QUOTE), BOT, False),
        (Confirm("a"), OTHERS[1], False),
        (Confirm("a", QUOTE), OTHERS[1], True),
        (AddEvidence("a", QUOTE, corroborates=True), BOT, False),
        (AddEvidence("a", QUOTE, corroborates=True), OTHERS[1], True),
        (AddEvidence("a", QUOTE, corroborates=True), ANN, True),
        (AddEvidence("a", QUOTE), ANN, False),
        (Contradict("a"), ANN, False),
    ],
)
def test_only_users_and_foreign_evidence_move_the_date(command: Any, by: Actor, *, moves: bool) -> None:
    """An assistant's word keeps nothing fresh, whatever it cites."""
    scenario = told(0.60)
    expected = scenario.start + DAY if moves else None
    scenario.when(command, by=by, at=DAY).then_state(confidence__last_confirmed_at=expected)


def test_the_date_never_moves_back() -> None:
    """A backdated confirmation leaves it where it was."""
    once = told().when(Confirm("a"), by=ANN, at=3 * DAY)
    late = once.given(happened(MemoryConfirmed(0.9, 1.0, True), by=user("bob"), at=DAY))
    late.then_state(confidence__last_confirmed_at=late.start + 3 * DAY)


# -- contradictions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", OTHERS, ids=str)
def test_non_users_never_lower_below_the_floor(by: Actor) -> None:
    """Ten grounds of one actor leave 0.40; what lay below already stays."""
    scenario = told(0.95)
    for n in range(10):
        scenario = scenario.when(Contradict("a", evidence=EvidenceRef("quote", str(n))), by=by).scenario
    assert confidence(scenario) == pytest.approx(0.40)
    told(0.20).when(Contradict("a"), by=by).then_state(confidence__confidence=0.20)


@pytest.mark.parametrize("ground", [{"by": "b"}, {"evidence": QUOTE}, {}], ids=str)
@pytest.mark.parametrize("actor", [ANN, BOT], ids=str)
def test_a_ground_counts_once_for_an_actor(ground: dict[str, Any], actor: Actor) -> None:
    """The same actor by the same memory or evidence changes nothing; another actor or ground does."""
    once = told().when(Contradict("a", **ground), by=actor)
    once.when(Contradict("a", **ground), by=actor, at=9 * DAY).then_nothing()
    assert once.when(Contradict("a", **ground), by=assistant("other")).events
    assert once.when(Contradict("a", evidence=PAGE), by=actor).events


def test_a_user_may_change_his_mind_back() -> None:
    """Having confirmed in between, he may dispute on the same ground again; others may not."""
    there_and_back = told().when(Contradict("a"), by=ANN).when(Confirm("a"), by=ANN)
    there_and_back.when(Contradict("a"), by=ANN).then(MemoryContradicted(0.8, 0.0))
    other = told().when(Contradict("a"), by=BOT).when(Confirm("a"), by=ANN)
    other.when(Contradict("a"), by=BOT).then_nothing()


def test_nobody_else_disputes_what_he_said_himself() -> None:
    """Not when he wrote it, and not when a user merged his draft; a user may take his own word back."""
    told(by=BOT).when(Contradict("a"), by=BOT).then_rejected("forbidden")
    drafted = happened(memory_created(FACT), by=ANN, on_behalf_of=BOT)
    Scenario[Any, Any]().given(drafted).when(Contradict("a"), by=BOT).then_rejected("forbidden")
    assert told(by=ANN).when(Contradict("a"), by=ANN).events


def test_a_disputing_memory_becomes_an_edge() -> None:
    """The edge leads from the disputed to the disputing one, which must be another one, and there."""
    told().when(Contradict("a", by="b")).then_state(
        edges__links={Link(Relation.CONTRADICTS, "b"): 3}, confidence__disputed=3
    )
    told().when(Contradict("a", by="a")).then_rejected("conflict")
    told().when(Contradict("a", by="nowhere")).then_rejected("not_found")


def test_a_pair_has_one_contradicting_edge() -> None:
    """Disputing the other way round moves it to where the newest dispute stands."""
    both = told().when(Contradict("a", by="b")).when(Contradict("b", by="a"))
    both.then(happened(MemoryUnlinked(Relation.CONTRADICTS, "b"), "a"), MemoryContradicted(0.8, 0.0, "a"))
    both.then_state("a", edges__links={}).then_state("b", edges__links={Link(Relation.CONTRADICTS, "a"): 5})


def test_a_renewed_dispute_begins_its_edge_anew() -> None:
    """So that what was settled before is open again."""
    again = told().when(Contradict("a", by="b"), by=BOT).when(Contradict("a", by="b"), by=ANN)
    again.then_state(edges__links={Link(Relation.CONTRADICTS, "b"): 4})


# -- editing -------------------------------------------------------------------------------------------


def test_an_edit_by_a_non_user_caps_belief_at_his_prior() -> None:
    """What a user asserted is no longer what stands there; a lower confidence stays."""
    change = UpdateAttributes("a", {"statement": "The sky is red."})
    told(0.95).when(change, by=BOT).then(MemoryAttributesUpdated({"statement": "The sky is red."}, 1, 0.60)).then_state(
        confidence__confidence=0.60
    )
    told(0.50).when(change, by=BOT).then_state(confidence__confidence=0.50)
    told(0.95).when(change, by=ANN).then_state(confidence__confidence=0.95)


@pytest.mark.parametrize("weight", [0.0, -0.1, 1.5, float("nan"), True])
def test_weights_are_shares_above_zero(weight: object) -> None:
    """Others make no policy, so that none gets into an event."""
    with pytest.raises(ValueError, match="confirm"):
        replaced(Policy().weights(ActorKind.USER), confirm=weight)
