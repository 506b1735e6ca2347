"""Supersession, contradiction, resolution: nothing is decided by automation, and everything is told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core.errors import ConflictError, EngramError, ForbiddenError, InvalidAttributesError
from engram_core.kinds import Fact, Person, Preference
from engram_core.values import EvidenceRef, assistant, private, restricted, shared
from tests.governance.acts import ACTS, world
from tests.governance.rooms import Room, everything, pages, room


@pytest.fixture
def r() -> Room:
    return room()


def reasons(session: Any, m: Any) -> list[str]:
    return [str(row.reason) for row in pages(session, "reviews") if row.memory_id == m.memory_id]


def test_a_supersession_closes_the_old_window_and_opens_the_new(r: Room) -> None:
    """One batch: the edge, the closed validity of the old, the begun one of the new."""
    old = r.ann.remember(Fact("Alice lives in Bergen"))
    at = r.clock.move(days=10)
    receipt = r.ann.supersede(old, Fact("Alice lives in Oslo"))
    was, is_ = r.ann.get(old), r.ann.get(receipt)
    assert ("created", "superseded", at, at) == (
        receipt.status,
        was.status,
        was.validity.valid_to,
        is_.validity.valid_from,
    )
    assert [receipt.memory_id] == [m.id for m in r.ann.find()]
    assert 1 == len({e.batch_id for e in r.space.events() if e.recorded_at == at})
    then = r.ann.as_of(valid_at=at - timedelta(days=1))
    assert [old.memory_id] == [m.id for m in then.find()]


@pytest.mark.parametrize("end", ["delete", "erase", "undo"])
def test_the_old_one_comes_back_when_the_new_one_goes(r: Room, end: str) -> None:
    """Deleted or erased, it lapses and the old one waits for review; undone, all is as before."""
    old = r.ann.remember(Fact("Alice lives in Bergen"))
    new = r.ann.supersede(old, Fact("Alice lives in Oslo"))
    getattr(r.ann, end)(new)
    assert "active" == r.ann.get(old).status
    assert ([] if end == "undo" else ["supersession_lapsed"]) == reasons(r.ann, old)
    if end != "undo":
        r.clock.move(days=2)
        r.ann.confirm(old)
        assert [] == reasons(r.ann, old)


def test_supersession_is_acyclic_and_needs_a_later_beginning(r: Room) -> None:
    """Neither circles, nor a beginning before the old one's own, nor an audience that leaves somebody with neither."""
    one = r.ann.remember(Fact("one"))
    two = r.ann.supersede(one, Fact("two"))
    r.clock.move(days=1)
    three = r.ann.supersede(two, Fact("three"))
    with pytest.raises(ConflictError):
        r.ann.supersede(three, one)
    with pytest.raises(InvalidAttributesError):
        r.ann.supersede(three, Fact("four"), effective_at=r.clock.now() - timedelta(days=1))
    hidden = r.ann.remember(Fact("hidden"), visibility=private())
    with pytest.raises(ConflictError):
        r.ann.supersede(three, hidden)


def test_a_hit_with_an_open_dispute_shows_both_sides(r: Room) -> None:
    """Flag, recall and queue agree; the pair is one row, however one looks at it."""
    oslo, rome = r.ann.remember(Fact("Alice lives in Oslo")), r.ann.remember(Fact("Alice lives in Rome"))
    r.ann.contradict(oslo, by=rome)
    assert (True, True) == (r.ann.get(oslo).flags.disputed, r.ann.get(rome).flags.disputed)
    (hit,) = [h for h in r.ann.recall("Alice Oslo") if h.memory.id == oslo.memory_id]
    assert [rome.memory_id] == [m.id for m in hit.disputed_by]
    rows = [row for row in r.ann.reviews() if str(row.reason) == "contradiction"]
    assert [(oslo.memory_id, rome.memory_id)] == [(row.memory_id, row.other_id) for row in rows]
    assert "resolve" in rows[0].actions


