"""By what entities seem to be one: each name that one bore, and each value of a contact, at any time.

Rows never end, so that past views find theirs: whoever asks looks at what the few that are marked are called then.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engram_core.identity import normal_name
from engram_core.kinds import KindSpec
from engram_core.projections.rows import Rows, cleaned, is_bare
from engram_core.state import MemoryState
from engram_core.vocab import Kind

__all__ = ["borne", "forget", "names", "write"]


def names(spec: KindSpec, raw: Mapping[str, Any]) -> frozenset[str]:
    """The label and the aliases of an entity, as names are compared."""
    label = next((str(raw[name]) for name in spec.label_fields if raw.get(name)), "")
    others = raw.get(spec.alias_field) if spec.alias_field else ()
    listed = others if isinstance(others, list | tuple) else ()
    return frozenset(normal_name(cleaned(name)) for name in (label, *listed) if name and isinstance(name, str))


def borne(state: MemoryState, rows: Rows) -> Iterator[tuple[str, str, int]]:
    """The rows of one state of a memory of `rows.named`: kind, name and key; a contact is called by its value."""
    if is_bare(state) or state.kind not in rows.kinds:
        return
    raw, key = rows.attributes(state), state.origin.position
    if state.kind == Kind.CONTACT:
        value = raw.get("value")
        found = {normal_name(cleaned(value))} if isinstance(value, str) else frozenset()
    else:
        found = names(rows.kinds.spec(state.kind), raw)
    for name in found:
        yield state.kind, name, key


def write(tx: sqlite3.Connection, found: Iterable[tuple[str, str, int]], prefix: str = "") -> None:
    """Adds names that were borne, and marks those that another bore as well."""
    listed = list(found)
    tx.executemany(
        f"INSERT OR IGNORE INTO {prefix}alike VALUES (?, ?, ?, EXISTS ("
        f"SELECT 1 FROM {prefix}alike WHERE kind = ? AND name = ? AND key <> ?))",
        [row * 2 for row in listed],
    )
    # Where there were two, all are marked; so only the first two may yet be unmarked.
    tx.executemany(
        f"UPDATE {prefix}alike SET shared = 1 WHERE kind = ? AND name = ? AND shared = 0"
        f" AND key IN (SELECT key FROM {prefix}alike WHERE kind = ? AND name = ? LIMIT 2)"
        f" AND (SELECT count(*) FROM (SELECT 1 FROM {prefix}alike WHERE kind = ? AND name = ? LIMIT 2)) = 2",
        [row[:2] * 3 for row in listed],
    )


def forget(tx: sqlite3.Connection, key: int) -> None:
    """Deletes what a memory was called; a name that one alone bears then is shared no more."""
    shared = tx.execute("SELECT kind, name FROM alike WHERE key = ? AND shared = 1", (key,)).fetchall()
    tx.execute("DELETE FROM alike WHERE key = ?", (key,))
    tx.executemany(
        "UPDATE alike SET shared = 0 WHERE kind = ? AND name = ?"
        " AND (SELECT count(*) FROM (SELECT 1 FROM alike WHERE kind = ? AND name = ? LIMIT 2)) = 1",
        [row * 2 for row in shared],
    )
