"""Writes what commits changed: present rows, and the rows that they replace into the past, one statement a table.

Operations are collected and written together, so that a commit of a thousand memories, or a page of a replay, costs a
few bulk statements. A memory that changes twice forces a flush in between: each of its versions gets its row.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from engram_core.projections import alike, sides
from engram_core.projections.indexing import TextChanges
from engram_core.projections.rows import Rows, Transition, cleaned, is_bare, touched_groups
from engram_core.projections.schema import TABLES
from engram_core.state import MemoryState

__all__ = ["RowWriter", "forget_rows"]

_KEYS_KEPT: Final = 50_000
_OWNED_BY: Final = {"links": "source", "tags": "key", "supersessions": "old", "settled": "one"}


class RowWriter:
    """Turns transitions into writes on one connection.

    Args:
        tx: A connection within a transaction.
        rows: Makes rows from states.
        prefix: Of the tables, for a shadow.
        edges: Whether rows that name another memory are written; they stay as they are, if not.
        keys: Of memories, as far as they are known; all others are looked up.
        dangles: False when it is known that no edge leads to what is not there.
    """

    def __init__(
        self,
        tx: sqlite3.Connection,
        rows: Rows,
        prefix: str = "",
        *,
        edges: bool = True,
        keys: Mapping[str, int] | None = None,
        dangles: bool = True,
    ) -> None:
        self._tx = tx
        self._rows = rows
        self._prefix = prefix
        self._with_edges = edges
        self._sql = _statements(prefix)
        self._keys: dict[str, int] = {} if keys is None else dict(keys)
        self._touched: set[str] = set()
        self._begun: list[tuple[str, int]] = []
        self._inserts: list[tuple[Any, ...]] = []
        self._moves: list[tuple[int, int]] = []
        self._updates: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
        self._removed: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
        self._added: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
        self._externals: tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]] = ([], [])
        self._dangling: tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]] = ([], [])
        self._alike: list[tuple[str, str, int]] = []
        self._texts = TextChanges(tx, rows, prefix)
        self.dangles = dangles and bool(tx.execute(f"SELECT EXISTS (SELECT 1 FROM {prefix}dangling)").fetchone()[0])

    def add(self, transitions: Sequence[Transition]) -> None:
        """Takes in what one commit made of its memories, each named once."""
        if not self._touched.isdisjoint(t.after.id for t in transitions) or (self.dangles and self._touched):
            self.flush()
        edges = []
        for transition in transitions:
            before, after, _ = transition
            key = after.origin.position
            self._touched.add(after.id)
            self._keys[after.id] = key
            bare = is_bare(after), before is None or is_bare(before)
            touched = None if before is None or bare[0] != bare[1] else touched_groups(before, after)
            self._memory(transition, key, touched)
            if touched is None or "tags" in touched or "absorbed" in touched:
                self._tags(before, after, key)
            if after.kind in self._rows.named and (touched is None or "attributes" in touched or "absorbed" in touched):
                self._alike += alike.borne(after, self._rows)
            if (
                before is None
                or touched is None
                or "edges" in touched
                or ("lifecycle" in touched and before.lifecycle.superseded != after.lifecycle.superseded)
            ):
                edges.append((before, after, key))
            if touched is None or "lifecycle" in touched:
                self._external_ids(before, after, key)
            self._texts.add(before, after, touched)
        if edges and self._with_edges:
            self._edges(edges)
        if self._dangling[0]:
            self.dangles = True
            self.flush()

    def flush(self) -> None:
        """Writes all that was collected."""
        tx, sql = self._tx, self._sql
        if self._moves:
            tx.executemany(sql.past["memories"], self._moves)
        for columns, values in self._updates.items():
            tx.executemany(sql.update(columns), values)
        if self._inserts:
            tx.executemany(sql.insert["memories"], self._inserts)
        for name, removed in self._removed.items():
            tx.executemany(sql.past[name], removed)
            tx.executemany(sql.delete[name], removed)
        for name, added in self._added.items():
            tx.executemany(sql.insert[name], added)
        gone, come = self._externals
        if gone:
            tx.executemany(sql.external_gone, gone)
        if come:
            tx.executemany(sql.external_come, come)
        if self.dangles:
            self._flush_dangling()
        if self._alike:
            alike.write(tx, self._alike, self._prefix)
            self._alike.clear()
        self._texts.flush()
        for collected in (self._moves, self._inserts, self._begun, gone, come):
            collected.clear()
        for mapped in (self._removed, self._added, self._updates):
            mapped.clear()
        self._touched.clear()
        if len(self._keys) > _KEYS_KEPT:
            self._keys.clear()

    # -- memories -----------------------------------------------------------------------------------

    def _memory(self, transition: Transition, key: int, touched: frozenset[str] | None) -> None:
        before, after, _ = transition
        if before is None:
            self._inserts.append(self._rows.full(after, transition.digest))
            self._begun.append((after.id, after.position))
            return
        columns, values = self._rows.changed(before, after, touched)
        self._moves.append((after.position, key))
        self._updates.setdefault(columns, []).append((*values, key))

    def _external_ids(self, before: MemoryState | None, after: MemoryState, key: int) -> None:
        old, new = sides.external_ids(before), sides.external_ids(after)
        if old == new:
            return
        self._externals[0].extend((*pair, key) for pair in old)
        self._externals[1].extend((*pair, key) for pair in new)

    # -- what hangs on them -------------------------------------------------------------------------

    def _tags(self, before: MemoryState | None, after: MemoryState, key: int) -> None:
        old, new = sides.tags(before), sides.tags(after)
        if old is new:
            return
        gone, come = sides.difference(old, new)
        self._removed["tags"].extend((after.position, tag, key) for tag in gone)
        self._added["tags"].extend((tag, key, after.position) for tag, _ in come)

    def _edges(self, changes: Iterable[tuple[MemoryState | None, MemoryState, int]]) -> None:
        """The differences of rows that name another memory, whose keys are looked up together."""
        found: list[tuple[str, int, int, list[Any], list[Any]]] = []
        named: set[str] = set()
        for before, after, key in changes:
            for table, held in sides.EDGES:
                old, new = held(before), held(after)
                if old is new:
                    continue
                gone, come = sides.difference(old, new)
                found.append((table, key, after.position, gone, come))
                named.update([other for other, _ in gone], [pair[0] for pair, _ in come])
        self._look_up(named)
        for table, key, position, gone, come in found:
            for other, what in gone:
                target = self._keys.get(other)
                if target is not None:
                    self._removed[table].append((position, *sides.primary(table, key, target, what)))
                elif table == "links":
                    self._dangling[1].append((key, what, cleaned(other)))
            for (other, what), value in come:
                target = self._keys.get(other)
                if target is not None:
                    self._added[table].append((*sides.primary(table, key, target, what), *value, position))
                elif table == "links":
                    self._dangling[0].append((key, what, cleaned(other), *value))

    def _look_up(self, ids: set[str]) -> None:
        """Learns the keys of memories; those that nothing bears stay unknown."""
        missing = ids - self._keys.keys()
        if not missing:
            return
        listed = json.dumps([cleaned(id) for id in missing])
        self._keys.update(self._tx.execute(self._sql.keys, (listed,)))

    def _flush_dangling(self) -> None:
        """Edges to what is not there wait; when it comes after all, they begin."""
        come, gone = self._dangling
        self._tx.executemany(self._sql.dangling_gone, gone)
        self._tx.executemany(self._sql.dangling_come, come)
        for id, position in self._begun:
            rows = self._tx.execute(self._sql.dangling_to, (id,)).fetchall()
            self._tx.executemany(
                self._sql.insert["links"],
                [(source, relation, self._keys[id], began, position) for source, relation, began in rows],
            )
            self._tx.executemany(self._sql.dangling_gone, [(source, relation, id) for source, relation, _ in rows])
        come.clear()
        gone.clear()


class _Statements:
    """The SQL for one prefix."""

    def __init__(self, prefix: str) -> None:
        self.insert: dict[str, str] = {}
        self.past: dict[str, str] = {}
        self.delete: dict[str, str] = {}
        for name, (columns, primary) in TABLES.items():
            listed = ", ".join(column for column, _ in columns)
            where = " AND ".join(f"{column} = ?" for column in primary.split(", "))
            self.insert[name] = f"INSERT INTO {prefix}{name} VALUES ({', '.join('?' * len(columns))})"
            self.past[name] = (
                f"INSERT INTO {prefix}past_{name} ({listed}, to_position)"
                f" SELECT {listed}, ? FROM {prefix}{name} WHERE {where}"
            )
            # Takes the same values as `past`, the position included.
            self.delete[name] = f"DELETE FROM {prefix}{name} WHERE ? IS NOT NULL AND {where}"
        self.keys = f"SELECT m.id, m.key FROM json_each(?) j CROSS JOIN {prefix}memories m ON m.id = j.value"
        self.external_gone = f"DELETE FROM {prefix}external_ids WHERE system = ? AND external = ? AND key = ?"
        self.external_come = f"INSERT OR IGNORE INTO {prefix}external_ids VALUES (?, ?, ?)"
        self.dangling_come = f"INSERT OR REPLACE INTO {prefix}dangling VALUES (?, ?, ?, ?)"
        self.dangling_gone = f"DELETE FROM {prefix}dangling WHERE source = ? AND relation = ? AND target_id = ?"
        self.dangling_to = f"SELECT source, relation, from_position FROM {prefix}dangling WHERE target_id = ?"
        self._prefix = prefix
        self._updates: dict[tuple[str, ...], str] = {}

    def update(self, columns: tuple[str, ...]) -> str:
        """The statement that sets some columns of a memory."""
        found = self._updates.get(columns)
        if found is None:
            settings = ", ".join(f"{column} = ?" for column in columns)
            found = f"UPDATE {self._prefix}memories SET {settings} WHERE key = ?"
            self._updates[columns] = found
        return found


@cache
def _statements(prefix: str) -> _Statements:
    """The SQL for a prefix, made once: there is one for live tables and one for a shadow."""
    return _Statements(prefix)


def forget_rows(tx: sqlite3.Connection, key: int, *, edges: bool) -> None:
    """Deletes a memory's rows, present and past, before they are written anew.

    Args:
        tx: A connection within a transaction.
        key: The memory's.
        edges: Also what leads from it to other memories.
    """
    tables = _OWNED_BY if edges else {"tags": "key"}
    for table, column in {"memories": "key", **tables}.items():
        tx.execute(f"DELETE FROM {table} WHERE {column} = ?", (key,))
        tx.execute(f"DELETE FROM past_{table} WHERE {column} = ?", (key,))
    tx.execute("DELETE FROM external_ids WHERE key = ?", (key,))
    alike.forget(tx, key)
    if edges:
        tx.execute("DELETE FROM dangling WHERE source = ?", (key,))
