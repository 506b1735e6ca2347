"""Reserved ids: the id of a draft is its author's, whatever becomes of the draft; it is refused like any taken one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from engram_core.approval import ApprovalPolicy
from engram_core.errors import ConflictError, EngramError
from engram_core.kinds import Fact
from engram_core.values import importer
from tests.governance.rooms import Room, room

OWN = str(UUID(int=0x0192_0000_0000_7000_8000_0000_0000_0001))


@pytest.fixture
def r() -> Room:
    return room()


def left_open(_: Room, __: Any) -> None:
    """Nobody has decided yet."""


ENDS: dict[str, Callable[[Room, Any], object]] = {
    "open": left_open,
    "rejected": lambda r, p: r.ann.reject(p),
    "withdrawn": lambda r, p: r.ann.withdraw(p),
    "merged": lambda r, p: r.ann.approve(p),
    "undone": lambda r, p: r.ann.undo(r.ann.approve(p)),
}


def refusal(act: Any) -> tuple[str, str]:
    with pytest.raises(ConflictError) as caught:
        act()
    return type(caught.value).__name__, caught.value.message


@pytest.mark.parametrize("end", ENDS)
def test_nobody_else_takes_the_id_of_a_draft(r: Room, end: str) -> None:
    """Neither a user nor another importer, and in the words in which any taken id is refused."""
    drafted = r.bot.remember(Fact("an idea"))
    assert drafted.memory_id is not None
    ENDS[end](r, drafted)
    taken = r.ann.remember(Fact("there"))
    other = r.space.session(importer("vcard"))
    for session in (r.ann, other):
        told = refusal(lambda session=session: session.remember(Fact("mine now"), id=drafted.memory_id))
        usual = refusal(lambda session=session: session.remember(Fact("mine now"), id=taken.memory_id))
        assert usual == (told[0], told[1].replace(drafted.memory_id, str(taken.memory_id)))
    with pytest.raises(ConflictError), r.ann.batch() as b:
        b.remember(Fact("mine now"), id=drafted.memory_id)
    if end == "open":
        r.ann.approve(drafted)
        assert "an idea" == r.ann.get(drafted).attributes.statement


def test_ones_own_draft_is_one(r: Room) -> None:
    """The same draft under the same id twice is one; another one under that id is refused until the first is closed."""
    vcard = r.space.session(importer("vcard"))
    first = vcard.remember(Fact("a card"), id=OWN)
    again = vcard.remember(Fact("a card"), id=OWN)
    assert ("proposed", "duplicate") == (first.status, again.status)
    assert (first.proposal_id, OWN) == (again.proposal_id, again.memory_id)
    refusal(lambda: vcard.remember(Fact("another card"), id=OWN))
    r.ann.reject(first)
    better = vcard.remember(Fact("another card"), id=OWN)
    assert "proposed" == better.status
    r.ann.approve(better)
    assert "another card" == r.ann.get(OWN).attributes.statement


def test_an_author_does_not_write_past_his_own_draft(r: Room) -> None:
    """A user whose own draft waits under an id decides it, or takes it back, before he uses the id."""
    with r.ann.proposal("perhaps") as p:
        p.remember(Fact("perhaps"), id=OWN)
    refusal(lambda: r.ann.remember(Fact("perhaps"), id=OWN))
    r.ann.withdraw(p.receipt)
    assert "created" == r.ann.remember(Fact("for sure"), id=OWN).status


def test_a_draft_sees_that_its_id_was_taken_all_the_same(r: Room) -> None:
    """A history in which it has been so is told by the draft's number, and is not written on."""
    drafted = r.bot.remember(Fact("an idea"))
    space = r.space
    engine: Any = space._engine
    with engine.host.transaction() as tx:
        tx.execute("DELETE FROM drafts")  # as if nobody had reserved it
    r.ann.remember(Fact("mine now"), id=drafted.memory_id)
    position = space.position
    with pytest.raises(EngramError, match="is taken") as caught:
        r.ann.approve(drafted)
    assert 1 == caught.value.fields["draft"]
    assert position == space.position


def test_where_all_is_allowed_an_importer_keeps_his_ids() -> None:
    """Importers that need no approval write under their own ids at once, and are told `duplicate` the second time."""
    r = room(approval=ApprovalPolicy.of({"importer": ["create"]}))
    vcard = r.space.session(importer("vcard"))
    card = [("vcard", "1")]
    assert "created" == vcard.remember(Fact("a card"), id=OWN, external_ids=card).status
    assert "duplicate" == vcard.remember(Fact("a card"), id=OWN, external_ids=card).status
