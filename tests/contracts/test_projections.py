"""The contract of projections finds the fault of every broken one, and spares those that keep it."""

from __future__ import annotations

import sqlite3
import unittest
from collections.abc import Sequence
from typing import Any

import pytest

from engram_core import user
from engram_core.events import EVENTS, ErasedPayload, MemoryCreated, RecordedEvent
from engram_core.ports import Projection
from engram_core.testing import BROKEN_PROJECTIONS, PROJECTIONS, ProjectionContract, certify_projection
from engram_core.testing.contracts.ground import Ground
from engram_core.testing.stories import (
    ERASED_WORDS,
    GONE_WORDS,
    HIDDEN_WORDS,
    lives_with_secrets,
    turned_private,
    with_erasure,
    with_what_is_gone,
    without,
)
from engram_core.testing.zoo.ledgers import VIEWER, Board, Ledger, ledger_after

HIDDEN = {"test_hidden_memories_change_nothing", "test_hidden_text_is_not_shown", "test_what_is_gone_is_not_shown"}


class TestLedger(ProjectionContract, unittest.TestCase):
    """A projection for users, with an oracle."""

    def make_projection(self) -> Projection:
        return Ledger()

    def expected(self, events: Sequence[RecordedEvent]) -> Any:
        return ledger_after(events)


class TestBoard(ProjectionContract, unittest.TestCase):
    """A projection for an assistant, who must not see everything."""

    viewer = VIEWER

    def make_projection(self) -> Projection:
        return Board()

    def shown(self, tx: sqlite3.Connection) -> Any:
        return Board.shown(tx)


@pytest.mark.parametrize("name", sorted(BROKEN_PROJECTIONS))
def test_the_contract_kills(name: str) -> None:
    """A broken projection fails the obligation that it is said to break."""
    broken = BROKEN_PROJECTIONS[name]
    assert name == broken.name
    report = certify_projection(broken, only=[broken.found_by], **broken.options)
    assert [broken.found_by] == list(report.failed)


def test_the_zoo_covers_the_contract() -> None:
    """Every obligation has a projection that breaks it, and no two break one in the same words."""
    tests = {name for name in dir(ProjectionContract) if name.startswith("test_")}
    assert tests == {broken.found_by for broken in BROKEN_PROJECTIONS.values()}
    obligations = [broken.obligation for broken in BROKEN_PROJECTIONS.values()]
    assert len(set(obligations)) == len(obligations)
    shown = "<broken projection draws_lots: breaks 'it draws no lots'>"
    assert shown == repr(BROKEN_PROJECTIONS["draws_lots"])


def test_what_is_not_given_is_skipped_with_a_reason() -> None:
    """Without a viewer, an oracle, or a promise to forget, those obligations are named as skipped."""
    report = certify_projection(PROJECTIONS["ledger"], viewer=user("ann"), erasure=False)
    assert {} == report.failed
    skipped = {"test_expected", "test_erased_text_is_gone", "test_rebuild_after_erasure"} | HIDDEN
    assert skipped == set(report.skipped)
    assert "serves users" in report.skipped["test_hidden_text_is_not_shown"]
    assert "erasure = False" in report.skipped["test_erased_text_is_gone"]
    assert "expected(self, events)" in report.skipped["test_expected"]


def test_an_unknown_test_is_refused() -> None:
    """To run what there is not would find nothing, and say nothing."""
    with pytest.raises(ValueError, match="test_nothing"):
        certify_projection(Ledger, only=["test_nothing"])


def test_a_subclass_must_say_what_is_tested() -> None:
    """Without make_projection, the contract says what to define."""
    with pytest.raises(NotImplementedError, match="make_projection"):
        ProjectionContract().make_projection()


def test_the_history_holds_every_type() -> None:
    """So a projection that takes it in has met every event that there is."""
    story = with_erasure()
    told = {type(event.event) for commit in story.told for event in commit}
    assert set(EVENTS) == told
    assert {recorded.id for commit in story.told for recorded in commit} == {
        recorded.id for commit in story.final for recorded in commit
    }


def test_the_erased_words_were_there() -> None:
    """A search that finds nothing at the end has something to find before."""
    story = with_erasure()
    assert list(ERASED_WORDS) == [word for word in ERASED_WORDS if word in repr(story.told)]
    assert [] == [word for word in ERASED_WORDS if word in repr(story.final)]
    assert ErasedPayload("MemoryAbsorbed") in [event.event for commit in story.final for event in commit]


def test_the_hidden_words_were_there() -> None:
    """What is hidden is told, and what is left without it does not tell of it."""
    story = lives_with_secrets(VIEWER)
    assert list(HIDDEN_WORDS) == [word for word in HIDDEN_WORDS if word in repr(story.final)]
    bare = without(story, story.hidden_ids)
    assert [] == [word for word in (*HIDDEN_WORDS, *story.hidden_ids) if word in repr(bare)]
    positions = [event.position for commit in bare for event in commit]
    assert list(range(1, len(positions) + 1)) == positions
    assert 3 == sum(isinstance(event.event, MemoryCreated) for commit in bare for event in commit)
    assert list(HIDDEN_WORDS) == [word for word in HIDDEN_WORDS if word in repr(turned_private(VIEWER))]


def test_what_is_gone_was_there() -> None:
    """The words of deleted and withdrawn memories are told, and both sorts of going are."""
    story = with_what_is_gone()
    assert list(GONE_WORDS) == [word for word in GONE_WORDS if word in repr(story.told)]
    types = [event.type for commit in story.told for event in commit]
    assert ("MemoryDeleted" in types, types.count("MemoryReverted")) == (True, 3)


class Dated(Ledger):
    """Uses the date functions of SQL on what it is given, which is no look at a clock."""

    def enter(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        instant = recorded.recorded_at.isoformat()
        row = tx.execute(
            "SELECT date(?), strftime('%Y', ?), datetime(?, '+1 day'), julianday(?), unixepoch(?), time(?)",
            (instant,) * 6,
        ).fetchone()
        for number, word in enumerate(row):
            tx.execute("INSERT INTO ledger_words VALUES (?, ?, ?)", (recorded.id, number, str(word)))


def test_dates_of_events_may_be_reckoned_with() -> None:
    """Only the present is refused; the functions give what they always give."""
    assert {} == certify_projection(Dated).failed
    ground = Ground(Dated).setup()
    history = with_erasure().told[:1]
    ground.take_all(history)
    ((first, year),) = ground.tx.execute(
        "SELECT max(word) FILTER (WHERE n = 0), max(word) FILTER (WHERE n = 1) FROM ledger_words"
    )
    assert (history[0][0].recorded_at.date().isoformat(), str(history[0][0].recorded_at.year)) == (first, year)
    ground.close()
