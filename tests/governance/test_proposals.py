"""Proposals: what waits, who decides, what a decision writes, and what it leaves behind."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from engram_core.approval import ApprovalPolicy
from engram_core.errors import ConflictError, ForbiddenError, IllegalTransitionError, NotFoundError, RejectedError
from engram_core.kinds import Fact, Person, Preference
from engram_core.values import EvidenceRef, assistant, ephemeral, importer, plugin, restricted, system, until, user
from engram_core.vocab import ActorKind
from tests.governance.rooms import Room, room

OTHERS = [assistant("claude"), plugin("x"), importer("vcard"), system("nightly")]


@pytest.fixture
def r() -> Room:
    return room()


def statements(session: Any) -> list[str]:
    return sorted(m.attributes.statement for m in session.find(kind="fact"))


@pytest.mark.parametrize("actor", OTHERS, ids=str)
def test_whatever_others_ask_for_waits(r: Room, actor: Any) -> None:
    """By default nobody but a user changes anything; the answer is a receipt like any other."""
    other = r.space.session(actor)
    receipt = other.remember(Fact("The sky is green"))
    assert ("proposed", []) == (receipt.status, statements(r.ann))
    assert receipt.memory_id is not None
    with pytest.raises(NotFoundError):
        r.ann.get(receipt)
    r.ann.approve(receipt)
    assert "The sky is green" == r.ann.get(receipt).attributes.statement
    assert actor == r.ann.get(receipt).source.on_behalf_of


def test_a_merge_is_one_batch_that_leads_back_to_the_proposal(r: Room) -> None:
    """All events share a batch and name the proposal as their cause; actor is who merged, on_behalf_of who drafted."""
    with r.bot.proposal("Two things", rationale="heard today") as p:
        one = p.remember(Fact("one"))
        p.remember(Fact("two"), links=[("derived_from", one)])
        p.tag(one, "heard")
    receipt = r.ann.approve(p.receipt)
    events = [e for e in r.space.events() if e.batch_id == receipt.batch_id]
    assert ["MemoryCreated", "MemoryTagged", "MemoryCreated", "ProposalMerged"] == [e.type for e in events]
    assert {p.proposal_id} == {e.causation_id for e in events}
    assert {(user("ann"), assistant("claude"), "s-42")} == {
        (e.actor, e.on_behalf_of, e.session_id) for e in events if e.type != "ProposalMerged"
    }
    proposal = r.ann.proposal(p.receipt)
    assert ("merged", receipt.batch_id, user("ann")) == (proposal.status, proposal.batch_id, proposal.decided_by)
    assert p.proposal_id == r.ann.why(one).proposal_id


def test_a_merge_happens_when_it_was_drafted_and_is_recorded_when_it_is_merged(r: Room) -> None:
    """occurred_at is the drafting, recorded_at the merge; the drafter's prior and weights count."""
    drafted = r.clock.now()
    receipt = r.bot.remember(Fact("x"))
    merged = r.clock.move(days=3)
    r.ann.approve(receipt)
    (created,) = [e for e in r.space.events() if e.type == "MemoryCreated"]
    assert (drafted, merged) == (created.occurred_at, created.recorded_at)
    assert (0.60, drafted) == (r.ann.get(receipt).confidence, r.ann.get(receipt).created_at)
    confirmed = r.bot.confirm(receipt)
    r.ann.approve(confirmed)
    assert 0.76 == pytest.approx(r.ann.get(receipt).confidence)


def test_approving_may_vouch(r: Room) -> None:
    """`confirm=True` adds a user's confirmation, by the user who merges."""
    receipt = r.bot.remember(Fact("x"))
    r.ann.approve(receipt, confirm=True)
    memory = r.ann.get(receipt)
    assert 0.96 == pytest.approx(memory.confidence)
    assert r.clock.now() == memory.last_confirmed_at


def test_vouching_goes_to_what_is_asserted(r: Room) -> None:
    """Of a supersession the new memory is vouched for, of a dispute the disputing one, of an archiving none."""
    old, new, doubted, ground, wrong = (r.ann.remember(Fact(f"fact {n}"), confidence=0.5) for n in range(5))
    with r.bot.proposal("several") as p:
        p.supersede(old, new)
        p.contradict(doubted, by=ground)
        p.archive(wrong)
    r.ann.approve(p.receipt, confirm=True)
    confidences = [r.ann.get(m).confidence for m in (old, new, doubted, ground, wrong)]
    assert [0.5, 0.95, 0.4, 0.95, 0.5] == pytest.approx(confidences)


