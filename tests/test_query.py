"""The query language: what each condition finds, and how a wrong one is told."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_core.errors import InvalidAttributesError
from engram_core.kinds import KINDS, Contact, Episode, Fact, Person, Preference, Project
from engram_core.query import parsed
from engram_core.values import private
from tests.reads.shelves import START, Desk, desk, named


@pytest.fixture(scope="module")
def d() -> Desk:
    made = desk()
    ann = made.ann
    ann.remember(Person(full_name="Alice Ng", aliases=("Ali",)), id=named(1), tags=["old friends"])
    ann.remember(Project(name="Alpha", status="active"), id=named(2), tags=["work", "big"])
    ann.remember(Project(name="Beta", status="done"), id=named(3), tags=["work"], confidence=0.4)
    ann.remember(
        Preference(polarity="likes", target="oolong tea", strength=0.8), id=named(4), links=[("about", named(1))]
    )
    ann.remember(Contact(channel="email", value="a@x", preferred=True), id=named(5), links=[("owned_by", named(1))])
    ann.remember(Fact("tea oolong is not"), id=named(6), pinned=True, occurred_at=START - timedelta(days=40))
    ann.remember(Fact("rests"), id=named(7), links=[("derived_from", named(6))])
    ann.remember(Episode(occurred_at=START - timedelta(days=31)), id=named(8), title="Dinner")
    ann.remember(Fact("it is secret tea"), id=named(9), links=[("about", named(1))], visibility=private())
    ann.contradict(named(6), by=named(4))
    ann.archive(named(3))
    return made


def found(d: Desk, text: str) -> set[int]:
    return {int(hit.id[-12:], 16) for hit in d.bot.search(text, limit=1000)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind:person", {1}),
        ("kind:person,contact", {1, 5}),
        ("kind:person kind:contact", {1, 5}),
        ('tag:"old friends"', {1}),
        ("tag:work tag:big", {2}),
        ("tag:work is:any", {2, 3}),
        ("is:archived", {3}),
        ("is:pinned", {6}),
        ("is:disputed", {4, 6}),
        ("is:undermined", {7}),
        ("status=active", {2}),
        ("status=active kind:person", {1}),
        ('kind:preference status=active confidence>0.5 "oolong tea" tea', {4}),
        (f'kind:person tag:"old friends" is:active confidence>0.5 created:2026 linked:{named(4)} status=active', {1}),
        ("status!=active kind:project is:any", {3}),
        ("strength>0.5", {4}),
        ("strength<=0.5", set()),
        ("preferred=true", {5}),
        ("aliases=Ali", {1}),
        ("full_name~lice", {1}),
        ("strength=unset kind:preference", set()),
        ("confidence<0.5 is:any", {3, 6}),
        ("confidence=0.4 is:archived", {3}),
        (f"about:{named(1)}", {4}),
        (f"linked:{named(1)}", {4, 5}),
        (f"linked:owned_by:{named(1)}", {5}),
        (f"linked:{named(9)}", set()),
        ("created:2025-11", {6}),
        ("created<2026", {6}),
        ("created>=2026-01-01 kind:fact", {7}),
        ("created:2025..2026 kind:fact", {6, 7}),
        ("created:..2025", {6}),
        ("occurred:2025-12", {8}),
        ("oolong", {4, 6}),
        ('"oolong tea"', {4}),
        ('"OOLONG tea" kind:fact', set()),
        ('"old friends"', {1}),
        ("tea kind:preference", {4}),
        ("https://nowhere.example/q:z", set()),
        ("", {1, 2, 4, 5, 6, 7, 8}),
    ],
)
def test_conditions(d: Desk, text: str, expected: set[int]) -> None:
    """Each condition finds exactly what it should, for an assistant who sees no secrets."""
    assert found(d, text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("colour:red", "is no condition"),
        ("colour=red", "is not a field"),
        ("kind:persn", "is none of"),
        ("is:happy", "is none of"),
        ("confidence>high", "no number"),
        ("confidence:0.5", "takes"),
        ("confidence>nan", "finite"),
        ("created:someday", "created:someday"),
        ("created~2026", "takes"),
        ("linked:abuot:x", "is none of"),
        ("preferred=yes", "true or false"),
        ("strength>much", "no number"),
        ("kind:", "lacks a value"),
        ('say "hello', "never closed"),
        ("kind:person strength>0.5", "is not a field"),
    ],
)
def test_wrong_conditions_are_named(d: Desk, text: str, words: str) -> None:
    """The error says which condition is wrong and why, and how to ask for it as a word."""
    with pytest.raises(InvalidAttributesError, match=words) as caught:
        d.bot.search(text)
    assert "double quotes" in caught.value.hint or "field" in words


def test_every_wrong_condition_is_told_with_its_place(d: Desk) -> None:
    """All at once, each as it was written and with the character at which it begins."""
    with pytest.raises(InvalidAttributesError) as caught:
        d.bot.search('tea colour:red is:happy strength>much "oolong')
    told = {problem.field: problem.problem for problem in caught.value.problems}
    assert ["colour:red", "is:happy", '"', "strength>much"] == list(told)
    places = [int(problem.rsplit(" ", 1)[1].rstrip(")")) for problem in told.values()]
    assert [5, 16, 39, 25] == places


def test_words_rank_and_nothing_lists_the_newest_first(d: Desk) -> None:
    """With words hits have scores; without, they stand by their age."""
    assert all(hit.score > 0 for hit in d.ann.search("oolong"))
    listed = [hit.memory.created_at for hit in d.ann.search("")]
    assert listed == sorted(listed, reverse=True)
    assert len(d.ann.search("", limit=2)) == 2
    with pytest.raises(InvalidAttributesError):
        d.ann.search(3)  # type: ignore[arg-type]


pieces = st.sampled_from(
    (
        *("kind:", "person", "fact", "tag:", "is:", "stale", "any", "disputed", "confidence", "created", "occurred"),
        *(
            "linked:",
            "about:",
            "owns:",
            "status",
            "strength",
            "aliases",
            "=",
            "!=",
            "<",
            ">=",
            "~",
            ":",
            "..",
            ",",
            '"',
        ),
        *(" ", " ", " ", "0.5", "nan", "1e999", "2026-03", "2026-13", "yesterday", "unset", "tea", "(", ")", "*", "OR"),
        *("\x00", "\ud800", "%", "_", "'", "\\", ";--", "茶", "\u0301", named(1), named(9)),
    )
)


@given(st.one_of(st.text(max_size=60), st.lists(pieces, max_size=12).map("".join)))
def test_any_text_is_answered_or_refused(text: str) -> None:
    """There is no third way, for words and for whatever looks like a condition."""
    with suppress(InvalidAttributesError):
        parsed(text, KINDS, START)
        for hits in (_DESK.bot.search(text), _DESK.ann.search(text)):
            assert all(hit.score == sum(hit.explanation.values()) for hit in hits)
    _DESK.bot.recall(text)


_DESK = desk()
_DESK.ann.remember(Person(full_name="Alice Ng", aliases=("Ali",)), id=named(1), tags=["tea"])
_DESK.ann.remember(Preference(polarity="likes", target="oolong tea 茶", strength=0.5), links=[("about", named(1))])
