"""Every event that was ever written can be read; lines are added to golden/events.jsonl, and never changed or removed.

To add a line for a new event or version, append what this prints, from the root of the repository:

    python -c "
    from tests.test_golden_events import line_of
    from engram_core.events import MemoryTagged
    print(line_of(MemoryTagged(('x',), ('y',))))" >> tests/golden/events.jsonl
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import attrs
import pytest

from engram_core.codec import VERSIONS, EventCodec
from engram_core.commands import COMMANDS
from engram_core.events import EVENTS, Event, MemoryTagged, RecordedEvent
from engram_core.folding import fold
from engram_core.kinds import KINDS
from engram_core.ports import Recorded
from engram_core.proposal import fold_proposal
from engram_core.testing import encoded, recorded_event
from engram_core.values import assistant

CODEC = EventCodec()
GOLDEN = [
    json.loads(line) for line in (Path(__file__).parent / "golden" / "events.jsonl").read_text("utf-8").splitlines()
]
BOT = assistant("claude")


def as_told(event: Event) -> RecordedEvent:
    """The event with the stamp that all golden lines bear."""
    return recorded_event(event, stream="a", on_behalf_of=BOT, session_id="s-1")


def line_of(event: Event) -> str:
    """The line of an event in the version in which it is written now."""
    written = encoded(as_told(event), CODEC)
    line = {
        "type": written.type,
        "version": written.schema_version,
        "data": json.loads(written.data),
        "fields": shown(event),
    }
    return json.dumps(line, ensure_ascii=False)


def shown(value: Any) -> Any:
    """What is read, field by field, as JSON can hold it; what is at its default is left out, like in the payload."""
    if attrs.has(type(value)):
        told = {f.name: getattr(value, f.name) for f in attrs.fields(type(value))}
        usual = {f.name: f.default for f in attrs.fields(type(value))}
        return {name: shown(held) for name, held in told.items() if held != usual[name]}
    if isinstance(value, Mapping):
        return [[shown(key), shown(held)] for key, held in value.items()]
    if isinstance(value, AbstractSet):
        return sorted((shown(item) for item in value), key=repr)
    if isinstance(value, tuple | list):
        return [shown(item) for item in value]
    return repr(value)


def stored(line: dict[str, Any]) -> Recorded:
    """The line as it stands in a log."""
    e = encoded(as_told(MemoryTagged()), CODEC)
    data = json.dumps(line["data"], ensure_ascii=False, separators=(",", ":"))
    row = Recorded(1, "a", 1, e.id, line["type"], line["version"], "a", data, b"", 0, 0, "user", e.id, None, None, None)
    return row._replace(occurred_at=e.occurred_at, recorded_at=e.occurred_at)


def test_every_event_and_version_has_a_line() -> None:
    """A new version comes with its payload, and no old one goes."""
    expected = {(name, version) for name, current in VERSIONS.items() for version in range(1, current + 1)}
    assert expected == {(line["type"], line["version"]) for line in GOLDEN}


def test_every_command_has_a_line() -> None:
    """Drafts are commands, and wait in logs like events."""
    drafted = [line["data"]["v"]["command"] for line in GOLDEN if line["type"] == "DraftAdded"]
    assert {cls.__name__ for cls in COMMANDS} == {command["command"] for command in drafted}
    for cls in COMMANDS:
        used = {name for command in drafted if command["command"] == cls.__name__ for name in command}
        assert {field.name for field in attrs.fields(cls)} == used - {"command"}


@pytest.mark.parametrize("cls", EVENTS, ids=lambda cls: cls.__name__)
def test_every_field_is_shown_with_a_value_of_its_own(cls: type[Any]) -> None:
    """The lines of an event's current version use each of its fields at least once."""
    lines = [line for line in GOLDEN if (line["type"], line["version"]) == (cls.__name__, VERSIONS[cls.__name__])]
    used = {name for line in lines for name in line["data"]["v"]}
    assert {field.name for field in attrs.fields(cls)} == used


@pytest.mark.parametrize("line", GOLDEN, ids=lambda line: f"{line['type']}-{line['version']}")
def test_released_events_are_read(line: dict[str, Any]) -> None:
    """Field by field as they were meant; and in the current version they are written as they were."""
    read = CODEC.decode(stored(line))
    assert line["fields"] == shown(read.event)
    assert (BOT, "s-1") == (read.on_behalf_of, read.session_id)
    if line["version"] == VERSIONS[line["type"]]:
        assert line == json.loads(line_of(read.event))


def test_released_events_fold() -> None:
    """All of them in one stream, as a memory and as a proposal."""
    history = [CODEC.decode(stored(line))._replace(version=n, position=n) for n, line in enumerate(GOLDEN, start=1)]
    memory = fold(history, upcast=KINDS.upcast)
    proposal = fold_proposal(history)
    assert memory is not None
    assert proposal is not None
    assert len(GOLDEN) == memory.revision == proposal.revision
