"""What a view shows of single memories and of listings."""

from __future__ import annotations

import copy
from datetime import timedelta
from uuid import UUID

import pytest

from engram_core.errors import InvalidAttributesError, NotFoundError
from engram_core.kinds import Contact, Episode, Fact, Person, Preference
from engram_core.space import MemorySpace
from engram_core.testing import FrozenClock
from engram_core.values import (
    EvidenceRef,
    Link,
    Validity,
    assistant,
    ephemeral,
    private,
    restricted,
    user,
)
from engram_core.vocab import EvidenceType, Relation, Status
from tests.reads.shelves import START, Desk, desk, named


@pytest.fixture
def d() -> Desk:
    return desk()


# -- get ----------------------------------------------------------------------------------------------


def test_a_memory_comes_back_typed(d: Desk) -> None:
    """Every field of the door is there, in the types in which it was given."""
    alice = d.ann.remember(Person(full_name="Alice Ng", aliases=("Ali",)))
    tea = d.ann.remember(
        Preference(polarity="likes", target="oolong", strength=0.8),
        content="Alice likes oolong tea.",
        title="Tea",
        tags=["Drinks ", "two words"],
        links=[("about", alice)],
        evidence=[EvidenceRef(EvidenceType.QUOTE, "I like oolong")],
        pinned=True,
        user_weight=0.25,
        validity=Validity(START),
        external_ids=[("notes", "17")],
    )
    m = d.ann.get(tea, kind=Preference)
    assert m.attributes == Preference(polarity="likes", target="oolong", strength=0.8)
    assert (m.kind, m.title, m.display_title, m.content) == ("preference", "Tea", "Tea", "Alice likes oolong tea.")
    assert m.tags == ("drinks", "two words")
    assert m.links == (Link(Relation.ABOUT, d.ann.get(alice).id),)
    assert m.evidence == (EvidenceRef(EvidenceType.QUOTE, "I like oolong"),)
    assert m.source is not None
    assert m.source.actor == user("ann")
    assert (m.confidence, m.effective_confidence, m.last_confirmed_at) == (0.95, 0.95, None)
    assert (m.pinned, m.user_weight, m.importance) == (True, 0.25, 1.0)
    assert m.validity == Validity(START)
    assert m.external_ids == (("notes", "17"),)
    assert (m.created_at, m.updated_at, m.revision) == (START, START, 1)
    assert m.status is Status.ACTIVE
    assert not m.flags
    assert "Tea" in repr(m)


def test_a_memory_is_a_frozen_value(d: Desk) -> None:
    """It cannot be changed, equals what reads the same, and is its own copy."""
    id = d.ann.remember(Fact("Oslo is in Norway"), tags=["geo"])
    one, other = d.ann.get(id), d.ann.get(id)
    assert one == other
    assert hash(one) == hash(other)
    assert copy.deepcopy(one) is copy.copy(one) is one
    with pytest.raises(AttributeError):
        one.title = "x"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del one.flags
    d.ann.tag(id, "north")
    assert d.ann.get(id) != one
    assert one != "a memory"


def test_it_is_asked_for_by_whatever_bears_its_id(d: Desk) -> None:
    """An id as text or UUID, a receipt and a memory all name it; other things are refused."""
    receipt = d.ann.remember(Fact("Oslo is in Norway"))
    assert receipt.memory_id is not None
    memory = d.ann.get(receipt)
    assert memory == d.ann.get(receipt.memory_id) == d.ann.get(memory) == d.ann.get(UUID(receipt.memory_id))
    with pytest.raises(InvalidAttributesError):
        d.ann.get(3)


def test_absent_gone_hidden_and_other_kinds_are_one_answer(d: Desk) -> None:
    """The error is the same in every case, but for the id that was asked for."""
    hidden = d.ann.remember(Fact("a secret"), visibility=private())
    gone = d.ann.remember(Fact("a mistake"))
    undone = d.ann.remember(Fact("too early"))
    d.ann.delete(gone)
    d.ann.undo(undone)
    person = d.ann.remember(Person(full_name="Alice"))
    asked = [hidden.memory_id, gone.memory_id, undone.memory_id, named(99), "no id", "\ud800", "nul\0"]
    for id in asked:
        with pytest.raises(NotFoundError) as caught:
            d.bot.get(id)
        shown = id.encode("unicode_escape").decode()
        assert (caught.value.message, caught.value.code) == (f"there is no memory {shown}", "not_found")
    with pytest.raises(NotFoundError, match="there is no memory"):
        d.ann.get(person, kind=Fact)
    assert d.ann.get(hidden).content == ""