def test_parts_are_accepted_and_rejected_one_by_one(r: Room) -> None:
    """`only=` decides some drafts; the rest stays open, and the proposal closes with the last one, as merged."""
    with r.bot.proposal("three") as p:
        receipts = [p.remember(Fact(text)) for text in ("one", "two", "three")]
    r.ann.approve(p.receipt, only=[2])
    assert ("open", ["two"]) == (r.ann.proposal(p.receipt).status, statements(r.ann))
    r.ann.reject(p.receipt, only=[1], note="never heard of it")
    assert "open" == r.ann.proposal(p.receipt).status
    r.ann.approve(p.receipt)
    proposal = r.ann.proposal(p.receipt)
    assert ["rejected", "merged", "merged"] == [str(d.status) for d in proposal.drafts]
    assert ("merged", ["three", "two"]) == (proposal.status, statements(r.ann))
    with pytest.raises(NotFoundError):
        r.ann.get(receipts[0])
    with pytest.raises(IllegalTransitionError):
        r.ann.approve(p.receipt)


@pytest.mark.parametrize("only", [[], [0], [3], [1, 7]])
def test_only_open_drafts_can_be_named(r: Room, only: list[int]) -> None:
    """An unknown number, or none at all, is refused, and nothing is written."""
    with r.bot.proposal("two") as p:
        p.remember(Fact("one"))
        p.remember(Fact("two"))
    before = r.space.position
    with pytest.raises(RejectedError):
        r.ann.approve(p.receipt, only=only)
    assert before == r.space.position


def test_what_was_rejected_is_kept(r: Room) -> None:
    """A rejected proposal explains what was not believed, and why; a withdrawn one is kept, too."""
    no = r.bot.remember(Fact("The moon is cheese"))
    back = r.bot.remember(Fact("The moon is far"))
    r.ann.reject(no, note="come on")
    r.bot.withdraw(back)
    rejected, withdrawn = r.ann.proposal(no), r.ann.proposal(back)
    assert ("rejected", "come on") == (rejected.status, rejected.note)
    assert "The moon is cheese" == rejected.drafts[0].command.attributes["statement"]
    assert "withdrawn" == withdrawn.status
    assert [] == [p.id for p in r.ann.proposals()]
    assert 2 == len(r.ann.proposals(status=None))
    assert [] == statements(r.ann)


def test_nobody_but_a_user_decides(r: Room) -> None:
    """No non-user approves or rejects, not even his own; a user withdraws anybody's, others only theirs."""
    receipt = r.bot.remember(Fact("x"))
    for actor in OTHERS:
        other = r.space.session(actor)
        for decide in (other.approve, other.reject):
            with pytest.raises((ForbiddenError, NotFoundError)):
                decide(receipt)
    with pytest.raises(NotFoundError):
        r.space.session(assistant("other")).withdraw(receipt)
    assert "changed" == r.ann.withdraw(receipt).status


def test_others_see_only_their_own_proposals(r: Room) -> None:
    """A foreign proposal looks like one that is not there, in every read and every verb."""
    receipt = r.bot.remember(Fact("x"))
    other = r.space.session(assistant("other"))
    assert (0, 1, 1) == tuple(len(s.proposals()) for s in (other, r.bot, r.ann))
    assert [] == list(other.reviews())
    for read in (other.proposal, other.rebase, other.withdraw):
        with pytest.raises(NotFoundError) as foreign:
            read(receipt.proposal_id)
        with pytest.raises(NotFoundError) as absent:
            read("00000000-0000-7000-8000-000000000000")
        assert str(absent.value).replace("00000000-0000-7000-8000-000000000000", receipt.proposal_id or "") == str(
            foreign.value
        )


def test_later_drafts_may_link_to_what_was_only_proposed(r: Room) -> None:
    """A reserved id can be linked to by its author's later proposals, and by nobody else's."""
    alice = r.bot.remember(Person("Alice Ng"))
    fact = r.bot.remember(Fact("Alice sings"), links=[("about", alice)])
    assert ("proposed", "proposed") == (alice.status, fact.status)
    assert alice.proposal_id != fact.proposal_id
    for stranger in (r.space.session(assistant("other")), r.ann):
        with pytest.raises(NotFoundError):
            stranger.remember(Fact("Alice sings"), links=[("about", alice)])
    with pytest.raises(NotFoundError) as too_early:
        r.ann.approve(fact)
    assert 1 == too_early.value.fields["draft"]
    r.ann.approve(alice)
    r.ann.approve(fact)
    assert [fact.memory_id] == [n.memory.id for n in r.ann.neighbours(alice)]


