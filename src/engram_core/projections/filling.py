"""Fills tables from the log: the one path of catching up and of building anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from engram_core.events import RecordedEvent
from engram_core.projections.accesses import write_accesses
from engram_core.projections.proposals import write_proposals
from engram_core.projections.replay import Replay
from engram_core.projections.rows import Commit, Rows, is_memory_stream
from engram_core.projections.writer import RowWriter

__all__ = ["AfterPage", "fill", "write_rest"]

AfterPage: TypeAlias = Callable[[sqlite3.Connection, Sequence[RecordedEvent]], None]
"""What else is to be done with the events of a page of whole commits."""

_PAGE: Final = 1_000


def fill(
    tx: sqlite3.Connection,
    replay: Replay,
    rows: Rows,
    after: int,
    *,
    prefix: str = "",
    budget: int | None = None,
    after_page: AfterPage | None = None,
) -> int:
    """Takes in the commits after a position, in pages of whole ones.

    Args:
        tx: A connection within a transaction.
        replay: Reads the log.
        rows: Makes rows from states.
        after: The position that the tables have reached.
        prefix: Of the tables, for a shadow.
        budget: How many events are enough for now; None: up to the head of the log.
        after_page: Called with the events of each page.

    Returns: The position that they have reached now.
    """
    writer = RowWriter(tx, rows, prefix)
    page: list[Commit] = []
    size = done = 0
    for commit in replay.commits(after):
        writer.add(commit.transitions)
        page.append(commit)
        size += len(commit.events)
        done += len(commit.events)
        if size >= _PAGE:
            after = _turn(tx, writer, page, prefix, after_page)
            page, size = [], 0
        if budget is not None and done >= budget:
            break
    if page:
        after = _turn(tx, writer, page, prefix, after_page)
    return after


def _turn(
    tx: sqlite3.Connection, writer: RowWriter, page: Sequence[Commit], prefix: str, after_page: AfterPage | None
) -> int:
    writer.flush()
    write_rest(tx, page, prefix)
    position = page[-1].events[-1].position
    tx.execute(f"UPDATE {prefix}meta SET value = ? WHERE name = 'position'", (position,))
    if after_page is not None:
        after_page(tx, [event for commit in page for event in commit.events])
    return position


def write_rest(tx: sqlite3.Connection, commits: Iterable[Commit], prefix: str = "") -> None:
    """What of some commits is no memory's row: batches, commands, reads, proposals."""
    batches: dict[str, int] = {}
    commands: list[tuple[str, str]] = []
    others: list[RecordedEvent] = []
    for commit in commits:
        for event in commit.events:
            batches.setdefault(event.batch_id, event.position)
            if not is_memory_stream(event.stream):
                others.append(event)
        commands += commit.commands
    tx.executemany(f"INSERT OR IGNORE INTO {prefix}batches VALUES (?, ?)", batches.items())
    if commands:
        tx.executemany(f"INSERT OR IGNORE INTO {prefix}commands VALUES (?, ?)", commands)
    if others:
        write_accesses(tx, others, prefix)
        write_proposals(tx, others, prefix)
