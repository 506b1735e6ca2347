"""Merging: two memories become one thing, wherever they are named, and can become two again."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core.approval import ApprovalPolicy
from engram_core.errors import ConflictError, EngramError, ForbiddenError, IllegalTransitionError, RejectedError
from engram_core.kinds import Contact, Episode, Fact, Location, Person, Relationship
from engram_core.values import EvidenceRef, assistant, private, restricted
from tests.governance.acts import ACTS, world
from tests.governance.rooms import Room, everything, room


@pytest.fixture
def r() -> Room:
    return room()


def names(r: Room, m: Any) -> tuple[str, ...]:
    person = r.ann.get(m, kind=Person).attributes
    return (person.full_name, *person.aliases)


def test_names_and_tags_unite_and_the_rest_stays(r: Room) -> None:
    """The survivor keeps id, confidence, dates, text; the source is archived and still to be read by its id."""
    one = r.ann.remember(Person("Alice Ng", aliases=("Ali",)), tags=("friend",), content="Mine.", confidence=0.8)
    r.clock.move(days=1)
    two = r.ann.remember(
        Person("A. Ng", aliases=("Ali", "Al")),
        tags=("friend", "cook"),
        evidence=EvidenceRef("quote", "q"),
        content="Theirs.",
    )
    before = r.ann.get(one)
    r.ann.merge(one, two)
    survivor, source = r.ann.get(one), r.ann.get(two)
    assert ("Alice Ng", "Ali", "A. Ng", "Al") == names(r, one)
    assert ("friend", "cook") == survivor.tags
    for field in ("id", "confidence", "created_at", "content", "title", "evidence", "last_confirmed_at", "source"):
        assert getattr(before, field) == getattr(survivor, field)
    assert ("archived", "A. Ng", ("Ali", "Al")) == (
        source.status,
        source.attributes.full_name,
        source.attributes.aliases,
    )
    assert () == r.ann.neighbours(one)
    assert one.memory_id in {hit.memory.id for hit in r.ann.recall("A. Ng")}


def test_merge_and_unmerge_are_an_identity(r: Room) -> None:
    """All that can be observed is as before, for users and others, at any later time."""
    one = r.ann.remember(Person("Alice Ng"), tags=("friend",))
    two = r.ann.remember(Person("A. Ng", aliases=("Al",)), tags=("cook",))
    r.ann.remember(Contact("phone", "1"), links=[("owned_by", two)])
    r.ann.remember(Relationship(subject_id=two.memory_id, predicate="knows", object_id=one.memory_id))
    before = everything(r.ann), everything(r.bot)
    r.ann.merge(one, two)
    assert before != (everything(r.ann), everything(r.bot))
    r.ann.unmerge(two)
    assert before == (everything(r.ann), everything(r.bot))
    r.ann.merge(one, two)
    r.clock.move(days=100)
    r.ann.tag(one, "later")
    r.ann.update(one, roles=("chief",))
    r.ann.unmerge(two)
    assert (("Alice Ng",), ("friend", "later"), ("chief",)) == (
        names(r, one),
        r.ann.get(one).tags,
        r.ann.get(one).attributes.roles,
    )
    assert ("A. Ng", "Al") == names(r, two)
    assert ("cook",) == r.ann.get(two).tags
    assert r.nightly.verify().ok


def test_edges_of_third_parties_lead_to_the_survivor(r: Room) -> None:
    """They resolve at query time, through chains; no event is written to a stream that the merge did not name."""
    a, b, c = (r.ann.remember(Person(name)) for name in ("Alice Ng", "Alice N.", "A. Ng"))
    phone = r.ann.remember(Contact("phone", "1"), links=[("owned_by", c)])
    party = r.ann.remember(Episode(occurred_at=r.clock.now()), links=[("involves", c)])
    r.ann.merge(b, c)
    merged = r.ann.merge(a, b)
    assert {str(a.memory_id), str(b.memory_id)} == {e.stream for e in r.space.events() if e.batch_id == merged.batch_id}
    for third in (phone, party):
        assert [a.memory_id] == [n.memory.id for n in r.ann.neighbours(third)]
        assert third.memory_id in [n.memory.id for n in r.ann.neighbours(a)]
        assert 1 == r.ann.count(linked=("owned_by" if third is phone else "involves", a))
    r.ann.unmerge(b)
    assert [b.memory_id] == [n.memory.id for n in r.ann.neighbours(phone)]
    assert () == r.ann.neighbours(a)
    r.ann.unmerge(c)
    assert [c.memory_id] == [n.memory.id for n in r.ann.neighbours(phone)]


def test_chains_give_names_to_the_end_and_take_them_back_from_any_link(r: Room) -> None:
    """A ← B ← C: A has the names of both. Whichever leaves takes along what came through it, and nothing else."""
    a, b, c, d = (r.ann.remember(Person(name), tags=(name[0],)) for name in ("Ann A", "Ben B", "Cem C", "Dan D"))
    r.ann.merge(c, d)
    r.ann.merge(b, c)
    r.ann.merge(a, b)
    assert ("Ann A", "Ben B", "Cem C", "Dan D") == names(r, a)
    assert ("a", "b", "c", "d") == r.ann.get(a).tags
    r.ann.unmerge(c)
    assert ("Ann A", "Ben B") == names(r, a)
    assert ("Ben B",) == names(r, b)
    assert ("Cem C", "Dan D") == names(r, c)
    assert ("active", "archived") == (r.ann.get(c).status, r.ann.get(d).status)
    r.ann.unmerge(b)
    assert (("Ann A",), ("Ben B",), ("a",)) == (names(r, a), names(r, b), r.ann.get(a).tags)
    r.ann.unmerge(d)
    assert ("Cem C",) == names(r, c)
    assert r.nightly.verify().ok


def test_an_unmerge_in_the_middle_is_undone(r: Room) -> None:
    """And redone, over all survivors up the chain."""
    a, b, c, d = (r.ann.remember(Person(name)) for name in ("Ann A", "Ben B", "Cem C", "Dan D"))
    for survivor, source in ((c, d), (b, c), (a, b)):
        r.ann.merge(survivor, source)
    before = everything(r.ann)
    parted = r.ann.unmerge(c)
    after = everything(r.ann)
    for _ in range(2):
        r.ann.undo(parted)
        assert before == everything(r.ann)
        r.ann.redo(parted)
        assert after == everything(r.ann)
    assert r.nightly.verify().ok


def test_circles_of_merges_are_refused(r: Room) -> None:
    """A merged source is archived, and takes part in no merge."""
    a, b, c = (r.ann.remember(Person(name)) for name in ("Ann A", "Ben B", "Cem C"))
    r.ann.merge(a, b)
    for survivor, source in ((b, a), (b, c), (c, b)):
        with pytest.raises(RejectedError):
            r.ann.merge(survivor, source)
    with pytest.raises(RejectedError):
        r.ann.merge(a, a)


@pytest.mark.parametrize("case", ["kinds", "no entity", "audience", "archived", "deleted"])
def test_what_cannot_be_one_thing_is_refused(r: Room, case: str) -> None:
    """Only two live entities of one kind, and only into an audience that includes the source's."""
    one = r.ann.remember(Person("Alice Ng"))
    two: Any = r.ann.remember(Person("A. Ng"))
    if case == "kinds":
        two = r.ann.remember(Location("Alice Ng"))
    elif case == "no entity":
        one, two = r.ann.remember(Fact("x")), r.ann.remember(Fact("y"))
    elif case == "audience":
        r.ann.set_visibility(one, private())
    elif case == "archived":
        r.ann.archive(two)
    else:
        r.ann.delete(two)
    before = r.space.position
    with pytest.raises((ConflictError, IllegalTransitionError)):
        r.ann.merge(one, two)
    assert before == r.space.position


