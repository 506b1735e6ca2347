"""How values look in JSON: every one comes back, and nothing else is taken for one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, timedelta, timezone
from typing import Any

import pytest
from attrs import evolve as replaced
from attrs import fields, has
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core import state, wire
from engram_core.commands import COMMANDS, AddEvidence, Confirm, Edit, Remember
from engram_core.events import (
    EVENTS,
    MemoryAttributesUpdated,
    MemoryConfirmed,
    MemoryCreated,
    MemoryEdited,
    MemoryEvidenceAdded,
    MemoryLinked,
    MemoryReverted,
    MemorySuperseded,
    MemoryTagged,
    MemoryVisibilityChanged,
)
from engram_core.kinds import Fact
from engram_core.testing import strategies
from engram_core.values import UNSET, Actor, Link, assistant, user
from engram_core.vocab import ArchiveReason, FieldGroup, Relation, StoredStatus
from engram_core.wire import WireError


def through_json(raw: Any) -> Any:
    """What is left of it in a file."""
    return json.loads(json.dumps(raw, allow_nan=False))


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.__name__)
def test_every_event_comes_back(cls: type[Any]) -> None:
    """Whatever its fields hold, and written again it is the same text."""

    @settings(max_examples=25)
    @given(strategies.event_of(cls))
    def comes_back(event: Any) -> None:
        raw = wire.encode(event)
        read = wire.decode(cls, through_json(raw))
        assert event == read
        assert json.dumps(raw) == json.dumps(wire.encode(read))

    comes_back()


@pytest.mark.parametrize("cls", COMMANDS, ids=lambda cls: cls.__name__)
def test_every_command_comes_back(cls: type[Any]) -> None:
    """With its name."""

    @settings(max_examples=25)
    @given(strategies.command_of(cls))
    def comes_back(command: Any) -> None:
        raw = through_json(wire.encode_command(command))
        assert cls.__name__ == raw["command"]
        assert command == wire.decode_command(raw)

    comes_back()


@settings(max_examples=60)
@given(strategies.groups())
def test_every_field_group_comes_back(groups: dict[FieldGroup, Any]) -> None:
    """As undo writes them."""
    for group, value in groups.items():
        assert value == wire.decode_group(group, through_json(wire.encode_group(group, value)))


@given(strategies.actors())
def test_actors_come_back(actor: Actor) -> None:
    """A colon in the id is part of the id."""
    assert actor == wire.read_actor(str(actor))


def test_what_is_at_its_default_is_left_out() -> None:
    """So that payloads stay small; what was not mentioned is not the same as what was cleared."""
    assert {} == wire.encode(MemoryEdited())
    assert {"title": None} == wire.encode(MemoryEdited(title=None))
    assert MemoryEdited(title=None) == wire.decode(MemoryEdited, {"title": None})
    assert wire.decode(MemoryEdited, {}).title is UNSET
    assert {"command": "Confirm", "memory_id": "a"} == wire.encode_command(Confirm("a"))


CREATED = {
    "kind": "fact",
    "attributes": {"statement": "x"},
    "attributes_version": 1,
    "confidence": 0.9,
    "lifetime": "standard",
    "visibility": "shared",
}

WRONG: list[tuple[type[Any], dict[str, Any], str]] = [
    (MemoryConfirmed, {"weight": "0.4", "cap": 0.9, "vouched": True}, "weight"),
    (MemoryConfirmed, {"weight": True, "cap": 0.9, "vouched": True}, "weight"),
    (MemoryConfirmed, {"weight": None, "cap": 0.9, "vouched": True}, "weight"),
    (MemoryConfirmed, {"weight": 0.4, "cap": 0.9, "vouched": "false"}, "vouched"),
    (MemoryConfirmed, {"weight": 0.4, "cap": 0.9, "vouched": 1}, "vouched"),
    (MemoryConfirmed, {"weight": 0.4, "cap": 0.9, "vouched": None}, "vouched"),
    (MemoryConfirmed, {"weight": 0.4, "cap": 0.9}, "vouched"),
    (MemoryConfirmed, {"weight": 0.4, "cap": 0.9, "vouched": True, "heft": 1}, "heft"),
    (MemoryEdited, {"content": None}, "content"),
    (MemoryEdited, {"content": 5}, "content"),
    (MemoryTagged, {"added": "x"}, "added"),
    (MemoryTagged, {"added": {"x": 1}}, "added"),
    (MemoryTagged, {"added": [1]}, "added"),
    (MemoryTagged, {"added": None}, "added"),
    (MemoryLinked, {"relation": "likes", "target": "b"}, "relation"),
    (MemoryLinked, {"relation": None, "target": "b"}, "relation"),
    (MemorySuperseded, {"by": "b", "effective_at": "2026-01-01T00:00:00"}, "effective_at"),
    (MemorySuperseded, {"by": "b", "effective_at": 1_750_000_000}, "effective_at"),
    (MemorySuperseded, {"by": "b", "effective_at": "soon"}, "effective_at"),
    (MemoryAttributesUpdated, {"changes": [], "attributes_version": 1}, "changes"),
    (MemoryAttributesUpdated, {"changes": {}, "attributes_version": True}, "attributes_version"),
    (MemoryAttributesUpdated, {"changes": {}, "attributes_version": 1.0}, "attributes_version"),
    (MemoryEvidenceAdded, {"evidence": ["quote"]}, "evidence"),
    (MemoryEvidenceAdded, {"evidence": ["quote", "x", "y", "z"]}, "evidence"),
    (MemoryEvidenceAdded, {"evidence": ["rumour", "x"]}, "evidence"),
    (MemoryEvidenceAdded, {"evidence": ["quote", " "]}, "evidence"),
    (MemoryVisibilityChanged, {"visibility": "restricted"}, "visibility"),
    (MemoryVisibilityChanged, {"visibility": []}, "visibility"),
    (MemoryVisibilityChanged, {"visibility": ["restricted", "robot:x"]}, "visibility"),
    (MemoryVisibilityChanged, {"visibility": ["private", "user:x"]}, "visibility"),
    (MemoryCreated, {**CREATED, "kind": None}, "kind"),
    (MemoryCreated, {**CREATED, "lifetime": "until"}, "lifetime"),
    (MemoryCreated, {**CREATED, "lifetime": ["until", "2026-01-01T00:00:00Z", 1]}, "lifetime"),
    (MemoryCreated, {**CREATED, "validity": []}, "validity"),
    (MemoryCreated, {**CREATED, "validity": ""}, "validity"),
    (MemoryCreated, {**CREATED, "validity": [None, None, None]}, "validity"),
    (MemoryCreated, {**CREATED, "links": [["about", "b", "c"]]}, "links"),
    (MemoryCreated, {**CREATED, "links": ["ab"]}, "links"),
    (MemoryCreated, {**CREATED, "external_ids": [["one"]]}, "external_ids"),
    (MemoryReverted, {"batch_id": "b", "restored": {"mood": 1}}, "restored"),
    (MemoryReverted, {"batch_id": "b", "restored": {"edges": {"links": [["about", "b"]]}}}, "restored"),
    (MemoryReverted, {"batch_id": "b", "restored": {"edges": {"links": [["about", "b", "1"]]}}}, "restored"),
    (MemoryReverted, {"batch_id": "b", "restored": {"edges": {"resolved": {"b": ["both"]}}}}, "restored"),
    (MemoryReverted, {"batch_id": "b", "restored": {"confidence": {"confidence": None}}}, "restored"),
    (MemoryReverted, {"batch_id": "b", "restored": {"tags": "xy"}}, "restored"),
    (Remember, {"memory_id": 5}, "memory_id"),
    (AddEvidence, {"memory_id": "a", "evidence": ["quote", "x"], "corroborates": 0}, "corroborates"),
]


@pytest.mark.parametrize(
    ("cls", "raw", "field"), WRONG, ids=lambda value: getattr(value, "__name__", None) or str(value)
)
def test_nothing_is_coerced(cls: type[Any], raw: dict[str, Any], field: str) -> None:
    """A wrong type, an unknown field or a missing one is refused, and named."""
    with pytest.raises(WireError, match=field):
        wire.decode(cls, raw)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.text(max_size=3),
    st.just("\ud800"),
    st.binary(max_size=2),
    st.datetimes(),
    st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=14))])),
    st.just(UNSET),
    st.lists(st.text(max_size=2), max_size=2),
    st.lists(st.text(max_size=2), max_size=2).map(tuple),
    st.frozensets(st.text(max_size=2), max_size=2),
    st.dictionaries(st.text(max_size=2) | st.integers() | st.none(), st.integers() | st.text(max_size=2), max_size=2),
    st.tuples(strategies.actors(), st.text(max_size=2)).map(lambda pair: {pair}).map(frozenset),
    st.recursive(st.floats(), lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("a"), inner)),
    strategies.actors(),
    strategies.evidence(),
    strategies.lifetimes(),
    strategies.links(),
    strategies.validities(),
    strategies.visibilities(),
    st.sampled_from([*Relation, *ArchiveReason, *StoredStatus, *FieldGroup]),
)


@pytest.mark.parametrize("cls", [*EVENTS, *COMMANDS], ids=lambda cls: cls.__name__)
def test_nothing_can_be_written_that_cannot_be_read(cls: type[Any]) -> None:
    """Whatever a field holds, the writer refuses it by name, or the reader takes it."""
    written = strategies.event_of(cls) if cls in EVENTS else strategies.command_of(cls)

    @settings(max_examples=35)
    @given(written, st.sampled_from([field.name for field in fields(cls)] or [None]), JUNK, st.booleans())
    def holds(value: Any, name: str | None, junk: Any, inside: bool) -> None:
        if name is not None:
            held = getattr(value, name)
            object.__setattr__(value, name, spoilt(held, junk) if inside else junk)
        try:
            text = json.dumps(wire.encode(value), allow_nan=False, ensure_ascii=False)
            text.encode()
        except ValueError:
            return
        read = wire.decode(cls, json.loads(text))
        again = json.dumps(wire.encode(read), allow_nan=False, ensure_ascii=False)
        assert read == wire.decode(cls, json.loads(again))

    holds()


def spoilt(held: Any, junk: Any) -> Any:
    """A value with junk somewhere inside it, if it is one that can be so; most values check what they are made of."""
    if isinstance(held, tuple):
        return (*(spoilt(item, junk) for item in held), junk) if held and has(type(held[0])) else (*held, junk)
    if isinstance(held, Mapping):
        return {**held, "x": junk, **({} if not held else {next(iter(held)): junk})}
    if isinstance(held, Link):
        return replaced(held, target=junk)
    return junk


def test_what_is_nested_too_deep_is_refused() -> None:
    """By the writer, before a reader fails at it."""
    deep: Any = "x"
    for _ in range(31):
        deep = [deep]
    written = wire.encode(MemoryAttributesUpdated({"x": deep}, 1))
    assert written == wire.encode(wire.decode(MemoryAttributesUpdated, through_json(written)))
    with pytest.raises(WireError, match="deep"):
        wire.encode(MemoryAttributesUpdated({"x": [deep]}, 1))


@pytest.mark.parametrize("value", [Fact("x"), MemoryEdited(), "Confirm", None])
def test_what_is_no_command_is_not_written(value: Any) -> None:
    """Nor is it asked what it is."""
    with pytest.raises(WireError, match="is no command"):
        wire.encode_command(value)


@pytest.mark.parametrize("raw", [None, [], "Edit", {}, {"command": "Fly"}, {"command": ["Edit"]}, {"command": None}])
def test_what_is_no_command_is_refused(raw: Any) -> None:
    """By whatever it is called."""
    with pytest.raises(WireError):
        wire.decode_command(raw)
    with pytest.raises(WireError, match="memory_id"):
        wire.decode_command({"command": "Edit"})
    assert Edit("a") == wire.decode_command({"command": "Edit", "memory_id": "a"})


@pytest.mark.parametrize("raw", [None, "", "ann", "user:", "robot:x", 5, ["user", "ann"]])
def test_what_is_no_actor_is_refused(raw: Any) -> None:
    """Kind and id must both be there."""
    with pytest.raises(ValueError, match=r"."):
        wire.read_actor(raw)


def test_an_unset_belief_is_written_short() -> None:
    """Only what is known of it."""
    assert {"confidence": 0.5} == wire.encode(state.Belief(0.5))
    voices = state.Belief(0.5, disputes=frozenset({(user("b"), "word"), (assistant("a"), "word")}))
    assert [["assistant:a", "word"], ["user:b", "word"]] == wire.encode(voices)["disputes"]
