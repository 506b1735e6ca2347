"""Proposals in the read model: which are open, of whom, and which drafts they hold. Their text stays in the log."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
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
from engram_core.proposal import memory_of, note_owner, proposal_stream, words_owner
from engram_core.values import Actor, to_micros

__all__ = ["draft_digest", "is_reserved", "rewrite_proposal", "write_proposals"]

_PREFIX: Final = proposal_stream("")
_NO_DRAFT: Final = (0,)  # drafts are numbered from 1


def draft_digest(command: Command) -> str:
    """Names what a draft asks for, whatever id was drawn for it: the same draft twice is one."""
    raw = wire.encode_command(command)
    if isinstance(command, Remember) and not command.own_id:
        raw.pop("memory_id")
    return sha256(json.dumps(raw, sort_keys=True, ensure_ascii=True).encode()).hexdigest()[:32]


def is_reserved(tx: sqlite3.Connection, command: Remember, author: Actor, *, drafting: bool) -> bool:
    """True when a draft has the id under which a memory is to begin.

    An id that was once reserved is nobody else's, whatever became of the draft; to its author it is free again once
    the draft is closed.

    Args:
        tx: A connection to the read model.
        command: What is to begin.
        author: Who asks.
        drafting: Whether he asks for a draft: the same one twice is one.
    """
    row = tx.execute(
        "SELECT 1 FROM drafts d JOIN proposals p ON p.id = d.proposal WHERE d.memory_id = ? AND d.begins = 1"
        " AND (p.author IS NOT ? OR (d.status = 'open' AND d.digest IS NOT ?)) LIMIT 1",
        (command.memory_id, str(author), draft_digest(command) if drafting else None),
    ).fetchone()
    return row is not None


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
            tx.execute(
                f"UPDATE {p}proposals SET author = coalesce(author, ?), status = 'open', closed_position = NULL"
                " WHERE id = ? AND (author IS NULL OR status <> 'open')",
                (str(e.actor), id),
            )
        case ErasedPayload(type="DraftAdded"):
            tx.execute(
                f"INSERT OR IGNORE INTO {p}drafts (proposal, number, memory_id, begins, base, status)"
                f" SELECT ?, count(*) + 1, ?, 0, 0, 'withdrawn' FROM {p}drafts WHERE proposal = ?",
                (id, memory_of(e.owner), id),
            )
            _settle(tx, p, id, e.position, "withdrawn")
        case ProposalMerged(drafts=numbers):
            _close(tx, p, e, "merged", numbers)
        case ProposalRejected(drafts=numbers):
            _close(tx, p, e, "rejected", numbers)
        case ErasedPayload(type="ProposalRejected") if e.owner != note_owner(id):
            _close(tx, p, e, "rejected", None if e.owner == words_owner(id) else _erased(tx, p, id, e.owner))
        case ProposalWithdrawn() | ErasedPayload(type="ProposalWithdrawn"):
            _close(tx, p, e, "withdrawn", None)
        case ProposalUndone(drafts=numbers, redo=redo):
            before, after = ("undone", "merged") if redo else ("merged", "undone")
            tx.execute(
                f"UPDATE {p}drafts SET status = ? WHERE proposal = ? AND status = ?"
                " AND number IN (SELECT value FROM json_each(?))",
                (after, id, before, json.dumps(numbers)),
            )
            tx.execute(f"UPDATE {p}proposals SET status = 'open', closed_position = NULL WHERE id = ?", (id,))
            _settle(tx, p, id, e.position, after)
        case ProposalRebased(bases=bases):
            tx.executemany(
                f"UPDATE {p}drafts SET base = ? WHERE proposal = ? AND number = ?",
                [(base, id, number) for number, base in bases],
            )
        case _:
            pass


def _erased(tx: sqlite3.Connection, p: str, id: str, memory_id: str) -> list[int]:
    rows = tx.execute(
        f"SELECT number FROM {p}drafts WHERE proposal = ? AND memory_id = ? AND digest IS NULL", (id, memory_id)
    )
    return [number for (number,) in rows]


def _close(tx: sqlite3.Connection, p: str, e: RecordedEvent, status: str, numbers: Iterable[int] | None) -> None:
    """Drafts get a status: those that are named, else all that are open; erased ones as `DraftState` says."""
    id = e.stream.removeprefix(_PREFIX)
    listed = None if numbers is None else json.dumps(list(numbers))
    tx.execute(
        f"UPDATE {p}drafts SET status = ? WHERE proposal = ?"
        " AND (status = 'open' OR (status = 'withdrawn' AND digest IS NULL))"
        " AND (? IS NULL OR number IN (SELECT value FROM json_each(?)))",
        (status, id, listed, listed),
    )
    _settle(tx, p, id, e.position, status)


def _settle(tx: sqlite3.Connection, p: str, id: str, position: int, status: str) -> None:
    """A proposal is closed as soon as none of its drafts is open, as merged if any of them was."""
    tx.execute(
        f"UPDATE {p}proposals SET closed_position = :position, status = CASE WHEN EXISTS (SELECT 1 FROM {p}drafts"
        f" WHERE proposal = :id AND status = 'merged') THEN 'merged' ELSE :status END"
        f" WHERE id = :id AND NOT EXISTS (SELECT 1 FROM {p}drafts WHERE proposal = :id AND status = 'open')",
        {"position": position, "id": id, "status": status},
    )


def rewrite_proposal(tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
    """After an erasure: the rows of one proposal as its whole stream makes them now."""
    id = events[0].stream.removeprefix(_PREFIX)
    tx.execute("DELETE FROM drafts WHERE proposal = ?", (id,))
    tx.execute("DELETE FROM proposals WHERE id = ?", (id,))
    write_proposals(tx, events)
