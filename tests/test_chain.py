"""The append decision table and the hash chain, as pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_core.chain import (
    ERASED_MARKER,
    chain_link,
    check_expected,
    check_repeats,
    commitment,
    genesis,
    place,
    plan_append,
)
from engram_core.errors import ConcurrencyError, DuplicateEvent
from engram_core.ports import Appended, Expect, Recorded, StreamAppend
from engram_core.testing import appending, new_event

STORE = UUID("0190a0de-0000-7000-8000-000000000001")


def plan(*batch: StreamAppend, log: Sequence[Recorded] = (), now: int = 100) -> Appended:
    """The plan for a batch on a log that is a plain sequence."""

    def stored(ids: Sequence[str]) -> Mapping[str, Recorded]:
        return {event.id: event for event in log if event.id in ids}

    return plan_append(
        batch,
        head=len(log),
        last_recorded_at=log[-1].recorded_at if log else 0,
        last_link=(log[-1].link if log else None) or genesis(STORE),
        now=now,
        versions=lambda stream: sum(1 for event in log if event.stream == stream),
        stored=stored,
    )


def test_places_and_link() -> None:
    """New events get contiguous positions, their streams' next versions, one instant, and one link at the end."""
    log = plan(appending("a", "1", "2")).events
    planned = plan(appending("b", "3"), appending("a", "4", expected=2), log=log, now=50)
    assert [(3, "b", 1, 100), (4, "a", 3, 100)] == [(*e[:3], e.recorded_at) for e in planned.events]
    assert log[1].link is not None
    assert [None, chain_link(log[1].link, planned.events)] == [event.link for event in planned.events]


def test_order_of_checks() -> None:
    """Repeats come before stored ids, and these before expectations."""
    log = plan(appending("a", "1")).events
    with pytest.raises(ValueError, match="stream twice"):
        plan(appending("a", "1", expected=9), appending("a", "2"), log=log)
    with pytest.raises(ValueError, match="id twice"):
        plan(appending("a", "1", "1", expected=9), log=log)
    with pytest.raises(DuplicateEvent) as caught:
        plan(appending("a", "new", "1", expected=9), log=log)
    assert {"event_id": "1"} == caught.value.fields
    assert plan(appending("a", "1", expected=9), log=log).duplicate


@pytest.mark.parametrize(
    ("expected", "actual", "holds"),
    [
        (0, 0, True),
        (0, 1, False),
        (2, 2, True),
        (2, 1, False),
        (2, 3, False),
        (Expect.ANY, 0, True),
        (Expect.ANY, 5, True),
        (Expect.EXISTS, 0, False),
        (Expect.EXISTS, 1, True),
    ],
)
def test_expectations(expected: int | Expect, actual: int, holds: bool) -> None:
    """Each kind of expectation holds for exactly the versions that it names."""
    if holds:
        check_expected("s", expected, actual)
    else:
        with pytest.raises(ConcurrencyError):
            check_expected("s", expected, actual)


def test_retry_after_erasure() -> None:
    """A retry succeeds when the stored payload was erased, if it commits to the same; other bytes are refused."""
    log = [event._replace(data=ERASED_MARKER) for event in plan(appending("a", "1", "2")).events]
    again = plan(appending("a", "1", "2"), log=log)
    assert again.duplicate
    assert (ERASED_MARKER, ERASED_MARKER) == tuple(event.data for event in again.events)
    with pytest.raises(DuplicateEvent):
        plan(appending("a", "1", "2", text="other"), log=log)
    forged = new_event("1", batch_id="1", data="other")._replace(commitment=log[0].commitment)
    with pytest.raises(DuplicateEvent):
        plan(StreamAppend("a", 0, [forged, new_event("2", batch_id="1")]), log=log)


def test_repeats_pass_when_there_are_none() -> None:
    """The same id in two batches is no repeat; nor is an entry without events."""
    check_repeats([StreamAppend("a", 0), StreamAppend("b", 0), appending("c", "1", "2")])


def test_genesis_is_the_stores_own() -> None:
    """Two stores begin with two links, so that one's log cannot be passed off as the other's."""
    assert genesis(STORE) != genesis(UUID(int=1))
    assert 32 == len(genesis(STORE))


def test_link_survives_erasure() -> None:
    """A link is over commitments: an erased payload leaves it as it was."""
    events = plan(appending("a", "1", "2")).events
    erased = [event._replace(data=ERASED_MARKER) for event in events]
    assert chain_link(genesis(STORE), events) == chain_link(genesis(STORE), erased)


CHAINED = [name for name in Recorded._fields if name not in {"data", "link"}]


@pytest.mark.parametrize("field", CHAINED)
def test_link_sees_every_change(field: str) -> None:
    """Any other field that changes, changes the link."""
    event = place(new_event("1"), 1, "a", 1, 100)
    value = getattr(event, field)
    other = {int: 77, str: "other", bytes: b"\x01", type(None): "something"}[type(value)]
    changed = event._replace(**{field: other})
    assert chain_link(genesis(STORE), [event]) != chain_link(genesis(STORE), [changed])


@given(st.lists(st.text(), min_size=2, max_size=6, unique=True), st.data())
def test_link_sees_order_and_borders(texts: list[str], data: st.DataObject) -> None:
    """Other orders, other lengths, and text that looks like a border give other links."""
    events = [place(new_event(text), n, "a", n, 5) for n, text in enumerate(texts, 1)]
    first = chain_link(genesis(STORE), events)
    assert first != chain_link(genesis(STORE), data.draw(st.permutations(events).filter(lambda e: e != events)))
    assert first != chain_link(genesis(STORE), events[1:])
    assert first != chain_link(chain_link(genesis(STORE), events[:1]), events[1:])


def test_commitment_is_of_the_bytes() -> None:
    """A commitment is the SHA-256 of the payload's UTF-8."""
    assert "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" == commitment("hello").hex()
    assert commitment("é") != commitment("e\u0301")
