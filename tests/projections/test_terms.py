"""The lanes keep terms: when the same text yields others, files that are there already must be built anew."""

from __future__ import annotations

import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest

from engram_core import Fact, MemorySpace, Person, user
from engram_core.analysis import document, question
from engram_core.projections import texts
from engram_core.projections.indexing import TERMS_VERSION
from engram_core.testing import FrozenClock
from engram_core.testing.steps import START
from tests.test_recall_hard import MEMORIES, QUESTIONS

# TERMS_VERSION, and what all texts below become in it
GOLDEN = (4, "d93a06d525c68a4c")

TEXTS = (
    *((text,) for text in MEMORIES.values()),
    *((text,) for text, _ in QUESTIONS),
    ("Alice", "Alice Ng lives here", "Ali"),
    ("a statement that opens", "a statement that opens the content\nand goes on"),
    ("\n".join(f"line {number} of a long text, with more words" for number in range(40)),),
    (" ".join(f"word{number}" for number in range(400)),),
)
LENGTHS = ("a", "a " * 8, "a " * 13, "a " * 34, "a\n" * 100, "a " * 1_300)


def test_the_same_text_yields_the_same_terms_in_one_version() -> None:
    """Whoever changes what a text becomes raises TERMS_VERSION, and puts the new digest beside it."""
    made = [
        *(document(*text) for text in TEXTS),
        *(repr(question(text)) for text, _ in QUESTIONS),
        *(texts.document_id(7, length.strip()) for length in LENGTHS),
        *texts.create_statements(),
        *texts.name_phrases(["Alice Ng", "The Who", "C++", "乌龙茶"]),
    ]
    assert (TERMS_VERSION, sha256(ascii(made).encode()).hexdigest()[:16]) == GOLDEN


@pytest.mark.parametrize("small", [0, 10_000])
def test_a_file_of_older_terms_is_built_anew(small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening it is enough: what older terms hid is found, and the names that they missed lift again."""
    monkeypatch.setattr("engram_core.projections.read_model._SMALL", small)
    path = tmp_path / "space.db"
    clock = FrozenClock(START)
    with MemorySpace.open(path, clock=clock) as space:
        ann = space.session(user("ann"), record=False)
        alice = ann.remember(Person(full_name="Alice Ng", aliases=("Ali",)))
        ann.remember(Fact(statement="likes oolong tea"), links=[("about", alice)])
        ann.remember(Fact(statement="likes oolong tea"), on_duplicate="create")
        expected = ann.recall("which tea does Ali like?", kind="fact")
    assert "named" in expected[0].explanation
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE meta SET value = ? WHERE name = 'terms'", (TERMS_VERSION - 1,))
    connection.execute("DELETE FROM names")
    connection.execute("DELETE FROM text_shared")
    connection.close()
    with MemorySpace.open(path, clock=clock) as space:
        ann = space.session(user("ann"), record=False)
        assert expected == ann.recall("which tea does Ali like?", kind="fact")
        assert space.maintenance(user("ann")).verify().ok