def test_a_private_source_may_go_into_a_wider_survivor(r: Room) -> None:
    """Restricted into restricted goes if nobody loses sight of it."""
    wide = r.ann.remember(Person("Alice Ng"), visibility=restricted(assistant("claude"), assistant("other")))
    narrow = r.ann.remember(Person("A. Ng"), visibility=restricted(assistant("claude")))
    with pytest.raises(ConflictError):
        r.ann.merge(narrow, wide)
    assert "changed" == r.ann.merge(wide, narrow).status


def test_a_merged_source_comes_back_by_unmerge_alone(r: Room) -> None:
    """Restore refuses it; what was not merged cannot be unmerged."""
    one, two = r.ann.remember(Person("Alice Ng")), r.ann.remember(Person("A. Ng"))
    with pytest.raises(IllegalTransitionError):
        r.ann.unmerge(two)
    r.ann.merge(one, two)
    with pytest.raises(IllegalTransitionError, match="merged"):
        r.ann.restore(two)
    r.ann.unmerge(two)
    with pytest.raises(IllegalTransitionError):
        r.ann.unmerge(two)


def test_assistants_propose_merges(r: Room) -> None:
    """And unmerges; a user decides, and may undo."""
    one, two = r.ann.remember(Person("Alice Ng")), r.ann.remember(Person("A. Ng"))
    asked = r.bot.merge(one, two)
    assert ("proposed", "active") == (asked.status, r.ann.get(two).status)
    merged = r.ann.approve(asked)
    assert "archived" == r.ann.get(two).status
    r.ann.undo(merged)
    assert ("active", "undone") == (r.ann.get(two).status, r.ann.proposal(asked).status)


