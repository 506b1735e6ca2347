"""Errors: one root, four groups by who must act, codes that stay, and a way through pickle."""

from __future__ import annotations

import copy
import pickle

import pytest

import engram_core.errors as errors
from engram_core.errors import (
    ConcurrencyError,
    EngramError,
    InvalidAttributesError,
    NotFoundError,
    Problem,
    RejectedError,
    StoreError,
)

CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, EngramError)]
EXAMPLES = [
    *(cls("it failed", hint="look", code="special", thing=1) for cls in CLASSES
      if cls not in {ConcurrencyError, InvalidAttributesError}),
    ConcurrencyError("m-1", 3, 4),
    InvalidAttributesError("fact", [("statement", "must not be blank"), Problem("x", "y")], hint="look"),
]  # fmt: skip


def test_codes_are_unique() -> None:
    """A program can tell the cases apart by code alone."""
    assert len(CLASSES) == len({cls.code for cls in CLASSES})


@pytest.mark.parametrize(
    ("cls", "bases"),
    [
        ("InvalidAttributesError", {RejectedError, ValueError}),
        ("IllegalTransitionError", {RejectedError}),
        ("ForbiddenError", {RejectedError}),
        ("ConflictError", {RejectedError}),
        ("NotFoundError", {LookupError}),
        ("StoreBusy", {StoreError}),
        ("StoreFull", {StoreError}),
        ("StoreCorrupt", {StoreError}),
        ("StoreReadOnly", {StoreError}),
    ],
)
def test_errors_are_caught_by_who_must_act(cls: str, bases: set[type]) -> None:
    """The groups of the door's contract."""
    assert all(issubclass(getattr(errors, cls), base) for base in bases | {EngramError})
    assert not issubclass(NotFoundError, RejectedError)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_errors_survive_pickle_and_copy(error: EngramError) -> None:
    """A worker process can report one whole."""
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(error) is type(again)
        assert str(error) == str(again)
        assert vars(error) == vars(again)


def test_the_hint_stands_in_the_text() -> None:
    """What to do is read where the error is read."""
    assert "it failed (look)" == str(StoreError("it failed", hint="look"))
    assert ("it failed", "look", {"thing": 1}) == (EXAMPLES[0].message, EXAMPLES[0].hint, EXAMPLES[0].fields)


@pytest.mark.parametrize(("longest", "told"), [(4_000, EngramError), (400, Problem)], ids=["message", "problem"])
def test_what_is_quoted_is_cut_in_its_middle(longest: int, told: type) -> None:
    """A third of its beginning and two of its end stay; at the limit nothing is cut."""

    def shown(text: str) -> str:
        return str(told(text)) if told is EngramError else told("x", text).problem

    fits = "a" + "b" * (longest - 2) + "c"
    assert fits == shown(fits)
    head, end = fits[: longest // 3], fits[longest // 3 - longest :]
    assert f"{head} … {end[1:]}d" == shown(fits + "d")


def test_what_cannot_be_printed_is_escaped() -> None:
    """Line breaks stay as they are."""
    assert "a\\x07b\n\\ud800é" == str(EngramError("a\x07b\n\ud800é"))


def test_an_error_may_carry_a_code_of_its_own() -> None:
    """A case within a class is named without a class of its own."""
    assert ("special", "store") == (StoreError("x", code="special").code, StoreError("x").code)


def test_all_problems_are_in_the_text() -> None:
    """Field by field, in the order given."""
    assert "fact: a: is blank; b: is 1" == str(
        InvalidAttributesError("fact", [("a", "is blank"), Problem("b", "is 1")])
    )


def test_only_what_may_succeed_later_says_so() -> None:
    """Trying again helps against another writer, and against nothing else."""
    assert {"ConcurrencyError", "StoreBusy"} == {cls.__name__ for cls in CLASSES if cls.retry}


def test_problems_are_values() -> None:
    """Equal by what they say."""
    assert {Problem("a", "b")} == {Problem("a", "b")}
    assert Problem("a", "b") != ("a", "b")
    assert "Problem('a', 'b')" == repr(Problem("a", "b"))


def test_every_public_name_is_listed() -> None:
    """`__all__` is sorted and whole."""
    assert sorted([*(cls.__name__ for cls in CLASSES), "Problem"]) == errors.__all__


def test_a_subject_that_is_the_field_is_named_once() -> None:
    """What is wrong with a kind is told as "kind: …"; with a field of a kind, or with several, both are named."""
    assert "kind: is none" == str(InvalidAttributesError("kind", [("kind", "is none")]))
    assert "fact: statement: is blank" == str(InvalidAttributesError("fact", [("statement", "is blank")]))
    both = [("links", "is long"), ("title", "is blank")]
    assert "links: links: is long; title: is blank" == str(InvalidAttributesError("links", both))