def test_restricted_memories_are_for_those_who_are_listed(d: Desk) -> None:
    """Kind and id of the actor must both be the listed ones, to the letter."""
    id = d.ann.remember(Fact("for claude"), visibility=restricted(assistant("claude")))
    assert d.bot.get(id) == d.ann.get(id)
    for other in (assistant("Claude"), assistant("claud"), assistant("claude2")):
        assert d.space.session(other).count() == 0


def test_status_and_decay_follow_the_now_of_the_view(d: Desk) -> None:
    """`at` moves status and figures, and nothing else."""
    fact = d.ann.remember(Fact("Oslo is in Norway"))
    brief = d.ann.remember(Fact("The door is open"), lifetime=ephemeral())
    later = d.ann.at(START + timedelta(days=526))
    assert (later.get(fact).status, d.ann.get(fact).status) == (Status.STALE, Status.ACTIVE)
    assert later.get(fact).flags.stale
    assert "stale" in later.get(fact).flags
    assert later.get(fact).confidence == 0.95
    assert later.get(fact).effective_confidence == pytest.approx(0.95 * 2 ** (-526 / 365))
    assert later.get(brief).status is Status.EXPIRED
    assert [m.id for m in later.find()] == [fact.memory_id]
    assert later.count(status=["expired", "stale"]) == 2


def test_the_superseded_one_returns_when_its_successor_goes(d: Desk) -> None:
    """It is superseded while a successor that the viewer may see is there."""
    old = d.ann.remember(Fact("Alice lives in Bergen"))
    new = d.ann.supersede(old, Fact("Alice lives in Oslo"))
    assert d.ann.get(old).status is Status.SUPERSEDED
    d.ann.delete(new)
    assert d.ann.get(old).status is Status.ACTIVE


def test_importance_counts_what_the_viewer_may_see(d: Desk) -> None:
    """A hidden link adds to what users see, and to nothing else."""
    alice = d.ann.remember(Person(full_name="Alice"))
    d.ann.remember(Fact("secret"), links=[("about", alice)], visibility=private())
    d.ann.remember(Fact("open"), links=[("about", alice)])
    assert d.ann.get(alice).importance == pytest.approx(0.70)
    assert d.bot.get(alice).importance == pytest.approx(0.65)


# -- find ---------------------------------------------------------------------------------------------


def fill(d: Desk, count: int) -> list[str]:
    ids = []
    for number in range(count):
        d.clock.move(seconds=1)
        ids.append(d.ann.remember(Fact(f"fact {number}"), tags=[f"t{number % 3}"], id=named(1000 - number)).memory_id)
    return [id for id in ids if id]


def test_pages_follow_each_other_without_gap_or_repetition(d: Desk) -> None:
    """Whatever the order, and with many equal sort values, pages join to the whole list."""
    fill(d, 23)
    for order in ("created_at", "updated_at", "occurred_at", "confidence", "importance", "title", "kind", "id"):
        for descending in (False, True):
            whole = [m.id for m in d.ann.find(order=order, descending=descending, limit=1000)]
            assert len(whole) == 23
            pages: list[str] = []
            after = None
            while True:
                page = d.ann.find(order=order, descending=descending, limit=5, after=after)
                pages += [m.id for m in page]
                assert len(page) == 5 or page.next is None
                after = page.next
                if after is None:
                    break
            assert pages == whole


def test_pages_stay_while_others_write(d: Desk) -> None:
    """Between two pages others write: nothing is repeated, and what was there is not skipped."""
    ids = fill(d, 12)
    first = d.ann.find(limit=5)
    d.ann.remember(Fact("an older one"), occurred_at=START - timedelta(days=1))
    d.ann.delete(ids[0])
    rest = d.ann.find(limit=1000, after=first.next)
    assert [m.id for m in first] + [m.id for m in rest] == ids


def test_a_filter_never_shortens_a_page(d: Desk) -> None:
    """The limit counts what passes the filters."""
    fill(d, 30)
    page = d.ann.find(tags=["t1"], limit=7)
    assert (len(page), all("t1" in m.tags for m in page), page.next is not None) == (7, True, True)


