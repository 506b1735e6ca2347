"""Projections that look at more than their events, leave more than their tables, or show what they must not."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from engram_core import events as ev
from engram_core.events import RecordedEvent
from engram_core.testing.zoo.base import listed_projections, spoils
from engram_core.testing.zoo.ledgers import Board, Ledger
from engram_core.values import Visibility

__all__ = ["TRACES"]


# -- nothing but its events, nothing but its tables -------------------------------------------------------


@spoils("it looks at no clock", "depends_on_its_events_alone")
class UsesTheClock(Ledger):
    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        yield "in time" if datetime.now(UTC) > recorded.recorded_at else "too early"


@spoils("it has SQL look at no clock", "depends_on_its_events_alone")
class UsesTheClockOfSql(Ledger):
    def enter(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        tx.execute("INSERT INTO ledger_words VALUES (?, 0, strftime('%Y', 'now') > '1999')", (recorded.id,))


@spoils("it stores no present, as a default neither", "depends_on_its_events_alone")
class StampsItsRows(Ledger):
    def setup(self, tx: sqlite3.Connection) -> None:
        tx.execute("CREATE TABLE ledger_types (type TEXT PRIMARY KEY, n INTEGER, at TEXT DEFAULT CURRENT_TIMESTAMP)")
        tx.execute("CREATE TABLE ledger_words (event_id TEXT, n INTEGER, word TEXT, PRIMARY KEY (event_id, n))")

    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        tx.execute("INSERT OR IGNORE INTO ledger_types (type, n) VALUES (?, 1)", (recorded.type,))


@spoils("it draws no lots", "depends_on_its_events_alone")
class DrawsLots(Ledger):
    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        yield str(uuid4())


@spoils("it has SQL draw no lots", "depends_on_its_events_alone")
class DrawsLotsInSql(Ledger):
    def enter(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        tx.execute("INSERT INTO ledger_words VALUES (?, 0, random() % 7)", (recorded.id,))


@spoils("it touches no file", "depends_on_its_events_alone")
class WritesAFile(Ledger):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, events)
        with open(os.devnull, "w") as file:  # noqa: PTH123 (the plainest way to do it)
            file.write(str(len(events)))


@spoils("it reads no tables of others: a rebuild would see them later", "keeps_to_its_own_tables")
class ReadsItsNeighbours(Ledger):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        tx.execute("SELECT count(*) FROM memories WHERE id = 'x'").fetchone()
        super().apply(tx, events)


@spoils("it changes no tables of others", "keeps_to_its_own_tables")
class WritesToItsNeighbours(Ledger):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, events)
        tx.execute("UPDATE projection_checkpoints SET position = position + 1 WHERE name = 'a neighbour'")


@spoils("it opens no other database", "keeps_to_its_own_tables")
class AttachesADatabase(Ledger):
    def setup(self, tx: sqlite3.Connection) -> None:
        super().setup(tx)
        tx.execute("ATTACH ':memory:' AS elsewhere")

    def teardown(self, tx: sqlite3.Connection) -> None:
        super().teardown(tx)
        tx.execute("DETACH elsewhere")


@spoils("it leaves events as they are", "leaves_events_alone")
class AltersEvents(Ledger):
    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        if isinstance(recorded.event, ev.MemoryCreated):
            recorded.event.attributes["read"] = True  # type: ignore[index]
        yield "read"


@spoils("teardown drops all that setup created", "teardown")
class LeavesATable(Ledger):
    def setup(self, tx: sqlite3.Connection) -> None:
        tx.execute("CREATE TABLE IF NOT EXISTS ledger_types (type TEXT PRIMARY KEY, n INTEGER NOT NULL)")
        tx.execute("CREATE TABLE ledger_words (event_id TEXT, n INTEGER, word TEXT, PRIMARY KEY (event_id, n))")

    def teardown(self, tx: sqlite3.Connection) -> None:
        tx.execute("DROP TABLE ledger_words")


@spoils("all instances have one name: the checkpoint is kept under it", "name_and_version")
class ChangesItsName(Ledger):
    def __init__(self) -> None:
        self.name = f"ledger {id(self)}"


@spoils("versions are numbers from 1 on", "name_and_version")
class HasNoVersion(Ledger):
    version = 0


# -- what is gone -------------------------------------------------------------------------------------------


@spoils("it forgets what is erased", "erased_text_is_gone")
class KeepsErasedText(Ledger):
    def forget(self, tx: sqlite3.Connection, recorded: RecordedEvent, erased: ev.MemoryErased) -> None:
        pass


@spoils("it forgets what an erased memory gave to another", "erased_text_is_gone")
class KeepsAbsorbedText(Ledger):
    def enter(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        for number, word in enumerate(self.words(recorded)):
            tx.execute("INSERT INTO ledger_words VALUES (?, ?, ?)", (recorded.stream + recorded.id, number, word))

    def forget(self, tx: sqlite3.Connection, recorded: RecordedEvent, erased: ev.MemoryErased) -> None:
        tx.execute("DELETE FROM ledger_words WHERE event_id LIKE ?", (f"{recorded.stream}%",))


@spoils("it forgets drafts of what is erased", "erased_text_is_gone")
class KeepsDrafts(Ledger):
    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        if isinstance(recorded.event, ev.DraftAdded):
            yield repr(recorded.event.command)

    def forget(self, tx: sqlite3.Connection, recorded: RecordedEvent, erased: ev.MemoryErased) -> None:
        pass


@spoils("it forgets in its full-text index, too", "erased_text_is_gone")
class KeepsErasedTextInAnIndex(Ledger):
    def setup(self, tx: sqlite3.Connection) -> None:
        super().setup(tx)
        tx.execute("CREATE VIRTUAL TABLE ledger_index USING fts5(word, content='')")

    def teardown(self, tx: sqlite3.Connection) -> None:
        super().teardown(tx)
        tx.execute("DROP TABLE ledger_index")

    def enter(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        for word in self.words(recorded):
            tx.execute("INSERT INTO ledger_index VALUES (?)", (word,))
        super().enter(tx, recorded)


@spoils("it forgets what is erased, and no more", "expected")
class ForgetsTooMuch(Ledger):
    def forget(self, tx: sqlite3.Connection, recorded: RecordedEvent, erased: ev.MemoryErased) -> None:
        tx.execute("DELETE FROM ledger_words")


@spoils("no figure is left of what is erased", "rebuild_after_erasure")
class KeepsFiguresOfErased(Ledger):
    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        for _ in self.words(recorded):
            super().count(tx, recorded)


# -- what is hidden -----------------------------------------------------------------------------------------


@spoils("it shows nothing that is hidden from its viewer", "hidden_memories_change_nothing")
class SeesHidden(Board):
    def may_show(self, visibility: Visibility) -> bool:
        return True


@spoils("it hides what is hidden later", "hidden_text_is_not_shown")
class KeepsShowing(Board):
    def show(self, tx: sqlite3.Connection, id: str, visibility: Visibility) -> None:
        pass


@spoils("it shows nothing that was deleted, or whose creation was undone", "what_is_gone_is_not_shown")
class ShowsWhatIsGone(Board):
    def keep(self, tx: sqlite3.Connection, id: str, *, gone: bool) -> None:
        pass


@spoils("restrictions are for those whom they list", "hidden_memories_change_nothing")
class TakesRestrictedForShared(Board):
    def may_show(self, visibility: Visibility) -> bool:
        return visibility.kind.value != "private"


@spoils("no count that is shown counts what is hidden", "hidden_memories_change_nothing")
class CountsHidden(Board):
    @staticmethod
    def shown(tx: sqlite3.Connection) -> list[Any]:
        return [*Board.shown(tx), tx.execute("SELECT count(*) FROM board").fetchone()]


@spoils("no position reaches a viewer: the gaps would tell of what is hidden", "hidden_memories_change_nothing")
class ShowsPositions(Board):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, events)
        for recorded in events:
            tx.execute("UPDATE board SET words = ? WHERE id = ?", (recorded.position, recorded.stream))


@spoils("it names nothing that is hidden", "hidden_text_is_not_shown")
class NamesHidden(Board):
    @staticmethod
    def shown(tx: sqlite3.Connection) -> list[Any]:
        return tx.execute("SELECT id, CASE WHEN shown THEN words ELSE 'hidden' END FROM board ORDER BY id").fetchall()


TRACES = listed_projections(
    UsesTheClock,
    UsesTheClockOfSql,
    StampsItsRows,
    DrawsLots,
    DrawsLotsInSql,
    WritesAFile,
    ReadsItsNeighbours,
    WritesToItsNeighbours,
    AttachesADatabase,
    AltersEvents,
    LeavesATable,
    ChangesItsName,
    HasNoVersion,
    KeepsErasedText,
    KeepsAbsorbedText,
    KeepsDrafts,
    KeepsErasedTextInAnIndex,
    ForgetsTooMuch,
    KeepsFiguresOfErased,
    SeesHidden,
    KeepsShowing,
    ShowsWhatIsGone,
    TakesRestrictedForShared,
    CountsHidden,
    ShowsPositions,
    NamesHidden,
)
"""Broken projections by name: those that look, touch, keep or show too much."""
