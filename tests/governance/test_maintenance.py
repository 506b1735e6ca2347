"""The nightly passes: expiry acts, everything else asks; twice is once, and a no stays a no until something changes."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest

from engram_core.drafts import Draft
from engram_core.errors import ForbiddenError
from engram_core.kinds import Asset, Contact, Fact, Goal, Location, Organization, Person, Preference, Project
from engram_core.policy import Policy, RetentionPolicy
from engram_core.values import assistant, ephemeral, permanent, private, standard, until, user
from tests.governance.rooms import Room, room


@pytest.fixture
def r() -> Room:
    return room()


def proposed(r: Room, report: Any) -> list[tuple[str, str]]:
    """What a pass asked for: the command and the memory of each draft."""
    drafts = [d for id in report.proposal_ids for d in r.ann.proposal(id).drafts]
    return sorted((type(d.command).__name__, d.memory_id) for d in drafts)


# -- expiry -----------------------------------------------------------------------------------------


def test_expiry_acts_and_is_listed(r: Room) -> None:
    """What its author gave an end is archived as expired, without asking; pins and permanence block it."""
    ended = [
        r.ann.remember(Fact("until"), lifetime=until(r.clock.now() + timedelta(days=5))),
        r.ann.remember(Fact("ephemeral"), lifetime=ephemeral()),
    ]
    kept = [
        r.ann.remember(Fact("standard")),
        r.ann.remember(Fact("permanent"), lifetime=permanent()),
        r.ann.remember(Fact("pinned"), lifetime=ephemeral(), pinned=True),
        r.ann.remember(Fact("later"), lifetime=until(r.clock.now() + timedelta(days=90))),
    ]
    assert 0 == len(r.nightly.expire())
    r.clock.move(days=7)
    report = r.nightly.expire()
    assert [m.memory_id for m in ended] == list(report.memory_ids)
    assert {"archived"} == {str(r.ann.get(m).status) for m in ended}
    assert {"active"} == {str(r.ann.get(m).status) for m in kept}
    assert 0 == len(r.ann.proposals())
    before = r.space.position
    assert (0, before) == (len(r.nightly.expire()), r.space.position)
    assert ["MemoryArchived"] == [row.type for row in r.ann.history(ended[0])][1:]
    r.ann.restore(ended[0], lifetime=standard())
    assert (0, "active") == (len(r.nightly.expire()), r.ann.get(ended[0]).status)


def test_expiry_works_in_pages(r: Room) -> None:
    """More than a page is done in several batches, with progress."""
    r.ann.remember_many([Draft(Fact(f"fact {n}"), lifetime=ephemeral()) for n in range(1_201)])
    r.clock.move(days=8)
    told: list[int] = []
    report = r.nightly.expire(progress=lambda done, _: told.append(done))
    assert (1_201, [500, 1_000, 1_201]) == (len(report), told)
    assert 3 == len({receipt.batch_id for receipt in report.receipts})


# -- pruning ----------------------------------------------------------------------------------------


def test_what_has_not_earned_its_keep_is_proposed(r: Room) -> None:
    """Old, never read, doubted and alone; never what is pinned, permanent, an active project or goal, or young."""
    doubted = {"confidence": 0.1}
    old = [r.ann.remember(Fact("forgotten"), **doubted), r.ann.remember(Goal("dropped", status="dropped"), **doubted)]
    r.ann.remember(Fact("pinned"), pinned=True, **doubted)
    r.ann.remember(Fact("permanent"), lifetime=permanent(), **doubted)
    r.ann.remember(Goal("active", status="active"), **doubted)
    r.ann.remember(Project("active", status="active"), **doubted)
    r.clock.move(days=1_500)
    r.ann.remember(Fact("newborn, long past"), occurred_at=r.clock.now() - timedelta(days=1_400), **doubted)
    report = r.nightly.propose_pruning()
    assert sorted(("Archive", m.memory_id) for m in old) == proposed(r, report)
    (proposal,) = r.ann.proposals()
    assert len(proposal.drafts) == len(proposal.evidence)
    assert all("retention 0." in ref.value for ref in proposal.evidence)
    assert {"stale"} == {str(r.ann.get(m).status) for m in old}
    r.ann.approve(proposal)
    assert {"archived"} == {str(r.ann.get(m).status) for m in old}


def test_passes_ask_once(r: Room) -> None:
    """What waits is not asked again; what was turned down not until it has changed; what was undone neither."""
    m = r.ann.remember(Fact("forgotten"), confidence=0.1)
    r.clock.move(days=1_500)
    first = r.nightly.propose_pruning()
    assert 1 == len(first)
    before = r.space.position
    for actor in (r.nightly, r.space.maintenance(user("ann"))):
        assert (0, before) == (len(actor.propose_pruning()), r.space.position)
    (proposal,) = r.ann.proposals()
    r.ann.reject(proposal)
    r.clock.move(days=1)
    assert 0 == len(r.nightly.propose_pruning())
    r.ann.tag(m, "changed")
    assert 1 == len(r.nightly.propose_pruning())
    merged = r.ann.approve(r.ann.proposals().items[0])
    assert 0 == len(r.nightly.propose_pruning())
    r.ann.undo(merged)
    assert 0 == len(r.nightly.propose_pruning())
    r.ann.untag(m, "changed")
    assert 1 == len(r.nightly.propose_pruning())


def test_a_backfill_proposes_nothing_on_its_first_night(r: Room) -> None:
    """Age counts from recording: old records that came today are newborn for 14 days."""
    old = r.clock.now() - timedelta(days=3_000)
    r.ann.remember_many([Draft(Fact(f"diary {n}"), occurred_at=old, confidence=0.1) for n in range(400)])
    assert 0 == len(r.nightly.propose_pruning())
    r.clock.move(days=13.999)
    assert 0 == len(r.nightly.propose_pruning())
    r.clock.move(days=0.001)
    report = r.nightly.propose_pruning()
    assert (400, 4) == (len(report), len(report.proposal_ids))


@pytest.mark.slow
def test_thirty_thousand_old_records_propose_nothing(r: Room) -> None:
    """The same at full size."""
    old = r.clock.now() - timedelta(days=3_000)
    r.ann.remember_many([Draft(Fact(f"diary {n}"), occurred_at=old, confidence=0.1) for n in range(30_000)])
    assert 0 == len(r.nightly.propose_pruning())


def test_the_rules_of_pruning_are_a_policy() -> None:
    """Threshold and newborn days are the application's to choose."""
    r = room(policy=Policy(retention=RetentionPolicy(threshold=1.0, newborn_days=0.0)))
    m = r.ann.remember(Fact("anything"))
    assert [("Archive", m.memory_id)] == proposed(r, r.nightly.propose_pruning())


