"""The review queue: one list, in one order, page by page, at a cost that does not grow with what is not shown."""

from __future__ import annotations

from typing import Any

import pytest

from engram_core.errors import InvalidAttributesError
from engram_core.kinds import Contact, Fact, Person
from engram_core.values import ephemeral, private
from engram_core.verbs import Draft
from engram_core.vocab import ReviewReason
from tests.governance.rooms import Room, room


def doubtful(r: Room, count: int) -> list[str]:
    """Memories that are hardly believed; every other one is disputed by a word, some were touched otherwise."""
    told = r.ann.remember_many([Draft(Fact(f"number {n}"), confidence=0.4) for n in range(count)])
    ids = [str(receipt.memory_id) for receipt in told.receipts]
    with r.ann.batch() as b:
        for n, id in enumerate(ids):
            if n % 2:
                b.contradict(id, note="really?")
            elif n % 3 == 0:
                b.tag(id, "touched")
    return ids[1::2]


def test_a_page_asks_of_no_more_than_it_shows() -> None:
    """Whoever is hardly believed and undisputed waits for nobody; the log is read for those that are shown."""
    r = room()
    disputed = doubtful(r, 200)
    log = r.space._engine.log
    read: list[str] = []
    stream = log.stream

    def counted(id: str, **options: Any) -> Any:
        read.append(id)
        return stream(id, **options)

    log.stream = counted  # type: ignore[method-assign]
    page = r.ann.reviews(reason="low_confidence", limit=10)
    assert 10 == len(page)
    assert len(read) <= 10 + 1 + len(disputed)  # in the worst order, all that were touched otherwise come first
    read.clear()
    fresh = room()
    fresh.ann.remember_many([Draft(Fact(f"number {n}"), confidence=0.4) for n in range(200)])
    fresh.space._engine.log.stream = counted  # type: ignore[method-assign]
    assert [] == list(fresh.ann.reviews())
    assert [] == read
    log.stream = stream  # type: ignore[method-assign]
    assert set(disputed) == {row.memory_id for row in r.ann.reviews(reason="low_confidence", limit=1_000)}


def mixed() -> Room:
    """A space in which there is something to review for every reason."""
    r = room()
    doubtful(r, 6)
    one, two = r.ann.remember(Fact("tea is best")), r.ann.remember(Fact("coffee is best"))
    r.ann.contradict(one, by=two)
    r.ann.remember(Fact("so drink tea"), links=[("derived_from", one)])
    r.ann.archive(two, because="wrong")
    r.ann.remember(Fact("and not coffee"), links=[("derived_from", two)])
    three, four = r.ann.remember(Fact("milk in it")), r.ann.remember(Fact("no milk in it"))
    r.ann.contradict(three, by=four)
    old = r.ann.remember(Fact("old"))
    r.ann.delete(r.ann.supersede(old, Fact("new")).memory_id)
    r.ann.remember(Fact("soon gone"), lifetime=ephemeral())
    r.ann.remember(Fact("long ago"), confidence=0.31)
    for name in ("Alice Ng", "Alicia Ng"):
        person = r.ann.remember(Person(name, aliases=("Ali",)))
        r.ann.remember(Contact("phone", f"+47 {name}"), links=[("owned_by", person)])
    gone = r.ann.remember(Fact("gone"))
    r.ann.remember(Fact("points to it"), links=[("about", gone)])
    r.ann.delete(gone)
    r.ann.remember(Contact("email", "nobody@example.org"))
    r.bot.remember(Fact("an idea"))
    r.ann.remember(Fact("private doubt"), confidence=0.2, visibility=private())
    r.clock.move(days=6)
    return r


def test_pages_of_any_size_are_the_whole_queue_in_order() -> None:
    """Nothing twice, nothing left out; reasons one after the other, and each reason alone is its part of the whole."""
    r = mixed()
    for session in (r.ann, r.bot):
        whole = list(session.reviews(limit=1_000))
        for limit in (1, 2, 7):
            rows, after = [], None
            while True:
                page = session.reviews(limit=limit, after=after)
                rows += page
                assert len(page) <= limit
                if (after := page.next) is None:
                    break
            assert whole == rows
        ranks = [list(ReviewReason).index(row.reason) for row in whole]
        assert ranks == sorted(ranks)
        assert whole == [row for reason in ReviewReason for row in session.reviews(reason=reason, limit=1_000)]
        order = [
            (rank, -session.get(row.memory_id).importance)
            for rank, row in zip(ranks, whole, strict=True)
            if row.memory_id
        ]
        assert order == sorted(order)
    found = {row.reason for row in r.ann.reviews(limit=1_000)}
    assert set(ReviewReason) == found


def test_rows_that_are_masked_alike_are_all_shown() -> None:
    """An assistant who may not learn what is gone sees each edge to it, however small his pages are."""
    r = room()
    gone = [r.ann.remember(Fact(f"gone {n}")) for n in range(3)]
    told = r.ann.remember(Fact("points to them"), links=[("about", one) for one in gone])
    for one in gone:
        r.ann.delete(one)
    rows, after = [], None
    while True:
        page = r.bot.reviews(reason="dangling_edge", limit=1, after=after)
        rows += page
        if (after := page.next) is None:
            break
    assert [(told.memory_id, None)] * 3 == [(row.memory_id, row.other_id) for row in rows]


def test_two_who_share_a_contact_are_suggested_until_told_apart() -> None:
    """With the contact in the row; a contact that the viewer may not see suggests nothing to him."""
    r = room()
    one, two, three = (r.ann.remember(Person(name)) for name in ("Marie Curie", "Pierre Curie", "Irène Curie"))
    for person in (one, two):
        r.ann.remember(Contact("phone", "+33  1 40"), links=[("owned_by", person)])
    r.ann.remember(Contact("phone", "+33 1 40"), links=[("owned_by", three)], visibility=private())
    asked = [(row.memory_id, row.other_id, row.evidence) for row in r.bot.reviews(reason="duplicate")]
    evidence = {"contacts": ("phone: +33 1 40",)}
    assert [(two.memory_id, one.memory_id, evidence)] == asked
    assert {two.memory_id, three.memory_id} == {row.memory_id for row in r.ann.reviews(reason="duplicate")}
    r.ann.mark_distinct(one, two)
    r.ann.mark_distinct(one, three)
    assert [] == list(r.ann.reviews(reason="duplicate"))


def test_cursors_are_of_one_listing() -> None:
    """That of another reason is refused."""
    r = room()
    doubtful(r, 8)
    after = r.ann.reviews(limit=1).next
    with pytest.raises(InvalidAttributesError):
        r.ann.reviews(reason="low_confidence", after=after)
