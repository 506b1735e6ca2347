"""Decisions, undo and quarantine under a command_id: a retry gives the first receipt and writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import evolve

from engram_core import ConcurrencyError, ConflictError, Fact, InvalidAttributesError, MemorySpace, assistant, user
from engram_core.session import Session


@pytest.fixture
def space() -> Iterator[MemorySpace]:
    """A space with one fact of a user and one proposal of an assistant with two drafts."""
    with MemorySpace.in_memory() as made:
        ann = made.session(user("ann"))
        ann.remember(Fact("tea is kept in tins"))
        with made.session(assistant("bot"), session_id="s").proposal("two things") as p:
            p.remember(Fact("one"))
            p.remember(Fact("two"))
        yield made


def waiting(ann: Session) -> Any:
    """The proposal that is open."""
    (found,) = ann.proposals()
    return found


def settled(ann: Session) -> str:
    """A batch to undo."""
    receipt = ann.remember(Fact("three"))
    assert receipt.batch_id is not None
    return receipt.batch_id


def undone(ann: Session) -> str:
    """A batch that is undone."""
    batch = settled(ann)
    ann.undo(batch)
    return batch


def moved(ann: Session) -> Any:
    """A proposal whose ground has moved."""
    fact = ann.find(kind="fact", limit=1)[0]
    with ann.proposal("say where") as p:
        p.edit(fact, content="on the shelf")
    ann.edit(fact, content="in the kitchen")
    return next(one for one in ann.proposals() if one.title == "say where")


DECISIONS: dict[str, tuple[Callable[[Session], Any], Callable[..., Any]]] = {
    "approve": (waiting, Session.approve),
    "approve one": (waiting, lambda ann, p, **how: ann.approve(p, only=[2], **how)),
    "reject": (waiting, lambda ann, p, **how: ann.reject(p, note="no", **how)),
    "withdraw": (waiting, Session.withdraw),
    "rebase": (moved, Session.rebase),
    "undo": (settled, Session.undo),
    "redo": (undone, Session.redo),
    "quarantine": (
        lambda ann: ann.remember(Fact("four")),
        lambda ann, _, **how: ann.quarantine(actor=user("ann"), **how),
    ),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_a_retry_gives_the_first_receipt(space: MemorySpace, name: str) -> None:
    """Also to another session of the same actor; what no event tells is left out."""
    prepare, decide = DECISIONS[name]
    ann = space.session(user("ann"))
    about = prepare(ann)
    first = decide(ann, about, command_id="once")
    position = space.position
    again = decide(space.session(user("ann")), about, command_id="once")
    assert evolve(first, possible_conflicts=()) == again
    assert position == space.position
    assert first.batch_id is not None


@pytest.mark.parametrize("name", DECISIONS)
def test_a_name_belongs_to_its_actor(space: MemorySpace, name: str) -> None:
    """Another user's command of the same name is another command."""
    prepare, decide = DECISIONS[name]
    ann, bob = space.session(user("ann")), space.session(user("bob"))
    ann.remember(Fact("hers"), command_id="once")
    wanted = "proposed" if name == "quarantine" else "changed"
    assert wanted == decide(bob, prepare(bob), command_id="once").status


@pytest.mark.parametrize("name", ["approve", "reject", "withdraw", "rebase"])
def test_a_decision_may_expect_a_revision(space: MemorySpace, name: str) -> None:
    """Whoever decides on an older state of a proposal is told so, and nothing is decided."""
    prepare, decide = DECISIONS[name]
    ann = space.session(user("ann"))
    p = prepare(ann)
    with pytest.raises(ConcurrencyError):
        decide(ann, p, expected_revision=p.revision - 1)
    assert "open" == ann.proposal(p).status
    assert "changed" == decide(ann, p, expected_revision=p.revision).status


@pytest.mark.parametrize("name", DECISIONS)
def test_conditions_are_checked(space: MemorySpace, name: str) -> None:
    """A name must be text, a revision a whole number."""
    prepare, decide = DECISIONS[name]
    ann = space.session(user("ann"))
    about = prepare(ann)
    for wrong in ({"command_id": ""}, {"command_id": 5}, {"expected_revision": "1"}):
        with pytest.raises(InvalidAttributesError):
            decide(ann, about, **wrong)


def test_a_name_is_not_taken_for_another_command(space: MemorySpace) -> None:
    """Under a command_id of something else nothing is said to be done that was not."""
    ann = space.session(user("ann"))
    one = ann.remember(Fact("one more"), command_id="k")
    two = ann.remember(Fact("two more"))
    ann.edit(two, content="x", command_id="e")
    p = waiting(ann)
    for act in (
        lambda: ann.archive(two, command_id="k"),
        lambda: ann.archive(one, command_id="k"),
        lambda: ann.edit(one, content="x", command_id="e"),
        lambda: ann.remember(Fact("three more"), command_id="e"),
        lambda: ann.approve(p, command_id="k"),
        lambda: ann.undo(one, command_id="k"),
        lambda: ann.quarantine(session_id="s", command_id="k"),
    ):
        position = space.position
        with pytest.raises(ConflictError, match="another command"):
            act()
        assert position == space.position
    ann.approve(p, command_id="a")
    with pytest.raises(ConflictError, match="another command"):
        ann.reject(p, command_id="a")
    ann.undo(one, command_id="u")
    with pytest.raises(ConflictError, match="another command"):
        ann.undo(two, command_id="u")
    with pytest.raises(ConflictError, match="another command"):
        ann.edit(two, content="x", command_id="u")


def test_a_draft_is_told_from_another(space: MemorySpace) -> None:
    """Also where the first command became a proposal."""
    bot = space.session(assistant("bot"))
    fact = bot.find(limit=1)[0]
    first = bot.edit(fact, content="x", command_id="k")
    assert first == bot.edit(fact, content="x", command_id="k")
    with pytest.raises(ConflictError, match="another command"):
        bot.archive(fact, command_id="k")
