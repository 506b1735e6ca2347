"""Recorders: the same verbs, run together as one batch, as one proposal, or as a rehearsal that writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_core.errors import ConflictError, RejectedError
from engram_core.kinds import Fact, Person
from engram_core.values import EvidenceRef
from tests.governance.acts import ACTS, world
from tests.governance.rooms import Room, everything, room


@pytest.fixture(params=["memory", "file"])
def r(request: pytest.FixtureRequest, tmp_path: Path) -> Room:
    return room(tmp_path / "brain.db" if request.param == "file" else None)


def test_a_batch_is_one(r: Room) -> None:
    """All verbs under one batch id, each seeing those before it; the true receipts come afterwards."""
    with r.ann.batch() as b:
        alice = b.remember(Person("Alice Ng"))
        again = b.remember(Fact("she sings"), links=[("about", alice)])
        b.tag(again, "music")
        b.edit(again, content="Loudly.")
        assert 0 == r.ann.count()
        assert () == b.receipts
    assert ["created", "created", "changed", "changed"] == [x.status for x in b.receipts]
    assert {b.batch_id} == {x.batch_id for x in b.receipts}
    assert ("Loudly.", ("music",)) == (r.ann.get(again).content, r.ann.get(again).tags)
    r.ann.undo(b.receipt)
    assert 0 == r.ann.count()


@pytest.mark.parametrize("where", ["within", "at the end"])
def test_a_batch_that_fails_leaves_nothing(r: Room, where: str) -> None:
    """Whether the block raises, or a verb is refused when it is run."""
    target = r.ann.remember(Fact("x"))
    before = r.space.position

    def fail() -> None:
        with r.ann.batch() as b:
            b.remember(Fact("y"))
            if where == "within":
                raise ZeroDivisionError
            b.link(target, "relates_to", target)

    with pytest.raises((ConflictError, ZeroDivisionError)):
        fail()
    assert before == r.space.position


def test_a_recorder_ends_with_its_block(r: Room) -> None:
    """Afterwards it takes no verbs; an empty one does nothing."""
    with r.ann.batch() as b:
        pass
    assert (None, "unchanged", ()) == (b.batch_id, b.receipt.status, b.receipts)
    with pytest.raises(RejectedError):
        b.remember(Fact("x"))
    with pytest.raises(RejectedError), r.ann.batch() as c:
        c.remember(Fact("x"), command_id="k")
    assert 0 == r.space.position


def test_twins_within_a_batch_are_one(r: Room) -> None:
    """Later verbs mean the one that is there."""
    with r.ann.batch() as b:
        one = b.remember(Fact("x"))
        two = b.remember(Fact("x"))
        b.tag(two, "t")
    assert ["created", "duplicate", "changed"] == [x.status for x in b.receipts]
    assert ("t",) == r.ann.get(one).tags
    assert 1 == r.ann.count()


def test_what_ended_within_a_batch_is_no_twin(r: Room) -> None:
    """What the same batch archived before is remembered anew."""
    known = r.ann.remember(Fact("x"))
    with r.ann.batch() as b:
        b.archive(known)
        new = b.remember(Fact("x"))
    assert ["changed", "created"] == [x.status for x in b.receipts]
    assert "active" == r.ann.get(new).status


@pytest.mark.parametrize("name", sorted(set(ACTS) - {"approve", "update by another", "batch"}))
def test_a_preview_shows_what_would_happen_and_writes_nothing(r: Room, name: str) -> None:
    """The events of each verb, as they are written when it is really run; no answer, position or byte changes."""
    w = world(r)
    before = everything(r.ann), r.space.position, r.space.anchor()
    with r.ann.preview() as p:
        ACTS[name](Room(r.space, r.clock, p, r.bot, r.nightly), w)  # type: ignore[arg-type]
    assert before == (everything(r.ann), r.space.position, r.space.anchor())
    real = ACTS[name](r, w)
    written = [e for e in r.space.events() if e.batch_id == real.batch_id]
    assert [type(e.event) for e in written] == [type(event) for event in p.events]
    assert not r.nightly.verify().problems


def test_a_preview_shows_the_rows_that_would_wait(r: Room) -> None:
    """What would enter the review queue, and only that."""
    one, two = r.ann.remember(Fact("one")), r.ann.remember(Fact("two"))
    rests = r.ann.remember(Fact("three"), links=[("derived_from", one)])
    with r.ann.preview() as p:
        p.contradict(one, by=two)
        new = p.remember(Fact("four"), links=[("derived_from", one)])
    found = {(str(row.reason), row.memory_id) for row in p.reviews}
    assert {
        ("contradiction", one.memory_id),
        ("undermined", rests.memory_id),
        ("undermined", new.memory_id),
    } <= found
    assert [] == [row for row in r.ann.reviews() if str(row.reason) in ("contradiction", "undermined")]


def test_a_preview_by_an_assistant_shows_the_proposal(r: Room) -> None:
    """What it asks for would wait, and its preview says so."""
    memory = r.ann.remember(Fact("x"))
    with r.bot.preview() as p:
        p.tag(memory, "t")
    assert ["ProposalOpened", "DraftAdded"] == [type(event).__name__ for event in p.events]
    assert ["proposal"] == [str(row.reason) for row in p.reviews]
    assert 0 == len(r.ann.proposals())


def test_a_preview_is_refused_like_the_real_thing(r: Room) -> None:
    """With the same error."""
    memory = r.ann.remember(Fact("x"))
    with pytest.raises(ConflictError), r.ann.preview() as p:
        p.link(memory, "relates_to", memory)


def test_a_proposal_says_why(r: Room) -> None:
    """Title, rationale and evidence are read by whoever decides."""
    with r.bot.proposal("Tidy up", rationale="heard today", evidence=EvidenceRef("quote", "so")) as p:
        p.remember(Fact("x"))
    proposal = r.ann.proposal(p.receipt)
    assert ("Tidy up", "heard today", ["so"]) == (
        proposal.title,
        proposal.rationale,
        [ref.value for ref in proposal.evidence],
    )
    with r.bot.proposal("Nothing") as empty:
        pass
    assert None is empty.proposal_id
