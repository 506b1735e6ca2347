"""History, reasons, the review queue, disputes and what rests on them, and differences between views."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from engram_core.errors import InvalidAttributesError, NotFoundError
from engram_core.kinds import Contact, Fact, Person
from engram_core.results import ReviewRow
from engram_core.values import EvidenceRef, assistant, ephemeral, private, restricted, shared, until
from engram_core.view import View
from engram_core.vocab import EvidenceType, ReviewReason
from tests.reads.shelves import START, desk


def reasons(session: View, **more: Any) -> list[tuple[str, str | None]]:
    return [(row.reason.value, row.memory_id) for row in session.reviews(**more)]


# -- history ------------------------------------------------------------------------------------------


def test_a_users_history_is_whole() -> None:
    """Every event in order, typed and readable, with batch and place; also of what was deleted."""
    d = desk()
    id = d.ann.remember(Fact("a"), tags=["x"])
    d.clock.move(days=1)
    batch = d.ann.confirm(id).batch_id
    d.ann.delete(id)
    rows = d.ann.history(id)
    assert [row.type for row in rows] == ["MemoryCreated", "MemoryConfirmed", "MemoryDeleted"]
    assert rows[0].details["attributes"] == {"statement": "a"}
    assert (rows[1].at, rows[1].revision, rows[1].batch_id) == (START + timedelta(days=1), 2, batch)
    assert rows[0].position is not None
    with pytest.raises(NotFoundError):
        d.bot.history(id)


def test_others_learn_only_what_happened_while_they_could_see() -> None:
    """It starts with the event that made it visible, last; places, batches and hidden ids are kept from them."""
    d = desk()
    id = d.ann.remember(Fact("a secret"), visibility=private())
    d.ann.edit(id, content="very secret")
    d.ann.set_visibility(id, shared())
    hidden = d.ann.remember(Fact("the source"), visibility=private())
    d.ann.link(id, "derived_from", hidden)
    d.ann.contradict(id, by=hidden)
    rows = d.bot.history(id)
    assert [row.type for row in rows] == ["MemoryVisibilityChanged", "MemoryLinked", "MemoryContradicted"]
    assert [row.masked for row in rows] == [False, True, True]
    assert (rows[1].details["target"], rows[2].details["by"]) == (None, None)
    assert all(row.position is None and row.batch_id is None for row in rows)
    assert hidden.memory_id is not None
    assert hidden.memory_id not in repr(rows)
    assert hidden.memory_id not in repr(d.bot.why(id))
    d.ann.set_visibility(id, private())
    d.ann.set_visibility(id, restricted(assistant("claude")))
    assert len(d.bot.history(id)) == 1
    assert len(d.ann.history(id)) == 7


# -- why ----------------------------------------------------------------------------------------------


def test_why_tells_every_change_of_confidence() -> None:
    """Before and after, by whom; evidence with its giver; what it rests on, and what rests on it."""
    d = desk()
    base = d.ann.remember(Fact("base"), evidence=[EvidenceRef(EvidenceType.QUOTE, "q")])
    built = d.ann.remember(Fact("built"), links=[("derived_from", base)])
    other = d.ann.remember(Fact("other"))
    d.ann.contradict(base, by=other)
    d.ann.confirm(base, evidence=EvidenceRef(EvidenceType.URI, "https://x.no"))
    why = d.ann.why(base)
    changes = [(change.type, change.before, round(change.after, 4)) for change in why.confidence]
    assert changes == [
        ("MemoryCreated", None, 0.95),
        ("MemoryContradicted", 0.95, 0.19),
        ("MemoryConfirmed", pytest.approx(0.19), 0.919),
    ]
    assert why.confidence[1].by == other.memory_id
    assert [(given.evidence.value, given.actor) for given in why.evidence] == [
        ("q", d.ann.get(base).source.actor),  # type: ignore[union-attr]
        ("https://x.no", d.ann.get(base).source.actor),  # type: ignore[union-attr]
    ]
    assert [m.id for m in why.supports] == [built.memory_id]
    assert [m.id for m in d.ann.why(built).rests_on] == [base.memory_id]


# -- disputes and what rests on them ------------------------------------------------------------------


def test_a_dispute_is_open_until_a_side_yields_or_is_confirmed() -> None:
    """Confirmed later by a user, resolved, superseded, archived or deleted: then it is over."""
    for end in ("confirm", "confirm_other", "resolve", "supersede", "archive", "delete"):
        d = desk()
        one, other = d.ann.remember(Fact("one")), d.ann.remember(Fact("other"))
        d.ann.contradict(one, by=other)
        assert d.ann.get(one).flags.disputed
        assert d.ann.get(other).flags.disputed
        assert [m.id for m in d.ann.recall("one")[0].disputed_by] == [other.memory_id]
        assert "disputed by" in d.ann.recall("one").as_text()
        match end:
            case "confirm":
                d.ann.confirm(one)
            case "confirm_other":
                d.ann.confirm(other)
            case "resolve":
                d.ann.resolve(one, other, keep="both")
            case "supersede":
                d.ann.supersede(one, other)
            case "archive":
                d.ann.archive(other)
            case "delete":
                d.ann.delete(other)
        assert not d.ann.get(one).flags.disputed, end
        assert ("contradiction", one.memory_id) not in reasons(d.ann)


def test_a_hidden_side_disputes_nothing() -> None:
    """The viewer sees the lowered confidence, and neither flag nor row nor importance."""
    d = desk()
    one = d.ann.remember(Fact("one"))
    other = d.ann.remember(Fact("other"), visibility=private())
    before = d.bot.get(one).importance
    d.ann.contradict(one, by=other)
    seen = d.bot.get(one)
    assert seen.confidence == pytest.approx(0.19)
    assert (seen.flags.disputed, seen.importance) == (False, before)
    assert d.bot.reviews(reason="contradiction").items == ()
    assert d.bot.reviews(reason="low_confidence").items == ()
    assert reasons(d.ann, reason="contradiction") == [("contradiction", one.memory_id)]


@pytest.mark.parametrize("cause", ["superseded", "disputed", "wrong", "deleted"])
def test_what_rests_on_fallen_ground_is_undermined(cause: str) -> None:
    """Through every step, with the way to the cause; taken back with it."""
    d = desk()
    base = d.ann.remember(Fact("base"))
    middle = d.ann.remember(Fact("middle"), links=[("derived_from", base)])
    top = d.ann.remember(Fact("top"), links=[("derived_from", middle)])
    assert not d.ann.get(top).flags
    match cause:
        case "superseded":
            done = d.ann.supersede(base, Fact("better"))
        case "disputed":
            done = d.ann.contradict(base, by=d.ann.remember(Fact("no")))
        case "wrong":
            done = d.ann.archive(base, because="wrong")
        case _:
            done = d.ann.delete(base)
    assert list(d.ann.get(top).flags) == ["undermined"]
    (basis,) = d.ann.why(top).undermined
    assert (basis.path, basis.cause) == ((top.memory_id, middle.memory_id, base.memory_id), cause)
    assert {row.memory_id for row in d.ann.reviews(reason="undermined")} == {top.memory_id, middle.memory_id}
    if cause != "deleted":
        d.ann.undo(done)
        assert not d.ann.get(top).flags


def test_archived_otherwise_it_still_carries() -> None:
    """What is obsolete was not wrong; what was merged lives on."""
    d = desk()
    base = d.ann.remember(Fact("base"))
    top = d.ann.remember(Fact("top"), links=[("derived_from", base)])
    d.ann.archive(base)
    assert not d.ann.get(top).flags


# -- the queue ----------------------------------------------------------------------------------------


def test_every_reason_has_its_row() -> None:
    """Each derived reason appears for what causes it, and goes when its cause is gone."""
    d = desk()
    remember = d.ann.remember
    doubted = remember(Fact("doubted"))
    d.ann.contradict(doubted)
    ownerless = remember(Contact(channel="email", value="a@x"))
    target = remember(Fact("target"))
    dangling = remember(Fact("dangling"), links=[("relates_to", target)])
    d.ann.delete(target)
    old = remember(Fact("old"))
    lapsed = d.ann.supersede(old, Fact("new"))
    d.ann.delete(lapsed)
    remember(Person(full_name="Alice Ng", aliases=("Ally",)))
    d.clock.move(seconds=1)
    twin = remember(Person(full_name="ally"))
    ends = remember(Fact("ends"), lifetime=until(START + timedelta(days=6)))
    remember(Fact("ends late"), lifetime=until(START + timedelta(days=60)))
    brief = remember(Fact("brief"), lifetime=ephemeral())
    expected = {
        ("low_confidence", doubted.memory_id),
        ("stale", doubted.memory_id),
        ("supersession_lapsed", old.memory_id),
        ("expiring", ends.memory_id),
        ("duplicate", twin.memory_id),
        ("dangling_edge", dangling.memory_id),
        ("ownerless_contact", ownerless.memory_id),
    }
    assert set(reasons(d.ann)) == expected
    assert [row.reason for row in d.ann.reviews()] == sorted(
        (row.reason for row in d.ann.reviews()), key=list(ReviewReason).index
    )
    assert all(row.actions for row in d.ann.reviews())
    assert ("expiring", brief.memory_id) in reasons(d.ann.at(START + timedelta(days=4)))
    d.ann.confirm(doubted)
    d.ann.confirm(old)
    d.ann.unlink(dangling, "relates_to", target)
    d.ann.pin(ends)
    d.ann.archive(twin)
    d.ann.archive(ownerless)
    assert reasons(d.ann) == []


def test_pages_of_the_queue_join() -> None:
    """Ordered by reason, importance, age and id; cursors lead from page to page."""
    d = desk()
    for number in range(9):
        d.clock.move(seconds=1)
        d.ann.remember(Contact(channel="email", value=f"{number}@x"), pinned=number % 4 == 0)
    whole = d.ann.reviews(limit=1000).items
    assert len(whole) == 9
    rows: list[ReviewRow] = []
    after = None
    while True:
        page = d.ann.reviews(limit=2, after=after)
        rows += page
        after = page.next
        if after is None:
            break
    assert tuple(rows) == whole
    assert [d.ann.get(row.memory_id).pinned for row in whole[:4]] == [True, True, True, False]
    with pytest.raises(InvalidAttributesError, match="after"):
        d.ann.reviews(reason="stale", after=d.ann.reviews(limit=2).next)
    with pytest.raises(InvalidAttributesError, match="contradiction"):
        d.ann.reviews(reason="because")


def test_proposals_are_read_by_users_and_their_authors() -> None:
    """Everybody else's are as absent."""
    d = desk()
    p = d.bot.remember(Fact("perhaps"))
    assert p.proposal_id is not None
    other = d.space.session(assistant("other"))
    assert [one.id for one in d.ann.proposals()] == [one.id for one in d.bot.proposals()] == [p.proposal_id]
    assert (len(other.proposals()), other.reviews().items) == (0, ())
    assert d.ann.proposal(p).status == "open"
    with pytest.raises(NotFoundError):
        other.proposal(p)
    assert [row.proposal_id for row in d.ann.reviews(reason="proposal")] == [p.proposal_id]
    d.ann.approve(p)
    assert (len(d.ann.proposals()), len(d.ann.proposals(status="merged")), len(d.ann.proposals(status=None))) == (
        0,
        1,
        1,
    )
    assert d.ann.why(p).proposal_id == p.proposal_id
    assert not d.ann.reviews()


# -- differences --------------------------------------------------------------------------------------


def test_a_diff_says_what_changed_and_why() -> None:
    """What appeared, went and changed between two instants, with the events that made it so."""
    d = desk()
    kept, edited, gone = (d.ann.remember(Fact(text)) for text in ("kept", "edited", "gone"))
    before = d.ann.as_of(known_at=START)
    d.clock.move(days=1)
    d.ann.edit(edited, content="more")
    d.ann.archive(gone)
    new = d.ann.remember(Fact("new"))
    changed = before.diff(d.ann)
    assert [(row.change, row.memory_id, row.fields, [h.type for h in row.because]) for row in changed] == [
        ("appeared", new.memory_id, (), ["MemoryCreated"]),
        ("gone", gone.memory_id, ("status",), ["MemoryArchived"]),
        ("changed", edited.memory_id, ("content",), ["MemoryEdited"]),
    ]
    assert not before.diff(before)
    assert kept.memory_id not in {row.memory_id for row in changed}
    faded = d.ann.diff(d.ann.at(START + timedelta(days=4000)))
    assert {(row.change, row.fields) for row in faded} == {("changed", ("status", "flags"))}
