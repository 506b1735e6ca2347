"""Two projections that keep the contract: one for users, one for a viewer from whom some memories are hidden."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from engram_core import events as ev
from engram_core.audience import may_see
from engram_core.events import RecordedEvent
from engram_core.ports import Projection
from engram_core.values import Visibility, assistant
from engram_core.vocab import FieldGroup, StoredStatus

__all__ = ["PROJECTIONS", "VIEWER", "Board", "Ledger", "entries", "ledger_after"]

VIEWER: Final = assistant("bot")
"""Whom `Board` serves."""


class Ledger:
    """How many events of each type there were, and which words stand in which event, until they are erased."""

    name: str = "ledger"
    version: int = 1

    def setup(self, tx: sqlite3.Connection) -> None:
        """Creates its tables."""
        tx.execute("CREATE TABLE ledger_types (type TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID")
        tx.execute("CREATE TABLE ledger_words (event_id TEXT, n INTEGER, word TEXT, PRIMARY KEY (event_id, n))")

    def teardown(self, tx: sqlite3.Connection) -> None:
        """Drops its tables."""
        tx.execute("DROP TABLE ledger_types")
        tx.execute("DROP TABLE ledger_words")

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        """Takes in events."""
        for recorded in events:
            self.count(tx, recorded)
            self.enter(tx, recorded)
            if isinstance(recorded.event, ev.MemoryErased):
                self.forget(tx, recorded, recorded.event)

    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        """Counts an event; its type stays when its payload goes."""
        tx.execute(
            "INSERT INTO ledger_types VALUES (?, 1) ON CONFLICT (type) DO UPDATE SET n = n + 1", (recorded.type,)
        )

    def enter(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        """Enters the words of an event."""
        for number, word in enumerate(self.words(recorded)):
            tx.execute("INSERT INTO ledger_words VALUES (?, ?, ?)", (recorded.id, number, word))

    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        """The words that are entered for an event."""
        yield from entries(recorded.event)

    def forget(self, tx: sqlite3.Connection, recorded: RecordedEvent, erased: ev.MemoryErased) -> None:
        """Strikes out what was erased."""
        for event_id in erased.event_ids:
            tx.execute("DELETE FROM ledger_words WHERE event_id = ?", (event_id,))


def entries(event: Any) -> Iterator[str]:
    """The words of some events: those that were said of a memory, or that it took over from another."""
    match event:
        case ev.MemoryCreated():
            yield from (str(value) for value in event.attributes.values())
            yield from (event.content, *event.tags, *(ref.value for ref in event.evidence))
        case ev.MemoryEdited():
            yield from (str(text) for text in (event.title, event.content) if isinstance(text, str))
        case ev.MemoryTagged():
            yield from event.added
        case ev.MemoryAbsorbed():
            yield from (*event.aliases, *event.tags)
        case _:
            pass


class Board:
    """What an assistant may read: the kind of each memory, and how often it was changed in words."""

    name: str = "board"
    version: int = 1

    def setup(self, tx: sqlite3.Connection) -> None:
        """Creates its table."""
        tx.execute(
            "CREATE TABLE board (id TEXT PRIMARY KEY, kind TEXT, words TEXT, shown INTEGER, gone INTEGER) WITHOUT ROWID"
        )

    def teardown(self, tx: sqlite3.Connection) -> None:
        """Drops its table."""
        tx.execute("DROP TABLE board")

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        """Takes in events."""
        for recorded in events:
            event = recorded.event
            match event:
                case ev.MemoryCreated():
                    words = " ".join(entries(event))
                    row = (recorded.stream, event.kind, words, self.may_show(event.visibility))
                    tx.execute("INSERT INTO board VALUES (?, ?, ?, ?, 0)", row)
                case ev.MemoryVisibilityChanged():
                    self.show(tx, recorded.stream, event.visibility)
                case ev.MemoryReverted():
                    if FieldGroup.VISIBILITY in event.restored:
                        self.show(tx, recorded.stream, event.restored[FieldGroup.VISIBILITY])
                    if FieldGroup.LIFECYCLE in event.restored:
                        stored = event.restored[FieldGroup.LIFECYCLE].stored
                        self.keep(tx, recorded.stream, gone=stored is StoredStatus.WITHDRAWN)
                case ev.MemoryDeleted():
                    self.keep(tx, recorded.stream, gone=True)
                case ev.MemoryErased():
                    tx.execute("DELETE FROM board WHERE id = ?", (recorded.stream,))
                case _:
                    pass

    def may_show(self, visibility: Visibility) -> bool:
        """Whether the viewer may see a memory of this visibility."""
        return may_see(VIEWER, visibility)

    def show(self, tx: sqlite3.Connection, id: str, visibility: Visibility) -> None:
        """Shows a memory from now on, or no longer."""
        tx.execute("UPDATE board SET shown = ? WHERE id = ?", (self.may_show(visibility), id))

    def keep(self, tx: sqlite3.Connection, id: str, *, gone: bool) -> None:
        """Keeps a memory, or takes it out of sight."""
        tx.execute("UPDATE board SET gone = ? WHERE id = ?", (gone, id))

    @staticmethod
    def shown(tx: sqlite3.Connection) -> list[Any]:
        """What the viewer reads."""
        return tx.execute("SELECT id, kind, words FROM board WHERE shown AND NOT gone ORDER BY id").fetchall()


def ledger_after(events: Sequence[RecordedEvent]) -> dict[str, list[Any]]:
    """What `Ledger` must hold after these events, counted in plain Python."""
    erased = {
        id for recorded in events if isinstance(recorded.event, ev.MemoryErased) for id in recorded.event.event_ids
    }
    words = [
        (recorded.id, number, word)
        for recorded in events
        if recorded.id not in erased
        for number, word in enumerate(entries(recorded.event))
    ]
    types = Counter(recorded.type for recorded in events)
    return {"ledger_types": sorted(types.items()), "ledger_words": sorted(words, key=repr)}


PROJECTIONS: Final[Mapping[str, Callable[[], Projection]]] = MappingProxyType({"ledger": Ledger, "board": Board})
"""Projections that keep the contract, by name: each call gives a new instance."""
