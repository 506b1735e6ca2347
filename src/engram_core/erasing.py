"""Erasure: what a memory owns becomes a marker, in the log and in everything that was made of it, and can be proven.

A rehearsal does the same in the same transaction and takes it back, so that its report has the real counts.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

from attrs import evolve as replaced
from attrs import field, frozen

from engram_core.chain import ERASED_MARKER
from engram_core.decider import Change
from engram_core.drafting import checked_note
from engram_core.erasure_plans import Plan, memory_plan, said_beside, subject_plan
from engram_core.errors import (
    ForbiddenError,
    IllegalTransitionError,
    InvalidAttributesError,
    Problem,
    StoreError,
)
from engram_core.events import MemoryErased
from engram_core.log import Author
from engram_core.ports import AtomicStore, EraserStore, Recorded
from engram_core.proposal import proposal_stream
from engram_core.redaction import redacted_words
from engram_core.vocab import StoredStatus, VisibilityKind
from engram_core.work import Work
from engram_core.writing import Writer

__all__ = ["Erasing", "ErasureReport", "SubjectExport"]


@frozen(kw_only=True)
class ErasureReport:
    """What an erasure took, or what it would take.

    Attributes:
        memory_ids: The memories, in order.
        counts: How many of each sort: for a subject "entity", "contacts", "relationships", "about",
            "derived", "drafts" (memories that were only ever proposed).
        events: How many payloads of the log became markers.
        shared: Left for a decision: memories that concern others, too; of a single memory, what was merged into
            it.
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
        drafts: One object for each draft about one of them: the proposal, where it stands, and what it asks for.
        shared: Ids of memories that concern others, too.
    """

    subject_id: str
    memories: tuple[dict[str, Any], ...]
    drafts: tuple[dict[str, Any], ...] = ()
    shared: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The export as a JSON document."""
        document = {
            "subject_id": self.subject_id,
            "memories": list(self.memories),
            "drafts": list(self.drafts),
            "shared": list(self.shared),
        }
        return json.dumps(document, ensure_ascii=False, indent=1)


class _Rehearsed(Exception):
    def __init__(self, report: ErasureReport) -> None:
        super().__init__("rehearsed")
        self.report = report


class Erasing:
    """Erases memories and subjects, over one writer."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def erase(self, author: Author, memory_id: str, *, because: str, note: str, dry_run: bool) -> ErasureReport:
        """Erases one memory.

        Raises: ForbiddenError for others than users; NotFoundError; StoreError when the store cannot erase.
        """

        def plan(tx: sqlite3.Connection) -> Plan:
            return memory_plan(self.writer, tx, memory_id)

        return self._run(author, plan, because, note, dry_run=dry_run)

    def erase_subject(self, author: Author, subject: str, *, because: str, note: str, dry_run: bool) -> ErasureReport:
        """Erases an entity with all that concerns it alone; what concerns others, too, is listed."""
        return self._run(author, lambda tx: subject_plan(self.writer, tx, subject), because, note, dry_run=dry_run)

    def _run(
        self, author: Author, plan: Callable[[sqlite3.Connection], Plan], because: str, note: str, *, dry_run: bool
    ) -> ErasureReport:
        writer = self.writer
        if not author.actor.is_user:
            raise ForbiddenError("only users erase", hint="ask a user")
        for name, text in (("because", because), ("note", note)):
            if not isinstance(text, str):
                raise InvalidAttributesError("erase", [Problem(name, "must be text")])
            checked_note(text, writer.options.limits)
        because, note = redacted_words((because, note), writer.options.redactor)
        store = writer.store
        if not isinstance(store, EraserStore) or not isinstance(store, AtomicStore):
            raise StoreError(
                "this store cannot erase", code="store_cannot_erase", hint="use one that is an EraserStore and atomic"
            )

        def attempt(tx: sqlite3.Connection) -> ErasureReport:
            report = self._erase(Work(writer, tx, author), plan(tx), because, note)
            if dry_run:
                raise _Rehearsed(report)
            return report

        try:
            report = writer.transact(attempt)
        except _Rehearsed as rehearsed:
            return replaced(rehearsed.report, dry_run=True, certificate=None)
        scrubbed = store.scrub()
        return replaced(report, scrubbed=scrubbed)

    def _erase(self, work: Work, plan: Plan, because: str, note: str) -> ErasureReport:
        store = self.writer.store
        assert isinstance(store, EraserStore)
        ids = plan.memory_ids
        shared: set[str] = set()
        led_to: dict[str, str | None] = {}
        for id in ids:
            state = work.before(id)
            if state is None:
                continue
            if state.lifecycle.stored is StoredStatus.ERASED:
                raise IllegalTransitionError(f"{id} is erased already", memory_id=id)
            led_to[id] = state.lifecycle.merged_into
            if state.visibility.kind is VisibilityKind.SHARED:
                shared.add(id)
        said = said_beside(self.writer, work.tx, ids)
        gone: dict[str, tuple[Recorded, ...]] = {id: store.erase(id, ERASED_MARKER) for id in ids}
        for owner, id in said.owners.items():
            gone[id] += store.erase(owner, ERASED_MARKER)
        work.reload()
        now = self.writer.now()
        for id in ids:
            event_ids = tuple(r.id for r in gone[id])
            work.take((Change(id, MemoryErased(event_ids, because, note, id in shared, led_to.get(id)), id),), now)
        others = {r.stream for rows in gone.values() for r in rows if work.is_memory(r.stream)} - set(ids)
        result = self.writer.write(work, [])
        self.writer.read_model.erased(work.tx, [*ids, *sorted(others), *map(proposal_stream, said.proposals)])
        count = sum(len(rows) for rows in gone.values())
        return ErasureReport(
            memory_ids=plan.memory_ids,
            counts=plan.counts,
            events=count,
            shared=plan.shared,
            certificate=self._certificate(gone, result.batch_id),
        )

    def _certificate(self, gone: dict[str, tuple[Recorded, ...]], batch_id: str | None) -> dict[str, Any]:
        anchor = self.writer.log.anchor()
        return {
            "store_id": str(self.writer.store.store_id),
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