def test_find_all_reads_on(d: Desk) -> None:
    """It gives every memory, over as many pages as it takes, and checks its filters at once."""
    ids = fill(d, 9)
    assert [m.id for m in d.ann.find_all()] == ids
    with pytest.raises(InvalidAttributesError):
        d.ann.find_all(colour="red")


@pytest.mark.parametrize("limit", [0, -1, 1001, True, 2.5, "10", None])
def test_limits_are_checked(d: Desk, limit: object) -> None:
    """A limit is a whole number from 1 to 1,000."""
    with pytest.raises(InvalidAttributesError, match="limit"):
        d.ann.find(limit=limit)  # type: ignore[arg-type]


def test_foreign_and_garbled_cursors_are_refused(d: Desk) -> None:
    """A cursor fits the call that gave it, with the same order and filters, and no other."""
    fill(d, 5)
    after = d.ann.find(limit=2).next
    assert after is not None
    for wrong in ("", "x", after[:-3], after[::-1], f"{after}A", "ü", 3):
        with pytest.raises(InvalidAttributesError, match="after"):
            d.ann.find(limit=2, after=wrong)  # type: ignore[arg-type]
    for changed in ({"order": "title"}, {"descending": True}, {"tags": ["t1"]}, {"status": None}):
        with pytest.raises(InvalidAttributesError, match="after"):
            d.ann.find(limit=2, after=after, **changed)
    assert len(d.ann.find(limit=3, after=after)) == 3


def test_an_unknown_order_is_refused_by_name(d: Desk) -> None:
    """The error lists what there is."""
    with pytest.raises(InvalidAttributesError, match="created_at"):
        d.ann.find(order="colour")


def test_empty_listings_are_false(d: Desk) -> None:
    """A page without items is empty and false."""
    assert not d.ann.find()
    assert len(d.ann.find()) == 0
    assert d.ann.find().next is None
    assert not d.ann.recall("anything")
    assert d.ann.tags() == {}
    assert d.ann.stats().memories == 0


# -- tags, figures, reads -----------------------------------------------------------------------------


def test_tags_are_counted_on_what_recall_would_show(d: Desk) -> None:
    """Archived and hidden memories do not count."""
    d.ann.remember(Fact("one"), tags=["a", "two words"])
    d.ann.remember(Fact("two"), tags=["a"], visibility=private())
    d.ann.archive(d.ann.remember(Fact("three"), tags=["a"]))
    assert d.ann.tags() == {"a": 2, "two words": 1}
    assert d.bot.tags() == {"a": 1, "two words": 1}


def test_stats_count_what_is_shown(d: Desk) -> None:
    """Figures by kind and status, and edges between what the viewer may see."""
    alice = d.ann.remember(Person(full_name="Alice"))
    d.ann.remember(Contact(channel="email", value="a@x.no"), links=[("owned_by", alice)])
    d.ann.remember(Fact("secret"), links=[("about", alice)], visibility=private())
    d.ann.archive(d.ann.remember(Fact("old")))
    seen = d.bot.stats()
    assert (seen.memories, seen.by_kind, seen.links) == (3, {"contact": 1, "fact": 1, "person": 1}, 1)
    assert seen.by_status == {"active": 2, "archived": 1}
    assert d.ann.stats().links == 2


def test_reads_are_noted_and_change_nothing(d: Desk) -> None:
    """get and recall are noted by actor, and appear once they are flushed; find is no read of one memory."""
    id = d.ann.remember(Fact("oolong is tea"))
    reader = d.space.session(assistant("claude"))
    before = reader.get(id)
    reader.recall("oolong")
    reader.find()
    assert reader.get(id) == before
    assert d.ann.accesses(id).count == 0
    d.space.flush()
    noted = d.ann.accesses(id)
    assert (noted.count, noted.last_at, [read.actor for read in noted]) == (3, START, [assistant("claude")])
    assert d.space.session(assistant("other"), record=False).accesses(id).count == 0
    assert d.ann.get(id).revision == 1


def test_scores_add_up(d: Desk) -> None:
    """The terms of retention are its sum, and those of importance, too."""
    alice = d.ann.remember(
        Person(full_name="Alice"), user_weight=None, evidence=[EvidenceRef(EvidenceType.QUOTE, "hi")]
    )
    for number in range(6):
        d.ann.remember(Fact(f"fact {number}"), links=[("about", alice)])
    scores, told = d.ann.scores(alice), d.ann.explain(alice)
    assert sum(scores.terms.values()) == pytest.approx(scores.retention)
    assert sum(told.importance.values()) == pytest.approx(scores.importance)
    assert scores.terms["centrality"] == pytest.approx(0.15 * 0.6)
    assert told.status.startswith("active")


