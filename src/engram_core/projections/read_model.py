"""The read model as a whole: every table of ours in step with the log, in its transaction wherever it has one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any, Final, TypeAlias

from engram_core.codec import EventCodec
from engram_core.events import RecordedEvent
from engram_core.kinds import KindRegistry
from engram_core.policy import Limits, Policy
from engram_core.ports import Projection
from engram_core.projections import schema, texts, views
from engram_core.projections.accesses import write_accesses
from engram_core.projections.host import Host
from engram_core.projections.indexing import TERMS_VERSION
from engram_core.projections.proposals import write_proposals
from engram_core.projections.replay import Replay
from engram_core.projections.rows import Commit, Rows, Transition, is_bare, is_memory_stream
from engram_core.projections.writer import RowWriter, forget_rows
from engram_core.state import MemoryState, fold

__all__ = ["Progress", "ReadModel"]

Progress: TypeAlias = Callable[[int, int], None]
"""Called with what is done and what there is to do, in events."""

_PAGE: Final = 1_000


class ReadModel:
    """The tables that reads are answered from.

    Args:
        host: Where they live.
        codec: Reads events of the log.
        kinds, policy, limits: The rules of the space, on which columns depend.
        projections: The application's own, applied in the same transaction.
    """

    def __init__(
        self,
        host: Host,
        *,
        codec: EventCodec,
        kinds: KindRegistry,
        policy: Policy,
        limits: Limits | None = None,
        projections: Sequence[Projection] = (),
    ) -> None:
        self.host = host
        self.codec = codec
        self.rows = Rows(kinds, policy, lenient=codec.lenient)
        self._limits = limits or Limits()
        self._policy = policy.digest()
        self._stamps = {
            "schema": schema.SCHEMA_VERSION,
            "terms": TERMS_VERSION,
            "kinds": _digest_of_kinds(kinds),
            "decay": _digest((*policy.decay.items(), *((spec.kind, spec.decay) for spec in kinds))),
            "store": str(host.store.store_id),
        }
        self._projections = tuple(projections)

    # -- following the log --------------------------------------------------------------------------

    def prepare(self) -> None:
        """Makes the tables fit for use: creates them, builds them anew, or lets them catch up, as is needed."""
        with self.host.transaction() as tx:
            found = stamps(tx)
            if any(found.get(name) != value for name, value in self._stamps.items()) or (
                found["position"] > self.host.store.head()
            ):
                self._create(tx)
            elif found.get("policy") != self._policy:
                tx.execute("DELETE FROM scores")
                tx.execute("INSERT OR REPLACE INTO meta VALUES ('policy', ?)", (self._policy,))
            self.catch_up(tx)
        self.host.attach(self.catch_up)

    def _create(self, tx: sqlite3.Connection) -> None:
        """Makes empty tables, in the place of any that are there."""
        drop_all(tx)
        for statement in create_all(self.rows.kinds):
            tx.execute(statement)
        for statement in views.create_statements(self.rows.kinds):
            tx.execute(statement)
        self._stamp(tx)

    def _stamp(self, tx: sqlite3.Connection, prefix: str = "") -> None:
        """Says what the tables are made of, and that they hold nothing yet."""
        values = {**self._stamps, "policy": self._policy, "position": 0}
        tx.executemany(f"INSERT OR REPLACE INTO {prefix}meta VALUES (?, ?)", values.items())

    def apply(self, tx: sqlite3.Connection, commit: Commit) -> None:
        """Takes in a commit that was just appended, within the transaction of the append.

        If other events came in between, which only a log without transactions allows, all of them are read from there.

        Raises: ProjectionError when a projection of the application fails; the transaction must then be given up.
        """
        events = commit.events
        if not events:
            return
        first, last = events[0].position, events[-1].position
        moved = tx.execute("UPDATE meta SET value = ? WHERE name = 'position' AND value = ?", (last, first - 1))
        if moved.rowcount != 1:
            self.catch_up(tx)
            return
        writer = RowWriter(tx, self.rows)
        writer.add(_once(commit.transitions))
        writer.flush()
        write_rest(tx, (commit,))

    def catch_up(self, tx: sqlite3.Connection) -> None:
        """Takes in all that the log holds beyond the tables' position."""
        position, head = self.position(tx), self.host.store.head()
        if position >= head:
            return
        self.fill(tx, position, head)

    def fill(self, tx: sqlite3.Connection, after: int, upto: int, prefix: str = "") -> int:
        """Takes in the commits after a position, up to another; gives the position that was reached."""
        writer = RowWriter(tx, self.rows, prefix)
        replay = Replay(self.host.store, self.codec, self.rows)
        page: list[Commit] = []
        size = 0
        for commit in replay.commits(after, upto):
            writer.add(commit.transitions)
            page.append(commit)
            size += len(commit.events)
            if size >= _PAGE:
                after = self._turn(tx, writer, page, prefix)
                page, size = [], 0
        if page:
            after = self._turn(tx, writer, page, prefix)
        return after

    def _turn(self, tx: sqlite3.Connection, writer: RowWriter, page: Sequence[Commit], prefix: str) -> int:
        writer.flush()
        write_rest(tx, page, prefix)
        position = page[-1].events[-1].position
        tx.execute(f"UPDATE {prefix}meta SET value = ? WHERE name = 'position'", (position,))
        return position

    def erased(self, tx: sqlite3.Connection, streams: Iterable[str]) -> None:
        """After an erasure: writes the rows of every stream in which a payload was erased as a rebuild would.

        Of an erased memory nothing is left but that it was there; a survivor loses what an erased source gave it.

        Args:
            tx: The connection of the transaction, after the erasure's own events were applied.
            streams: Of the erased memories, and of others that held payloads of theirs.
        """
        for stream in streams:
            if is_memory_stream(stream):
                self._refold(tx, stream)

    def _refold(self, tx: sqlite3.Connection, stream: str) -> None:
        found = tx.execute("SELECT key FROM memories WHERE id = ?", (stream,)).fetchone()
        if found is None:
            return
        key = found[0]
        ends = [
            row[0]
            for row in tx.execute(
                "SELECT from_position FROM past_memories WHERE key = ?1"
                " UNION SELECT from_position FROM memories WHERE key = ?1 ORDER BY 1",
                (key,),
            )
        ]
        events = [self.codec.decode(r) for r in self.host.store.read_stream(stream)]
        states: list[MemoryState] = []
        start = 0
        for end in ends:
            stop = next((n for n in range(start, len(events)) if events[n].position > end), len(events))
            state = fold(events[start:stop], states[-1] if states else None, upcast=self.rows.upcast)
            assert state is not None
            states.append(state)
            start = stop
        gone = is_bare(states[-1])
        texts.erase_texts(tx, (key,))
        forget_rows(tx, key, edges=gone)
        writer = RowWriter(tx, self.rows, edges=gone)
        for before, after in zip([None, *states], states, strict=False):
            writer.add((Transition(before, after),))
        writer.flush()

    def position(self, tx: sqlite3.Connection) -> int:
        """The last position of the log that the tables hold."""
        found = tx.execute("SELECT value FROM meta WHERE name = 'position'").fetchone()
        position: int = found[0]
        return position


