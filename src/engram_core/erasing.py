"""Erasure: what a memory owns becomes a marker, in the log and in everything that was made of it, and can be proven.

A rehearsal does the same in the same transaction and takes it back, so that its report has the real counts.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve as replaced
from attrs import field, frozen

from engram_core.chain import ERASED_MARKER
from engram_core.decider import Change
from engram_core.drafting import checked_note
from engram_core.errors import (
    ForbiddenError,
    IllegalTransitionError,
    InvalidAttributesError,
    NotFoundError,
    Problem,
    StoreError,
)
from engram_core.events import MemoryErased
from engram_core.log import Author
from engram_core.ports import AtomicStore, EraserStore, Recorded
from engram_core.vocab import Relation, StoredStatus
from engram_core.work import Work

if TYPE_CHECKING:
    from engram_core.engine import Engine

__all__ = ["Erasing", "ErasureReport", "SubjectExport"]


@frozen(kw_only=True)
class ErasureReport:
    """What an erasure took, or what it would take.

    Attributes:
        memory_ids: The memories, in order.
        counts: How many of each sort: for a subject "entity", "contacts", "relationships", "about", "derived".
        events: How many payloads of the log became markers.
        shared: Memories that concern others, too, and were left for a decision.
        dry_run: True when nothing was changed.
        scrubbed: False when another reader held remains in the file; they go at the next opening.
        certificate: What `check` of the certificate needs, as JSON can hold it; None for a rehearsal.
    """

    memory_ids: tuple[str, ...]
    counts: dict[str, int] = field(factory=dict)
    events: int = 0
    shared: tuple[str, ...] = ()
    dry_run: bool = False
    scrubbed: bool = True
    certificate: dict[str, Any] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.memory_ids)


@frozen(kw_only=True)
class SubjectExport:
    """All that the space holds about a subject, as JSON can hold it.

    Attributes:
        subject_id: Whom it concerns.
        memories: One object for each memory: its present fields and its history.
        shared: Ids of memories that concern others, too.
    """

    subject_id: str
    memories: tuple[dict[str, Any], ...]
    shared: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The export as a JSON document."""
        document = {"subject_id": self.subject_id, "memories": list(self.memories), "shared": list(self.shared)}
        return json.dumps(document, ensure_ascii=False, indent=1)


class _Rehearsed(Exception):
    def __init__(self, report: ErasureReport) -> None:
        super().__init__("rehearsed")
        self.report = report