def test_the_whole_space_and_one_memory_score_alike(d: Desk) -> None:
    """What a user reads of one memory is what the statement over the whole space writes."""
    alice = d.ann.remember(Person(full_name="Alice"))
    bob = d.ann.remember(Person(full_name="Robert"))
    double = d.ann.remember(Person(full_name="Bobby"))
    d.ann.merge(bob, double)
    d.ann.remember(Fact("both"), links=[("about", alice), ("about", double)])
    a, b = d.ann.remember(Fact("yes")), d.ann.remember(Fact("no"), links=[("derived_from", alice)])
    d.ann.contradict(a, by=b)
    d.clock.move(days=40)
    engine = d.space._engine
    with engine.host.transaction() as tx:
        engine.read_model.recompute_scores(tx, d.clock.now())
        stored = {
            id: (importance, retention)
            for id, importance, retention in tx.execute(
                "SELECT m.id, s.importance, s.retention FROM scores s JOIN memories m ON m.key = s.key"
            )
        }
    for id, (importance, retention) in stored.items():
        scores = d.ann.scores(id)
        assert scores.importance == pytest.approx(importance), id
        assert scores.retention == pytest.approx(retention), id
    assert len(stored) == 6


def test_recall_gives_memories_with_what_made_their_score(d: Desk) -> None:
    """Terms add up, limits and filters hold, and text that is no text is refused."""
    d.ann.remember(Fact("oolong is a tea"), tags=["tea"])
    d.ann.remember(Fact("oolong again"), visibility=private())
    hits = d.ann.recall("oolong")
    assert len(hits) == 2
    for hit in hits:
        assert sum(hit.explanation.values()) == pytest.approx(hit.score, abs=1e-12)
        assert d.ann.explain(hit).recall == hit.explanation
    assert [hit.memory.content for hit in d.bot.recall("oolong")] == [""]
    assert len(d.ann.recall("oolong", tags=["tea"], limit=1)) == 1
    assert not d.ann.recall(" ?! ")
    with pytest.raises(InvalidAttributesError):
        d.ann.recall(3)  # type: ignore[arg-type]


def test_the_timeline_is_in_order_of_what_happened(d: Desk) -> None:
    """Episodes stand at their own time and reach into the stretch; all else stands at its creation."""
    war = d.ann.remember(Episode(start_at=START - timedelta(days=9), end_at=START - timedelta(days=1)), title="trip")
    meal = d.ann.remember(Episode(occurred_at=START - timedelta(days=3)), title="meal")
    fact = d.ann.remember(Fact("said today"))
    d.ann.remember(Episode(occurred_at=START - timedelta(days=30)), title="long ago")
    listed = d.ann.timeline(START - timedelta(days=4), START + timedelta(days=1))
    assert [m.id for m in listed] == [war.memory_id, meal.memory_id, fact.memory_id]
    assert not d.ann.timeline(START + timedelta(days=1), START + timedelta(days=2))
    page = d.ann.timeline(START - timedelta(days=4), START + timedelta(days=1), limit=2)
    rest = d.ann.timeline(START - timedelta(days=4), START + timedelta(days=1), limit=2, after=page.next)
    assert [m.id for m in (*page, *rest)] == [m.id for m in listed]


def test_a_file_reads_like_a_space_in_memory(tmp_path: object) -> None:
    """The same calls give the same answers over either store."""
    spaces = [
        MemorySpace.in_memory(clock=FrozenClock(START)),
        MemorySpace.open(f"{tmp_path}/a.db", clock=FrozenClock(START)),
    ]
    answers = []
    for space in spaces:
        ann = space.session(user("ann"))
        alice = ann.remember(Person(full_name="Alice"), id=named(1))
        ann.remember(Fact("Alice sings"), links=[("about", alice)], id=named(2), tags=["a"])
        answers.append(
            (ann.find(), ann.neighbours(alice), ann.tags(), ann.stats(), ann.recall("sings"), ann.why(alice))
        )
        space.close()
    assert answers[0] == answers[1]
