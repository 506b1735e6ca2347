"""The upkeep of a space: what expires acts, everything else is proposed; and the host's checks and copies."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, TypeAlias

from attrs import field, frozen

from engram_core.candidates import incompatible_preferences, same_things
from engram_core.commands import Archive, Command, Merge, Supersede
from engram_core.core import Request
from engram_core.engine import Engine
from engram_core.errors import (
    ForbiddenError,
    InvalidAttributesError,
    NotFoundError,
    Problem,
    RejectedError,
    StoreError,
)
from engram_core.log import Anchor, Author
from engram_core.projections.proposals import draft_digest
from engram_core.receipts import Receipt
from engram_core.values import Actor, EvidenceRef, text_problem, to_micros
from engram_core.verifying import VerifyReport, verify
from engram_core.vocab import ActorKind, ArchiveReason, EvidenceType, LifetimeKind, ReceiptStatus
from engram_core.work import Work

__all__ = ["Maintenance", "MaintenanceReport", "Progress"]

_BATCH = 500
_DRAFTS = 100

Progress = Callable[[int, int], None]
_Asked: TypeAlias = tuple[Command, EvidenceRef]


@frozen(kw_only=True)
class MaintenanceReport:
    """What a pass found and did.

    Attributes:
        memory_ids: The memories that it concerns.
        receipts: Of what it wrote or proposed.
        counts: Figures by name.
    """

    memory_ids: tuple[str, ...] = field(default=(), repr=lambda ids: f"<{len(ids)}>")
    receipts: tuple[Receipt, ...] = field(default=(), repr=lambda receipts: f"<{len(receipts)}>")
    counts: dict[str, int] = field(factory=dict)

    def __len__(self) -> int:
        return len(self.memory_ids)

    @property
    def proposal_ids(self) -> tuple[str, ...]:
        """The proposals that it opened."""
        found = [r.proposal_id for r in self.receipts if r.status is ReceiptStatus.PROPOSED and r.proposal_id]
        return tuple(dict.fromkeys(found))


class Maintenance:
    """The upkeep of one space in the name of an actor. Made by `MemorySpace.maintenance`.

    Every pass can be run again: it finds nothing to do then, and proposes nothing twice. What was rejected is not
    proposed again until the memory has changed.
    """

    def __init__(self, engine: Engine, actor: Actor) -> None:
        if not isinstance(actor, Actor):
            problem = Problem("actor", f'must be an actor, such as system("nightly"), not {type(actor).__name__}')
            raise InvalidAttributesError("maintenance", [problem])
        if actor.kind not in (ActorKind.USER, ActorKind.SYSTEM):
            raise ForbiddenError("only users and the system maintain a space", hint='use system("nightly")')
        self._engine = engine
        self._author = Author(actor=actor)

    # -- what acts ----------------------------------------------------------------------------------

    def expire(self, *, progress: Progress | None = None) -> MaintenanceReport:
        """Archives what has outlived its lifetime, because its author said so when he wrote it."""
        _check_progress(progress)
        done: list[str] = []
        receipts: list[Receipt] = []
        while page := self._engine.transact(self._expire_some):
            receipts += page
            done += [receipt.memory_id for receipt in page if receipt.memory_id is not None]
            if progress is not None:
                progress(len(done), len(done))
        return MaintenanceReport(memory_ids=tuple(done), receipts=tuple(receipts), counts={"expired": len(done)})

    def _expire_some(self, tx: sqlite3.Connection) -> Sequence[Receipt]:
        engine = self._engine
        now = engine.now()
        due = tx.execute(
            "SELECT id FROM memories WHERE stored = 'active' AND expires_at <= ? ORDER BY key LIMIT ?",
            (to_micros(now), _BATCH),
        ).fetchall()
        work = Work(engine, tx, self._author)
        receipts = [engine.decide(work, Request(command=Archive(id, ArchiveReason.EXPIRED)), now) for (id,) in due]
        return engine.write(work, receipts).receipts

    # -- what is proposed ---------------------------------------------------------------------------

    def propose_pruning(self, *, progress: Progress | None = None) -> MaintenanceReport:
        """Proposes to archive what has not earned its keep, with the scores as evidence.

        Never pinned, permanent, active projects and goals, nor anything recorded less than 14 days ago.
        """
        _check_progress(progress)
        engine = self._engine
        policy = engine.options.policy
        now = engine.now()
        self.recompute_scores()
        newborn = to_micros(now) - int(policy.retention.newborn_days * 86_400_000_000)
        with engine.host.reading() as tx:
            rows = tx.execute(
                "SELECT m.id, s.retention FROM scores s JOIN memories m ON m.key = s.key"
                " WHERE s.retention < ? AND m.stored = 'active' AND m.pinned = 0 AND m.lifetime <> ?"
                " AND m.recorded_at <= ? AND NOT (m.kind IN (SELECT value FROM json_each(?))"
                " AND json_extract(m.attributes, '$.status') IS 'active') ORDER BY s.retention, m.key",
                (
                    policy.retention.threshold,
                    LifetimeKind.PERMANENT.value,
                    newborn,
                    json.dumps(sorted(policy.active_exempt)),
                ),
            ).fetchall()
        drafts = [
            (
                Archive(id, ArchiveReason.PRUNED),
                EvidenceRef(EvidenceType.OBSERVATION, f"{id}: retention {retention:.4f}"),
            )
            for id, retention in rows
        ]
        return self._propose("Prune what has not earned its keep", drafts, progress)

    def propose_merges(self, *, progress: Progress | None = None) -> MaintenanceReport:
        """Proposes to merge entities of one kind that share a name, an alias or a contact; the older survives."""
        with self._engine.host.reading() as tx:
            pairs = list(same_things(tx, self._engine.options.kinds, self._engine.options.policy.review.min_name))
        drafts = [
            (Merge(pair.survivor, pair.source), EvidenceRef(EvidenceType.OBSERVATION, pair.evidence)) for pair in pairs
        ]
        return self._propose("Merge what seems to be one thing", drafts, progress, each=1)

    def detect_contradictions(self, *, progress: Progress | None = None) -> MaintenanceReport:
        """Proposes that the newer of two incompatible preferences supersedes the older."""
        with self._engine.host.reading() as tx:
            pairs = list(incompatible_preferences(tx, to_micros(self._engine.now())))
        drafts = [
            (Supersede(old, new), EvidenceRef(EvidenceType.OBSERVATION, f"{new} and {old} cannot both hold: {what}"))
            for old, new, what in pairs
        ]
        return self._propose("Let the newer preference hold", drafts, progress, each=1)

    def _propose(
        self,
        title: str,
        drafts: Iterable[_Asked],
        progress: Progress | None,
        *,
        each: int = _DRAFTS,
    ) -> MaintenanceReport:
        _check_progress(progress)
        engine = self._engine
        fresh = self._unasked(list(drafts))
        receipts: list[Receipt] = []
        ids: dict[str, None] = {}
        refused = 0
        size = max(each, _BATCH)
        for start in range(0, len(fresh), size):
            page = fresh[start : start + size]

            def attempt(tx: sqlite3.Connection, page: Sequence[_Asked] = page) -> list[tuple[_Asked, Receipt | None]]:
                groups = [page[n : n + each] for n in range(0, len(page), each)]
                return [pair for group in groups for pair in self._open(tx, title, group)]

            for (command, _), receipt in engine.transact(attempt):
                if receipt is None:
                    refused += 1
                    continue
                receipts.append(receipt)
                ids[command.memory_id] = None
            if progress is not None:
                progress(start + len(page), len(fresh))
        counts = {"proposed": len(receipts)} | ({"refused": refused} if refused else {})
        return MaintenanceReport(memory_ids=tuple(ids), receipts=tuple(receipts), counts=counts)

    def _open(
        self, tx: sqlite3.Connection, title: str, group: Sequence[_Asked]
    ) -> Sequence[tuple[_Asked, Receipt | None]]:
        """Opens one proposal, without the drafts that the rules would refuse."""
        engine = self._engine
        now = engine.now()
        possible = []
        for asked in group:
            try:
                engine.decide(Work(engine, tx, self._author), Request(command=asked[0]), now)
            except (RejectedError, NotFoundError):
                continue
            possible.append(asked)
        receipts: Sequence[Receipt] = ()
        if possible:
            requests = [Request(command=command) for command, _ in possible]
            evidence = tuple(ref for _, ref in possible)
            work = Work(engine, tx, self._author)
            receipts = engine.desk.propose(work, requests, now, title=title, evidence=evidence).receipts
        return [*zip(possible, receipts, strict=True), *((asked, None) for asked in group if asked not in possible)]

    def _unasked(self, drafts: Sequence[_Asked]) -> list[_Asked]:
        """The drafts that neither wait in an open proposal nor were turned down since what they name last changed."""
        with self._engine.host.reading() as tx:
            return [
                (command, ref)
                for command, ref in drafts
                if tx.execute(
                    "SELECT 1 FROM drafts d JOIN proposals p ON p.id = d.proposal WHERE d.digest = ?"
                    " AND (d.status = 'open' OR (d.status IN ('rejected', 'withdrawn', 'undone')"
                    " AND NOT EXISTS (SELECT 1 FROM json_each(?) j JOIN memories m ON m.id = j.value"
                    " WHERE m.from_position > coalesce(p.closed_position, p.position))))",
                    (draft_digest(command), json.dumps(_named(command))),
                ).fetchone()
                is None
            ]

    def recompute_scores(self) -> int:
        """Recomputes importance and retention of the whole space by one statement; gives the number of memories."""
        engine = self._engine
        engine.flush()
        return engine.transact(lambda tx: engine.read_model.recompute_scores(tx, engine.now()))

    # -- what is looked at --------------------------------------------------------------------------

    def report(self) -> dict[str, list[Any]]:
        """The review queue by reason: dangling edges, contacts without owner, what expires soon or went stale …

        Under "second_edge" and "circle" stand edges that ought not to be together (`IllShape`): each was allowed to
        somebody from whom the others were hidden.
        """
        from engram_core.reads.shapes import ill_shapes
        from engram_core.session import Session

        view = Session(self._engine, self._author.actor, record=False)
        found: dict[str, list[Any]] = {}
        after: str | None = None
        while True:
            page = view.reviews(limit=1_000, after=after)
            for row in page:
                found.setdefault(str(row.reason), []).append(row)
            after = page.next
            if after is None:
                break
        with self._engine.host.reading() as tx:
            return {**found, **ill_shapes(tx)}

    # -- the host's own -----------------------------------------------------------------------------

    def rebuild(self, *, progress: Progress | None = None) -> None:
        """Builds the read model anew beside the present one, and swaps; reads and writes go on meanwhile."""
        _check_progress(progress)
        self._engine.read_model.rebuild(progress=progress)
        if self._engine.encoding is not None:
            self._engine.encoding.forget_others()

    def verify(self, anchor: Anchor | None = None, *, progress: Progress | None = None) -> VerifyReport:
        """Checks log, hash chain and read model; with an anchor that was kept elsewhere, against that, too."""
        _check_progress(progress)
        if anchor is not None and not isinstance(anchor, Anchor):
            problem = Problem("anchor", f"must be what MemorySpace.anchor() gave, not {type(anchor).__name__}")
            raise InvalidAttributesError("verify", [problem])
        return verify(self._engine, anchor=anchor, progress=progress)

    def backup(self, path: str | PathLike[str]) -> None:
        """Copies the live space into a new file at `path`, consistent to a commit.

        Raises: StoreError for stores without a backup, and where there is a file already.
        """
        _check_path(path)
        copy = getattr(self._engine.store, "backup", None)
        if copy is None:
            raise StoreError("this store has no backup", code="store_no_backup", hint="copy its events instead")
        self._engine.flush()
        copy(path)


def _check_progress(progress: object) -> None:
    if progress is not None and not callable(progress):
        raise InvalidAttributesError("maintenance", [Problem("progress", "must be callable")])


def _check_path(path: object) -> None:
    is_path = isinstance(path, str | PathLike)
    wrong = f"must be a str or a Path, not {type(path).__name__}"
    if problem := text_problem(str(path), blank=False) if is_path else wrong:
        raise InvalidAttributesError("backup", [Problem("path", problem)])


def _named(command: Command) -> list[str]:
    """The memories that a command of upkeep names."""
    match command:
        case Merge(memory_id=id, source=other) | Supersede(memory_id=id, by=other):
            return [id, other]
        case _:
            return [command.memory_id]
