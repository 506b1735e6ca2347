"""The shape of every decision: three pure functions, and the value that carries who decides and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Generic, TypeVar

from attrs import frozen

from engram_core.events import Event, RecordedEvent
from engram_core.kinds import KindRegistry
from engram_core.policy import Limits, Policy
from engram_core.values import Actor

__all__ = ["Change", "Context", "Decider"]

C = TypeVar("C")
S = TypeVar("S")


@frozen(kw_only=True)
class Context:
    """Who decides, when, and by which rules: a value, so that the same decision can be made again.

    Attributes:
        now: Aware instant of deciding (what will be recorded).
        occurred_at: Aware instant at which it happened, as the caller says; by default `now`.
        actor: Who asks, and whose weights count; for a draft its drafter.
        policy, limits, kinds: The rules of the space.
    """

    now: datetime
    occurred_at: datetime
    actor: Actor
    policy: Policy
    limits: Limits
    kinds: KindRegistry


@frozen
class Change:
    """One decided event: the stream it goes to, and the memory that owns its payload."""

    stream: str
    event: Event
    owner: str


@frozen
class Decider(Generic[C, S]):
    """A domain rule set as data: an initial state, decide, and evolve.

    Attributes:
        initial: The state before anything happened.
        decide: (command, state, context) → changes; empty when nothing is to change. Raises RejectedError,
            NotFoundError or ConcurrencyError, and nothing else.
        evolve: (state, recorded event) → state; never raises.
    """

    initial: S
    decide: Callable[[C, S, Context], tuple[Change, ...]]
    evolve: Callable[[S, RecordedEvent], S]

    def fold(self, events: Iterable[RecordedEvent], state: S | None = None) -> S:
        """The state after the events, from `state` or from the initial one."""
        current = self.initial if state is None else state
        for recorded in events:
            current = self.evolve(current, recorded)
        return current
