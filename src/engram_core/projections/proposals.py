"""Proposals in the read model: which are open, of whom, and which drafts they hold. Their text stays in the log."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from engram_core import wire
from engram_core.commands import Command, Remember
from engram_core.events import (
    DraftAdded,
    ErasedPayload,
    ProposalMerged,
    ProposalOpened,
    ProposalRebased,
    ProposalRejected,
    ProposalUndone,
    ProposalWithdrawn,
    RecordedEvent,
)
from engram_core.proposal import proposal_stream
from engram_core.values import to_micros

__all__ = ["draft_digest", "forget_drafts", "write_proposals"]

_PREFIX: Final = proposal_stream("")


def draft_digest(command: Command) -> str:
    """Names what a draft asks for, whatever id was drawn for it: the same draft twice is one."""
    raw = wire.encode_command(command)
    if isinstance(command, Remember) and not command.own_id:
        raw.pop("memory_id")
    return sha256(json.dumps(raw, sort_keys=True, ensure_ascii=True).encode()).hexdigest()[:32]


def write_proposals(tx: sqlite3.Connection, events: Iterable[RecordedEvent], prefix: str = "") -> None:
    """Takes in the events of proposals among some events of the log.

    Args:
        tx: The writing connection.
        events: Recorded events, in order.
        prefix: Of the tables' names, for a shadow.
    """
    for recorded in events:
        if recorded.stream.startswith(_PREFIX):
            _write(tx, recorded, recorded.stream.removeprefix(_PREFIX), prefix)


def _write(tx: sqlite3.Connection, e: RecordedEvent, id: str, p: str) -> None:
    match e.event:
        case ProposalOpened() | ErasedPayload(type="ProposalOpened"):
            tx.execute(
                f"INSERT OR IGNORE INTO {p}proposals (id, author, author_kind, status, opened_at, position)"
                " VALUES (?, ?, ?, 'open', ?, ?)",
                (
                    id,
                    None if e.actor is None else str(e.actor),
                    e.actor_kind.value,
                    to_micros(e.occurred_at),
                    e.position,
                ),
            )
        case DraftAdded() as added:
            begins = type(added.command).__name__ == "Remember"
            tx.execute(
                f"INSERT OR IGNORE INTO {p}drafts (proposal, number, memory_id, begins, base, status, digest)"
                " VALUES (?, ?, ?, ?, ?, 'open', ?)",
                (id, added.draft, added.memory_id, begins, added.base_revision, draft_digest(added.command)),
            )
        case ErasedPayload(type="DraftAdded"):
            tx.execute(
                f"INSERT OR IGNORE INTO {p}drafts (proposal, number, memory_id, begins, base, status)"
                f" SELECT ?, count(*) + 1, ?, 0, 0, 'withdrawn' FROM {p}drafts WHERE proposal = ?",
                (id, e.owner, id),
            )
        case ProposalMerged(drafts=numbers):
            _close(tx, p, id, e.position, "merged", numbers)
        case ProposalRejected(drafts=numbers):
            _close(tx, p, id, e.position, "rejected", numbers)
        case ErasedPayload(type="ProposalRejected"):
            _close(tx, p, id, e.position, "rejected", ())
        case ProposalWithdrawn() | ErasedPayload(type="ProposalWithdrawn"):
            _close(tx, p, id, e.position, "withdrawn", ())
        case ProposalUndone(redo=redo):
            before, after = ("undone", "merged") if redo else ("merged", "undone")
            tx.execute(f"UPDATE {p}drafts SET status = ? WHERE proposal = ? AND status = ?", (after, id, before))
            tx.execute(f"UPDATE {p}proposals SET status = ? WHERE id = ?", (after, id))
        case ProposalRebased(bases=bases):
            tx.executemany(
                f"UPDATE {p}drafts SET base = ? WHERE proposal = ? AND number = ?",
                [(base, id, number) for number, base in bases],
            )
        case _:
            pass


def _close(tx: sqlite3.Connection, p: str, id: str, position: int, status: str, numbers: Iterable[int]) -> None:
    listed = tuple(numbers)
    condition = f" AND number IN ({', '.join('?' * len(listed))})" if listed else ""
    tx.execute(
        f"UPDATE {p}drafts SET status = ? WHERE proposal = ? AND status = 'open'{condition}", (status, id, *listed)
    )
    tx.execute(
        f"UPDATE {p}proposals SET closed_position = ?1, status = CASE WHEN EXISTS (SELECT 1 FROM {p}drafts"
        f" WHERE proposal = ?2 AND status = 'merged') THEN 'merged' ELSE ?3 END"
        f" WHERE id = ?2 AND NOT EXISTS (SELECT 1 FROM {p}drafts WHERE proposal = ?2 AND status = 'open')",
        (position, id, status),
    )


def forget_drafts(tx: sqlite3.Connection, memory_id: str, prefix: str = "") -> None:
    """After an erasure: the drafts about a memory hold nothing any more, and are closed."""
    tx.execute(
        f"UPDATE {prefix}drafts SET digest = NULL, begins = 0, status = 'withdrawn' WHERE memory_id = ?", (memory_id,)
    )
