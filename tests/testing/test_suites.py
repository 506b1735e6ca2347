"""The suites hold for the library's own rules, and catch rules that break them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve as replaced
from hypothesis import strategies as st

from engram_core.codec import EventCodec
from engram_core.commands import Tag
from engram_core.decider import Change, Decider
from engram_core.events import EVENTS, MemoryTagged
from engram_core.kinds import KINDS
from engram_core.memory import memory_decider
from engram_core.testing import check_codec, check_decider, strategies

RULES = memory_decider(KINDS)


def check(decider: Decider[Any, Any], **given: Any) -> None:
    """All properties of a decider, on few examples."""
    usual: dict[str, Any] = {
        "commands": strategies.commands(),
        "histories": strategies.histories(begun=True, max_size=6),
        "contexts": strategies.contexts(),
    }
    check_decider(decider, **{**usual, **given}, max_examples=60)


def check_broken(decider: Decider[Any, Any]) -> None:
    """The same on plain examples, since shrinking large ones takes long."""
    plain = st.sampled_from([MemoryTagged(("x",)), MemoryTagged((), ("x",))])
    histories = strategies.histories(of=lambda: plain, max_size=3)
    check(decider, commands=st.just(Tag("a")), histories=histories)


def test_the_rules_of_memories_pass() -> None:
    """Any command on any history of three memories."""
    check(RULES)


def test_folds_of_any_events_split() -> None:
    """Streams need not begin with a creation, nor make sense."""
    check(RULES, histories=strategies.histories(max_size=8))


def test_every_event_comes_back() -> None:
    """The codec writes and reads all classes."""
    check_codec(EventCodec(), st.one_of([strategies.event_of(cls) for cls in EVENTS]), max_examples=200)


def _tagging(make: Callable[[], str]) -> Decider[Any, Any]:
    def decide(command: Any, known: Any, context: Any) -> tuple[Change, ...]:
        return (Change("a", MemoryTagged((make(),)), "a"),)

    return replaced(RULES, decide=decide)


def test_a_clock_is_noticed() -> None:
    """A rule that looks at the clock fails, even where its answer is the same each time."""
    with pytest.raises(AssertionError):
        check_broken(_tagging(lambda: str(dt.datetime.now(dt.UTC).year)))


def test_a_changing_answer_is_noticed() -> None:
    """A rule that remembers is not determined by its arguments."""
    counter = iter(range(1_000_000))
    with pytest.raises(AssertionError):
        check_broken(_tagging(lambda: str(next(counter))))


def test_a_fold_that_does_not_split_is_noticed() -> None:
    """A fold that looks at how it was cut fails."""

    class Cut(Decider[Any, Any]):
        def fold(self, events: Any, state: Any = None) -> Any:
            return len(list(events))

    with pytest.raises(AssertionError):
        check_broken(Cut(RULES.initial, RULES.decide, RULES.evolve))
