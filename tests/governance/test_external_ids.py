"""External ids: whatever brings a memory back or moves it, one audience has one bearer of an id."""

from __future__ import annotations

from typing import Any

import pytest

from engram_core.approval import ApprovalPolicy
from engram_core.errors import ConflictError
from engram_core.kinds import Fact
from engram_core.values import assistant, private, restricted, shared
from tests.governance.rooms import Room, room

BOT = assistant("claude")
CARD = [("vcard", "7")]


@pytest.fixture
def r() -> Room:
    return room()


def borne(r: Room, **audience: Any) -> str:
    """A memory that bears the id, in an audience."""
    receipt = r.ann.remember(Fact(statement=f"of {r.ann.count(status=None)}"), external_ids=CARD, **audience)
    assert "created" == receipt.status
    assert receipt.memory_id is not None
    return receipt.memory_id


def refused(r: Room, other: str, act: Any) -> None:
    """The act is refused, names the other bearer, and changes nothing."""
    before = r.space.position
    with pytest.raises(ConflictError, match="bears the external id") as caught:
        act()
    assert other == caught.value.fields["other_id"]
    assert before == r.space.position


def test_two_audiences_may_each_have_a_bearer(r: Room) -> None:
    """The same id is borne once in each audience, and whoever remembers it gets that audience's bearer back."""
    audiences = (shared(), private(), restricted(BOT))
    ids = [borne(r, visibility=audience) for audience in audiences]
    assert 3 == len(set(ids))
    for id, audience in zip(ids, audiences, strict=True):
        again = r.ann.remember(Fact(statement="anew"), external_ids=CARD, visibility=audience)
        assert ("duplicate", id) == (again.status, again.memory_id)


def test_a_batch_keeps_audiences_apart(r: Room) -> None:
    """Within one batch, too, an id leads only to a bearer of the same audience."""
    with r.ann.batch() as b:
        b.remember(Fact(statement="one"), external_ids=CARD)
        b.remember(Fact(statement="two"), external_ids=CARD, visibility=private())
        b.remember(Fact(statement="three"), external_ids=CARD)
    assert ["created", "created", "duplicate"] == [receipt.status for receipt in b.receipts]


def test_a_batch_sees_what_it_moved_itself(r: Room) -> None:
    """A bearer that left its audience, or was deleted, earlier in a batch is none of it any more."""
    old = borne(r)
    with r.ann.batch() as b:
        b.set_visibility(old, private())
        b.remember(Fact(statement="its heir"), external_ids=CARD)
    assert "created" == b.receipts[1].status
    heir = b.receipts[1].memory_id
    assert heir is not None
    with r.ann.batch() as b:
        b.delete(heir)
        b.remember(Fact(statement="the next one"), external_ids=CARD)
    assert "created" == b.receipts[1].status


def test_an_audience_is_not_entered_twice(r: Room) -> None:
    """Visibility does not change into an audience that has a bearer."""
    one, two = borne(r), borne(r, visibility=private())
    refused(r, one, lambda: r.ann.set_visibility(two, shared()))
    refused(r, two, lambda: r.ann.set_visibility(one, private()))
    r.ann.archive(one)
    refused(r, one, lambda: r.ann.set_visibility(two, shared()))
    r.ann.delete(one)
    assert "changed" == r.ann.set_visibility(two, shared()).status


def test_two_may_change_places_in_one_batch(r: Room) -> None:
    """What counts is what a batch leaves behind."""
    one, two = borne(r), borne(r, visibility=private())
    with r.ann.batch() as b:
        b.set_visibility(one, private())
        b.set_visibility(two, shared())
    assert (private(), shared()) == (r.ann.get(one).visibility, r.ann.get(two).visibility)


def test_undo_and_redo_do_not_bring_two_together(r: Room) -> None:
    """A change of audience is neither undone nor redone where another memory bears the id by now."""
    one = borne(r)
    moved = r.ann.set_visibility(one, private())
    two = borne(r)
    refused(r, two, lambda: r.ann.undo(moved))
    r.ann.delete(two)
    r.ann.undo(moved)
    three = borne(r, visibility=private())
    refused(r, three, lambda: r.ann.redo(moved))


def test_a_beginning_does_not_come_back_beside_its_heir(r: Room) -> None:
    """What was undone and remembered anew is not redone as a second bearer."""
    first = r.ann.remember(Fact(statement="first"), external_ids=CARD)
    r.ann.undo(first)
    second = r.ann.remember(Fact(statement="second"), external_ids=CARD)
    assert second.memory_id is not None
    assert "created" == second.status
    refused(r, second.memory_id, lambda: r.ann.redo(first))
    r.ann.undo(second)
    assert "changed" == r.ann.redo(first).status
    refused(r, str(first.memory_id), lambda: r.ann.redo(second))


def test_a_late_draft_does_not_bring_two_together(r: Room) -> None:
    """A draft that was fine when it was made is refused at the merge, if its audience has a bearer by then."""
    mine = borne(r, visibility=restricted(BOT))
    drafted = r.bot.set_visibility(mine, shared())
    assert "proposed" == drafted.status
    late = r.bot.remember(Fact(statement="late"), external_ids=CARD)
    assert "proposed" == late.status
    meanwhile = borne(r)
    refused(r, meanwhile, lambda: r.ann.approve(drafted))
    assert ("open", "open") == tuple(r.ann.proposal(p).status for p in (drafted, late))
    r.ann.approve(late)
    assert 2 == r.ann.count(status=None)


def test_an_assistant_is_not_told_of_what_is_hidden() -> None:
    """A policy may let assistants move what they see; bearers in other audiences are none of their business."""
    r = room(approval=ApprovalPolicy.of({"assistant": {"create", "visibility"}}))
    hidden = borne(r, visibility=private())
    mine = r.bot.remember(Fact(statement="mine"), external_ids=CARD)
    assert "created" == mine.status
    assert "changed" == r.bot.set_visibility(mine, restricted(BOT)).status
    assert "changed" == r.bot.set_visibility(mine, shared()).status
    refused(r, str(mine.memory_id), lambda: r.ann.set_visibility(hidden, shared()))


def test_what_never_left_is_not_looked_at(r: Room) -> None:
    """Archived and merged bearers keep their ids, so that coming back from there is never refused."""
    one = borne(r)
    r.ann.archive(one)
    again = r.ann.remember(Fact(statement="again"), external_ids=CARD)
    assert ("duplicate", one) == (again.status, again.memory_id)
    assert "changed" == r.ann.restore(one).status