# -- merging ----------------------------------------------------------------------------------------


def test_what_shares_a_name_or_a_contact_is_proposed_as_one(r: Room) -> None:
    """Names, aliases and contacts, whatever their case and width; within a kind; the oldest survives."""
    ann = r.ann.remember(Person("Ann Ode", aliases=("Annie",)))
    pairs = [
        (ann, r.ann.remember(Person("ANN  ode"))),
        (r.ann.remember(Organization("Ａcme")), r.ann.remember(Organization("acme"))),
        (r.ann.remember(Location("Oslo", aliases=("Kristiania",))), r.ann.remember(Location("Kristiania"))),
        (r.ann.remember(Asset("device", name="Phone 1")), r.ann.remember(Asset("device", aliases=("phone 1",)))),
    ]
    bob, robert = r.ann.remember(Person("Bob Ode")), r.ann.remember(Person("Robert Ode"))
    for owner in (bob, robert):
        r.ann.remember(Contact("email", "Bob@x.org"), links=[("owned_by", owner)], on_duplicate="create")
    r.ann.remember(Location("Ann Ode"))
    for name in ("Al", "al"):
        r.ann.remember(Person(name))
    report = r.nightly.propose_merges()
    expected = sorted(("Merge", survivor.memory_id) for survivor, _ in [*pairs, (bob, robert)])
    assert expected == proposed(r, report)
    assert 5 == len(report.proposal_ids)
    for proposal in r.ann.proposals():
        r.ann.approve(proposal)
    assert {"archived"} == {str(r.ann.get(source).status) for _, source in [*pairs, (bob, robert)]}
    assert 0 == len(r.nightly.propose_merges())


def test_many_of_one_name_become_pairs_with_one_survivor(r: Room) -> None:
    """n alike give n − 1 proposals, which can all be approved."""
    people = [r.ann.remember(Person("Ann Ode", notes=str(n))) for n in range(5)]
    report = r.nightly.propose_merges()
    assert [("Merge", people[0].memory_id)] * 4 == proposed(r, report)
    for id in report.proposal_ids:
        r.ann.approve(id)
    assert ["archived"] * 4 == [str(r.ann.get(m).status) for m in people[1:]]


def test_a_rejected_merge_is_asked_again_when_either_changed(r: Room) -> None:
    """And mark_distinct ends it for good."""
    one, two = r.ann.remember(Person("Ann Ode", notes="1")), r.ann.remember(Person("Ann Ode", notes="2"))
    for changed in (one, two):
        (id,) = r.nightly.propose_merges().proposal_ids
        r.ann.reject(id)
        assert 0 == len(r.nightly.propose_merges())
        r.ann.tag(changed, "t")
    (id,) = r.nightly.propose_merges().proposal_ids
    r.ann.reject(id)
    r.ann.mark_distinct(two, one)
    r.ann.tag(one, "more")
    assert 0 == len(r.nightly.propose_merges())


def test_the_wider_audience_survives(r: Room) -> None:
    """A private twin goes into the shared one, whichever is older."""
    hidden = r.ann.remember(Person("Ann Ode"), visibility=private())
    shared = r.ann.remember(Person("Ann Ode"))
    report = r.nightly.propose_merges()
    assert [("Merge", shared.memory_id)] == proposed(r, report)
    r.ann.approve(report.proposal_ids[0])
    assert "archived" == r.ann.get(hidden).status


