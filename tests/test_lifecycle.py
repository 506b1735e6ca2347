"""What a memory is at an instant. Source: model §3, §4 and §6."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from attrs import evolve as replaced
from hypothesis import given
from hypothesis import strategies as st

from engram_core import MemorySpace, user
from engram_core.commands import Confirm
from engram_core.events import (
    Event,
    MemoryArchived,
    MemoryDeleted,
    MemoryErased,
    MemoryReverted,
)
from engram_core.kinds import KINDS, Attributes, Contact, Episode, Fact, Person, Project
from engram_core.lifecycle import decay_of, effective_confidence, expires_at, is_expired, stale_at, status
from engram_core.packs.outcomes import OUTCOMES
from engram_core.policy import Decay, Policy
from engram_core.state import Life, MemoryState
from engram_core.testing import FrozenClock, Scenario, memory_created, strategies
from engram_core.testing.scenario import START
from engram_core.values import Lifetime, ephemeral, permanent, standard, until
from engram_core.vocab import ArchiveReason, FieldGroup, Status, StoredStatus

DAY, TICK = timedelta(days=1), timedelta(microseconds=1)
POLICY = Policy()
EPISODE = Episode(occurred_at=START)
CONTACT = Contact(channel="email", value="a@example.org")


def state(*events: Event, of: Attributes | None = None, **fields: Any) -> MemoryState:
    """A fact, or something else, after some events."""
    found: MemoryState = (
        Scenario[Any, Any]().given(memory_created(of or Fact("x"), **fields), *events).state.memories["a"]
    )
    return found


def decay(memory: MemoryState) -> Decay:
    """How it fades by the usual policy."""
    return decay_of(memory.kind, POLICY, KINDS)


def seen(memory: MemoryState, now: datetime, *, superseded: bool = False) -> Status:
    """Its status at an instant."""
    return status(memory, now, decay(memory), superseded=superseded)


# -- precedence ----------------------------------------------------------------------------------------

LATER = START + 20_000 * DAY
ENDS: dict[Status, list[Event]] = {
    Status.ERASED: [MemoryErased(())],
    Status.DELETED: [MemoryDeleted()],
    Status.WITHDRAWN: [MemoryReverted("e1", {FieldGroup.LIFECYCLE: Life(StoredStatus.WITHDRAWN)})],
    Status.ARCHIVED: [MemoryArchived(ArchiveReason.OBSOLETE)],
}


@pytest.mark.parametrize("expected", ENDS)
def test_what_is_stored_is_stronger_than_what_time_adds(expected: Status) -> None:
    """A superseded, expired and stale memory that was archived is archived."""
    assert expected == seen(state(*ENDS[expected], lifetime=until(START)), LATER, superseded=True)


def test_superseded_then_expired_then_stale_then_active() -> None:
    """Each shows when the stronger ones are taken away."""
    ended = state(lifetime=until(START))
    assert Status.SUPERSEDED == seen(ended, LATER, superseded=True)
    assert Status.EXPIRED == seen(ended, LATER)
    assert Status.STALE == seen(state(), LATER)
    assert Status.ACTIVE == seen(state(), START)


# -- staleness -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "confidence", "days"),
    [
        (Fact("x"), 0.95, 525.81),
        (Fact("x"), 0.70, 365.0),
        (Fact("x"), 0.60, 283.83),
        (Person(full_name="A"), 0.95, 1213.96),
        (Person(full_name="A"), 0.70, 892.35),
        (Person(full_name="A"), 0.60, 730.0),
        (CONTACT, 0.95, 224.63),
        (CONTACT, 0.70, 145.32),
        (CONTACT, 0.60, 105.29),
        (EPISODE, 0.95, 27.78),
        (EPISODE, 0.70, 14.56),
        (EPISODE, 0.60, 7.89),
    ],
    ids=str,
)
def test_days_to_stale(of: Attributes, confidence: float, days: float) -> None:
    """The figures of the model, and the instant is exactly where the status turns."""
    memory = state(of=of, confidence=confidence)
    turns = stale_at(memory, decay(memory))
    assert turns is not None
    assert days == pytest.approx((turns - START) / DAY, abs=0.006)
    assert [Status.ACTIVE, Status.STALE] == [seen(memory, turns - TICK), seen(memory, turns)]


@pytest.mark.parametrize(
    ("of", "by", "days", "exact"), [(Fact("x"), 0.70, 365, 0.35), (Person(full_name="A"), 0.60, 730, 0.30)]
)
def test_at_the_threshold_it_is_not_stale(of: Attributes, by: float, days: int, exact: float) -> None:
    """Stale means strictly below."""
    memory = state(of=of, confidence=by)
    assert exact == effective_confidence(memory, START + days * DAY, decay(memory))
    assert Status.ACTIVE == seen(memory, START + days * DAY)


def test_confirmation_starts_the_decay_anew() -> None:
    """It counts from the last confirmation, else from creation; before that nothing has faded."""
    told = Scenario[Any, Any]().given(memory_created(Fact("x")))
    confirmed = told.when(Confirm("a"), at=300 * DAY).scenario.state.memories["a"]
    usual = decay(confirmed)
    assert 0.995 == pytest.approx(effective_confidence(confirmed, START + 300 * DAY, usual))
    assert 0.995 == pytest.approx(effective_confidence(confirmed, START, usual))
    assert 0.4975 == pytest.approx(effective_confidence(confirmed, START + 665 * DAY, usual))


# -- expiry --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lifetime", "expected"),
    [
        (permanent(), None),
        (standard(), None),
        (until(START + DAY), START + DAY),
        (ephemeral(), START + 7 * DAY),
    ],
)
def test_when_a_lifetime_ends(lifetime: Lifetime, expected: datetime | None) -> None:
    """From the very instant on it is expired."""
    memory = state(lifetime=lifetime)
    usual = decay(memory)
    assert expected == expires_at(memory, usual)
    if expected is not None:
        assert [False, True] == [is_expired(memory, at, usual) for at in (expected - TICK, expected)]


@pytest.mark.parametrize(
    ("of", "days"), [(EPISODE, 2), (Person(full_name="A"), 14), (Fact("x"), 7), (CONTACT, 7)], ids=str
)
def test_ephemeral_horizons(of: Attributes, days: int) -> None:
    """Two days for an episode, fourteen for who and where, seven for the rest."""
    memory = state(of=of, lifetime=ephemeral())
    assert START + days * DAY == expires_at(memory, decay(memory))


def test_an_ephemeral_memory_lives_on_from_its_confirmation() -> None:
    """From the later of creation and confirmation."""
    told = Scenario[Any, Any]().given(memory_created(Fact("x"), lifetime=ephemeral()))
    confirmed = told.when(Confirm("a"), at=3 * DAY).scenario.state.memories["a"]
    assert START + 10 * DAY == expires_at(confirmed, decay(confirmed))
    earlier = told.when(Confirm("a"), at=-3 * DAY).scenario.state.memories["a"]
    assert START + 7 * DAY == expires_at(earlier, decay(earlier))


@pytest.mark.parametrize("lifetime", [until(START), ephemeral()])
def test_a_pin_blocks_expiry(lifetime: Lifetime) -> None:
    """As long as it is there."""
    pinned = state(lifetime=lifetime, pinned=True)
    assert expires_at(pinned, decay(pinned)) is None
    assert Status.EXPIRED != seen(pinned, LATER)


def test_an_end_beyond_the_calendar_is_none() -> None:
    """Adding the horizon to the last days of the year 9999 is no error."""
    memory = state(lifetime=ephemeral())
    late = replaced(memory, origin=replaced(memory.origin, created_at=datetime(9999, 12, 31, tzinfo=UTC)))
    assert expires_at(late, decay(late)) is None


# -- which decay ---------------------------------------------------------------------------------------


def test_a_kind_beyond_the_twelve_brings_its_own_decay() -> None:
    """The policy has the first word, the kind the second; what nobody knows fades like a fact."""
    larger = KINDS.with_kinds(*OUTCOMES)
    spec = OUTCOMES[0]
    assert spec.decay is not None
    assert spec.decay == decay_of(spec.kind, POLICY, larger)
    own = Decay(half_life_days=1, stale_below=0.5)
    assert own == decay_of(spec.kind, Policy(decay={spec.kind: own}), larger)
    assert POLICY.decay["fact"] == decay_of("nothing", POLICY, KINDS)


@given(strategies.histories(streams=["a"], max_size=5), st.integers(-10_000, 100_000), st.booleans())
def test_every_state_has_a_status(history: Any, days: int, superseded: bool) -> None:
    """Whatever its events were; and it is expired iff the end of its lifetime has come."""
    memory = Scenario[Any, Any]().decider.fold(history).memories.get("a")
    if memory is None:
        return
    now = START + days * DAY
    usual = decay(memory)
    assert isinstance(status(memory, now, usual, superseded=superseded), Status)
    end = expires_at(memory, usual)
    assert is_expired(memory, now, usual) == (end is not None and now >= end)
    turns = stale_at(memory, usual)
    if now >= max(memory.origin.created_at, memory.confidence.last_confirmed_at or memory.origin.created_at):
        assert (effective_confidence(memory, now, usual) < usual.stale_below) == (turns is not None and now >= turns)


def test_projects_go_stale_although_they_are_never_pruned() -> None:
    """Decay asks for confirmation anew."""
    project = state(of=Project(name="Moon", status="active"))
    assert Status.STALE == seen(project, LATER)


# -- the instant and the status ------------------------------------------------------------------------


@given(st.floats(0, 1), st.timedeltas(timedelta(days=-3_000), timedelta(days=3_000)))
def test_a_memory_is_stale_from_the_instant_on_that_is_stored(confidence: float, age: timedelta) -> None:
    """Also where it began too low: then from its beginning, and no view of an earlier now calls it stale."""
    memory = state(confidence=confidence)
    since = stale_at(memory, decay(memory))
    for now in {START + age, *(since + step for step in (-TICK, timedelta(0), TICK) if since is not None)}:
        assert (since is not None and since <= now) == (seen(memory, now) is Status.STALE)


def test_every_reader_agrees_about_a_memory_that_began_too_low() -> None:
    """The read model, the flags and the pure function give one answer, before and after it began."""
    clock = FrozenClock(START)
    with MemorySpace.in_memory(clock=clock) as space:
        ann = space.session(user("ann"))
        low = ann.remember(Fact("maybe"), confidence=0.1)
        for now, expected in ((START - DAY, Status.ACTIVE), (START, Status.STALE), (LATER, Status.STALE)):
            view = ann.at(now)
            read = view.get(low)
            assert (expected, expected is Status.STALE) == (read.status, read.flags.stale)
            assert [low.memory_id] == [memory.id for memory in view.find(status=expected)]
            assert expected is seen(state(confidence=0.1), now)
