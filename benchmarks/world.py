"""A filled space in a file of its own, and copies of it for those who write by hand."""

from __future__ import annotations

import itertools
import random
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from attrs import frozen

from benchmarks.floors import Floor
from benchmarks.words import invented, questions_about
from engram_core import Draft, Episode, Fact, MemorySpace, Person, Preference, Session, user

__all__ = ["World", "draft", "filled"]

_BATCH = 1_000
_SPARE = 40_000  # texts beyond the size, for what the areas write
_TOPICS = ("work", "home", "food", "travel", "music", "sport", "money", "family", "garden", "health", "books", "plans")
_BEGAN = datetime(2024, 1, 1, tzinfo=UTC)


@frozen
class World:
    """What the areas measure on.

    Attributes:
        folder: Where its files are.
        space, session: Ours, open.
        texts, questions: What it holds, and what may be asked.
        person: The id of a person whom many memories are about.
        ids: Of the facts that have no tags.
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
        for old in self.folder.glob(f"{name}*"):
            old.unlink()
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


def draft(text: str, about: Any, **options: Any) -> Draft:
    """A fact about somebody, without the report of what it may repeat."""
    return Draft(Fact(statement=text[:500]), links=[("about", about)], similar=False, **options)


def _varied(text: str, place: int, people: Sequence[str], rng: random.Random) -> Draft:
    """Mostly facts, each about somebody; some preferences and events, and a tag or two on every fifth."""
    about = people[place % len(people)]
    tags = rng.sample(_TOPICS, rng.randint(1, 2)) if place % 5 == 4 else ()
    match place % 10:
        case 3:
            words = text.split()
            taste = Preference(polarity=rng.choice(("likes", "dislikes")), target=" ".join(words[:3]))
            return Draft(taste, content=text, links=[("about", about)], tags=tags, similar=False)
        case 7:
            happened = _BEGAN + timedelta(hours=place)
            event = Episode(occurred_at=happened)
            return Draft(
                event,
                title=" ".join(text.split()[:4]),
                content=text,
                links=[("involves", about)],
                tags=tags,
                similar=False,
            )
        case _:
            return draft(text, about, tags=tags)


def filled(folder: Path, size: int, **options: Any) -> World:
    """A space of that many memories, and a person for every fifty of them.

    Args:
        folder: Where its file is made.
        size: How many.
        options: Of the space.
    """
    texts = invented(size + _SPARE)
    spare = iter([f"{text} {number}" for number, text in enumerate(texts[size:])])
    texts, rng = texts[:size], random.Random(3)
    space = MemorySpace.open(folder / "ours.db", durability="normal", **options)
    session = space.session(user("bench"), record=False)
    names = [f"{text.split()[0]} {text.split()[-1]}".title() for text in texts[:: min(50, size)]]
    made = session.remember_many(
        [Draft(Person(full_name=name), on_duplicate="create", similar=False) for name in names], batch=_BATCH
    )
    people = [str(receipt.memory_id) for receipt in made.receipts]
    ids: list[str] = []
    for start in range(0, size, _BATCH):
        part = texts[start : start + _BATCH]
        drafts = [_varied(text, place, people, rng) for place, text in enumerate(part, start)]
        report = session.remember_many(drafts, batch=_BATCH)
        plain = (place % 10 not in (3, 7) and place % 5 != 4 for place in range(start, start + len(part)))
        ids += [str(receipt.memory_id) for receipt, is_plain in zip(report.receipts, plain, strict=True) if is_plain]
    return World(folder, space, session, texts, questions_about(texts), people[0], ids, spare)