def test_what_a_source_gave_is_never_counted_twice(r: Room) -> None:
    """Evidence stays with the source; a name that both bear is one name."""
    one = r.ann.remember(Person("Alice Ng", aliases=("Al",)), evidence=EvidenceRef("quote", "mine"))
    two = r.ann.remember(Person("Al", aliases=("Alice Ng",)), evidence=EvidenceRef("quote", "theirs"))
    r.ann.merge(one, two)
    assert ("Alice Ng", "Al") == names(r, one)
    assert ["mine"] == [ref.value for ref in r.ann.get(one).evidence]
    assert ["theirs"] == [ref.value for ref in r.ann.get(two).evidence]


def test_erasing_a_source_takes_its_names_from_all_survivors(r: Room) -> None:
    """Also from those into which it came by way of another one."""
    a, b, c = (r.ann.remember(Person(name), tags=(name[0],)) for name in ("Ann A", "Ben B", "Cem C"))
    r.ann.merge(b, c)
    r.ann.merge(a, b)
    r.ann.erase(c)
    assert ("Ann A", "Ben B") == names(r, a)
    assert ("a", "b") == r.ann.get(a).tags
    assert [] == [h.memory.id for h in r.ann.recall("Cem")]
    r.ann.unmerge(b)
    assert ("Ben B",) == names(r, b)
    assert not r.nightly.verify().problems


def test_a_source_outlives_the_erasure_of_its_survivor(r: Room) -> None:
    """The report names it for a decision, and unmerge still brings it back."""
    a, b = r.ann.remember(Person("Ann A")), r.ann.remember(Person("Ben B"))
    r.ann.merge(a, b)
    report = r.ann.erase(a, dry_run=True)
    assert (b.memory_id,) == report.shared
    r.ann.erase(a)
    r.ann.unmerge(b)
    assert ("active", ("Ben B",)) == (r.ann.get(b).status, names(r, b))
    assert not r.nightly.verify().problems


def test_an_erased_survivor_says_nothing_for_its_sources(r: Room) -> None:
    """A source is a memory of its own: it keeps its text and its way back, and nobody finds it under the survivor."""
    a, b, c = (r.ann.remember(Person(name), tags=(name[0],)) for name in ("Ann A", "Ben B", "Cem C"))
    merged = r.ann.merge(b, c)
    r.ann.merge(a, b)
    assert (b.memory_id,) == r.ann.erase(a, dry_run=True).shared
    r.ann.erase(a)
    for name in ("Ann", "Ben", "Cem"):
        assert [] == [h.memory.id for h in r.ann.recall(name)]
    assert {} == dict(r.ann.tags())
    assert (("Ben B", "Cem C"), "archived") == (names(r, b), r.ann.get(b).status)
    assert ("Cem C",) == names(r, c)
    r.ann.undo(merged)
    r.ann.unmerge(b)
    assert [("active", ("Ben B",)), ("active", ("Cem C",))] == [(r.ann.get(m).status, names(r, m)) for m in (b, c)]
    assert r.nightly.verify().ok


