"""Commands and events are closed unions of frozen values."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import attrs
import pytest

from engram_core import commands, events
from engram_core.codec import VERSIONS
from engram_core.commands import COMMANDS
from engram_core.events import EVENTS, ErasedPayload, UnknownEvent
from engram_core.testing import strategies

UNIONS = [(commands, COMMANDS, set()), (events, EVENTS, {ErasedPayload, UnknownEvent})]


@pytest.mark.parametrize(("module", "union", "besides"), UNIONS, ids=["commands", "events"])
def test_a_union_holds_every_class_of_its_module(module: Any, union: tuple[type, ...], besides: set[type]) -> None:
    """One that is written and not listed would never be read."""
    found = {getattr(module, name) for name in module.__all__}
    classes = {cls for cls in found if isinstance(cls, type) and attrs.has(cls)}
    assert classes == set(union) | besides
    assert len(set(union)) == len(union)


@pytest.mark.parametrize("cls", [*COMMANDS, *EVENTS, ErasedPayload, UnknownEvent], ids=lambda cls: cls.__name__)
def test_they_are_frozen_values(cls: type[Any]) -> None:
    """Nobody changes what was asked for, or what happened."""
    assert cls.__setattr__ is not object.__setattr__
    assert cls.__doc__
    for field in attrs.fields(cls):
        assert "list[" not in str(field.type)
        assert "dict[" not in str(field.type)


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.__name__)
def test_events_are_named_in_the_past_tense(cls: type[Any]) -> None:
    """What has happened has happened."""
    name = cls.__name__
    assert name.endswith(("ed", "Into", "Undone", "Withdrawn", "Distinct")), name


def test_every_event_has_a_version() -> None:
    """By its literal name."""
    assert {cls.__name__ for cls in EVENTS} == set(VERSIONS)
    assert all(type(version) is int and version >= 1 for version in VERSIONS.values())


@pytest.mark.parametrize("cls", COMMANDS, ids=lambda cls: cls.__name__)
def test_every_command_names_a_memory(cls: type[Any]) -> None:
    """The one that it begins or changes."""
    assert "memory_id" in [field.name for field in attrs.fields(cls)]


def test_the_strategies_know_them_all() -> None:
    """A new class needs examples, or no property speaks of it."""
    for cls in COMMANDS:
        strategies.command_of(cls).validate()
    for cls in EVENTS:
        strategies.event_of(cls).validate()


@pytest.mark.parametrize("module", ["memory", "folding", "approval"])
def test_matches_over_the_unions_are_exhaustive(module: str) -> None:
    """A type checker proves that none is forgotten, where the match ends in `assert_never`."""
    source = Path(commands.__file__).with_name(f"{module}.py").read_text("utf-8")
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    assert "assert_never" in names
