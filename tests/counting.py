"""A space in which everything that SQLite does is counted; in two sizes, to see what grows."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from engram_core import Draft, Episode, Fact, MemorySpace, Person, Preference, Relationship, assistant, private, user

_STEP: Final = 20  # the machine's steps are counted in portions of so many
BEGAN: Final = datetime(2024, 1, 1, tzinfo=UTC)
"""The episodes of a space happened from here on, one an hour."""


class Counted:
    """A space whose statements, steps and changed rows are counted, on whatever connection they happen."""

    def __init__(self, path: Path, size: int, **options: Any) -> None:
        self.path = path
        self._connections: list[sqlite3.Connection] = []
        self.statements: list[str] = []
        self.portions = 0
        self.space = MemorySpace.open(path, durability="normal", connect=self.connect, **options)
        self.ann = self.space.session(user("ann"), record=False)
        self.bot = self.space.session(assistant("claude"), record=False)
        self.people, self.ids = _fill(self, size)
        self.halfway = next(self.space.events(after=self.space.position // 2)).recorded_at

    def connect(self, *arguments: Any, **options: Any) -> sqlite3.Connection:
        """Opens a connection on which everything is counted."""
        connection = sqlite3.connect(*arguments, **options)
        connection.set_trace_callback(self._said)
        connection.set_progress_handler(self._stepped, _STEP)
        self._connections.append(connection)
        return connection

    def _said(self, statement: str) -> None:
        if not statement.startswith("--"):  # what a text index says to its own tables
            self.statements.append(statement)

    def _stepped(self) -> int:
        self.portions += 1
        return 0

    def said(self, action: Callable[[], object]) -> list[str]:
        """The statements of an action."""
        self.statements.clear()
        action()
        return list(self.statements)

    def steps(self, action: Callable[[], object]) -> int:
        """The steps that SQLite's machine takes for an action."""
        before = self.portions
        action()
        return (self.portions - before) * _STEP

    def changed(self, action: Callable[[], object]) -> int:
        """The rows that an action inserts, updates or deletes, those of text indexes included."""
        before = self._rows()
        action()
        return self._rows() - before

    def _rows(self) -> int:
        total = 0
        for connection in self._connections:
            with suppress(sqlite3.ProgrammingError):  # some were closed since, and changed nothing
                total += connection.total_changes
        return total


def _text(number: int) -> str:
    rng = random.Random(number)
    words = " ".join(f"word{int(rng.paretovariate(0.6)) % 5_000}" for _ in range(24))
    return f"unique{number} {words}"


def draft(number: int, people: list[str]) -> Draft:
    """A memory about somebody, always the same for a number."""
    about, text = people[number % len(people)], _text(number)
    tags = [f"topic{number % 7}"] if number % 5 == 0 else ()
    match number % 10:
        case 3:
            taste = Preference(polarity="likes", target=f"thing{number}")
            return Draft(taste, content=text, links=[("about", about)], tags=tags, similar=False)
        case 7:
            episode = Episode(occurred_at=BEGAN + timedelta(hours=number))
            return Draft(episode, title=f"day {number}", content=text, links=[("involves", about)], similar=False)
        case _:
            return Draft(Fact(statement=text), links=[("about", about)], tags=tags, similar=False)


def _fill(counted: Counted, size: int) -> tuple[list[str], list[str]]:
    """One person for twenty memories, and a little of everything else, the same whatever the size."""
    ann = counted.ann
    named = [Draft(Person(full_name=f"Person{number} Name{number}"), similar=False) for number in range(size // 20)]
    people = [str(receipt.memory_id) for receipt in ann.remember_many(named).receipts]
    drafts = [draft(number, people) for number in range(size)]
    ids = [str(receipt.memory_id) for receipt in ann.remember_many(drafts, batch=200).receipts]
    ann.remember(Relationship(subject_id=people[0], predicate="knows", object_id=people[1]), similar=False)
    ann.contradict(ids[1], by=ids[2])
    ann.link(ids[4], "derived_from", ids[6])
    ann.supersede(ids[11], Fact(statement="what is true now"))
    ann.merge(people[2], people[3])
    ann.archive(ids[12])
    ann.remember(Fact(statement="a rare one"), tags=["rare"], similar=False)
    ann.set_visibility(ids[14], private())
    counted.bot.remember(Fact(statement="the assistant thinks so"))
    # What the past views look at lies in the past: these rows were changed after the middle of the log.
    for id in ids[20:40]:
        ann.confirm(id)
    return people, ids
