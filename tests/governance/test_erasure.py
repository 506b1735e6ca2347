"""Erasure: what a memory said is in no byte afterwards, and everything else still works."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engram_core.chain import ERASED_MARKER
from engram_core.errors import ConflictError, ForbiddenError, IllegalTransitionError, NotFoundError, RejectedError
from engram_core.kinds import Fact, Person
from engram_core.space import MemorySpace
from engram_core.values import EvidenceRef, assistant, private, restricted, system, user
from examples import check_certificate
from tests.governance.acts import ACTS, world
from tests.governance.rooms import Room, everything, room

WORDS = 60
PICKS = random.Random(7)
SENTINELS = [
    "".join(PICKS.choices("bcdfghjkmnpqrstvwxzBCDFGHJKMNPQRSTVWXZ", k=24)) for _ in range(WORDS)
]  # each text of the secret memory has words of its own, so that the control finds every one of them


def windows(text: str) -> set[bytes]:
    """Every 6-byte window of a text, as it was written and as it is compared."""
    forms = {text, text.casefold(), text.upper()}
    return {form.encode()[at : at + 6] for form in forms for at in range(len(form.encode()) - 5)}


def found_in(folder: Path, sentinels: list[str]) -> dict[str, set[str]]:
    """Which sentinels each file of a folder holds any window of."""
    found: dict[str, set[str]] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            here = {content[at : at + 6] for at in range(len(content) - 5)}
            found |= {path.name: hits} if (hits := {s for s in sentinels if windows(s) & here}) else {}
    return found


@pytest.fixture
def r(tmp_path: Path) -> Iterator[Room]:
    found = room(tmp_path / "brain.db")
    yield found
    found.space.close()


class Secret:
    """Hands out the sentinels one by one."""

    def __init__(self) -> None:
        self.used: list[str] = []

    def __call__(self) -> str:
        self.used.append(SENTINELS[len(self.used)])
        return self.used[-1]


def plant(r: Room, s: Secret) -> dict[str, Any]:
    """One memory that says the secret wherever a memory can say anything, among others that do not."""
    other = r.ann.remember(Person("Harmless Harry", aliases=("Haz",)), content="Quite harmless.", tags=("plain",))
    secret = r.ann.remember(
        Person(s(), aliases=(s(),), roles=(s(),), notes=s()),
        title=s(),
        content=f"It is known that {s()} is so. " * 3,
        tags=(s(),),
        evidence=[EvidenceRef("quote", s(), note=s())],
        external_ids={s(): s()},
        source_ref=s(),
    )
    r.ann.edit(secret, title=s(), content=s())
    r.ann.update(secret, notes=s())
    r.ann.tag(secret, s())
    r.ann.add_evidence(secret, EvidenceRef("uri", f"https://{s()}.org"))
    r.ann.confirm(secret, evidence=EvidenceRef("quote", s()))
    r.ann.contradict(secret, evidence=EvidenceRef("quote", s()), note=s())
    r.ann.undo(r.ann.edit(secret, content=s()))
    waiting = r.bot.edit(secret, content=s())
    with r.bot.proposal(s(), rationale=s(), evidence=EvidenceRef("quote", s())) as merged:
        merged.tag(secret, s())
    r.ann.approve(merged.receipt)
    rejected = r.bot.update(secret, full_name=s())
    r.ann.reject(rejected, note=s())
    with r.bot.proposal(s(), rationale=s()) as several:
        several.tag(other, "mixed")
        several.add_evidence(secret, EvidenceRef("quote", s()))
    r.ann.reject(several.receipt, note=s())
    with r.bot.proposal(s(), rationale=s(), evidence=EvidenceRef("quote", s())) as partly:
        partly.tag(other, "first")
        partly.tag(other, "second")
        partly.tag(secret, s())
    r.ann.reject(partly.receipt, only=[1, 3], note=s())
    r.ann.reject(partly.receipt, only=[2], note=s())
    with r.bot.proposal(s(), rationale=s()) as pointing:
        pointing.link(other, "relates_to", secret)
    r.ann.reject(pointing.receipt, note=s())
    r.ann.contradict(other, by=secret, note=s())
    r.ann.resolve(other, secret, keep="both", note=s())
    r.ann.resolve(secret, other, keep="both", note="nothing new")
    third = r.ann.remember(Person("Third Theo"))
    r.ann.resolve(secret, third, keep=secret, note=s())
    r.ann.restore(third)
    r.ann.approve(r.bot.contradict(third, by=secret, evidence=EvidenceRef("quote", s()), note=s()))
    r.ann.reject(r.bot.resolve(third, secret, keep="both", note=s()), note=s())
    early = r.ann.remember(Person(s()), id=None)
    r.ann.supersede(early, secret, effective_at=r.clock.now() + timedelta(days=1))
    r.ann.merge(other, secret)
    r.ann.archive(early, note=s())
    r.ann.recall(s.used[0])
    r.ann.as_of(known_at=r.clock.now()).get(secret)
    r.space.session(user("ann")).get(secret)
    r.space.flush()
    return {
        "other": other,
        "secret": secret,
        "early": early,
        "waiting": waiting,
        "merged": merged.receipt,
        "rejected": rejected,
        "several": several.receipt,
    }


def test_no_byte_remains(r: Room, tmp_path: Path) -> None:
    """Title, content, tags, attributes, evidence, notes, ids, drafts, merges, superseded versions, full text: gone.

    Before, every one of them is found; afterwards no 6-byte window of any, in any file, open or closed.
    """
    s = Secret()
    made = plant(r, s)
    found = set().union(*found_in(tmp_path, s.used).values())
    assert set(s.used) == found
    for name in ("secret", "early"):
        assert r.ann.erase(made[name]).scrubbed
    assert {} == found_in(tmp_path, s.used)
    assert ("Harmless Harry", ("Haz",), ("plain",)) == (
        r.ann.get(made["other"]).attributes.full_name,
        r.ann.get(made["other"]).attributes.aliases,
        r.ann.get(made["other"]).tags,
    )
    assert not r.nightly.verify().problems
    r.nightly.rebuild()
    assert {} == found_in(tmp_path, s.used)
    r.ann.remember(Fact("more"))
    r.space.close()
    assert {} == found_in(tmp_path, s.used)
    with MemorySpace.open(tmp_path / "brain.db") as again:
        assert not again.maintenance(system("x")).verify().problems
        assert {} == found_in(tmp_path, s.used)


@pytest.mark.parametrize("fate", ["open", "rejected", "withdrawn", "duplicate"])
def test_what_was_only_proposed_is_erased_by_its_reserved_id(r: Room, tmp_path: Path, fate: str) -> None:
    """A memory that never came to be has a text, too."""
    s = Secret()
    receipt = r.bot.remember(Fact(s()), content=s(), tags=(s(),))
    if fate == "rejected":
        r.ann.reject(receipt, note=s())
    elif fate == "withdrawn":
        r.bot.withdraw(receipt)
    elif fate == "duplicate":
        r.ann.remember(Fact(s.used[0]), content=s.used[1])
        r.ann.approve(receipt)
    assert found_in(tmp_path, s.used)
    if fate == "duplicate":
        (there,) = r.ann.find()
        assert {"memory": 1, "drafts": 1} == r.ann.erase(there).counts
    else:
        r.ann.erase(receipt)
    assert {} == found_in(tmp_path, s.used)
    proposal = r.ann.proposal(receipt)
    expected = {"open": "withdrawn", "duplicate": "merged"}.get(fate, fate)
    assert (expected, None) == (proposal.status, proposal.drafts[0].command)
    assert [] == list(r.ann.proposals())
    assert not r.nightly.verify().problems
    with pytest.raises(NotFoundError):
        r.ann.get(receipt)
    with pytest.raises(IllegalTransitionError):
        r.ann.erase(receipt)


def test_the_other_drafts_of_a_proposal_live_on(r: Room) -> None:
    """They can be approved; what was said about all of them together is gone."""
    with r.bot.proposal("about both", rationale="said of both") as p:
        one = p.remember(Fact("one"))
        two = p.remember(Fact("two"))
    r.ann.erase(one)
    proposal = r.ann.proposal(p.receipt)
    assert ("open", ["withdrawn", "open"], "", "") == (
        proposal.status,
        [str(d.status) for d in proposal.drafts],
        proposal.title,
        proposal.rationale,
    )
    assert [proposal.id] == [x.id for x in r.bot.proposals()]
    assert not r.nightly.verify().problems
    r.ann.approve(p.receipt)
    assert "two" == r.ann.get(two).attributes.statement
    assert "merged" == r.ann.proposal(p.receipt).status
    assert not r.nightly.verify().problems


def test_a_draft_that_says_the_same_goes_unless_its_author_may_not_see_what_went(r: Room) -> None:
    """He would know by it that there was a memory that was hidden from him; what he wrote are words of his own."""
    draft = r.bot.remember(Fact("the same words"))
    hidden = r.ann.remember(Fact("the same words"), visibility=private())
    assert {"memory": 1} == r.ann.erase(hidden).counts
    (proposal,) = r.bot.proposals()
    assert (draft.proposal_id, "the same words") == (proposal.id, proposal.drafts[0].command.attributes["statement"])
    shown = r.ann.remember(Fact("the same words"))
    assert {"memory": 1, "drafts": 1} == r.ann.erase(shown).counts
    assert [] == list(r.bot.proposals())
    assert not r.nightly.verify().problems


def test_drafts_that_point_to_it_cannot_be_merged(r: Room) -> None:
    """A new edge to an erased memory is refused."""
    target = r.ann.remember(Fact("target"))
    receipt = r.bot.remember(Fact("pointing"), links=[("about", target)])
    r.ann.erase(target)
    with pytest.raises(ConflictError):
        r.ann.approve(receipt)


def test_a_rehearsal_changes_nothing(r: Room, tmp_path: Path) -> None:
    """Not a byte of any answer, nor the position; its figures are those of the real thing."""
    made = plant(r, Secret())
    before = repr(everything(r.ann)), r.space.position, r.space.anchor(), r.ann.proposals(status=None)
    report = r.ann.erase(made["secret"], dry_run=True)
    assert before == (repr(everything(r.ann)), r.space.position, r.space.anchor(), r.ann.proposals(status=None))
    real = r.ann.erase(made["secret"])
    assert (report.memory_ids, report.events, report.counts, True, False) == (
        real.memory_ids,
        real.events,
        real.counts,
        report.dry_run,
        real.dry_run,
    )
    assert real.events == sum(e.data == ERASED_MARKER for e in r.space._engine.store.read(limit=10_000))


def test_an_erased_memory_is_like_one_that_never_was(r: Room) -> None:
    """For every read, also in past views, and for every verb."""
    memory = r.ann.remember(Fact("wombats are square"), tags=("odd",), external_ids={"x": "1"})
    r.clock.move(days=1)
    then = r.clock.now()
    r.clock.move(days=1)
    r.ann.erase(memory)
    for session in (r.ann, r.bot):
        for view in (session, session.as_of(known_at=then)):
            assert (0, {}, []) == (view.count(), dict(view.tags()), list(view.recall("wombats")))
            with pytest.raises(NotFoundError):
                view.get(memory)
        for read in (session.why, session.scores, session.neighbours):
            with pytest.raises(NotFoundError):
                read(memory)
    with pytest.raises(RejectedError):
        r.ann.confirm(memory)
    again = r.ann.remember(Fact("wombats are square"), tags=("odd",), external_ids={"x": "1"})
    assert "created" == again.status


def test_only_users_erase(r: Room) -> None:
    """Whoever else asks is refused; what is not there is not found."""
    memory = r.ann.remember(Fact("x"))
    for actor in (assistant("claude"), system("nightly")):
        with pytest.raises(ForbiddenError):
            r.space.session(actor).erase(memory)
    with pytest.raises(NotFoundError):
        r.ann.erase("00000000-0000-7000-8000-000000000000")


@pytest.mark.parametrize("visibility", [private(), restricted(assistant("other"))], ids=["private", "restricted"])
def test_guarded_text_is_erased_from_its_own_lane(r: Room, tmp_path: Path, visibility: Any) -> None:
    """And what was shared once, and hidden later, from both."""
    s = Secret()
    hidden = r.ann.remember(Fact(s()), content=s(), visibility=visibility)
    turned = r.ann.remember(Fact(s()), content=s())
    r.ann.set_visibility(turned, visibility)
    r.ann.edit(turned, content=s())
    assert set(s.used) == set().union(*found_in(tmp_path, s.used).values())
    r.ann.erase(hidden)
    r.ann.erase(turned)
    assert {} == found_in(tmp_path, s.used)
    assert not r.nightly.verify().problems


def test_a_deleted_memory_can_still_be_erased(r: Room, tmp_path: Path) -> None:
    """Deletion hides; only erasure takes the text."""
    s = Secret()
    memory = r.ann.remember(Fact(s()))
    r.ann.delete(memory, note=s())
    assert set(s.used) == set().union(*found_in(tmp_path, s.used).values())
    r.ann.erase(memory)
    assert {} == found_in(tmp_path, s.used)


def test_everything_still_works_on_a_log_with_erased_parts(r: Room) -> None:
    """Rebuild, verify, undo, redo, time travel, unmerge, recall, and the nightly passes."""
    w = world(r)
    edited = r.ann.edit(w["tea"], content="green")
    anchor = r.space.anchor()
    r.clock.move(days=1)
    then = r.clock.now()
    r.clock.move(days=1)
    for name in ("oslo", "guess", "ally", "goal"):
        r.ann.erase(w[name])
    before = everything(r.ann)
    r.nightly.rebuild()
    assert before == everything(r.ann)
    assert not r.nightly.verify(anchor=anchor).problems
    r.ann.undo(edited)
    assert "" == r.ann.get(w["tea"]).content
    r.ann.redo(edited)
    past = {m.id for m in r.ann.as_of(known_at=then).find_all()}
    assert {w["alice"], w["tea"]} <= past
    assert not past & {w["oslo"], w["guess"], w["ally"], w["goal"]}
    r.ann.unmerge(w["robert"])
    assert "active" == r.ann.get(w["robert"]).status
    for run in (r.nightly.expire, r.nightly.propose_pruning, r.nightly.propose_merges, r.nightly.report):
        run()
    for name in ("untag", "merge on", "pin"):
        receipt = ACTS[name](r, w)
        r.ann.undo(receipt)
    assert not r.nightly.verify(anchor=anchor).problems


def test_the_certificate_can_be_checked_without_the_library(r: Room, tmp_path: Path) -> None:
    """The script of the example agrees; a payload that was put back, or a wrong commitment, is found out."""
    memory = r.ann.remember(Fact("secret"))
    r.ann.edit(memory, content="more")
    report = r.ann.erase(memory)
    r.ann.remember(Fact("later"))
    certificate = json.loads(json.dumps(report.certificate))
    r.space.close()
    assert [] == check_certificate.problems(tmp_path / "brain.db", certificate)
    changed = json.loads(json.dumps(certificate))
    changed["erased"][0]["events"][0]["commitment"] = "00" * 32
    assert check_certificate.problems(tmp_path / "brain.db", changed)
    with sqlite3.connect(tmp_path / "brain.db") as tampered:
        tampered.execute("UPDATE erasure SET gate = 1")
        tampered.execute("UPDATE events SET data = '{}' WHERE position = ?", (1,))
    tampered.close()
    assert check_certificate.problems(tmp_path / "brain.db", certificate)


def test_erasure_in_memory_is_the_same(tmp_path: Path) -> None:
    """Without files, with the same report, and the same answers."""
    reports = []
    for path in (None, tmp_path / "brain.db"):
        r = room(path)
        made = plant(r, Secret())
        report = r.ann.erase(made["secret"])
        reports.append((report.events, report.counts, len(report.memory_ids)))
        assert not r.nightly.verify().problems
        r.space.close()
    assert reports[0] == reports[1]