ENDINGS = {
    "superseded": lambda r, a, b: r.ann.supersede(a, b),
    "archived": lambda r, a, b: r.ann.archive(a),
    "deleted": lambda r, a, b: r.ann.delete(b),
    "erased": lambda r, a, b: r.ann.erase(b),
    "confirmed by a user": lambda r, a, b: r.ann.confirm(b),
    "resolved for one": lambda r, a, b: r.ann.resolve(a, b, keep=a),
    "resolved for the other": lambda r, a, b: r.ann.resolve(a, b, keep=b),
    "resolved for both": lambda r, a, b: r.ann.resolve(b, a, keep="both"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_ends_a_contradiction(r: Room, ending: str) -> None:
    """A side is superseded, archived, deleted, erased, or confirmed by a user later, or a person resolves it."""
    a, b = r.ann.remember(Fact("a")), r.ann.remember(Fact("b"))
    r.ann.contradict(a, by=b)
    r.clock.move(days=2)
    ENDINGS[ending](r, a, b)
    assert not [m.id for m in r.ann.find_all(status=("active", "stale", "archived")) if m.flags.disputed]
    assert "contradiction" not in reasons(r.ann, a) + reasons(r.ann, b)


def test_resolving_archives_the_other_as_wrong(r: Room) -> None:
    """Keeping both archives none; a new dispute opens the case again."""
    a, b, c, d = (r.ann.remember(Fact(text)) for text in "abcd")
    r.ann.contradict(a, by=b)
    r.ann.resolve(a, b, keep=b)
    assert ("archived", "active") == (r.ann.get(a).status, r.ann.get(b).status)
    r.ann.contradict(c, by=d)
    r.ann.resolve(c, d, keep="both", note="of different years")
    assert ("stale", "active", False) == (r.ann.get(c).status, r.ann.get(d).status, r.ann.get(c).flags.disputed)
    r.space.session(assistant("x")).contradict(d, by=c)
    assert not r.ann.get(c).flags.disputed
    r.ann.contradict(d, by=c)
    assert r.ann.get(c).flags.disputed
    with pytest.raises(InvalidAttributesError):
        r.ann.resolve(c, d, keep=a)


def test_one_voice_counts_once(r: Room) -> None:
    """The same actor and ground dispute once; a non-user never below the floor, nor his own memory."""
    memory = r.ann.remember(Fact("x"))
    grounds = [r.ann.remember(Fact(f"ground {n}")) for n in range(20)]
    for ground in grounds:
        r.ann.approve(r.bot.contradict(memory, by=ground))
        assert "unchanged" == r.bot.contradict(memory, by=ground).status
    assert 0.40 == pytest.approx(r.ann.get(memory).confidence)
    own = r.bot.remember(Fact("mine"))
    r.ann.approve(own)
    with pytest.raises(ForbiddenError):
        r.bot.contradict(own)


def test_below_the_threshold_a_doubted_memory_waits(r: Room) -> None:
    """Strictly below 0.60 with an open dispute, also by evidence or a word alone; a user's confirmation closes it."""
    memory = r.ann.remember(Fact("x"), confidence=0.62)
    other = r.ann.remember(Fact("never doubted"), confidence=0.2)
    assert ([], []) == (reasons(r.ann, memory), [n for n in reasons(r.ann, other) if n == "low_confidence"])
    r.ann.contradict(memory, evidence=EvidenceRef("quote", "no"))
    assert "low_confidence" in reasons(r.ann, memory)
    r.ann.confirm(memory)
    assert "low_confidence" not in reasons(r.ann, memory)


def test_distinct_twins_are_suggested_no_more(r: Room) -> None:
    """Neither in the queue nor by the nightly pass; undone, they are again."""
    one, two = r.ann.remember(Person("Alice Ng")), r.ann.remember(Person("alice  ng"))
    assert "duplicate" in reasons(r.ann, two) + reasons(r.ann, one)
    said = r.ann.mark_distinct(two, one)
    assert "unchanged" == r.ann.mark_distinct(one, two).status
    assert "duplicate" not in reasons(r.ann, two) + reasons(r.ann, one)
    assert 0 == len(r.nightly.propose_merges())
    r.ann.undo(said)
    assert 1 == len(r.nightly.propose_merges())


def test_an_exact_duplicate_is_found_and_only_within_one_audience(r: Room) -> None:
    """The same words to the same audience; an archived twin is named with what restores it."""
    first = r.ann.remember(Fact("Alice  sings"))
    again = r.ann.remember(Fact("Alice sings"))
    assert ("duplicate", first.memory_id) == (again.status, again.memory_id)
    assert "created" == r.ann.remember(Fact("alice sings")).status
    assert "created" == r.ann.remember(Fact("Alice sings"), visibility=private()).status
    assert "created" == r.ann.remember(Fact("Alice sings"), on_duplicate="create").status
    alone = r.ann.remember(Fact("Bob hums"))
    r.ann.archive(alone)
    new = r.ann.remember(Fact("Bob hums"))
    assert ("created", [(alone.memory_id, "archived")]) == (
        new.status,
        [(c.memory_id, c.reason) for c in new.possible_conflicts if c.reason == "archived"],
    )


def test_resemblance_is_reported_and_links_nothing(r: Room) -> None:
    """Equal titles and word overlap are named in the receipt, and nothing else happens."""
    one = r.ann.remember(Fact("Alice lives in the city of Oslo"), title="Home")
    two = r.ann.remember(Fact("Alice lives in the town of Oslo"), title="Home")
    assert {one.memory_id} == {c.memory_id for c in two.possible_conflicts}
    assert () == r.ann.get(two).links
    assert 2 == r.ann.count()
    quiet = r.ann.remember(Fact("Alice lives in the village of Oslo"), similar=False)
    assert () == quiet.possible_conflicts


@pytest.mark.parametrize("visibility", [private(), restricted(assistant("other"))], ids=["private", "restricted"])
def test_hidden_memories_influence_nothing_that_is_answered(visibility: Any) -> None:
    """Duplicates, conflicts, candidates, queue rows, counts and errors are the same with and without them."""
    answers = []
    for hidden in (False, True):
        r = room(ids=iter_ids())
        if hidden:
            private_one = r.ann.remember(
                Fact("Alice sings"), title="Song", visibility=visibility, external_ids={"x": "1"}
            )
            r.ann.remember(Person("Alice Ng"), visibility=visibility)
            r.ann.contradict(private_one, by=r.ann.remember(Fact("hidden, too"), visibility=visibility))
        r.space._engine.options.ids.ids.jump(1_000)
        bot = r.bot
        receipts = [
            bot.remember(Fact("Alice sings"), title="Song", external_ids={"x": "1"}),
            bot.remember(Fact("Alice sings loudly"), title="Song"),
            bot.remember(Person("Alice Ng")),
        ]
        with pytest.raises(EngramError) as missing:
            bot.tag("00000000-0000-7000-8000-000000000001", "t")
        answers.append(
            (
                [(x.status, x.memory_id, x.possible_conflicts) for x in receipts],
                [(str(row.reason), row.memory_id, row.evidence) for row in bot.reviews()],
                bot.count(),
                dict(bot.tags()),
                str(missing.value),
            )
        )
    assert answers[0] == answers[1]


def iter_ids() -> Any:
    from engram_core.testing import SequentialIds

    class Ids(SequentialIds):
        def jump(self, to: int) -> None:
            self._next = to

    return Ids()


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 13), st.integers(0, 13)), max_size=12))
def test_no_assistant_changes_what_a_user_sees(moves: list[tuple[int, int, int]]) -> None:
    """Under `review_all`, no sequence of an assistant's commands changes any observable but the queue of proposals."""
    r = room()
    w = list(world(r).values())
    before = everything(r.ann)
    for which, first, second in moves:
        a, b = w[first], w[second]
        verbs = [
            lambda a=a, b=b: r.bot.remember(Fact(f"about {a}"), links=[("about", b)]),
            lambda a=a, b=b: r.bot.remember(Fact(f"instead of {a}"), links=[("supersedes", b)]),
            lambda a=a: r.bot.edit(a, content="mine now"),
            lambda a=a: r.bot.update(a, statement="mine now"),
            lambda a=a: r.bot.tag(a, "mine"),
            lambda a=a: r.bot.untag(a, "friend"),
            lambda a=a, b=b: r.bot.link(a, "relates_to", b),
            lambda a=a, b=b: r.bot.unlink(a, "about", b),
            lambda a=a: r.bot.confirm(a, evidence=EvidenceRef("quote", "yes")),
            lambda a=a, b=b: r.bot.contradict(a, by=b),
            lambda a=a: r.bot.pin(a),
            lambda a=a: r.bot.weigh(a, 1.0),
            lambda a=a: r.bot.set_visibility(a, shared()),
            lambda a=a: r.bot.set_visibility(a, restricted(assistant("claude"))),
            lambda a=a, b=b: r.bot.supersede(a, b),
            lambda a=a, b=b: r.bot.merge(a, b),
            lambda a=a: r.bot.unmerge(a),
            lambda a=a, b=b: r.bot.mark_distinct(a, b),
            lambda a=a, b=b: r.bot.resolve(a, b, keep=b),
            lambda a=a: r.bot.archive(a, because="wrong"),
            lambda a=a: r.bot.restore(a),
            lambda a=a: r.bot.delete(a),
            lambda a=a: r.bot.erase(a),
            lambda a=a: r.bot.erase_subject(a),
            lambda: r.bot.quarantine(session_id="s-42"),
            lambda: r.bot.approve(r.bot.proposals().items[0]),
            lambda: r.bot.reject(r.bot.proposals().items[0]),
            lambda: r.bot.withdraw(r.bot.proposals().items[0]),
            lambda: r.bot.undo(next(r.space.events()).batch_id),
            lambda a=a: list(r.bot.recall("Alice")) and r.bot.get(a),
        ]
        try:
            verbs[which % len(verbs)]()
        except (EngramError, IndexError):
            continue
    after = everything(r.ann)
    after["queue"] = [row for row in after["queue"] if row[0] != "proposal"]
    assert before == after


@settings(max_examples=10)
@given(st.lists(st.sampled_from(sorted(ACTS)), max_size=6))
def test_automation_never_decides(names: list[str]) -> None:
    """Whatever stands in the space, no nightly pass but the expiry changes anything that is believed."""
    r = room()
    w = world(r)
    for one, other in (("likes", "dislikes"), ("wants", "avoids")):
        for polarity in (one, other):
            r.ann.remember(Preference(polarity, target=one, context="home"), links=[("about", w["alice"])])
    for name in names:
        try:
            ACTS[name](r, w)
        except EngramError:
            continue
    r.clock.move(days=30)
    before = everything(r.ann)
    for run in (r.nightly.propose_pruning, r.nightly.propose_merges, r.nightly.detect_contradictions, r.nightly.report):
        run()
    after = everything(r.ann)
    after["queue"] = [row for row in after["queue"] if row[0] != "proposal"]
    before["queue"] = [row for row in before["queue"] if row[0] != "proposal"]
    assert before == after
