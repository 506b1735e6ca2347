"""Whoever installs the library can have every value of it made, without a word to Hypothesis."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engram_core
from engram_core import Memory, Person, commands, events, ports, results
from engram_core.events import Event, RecordedEvent
from engram_core.packs.outcomes import OUTCOMES, Insight
from engram_core.testing import strategies
from engram_core.testing.registration import register

ROOT = Path(__file__).resolve().parents[2]

LIVE = {"AsyncMemorySpace", "Maintenance", "MemorySpace", "Session", "View"}
"""Classes of the door that are no values: they hold a space open."""


def classes(module: Any, names: Any) -> list[type[Any]]:
    """The classes among some names of a module, but for errors."""
    found = [getattr(module, name) for name in names]
    return [cls for cls in found if isinstance(cls, type) and not issubclass(cls, Exception)]


DOOR = [cls for cls in classes(engram_core, engram_core.__all__) if cls.__name__ not in LIVE]
MADE = sorted(
    {
        *DOOR,
        *classes(results, results.__all__),
        *classes(ports, ports.__all__),
        *commands.COMMANDS,
        *events.EVENTS,
        *(spec.attributes for spec in OUTCOMES),
        events.ErasedPayload,
        events.UnknownEvent,
        events.RecordedEvent,
    },
    key=lambda cls: (cls.__module__, cls.__name__),
)


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    """As the entry point does it, where the library runs from its sources."""
    register()


@pytest.mark.parametrize("cls", MADE, ids=lambda cls: cls.__name__)
def test_every_value_can_be_made(cls: type[Any]) -> None:
    """`st.from_type` gives objects of each public class of values, commands, events, results and ports."""
    made: list[Any] = []

    @settings(max_examples=4, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.from_type(cls))
    def make(value: Any) -> None:
        assert isinstance(value, cls)
        made.append(value)

    make()
    assert made


def test_no_value_of_the_door_is_left_out() -> None:
    """What is left out of the list above is what holds something open."""
    assert LIVE == {cls.__name__ for cls in classes(engram_core, engram_core.__all__)} - {cls.__name__ for cls in MADE}


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_a_kind_in_brackets_is_kept(data: st.DataObject) -> None:
    """`Memory[Person]` gives memories of people, and a kind of the pack gives its own."""
    assert isinstance(data.draw(st.from_type(Memory[Person])).attributes, Person)
    assert isinstance(data.draw(st.from_type(Memory[Any])), Memory)
    assert isinstance(data.draw(st.from_type(Insight)), Insight)


@settings(max_examples=50, deadline=None)
@given(st.from_type(Event), st.from_type(commands.Command), strategies.histories(min_size=1))
def test_unions_and_histories(event: Any, command: Any, history: tuple[RecordedEvent, ...]) -> None:
    """Any event, any command, and whole histories with dense positions and versions."""
    assert type(event) in {*events.EVENTS, events.ErasedPayload, events.UnknownEvent}
    assert type(command) in commands.COMMANDS
    assert list(range(1, len(history) + 1)) == [recorded.position for recorded in history]


def test_the_entry_point_does_it(tmp_path: Path) -> None:
    """A fresh interpreter that imports Hypothesis alone can make a memory, from what the project file says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    entries = project["entry-points"]["hypothesis"]
    info = tmp_path / "of_a_test-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: of-a-test\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in entries.items()]
    (info / "entry_points.txt").write_text("\n".join(["[hypothesis]", *lines]))
    code = """
import sys
from hypothesis import given, settings, strategies as st
assert "engram_core.testing.strategies" not in sys.modules, "an import of Hypothesis should build nothing"
from engram_core import Memory
@settings(max_examples=2, deadline=None, database=None)
@given(st.from_type(Memory))
def made(memory):
    assert isinstance(memory, Memory)
made()
print("made")
"""
    path = os.pathsep.join([str(tmp_path), str(Path(engram_core.__file__).parents[1])])
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ("made\n", "") == (ran.stdout, ran.stderr)
