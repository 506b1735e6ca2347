"""Filters: what each operator finds on each sort of attribute, and how wrong ones are refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from engram_core.errors import InvalidAttributesError
from engram_core.filters import Filters, contains, eq, ge, gt, id_of, le, lt, ne, one_of, unset
from engram_core.kinds import KINDS, Asset, Contact, Episode, Fact, Goal, Person, Preference, Project, Skill
from engram_core.values import PartialDate, Period, private
from engram_core.vocab import Polarity
from tests.reads.shelves import START, Desk, desk

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def d() -> Desk:
    """A space with something of most sorts in it; the title of each memory names it."""
    made = desk()
    remember = made.ann.remember
    remember(Preference(polarity="likes", target="oolong", strength=0.8, context="drinks"), title="oolong")
    remember(Preference(polarity="dislikes", target="coffee", strength=0.2), title="coffee")
    remember(Preference(polarity="wants", target="tea pot"), title="pot")
    remember(Contact(channel="email", value="a@x.no", preferred=True), title="mail")
    remember(Contact(channel="phone", value="+47 1", preferred=False), title="phone")
    remember(Contact(channel="handle", value="@a"), title="handle")
    remember(Project(name="Alpha", status="active", target_date=PartialDate("2027")), title="alpha")
    remember(Project(name="Beta", status="idea", target_date=date(2026, 6, 15)), title="beta")
    remember(Project(name="Gamma", status="done", target_date=PartialDate("2026-06")), title="gamma")
    remember(Goal(statement="run", status="active", horizon="short"), title="run")
    remember(Goal(statement="rest", status="dropped"), title="rest")
    remember(Skill(name="Go", last_used_at=datetime(2025, 5, 1, 12, tzinfo=UTC)), title="go")
    remember(Skill(name="C++", last_used_at=datetime(2025, 7, 1, tzinfo=UTC)), title="c++")
    remember(Person(full_name="Alice Ng", aliases=("Ali", "A. Ng")), title="alice")
    remember(Person(full_name="Ali Baba"), title="ali")
    remember(Asset(asset_type="file", name="50%_off.txt"), title="file")
    return made


def found(d: Desk, **filters: Any) -> set[str]:
    return {str(m.title) for m in d.ann.find(limit=1000, **filters)}


@pytest.mark.parametrize(
    ("kind", "where", "expected"),
    [
        ("preference", {"strength": 0.8}, {"oolong"}),
        ("preference", {"strength": eq(0.8)}, {"oolong"}),
        ("preference", {"strength": ne(0.8)}, {"coffee", "pot"}),
        ("preference", {"strength": ge(0.2)}, {"oolong", "coffee"}),
        ("preference", {"strength": gt(0.2)}, {"oolong"}),
        ("preference", {"strength": le(0.2)}, {"coffee"}),
        ("preference", {"strength": lt(1)}, {"oolong", "coffee"}),
        ("preference", {"strength": unset()}, {"pot"}),
        ("preference", {"strength": unset}, {"pot"}),
        ("preference", {"strength": None}, {"pot"}),
        ("preference", {"strength": ne(None)}, {"oolong", "coffee"}),
        ("preference", {"strength": one_of(0.2, 0.8)}, {"oolong", "coffee"}),
        ("preference", {"strength": one_of()}, set()),
        ("preference", {"polarity": "likes"}, {"oolong"}),
        ("preference", {"polarity": Polarity.LIKES}, {"oolong"}),
        ("preference", {"polarity": one_of(["likes", "wants"])}, {"oolong", "pot"}),
        ("preference", {"polarity": ne("likes")}, {"coffee", "pot"}),
        ("preference", {"target": contains("o")}, {"oolong", "coffee", "pot"}),
        ("preference", {"target": contains("O")}, set()),
        ("preference", {"target": gt("d")}, {"oolong", "pot"}),
        ("preference", {"context": "drinks", "strength": ge(0.5)}, {"oolong"}),
        ("contact", {"preferred": True}, {"mail"}),
        ("contact", {"preferred": False}, {"phone"}),
        ("contact", {"preferred": ne(True)}, {"phone", "handle"}),
        ("contact", {"preferred": unset()}, {"handle"}),
        ("contact", {"preferred": one_of(True, False)}, {"mail", "phone"}),
        ("project", {"target_date": "2027"}, {"alpha"}),
        ("project", {"target_date": PartialDate("2026-06")}, {"gamma"}),
        ("project", {"target_date": date(2026, 6, 15)}, {"beta"}),
        ("project", {"target_date": lt("2027")}, {"beta", "gamma"}),
        ("project", {"target_date": ge("2026-06-01")}, {"alpha", "beta", "gamma"}),
        ("project", {"target_date": gt("2026-06-01")}, {"alpha", "beta"}),
        ("project", {"target_date": le(date(2026, 6, 15))}, {"beta", "gamma"}),
        ("skill", {"last_used_at": lt(datetime(2025, 6, 1, tzinfo=UTC))}, {"go"}),
        ("skill", {"last_used_at": eq("2025-05-01T14:00:00+02:00")}, {"go"}),
        ("skill", {"name": "C++"}, {"c++"}),
        ("person", {"aliases": contains("Ali")}, {"alice"}),
        ("person", {"aliases": contains("Al")}, set()),
        ("person", {"aliases": unset()}, {"ali"}),
        ("person", {"aliases": ("Ali", "A. Ng")}, {"alice"}),
        ("asset", {"name": contains("%_")}, {"file"}),
        ("asset", {"name": contains("%o")}, set()),
        (None, {"status": "active"}, {"alpha", "run"}),
        (None, {"status": "idea"}, {"beta"}),
        (["project", "goal"], {"status": ne("active")}, {"beta", "gamma", "rest"}),
        (Goal, {"horizon": "short"}, {"run"}),
        (None, {"name": contains("a")}, {"alpha", "beta", "gamma"}),
        ("fact", {"statement": "\ud800"}, set()),
        ("skill", {"name": "nul\0"}, set()),
    ],
)
def test_where(d: Desk, kind: Any, where: dict[str, Any], expected: set[str]) -> None:
    """Each operator finds exactly what it should, and count agrees with find."""
    assert found(d, kind=kind, where=where) == expected
    assert d.ann.count(kind=kind, where=where) == len(expected)


@pytest.mark.parametrize(
    ("kind", "where", "words"),
    [
        ("preference", {"strength": True}, "number"),
        ("preference", {"strength": "0.5"}, "number"),
        ("preference", {"strength": float("nan")}, "finite"),
        ("preference", {"strength": 10**400}, "large"),
        ("preference", {"polarity": "loves"}, "likes, dislikes"),
        ("preference", {"polarity": gt("likes")}, "order"),
        ("contact", {"preferred": 1}, "True or False"),
        ("contact", {"preferred": contains("x")}, "contains is for"),
        ("project", {"target_date": "next year"}, "date"),
        ("skill", {"last_used_at": datetime(2025, 1, 1)}, "naive"),
        ("person", {"aliases": "Ali"}, "contains"),
        ("person", {"full_name": contains(3)}, "text"),  # type: ignore[arg-type]
        ("person", {"status": "active"}, "full_name, aliases"),
        (None, {"colour": "red"}, "is not a field"),
        (None, {3: "red"}, "no name"),
        (None, "status", "mapping"),
        ("preference", {"strength": ge}, "give ge a value"),
    ],
)
def test_wrong_where_is_refused(d: Desk, kind: Any, where: Any, words: str) -> None:
    """The error names the field, and says what would be right."""
    with pytest.raises(InvalidAttributesError, match=words) as caught:
        d.ann.find(kind=kind, where=where)
    assert all(problem.field.startswith("where") for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"colour": "red"}, "is no filter"),
        ({"kind": "colour"}, "is none of"),
        ({"kind": 3}, "kind"),
        ({"status": "happy"}, "is none of"),
        ({"min_confidence": 2}, r"\[0, 1\]"),
        ({"min_confidence": True}, "number"),
        ({"tags": 3}, "tag"),
        ({"tags": [3]}, "no tag"),
        ({"created": START}, "pair"),
        ({"created": (START, START - DAY)}, "before it starts"),
        ({"occurred": (datetime(2025, 1, 1), None)}, "naive"),
        ({"linked": "about"}, "pair"),
        ({"linked": ("abuot", "x")}, "about, involves"),
        ({"about": 3}, "id"),
    ],
)
def test_wrong_filters_are_refused_by_name(d: Desk, filters: dict[str, Any], words: str) -> None:
    """Every filter that is wrong is named in one error."""
    with pytest.raises(InvalidAttributesError, match=words) as caught:
        d.ann.find(**filters)
    assert {problem.field for problem in caught.value.problems} == set(filters)
    with pytest.raises(InvalidAttributesError) as both:
        d.ann.count(any_tags=3, **filters)
    assert {problem.field for problem in both.value.problems} == {"any_tags", *filters}


def test_tags_are_compared_in_their_normal_form() -> None:
    """All of `tags`, one of `any_tags`, whatever their case and blanks around."""
    d = desk()
    d.ann.remember(Fact("1"), title="1", tags=["Two Words", "a"])
    d.ann.remember(Fact("2"), title="2", tags=["a"])
    assert found(d, tags=" two words ") == {"1"}
    assert found(d, tags=["A", "TWO WORDS"]) == {"1"}
    assert found(d, any_tags=["two words", "a"]) == {"1", "2"}
    assert found(d, any_tags=[]) == set()
    assert found(d, tags=[]) == {"1", "2"}
    assert found(d, tags=["\ud800"]) == set()


def test_time_filters_are_half_open() -> None:
    """The end is excluded; open sides and periods work; an episode is found wherever a part of it lies."""
    d = desk()
    d.ann.remember(Fact("1"), title="1", occurred_at=START - 2 * DAY)
    d.ann.remember(Episode(start_at=START - 9 * DAY, end_at=START - 5 * DAY), title="2", occurred_at=START - DAY)
    assert found(d, created=(START - 2 * DAY, START - DAY)) == {"1"}
    assert found(d, created=(START - 2 * DAY, None)) == {"1", "2"}
    assert found(d, created=(None, START - 2 * DAY)) == set()
    assert found(d, occurred=Period(START - 6 * DAY, START)) == {"2"}
    assert found(d, occurred=(START - 20 * DAY, START - 9 * DAY)) == set()
    assert found(d, occurred=(START - 20 * DAY, START - 8 * DAY)) == {"2"}


def test_links_are_filtered_by_relation_and_inverse() -> None:
    """`linked` reads like a sentence: what stands in that relation to the memory."""
    d = desk()
    alice = d.ann.remember(Person(full_name="Alice"), title="alice")
    mail = d.ann.remember(Contact(channel="email", value="a@x"), title="mail", links=[("owned_by", alice)])
    fact = d.ann.remember(Fact("sings"), title="fact", links=[("about", alice), ("relates_to", mail)])
    secret = d.ann.remember(Fact("hums"), title="secret", links=[("about", alice)], visibility=private())
    assert found(d, linked=("owned_by", alice)) == {"mail"}
    assert found(d, linked=("owns", mail)) == {"alice"}
    assert found(d, linked=("relates_to", mail)) == {"fact"}
    assert found(d, linked=("relates_to", fact)) == {"mail"}
    assert found(d, about=alice) == {"fact", "secret"}
    assert [m.title for m in d.bot.find(about=alice)] == ["fact"]
    assert d.bot.count(linked=("subject_of", secret)) == d.bot.count(linked=("subject_of", "nobody")) == 0
    assert found(d, about="no such id") == set()


def test_status_and_confidence() -> None:
    """Active and stale by default; None stands for all that is shown; deleted ones never are."""
    d = desk()
    d.ann.remember(Fact("1"), title="1", confidence=0.5)
    two = d.ann.remember(Fact("2"), title="2")
    three = d.ann.remember(Fact("3"), title="3")
    d.ann.archive(two)
    d.ann.delete(three)
    assert found(d) == {"1"}
    assert found(d, status="archived") == {"2"}
    assert found(d, status=None) == {"1", "2"}
    assert found(d, status=["deleted", "erased", "withdrawn"]) == set()
    assert found(d, min_confidence=0.5) == {"1"}
    assert found(d, min_confidence=0.6, status=None) == {"2"}


def test_filters_are_values() -> None:
    """What a call means can be compared and printed."""
    one = Filters.of({"kind": "fact", "tags": "A", "where": {"statement": "x"}}, KINDS)
    assert one == Filters.of({"where": {"statement": eq("x")}, "kind": [Fact], "tags": ["a"]}, KINDS)
    assert repr(one_of("a", "b")) == "one_of('a', 'b')"
    with pytest.raises(InvalidAttributesError):
        id_of(object())