def test_the_same_draft_twice_is_one(r: Room) -> None:
    """An identical open draft by the same actor is a duplicate that names the proposal; another actor's is not."""
    memory = r.ann.remember(Fact("known"))
    for ask in (lambda s: s.remember(Fact("new"), tags=("t",)), lambda s: s.tag(memory, "t")):
        first, second = ask(r.bot), ask(r.bot)
        assert ("duplicate", first.proposal_id, first.memory_id) == (
            second.status,
            second.proposal_id,
            second.memory_id,
        )
        assert "proposed" == ask(r.space.session(assistant("other"))).status
    assert 4 == len(r.ann.proposals())


def test_a_draft_of_what_is_there_is_a_duplicate_of_it(r: Room) -> None:
    """Nothing waits for a user when the memory exists, or when nothing would change."""
    known = r.ann.remember(Fact("known"), tags=("t",))
    again = r.bot.remember(Fact("known"))
    assert ("duplicate", known.memory_id, None) == (again.status, again.memory_id, again.proposal_id)
    assert ("unchanged", None) == (r.bot.tag(known, "t").status, r.bot.tag(known, "t").proposal_id)
    assert 0 == len(r.ann.proposals())


def test_drafts_that_turn_out_to_be_there_are_merged_into_nothing(r: Room) -> None:
    """If the memory came to be in the meantime, merging stores nothing twice; links go to the one that is there."""
    with r.bot.proposal("late") as p:
        alice = p.remember(Fact("the ground"))
        p.remember(Fact("the conclusion"), links=[("derived_from", alice)])
    known = r.ann.remember(Fact("the ground"))
    r.ann.approve(p.receipt)
    (conclusion,) = [m for m in r.ann.find() if m.attributes.statement == "the conclusion"]
    assert [known.memory_id] == [link.target for link in conclusion.links]
    assert 2 == r.ann.count()


def test_a_draft_conflicts_only_with_a_change_of_the_same_fields(r: Room) -> None:
    """Another field group may change under a draft, which then rebases silently; the same one is a conflict."""
    memory = r.ann.remember(Fact("x"), content="old")
    silent, loud = r.bot.tag(memory, "t"), r.bot.edit(memory, content="new")
    r.ann.edit(memory, content="other")
    r.ann.approve(silent)
    with pytest.raises(ConflictError) as conflict:
        r.ann.approve(loud)
    assert (1, memory.memory_id) == (conflict.value.fields["draft"], conflict.value.fields["memory_id"])
    shown = r.ann.rebase(loud)
    (moved,) = shown.possible_conflicts
    assert (memory.memory_id, "rebased") == (moved.memory_id, moved.reason)
    assert "content: old -> other" in moved.hint
    r.ann.approve(loud)
    assert ("new", ("t",)) == (r.ann.get(memory).content, r.ann.get(memory).tags)


def test_rebasing_what_stands_on_todays_ground_changes_nothing(r: Room) -> None:
    """Its author may rebase it, too."""
    memory = r.ann.remember(Fact("x"))
    receipt = r.bot.edit(memory, content="new")
    before = r.space.position
    assert "unchanged" == r.bot.rebase(receipt).status == r.ann.rebase(receipt).status
    assert before == r.space.position
    r.ann.pin(memory)
    assert "changed" == r.bot.rebase(receipt).status


def test_two_drafts_on_the_same_fields_of_one_proposal_follow_each_other(r: Room) -> None:
    """Within one merge each draft stands on the one before it."""
    memory = r.ann.remember(Fact("x"))
    with r.bot.proposal("twice") as p:
        p.edit(memory, content="one")
        p.edit(memory, content="two")
    r.ann.approve(p.receipt)
    assert "two" == r.ann.get(memory).content


def test_a_merge_is_all_or_nothing(r: Room) -> None:
    """One draft that cannot be merged keeps all others out; the error names it."""
    target = r.ann.remember(Fact("target"))
    with r.bot.proposal("mixed") as p:
        p.remember(Fact("good"))
        p.remember(Fact("bad"), links=[("derived_from", target)])
    r.ann.delete(target)
    before = r.space.position
    with pytest.raises(ConflictError) as refused:
        r.ann.approve(p.receipt)
    assert 2 == refused.value.fields["draft"]
    assert (before, 0) == (r.space.position, r.ann.count())
    r.ann.approve(p.receipt, only=[1])
    assert ["good"] == statements(r.ann)


