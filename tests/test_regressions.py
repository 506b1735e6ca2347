"""What random histories found, each as the shortest story that shows it, against both stores."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from engram_core import ConflictError, Episode, Fact, Location, MemorySpace, Person, assistant, private, user
from engram_core.testing import FrozenClock

CLOCK = FrozenClock()


@pytest.fixture(params=["memory", "file"])
def space(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemorySpace]:
    """A space of either sort."""
    clock = FrozenClock()
    if request.param == "memory":
        made = MemorySpace.in_memory(clock=clock)
    else:
        made = MemorySpace.open(tmp_path / "space.db", clock=clock, durability="normal")
    with made:
        yield made


def test_recall_where_no_text_has_a_word(space: MemorySpace) -> None:
    """A space whose only texts are empty answers a question, with nothing."""
    ann = space.session(user("ann"))
    ann.delete(ann.remember(Fact("oolong")))
    ann.remember(Episode(occurred_at=CLOCK.now()))
    assert 0 == len(ann.recall("oolong"))


def test_a_supersession_in_a_block_names_the_new_memory(space: MemorySpace) -> None:
    """Its receipt is the same within a block and outside."""
    ann = space.session(user("ann"))
    old, new, newer = (ann.remember(Fact(text)).memory_id for text in ("old", "new", "newer"))
    assert (old, new, newer) != (None, None, None)
    assert new == ann.supersede(str(old), str(new)).memory_id
    with ann.batch() as block:
        block.supersede(str(new), str(newer), effective_at=CLOCK.now() + timedelta(hours=1))
    assert newer == block.receipts[0].memory_id


def test_undoing_something_else_leaves_a_merge_alone(space: MemorySpace) -> None:
    """What a merge gave goes by unmerging, or by undoing the merge; not with a confirmation from before it."""
    ann = space.session(user("ann"))
    alice = ann.remember(Person("Alice Ng"))
    al = ann.remember(Person("Al Ng", aliases=("Ali",)), tags=["friends"])
    confirmed = ann.confirm(alice)
    ann.merge(alice, al)
    ann.undo(confirmed)
    assert (("Al Ng", "Ali"), ("friends",)) == (ann.get(alice).attributes.aliases, ann.get(alice).tags)
    pinned = ann.pin(alice)
    ann.unmerge(al)
    ann.undo(pinned)
    assert ((), ()) == (ann.get(alice).attributes.aliases, ann.get(alice).tags)


def test_a_dispute_that_was_undone_undermines_nothing(space: MemorySpace) -> None:
    """However low confidence was to begin with."""
    ann = space.session(user("ann"))
    ground = ann.remember(Fact("said in passing"), confidence=0.3)
    rests = ann.remember(Fact("concluded"), links=[("derived_from", ground)])
    disputed = ann.contradict(ground)
    assert ann.get(rests).flags.undermined
    ann.undo(disputed)
    assert not ann.get(rests).flags.undermined
    assert () == tuple(row for row in ann.reviews() if row.reason == "low_confidence")
    ann.redo(disputed)
    assert ann.get(rests).flags.undermined


@pytest.mark.parametrize("at_once", [True, False])
def test_no_circle_closes_through_a_merge(space: MemorySpace, at_once: bool) -> None:
    """A merged memory is where it was merged into, for what is superseded and for edges; also within one block."""
    ann = space.session(user("ann"))
    oslo, christiania, norway = (ann.remember(Location(name)).memory_id for name in ("Oslo", "Christiania", "Norway"))
    ann.link(str(oslo), "part_of", str(norway))

    def merge_and(verb: str, *args: object) -> None:
        if at_once:
            with ann.batch() as block:
                block.merge(str(oslo), str(christiania))
                getattr(block, verb)(*args)
        else:
            ann.merge(str(oslo), str(christiania))
            getattr(ann, verb)(*args)

    for step in (
        ("supersede", christiania, oslo),
        ("link", oslo, "part_of", christiania),
        ("link", norway, "part_of", christiania),
    ):
        with pytest.raises(ConflictError):
            merge_and(*map(str, step))


def test_nothing_fades_by_being_confirmed(space: MemorySpace) -> None:
    """A duplicate that was said before the memory began confirms it as of its beginning."""
    ann = space.session(user("ann"))
    kept = ann.remember(Fact("oolong"))
    ann.remember(Fact("oolong"), occurred_at=CLOCK.now() - timedelta(days=500), on_duplicate="confirm")
    found = ann.get(kept)
    assert (found.created_at, 0.995) == (found.last_confirmed_at, round(found.effective_confidence, 6))


def test_pages_of_a_pinned_view_go_on_after_a_write(space: MemorySpace) -> None:
    """What is written between two pages, seen or not, changes neither the second nor the cursor that leads to it."""
    ann, bot = (space.session(actor, record=False) for actor in (user("ann"), assistant("bot")))
    for text in ("one", "two", "three"):
        ann.remember(Fact(text))
    views = [session.as_of(known_at=CLOCK.now()) for session in (ann, bot)]
    first = [view.find(order="importance", limit=2, status=None) for view in views]
    ann.remember(Fact("hidden"), visibility=private())
    for view, page in zip(views, first, strict=True):
        again = view.find(order="importance", limit=2, status=None)
        assert (page.items, page.next) == (again.items, again.next)
        assert 1 == len(view.find(order="importance", limit=2, status=None, after=page.next))


def test_a_proposal_of_erased_text_is_open_in_no_past(space: MemorySpace) -> None:
    """The queue of a past view is that of the log as it stands today."""
    ann, bot = (space.session(actor, record=False) for actor in (user("ann"), assistant("bot")))
    proposed = bot.remember(Fact("oolong"))
    then = ann.as_of(known_at=CLOCK.now())
    assert ["proposal"] == [row.reason for row in then.reviews()]
    assert proposed.proposal_id is not None
    approved = ann.approve(proposed.proposal_id)
    ann.erase(approved)
    assert () == then.reviews().items
    assert () == then.proposals().items


@pytest.mark.parametrize("leaves", ["delete", "erase"])
def test_what_is_gone_is_told_alike_whatever_was_written_since(space: MemorySpace, leaves: str) -> None:
    """A view pinned to the head reads as the present does, before and after something else is written."""
    ann, bot = (space.session(actor, record=False) for actor in (user("ann"), assistant("bot")))
    ground = ann.remember(Fact("ground"))
    rests = ann.remember(Fact("rests"), links=[("derived_from", ground)])
    getattr(ann, leaves)(ground)
    for reader in (ann, bot):
        present = (reader.get(rests), reader.reviews().items)
        view = reader.as_of(known_at=CLOCK.now())
        assert present == (view.get(rests), view.reviews().items)
        ann.remember(Fact(f"for {leaves}, unseen by {reader._viewer}"), visibility=private())
        assert present == (view.get(rests), view.reviews().items)
        assert view.get(rests).flags.undermined
