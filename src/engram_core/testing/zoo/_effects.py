"""Projections whose effects do not come once, in order and for good, or that stumble over what a log may hold."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from uuid import UUID

from engram_core import events as ev
from engram_core.events import RecordedEvent
from engram_core.testing.zoo.base import listed_projections, spoils
from engram_core.testing.zoo.ledgers import Ledger

__all__ = ["EFFECTS"]


# -- effects that come once, all of them, in order ------------------------------------------------------


@spoils("it takes in every event", "expected")
class SkipsEveryTenth(Ledger):
    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        if recorded.position % 10:
            super().count(tx, recorded)


@spoils("it takes in every event once", "expected")
class Doubles(Ledger):
    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        super().count(tx, recorded)
        if recorded.type == "MemoryTagged":
            super().count(tx, recorded)


@spoils("the first event of a page counts as any other", "page_sizes")
class SkipsTheFirstOfAPage(Ledger):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, events[1:] if len(events) > 2 else events)


@spoils("events are taken in in their order, however many come at once", "page_sizes")
class TakesPagesBackwards(Ledger):
    def enter(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        for word in self.words(recorded):
            tx.execute("INSERT OR REPLACE INTO ledger_words VALUES ('last', 0, ?)", (word,))

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, tuple(reversed(events)))


@spoils("what is taken back leaves no trace in memory: a retry counts once", "crash_before_the_commit")
class DoublesOnRetry(Ledger):
    def __init__(self) -> None:
        self.waiting: list[str] = []

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        self.waiting += [recorded.type for recorded in events]
        super().apply(tx, events)
        tx.execute("DELETE FROM ledger_types")
        for type in self.waiting:
            tx.execute("INSERT INTO ledger_types VALUES (?, 1) ON CONFLICT (type) DO UPDATE SET n = n + 1", (type,))


@spoils("what is taken back is taken in again", "crash_before_the_commit")
class SkipsOnRetry(Ledger):
    def __init__(self) -> None:
        self.reached = 0

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        new = [recorded for recorded in events if recorded.position > self.reached]
        super().apply(tx, new)
        self.reached = max(self.reached, events[-1].position)


@spoils("effects and checkpoint are one transaction, which is its host's to end", "crash_before_the_commit")
class CommitsByItself(Ledger):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, events)
        tx.commit()


@spoils("the transaction is its host's to begin and to end", "keeps_to_its_own_tables")
class CommitsAndBeginsAgain(Ledger):
    def teardown(self, tx: sqlite3.Connection) -> None:
        super().teardown(tx)
        tx.execute("COMMIT")
        tx.execute("BEGIN")


@spoils("what it knows is in its tables, not in its memory", "new_instances_go_on")
class CountsInItsMemory(Ledger):
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        self.counts[recorded.type] = self.counts.get(recorded.type, 0) + 1
        tx.execute("INSERT OR REPLACE INTO ledger_types VALUES (?, ?)", (recorded.type, self.counts[recorded.type]))


@spoils("a new instance goes on where the last one stopped", "new_instances_go_on")
class ForgetsItsCheckpoint(Ledger):
    def __init__(self) -> None:
        self.reached: int | None = None

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        if self.reached is None:  # it takes a new process for the beginning of the log
            tx.execute("DELETE FROM ledger_types")
        super().apply(tx, events)
        self.reached = events[-1].position


@spoils("a rebuild begins at the beginning", "rebuild")
class RemembersItsCheckpoint(SkipsOnRetry):
    pass


_SHARED: dict[str, int] = {}


@spoils("two instances have nothing in common but their code", "instances_do_not_share")
class SharesItsCounts(Ledger):
    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        (rows,) = tx.execute("SELECT count(*) FROM ledger_types").fetchone()
        if not rows:
            _SHARED.clear()
        _SHARED[recorded.type] = _SHARED.get(recorded.type, 0) + 1
        tx.execute("INSERT OR REPLACE INTO ledger_types VALUES (?, ?)", (recorded.type, _SHARED[recorded.type]))


@spoils("inline and following end with the same", "inline_and_following")
class CountsCommits(Ledger):
    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        super().apply(tx, events)
        tx.execute("INSERT INTO ledger_types VALUES ('calls', 1) ON CONFLICT (type) DO UPDATE SET n = n + 1")


# -- whatever a log holds ---------------------------------------------------------------------------------


@spoils("it looks at what an event is before it looks into it: payloads may be erased", "erased_events")
class StumblesOverErased(Ledger):
    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        if recorded.type == "MemoryCreated":
            yield str(recorded.event.content)  # type: ignore[union-attr]


@spoils("it takes in what it does not know", "unknown_events")
class StumblesOverUnknown(Ledger):
    def words(self, recorded: RecordedEvent) -> Iterator[str]:
        known = {cls.__name__: cls for cls in ev.EVENTS}
        if not isinstance(recorded.event, ev.ErasedPayload):
            assert isinstance(recorded.event, known[recorded.type])
        yield from super().words(recorded)


@spoils("it takes in events of a memory whose beginning it cannot read", "every_type")
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


@spoils("it takes in every type of event, of proposals and of reads, too", "every_type")
class KnowsMemoriesAlone(Ledger):
    def count(self, tx: sqlite3.Connection, recorded: RecordedEvent) -> None:
        UUID(recorded.stream)
        super().count(tx, recorded)


EFFECTS = listed_projections(
    SkipsEveryTenth,
    Doubles,
    SkipsTheFirstOfAPage,
    TakesPagesBackwards,
    DoublesOnRetry,
    SkipsOnRetry,
    CommitsByItself,
    CommitsAndBeginsAgain,
    CountsInItsMemory,
    ForgetsItsCheckpoint,
    RemembersItsCheckpoint,
    SharesItsCounts,
    CountsCommits,
    StumblesOverErased,
    StumblesOverUnknown,
    StumblesOverOrphans,
    KnowsMemoriesAlone,
)
"""Broken projections by name: those that lose, double or cannot take in."""
