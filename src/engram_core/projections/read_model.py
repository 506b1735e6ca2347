"""The read model as a whole: every table of ours in step with the log, in its transaction wherever it has one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final

from engram_core.codec import EventCodec
from engram_core.errors import StoreReadOnly
from engram_core.events import MemoryErased, RecordedEvent
from engram_core.folding import fold
from engram_core.kinds import KindRegistry
from engram_core.policy import Limits, Policy
from engram_core.ports import Projection
from engram_core.projections import schema, tables, texts, vectors, views
from engram_core.projections.checking import Check
from engram_core.projections.filling import fill, write_rest
from engram_core.projections.host import Host
from engram_core.projections.indexing import TERMS_VERSION
from engram_core.projections.proposals import rewrite_proposal
from engram_core.projections.rebuilding import Progress, rebuild
from engram_core.projections.replay import Replay, commits_of
from engram_core.projections.rows import Commit, Rows, Transition, is_bare, is_memory_stream
from engram_core.projections.running import Following, Parked, Runner
from engram_core.projections.scores import recompute_scores
from engram_core.projections.writer import RowWriter, forget_rows
from engram_core.proposal import is_proposal_stream
from engram_core.state import MemoryState

__all__ = ["Progress", "ReadModel"]

_SMALL: Final = 2_000


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
        projections: Sequence[Projection | Following] = (),
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
        self._runner = Runner(host, codec, projections)
        self._reached = 0
        self._dangles = True

    # -- following the log --------------------------------------------------------------------------

    def prepare(self) -> None:
        """Makes the tables fit for use: creates them, builds them anew, or lets them catch up, as is needed.

        Nothing is written, and no lock taken, where all is well. A log that can only be read, and whose tables are not
        fit, gets them in memory.
        """
        try:
            self._prepare()
        except StoreReadOnly:
            self.host.withdraw()
            self._prepare()
        self.host.attach(self.catch_up)
        self._runner.prepare()

    def _prepare(self) -> None:
        with self.host.reading() as tx:
            found, head = tables.read_meta(tx), self.host.store.head()
        fits = all(found.get(name) == value for name, value in self._stamps.items()) and found["position"] <= head
        if not fits and head > _SMALL:
            self._forget_vectors()
            self.rebuild()
        elif not fits:
            with self.host.transaction() as tx:
                self._create(tx)
                self.catch_up(tx)
        elif found.get("policy") != self._policy or found["position"] < head:
            with self.host.transaction() as tx:
                if found.get("policy") != self._policy:
                    tx.execute("DELETE FROM scores")
                    tx.execute("INSERT OR REPLACE INTO meta VALUES ('policy', ?)", (self._policy,))
                self.catch_up(tx)

    def _create(self, tx: sqlite3.Connection) -> None:
        """Makes empty tables, in the place of any that are there."""
        tables.drop_tables(tx)
        vectors.drop_vectors(tx)
        tables.create_tables(tx)
        for statement in (*tables.create_indexes(self.rows.kinds), *views.create_statements(self.rows.kinds)):
            tx.execute(statement)
        tx.executemany(
            "INSERT INTO meta VALUES (?, ?)", {**self._stamps, "policy": self._policy, "position": 0}.items()
        )

    def _forget_vectors(self) -> None:
        """Tables that do not fit may be of other texts than the log's."""
        with self.host.transaction() as tx:
            vectors.drop_vectors(tx)

    @property
    def reads(self) -> str:
        """Names all rules under which texts are made of events."""
        return f"{TERMS_VERSION} {self._stamps['kinds']}"

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
        writer = RowWriter(tx, self.rows, keys=commit.keys, dangles=self._dangles)
        writer.add(_once(commit.transitions))
        writer.flush()
        self._dangles = writer.dangles
        write_rest(tx, (commit,))
        self._runner.apply_inline(tx, events)

    def catch_up(self, tx: sqlite3.Connection) -> None:
        """Takes in all that the log holds beyond the tables' position; every write begins with it."""
        position, dangles = tx.execute(
            "SELECT value, EXISTS (SELECT 1 FROM dangling) FROM meta WHERE name = 'position'"
        ).fetchone()
        self._dangles = bool(dangles)
        if position < self.host.store.head():
            position = self._fill(tx, position)
            self._dangles = True  # perhaps: a writer that is told so looks again
        self._reached = position

    def _fill(self, tx: sqlite3.Connection, position: int) -> int:
        """Takes in what the log holds beyond a position; what was erased since is taken out of the rows before it."""
        gone: set[str] = set()

        def after_page(tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
            gone.update(id for e in events if isinstance(e.event, MemoryErased) for id in e.event.event_ids)
            self._runner.catch_up_inline(tx, events)

        store = self.host.store
        reached = fill(tx, Replay(store, self.codec, self.rows), self.rows, position, after_page=after_page)
        if gone and position:
            commits = commits_of(store, 0, position)
            self.erased(tx, dict.fromkeys(r.stream for commit in commits for r in commit if r.id in gone))
        return reached

    @property
    def reached(self) -> int:
        """The position to which the running write caught up: for who holds the write lock."""
        return self._reached

    def position(self, tx: sqlite3.Connection) -> int:
        """The last position of the log that the tables hold."""
        found = tx.execute("SELECT value FROM meta WHERE name = 'position'").fetchone()
        position: int = found[0]
        return position

    def follow(self) -> int:
        """Brings the application's following projections up to the head; gives the number of events they took in.

        Raises: ProjectionError when one fails that was not told to park what it cannot take.
        """
        return self._runner.follow()

    def parked(self) -> list[Parked]:
        """What following projections could not take in."""
        return self._runner.parked()

    def rebuild(self, progress: Progress | None = None) -> None:
        """Builds every table anew from the log and puts them in the place of the present ones.

        Others read and write meanwhile, and nothing of that is lost.

        Args:
            progress: Called with the events done, and all there are.
        """
        rebuild(self.host, self.codec, self.rows, {**self._stamps, "policy": self._policy}, progress)

    def check(self, progress: Progress | None = None) -> list[str]:
        """Compares every table with a replay of the log, and changes nothing.

        Args:
            progress: Called with the events done, and all there are.

        Returns: What does not agree, in words; empty when all is well.
        """
        with self.host.reading() as tx:
            position = self.position(tx)
            check = Check(tx, self.rows)
            for commit in Replay(self.host.store, self.codec, self.rows).commits(0, position):
                check.take(commit)
                if progress is not None:
                    progress(commit.events[-1].position, position)
            return check.end()

    def recompute_scores(self, tx: sqlite3.Connection, now: datetime) -> int:
        """Writes importance and retention of the whole space as of an instant; gives the number of memories."""
        return recompute_scores(tx, self.rows.policy, self.rows.kinds, now)

    # -- erasure ------------------------------------------------------------------------------------

    def erased(self, tx: sqlite3.Connection, streams: Iterable[str]) -> None:
        """After an erasure: writes the rows of every stream in which a payload was erased as a rebuild would.

        Of an erased memory nothing is left but that it was there; a survivor loses what an erased source gave it.

        Args:
            tx: The connection of the transaction, after the erasure's own events were applied.
            streams: Of the erased memories, and of others that held payloads of theirs.
        """
        tables.drop_leftovers(tx)
        for stream in streams:
            if is_memory_stream(stream):
                self._refold(tx, stream)
            elif is_proposal_stream(stream):
                rewrite_proposal(tx, [self.codec.decode(r) for r in self.host.store.read_stream(stream)])
        texts.optimize_texts(tx)

    def _refold(self, tx: sqlite3.Connection, stream: str) -> None:
        found = tx.execute("SELECT key FROM memories WHERE id = ?", (stream,)).fetchone()
        if found is None:
            return
        key = found[0]
        ends = [
            row[0]
            for row in tx.execute(
                "SELECT from_position FROM past_memories WHERE key = ?"
                " UNION SELECT from_position FROM memories WHERE key = ? ORDER BY 1",
                (key, key),
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
        vectors.erase_vectors(tx, (key,))


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