def test_a_draft_that_has_expired_is_refused(r: Room) -> None:
    """Lifetimes run from the drafting, whether they end at an instant or by the kind's horizon."""
    soon = r.bot.remember(Fact("until tomorrow"), lifetime=until(r.clock.now() + timedelta(days=1)))
    brief = r.bot.remember(Fact("ephemeral"), lifetime=ephemeral())
    kept = r.ann.remember(Fact("kept"))
    change = r.bot.set_lifetime(kept, until(r.clock.now() + timedelta(days=2)))
    lasting = r.bot.remember(Fact("lasting"))
    r.clock.move(days=8)
    for receipt in (soon, brief, change):
        with pytest.raises(ConflictError, match="expired"):
            r.ann.approve(receipt)
    r.ann.approve(lasting)
    assert ["kept", "lasting"] == statements(r.ann)


def test_fifty_confirmations_by_one_assistant_stay_below_the_cap(r: Room) -> None:
    """Neither alone nor through a user's approval do non-users lift anything above 0.90."""
    trusting = room(approval=ApprovalPolicy.trust_assistants())
    for space, approve in ((r, True), (trusting, False)):
        memory = space.ann.remember(Fact("x"), confidence=0.5)
        for n in range(50):
            receipt = space.bot.confirm(memory, evidence=EvidenceRef("quote", f"said so {n}"))
            if approve:
                space.ann.approve(receipt)
            space.clock.move(days=2)
        assert 0.85 < space.ann.get(memory).confidence <= 0.90


def test_the_day_rule_is_judged_at_the_drafting(r: Room) -> None:
    """Two confirmations drafted within a day count once, however late they are merged."""
    memory = r.ann.remember(Fact("x"), confidence=0.5)
    first = r.bot.confirm(memory)
    r.clock.move(seconds=3_600)
    second = r.bot.confirm(memory)
    assert "duplicate" == second.status
    r.clock.move(days=5)
    r.ann.approve(first)
    third = r.bot.confirm(memory)
    r.ann.approve(third)
    assert 0.5 + 0.5 * 0.4 + 0.3 * 0.4 == pytest.approx(r.ann.get(memory).confidence)


def test_trusted_assistants_do_what_trust_covers_and_ask_for_the_rest() -> None:
    """They create, support, link, tag, confirm, and edit their own; the rest waits."""
    r = room(approval=ApprovalPolicy.trust_assistants())
    theirs = r.ann.remember(Fact("ann says so"))
    mine, other = r.bot.remember(Fact("bot says so")), r.bot.remember(Fact("bot says more"))
    bot2 = r.space.session(assistant("second"))
    assert ["created", "created"] == [mine.status, other.status]
    acts = [
        r.bot.tag(theirs, "t"),
        r.bot.add_evidence(theirs, EvidenceRef("quote", "q")),
        r.bot.link(theirs, "relates_to", mine),
        r.bot.edit(mine, content="more"),
        r.bot.update(mine, statement="bot insists"),
        bot2.confirm(mine),
        bot2.contradict(other, by=mine),
    ]
    assert ["changed"] * len(acts) == [receipt.status for receipt in acts]
    waits = [
        r.bot.edit(theirs, content="no"),
        bot2.edit(mine, content="no"),
        r.bot.contradict(theirs, by=mine),
        r.bot.link(mine, "contradicts", theirs),
        r.bot.remember(Fact("no"), links=[("contradicts", theirs)]),
        r.bot.supersede(theirs, mine),
        r.bot.remember(Fact("newer"), links=[("supersedes", theirs)]),
        r.bot.archive(mine),
        r.bot.set_visibility(mine, restricted(assistant("claude"))),
        r.bot.pin(mine),
        r.bot.unlink(theirs, "relates_to", mine),
        r.bot.untag(theirs, "t"),
        r.bot.delete(mine),
    ]
    assert ["proposed"] * len(waits) == [receipt.status for receipt in waits]
    assert "active" == r.ann.get(theirs).status
    assert not r.ann.get(theirs).flags.disputed
    r.ann.confirm(other)
    assert "proposed" == bot2.contradict(other, note="still").status


