"""A command_id makes a retry answer with the first result, for every verb; another actor's is another command."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engram_core.approval import ApprovalPolicy
from engram_core.kinds import Contact, Fact, Goal, Person
from engram_core.session import Session
from engram_core.values import EvidenceRef, assistant, permanent, private, user
from tests.governance.rooms import Room, room


@pytest.fixture
def r() -> Room:
    return room()


Verb = Callable[[Session, dict[str, Any], str], Any]

VERBS: dict[str, Verb] = {
    "remember": lambda s, w, k: s.remember(Fact("new"), command_id=k),
    "remember confirming": lambda s, w, k: s.remember(Fact("known"), on_duplicate="confirm", command_id=k),
    "edit": lambda s, w, k: s.edit(w["known"], content="new", command_id=k),
    "update": lambda s, w, k: s.update(w["known"], statement="better known", command_id=k),
    "tag": lambda s, w, k: s.tag(w["known"], "t", command_id=k),
    "untag": lambda s, w, k: s.untag(w["known"], "old", command_id=k),
    "link": lambda s, w, k: s.link(w["known"], "about", w["alice"], command_id=k),
    "ensure_link": lambda s, w, k: s.ensure_link(w["known"], "about", w["alice"], command_id=k),
    "unlink": lambda s, w, k: s.unlink(w["phone"], "owned_by", w["alice"], command_id=k),
    "unlink from the other end": lambda s, w, k: s.unlink(w["other"], "relates_to", w["known"], command_id=k),
    "add_evidence": lambda s, w, k: s.add_evidence(w["known"], EvidenceRef("quote", "q"), command_id=k),
    "confirm": lambda s, w, k: s.confirm(w["known"], command_id=k),
    "contradict": lambda s, w, k: s.contradict(w["known"], by=w["other"], command_id=k),
    "resolve": lambda s, w, k: s.resolve(w["known"], w["other"], keep=w["other"], command_id=k),
    "pin": lambda s, w, k: s.pin(w["known"], command_id=k),
    "unpin": lambda s, w, k: s.unpin(w["pinned"], command_id=k),
    "weigh": lambda s, w, k: s.weigh(w["known"], 0.5, command_id=k),
    "set_visibility": lambda s, w, k: s.set_visibility(w["known"], private(), command_id=k),
    "set_lifetime": lambda s, w, k: s.set_lifetime(w["known"], permanent(), command_id=k),
    "set_validity": lambda s, w, k: s.set_validity(
        w["known"], valid_to=s.get(w["known"]).created_at.replace(year=2030), command_id=k
    ),
    "supersede": lambda s, w, k: s.supersede(w["known"], Fact("newer"), command_id=k),
    "supersede by what is there": lambda s, w, k: s.supersede(w["known"], w["other"], command_id=k),
    "merge": lambda s, w, k: s.merge(w["alice"], w["al"], command_id=k),
    "unmerge": lambda s, w, k: s.unmerge(w["merged"], command_id=k),
    "mark_distinct": lambda s, w, k: s.mark_distinct(w["alice"], w["al"], command_id=k),
    "archive": lambda s, w, k: s.archive(w["known"], command_id=k),
    "restore": lambda s, w, k: s.restore(w["archived"], command_id=k),
    "delete": lambda s, w, k: s.delete(w["known"], command_id=k),
}


def world(r: Room) -> dict[str, Any]:
    ann = r.ann
    w = {
        "known": ann.remember(Fact("known"), tags=("old",)),
        "other": ann.remember(Fact("other")),
        "alice": ann.remember(Person("Alice Ng")),
        "al": ann.remember(Person("Al Ng")),
        "merged": ann.remember(Person("A. Ng")),
        "pinned": ann.remember(Fact("pinned"), pinned=True),
        "archived": ann.remember(Fact("archived")),
        "goal": ann.remember(Goal("goal", status="active")),
    }
    w["phone"] = ann.remember(Contact("phone", "1"), links=[("owned_by", w["alice"])])
    ann.link(w["known"], "relates_to", w["other"])
    ann.merge(w["alice"], w["merged"])
    ann.archive(w["archived"])
    return w


@pytest.mark.parametrize("name", VERBS)
def test_a_retry_answers_with_the_first_result(r: Room, name: str) -> None:
    """The same status, memory and batch, and nothing is written; also through a session opened later."""
    w = world(r)
    r.clock.move(days=1)
    first = VERBS[name](r.ann, w, "k-1")
    after = r.space.position
    later = r.space.session(user("ann"), record=False)
    for session in (r.ann, later):
        r.clock.move(days=1)
        again = VERBS[name](session, w, "k-1")
        assert (first.status, first.memory_id, first.batch_id) == (again.status, again.memory_id, again.batch_id)
        assert set(map(type, first.events)) <= set(map(type, again.events))
        assert after == r.space.position


@pytest.mark.parametrize("name", sorted(set(VERBS) - {"set_visibility", "remember confirming"}))
def test_a_retry_of_what_was_proposed_finds_the_proposal(r: Room, name: str) -> None:
    """Also once it is merged, rejected or withdrawn."""
    w = world(r)
    first = VERBS[name](r.bot, w, "k-1")
    assert "proposed" == first.status
    for close in (lambda: None, lambda: r.ann.reject(first)):
        close()
        again = VERBS[name](r.bot, w, "k-1")
        assert (first.status, first.proposal_id, first.memory_id) == (
            again.status,
            again.proposal_id,
            again.memory_id,
        )
    assert 1 == len(r.ann.proposals(status=None))


def test_another_actors_command_is_another_one(r: Room) -> None:
    """The key belongs to who uses it."""
    memory = r.ann.remember(Fact("x"), confidence=0.5)
    bob = r.space.session(user("bob"))
    r.ann.confirm(memory, command_id="k")
    bob.confirm(memory, command_id="k")
    assert 0.995 == pytest.approx(r.ann.get(memory).confidence)


def test_a_command_that_changed_nothing_is_decided_anew(r: Room) -> None:
    """There was no first result to come back to."""
    memory = r.ann.remember(Fact("x"), tags=("t",))
    assert "unchanged" == r.ann.tag(memory, "t", command_id="k").status
    r.ann.untag(memory, "t")
    assert "changed" == r.ann.tag(memory, "t", command_id="k").status


def test_a_retry_survives_erasure(r: Room) -> None:
    """It still answers with the memory that was created, and writes nothing."""
    first = r.ann.remember(Fact("x"), command_id="k")
    r.ann.erase(first)
    before = r.space.position
    again = r.ann.remember(Fact("x"), command_id="k")
    assert (first.memory_id, first.batch_id, "created") == (again.memory_id, again.batch_id, again.status)
    assert before == r.space.position


def test_retries_survive_a_rebuild(tmp_path: Path) -> None:
    """Which command led to which batch is in the log."""
    r = room(tmp_path / "brain.db")
    first = r.ann.remember(Fact("x"), command_id="k")
    r.nightly.rebuild()
    r.space.close()
    again = room(tmp_path / "brain.db")
    assert first.memory_id == again.ann.remember(Fact("y"), command_id="k").memory_id
    assert 1 == again.ann.count()


@pytest.mark.parametrize("with_key", [False, True])
def test_racing_identical_adds_give_one_memory(tmp_path: Path, with_key: bool) -> None:
    """Two handles on one file, and two threads on one space: decided inside the write."""
    spaces = [room(tmp_path / "brain.db"), room(tmp_path / "brain.db")]
    found: list[str | None] = []

    def add(session: Session) -> None:
        for n in range(10):
            key = {"command_id": f"k{n}"} if with_key else {}
            found.append(session.remember(Fact(f"fact {n}"), **key).memory_id)

    threads = [threading.Thread(target=add, args=(r.ann,)) for r in spaces for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (40, 10) == (len(found), len(set(found)))
    assert 10 == spaces[0].ann.count()
    assert not spaces[0].nightly.verify().problems
    for r in spaces:
        r.space.close()


def test_trusted_assistants_retry_like_users() -> None:
    """Also when it was written at once."""
    r = room(approval=ApprovalPolicy.trust_assistants())
    first = r.bot.remember(Fact("x"), command_id="k")
    again = r.bot.remember(Fact("x"), command_id="k")
    other = r.space.session(assistant("other")).remember(Fact("x"), command_id="k")
    assert (first.memory_id, "created", "created", "duplicate") == (
        again.memory_id,
        first.status,
        again.status,
        other.status,
    )


def test_a_retry_tells_nothing_of_what_is_hidden_by_now() -> None:
    """The answer is the first one, but for the events of memories that the actor may not see any more."""
    r = room(approval=ApprovalPolicy.trust_assistants())
    first = r.bot.remember(Fact("x"), command_id="once")
    assert 1 == len(first.events)
    r.ann.set_visibility(first, private())
    again = r.bot.remember(Fact("x"), command_id="once")
    assert (first.status, first.memory_id, ()) == (again.status, again.memory_id, again.events)