@pytest.mark.slow
def test_a_hundred_thousand_persons_take_seconds(r: Room) -> None:
    """Blocks instead of pairs: candidates of 100,000 persons, of whom 1,000 are there twice."""
    r.ann.remember_many([Person(f"Person Number {n % 99_000}", notes=str(n)) for n in range(100_000)], batch=5_000)
    start = time.perf_counter()
    report = r.nightly.propose_merges()
    assert 1_000 == len(report.receipts)
    assert time.perf_counter() - start < 30


# -- contradictions ---------------------------------------------------------------------------------


def taste(r: Room, polarity: str, holder: Any, **more: Any) -> Any:
    given = {"target": "Tea", "context": "home", **more}
    r.clock.move(days=1)
    return r.ann.remember(Preference(polarity, **given), links=[("about", holder)] if holder else ())


def test_incompatible_tastes_are_proposed_as_superseding(r: Room) -> None:
    """The same holder, target and context, and polarities that cannot both hold: the newest would take over."""
    ann, bob = r.ann.remember(Person("Ann Ode")), r.ann.remember(Person("Bob Ode"))
    old, new = taste(r, "likes", ann), taste(r, "avoids", ann, target="tea ")
    taste(r, "prefers", ann, target="tea", context="work")
    taste(r, "dislikes", bob)
    taste(r, "likes", bob, context=None)
    taste(r, "wants", bob, target=None)
    report = r.nightly.detect_contradictions()
    assert [("Supersede", old.memory_id)] == proposed(r, report)
    assert ("active", "active") == (r.ann.get(old).status, r.ann.get(new).status)
    assert 0 == len(r.nightly.detect_contradictions())
    r.ann.approve(report.proposal_ids[0])
    assert ("superseded", "active") == (r.ann.get(old).status, r.ann.get(new).status)
    assert 0 == len(r.nightly.detect_contradictions())
    r.ann.delete(new)
    again = taste(r, "dislikes", ann)
    assert "created" == again.status
    assert [("Supersede", old.memory_id)] == proposed(r, r.nightly.detect_contradictions())


def test_holders_that_were_merged_are_one(r: Room) -> None:
    """What was about a merged source is about the survivor."""
    one, two = r.ann.remember(Person("Ann Ode")), r.ann.remember(Person("A. Ode"))
    old = taste(r, "likes", one)
    taste(r, "dislikes", two)
    assert 0 == len(r.nightly.detect_contradictions())
    r.ann.merge(one, two)
    assert [("Supersede", old.memory_id)] == proposed(r, r.nightly.detect_contradictions())


def test_what_a_person_resolved_is_left_alone(r: Room) -> None:
    """Keeping both is an answer."""
    ann = r.ann.remember(Person("Ann Ode"))
    one, two = taste(r, "likes", ann), taste(r, "dislikes", ann)
    r.ann.resolve(one, two, keep="both")
    assert 0 == len(r.nightly.detect_contradictions())


def test_what_the_rules_refuse_is_counted_and_keeps_nothing_back(r: Room) -> None:
    """A newer private taste may not take a shared one's place; the others are proposed."""
    ann, bob = r.ann.remember(Person("Ann Ode")), r.ann.remember(Person("Bob Ode"))
    taste(r, "likes", ann)
    hidden = taste(r, "dislikes", ann)
    r.ann.set_visibility(hidden, private())
    old = taste(r, "likes", bob)
    taste(r, "dislikes", bob)
    report = r.nightly.detect_contradictions()
    assert [("Supersede", old.memory_id)] == proposed(r, report)
    assert {"proposed": 1, "refused": 1} == report.counts


# -- the rest ---------------------------------------------------------------------------------------


def test_the_report_is_the_queue_by_reason(r: Room) -> None:
    """Ownerless contacts, what expires soon, what went stale, edges to what is gone."""
    phone = r.ann.remember(Contact("phone", "1"))
    soon = r.ann.remember(Fact("soon"), lifetime=until(r.clock.now() + timedelta(days=605)))
    target = r.ann.remember(Fact("target"))
    pointing = r.ann.remember(Fact("pointing"), links=[("relates_to", target)])
    r.ann.delete(target)
    r.clock.move(days=600)
    found = {reason: {row.memory_id for row in rows} for reason, rows in r.nightly.report().items()}
    assert {phone.memory_id} == found["ownerless_contact"]
    assert {soon.memory_id} == found["expiring"]
    assert {phone.memory_id, soon.memory_id, pointing.memory_id} == found["stale"]
    assert {pointing.memory_id} == found["dangling_edge"]


def test_only_users_and_the_system_maintain(r: Room) -> None:
    """Assistants have no maintenance."""
    with pytest.raises(ForbiddenError):
        r.space.maintenance(assistant("claude"))
