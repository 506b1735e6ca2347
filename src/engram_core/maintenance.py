"""The upkeep of a space: what expires acts, everything else is proposed; and the host's checks and copies."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any

from attrs import field, frozen

from engram_core.commands import Archive, Command, Merge, Supersede
from engram_core.conflicts import incompatible, taste_key
from engram_core.engine import Engine, Request
from engram_core.errors import ForbiddenError, StoreError
from engram_core.identity import normal_name
from engram_core.log import Anchor, Author
from engram_core.projections.proposals import draft_digest
from engram_core.receipts import Receipt
from engram_core.values import Actor, EvidenceRef, to_micros
from engram_core.verifying import VerifyReport, verify
from engram_core.vocab import ActorKind, ArchiveReason, EvidenceType, LifetimeKind, ReceiptStatus
from engram_core.work import Work

__all__ = ["Maintenance", "MaintenanceReport"]

_BATCH = 500
_DRAFTS = 100

Progress = Callable[[int, int], None]


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
        if actor.kind not in (ActorKind.USER, ActorKind.SYSTEM):
            raise ForbiddenError("only users and the system maintain a space", hint='use system("nightly")')
        self._engine = engine
        self._author = Author(actor=actor)

    # -- what acts ----------------------------------------------------------------------------------

    def expire(self, *, progress: Progress | None = None) -> MaintenanceReport:
        """Archives what has outlived its lifetime, because its author said so when he wrote it."""
        done: list[str] = []
        receipts: list[Receipt] = []
        while True:
            with self._engine.host.reading() as tx:
                due = [
                    id
                    for (id,) in tx.execute(
                        "SELECT id FROM memories WHERE stored = 'active' AND expires_at <= ? ORDER BY key LIMIT ?",
                        (to_micros(self._engine.now()), _BATCH),
                    )
                ]
            if not due:
                return MaintenanceReport(
                    memory_ids=tuple(done), receipts=tuple(receipts), counts={"expired": len(done)}
                )
            result = self._act([Archive(id, ArchiveReason.EXPIRED) for id in due])
            done += due
            receipts += result
            if progress is not None:
                progress(len(done), len(done))

    def _act(self, commands: Sequence[Command]) -> Sequence[Receipt]:
        engine = self._engine

        def attempt(tx: sqlite3.Connection) -> Sequence[Receipt]:
            work = Work(engine, tx, self._author)
            now = engine.now()
            receipts = [engine.decide(work, Request(command=command), now) for command in commands]
            return engine.write(work, receipts).receipts

        return engine.transact(attempt)

    # -- what is proposed ---------------------------------------------------------------------------

    def propose_pruning(self, *, progress: Progress | None = None) -> MaintenanceReport:
        """Proposes to archive what has not earned its keep, with the scores as evidence.

        Never pinned, permanent, active projects and goals, nor anything recorded less than 14 days ago.
        """
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
            pairs = list(_pairs_of_one_thing(tx, self._engine.options.policy.review.min_name))
        drafts = [
            (Merge(survivor, source), EvidenceRef(EvidenceType.OBSERVATION, f"{survivor} and {source} share {what}"))
            for survivor, source, what in pairs
        ]
        return self._propose("Merge what seems to be one thing", drafts, progress, each=1)

    def detect_contradictions(self, *, progress: Progress | None = None) -> MaintenanceReport:
        """Proposes that the newer of two incompatible preferences supersedes the older."""
        with self._engine.host.reading() as tx:
            pairs = list(_incompatible_preferences(tx, to_micros(self._engine.now())))
        drafts = [
            (Supersede(old, new), EvidenceRef(EvidenceType.OBSERVATION, f"{new} and {old} cannot both hold: {what}"))
            for old, new, what in pairs
        ]
        return self._propose("Let the newer preference hold", drafts, progress, each=1)

    def _propose(
        self,
        title: str,
        drafts: Iterable[tuple[Command, EvidenceRef]],
        progress: Progress | None,
        *,
        each: int = _DRAFTS,
    ) -> MaintenanceReport:
        engine = self._engine
        fresh = self._unasked(list(drafts))
        receipts: list[Receipt] = []
        for start in range(0, len(fresh), each):
            page = fresh[start : start + each]

            def attempt(
                tx: sqlite3.Connection, page: Sequence[tuple[Command, EvidenceRef]] = page
            ) -> Sequence[Receipt]:
                work = Work(engine, tx, self._author)
                requests = [Request(command=command) for command, _ in page]
                evidence = tuple(ref for _, ref in page)
                return engine.desk.propose(work, requests, engine.now(), title=title, evidence=evidence).receipts

            receipts += engine.transact(attempt)
            if progress is not None:
                progress(start + len(page), len(fresh))
        ids = tuple(dict.fromkeys(command.memory_id for command, _ in fresh))
        return MaintenanceReport(memory_ids=ids, receipts=tuple(receipts), counts={"proposed": len(fresh)})

    def _unasked(self, drafts: Sequence[tuple[Command, EvidenceRef]]) -> list[tuple[Command, EvidenceRef]]:
        """The drafts that neither wait in an open proposal nor were turned down since the memory last changed."""
        with self._engine.host.reading() as tx:
            return [
                (command, ref)
                for command, ref in drafts
                if tx.execute(
                    "SELECT 1 FROM drafts d JOIN memories m ON m.id = d.memory_id WHERE d.digest = ?"
                    " AND (d.status = 'open' OR (d.status IN ('rejected', 'withdrawn') AND d.base >= m.revision))",
                    (draft_digest(command),),
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
        """The review queue by reason: dangling edges, contacts without owner, what expires soon or went stale …"""
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
                return found

    # -- the host's own -----------------------------------------------------------------------------

    def rebuild(self, *, progress: Progress | None = None) -> None:
        """Builds the read model anew beside the present one, and swaps; reads and writes go on meanwhile."""
        self._engine.read_model.rebuild(progress=progress)

    def verify(self, *, anchor: Anchor | None = None, progress: Progress | None = None) -> VerifyReport:
        """Checks log, hash chain and read model; with an anchor that was kept elsewhere, against that, too."""
        return verify(self._engine, anchor=anchor, progress=progress)

    def backup(self, path: str | PathLike[str]) -> None:
        """Copies the live space into a new file, consistent to a commit. Raises: StoreError for stores without one."""
        copy = getattr(self._engine.store, "backup", None)
        if copy is None:
            raise StoreError("this store has no backup", code="store_no_backup", hint="copy its events instead")
        self._engine.flush()
        copy(path)


# -- finding ----------------------------------------------------------------------------------------


def _pairs_of_one_thing(tx: sqlite3.Connection, shortest: int) -> Iterator[tuple[str, str, str]]:
    """(survivor, source, what they share) for entities of one kind, by blocks of equal names or contacts."""
    first: dict[tuple[str, str], str] = {}
    seen: set[tuple[str, str]] = set()
    settled = {
        frozenset(pair)
        for pair in tx.execute(
            "SELECT a.id, b.id FROM settled s JOIN memories a ON a.key = s.one JOIN memories b ON b.key = s.other"
            " WHERE s.what = 'distinct'"
        )
    }
    leader: dict[str, str] = {}

    def led(id: str) -> str:
        while id in leader:
            id = leader[id]
        return id

    for kind, id, block, shared in _blocks(tx, shortest):
        survivor = first.setdefault((kind, block), id)
        survivor = led(survivor)
        source = led(id)
        if survivor == source or (survivor, source) in seen or frozenset({survivor, source}) in settled:
            continue
        seen.add((survivor, source))
        leader[source] = survivor
        yield survivor, source, shared


def _blocks(tx: sqlite3.Connection, shortest: int) -> Iterator[tuple[str, str, str, str]]:
    """(kind, id, block key, what it is) of every live entity, the oldest first."""
    rows = tx.execute(
        "SELECT kind, id, attributes FROM memories WHERE stored = 'active'"
        " AND kind IN ('person', 'organization', 'location', 'asset') ORDER BY key"
    )
    for kind, id, attributes in rows:
        raw = json.loads(attributes)
        names = [raw.get("full_name") or raw.get("name") or "", *raw.get("aliases", ())]
        for name in dict.fromkeys(normal_name(name) for name in names):
            if len(name) >= shortest:
                yield kind, id, f"name:{name}", "a name or alias"
    rows = tx.execute(
        "SELECT o.kind, o.id, json_extract(c.attributes, '$.channel'), json_extract(c.attributes, '$.value')"
        " FROM memories c JOIN links l ON l.source = c.key AND l.relation = 'owned_by'"
        " JOIN memories o ON o.key = l.target WHERE c.kind = 'contact' AND c.stored = 'active'"
        " AND o.stored = 'active' ORDER BY o.key"
    )
    for kind, id, channel, value in rows:
        yield kind, id, f"contact:{channel}:{normal_name(value)}", f"a contact ({channel})"


def _incompatible_preferences(tx: sqlite3.Connection, now: int) -> Iterator[tuple[str, str, str]]:
    """(older, newer, why) of preferences with one holder, target and context that cannot both hold."""
    by_key: dict[tuple[Any, ...], list[tuple[str, str]]] = {}
    rows = tx.execute(
        "SELECT m.id, m.attributes, (SELECT group_concat(l.target) FROM links l WHERE l.source = m.key"
        " AND l.relation = 'about') FROM memories m WHERE m.kind = 'preference' AND m.stored = 'active'"
        " AND m.superseded = 0 AND (m.expires_at IS NULL OR m.expires_at > ?) ORDER BY m.created_at, m.key",
        (now,),
    )
    for id, attributes, about in rows:
        raw = json.loads(attributes)
        key = taste_key(raw, frozenset((about or "").split(",")))
        if key is None:
            continue
        group = by_key.setdefault(key, [])
        for older, polarity in group:
            if incompatible(polarity, raw["polarity"]):
                yield older, id, f"{polarity} and {raw['polarity']}"
        group.append((id, raw["polarity"]))
