"""Rows become memories, with the flags that other memories raise."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from engram_core.errors import NotFoundError
from engram_core.reads.disputes import disputes, undermined
from engram_core.reads.snapshot import Snapshot, can_exist
from engram_core.results.memory import Memory

__all__ = ["by_keys", "memories", "memory", "not_there"]


def memory(snapshot: Snapshot, id: str) -> Memory[Any]:
    """One memory that is shown to the viewer.

    Raises: NotFoundError.
    """
    row = None
    if can_exist(id):
        parameters = {**snapshot.parameters, "id": id}
        row = snapshot.connection.execute(snapshot.sql.row_by_id, parameters).fetchone()
    if row is None:
        raise not_there(id)
    if not row[-1] and not row[-2]:
        return Memory(row, snapshot.lens)
    return memories(snapshot, [row])[0]


def memories(snapshot: Snapshot, rows: Sequence[Any]) -> tuple[Memory[Any], ...]:
    """The memories of rows of `Fragments`, in their order."""
    contested = [row[0] for row in rows if row[-2]]
    derived = [row[0] for row in rows if row[-1]]
    lens = snapshot.lens
    if not contested and not derived:
        return tuple(Memory(row, lens) for row in rows)
    disputed = disputes(snapshot, contested)
    shaken = undermined(snapshot, derived)
    return tuple(Memory(row, lens, disputed=row[0] in disputed, undermined=row[0] in shaken) for row in rows)


def by_keys(snapshot: Snapshot, keys: Iterable[int]) -> dict[int, Memory[Any]]:
    """The memories of those keys that are shown to the viewer, by key."""
    rows = snapshot.all(snapshot.sql.rows_by_keys, {"keys": json.dumps(list(dict.fromkeys(keys)))})
    return {row[0]: memory for row, memory in zip(rows, memories(snapshot, rows), strict=True)}


def not_there(id: str) -> NotFoundError:
    """The one answer for what is absent, gone or hidden."""
    return NotFoundError(f"there is no memory {id}", memory_id=id)
