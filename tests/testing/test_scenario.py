"""Scenarios say what differs, and go on from what was decided."""

from __future__ import annotations

from datetime import timedelta

import pytest

from engram_core.commands import Confirm, Contradict, Edit, Tag
from engram_core.errors import NotFoundError
from engram_core.events import MemoryConfirmed, MemoryEdited, MemoryTagged
from engram_core.kinds import Fact
from engram_core.testing import Outcome, Scenario, happened, memory_created, store_of
from engram_core.values import assistant

FACT = memory_created(Fact("The sky is blue."))
BOT = assistant("bot")


def complaint(call: object, *args: object, **named: object) -> str:
    """The text of the assertion that fails."""
    with pytest.raises(AssertionError) as caught:
        call(*args, **named)  # type: ignore[operator]
    return str(caught.value)


def edited() -> Outcome[object, object]:
    """An outcome to complain about."""
    return Scenario().given(FACT).when(Edit("a", content="Often."))


def test_events_are_compared_field_by_field() -> None:
    """What was expected and what was decided stand one below the other."""
    text = complaint(edited().then, MemoryEdited(content="Never."))
    assert "-     content = 'Never.'" in text
    assert "+     content = 'Often.'" in text
    assert "  MemoryEdited in a" in text


def test_nothing_is_compared_like_events() -> None:
    """An event too many is shown."""
    assert "+ MemoryEdited in a" in complaint(edited().then_nothing)


def test_a_missing_refusal_is_told() -> None:
    """What was decided instead is shown."""
    assert "+ MemoryEdited in a" in complaint(edited().then_rejected, "conflict")


def test_another_refusal_is_told() -> None:
    """Both reasons are shown."""
    outcome = Scenario().when(Edit("a", content="x"))
    assert isinstance(outcome.error, NotFoundError)
    text = complaint(outcome.then_rejected, "conflict")
    assert "- conflict" in text
    assert "+ not_found" in text
    assert "was refused (not_found)" in complaint(outcome.then_nothing)
    outcome.then_rejected("not_found", naming="a")


def test_states_are_compared_by_field() -> None:
    """Two underscores lead into a field, and the last bits of a number do not count."""
    outcome = edited().then_state(text__content="Often.", confidence__confidence=0.1 + 0.85)
    assert "+ text__content = 'Often.'" in complaint(outcome.then_state, text__content="Never.")


def test_a_scenario_goes_on() -> None:
    """What was decided has happened, for the next step."""
    first = Scenario().given(FACT).when(Tag("a", ("x",))).then(MemoryTagged(("x",)))
    first.when(Tag("a", ("x",))).then_nothing()
    first.when(Tag("a", (), ("x",))).then(MemoryTagged((), ("x",))).then_state(tags=())
    first.given(happened(MemoryTagged(("y",)))).then_state(tags=("x", "y"))


def test_a_step_is_by_somebody_at_some_time() -> None:
    """Steps take an actor, and an instant or a distance from the start."""
    scenario = Scenario().given(happened(FACT, by=BOT, at=timedelta(days=-1)))
    scenario.when(Contradict("a"), by=BOT).then_rejected("forbidden")
    scenario.when(Confirm("a"), at=timedelta(days=2)).then(MemoryConfirmed(0.9, 1.0, True)).then_state(
        confidence__last_confirmed_at=scenario.start + timedelta(days=2),
        origin__created_at=scenario.start - timedelta(days=1),
    )


def test_views_read_the_history() -> None:
    """A reader's session over a log of the same history shows what he may see."""
    outcome = Scenario().given(FACT).when(Tag("a", ("x",)))
    outcome.then_view(lambda session: session.get("a").tags, ("x",))
    assert "another view" in complaint(outcome.then_view, lambda session: session.count(), 2)


def test_a_history_is_a_log() -> None:
    """Events are stored in the order in which they happened, with their envelopes."""
    scenario = Scenario().given(FACT, happened(FACT, "b"), MemoryTagged(("x",)))
    stored = store_of(scenario.history).read()
    assert [("a", 1), ("b", 1), ("a", 2)] == [(event.stream, event.version) for event in stored]
