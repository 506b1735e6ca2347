"""Given some history, when something is asked, then this follows: rules told as examples, with readable differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from engram_core.decider import Change, Context, Decider
from engram_core.errors import EngramError
from engram_core.events import Event, MemoryAbsorbed, RecordedEvent
from engram_core.kinds import KINDS, KindRegistry
from engram_core.memory import Known, memory_decider
from engram_core.policy import Limits, Policy
from engram_core.testing.differences import difference, equal, event_lines, field_lines, lines
from engram_core.values import Actor, user

if TYPE_CHECKING:
    from engram_core.session import Session

__all__ = ["ANN", "START", "Happened", "Outcome", "Scenario", "When", "happened", "recorded_event"]

C = TypeVar("C")
S = TypeVar("S")
T = TypeVar("T")

When: TypeAlias = datetime | timedelta
"""An aware instant, or how long after the scenario's start."""

ANN: Final = user("ann")
"""Who acts in scenarios, unless they say otherwise."""
START: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""When scenarios happen, unless they say otherwise."""


class Happened(NamedTuple):
    """An event with what a test says of its envelope; made by `happened`."""

    event: Event
    stream: str | None = None
    by: Actor | None = None
    at: When | None = None
    on_behalf_of: Actor | None = None
    session_id: str | None = None


def happened(
    event: Event,
    stream: str | None = None,
    *,
    by: Actor | None = None,
    at: When | None = None,
    on_behalf_of: Actor | None = None,
    session_id: str | None = None,
) -> Happened:
    """An event in a stream of its own, by another actor, at another time, or drafted by somebody.

    Args:
        event: What happened.
        stream: In whose stream; the scenario's subject by default.
        by: Who did it; the scenario's actor by default.
        at: When; the scenario's start by default.
        on_behalf_of: Who drafted it.
        session_id: In which session.
    """
    return Happened(event, stream, by, at, on_behalf_of, session_id)


def recorded_event(
    event: Event,
    *,
    stream: str = "a",
    version: int = 1,
    position: int = 1,
    at: datetime = START,
    recorded_at: datetime | None = None,
    by: Actor = ANN,
    on_behalf_of: Actor | None = None,
    session_id: str | None = None,
    batch_id: str | None = None,
) -> RecordedEvent:
    """A recorded event with a plain envelope, as a log would give it."""
    type_name = getattr(event, "type", type(event).__name__)
    return RecordedEvent(
        event,
        position,
        stream,
        version,
        f"e{position}",
        type_name,
        1,
        event.source if isinstance(event, MemoryAbsorbed) else stream,
        batch_id or f"e{position}",
        None,
        at,
        recorded_at or at,
        by.kind,
        by,
        on_behalf_of,
        session_id,
    )


class Scenario(Generic[C, S]):
    """A history that a decision or a view is tried on. A value: each step gives a new one.

    Args:
        decider: The rules; those of memories by default.
        subject: The stream to which events belong that name none.
        by: Who acts, where a step does not say.
        start: When all happens, where a step does not say; aware.
        policy, limits, kinds: The rules of the space.
        select: Picks from the decider's state what `then_state` looks at; by default the memory of an id.

    Example:
        >>> from engram_core.commands import Confirm
        >>> from engram_core.events import MemoryConfirmed
        >>> from engram_core.kinds import Fact
        >>> from engram_core.testing import Scenario, memory_created
        >>> told = Scenario().given(memory_created(Fact("The sky is blue."), confidence=0.95))
        >>> outcome = told.when(Confirm("a")).then(MemoryConfirmed(0.9, 1.0, True))
        >>> _ = outcome.then_state(confidence__confidence=0.995)
    """

    def __init__(
        self,
        decider: Decider[C, S] | None = None,
        *,
        subject: str = "a",
        by: Actor = ANN,
        start: datetime = START,
        policy: Policy | None = None,
        limits: Limits | None = None,
        kinds: KindRegistry = KINDS,
        select: Callable[[S, str], Any] | None = None,
    ) -> None:
        self.decider: Decider[Any, Any] = decider or memory_decider(kinds)
        self.subject = subject
        self.by = by
        self.start = start
        self.policy = policy or Policy()
        self.limits = limits or Limits()
        self.kinds = kinds
        self.select = select or _memory
        self.history: tuple[RecordedEvent, ...] = ()

    def given(self, *events: Event | Happened) -> Scenario[C, S]:
        """The scenario in which these events happened, too."""
        longer = self._copy()
        position = len(self.history)
        versions = {e.stream: e.version for e in self.history}
        for entry in events:
            told = entry if isinstance(entry, Happened) else Happened(entry)
            stream = told.stream or self.subject
            position += 1
            versions[stream] = versions.get(stream, 0) + 1
            recorded = recorded_event(
                told.event,
                stream=stream,
                version=versions[stream],
                position=position,
                at=self._instant(told.at),
                by=told.by or self.by,
                on_behalf_of=told.on_behalf_of,
                session_id=told.session_id,
            )
            longer.history = (*longer.history, recorded)
        return longer

    @property
    def state(self) -> S:
        """The state that the history makes."""
        folded: S = self.decider.fold(self.history)
        return folded

    def when(
        self, command: C, *, by: Actor | None = None, at: When | None = None, now: When | None = None
    ) -> Outcome[C, S]:
        """What follows when somebody asks for something.

        Args:
            command: What is asked for.
            by: By whom.
            at: When it happens.
            now: When it is decided, if that is another instant, as for a draft.
        """
        actor, occurred_at = by or self.by, self._instant(at)
        context = Context(
            now=occurred_at if now is None else self._instant(now),
            occurred_at=occurred_at,
            actor=actor,
            policy=self.policy,
            limits=self.limits,
            kinds=self.kinds,
        )
        try:
            changes: tuple[Change, ...] = self.decider.decide(command, self.state, context)
        except EngramError as error:
            return Outcome(self, command, (), error)
        told = [happened(change.event, change.stream, by=actor, at=occurred_at) for change in changes]
        return Outcome(self.given(*told), command, changes, None)

    def then_state(self, id: str | None = None, /, **expected: Any) -> Scenario[C, S]:
        """Asserts what the history makes of one memory.

        Args:
            id: Which one; the subject by default.
            expected: Values of its fields by name; two underscores lead into a field (`lifecycle__stored`).
        """
        found = self.select(self.state, id or self.subject)
        actual = {name: _reached(found, name) for name in expected}
        if not all(equal(expected[name], actual[name]) for name in expected):
            raise AssertionError(difference("the state is another one", field_lines(expected), field_lines(actual)))
        return self

    def then_view(
        self, read: Callable[[Session], T], expected: T, *, by: Actor | None = None, at: When | None = None
    ) -> Scenario[C, S]:
        """Asserts what somebody reads of the history, in a space in memory whose log it is.

        Args:
            read: Reads from a session of the reader.
            expected: What it must give.
            by: The reader.
            at: When he reads; the scenario's start by default.
        """
        actual = self._read(read, by or self.by, self._instant(at))
        if actual != expected:
            raise AssertionError(difference("another view", lines(expected), lines(actual)))
        return self

    def _read(self, read: Callable[[Session], T], by: Actor, at: datetime) -> T:
        from engram_core.space import MemorySpace
        from engram_core.testing.clocks import FrozenClock
        from engram_core.testing.logs import store_of

        options: Mapping[str, Any] = {"policy": self.policy, "limits": self.limits, "kinds": self.kinds}
        with MemorySpace.over(store_of(self.history), clock=FrozenClock(at), **options) as space:
            return read(space.session(by, record=False))

    def _instant(self, at: When | None) -> datetime:
        if at is None:
            return self.start
        return self.start + at if isinstance(at, timedelta) else at

    def _copy(self) -> Scenario[C, S]:
        copied: Scenario[C, S] = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied


class Outcome(Generic[C, S]):
    """What a command led to. `when` goes on from there.

    Attributes:
        scenario: The history with what was decided; without a change when it was refused.
        changes: What was decided.
        error: What was raised, if anything.
    """

    def __init__(
        self, scenario: Scenario[C, S], command: C, changes: tuple[Change, ...], error: EngramError | None
    ) -> None:
        self.scenario = scenario
        self.changes = changes
        self.error = error
        self._command = command

    @property
    def events(self) -> tuple[Event, ...]:
        """The events that were decided, in whatever streams."""
        self._accepted()
        return tuple(change.event for change in self.changes)

    def then(self, *expected: Event | Happened) -> Outcome[C, S]:
        """Asserts exactly these events, in order; `happened(event, stream)` names another stream."""
        self._accepted()
        told = [entry if isinstance(entry, Happened) else Happened(entry) for entry in expected]
        wanted = [(entry.stream or self._subject(), entry.event) for entry in told]
        decided = [(change.stream, change.event) for change in self.changes]
        if len(wanted) != len(decided) or not all(
            equal(one, other) for one, other in zip(wanted, decided, strict=False)
        ):
            raise AssertionError(difference("other events were decided", event_lines(wanted), event_lines(decided)))
        return self

    def then_nothing(self) -> Outcome[C, S]:
        """Asserts that it changed nothing, and was no error."""
        return self.then()

    def then_rejected(self, code: str, *, naming: str = "") -> Outcome[C, S]:
        """Asserts that it was refused.

        Args:
            code: The error's stable code.
            naming: What the error's text must contain.
        """
        if self.error is None:
            raise AssertionError(
                difference(
                    f"{self._command!r} was not refused",
                    [f"refused: {code}"],
                    event_lines([(c.stream, c.event) for c in self.changes]) or ["nothing"],
                )
            )
        if self.error.code != code or naming not in str(self.error):
            raise AssertionError(
                difference(
                    "it was refused for another reason",
                    [f"{code}: …{naming}…"],
                    [f"{self.error.code}: {self.error}"],
                )
            ) from self.error
        return self

    def then_state(self, id: str | None = None, /, **expected: Any) -> Outcome[C, S]:
        """As `Scenario.then_state`, after what was decided."""
        self._accepted()
        self.scenario.then_state(id, **expected)
        return self

    def then_view(
        self, read: Callable[[Session], T], expected: T, *, by: Actor | None = None, at: When | None = None
    ) -> Outcome[C, S]:
        """As `Scenario.then_view`, after what was decided."""
        self._accepted()
        self.scenario.then_view(read, expected, by=by, at=at)
        return self

    def given(self, *events: Event | Happened) -> Scenario[C, S]:
        """The scenario that goes on with these events."""
        return self.scenario.given(*events)

    def when(
        self, command: C, *, by: Actor | None = None, at: When | None = None, now: When | None = None
    ) -> Outcome[C, S]:
        """As `Scenario.when`, after what was decided."""
        self._accepted()
        return self.scenario.when(command, by=by, at=at, now=now)

    def _accepted(self) -> None:
        if self.error is not None:
            raise AssertionError(f"{self._command!r} was refused ({self.error.code}): {self.error}") from self.error

    def _subject(self) -> str:
        return str(getattr(self._command, "memory_id", self.scenario.subject))


def _memory(state: Any, id: str) -> Any:
    return state.memories.get(id) if isinstance(state, Known) else state


def _reached(found: Any, name: str) -> Any:
    for part in name.split("__"):
        found = getattr(found, part)
    return found
