"""The suites hold for the library's own rules; `test_broken_rules.py` has those that break them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from engram_core.codec import EventCodec
from engram_core.decider import Decider
from engram_core.events import EVENTS
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


def test_the_rules_of_memories_pass() -> None:
    """Any command on any history of three memories."""
    check(RULES)


def test_folds_of_any_events_split() -> None:
    """Streams need not begin with a creation, nor make sense."""
    check(RULES, histories=strategies.histories(max_size=8))


def test_every_event_comes_back() -> None:
    """The codec writes and reads all classes."""
    check_codec(EventCodec(), st.one_of([strategies.event_of(cls) for cls in EVENTS]), max_examples=200)
