"""What the author of a draft or a batch is told of memories that he may not see: nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engram_core import ApprovalPolicy, Fact, MemorySpace, Person, assistant, private, user


@pytest.fixture
def sessions() -> Iterator[tuple[Any, Any]]:
    """A user and an assistant who may merge."""
    with MemorySpace.in_memory(approval=ApprovalPolicy.of({"assistant": ["merge"]})) as space:
        yield space.session(user("ann")), space.session(assistant("bot"))


@pytest.mark.parametrize("how", ["hidden", "deleted"])
def test_a_rebase_tells_nothing_of_what_is_gone(sessions: tuple[Any, Any], how: str) -> None:
    """A draft whose memory was hidden or deleted meanwhile has no ground that its author may know."""
    ann, bot = sessions
    fact = ann.remember(Fact("x"))
    draft = bot.edit(fact, content="mine")
    ann.edit(fact, content="SECRET")
    if how == "hidden":
        ann.set_visibility(fact, private())
    else:
        ann.delete(fact)
    receipt = bot.rebase(draft)
    assert "unchanged" == receipt.status
    assert "SECRET" not in repr(receipt)
    assert "SECRET" not in repr(bot.proposal(draft))
    assert "SECRET" in repr(ann.rebase(draft)) or how == "deleted"


def test_a_rebase_tells_of_no_edge_to_a_hidden_memory(sessions: tuple[Any, Any]) -> None:
    """A draft on a visible memory is set upon today's revision, and edges to what is hidden are left out."""
    ann, bot = sessions
    fact, other, hidden = (
        ann.remember(Fact("x")),
        ann.remember(Fact("y")),
        ann.remember(Fact("z"), visibility=private()),
    )
    draft = bot.link(fact, "about", other)
    ann.link(fact, "relates_to", hidden)
    ann.contradict(fact, by=hidden)
    ann.edit(fact, content="news")
    receipt = bot.rebase(draft)
    assert "changed" == receipt.status
    assert hidden.memory_id not in repr(receipt)
    assert "news" in receipt.possible_conflicts[0].hint


def test_a_receipt_names_no_hidden_memory(sessions: tuple[Any, Any]) -> None:
    """What came from a hidden source goes on with a merge, and the receipt does not say from whom."""
    ann, bot = sessions
    alice, hidden, cy = (
        ann.remember(Person("Alice")),
        ann.remember(Person("Ali"), visibility=private()),
        ann.remember(Person("Cy")),
    )
    ann.merge(alice, hidden)
    receipt = bot.merge(cy, alice, command_id="m")
    assert "changed" == receipt.status
    assert hidden.memory_id not in repr(receipt.events)
    assert hidden.memory_id not in repr(bot.merge(cy, alice, command_id="m").events)
    assert "Ali" in ann.get(cy).attributes.aliases
