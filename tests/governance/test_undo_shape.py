"""What undo and redo bring back must still fit into the graph."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engram_core import (
    ApprovalPolicy,
    ConflictError,
    Contact,
    Fact,
    MemorySpace,
    NotFoundError,
    Person,
    Project,
    assistant,
    private,
    user,
)


@pytest.fixture
def space() -> Iterator[MemorySpace]:
    """A space in which assistants link on their own."""
    with MemorySpace.in_memory(approval=ApprovalPolicy.of({"assistant": ["link", "unlink"]})) as space:
        yield space


def test_no_circle_comes_back(space: MemorySpace) -> None:
    """An edge whose opposite was made meanwhile is not redone, nor brought back by undoing its end."""
    ann = space.session(user("ann"))
    one, other = (ann.remember(Project(name=name, status="idea")) for name in ("one", "other"))
    linked = ann.link(one, "part_of", other)
    ended = ann.unlink(one, "part_of", other)
    ann.link(other, "part_of", one)
    with pytest.raises(ConflictError, match="circle"):
        ann.undo(ended)
    assert () == ann.get(one).links
    assert linked.batch_id != ended.batch_id


def test_two_are_not_merged_into_each_other(space: MemorySpace) -> None:
    """A merge that was undone is not redone once the survivor went the other way."""
    ann = space.session(user("ann"))
    one, other = (ann.remember(Person(full_name=name)) for name in ("Alice Ng", "A. Ng"))
    merged = ann.merge(one, other)
    ann.undo(merged)
    ann.merge(other, one)
    with pytest.raises(ConflictError):
        ann.redo(merged)
    assert "archived" == ann.get(one).status


def test_a_pair_keeps_one_edge(space: MemorySpace) -> None:
    """A symmetric edge does not come back beside its mirror image."""
    ann = space.session(user("ann"))
    one, other = ann.remember(Fact("one")), ann.remember(Fact("other"))
    ann.link(one, "relates_to", other)
    ended = ann.unlink(one, "relates_to", other)
    ann.link(other, "relates_to", one)
    with pytest.raises(ConflictError, match="by now"):
        ann.undo(ended)


def test_hidden_ends_are_absent_ends(space: MemorySpace) -> None:
    """An assistant that links or unlinks towards a hidden memory is answered as for an id that never was."""
    ann, bot = space.session(user("ann")), space.session(assistant("bot"))
    hidden = ann.remember(Person(full_name="Hidden"), visibility=private())
    contact = ann.remember(Contact(channel="email", value="a@example.org"), links=[("owned_by", hidden)])
    assert hidden.memory_id is not None
    for id in (hidden.memory_id, "00000000-0000-7000-8000-000000000000"):
        with pytest.raises(NotFoundError):
            bot.link(contact, "owned_by", id)
        assert "unchanged" == bot.unlink(contact, "owned_by", id).status
    shown = ann.remember(Person(full_name="Shown"))
    assert "changed" == bot.link(contact, "owned_by", shown).status
