"""Broken projections, each with one fault that the contract must find: they show what an obligation means."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID, uuid4

from engram_core import events as ev
from engram_core.events import RecordedEvent
from engram_core.ports import Projection
from engram_core.testing.zoo.ledgers import VIEWER, Board, Ledger, ledger_after
from engram_core.values import Visibility

__all__ = ["BROKEN_PROJECTIONS", "BrokenProjection"]


class BrokenProjection:
    """A projection with one fault; call it for a new instance.

    Attributes:
        name: Its name in `BROKEN_PROJECTIONS`.
        obligation: What a projection must do, and this one does not.
        found_by: The test of the contract that says so.
        options: What `certify_projection` must know about it besides.
    """

    __slots__ = ("_make", "found_by", "name", "obligation", "options")

    def __init__(
        self, name: str, obligation: str, found_by: str, make: Callable[[], Projection], options: Mapping[str, Any]
    ) -> None:
        self.name = name
        self.obligation = obligation
        self.found_by = found_by
        self.options = options
        self._make = make

    def __call__(self) -> Projection:
        """A new instance with the fault."""
        return self._make()

    def __repr__(self) -> str:
        return f"<broken projection {self.name}: breaks '{self.obligation}'>"


_FOUND: dict[str, BrokenProjection] = {}


def _breaks(obligation: str, found_by: str) -> Callable[[type[Any]], type[Any]]:
    """Lists a class as a broken projection, under its name in lower case."""

    def mark(kind: type[Any]) -> type[Any]:
        kind.__doc__ = f"Breaks: {obligation}."
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__)[1:]
        serves = {"viewer": VIEWER, "shown": kind.shown} if issubclass(kind, Board) else {"expected": ledger_after}
        _FOUND[name] = BrokenProjection(name, obligation, f"test_{found_by}", kind, MappingProxyType(serves))
        return kind

    return mark


# -- effects that come once, all of them, in order ------------------------------------------------------


@_breaks("it takes in every event", "expected")
class SkipsEveryTenth(Ledger):
    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        if recorded.position % 10:
            super().count(tx, recorded)


@_breaks("it takes in every event once", "expected")
class Doubles(Ledger):
    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        super().count(tx, recorded)
        if recorded.type == "MemoryTagged":
            super().count(tx, recorded)


@_breaks("the first event of a page counts as any other", "page_sizes")
class SkipsTheFirstOfAPage(Ledger):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, events[1:] if len(events) > 2 else events)


@_breaks("events are taken in in their order, however many come at once", "page_sizes")
class TakesPagesBackwards(Ledger):
    def enter(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        for word in self.words(recorded):
            tx.execute("INSERT OR REPLACE INTO ledger_words VALUES ('last', 0, ?)", (word,))

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, tuple(reversed(events)))


@_breaks("what is taken back leaves no trace in memory: a retry counts once", "crash_before_the_commit")
class DoublesOnRetry(Ledger):
    def __init__(self) -> None:
        self.waiting: list[str] = []

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        self.waiting += [recorded.type for recorded in events]
        super().apply(tx, events)
        tx.execute("DELETE FROM ledger_types")
        for type in self.waiting:
            tx.execute("INSERT INTO ledger_types VALUES (?, 1) ON CONFLICT (type) DO UPDATE SET n = n + 1", (type,))


@_breaks("what is taken back is taken in again", "crash_before_the_commit")
class SkipsOnRetry(Ledger):
    def __init__(self) -> None:
        self.reached = 0

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        new = [recorded for recorded in events if recorded.position > self.reached]
        super().apply(tx, new)
        self.reached = max(self.reached, events[-1].position)


@_breaks("effects and checkpoint are one transaction, which is its host's to end", "crash_before_the_commit")
class CommitsByItself(Ledger):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, events)
        tx.commit()


@_breaks("the transaction is its host's to begin and to end", "keeps_to_its_own_tables")
class CommitsAndBeginsAgain(Ledger):
    def teardown(self, tx: sqlite3.Connection) -> None:
        super().teardown(tx)
        tx.execute("COMMIT")
        tx.execute("BEGIN")


@_breaks("what it knows is in its tables, not in its memory", "new_instances_go_on")
class CountsInItsMemory(Ledger):
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        self.counts[recorded.type] = self.counts.get(recorded.type, 0) + 1
        tx.execute("INSERT OR REPLACE INTO ledger_types VALUES (?, ?)", (recorded.type, self.counts[recorded.type]))


@_breaks("a new instance goes on where the last one stopped", "new_instances_go_on")
class ForgetsItsCheckpoint(Ledger):
    def __init__(self) -> None:
        self.reached: int | None = None

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        if self.reached is None:  # it takes a new process for the beginning of the log
            tx.execute("DELETE FROM ledger_types")
        super().apply(tx, events)
        self.reached = events[-1].position


@_breaks("a rebuild begins at the beginning", "rebuild")
class RemembersItsCheckpoint(SkipsOnRetry):
    pass


_SHARED: dict[str, int] = {}


@_breaks("two instances have nothing in common but their code", "instances_do_not_share")
class SharesItsCounts(Ledger):
    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        (rows,) = tx.execute("SELECT count(*) FROM ledger_types").fetchone()
        if not rows:
            _SHARED.clear()
        _SHARED[recorded.type] = _SHARED.get(recorded.type, 0) + 1
        tx.execute("INSERT OR REPLACE INTO ledger_types VALUES (?, ?)", (recorded.type, _SHARED[recorded.type]))


@_breaks("inline and following end with the same", "inline_and_following")
class CountsCommits(Ledger):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, events)
        tx.execute("INSERT INTO ledger_types VALUES ('calls', 1) ON CONFLICT (type) DO UPDATE SET n = n + 1")


# -- whatever a log holds ---------------------------------------------------------------------------------


@_breaks("it looks at what an event is before it looks into it: payloads may be erased", "erased_events")
class StumblesOverErased(Ledger):
    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        if recorded.type == "MemoryCreated":
            yield str(recorded.event.content)  # type: ignore[union-attr]


@_breaks("it takes in what it does not know", "unknown_events")
class StumblesOverUnknown(Ledger):
    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        known = {cls.__name__: cls for cls in ev.EVENTS}
        if not isinstance(recorded.event, ev.ErasedPayload):
            assert isinstance(recorded.event, known[recorded.type])
        yield from super().words(recorded)


@_breaks("it takes in events of a memory whose beginning it cannot read", "every_type")
class StumblesOverOrphans(Ledger):
    def setup(self, tx: sqlite3.Connection) -> None:
        super().setup(tx)
        tx.execute("CREATE TABLE ledger_kinds (id TEXT PRIMARY KEY, kind TEXT)")

    def teardown(self, tx: sqlite3.Connection) -> None:
        super().teardown(tx)
        tx.execute("DROP TABLE ledger_kinds")

    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        if isinstance(recorded.event, ev.MemoryCreated):
            tx_row = (recorded.stream, recorded.event.kind)
            self.kinds[tx_row[0]] = tx_row[1]
        if isinstance(recorded.event, ev.MemoryTagged):
            yield self.kinds[recorded.stream]

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        self.kinds = dict(tx.execute("SELECT id, kind FROM ledger_kinds"))
        super().apply(tx, events)
        tx.executemany("INSERT OR REPLACE INTO ledger_kinds VALUES (?, ?)", self.kinds.items())


@_breaks("it takes in every type of event, of proposals and of reads, too", "every_type")
class KnowsMemoriesAlone(Ledger):
    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        UUID(recorded.stream)
        super().count(tx, recorded)


# -- nothing but its events, nothing but its tables -------------------------------------------------------


@_breaks("it looks at no clock", "depends_on_its_events_alone")
class UsesTheClock(Ledger):
    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        yield "in time" if datetime.now(UTC) > recorded.recorded_at else "too early"


@_breaks("it has SQL look at no clock", "depends_on_its_events_alone")
class UsesTheClockOfSql(Ledger):
    def enter(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        tx.execute("INSERT INTO ledger_words VALUES (?, 0, strftime('%Y', 'now') > '1999')", (recorded.id,))


@_breaks("it stores no present, as a default neither", "depends_on_its_events_alone")
class StampsItsRows(Ledger):
    def setup(self, tx: sqlite3.Connection) -> None:
        tx.execute("CREATE TABLE ledger_types (type TEXT PRIMARY KEY, n INTEGER, at TEXT DEFAULT CURRENT_TIMESTAMP)")
        tx.execute("CREATE TABLE ledger_words (event_id TEXT, n INTEGER, word TEXT, PRIMARY KEY (event_id, n))")

    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        tx.execute("INSERT OR IGNORE INTO ledger_types (type, n) VALUES (?, 1)", (recorded.type,))


@_breaks("it draws no lots", "depends_on_its_events_alone")
class DrawsLots(Ledger):
    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        yield str(uuid4())


@_breaks("it has SQL draw no lots", "depends_on_its_events_alone")
class DrawsLotsInSql(Ledger):
    def enter(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        tx.execute("INSERT INTO ledger_words VALUES (?, 0, random() % 7)", (recorded.id,))


@_breaks("it touches no file", "depends_on_its_events_alone")
class WritesAFile(Ledger):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, events)
        with open(os.devnull, "w") as file:  # noqa: PTH123 (the plainest way to do it)
            file.write(str(len(events)))


@_breaks("it reads no tables of others: a rebuild would see them later", "keeps_to_its_own_tables")
class ReadsItsNeighbours(Ledger):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        tx.execute("SELECT count(*) FROM memories WHERE id = 'x'").fetchone()
        super().apply(tx, events)


@_breaks("it changes no tables of others", "keeps_to_its_own_tables")
class WritesToItsNeighbours(Ledger):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, events)
        tx.execute("UPDATE projection_checkpoints SET position = position + 1 WHERE name = 'a neighbour'")


@_breaks("it opens no other database", "keeps_to_its_own_tables")
class AttachesADatabase(Ledger):
    def setup(self, tx: sqlite3.Connection) -> None:
        super().setup(tx)
        tx.execute("ATTACH ':memory:' AS elsewhere")

    def teardown(self, tx: sqlite3.Connection) -> None:
        super().teardown(tx)
        tx.execute("DETACH elsewhere")


@_breaks("it leaves events as they are", "leaves_events_alone")
class AltersEvents(Ledger):
    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        if isinstance(recorded.event, ev.MemoryCreated):
            recorded.event.attributes["read"] = True  # type: ignore[index]
        yield "read"


@_breaks("teardown drops all that setup created", "teardown")
class LeavesATable(Ledger):
    def setup(self, tx: sqlite3.Connection) -> None:
        tx.execute("CREATE TABLE IF NOT EXISTS ledger_types (type TEXT PRIMARY KEY, n INTEGER NOT NULL)")
        tx.execute("CREATE TABLE ledger_words (event_id TEXT, n INTEGER, word TEXT, PRIMARY KEY (event_id, n))")

    def teardown(self, tx: sqlite3.Connection) -> None:
        tx.execute("DROP TABLE ledger_words")


@_breaks("all instances have one name: the checkpoint is kept under it", "name_and_version")
class ChangesItsName(Ledger):
    def __init__(self) -> None:
        self.name = f"ledger {id(self)}"


@_breaks("versions are numbers from 1 on", "name_and_version")
class HasNoVersion(Ledger):
    version = 0


# -- what is gone -------------------------------------------------------------------------------------------


@_breaks("it forgets what is erased", "erased_text_is_gone")
class KeepsErasedText(Ledger):
    def forget(self, tx: sqlite3.Connection, recorded: RecordedEvent, erased: ev.MemoryErased) -> None:
        pass


@_breaks("it forgets what an erased memory gave to another", "erased_text_is_gone")
class KeepsAbsorbedText(Ledger):
    def enter(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        for number, word in enumerate(self.words(recorded)):
            tx.execute("INSERT INTO ledger_words VALUES (?, ?, ?)", (recorded.stream + recorded.id, number, word))

    def forget(self, tx: sqlite3.Connection, recorded: RecordedEvent, erased: ev.MemoryErased) -> None:
        tx.execute("DELETE FROM ledger_words WHERE event_id LIKE ?", (f"{recorded.stream}%",))


@_breaks("it forgets drafts of what is erased", "erased_text_is_gone")
class KeepsDrafts(Ledger):
    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        if isinstance(recorded.event, ev.DraftAdded):
            yield repr(recorded.event.command)

    def forget(self, tx: sqlite3.Connection, recorded: RecordedEvent, erased: ev.MemoryErased) -> None:
        pass


@_breaks("it forgets in its full-text index, too", "erased_text_is_gone")
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


@_breaks("it forgets what is erased, and no more", "expected")
class ForgetsTooMuch(Ledger):
    def forget(self, tx: sqlite3.Connection, recorded: RecordedEvent, erased: ev.MemoryErased) -> None:
        tx.execute("DELETE FROM ledger_words")


@_breaks("no figure is left of what is erased", "rebuild_after_erasure")
class KeepsFiguresOfErased(Ledger):
    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        for _ in self.words(recorded):
            super().count(tx, recorded)


# -- what is hidden -----------------------------------------------------------------------------------------


@_breaks("it shows nothing that is hidden from its viewer", "hidden_memories_change_nothing")
class SeesHidden(Board):
    def may_show(self, visibility: Visibility) -> bool:
        return True


@_breaks("it hides what is hidden later", "hidden_text_is_not_shown")
class KeepsShowing(Board):
    def show(self, tx: sqlite3.Connection, id: str, visibility: Visibility) -> None:
        pass


@_breaks("restrictions are for those whom they list", "hidden_memories_change_nothing")
class TakesRestrictedForShared(Board):
    def may_show(self, visibility: Visibility) -> bool:
        return visibility.kind.value != "private"


@_breaks("no count that is shown counts what is hidden", "hidden_memories_change_nothing")
class CountsHidden(Board):
    @staticmethod
    def shown(tx: sqlite3.Connection) -> list[Any]:
        return [*Board.shown(tx), tx.execute("SELECT count(*) FROM board").fetchone()]


@_breaks("no position reaches a viewer: the gaps would tell of what is hidden", "hidden_memories_change_nothing")
class ShowsPositions(Board):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, events)
        for recorded in events:
            tx.execute("UPDATE board SET words = ? WHERE id = ?", (recorded.position, recorded.stream))


@_breaks("it names nothing that is hidden", "hidden_text_is_not_shown")
class NamesHidden(Board):
    @staticmethod
    def shown(tx: sqlite3.Connection) -> list[Any]:
        return tx.execute("SELECT id, CASE WHEN shown THEN words ELSE 'hidden' END FROM board ORDER BY id").fetchall()


BROKEN_PROJECTIONS: Final[Mapping[str, BrokenProjection]] = MappingProxyType(dict(_FOUND))
"""All broken projections, by name."""