def _once(transitions: Sequence[Transition]) -> Sequence[Transition]:
    """The transitions with each memory named once, from its first state to its last."""
    by_id: dict[str, Transition] = {}
    for transition in transitions:
        known = by_id.get(transition.after.id)
        by_id[transition.after.id] = transition if known is None else Transition(known.before, transition.after)
    return transitions if len(by_id) == len(transitions) else tuple(by_id.values())


def _digest(values: object) -> str:
    return sha256(repr(values).encode()).hexdigest()[:16]


def _digest_of_kinds(kinds: KindRegistry) -> str:
    """Names all of the kinds on which rows, texts, views and indexes depend."""
    return _digest(
        sorted(
            (
                (s.kind, s.version, s.view, s.label_fields, s.alias_field, s.text_fields, s.entity, s.hot_fields),
                sorted(s.columns.items()),
            )
            for s in kinds
        )
    )


def create_all(kinds: KindRegistry, prefix: str = "") -> list[str]:
    """The statements that create every table and index."""
    return [
        *schema.create_statements(prefix),
        *texts.create_statements(prefix),
        *views.index_statements(kinds, prefix),
    ]


def drop_all(tx: sqlite3.Connection, prefix: str = "") -> None:
    """Drops every table and view of ours that is there."""
    if not prefix:
        for (name,) in tx.execute(
            "SELECT name FROM main.sqlite_master WHERE type = 'view' AND name GLOB 'view_*'"
        ).fetchall():
            tx.execute(f'DROP VIEW "{name}"')
    for statement in (*texts.drop_statements(prefix), *schema.drop_statements(prefix)):
        tx.execute(statement)


def stamps(tx: sqlite3.Connection) -> dict[str, Any]:
    """What the tables say that they are made of; a position of 0 and nothing else if there are none."""
    there = tx.execute("SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = 'meta'").fetchone()
    return {"position": 0, **dict(tx.execute("SELECT name, value FROM meta") if there else ())}


def write_rest(tx: sqlite3.Connection, commits: Iterable[Commit], prefix: str = "") -> None:
    """What of some commits is no memory's row: batches, commands, reads, proposals."""
    batches: list[tuple[str, int]] = []
    others: list[RecordedEvent] = []
    commands: list[tuple[str, str]] = []
    for commit in commits:
        seen = None
        for event in commit.events:
            if event.batch_id != seen:
                seen = event.batch_id
                batches.append((seen, event.position))
            if not is_memory_stream(event.stream):
                others.append(event)
        commands += commit.commands
        write_proposals(tx, commit.events, prefix)
    tx.executemany(f"INSERT OR IGNORE INTO {prefix}batches VALUES (?, ?)", batches)
    if commands:
        tx.executemany(f"INSERT OR IGNORE INTO {prefix}commands VALUES (?, ?)", commands)
    if others:
        write_accesses(tx, others, prefix)
        write_proposals(tx, others, prefix)
