"""The rules of ranking, one by one: what is searched, what decides between equal matches, and what is left out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from engram_core import Asset, Fact, Goal, Person, Policy, Preference, Project, private, until
from engram_core.results import Hits
from tests.reads.shelves import Desk, desk, named


@pytest.fixture
def d() -> Desk:
    return desk()


def ids(hits: Hits) -> list[str]:
    return [hit.id for hit in hits]


def fact(d: Desk, text: str = "a walk to the lighthouse", **options: Any) -> str:
    made = d.ann.remember(Fact(statement=text), on_duplicate="create", similar=False, **options)
    return str(made.memory_id)


@pytest.mark.parametrize(
    ("attributes", "options"),
    [
        (Fact(statement="a zeppelin"), {}),
        (Fact(statement="x"), {"title": "The zeppelin"}),
        (Fact(statement="x"), {"content": "On Sunday the Zeppelin came."}),
        (Fact(statement="x"), {"tags": ["zeppelin rides"]}),
        (Person(full_name="Zita Zeppelin"), {}),
        (Person(full_name="Zita", aliases=("The Zeppelin",)), {}),
        (Person(full_name="Zita", notes="likes zeppelins"), {}),
        (Preference(polarity="likes", target="zeppelins"), {}),
        (Preference(polarity="likes", context="at zeppelin fairs"), {}),
        (Project(name="x", status="active", summary="build a zeppelin"), {}),
        (Goal(statement="fly a zeppelin", status="active"), {}),
        (Asset(asset_type="device", identifier="ZEPPELIN-7"), {}),
    ],
)
def test_every_text_of_a_memory_is_searched(d: Desk, attributes: Any, options: dict[str, Any]) -> None:
    """Title, content, tags, and the texts of the attributes of its kind, aliases among them."""
    fact(d)
    wanted = d.ann.remember(attributes, **options)
    assert [wanted.memory_id] == ids(d.ann.recall("where is the Zeppelin?"))


def test_of_equal_matches_the_fresher_comes_first(d: Desk) -> None:
    """Age counts from the creation or the last confirmation, whichever is later."""
    old = fact(d)
    d.clock.move(days=60)
    new = fact(d)
    assert [new, old] == ids(d.ann.recall("lighthouse"))
    d.clock.move(days=60)
    d.ann.confirm(old)
    hits = d.ann.recall("lighthouse")
    assert [old, new] == ids(hits)
    assert hits[0].explanation["freshness"] > hits[1].explanation["freshness"]


def test_of_equal_matches_the_more_important_comes_first(d: Desk) -> None:
    """By pin, by weight, by evidence."""
    plain, weighed, pinned = fact(d), fact(d, user_weight=0.9), fact(d, pinned=True)
    assert [pinned, weighed, plain] == ids(d.ann.recall("lighthouse"))
    d.ann.unpin(pinned)
    d.ann.weigh(weighed, 0.0)
    assert weighed == ids(d.ann.recall("lighthouse"))[-1]


def test_of_equal_matches_the_surer_comes_first(d: Desk) -> None:
    """By confidence as it has faded."""
    doubted, sure = fact(d, confidence=0.5), fact(d, confidence=0.9)
    assert [sure, doubted] == ids(d.ann.recall("lighthouse"))
    by = {hit.id: hit.explanation["confidence"] for hit in d.ann.at(d.clock.now() + timedelta(days=365)).recall("walk")}
    now = {hit.id: hit.explanation["confidence"] for hit in d.ann.recall("walk")}
    assert by[sure] == pytest.approx(now[sure] / 2)


def test_what_is_stale_loses(d: Desk) -> None:
    """A negative term, from the instant on at which it is stale."""
    weak, sure = fact(d, confidence=0.36), fact(d, confidence=0.9)
    later = d.ann.at(d.clock.now() + timedelta(days=100))
    parts = {hit.id: hit.explanation for hit in later.recall("lighthouse")}
    assert -Policy().recall.stale == parts[weak]["stale"]
    assert "stale" not in parts[sure]
    assert "stale" in later.get(weak).flags
    assert all("stale" not in hit.explanation for hit in d.ann.recall("lighthouse"))


def test_what_stands_beside_the_match_decides_between_equals_only(d: Desk) -> None:
    """The best of it weighs less than one more word of the question."""
    favoured = fact(d, "a walk in the rain", pinned=True, user_weight=1.0, confidence=1.0)
    for number in range(5):
        fact(d, f"something else {number}")
    better = fact(d, "a walk in the rain to the lighthouse", confidence=0.1)
    assert [better, favoured] == ids(d.ann.recall("walk to the lighthouse"))[:2]


def test_ties_end_in_the_id(d: Desk) -> None:
    """Equal in everything, memories stand in the order of their ids, not in that of their beginning."""
    numbers = [7, 3, 9, 1, 5]
    for number in numbers:
        fact(d, id=named(number))
    hits = d.ann.recall("lighthouse")
    assert [named(number) for number in sorted(numbers)] == ids(hits)
    assert 1 == len({hit.score for hit in hits})
    assert ids(hits)[:2] == ids(d.ann.recall("lighthouse", limit=2))


def test_only_what_is_active_or_stale_is_recalled_unless_asked_for(d: Desk) -> None:
    """Archived, superseded and expired memories are left out at once, deleted ones for good."""
    kept, archived, deleted, replaced = fact(d), fact(d), fact(d), fact(d)
    ending = fact(d, lifetime=until(d.clock.now() + timedelta(days=2)))
    d.ann.archive(archived)
    d.ann.delete(deleted)
    d.ann.supersede(replaced, Fact(statement="another matter"))
    assert {kept, ending} == set(ids(d.ann.recall("lighthouse")))
    d.clock.move(days=2)
    assert [kept] == ids(d.ann.recall("lighthouse"))
    found = {hit.id: hit.memory.status.value for hit in d.ann.recall("lighthouse", status=None)}
    assert {kept: "active", archived: "archived", replaced: "superseded", ending: "expired"} == found
    assert [replaced] == ids(d.ann.recall("lighthouse", status="superseded"))


def test_a_filter_applies_before_the_limit(d: Desk) -> None:
    """However many better matches it leaves out."""
    last = d.ann.remember(Goal(statement="see the lighthouse some day, or another one", status="active")).memory_id
    for _ in range(60):
        fact(d, "lighthouse lighthouse")
    assert [last] == ids(d.ann.recall("lighthouse", kind="goal", limit=1))
    assert [last] == ids(d.ann.search("kind:goal lighthouse", limit=1))


def test_both_sides_of_a_dispute_are_told(d: Desk) -> None:
    """A disputed hit names the other side, as far as the viewer may see it; the block for a prompt does so, too."""
    one, other = fact(d), fact(d, "no walk to any tower")
    hidden = fact(d, "never anywhere", visibility=private())
    d.ann.contradict(one, by=other)
    hit = d.bot.recall("lighthouse")[0]
    assert (one, [other]) == (hit.id, [memory.id for memory in hit.disputed_by])
    assert "disputed" in hit.memory.flags
    text = d.bot.recall("lighthouse").as_text()
    assert one in text
    assert other in text
    d.ann.contradict(one, by=hidden)
    assert [other] == [memory.id for memory in d.bot.recall("lighthouse")[0].disputed_by]
    assert {other, hidden} == {memory.id for memory in d.ann.recall("lighthouse")[0].disputed_by}


def test_past_views_show_deleted_memories_to_users_alone(d: Desk) -> None:
    """And erased ones to nobody."""
    kept, deleted, erased = fact(d), fact(d), fact(d)
    then = d.clock.now()
    d.clock.move(days=1)
    d.ann.delete(deleted)
    d.ann.erase(erased)
    assert {kept, deleted} == set(ids(d.ann.as_of(known_at=then).recall("lighthouse")))
    assert [kept] == ids(d.bot.as_of(known_at=then).recall("lighthouse"))
    assert [kept] == ids(d.ann.recall("lighthouse", status=None))


def test_valid_time_leaves_out_what_was_not_true_then(d: Desk) -> None:
    """A supersession counts from the instant on at which it took effect."""
    old = fact(d, "she lives near the lighthouse")
    moved = d.clock.now() + timedelta(days=10)
    d.clock.move(days=20)
    new = d.ann.supersede(old, Fact(statement="she lives near the harbour lighthouse"), effective_at=moved).memory_id
    assert [new] == ids(d.ann.recall("lighthouse"))
    assert [old] == ids(d.ann.as_of(valid_at=moved - timedelta(days=1)).recall("lighthouse"))
    assert [new] == ids(d.ann.as_of(valid_at=moved).recall("lighthouse"))
