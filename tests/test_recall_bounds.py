"""What recall does where words are common: filters come first, and what was not looked at is said."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engram_core import Draft, Fact, Goal, MemorySpace, Policy, user
from engram_core.policy import RecallPolicy

FEW = Policy(recall=RecallPolicy(postings=40))


@pytest.fixture
def space() -> Iterator[MemorySpace]:
    """Two words that are commoner than the postings that are read, and three goals that hold the commoner one."""
    with MemorySpace.in_memory(policy=FEW) as made:
        ann = made.session(user("ann"))
        for name in ("first", "second"):
            ann.remember(Goal(f"alpha {name} thing", "active"))
        ann.remember_many(Draft(Fact(f"alpha beta filler {n}")) for n in range(60))
        ann.remember(Goal("alpha beta third", "active"))
        yield made


def test_filters_come_before_the_limit(space: MemorySpace) -> None:
    """What holds the commoner word alone is found where the rarer one finds too little that passes."""
    ann = space.session(user("ann"))
    hits = ann.recall("alpha beta", kind="goal")
    assert ["alpha beta third", "alpha first thing", "alpha second thing"] == sorted(
        (hit.memory.display_title for hit in hits), key=lambda title: ("beta" not in title, title)
    )
    assert "alpha beta third" == hits[0].memory.display_title
    assert "" == hits.notice


def test_what_was_not_looked_at_is_said(space: MemorySpace) -> None:
    """A word that only adds to what a rarer one found is named in the notice."""
    ann = space.session(user("ann"))
    assert "'alpha'" in ann.recall("alpha beta").notice
    assert "" == ann.recall("filler 7").notice
    assert "" == ann.recall("second").notice


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("art deco", False),
        ("smart deco", True),
        ("SMART  Deco", True),
        ("deco sty", False),
        ("deco style", True),
        ("c++", True),
        ("喝茶", True),
        ("caf\u00e9", True),
        ("cafe\u0301", True),
        ("(see", True),
        ("თბილის", False),
        ("თბილისი", True),
    ],
)
def test_a_phrase_holds_whole_words(phrase: str, found: bool) -> None:
    """In this order, whatever their case; where a script has no blanks, the signs."""
    with MemorySpace.in_memory() as space:
        ann = space.session(user("ann"))
        ann.remember(Fact("smart deco style (see C++), 他喝茶了, თბილისი, Caf\u00e9"))
        assert found == bool(ann.search(f'"{phrase}"'))


def test_a_condition_may_begin_with_a_capital() -> None:
    """A name of ours is a condition in whatever case; any other word with a capital is a word."""
    with MemorySpace.in_memory() as space:
        ann = space.session(user("ann"))
        ann.remember(Fact("Re:port of the ferry"))
        assert 1 == len(ann.search("Kind:fact"))
        assert 0 == len(ann.search("KIND:person"))
        assert 1 == len(ann.search("Re:port"))