def test_an_erased_link_of_a_chain_takes_what_came_through_it_from_nobody(r: Room) -> None:
    """What the middle one gave goes; what came through it belongs to its source, and unmerge takes it back."""
    a, b, c = (r.ann.remember(Person(name), tags=(name[0],)) for name in ("Ann A", "Ben B", "Cem C"))
    r.ann.merge(b, c)
    r.ann.merge(a, b)
    assert (c.memory_id,) == r.ann.erase(b).shared
    assert (("Ann A", "Cem C"), ("a", "c")) == (names(r, a), r.ann.get(a).tags)
    r.ann.unmerge(c)
    assert (("Ann A",), ("a",)) == (names(r, a), r.ann.get(a).tags)
    assert ("active", ("Cem C",)) == (r.ann.get(c).status, names(r, c))
    assert r.nightly.verify().ok
    before = [names(r, m) for m in (a, c)]
    r.nightly.rebuild()
    assert before == [names(r, m) for m in (a, c)]


def test_unmerging_up_a_chain_reaches_a_hidden_survivor_and_tells_nothing_of_it() -> None:
    """Names and tags go from it, too; whoever may not see it is answered as if there were none."""
    answers = []
    for hidden in (False, True):
        r = room(approval=ApprovalPolicy.of({"assistant": ["merge"]}))
        a, b, c = (r.ann.remember(Person(name), tags=(name[0],)) for name in ("Ann A", "Ben B", "Cem C"))
        r.ann.merge(b, c)
        if hidden:
            r.ann.merge(a, b)
            r.ann.set_visibility(a, private())
        else:
            r.ann.archive(b)
            r.ann.delete(a)
        told = r.bot.unmerge(c, command_id="once")
        assert told == r.bot.unmerge(c, command_id="once")
        answers.append((str(told.status), [type(event).__name__ for event in told.events], r.bot.get(c).status))
        if hidden:
            assert (("Ann A", "Ben B"), ("a", "b")) == (names(r, a), r.ann.get(a).tags)
            with r.bot.batch() as block:
                block.merge(c, r.ann.remember(Person("Dan D")))
            assert "changed" == block.receipts[0].status
        assert r.nightly.verify().ok
    assert answers[0] == answers[1]


@settings(max_examples=15)
@given(
    st.lists(st.sampled_from(sorted(ACTS)), max_size=4),
    st.permutations(["alice", "ally", "bob"]),
)
def test_unmerging_is_the_inverse_of_merging(names_of_acts: list[str], people: list[str]) -> None:
    """Whatever happened before: every observable is as it was, for a user and for an assistant."""
    r = room()
    w = world(r)
    for name in names_of_acts:
        with suppress(EngramError):
            ACTS[name](r, w)
    before = everything(r.ann), everything(r.bot)
    try:
        merged = r.ann.merge(w[people[0]], w[people[1]])
    except EngramError:
        return
    if merged.status == "unchanged":  # it was merged already
        return
    assert before != (everything(r.ann), everything(r.bot))
    r.ann.unmerge(w[people[1]])
    assert before == (everything(r.ann), everything(r.bot))
    assert r.nightly.verify().ok


def test_whoever_does_not_see_the_survivor_asks_a_user(r: Room) -> None:
    """He sees that his memory was merged, and neither into what nor a way back of his own."""
    survivor, source = r.ann.remember(Person("Ann A")), r.ann.remember(Person("Ben B"))
    r.ann.merge(survivor, source)
    r.ann.set_visibility(survivor, private())
    with pytest.raises(ForbiddenError, match="ask a user") as caught:
        r.bot.unmerge(source)
    assert str(survivor.memory_id) not in f"{caught.value}{caught.value.fields}"
    assert "archived" == r.bot.get(source).status
    assert "changed" == r.ann.unmerge(source).status
    assert "active" == r.bot.get(source).status
