"""Quarantine: all that one source said is proposed to be archived as wrong, and nothing else is touched."""

from __future__ import annotations

import pytest

from engram_core.approval import ApprovalPolicy
from engram_core.errors import RejectedError
from engram_core.kinds import Fact, Person
from engram_core.policy import Limits
from engram_core.values import assistant, importer, private
from tests.governance.rooms import Room, everything, room


@pytest.fixture
def r() -> Room:
    """A space in which assistants create on their own, and one session was poisoned."""
    return room(approval=ApprovalPolicy.of({"assistant": ["create", "link"], "importer": ["create"]}))


def test_it_proposes_and_names_what_would_fall(r: Room) -> None:
    """One proposal for the whole source; what rests on it is named; not a thing changes before a user decides."""
    bad = r.space.session(assistant("claude"), session_id="poisoned")
    good = r.bot.remember(Fact("a good one"))
    lies = [bad.remember(Fact(f"lie {n}")) for n in range(5)]
    first = r.ann.remember(Fact("first step"), links=[("derived_from", lies[0])])
    obsolete = r.ann.remember(Fact("between"), links=[("derived_from", first)])
    r.ann.archive(obsolete)
    last = r.ann.remember(Fact("last step"), links=[("derived_from", obsolete)])
    inside = bad.remember(Fact("lie upon lies"), links=[("derived_from", lies[1])])
    before = everything(r.ann)
    receipt = r.ann.quarantine(session_id="poisoned")
    assert "proposed" == receipt.status
    assert [(first.memory_id, "undermined"), (last.memory_id, "undermined")] == [
        (c.memory_id, c.reason) for c in receipt.possible_conflicts
    ]
    after = everything(r.ann)
    assert before["memories"] == after["memories"]
    proposal = r.ann.proposal(receipt)
    assert {m.memory_id for m in (*lies, inside)} == {d.memory_id for d in proposal.drafts}
    merged = r.ann.approve(receipt)
    assert {"archived"} == {str(r.ann.get(m).status) for m in (*lies, inside)}
    assert "active" == r.ann.get(good).status
    assert {first.memory_id, last.memory_id} == {m.id for m in r.ann.find_all() if m.flags.undermined}
    r.ann.undo(merged)
    assert before["memories"] == everything(r.ann)["memories"]


def test_sources_are_sessions_actors_and_references(r: Room) -> None:
    """What is given must all fit; a drafter is a source, too, when another merged."""
    cards = r.space.session(importer("vcard"))
    one = cards.remember(Fact("from a file"), source_ref="a.vcf")
    two = cards.remember(Fact("from another file"), source_ref="b.vcf")
    drafted = r.space.session(assistant("other")).remember(Fact("trusted"))
    waiting = r.space.session(importer("x")).tag(one, "t")
    assert "proposed" == waiting.status
    cases = {
        (one.memory_id, two.memory_id): {"actor": importer("vcard")},
        (two.memory_id,): {"actor": importer("vcard"), "source_ref": "b.vcf"},
        (drafted.memory_id,): {"actor": assistant("other")},
    }
    for expected, source in cases.items():
        receipt = r.ann.quarantine(**source)  # type: ignore[arg-type]
        assert expected == tuple(d.memory_id for d in r.ann.proposal(receipt).drafts)
        r.ann.reject(receipt)
    assert "unchanged" == r.ann.quarantine(session_id="nobody").status
    with pytest.raises(RejectedError):
        r.ann.quarantine()


def test_what_an_assistant_drafted_and_a_user_merged_came_from_the_assistant() -> None:
    """Its session is the source, not the session of the reviewer."""
    r = room()
    receipt = r.bot.remember(Fact("x"))
    r.ann.approve(receipt)
    found = r.ann.quarantine(session_id="s-42", actor=assistant("claude"))
    assert [receipt.memory_id] == [d.memory_id for d in r.ann.proposal(found).drafts]


def test_asking_twice_is_asking_once(r: Room) -> None:
    """The second time answers with the proposal that waits."""
    r.space.session(assistant("claude"), session_id="poisoned").remember(Fact("lie"))
    first, second = r.ann.quarantine(session_id="poisoned"), r.ann.quarantine(session_id="poisoned")
    assert ("duplicate", first.proposal_id) == (second.status, second.proposal_id)


def test_it_holds_more_than_a_proposal_otherwise_may() -> None:
    """A source is judged as a whole, however much it said."""
    r = room(approval=ApprovalPolicy.of({"assistant": ["create"]}), limits=Limits(drafts=3))
    for n in range(7):
        r.bot.remember(Fact(f"lie {n}"))
    assert 7 == len(r.ann.proposal(r.ann.quarantine(session_id="s-42")).drafts)


def test_merged_sources_carry_what_rests_on_them(r: Room) -> None:
    """What was derived from a merged source rests on the survivor."""
    bad = r.space.session(assistant("claude"), session_id="poisoned").remember(Person("Alice Ng"))
    good = r.ann.remember(Person("A. Ng"))
    rests = r.ann.remember(Fact("she cooks"), links=[("derived_from", good)])
    r.ann.merge(bad, good)
    assert [rests.memory_id] == [c.memory_id for c in r.ann.quarantine(session_id="poisoned").possible_conflicts]


def test_an_assistant_quarantines_only_what_it_sees(r: Room) -> None:
    """Hidden memories of the source are neither in its proposal nor counted in its words."""
    bad = r.space.session(assistant("claude"), session_id="poisoned")
    lie, other = bad.remember(Fact("lie")), bad.remember(Fact("another lie"))
    r.ann.remember(Fact("secret"), links=[("derived_from", lie)], visibility=private())
    r.ann.set_visibility(other, private())
    receipt = r.bot.quarantine(session_id="poisoned")
    proposal = r.bot.proposal(receipt)
    assert ([lie.memory_id], ()) == ([d.memory_id for d in proposal.drafts], receipt.possible_conflicts)
    assert "1 memories" in proposal.rationale
    assert "0 others" in proposal.rationale
