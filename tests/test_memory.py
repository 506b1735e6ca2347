"""The rules as a whole: total, deterministic, and honest about what they know. Single rules are in tests/memory/."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from attrs import evolve as replaced
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core.commands import COMMANDS, Command, Edit, Remember
from engram_core.decider import Context
from engram_core.errors import EngramError, NotFoundError, RejectedError
from engram_core.events import RecordedEvent
from engram_core.folding import fold
from engram_core.kinds import KINDS, Fact
from engram_core.memory import Known, decide, memory_decider
from engram_core.policy import ActorWeights, Policy
from engram_core.state import MemoryState
from engram_core.testing import Scenario, happened, memory_created, recorded_event, strategies
from engram_core.testing.scenario import START
from engram_core.vocab import ActorKind, Relation
from tests.memory.contexts import context_of

RULES = memory_decider(KINDS)
FEW = settings(max_examples=100)
BEGUN = strategies.histories(begun=True, max_size=5)


def answer(command: Any, known: Known, context: Context) -> Any:
    """What is decided, or None when it is refused."""
    try:
        return decide(command, known, context)
    except EngramError:
        return None


def after(known: Known, changes: Any, context: Context) -> Known:
    """What is known once the changes have happened."""
    position = max((m.position for m in known.memories.values()), default=0)
    for n, change in enumerate(changes, start=1):
        memory = known.memories.get(change.stream)
        version = 1 if memory is None else memory.revision + 1
        recorded = recorded_event(
            change.event,
            stream=change.stream,
            version=version,
            position=position + n,
            at=context.occurred_at,
            by=context.actor,
        )
        known = RULES.evolve(known, recorded)
    return known


@FEW
@given(strategies.commands(), strategies.histories(max_size=6), strategies.contexts())
def test_a_decision_answers_or_refuses(command: Any, history: tuple[RecordedEvent, ...], context: Context) -> None:
    """On any history whatsoever: changes, none, RejectedError or NotFoundError, and nothing else."""
    try:
        changes = decide(command, RULES.fold(history), context)
    except (RejectedError, NotFoundError):
        return
    assert isinstance(changes, tuple)
    assert all(change.stream and change.owner for change in changes)


@FEW
@given(strategies.commands(), BEGUN, strategies.contexts())
def test_done_is_done(command: Any, history: tuple[RecordedEvent, ...], context: Context) -> None:
    """A command that changes what is, and adds nothing to it, changes nothing the second time."""
    known = RULES.fold(history)
    changes = answer(command, known, context)
    if not changes or type(command).__name__ in ("Remember", "AddEvidence", "Confirm"):
        return
    again = answer(command, after(known, changes, context), context)
    assert not again


@FEW
@given(strategies.commands(), BEGUN, strategies.contexts())
def test_every_change_is_one(command: Any, history: tuple[RecordedEvent, ...], context: Context) -> None:
    """Whatever is decided makes a difference to the memory in whose stream it stands."""
    known = RULES.fold(history)
    for change in answer(command, known, context) or ():
        before = known.memories.get(change.stream)
        known = after(known, [change], context)
        now = known.memories[change.stream]
        if type(change.event).__name__ in ("MemoryConfirmed", "MemoryNoted", "MemoryAbsorbed"):
            # Who vouched, and when, may be all that is new; words stay in the log; a name may be there already.
            continue
        assert before is None or _content(before) != _content(now)


def _content(memory: MemoryState) -> MemoryState:
    return replaced(memory, revision=0, position=0, updated_at=START, touched={})


@FEW
@given(strategies.commands(), BEGUN, strategies.contexts())
def test_a_later_policy_changes_no_history(command: Any, history: tuple[RecordedEvent, ...], context: Context) -> None:
    """Weights and caps stand in the events: what was decided under one policy folds without any."""
    known = RULES.fold(history)
    weights = {kind: ActorWeights(prior=0.1, confirm=0.01, contradict=0.01) for kind in ActorKind}
    other = replaced(context, policy=Policy(actors=weights, confidence_cap=0.2, confidence_floor=0.9))
    changes = answer(command, known, context)
    if changes:
        assert after(known, changes, context) == after(known, changes, other)


@FEW
@given(strategies.command_of(Edit), BEGUN, strategies.contexts())
def test_what_is_not_named_is_not_looked_at(command: Any, history: tuple[RecordedEvent, ...], context: Context) -> None:
    """A decision is the same, whatever else there is."""
    known = RULES.fold(history)
    alone = Known({command.memory_id: known.memories[command.memory_id]})
    assert answer(command, known, context) == answer(command, alone, context)


@given(st.lists(strategies.commands(), max_size=12), strategies.contexts())
@settings(max_examples=60)
def test_graphs_stay_in_shape(commands: list[Any], context: Context) -> None:
    """No sequence of commands closes a circle of acyclic edges or of merges, or doubles a symmetric edge."""
    begun = [recorded_event(memory_created(Fact("x")), stream=id, position=n) for n, id in enumerate("abc", start=1)]
    known = RULES.fold(begun)
    for command in commands:
        known = after(known, answer(command, known, context) or (), context)
        memories = known.memories
        for relation in (Relation.PART_OF, Relation.DERIVED_FROM, Relation.SUPERSEDES):
            edges = {id: [k.target for k in m.edges.links if k.relation is relation] for id, m in memories.items()}
            assert not any(_leads(edges, target, id) for id, targets in edges.items() for target in targets)
        into = {id: [m.lifecycle.merged_into] for id, m in memories.items() if m.lifecycle.merged_into}
        assert not any(_leads(into, target, id) for id, targets in into.items() for target in targets)
        pairs = [
            frozenset({id, k.target, k.relation})
            for id, m in memories.items()
            for k in m.edges.links
            if k.relation in (Relation.RELATES_TO, Relation.CONTRADICTS)
        ]
        assert len(set(pairs)) == len(pairs)


def _leads(edges: dict[str, list[str]], start: str, goal: str) -> bool:
    seen, left = set(), [start]
    while left:
        id = left.pop()
        if id == goal:
            return True
        if id not in seen:
            seen.add(id)
            left += edges.get(id, [])
    return False


@pytest.mark.parametrize("cls", [cls for cls in COMMANDS if cls is not Remember], ids=lambda cls: cls.__name__)
def test_what_is_not_known_is_not_there(cls: type[Any]) -> None:
    """Hidden or absent, the answer is the same; it names the id that was asked for, and nothing else."""

    @settings(max_examples=5)
    @given(strategies.command_of(cls))
    def asked(command: Command) -> None:
        with pytest.raises(NotFoundError) as caught:
            decide(command, Known(), context_of())
        assert f"there is no memory {command.memory_id}" == str(caught.value)

    asked()


def test_ways_are_given_or_followed() -> None:
    """`leads_to` says what can be reached; without it, the edges of the known memories do."""
    told = Scenario[Any, Any]().given(memory_created(Fact("x")))
    known = told.state
    assert known.reaches("a", "a", Relation.PART_OF)
    assert not known.reaches("a", "b", Relation.PART_OF)
    assert Known(known.memories, frozenset({"b"})).reaches("a", "b", Relation.PART_OF)


def test_a_fold_goes_on_from_where_another_ended() -> None:
    """What was known before is known still."""
    told = Scenario[Any, Any]().given(memory_created(Fact("x")), happened(memory_created(Fact("y")), "b"))
    first, second = told.history
    assert RULES.fold((first, second)) == RULES.fold((second,), RULES.fold((first,)))


def test_the_decider_is_the_rules_as_a_value() -> None:
    """Its fold keeps one state a stream, and knows which ids are taken."""
    told = Scenario[Any, Any]().given(memory_created(Fact("x")))
    assert told.state.memories["a"] == fold(told.history)
    assert frozenset({"a"}) == told.state.taken
    assert START + timedelta(0) == told.state.memories["a"].origin.created_at
