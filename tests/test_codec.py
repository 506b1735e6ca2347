"""Events become text and come back; what this version cannot read is refused by name."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core.chain import ERASED_MARKER, commitment
from engram_core.codec import VERSIONS, EventCodec
from engram_core.errors import HistoryError
from engram_core.events import (
    EVENTS,
    ErasedPayload,
    MemoryConfirmed,
    MemoryTagged,
    UnknownEvent,
)
from engram_core.ports import Recorded
from engram_core.testing import check_codec, encoded, recorded_event, strategies
from engram_core.values import assistant

CODEC = EventCodec()
TAGGED = MemoryTagged(("x",))


def stored(event: Any = TAGGED, codec: EventCodec = CODEC, **changes: Any) -> Recorded:
    """A stored event, with some columns of the envelope replaced."""
    e = encoded(recorded_event(event, position=7, version=3), codec)
    row = Recorded(
        7,
        "a",
        3,
        e.id,
        e.type,
        e.schema_version,
        e.owner,
        e.data,
        e.commitment,
        e.occurred_at,
        e.occurred_at,
        e.actor_kind,
        e.batch_id,
        None,
        None,
        None,
    )
    return row._replace(**changes)


def with_data(change: Any) -> Recorded:
    """A stored event whose payload text was changed, as a dict or as text."""
    row = stored()
    return row._replace(data=json.dumps(change(json.loads(row.data))))


def test_all_events_come_back() -> None:
    """With every stamp of the envelope."""
    check_codec(CODEC, st.one_of([strategies.event_of(cls) for cls in EVENTS]), max_examples=100)


@settings(max_examples=50)
@given(strategies.actors(), st.none() | strategies.actors(), st.none() | strategies.texts(max_size=5))
def test_the_author_comes_back(actor: Any, drafter: Any, session: str | None) -> None:
    """Who, for whom, in which session; the id is part of the payload, the kind is not."""
    event = recorded_event(TAGGED, by=actor, on_behalf_of=drafter, session_id=session)
    written = encoded(event)
    assert actor.kind.value == written.actor_kind
    read = CODEC.decode(stored(data=written.data, actor_kind=written.actor_kind))
    assert (actor, drafter, session) == (read.actor, read.on_behalf_of, read.session_id)


def test_types_are_literal_names() -> None:
    """A renamed class must not change what is written."""
    row = stored()
    assert ("MemoryTagged", 1) == (row.type, row.schema_version)
    assert "engram_core" not in row.data


def test_the_commitment_covers_the_payload_with_its_salt() -> None:
    """Two equal payloads have two commitments."""
    one, other = encoded(recorded_event(TAGGED)), encoded(recorded_event(TAGGED, position=2))
    assert commitment(one.data) == one.commitment
    assert one.commitment != other.commitment
    assert '"v":{"added":["x"]}' in one.data
    assert '"v":{"added":["x"]}' in other.data


# -- what cannot be read -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"type": "MemoryDreamt"}, "the unknown type MemoryDreamt"),
        ({"schema_version": 2}, "a newer schema of MemoryTagged"),
    ],
)
def test_the_unknown_is_refused_by_name(changes: dict[str, Any], words: str) -> None:
    """With its position; a lenient reader gets it verbatim, and folds on."""
    with pytest.raises(HistoryError, match=words) as caught:
        CODEC.decode(stored(**changes))
    assert 7 == caught.value.fields["position"]
    assert "upgrade" in caught.value.hint
    row = stored(**changes)
    read = EventCodec(lenient=True).decode(row)
    assert UnknownEvent(row.type, row.schema_version, row.data) == read.event
    assert (7, "a", 3, None) == (read.position, read.stream, read.version, read.actor)


@pytest.mark.parametrize(
    "row",
    [
        with_data(lambda raw: {**raw, "v": {"added": ["x"], "mood": 1}}),
        with_data(lambda raw: {**raw, "v": {"added": "x"}}),
        with_data(lambda raw: {**raw, "v": None}),
        with_data(lambda raw: {**raw, "extra": 1}),
        with_data(lambda raw: {"by": raw["by"], "salt": "x"}),
        with_data(lambda raw: {"v": raw["v"], "salt": "x"}),
        with_data(lambda raw: {**raw, "by": {}}),
        with_data(lambda raw: {**raw, "by": {"id": 5}}),
        with_data(lambda raw: {**raw, "by": {"id": " "}}),
        with_data(lambda raw: {**raw, "by": {"id": "ann", "mood": "x"}}),
        with_data(lambda raw: {**raw, "by": {"id": "ann", "for": "robot:x"}}),
        with_data(lambda raw: {**raw, "by": {"id": "ann", "session": 1}}),
        with_data(lambda raw: [raw]),
        stored(data=""),
        stored(data="{"),
        stored(data="null"),
        stored(data="[" * 100_000),
        stored(MemoryConfirmed(0.4, 0.9, True), data='{"by":{"id":"a"},"v":{"weight":NaN,"cap":1,"vouched":true}}'),
        stored(actor_kind="robot"),
        stored(schema_version=0, type="MemoryTagged"),
    ],
    ids=lambda row: f"{row.actor_kind} {row.data[:60]}",
)
def test_a_payload_without_its_form_is_refused(row: Recorded) -> None:
    """By a lenient reader, too: it is not unknown, but harmed."""
    for codec in (CODEC, EventCodec(lenient=True)):
        with pytest.raises(HistoryError):
            codec.decode(row)


@pytest.mark.parametrize("changes", [{}, {"type": "MemoryDreamt"}, {"schema_version": 9}])
def test_an_erased_payload_says_what_it_was(changes: dict[str, Any]) -> None:
    """Type, place, instants and the actor's kind stay, of whatever version; who he was does not."""
    read = CODEC.decode(stored(data=ERASED_MARKER, **changes))
    assert ErasedPayload(changes.get("type", "MemoryTagged")) == read.event
    assert (None, None, "user") == (read.actor, read.session_id, read.actor_kind.value)


