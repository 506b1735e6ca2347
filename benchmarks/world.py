"""A filled space in a file of its own, and copies of it for those who write by hand."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from benchmarks.floors import Floor
from benchmarks.words import invented, questions_about
from engram_core import Draft, Fact, MemorySpace, Person, Session, user

__all__ = ["World", "draft", "filled"]

_BATCH = 1_000
_SPARE = 60_000  # texts beyond the size, for what the areas write


@frozen
class World:
    """What the areas measure on.

    Attributes:
        folder: Where its files are.
        space, session: Ours, open.
        texts, questions: What it holds, and what may be asked.
        person: The id of the person whom every fact is about.
        ids: Of the facts.
        spare: New texts, each given once.
    """

    folder: Path
    space: MemorySpace
    session: Session
    texts: Sequence[str]
    questions: Sequence[str]
    person: str
    ids: Sequence[str]
    spare: Iterator[str]

    @property
    def path(self) -> Path:
        """The space's file."""
        return self.folder / "ours.db"

    def copy(self, name: str) -> Path:
        """A copy of the file as it is now."""
        target = self.folder / name
        source = sqlite3.connect(self.path)
        try:
            source.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            source.close()
        shutil.copy(self.path, target)
        made = sqlite3.connect(target)
        made.execute("PRAGMA journal_mode=WAL")
        made.close()
        return target

    def floor(self) -> Floor:
        """A hand-written writer over a copy of the space's file."""
        return Floor(self.copy("floor.db"))

    def take(self, count: int) -> list[str]:
        """Texts that nothing holds yet."""
        return list(itertools.islice(self.spare, count))


def draft(text: str, about: Any) -> Draft:
    """A fact about a person, without the report of what it may repeat."""
    return Draft(Fact(statement=text[:500]), links=[("about", about)], similar=False)


def filled(folder: Path, size: int) -> World:
    """A space of that many facts about one person."""
    texts = invented(size + _SPARE)
    spare = iter([f"{text} {number}" for number, text in enumerate(texts[size:])])
    space = MemorySpace.open(folder / "ours.db", durability="normal")
    session = space.session(user("bench"), record=False)
    person = session.remember(Person(full_name="Ann Lee"))
    report = session.remember_many([draft(text, person) for text in texts[:size]], batch=_BATCH)
    ids = [str(receipt.memory_id) for receipt in report.receipts]
    return World(folder, space, session, texts[:size], questions_about(texts[:size]), str(person.memory_id), ids, spare)
