"""Each property of the suites fails where rules or a codec break it, and says what is wrong."""

from __future__ import annotations

import datetime as dt
import random
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from hypothesis import strategies as st

from engram_core.codec import EventCodec
from engram_core.decider import Change, Context, Decider
from engram_core.errors import ForbiddenError
from engram_core.events import MemoryEdited, MemoryTagged, RecordedEvent
from engram_core.kinds import KINDS
from engram_core.policy import Limits, Policy
from engram_core.testing import (
    check_codec,
    check_decided_events_fold,
    check_decider,
    check_determinism,
    check_folds_split,
    check_no_wall_clock,
    recorded_event,
)
from engram_core.testing.scenario import START
from engram_core.values import user

Check = Callable[[Decider[Any, Any]], None]

PLAIN = [MemoryTagged(("x",)), MemoryTagged((), ("x",)), MemoryEdited(content="c")]
LONG = tuple(recorded_event(event, position=place, version=place) for place, event in enumerate(PLAIN, 1))
NOW = Context(now=START, occurred_at=START, actor=user("ann"), policy=Policy(), limits=Limits(), kinds=KINDS)
# A few plain examples: what fails here fails on the first, and shrinking larger ones takes long.
COMMANDS, HISTORIES, CONTEXTS = st.sampled_from(["tag", "untag"]), st.sampled_from([LONG, ()]), st.just(NOW)
GIVEN: dict[str, Any] = {"commands": COMMANDS, "histories": HISTORIES, "contexts": CONTEXTS, "max_examples": 10}


# -- small rules that keep every property -----------------------------------------------------------


def tags_of(state: tuple[str, ...], recorded: RecordedEvent) -> tuple[str, ...]:
    """Tags that were added and not removed."""
    event = recorded.event
    if not isinstance(event, MemoryTagged):
        return state
    return tuple(sorted(({*state} | {*event.added}) - {*event.removed}))


def tagging(command: str, state: tuple[str, ...], context: Context) -> tuple[Change, ...]:
    """Adds or removes the one tag, if that changes anything."""
    if (command == "tag") == ("x" in state):
        return ()
    event = MemoryTagged(("x",)) if command == "tag" else MemoryTagged((), ("x",))
    return (Change("a", event, "a"),)


GOOD: Decider[str, tuple[str, ...]] = Decider((), tagging, tags_of)


def test_good_rules_pass() -> None:
    """Rules of five lines keep all properties; so what fails below fails for its one fault."""
    check_decider(GOOD, **GIVEN)


# -- rules with one fault ---------------------------------------------------------------------------

_SEEN: list[object] = []


def _deciding(decide: Callable[[str, Any, Context], tuple[Change, ...]]) -> Decider[Any, Any]:
    return Decider((), decide, tags_of)


def _folding(evolve: Callable[[Any, RecordedEvent], Any], initial: Any = ()) -> Decider[Any, Any]:
    return Decider(initial, tagging, evolve)


def _with(tag: Callable[[], object]) -> Decider[Any, Any]:
    return _deciding(lambda command, state, context: (Change("a", MemoryTagged((str(tag()),)), "a"),))


def _remembers(state: tuple[str, ...], recorded: RecordedEvent) -> tuple[str, ...]:
    _SEEN.append(recorded)
    return (*state, str(len(_SEEN)))


def _raises(state: tuple[str, ...], recorded: RecordedEvent) -> tuple[str, ...]:
    if isinstance(recorded.event, MemoryEdited):
        raise KeyError(recorded.stream)
    return state


def _counts(command: str, state: Any, context: Context) -> tuple[Change, ...]:
    _SEEN.append(command)
    return (Change("a", MemoryTagged((str(len(_SEEN)),)), "a"),)


def _refuses_in_other_words(command: str, state: Any, context: Context) -> tuple[Change, ...]:
    _SEEN.append(command)
    raise ForbiddenError(f"no, for the {len(_SEEN)}th time")


def _crashes(command: str, state: Any, context: Context) -> tuple[Change, ...]:
    return (Change("a", MemoryTagged(state[7]), "a"),)


def _appends_to_its_state(command: str, state: list[str], context: Context) -> tuple[Change, ...]:
    state.append(command)
    return ()


def _appends_and_refuses(command: str, state: list[str], context: Context) -> tuple[Change, ...]:
    state.append(command)
    raise ForbiddenError("no")


def _listed(state: list[str], recorded: RecordedEvent) -> list[str]:
    return [*state, recorded.stream]


@frozen
class Invented:
    """An event that no log knows."""

    type = "Invented"


def _folds_no_own_event(state: tuple[str, ...], recorded: RecordedEvent) -> tuple[str, ...]:
    if recorded.id.startswith("e") and recorded.actor is not None and recorded.event == MemoryTagged(("own",)):
        raise ValueError("what is this?")
    return tags_of(state, recorded)


def _looks_while_folding(state: tuple[str, ...], recorded: RecordedEvent) -> tuple[str, ...]:
    time.monotonic()
    return tags_of(state, recorded)