class Erasing:
    """Erases memories and subjects, over one engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def erase(self, author: Author, memory_id: str, *, because: str, note: str, dry_run: bool) -> ErasureReport:
        """Erases one memory.

        Raises: ForbiddenError for others than users; NotFoundError; StoreError when the store cannot erase.
        """

        def plan(tx: sqlite3.Connection) -> ErasureReport:
            return ErasureReport(memory_ids=(memory_id,), counts={"memory": 1})

        return self._run(author, plan, because, note, dry_run=dry_run)

    def erase_subject(self, author: Author, subject: str, *, because: str, note: str, dry_run: bool) -> ErasureReport:
        """Erases an entity with all that concerns it alone; what concerns others, too, is listed."""
        return self._run(author, lambda tx: subject_plan(tx, subject), because, note, dry_run=dry_run)

    def _run(self, author: Author, plan: Any, because: str, note: str, *, dry_run: bool) -> ErasureReport:
        engine = self.engine
        if not author.actor.is_user:
            raise ForbiddenError("only users erase", hint="ask a user")
        for name, text in (("because", because), ("note", note)):
            if not isinstance(text, str):
                raise InvalidAttributesError("erase", [Problem(name, "must be text")])
            checked_note(text, engine.options.limits)
        store = engine.store
        if not isinstance(store, EraserStore) or not isinstance(store, AtomicStore):
            raise StoreError(
                "this store cannot erase", code="store_cannot_erase", hint="use one that is an EraserStore and atomic"
            )

        def attempt(tx: sqlite3.Connection) -> ErasureReport:
            report = self._erase(Work(engine, tx, author), plan(tx), because, note)
            if dry_run:
                raise _Rehearsed(report)
            return report

        try:
            report = engine.transact(attempt)
        except _Rehearsed as rehearsed:
            return replaced(rehearsed.report, dry_run=True, certificate=None)
        scrubbed = store.scrub()
        return replaced(report, scrubbed=scrubbed)

    def _erase(self, work: Work, plan: ErasureReport, because: str, note: str) -> ErasureReport:
        store = self.engine.store
        assert isinstance(store, EraserStore)
        ids = plan.memory_ids
        for id in ids:
            state = work.before(id)
            if state is None:
                raise NotFoundError(f"there is no memory {id}", memory_id=id)
            if state.lifecycle.stored is StoredStatus.ERASED:
                raise IllegalTransitionError(f"{id} is erased already", memory_id=id)
        gone: dict[str, tuple[Recorded, ...]] = {id: store.erase(id, ERASED_MARKER) for id in ids}
        work.reload()
        now = self.engine.now()
        for id in ids:
            event_ids = tuple(r.id for r in gone[id])
            work.take((Change(id, MemoryErased(event_ids, because, note), id),), now)
        others = {r.stream for rows in gone.values() for r in rows if work.is_memory(r.stream)} - set(ids)
        result = self.engine.write(work, [])
        self.engine.read_model.erased(work.tx, [*ids, *sorted(others)])
        count = sum(len(rows) for rows in gone.values())
        return replaced(plan, events=count, certificate=self._certificate(gone, result.batch_id))

    def _certificate(self, gone: dict[str, tuple[Recorded, ...]], batch_id: str | None) -> dict[str, Any]:
        anchor = self.engine.log.anchor()
        return {
            "store_id": str(self.engine.store.store_id),
            "batch_id": batch_id,
            "anchor": {"position": anchor.position, "link": anchor.link},
            "marker": ERASED_MARKER,
            "erased": [
                {
                    "memory_id": id,
                    "events": [
                        {"position": r.position, "id": r.id, "type": r.type, "commitment": r.commitment.hex()}
                        for r in rows
                    ],
                }
                for id, rows in gone.items()
            ],
        }


# -- subjects ---------------------------------------------------------------------------------------


def subject_plan(tx: sqlite3.Connection, subject: str) -> ErasureReport:
    """What concerns an entity alone, and what concerns others, too.

    Alone: the entity, what was merged into it, its contacts, relationships that name it, memories about nothing else,
    and what derives from any of those without being about somebody else. Shared: other memories with an edge to it.
    Source: model §10.
    """
    key = _key(tx, subject)
    entity = [key, *_closure(tx, "SELECT m.key FROM memories m WHERE m.merged_into = (SELECT id FROM memories"
                                 " WHERE key = ?)", key)]  # fmt: skip
    chosen: dict[int, str] = dict.fromkeys(entity, "entity")
    listed = ", ".join("?" * len(entity))
    for sort, sql in (
        (
            "contacts",
            f"SELECT l.source FROM links l JOIN memories m ON m.key = l.source WHERE l.target IN ({listed})"
            f" AND l.relation = '{Relation.OWNED_BY}' AND m.kind = 'contact'",
        ),
        (
            "relationships",
            "SELECT m.key FROM memories m WHERE m.kind = 'relationship' AND EXISTS (SELECT 1 FROM memories e"
            f" WHERE e.key IN ({listed}) AND (json_extract(m.attributes, '$.subject_id') = e.id"
            " OR json_extract(m.attributes, '$.object_id') = e.id))",
        ),
        (
            "about",
            f"SELECT l.source FROM links l WHERE l.target IN ({listed}) AND l.relation = '{Relation.ABOUT}'",
        ),
    ):
        for (found,) in tx.execute(sql, entity).fetchall():
            if sort != "about" or not _concerns_others(tx, found, chosen):
                chosen.setdefault(found, sort)
    _derive(tx, chosen)
    shared = {
        row[0]
        for row in tx.execute(f"SELECT DISTINCT source FROM links WHERE target IN ({listed})", entity)
        if row[0] not in chosen
    }
    shared |= _shared_derivations(tx, chosen)
    alive = _ids(tx, chosen)
    counts: dict[str, int] = {}
    for found in alive:
        counts[chosen[found]] = counts.get(chosen[found], 0) + 1
    return ErasureReport(
        memory_ids=tuple(alive[found] for found in sorted(alive)),
        counts=counts,
        shared=tuple(id for _, id in sorted(_ids(tx, shared).items())),
    )


def _key(tx: sqlite3.Connection, id: str) -> int:
    row = tx.execute("SELECT key FROM memories WHERE id = ? AND stored <> 'erased'", (id,)).fetchone()
    if row is None:
        raise NotFoundError(f"there is no memory {id}", memory_id=id)
    key: int = row[0]
    return key


def _closure(tx: sqlite3.Connection, sql: str, start: int) -> list[int]:
    found: list[int] = []
    open_keys = [start]
    while open_keys:
        for (key,) in tx.execute(sql, (open_keys.pop(),)).fetchall():
            if key != start and key not in found:
                found.append(key)
                open_keys.append(key)
    return found


def _concerns_others(tx: sqlite3.Connection, key: int, chosen: Iterable[int]) -> bool:
    """True when a memory is about something that does not go."""
    going = set(chosen)
    rows = tx.execute("SELECT target FROM links WHERE source = ? AND relation = ?", (key, Relation.ABOUT.value))
    return any(target not in going for (target,) in rows)


def _derive(tx: sqlite3.Connection, chosen: dict[int, str]) -> None:
    open_keys = list(chosen)
    while open_keys:
        rows = tx.execute(
            "SELECT source FROM links WHERE target = ? AND relation = ?",
            (open_keys.pop(), Relation.DERIVED_FROM.value),
        ).fetchall()
        for (source,) in rows:
            if source not in chosen and not _concerns_others(tx, source, chosen):
                chosen[source] = "derived"
                open_keys.append(source)


def _shared_derivations(tx: sqlite3.Connection, chosen: dict[int, str]) -> set[int]:
    found: set[int] = set()
    for key in chosen:
        rows = tx.execute(
            "SELECT source FROM links WHERE target = ? AND relation = ?", (key, Relation.DERIVED_FROM.value)
        )
        found |= {source for (source,) in rows if source not in chosen}
    return found


def _ids(tx: sqlite3.Connection, keys: Iterable[int]) -> dict[int, str]:
    """Ids of those that are not erased yet, by key."""
    found = {}
    for key in keys:
        row = tx.execute("SELECT id FROM memories WHERE key = ? AND stored <> 'erased'", (key,)).fetchone()
        if row is not None:
            found[key] = row[0]
    return found


def subject_memories(tx: sqlite3.Connection, subject: str) -> tuple[Sequence[str], Sequence[str]]:
    """Ids of what concerns a subject alone, and of what concerns others, too."""
    plan = subject_plan(tx, subject)
    return plan.memory_ids, plan.shared