def test_ones_own_policy_is_a_value() -> None:
    """`of` grants permissions to kinds and to single actors; deletion can be granted to nobody."""
    policy = ApprovalPolicy.of({ActorKind.IMPORTER: ["create"], assistant("trusted"): ["archive", "create"]})
    r = room(approval=policy)
    trusted, vcard = r.space.session(assistant("trusted")), r.space.session(importer("vcard"))
    fact = vcard.remember(Fact("x"))
    assert ("created", "proposed") == (fact.status, vcard.tag(fact, "t").status)
    assert ("proposed", "changed") == (r.bot.archive(fact).status, trusted.archive(fact).status)
    assert "proposed" == trusted.remember(Fact("y"), on_duplicate="confirm").status
    with pytest.raises(RejectedError):
        ApprovalPolicy.of({"assistant": ["delete"]})
    with pytest.raises(RejectedError):
        ApprovalPolicy.of({"assistant": ["fly"]})


def test_deletion_by_others_always_waits_and_erasure_is_refused() -> None:
    """Whatever a policy grants."""
    everything = ["create", "edit", "archive", "supersede", "merge", "visibility", "resolve"]
    r = room(approval=ApprovalPolicy.of({"assistant": everything}))
    fact = r.bot.remember(Fact("x"))
    assert "proposed" == r.bot.delete(fact).status
    for verb in (r.bot.erase, r.bot.erase_subject, r.bot.export_subject):
        with pytest.raises(ForbiddenError):
            verb(fact)
    with pytest.raises(ForbiddenError):
        r.bot.undo(fact)
    with pytest.raises(ForbiddenError):
        r.space.maintenance(assistant("claude"))


def test_a_batch_waits_as_a_whole_if_any_part_of_it_must() -> None:
    """What an assistant asks for together is decided together."""
    r = room(approval=ApprovalPolicy.trust_assistants())
    memory = r.ann.remember(Fact("x"))
    with r.bot.batch() as b:
        b.tag(memory, "t")
        b.archive(memory)
    assert ["proposed", "proposed"] == [receipt.status for receipt in b.receipts]
    assert () == r.ann.get(memory).tags
    assert 1 == len(r.ann.proposals())


def test_a_user_may_propose_too(r: Room) -> None:
    """And approve it himself later; nothing is written before."""
    with r.ann.proposal("think about it") as p:
        p.remember(Preference("likes", target="tea"))
    assert (0, "proposed") == (r.ann.count(), p.receipt.status)
    r.ann.approve(p.receipt)
    assert 0.95 == r.ann.find(kind="preference").items[0].confidence


def test_a_closed_proposal_is_decided_no_more(r: Room) -> None:
    """Neither approved, nor rejected, nor withdrawn, nor rebased."""
    receipt = r.bot.remember(Fact("x"))
    r.ann.reject(receipt)
    for verb in (r.ann.approve, r.ann.reject, r.ann.withdraw, r.ann.rebase, r.bot.withdraw):
        with pytest.raises(IllegalTransitionError):
            verb(receipt)
    assert "proposed" == r.bot.remember(Fact("x")).status


def test_undoing_one_of_two_merges_leaves_the_other(r: Room) -> None:
    """The drafts of the undone batch are undone; the proposal stays what the rest makes it."""
    with r.bot.proposal("two") as p:
        p.remember(Fact("one"))
        p.remember(Fact("two"))
    first = r.ann.approve(p.receipt, only=[1])
    r.ann.undo(first)
    assert ("open", ["undone", "open"]) == (
        r.ann.proposal(p.receipt).status,
        [str(d.status) for d in r.ann.proposal(p.receipt).drafts],
    )
    r.ann.approve(p.receipt, only=[2])
    assert "merged" == r.ann.proposal(p.receipt).status
    r.ann.redo(first)
    assert ["one", "two"] == statements(r.ann)
    assert r.nightly.verify().ok


def test_a_draft_is_told_in_a_line(r: Room) -> None:
    """What is at its default is left out, and long texts are cut."""
    with r.bot.proposal("two") as p:
        p.remember(Fact("x" * 500), tags=("a",))
        p.edit(r.ann.remember(Fact("y")), content="z")
    (found,) = r.ann.proposals()
    first, second = map(repr, found.drafts)
    assert "Remember(kind='fact', attributes={'statement': 'xxx" in first
    assert "visibility" not in first
    assert len(first) < 300
    assert second.endswith("at revision 1, open: Edit(content='z')>")