JUNK = st.one_of(
    st.none(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5), st.binary(max_size=5), st.just([None])
)


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(Recorded._fields), JUNK, min_size=1), st.booleans())
def test_a_row_of_any_values_is_read_or_refused(changes: dict[str, Any], lenient: bool) -> None:
    """A damaged file may give back other types than were stored; the answer is always ours."""
    with suppress(HistoryError):
        EventCodec(lenient=lenient).decode(stored(**changes))


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
def test_figures_without_bounds_are_refused(number: str) -> None:
    """However they are spelt, also where a kind's own attributes are."""
    row = stored()._replace(type="MemoryAttributesUpdated")
    changed = row.data.replace('"v":{"added":["x"]}', f'"v":{{"changes":{{"x":{number}}},"attributes_version":1}}')
    with pytest.raises(HistoryError, match="no number of JSON"):
        CODEC.decode(row._replace(data=changed))


@pytest.mark.parametrize(
    "how",
    [{"session_id": 5}, {"client": b"x"}, {"session_id": "\ud800"}, {"on_behalf_of": "user:x"}],
    ids=["session", "client", "surrogate", "drafter"],
)
def test_a_stamp_that_could_not_be_read_is_not_written(how: dict[str, Any]) -> None:
    """What the reader of an envelope refuses, its writer refuses, too."""
    with pytest.raises(ValueError, match=r"must be|surrogates"):
        encoded(recorded_event(TAGGED)._replace(**how))


@pytest.mark.parametrize("event", [ErasedPayload("MemoryTagged"), UnknownEvent("MemoryDreamt", 1, "{}")])
def test_what_is_no_event_of_ours_is_not_written(event: Any) -> None:
    """What stands for an event that cannot be read is for reading alone."""
    with pytest.raises(ValueError, match="no event that is written"):
        encoded(recorded_event(TAGGED)._replace(event=event))


# -- versions ------------------------------------------------------------------------------------------


def later(**upcasters: Any) -> EventCodec:
    """A codec in which MemoryTagged has version 3."""
    steps = {("MemoryTagged", int(name[1:])): step for name, step in upcasters.items()}
    return EventCodec(upcasters=steps, versions={**VERSIONS, "MemoryTagged": 3})


def _labelled(raw: dict[str, Any]) -> dict[str, Any]:
    return {"labels": raw["added"]}


def _named(raw: dict[str, Any]) -> dict[str, Any]:
    return {"added": [label.upper() for label in raw["labels"]]}


def test_an_older_payload_is_upcast_step_by_step() -> None:
    """From any version on."""
    codec = later(v1=_labelled, v2=_named)
    assert MemoryTagged(("X",)) == codec.decode(stored()).event
    second = with_data(lambda raw: {**raw, "v": {"labels": ["y"]}})._replace(schema_version=2)
    assert MemoryTagged(("Y",)) == codec.decode(second).event
    third = stored(codec=codec)
    assert (3, TAGGED) == (third.schema_version, codec.decode(third).event)


def test_a_hole_is_refused_when_the_codec_is_made() -> None:
    """Not years later, when such an event is read."""
    with pytest.raises(ValueError, match=r"MemoryTagged .* no upcaster from \[2\]"):
        later(v1=_labelled)


def test_a_failing_upcaster_is_named() -> None:
    """With the version that it could not bring up."""

    def fails(raw: dict[str, Any]) -> dict[str, Any]:
        raise AttributeError("no such thing")

    with pytest.raises(HistoryError, match="from version 2 to 3") as caught:
        later(v1=_labelled, v2=fails).decode(stored())
    assert "upcaster_failed" == caught.value.code


def test_the_drafter_of_a_merged_draft_is_kept() -> None:
    """So that weights can be explained."""
    bot = assistant("bot")
    event = recorded_event(TAGGED, on_behalf_of=bot)
    assert '"for":"assistant:bot"' in encoded(event).data
