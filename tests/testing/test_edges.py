"""What the kit says when it is used in a wrong way, and what rarely happens."""

from __future__ import annotations

import logging
import unittest
from datetime import date

import pytest

from engram_core import Fact, PartialDate, user
from engram_core.ports import EventStore
from engram_core.stores import InMemoryStore
from engram_core.testing import EventStoreContract, History, Scenario, appending, certify, memory_created
from engram_core.testing.contracts.base import Obligations
from engram_core.testing.differences import lines
from engram_core.testing.vectors import told
from engram_core.testing.watching import watching
from engram_core.vocab import ActorKind


class Case(Obligations, unittest.TestCase):
    """The contract's base, outside a run."""

    def make_store(self) -> EventStore:
        return InMemoryStore()


def test_a_subclass_must_say_what_is_tested() -> None:
    """Without make_store, the contract says what to define."""
    with pytest.raises(NotImplementedError, match="make_store"):
        EventStoreContract().make_store()


def test_an_error_in_a_thread_is_the_tests() -> None:
    """What a thread raises is not lost, and is raised once all have ended."""
    done: list[int] = []

    def fails() -> None:
        raise KeyError("in a thread")

    case = Case()
    with pytest.raises(KeyError, match="in a thread"):
        case.in_threads([fails, lambda: done.append(1)], patience=10)
    case.doCleanups()
    assert [1] == done


def test_flags_skip_what_a_store_could_do() -> None:
    """`transactions = False` and `erasure = False` leave those obligations out, by name."""

    class Plain(EventStoreContract, unittest.TestCase):
        transactions = False
        erasure = False

        def make_store(self) -> EventStore:
            return InMemoryStore()

    suite = unittest.TestSuite(map(Plain, ["test_transaction_commits", "test_scrub", "test_erasure_rolls_back"]))
    result = unittest.TestResult()
    suite.run(result)
    assert ([], []) == (result.failures, result.errors)
    assert 3 == len(result.skipped)


def test_some_tests_may_be_chosen() -> None:
    """By name, in both directions of the answer."""
    report = certify(InMemoryStore, only=["test_any", "test_exists"])
    assert (("test_any", "test_exists"), {}, {}) == (report.passed, report.failed, report.skipped)
    assert report.ok
    with pytest.raises(ValueError, match="test_of_nothing"):
        certify(InMemoryStore, only=["test_of_nothing"])


def test_answers_have_a_form_in_json() -> None:
    """Sets are sorted, words are plain, dates are texts; what has no form is refused by name."""
    assert ["a", "b"] == told(frozenset({"b", "a"}))
    assert ["user", 1, None, "2026-01", "2026-01-02"] == told(
        (ActorKind.USER, 1, None, PartialDate("2026-01"), date(2026, 1, 2))
    )
    with pytest.raises(TypeError, match="object has no form"):
        told(object())


def test_a_mapping_is_shown_by_its_keys() -> None:
    """A line for each; of anything else, one."""
    assert ["1 = 'x'", "b = 2"] == lines({1: "x", "b": 2})
    assert ["7"] == lines(7)


def test_a_difference_between_views_is_shown_by_keys() -> None:
    """What a view gives as a mapping is compared key by key."""
    scenario = Scenario().given(memory_created(Fact("The sky is blue."), tags=("x",)))
    with pytest.raises(AssertionError) as caught:
        scenario.then_view(lambda session: session.tags(), {"y": 1}, by=user("bob"))
    assert ["- y = 1", "+ x = 1"] == str(caught.value).splitlines()[1:]


def test_watching_names_who_looks() -> None:
    """And ends with the block."""
    with watching() as seen:
        assert date.today().year > 2000
    assert [f"{__name__} calls date.today"] == seen
    date.today()
    assert 1 == len(seen)


def test_a_message_is_no_look_at_the_clock() -> None:
    """What is logged is dated by the logging, and decides nothing."""
    with watching() as seen:
        logging.getLogger("engram_core.nobody").warning("it happened")
    assert [] == seen


def test_a_call_tells_itself() -> None:
    """Who asked for what, and how it ended; a history in memory may be closed, too."""
    history = History()
    watched = history.watch(InMemoryStore(), "ann")
    watched.append([appending("a", "1")])
    assert watched.head() == 1
    history.close()
    (_, head) = history.calls
    assert "ann head(None) -> ok 1" == repr(head)
