"""What random histories found, each as the shortest story that shows it, against both stores."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from engram_core import Episode, Fact, MemorySpace, user
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
