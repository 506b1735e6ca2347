"""Properties that every decider and every codec should have, ready to be called from a test.

Each function raises what Hypothesis raises: the assertion that failed, for the smallest example that was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from engram_core.codec import EventCodec
from engram_core.decider import Change, Context, Decider
from engram_core.errors import EngramError
from engram_core.events import RecordedEvent
from engram_core.ports import NewEvent, Recorded
from engram_core.testing.differences import difference, field_lines, lines
from engram_core.testing.logs import encoded
from engram_core.testing.scenario import recorded_event
from engram_core.testing.watching import watching
from engram_core.values import to_micros

__all__ = [
    "check_codec",
    "check_decided_events_fold",
    "check_decider",
    "check_determinism",
    "check_folds_split",
    "check_no_wall_clock",
]

C = TypeVar("C")
S = TypeVar("S")


def check_decider(
    decider: Decider[C, S],
    *,
    commands: SearchStrategy[C],
    histories: SearchStrategy[tuple[RecordedEvent, ...]],
    contexts: SearchStrategy[Context],
    max_examples: int = 100,
) -> None:
    """All properties of a decider, one after the other.

    Args:
        decider: The rules.
        commands: What may be asked for.
        histories: What may have happened, in any order.
        contexts: Who may decide, and when.
        max_examples: How many examples each property is tried on.
    """
    check_folds_split(decider, histories, max_examples=max_examples)
    check_determinism(decider, commands, histories, contexts, max_examples=max_examples)
    check_decided_events_fold(decider, commands, histories, contexts, max_examples=max_examples)
    check_no_wall_clock(decider, commands, histories, contexts, max_examples=max_examples)


def check_folds_split(
    decider: Decider[Any, S], histories: SearchStrategy[tuple[RecordedEvent, ...]], *, max_examples: int = 100
) -> None:
    """Folding never raises, and may stop anywhere and go on: fold(a + b) is fold(b) from fold(a)."""

    @_tried(max_examples)
    @given(histories, st.data())
    def property(history: tuple[RecordedEvent, ...], data: st.DataObject) -> None:
        cut = data.draw(st.integers(0, len(history)), label="cut")
        whole = decider.fold(history)
        _agree("folded in two parts", whole, decider.fold(history[cut:], decider.fold(history[:cut])))
        _agree("folded again", whole, decider.fold(history))

    property()


def check_determinism(
    decider: Decider[C, S],
    commands: SearchStrategy[C],
    histories: SearchStrategy[tuple[RecordedEvent, ...]],
    contexts: SearchStrategy[Context],
    *,
    max_examples: int = 100,
) -> None:
    """The same command on the same state in the same context gives the same changes, or the same refusal."""

    @_tried(max_examples)
    @given(commands, histories, contexts)
    def property(command: C, history: tuple[RecordedEvent, ...], context: Context) -> None:
        first = _answer(decider, command, decider.fold(history), context)
        _agree("asked again", first, _answer(decider, command, decider.fold(history), context))

    property()


def check_decided_events_fold(
    decider: Decider[C, S],
    commands: SearchStrategy[C],
    histories: SearchStrategy[tuple[RecordedEvent, ...]],
    contexts: SearchStrategy[Context],
    *,
    max_examples: int = 100,
) -> None:
    """What is decided can be written down, read back, and folded; and deciding changes no state by itself."""
    codec = EventCodec()

    @_tried(max_examples)
    @given(commands, histories, contexts)
    def property(command: C, history: tuple[RecordedEvent, ...], context: Context) -> None:
        state = decider.fold(history)
        try:
            changes = decider.decide(command, state, context)
        except EngramError:
            changes = ()
        _agree("the state after deciding", decider.fold(history), state)
        told = _recorded(changes, history, context)
        read_back = tuple(codec.decode(_placed(encoded(event, codec), event)) for event in told)
        _agree("written and read back", told, read_back)
        decider.fold(told, state)

    property()


def check_no_wall_clock(
    decider: Decider[C, S],
    commands: SearchStrategy[C],
    histories: SearchStrategy[tuple[RecordedEvent, ...]],
    contexts: SearchStrategy[Context],
    *,
    max_examples: int = 100,
) -> None:
    """Neither deciding nor folding looks at a clock, draws a random number or opens a file."""

    @_tried(max_examples)
    @given(commands, histories, contexts)
    def property(command: C, history: tuple[RecordedEvent, ...], context: Context) -> None:
        with watching() as seen:
            state = decider.fold(history)
            _answer(decider, command, state, context)
        if seen:
            raise AssertionError("; ".join(dict.fromkeys(seen)))

    property()


def check_codec(codec: EventCodec, events: SearchStrategy[Any], *, max_examples: int = 100) -> None:
    """What is written comes back as it was, and is written the same way again."""

    @_tried(max_examples)
    @given(events)
    def property(event: Any) -> None:
        recorded = recorded_event(event)
        written = encoded(recorded, codec)
        read_back = codec.decode(_placed(written, recorded))
        _agree("read back", recorded, read_back)
        _agree("written again", written, encoded(read_back, codec))

    property()


# -- what the properties are made of ------------------------------------------------------------------


def _agree(what: str, expected: object, actual: object) -> None:
    """Raises an AssertionError that shows both, one below the other, unless they are equal."""
    if expected != actual:
        raise AssertionError(difference(f"{what}, it is another", _lines(expected), _lines(actual)))


def _lines(value: object) -> list[str]:
    """A line for each item, and for each field of an event with its envelope."""
    if isinstance(value, NewEvent | RecordedEvent):
        return field_lines(value._asdict())
    return [line for item in value for line in _lines(item)] if isinstance(value, tuple) else lines(value)


def _recorded(
    changes: Sequence[Change], history: Iterable[RecordedEvent], context: Context
) -> tuple[RecordedEvent, ...]:
    """Decided changes as a log would record them after a history."""
    versions: dict[str, int] = {}
    position = 0
    for event in history:
        versions[event.stream], position = event.version, event.position
    told: list[RecordedEvent] = []
    for change in changes:
        position += 1
        versions[change.stream] = versions.get(change.stream, 0) + 1
        recorded = recorded_event(
            change.event,
            stream=change.stream,
            version=versions[change.stream],
            position=position,
            at=context.occurred_at,
            recorded_at=context.now,
            by=context.actor,
            batch_id=told[0].batch_id if told else None,
        )
        told.append(recorded._replace(owner=change.owner))
    return tuple(told)


def _placed(event: NewEvent, at: RecordedEvent) -> Recorded:
    """A written event at the place where another stands."""
    id, type, schema, owner, data, commit, occurred_at, actor_kind, batch_id, causation, command = event
    return Recorded(
        at.position,
        at.stream,
        at.version,
        id,
        type,
        schema,
        owner,
        data,
        commit,
        occurred_at,
        to_micros(at.recorded_at),
        actor_kind,
        batch_id,
        causation,
        command,
        None,
    )


def _answer(decider: Decider[C, S], command: C, state: S, context: Context) -> object:
    try:
        return decider.decide(command, state, context)
    except EngramError as error:
        return type(error), error.code, str(error)


def _tried(max_examples: int) -> Callable[[Any], Any]:
    return settings(
        max_examples=max_examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