class Cut(Decider[Any, Any]):
    """Counts the events of the last call alone."""

    def fold(self, events: Any, state: Any = None) -> Any:
        return len(list(events))


def folds_split(decider: Decider[Any, Any]) -> None:
    check_folds_split(decider, HISTORIES, max_examples=10)


def determinism(decider: Decider[Any, Any]) -> None:
    check_determinism(decider, COMMANDS, HISTORIES, CONTEXTS, max_examples=10)


def events_fold(decider: Decider[Any, Any]) -> None:
    check_decided_events_fold(decider, COMMANDS, HISTORIES, CONTEXTS, max_examples=10)


def no_clock(decider: Decider[Any, Any]) -> None:
    check_no_wall_clock(decider, COMMANDS, HISTORIES, CONTEXTS, max_examples=10)


ZOO: dict[str, tuple[Check, Decider[Any, Any], type[Exception]]] = {
    "fold depends on where it was cut": (folds_split, Cut((), tagging, tags_of), AssertionError),
    "fold remembers what it saw": (folds_split, _folding(_remembers), AssertionError),
    "fold raises on some history": (folds_split, _folding(_raises), KeyError),
    "decide counts its calls": (determinism, _deciding(_counts), Exception),
    "decide refuses in changing words": (determinism, _deciding(_refuses_in_other_words), Exception),
    "decide lets another error out": (determinism, _deciding(_crashes), IndexError),
    "decide changes its state": (events_fold, Decider([], _appends_to_its_state, _listed), AssertionError),
    "decide changes its state and refuses": (events_fold, Decider([], _appends_and_refuses, _listed), AssertionError),
    "decide invents an event": (
        events_fold,
        _deciding(lambda command, state, context: (Change("a", Invented(), "a"),)),  # type: ignore[arg-type]
        Exception,
    ),
    "decided events do not fold": (
        events_fold,
        Decider((), lambda *_: (Change("a", MemoryTagged(("own",)), "a"),), _folds_no_own_event),
        ValueError,
    ),
    "decided events cannot be written": (events_fold, _with(lambda: "\ud800"), Exception),
    "decide looks at the calendar": (no_clock, _with(lambda: dt.datetime.now(dt.UTC).year // 10_000), AssertionError),
    "decide looks at a clock": (no_clock, _with(lambda: time.time_ns() * 0), AssertionError),
    "decide draws lots": (no_clock, _with(lambda: random.random() * 0), AssertionError),
    "decide makes ids": (no_clock, _with(lambda: uuid.uuid4().version), AssertionError),
    "decide reads a file": (no_clock, _with(lambda: len(Path(__file__).read_text("utf-8"))), AssertionError),
    "fold looks at a clock": (no_clock, _folding(_looks_while_folding), AssertionError),
}


@pytest.mark.parametrize("name", sorted(ZOO))
def test_the_property_fails(name: str) -> None:
    """Rules with this fault are caught by the property that it breaks."""
    check, decider, error = ZOO[name]
    with pytest.raises(error):
        check(decider)


# -- codecs with one fault --------------------------------------------------------------------------


class Forgetful(EventCodec):
    """Loses the content of an edit."""

    def decode(self, r: Any) -> RecordedEvent:
        told = super().decode(r)
        return told._replace(event=MemoryEdited()) if isinstance(told.event, MemoryEdited) else told


class Restless(EventCodec):
    """Writes the same thing in another way each time."""

    def encode(self, event: Any, stamp: Any) -> Any:
        _SEEN.append(event)
        written = super().encode(event, stamp)
        return written._replace(data=written.data.replace("{", "{" + " " * (len(_SEEN) % 5), 1))


@pytest.mark.parametrize(("cls", "complaint"), [(Forgetful, "read back"), (Restless, "written again")])
def test_a_bad_codec_is_noticed(cls: type[EventCodec], complaint: str) -> None:
    """One that loses something, and one that is not canonical; what differs is shown."""
    codec = cls()
    with pytest.raises(AssertionError, match=f"{complaint}, it is another"):
        check_codec(codec, st.sampled_from(PLAIN), max_examples=10)


def test_a_good_codec_passes() -> None:
    """The same events through the library's own."""
    check_codec(EventCodec(), st.sampled_from(PLAIN), max_examples=10)


def test_what_differs_is_shown() -> None:
    """Expected and actual stand one below the other, field by field."""
    with pytest.raises(AssertionError) as caught:
        check_codec(Forgetful(), st.just(MemoryEdited(content="c")), max_examples=1)
    expected, actual = (line for line in str(caught.value).splitlines() if "event = " in line)
    assert ("-", True) == (expected[0], "content='c'" in expected)
    assert ("+", False) == (actual[0], "content='c'" in actual)
    assert "  stream = 'a'" in str(caught.value)


def test_what_was_looked_at_is_named() -> None:
    """The failure says who called which clock."""
    with pytest.raises(AssertionError, match=r"test_broken_rules calls .*now"):
        no_clock(_with(lambda: dt.datetime.now(dt.UTC)))
