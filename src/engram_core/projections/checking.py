"""Compares the read model with a replay of the log, row by row, in memory that does not grow with the log.

The replay makes every version of every row afresh from states, by another path than the one that wrote them. Each is
looked up where it must be: in the present if nothing followed, else in the past, with the position at which it ended.
Counts then show that there is nothing besides.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any, Final

from engram_core.projections import alike, schema, sides, texts
from engram_core.projections.filling import write_rest
from engram_core.projections.indexing import text_change
from engram_core.projections.rows import Commit, Row, Rows, Transition, cleaned, is_bare, touched_groups
from engram_core.state import MemoryState

__all__ = ["Check"]

_NAMES: Final = tuple(name for name, _ in schema.MEMORY_COLUMNS)
_COLUMNS: Final = ", ".join(_NAMES)
_FROM: Final = _NAMES.index("from_position")
_MOST: Final = 100
_NARROW: Final = ("reads", "accesses", "proposals", "drafts", "batches", "commands", "alike")


class Check:
    """Takes in the commits of a replay, in order, and then tells what is wrong.

    Args:
        tx: A connection that shows the read model as of the last commit that is taken in.
        rows: Makes rows from states.
    """

    def __init__(self, tx: sqlite3.Connection, rows: Rows) -> None:
        self._tx = tx
        self._rows = rows
        self._problems: list[str] = []
        self._begun: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._indexed: Counter[str] = Counter()
        self._dangling: dict[tuple[int, str, str], int] = {}
        # Narrow tables are small enough to be made again as a whole.
        self._side = sqlite3.connect(":memory:", isolation_level=None)
        self._side.execute("CREATE TABLE memories (key INTEGER PRIMARY KEY, id TEXT UNIQUE)")
        for statement in schema.table_statements():
            if any(statement.startswith(f"CREATE TABLE {name} ") for name in _NARROW):
                self._side.execute(statement)
        self._sql = {name: _lookups(name) for name in schema.TABLES if name != "memories"}

    def take(self, commit: Commit) -> None:
        """Compares what one commit made with what is there."""
        begun = [t.after for t in commit.transitions if t.before is None]
        self._side.executemany(
            "INSERT OR IGNORE INTO memories VALUES (?, ?)", [(s.origin.position, cleaned(s.id)) for s in begun]
        )
        write_rest(self._side, (commit,))
        for transition in commit.transitions:
            self._memory(transition)
            self._hanging(transition)
            self._text(transition)
            if transition.after.kind in self._rows.named and (
                (touched := _touched(transition)) is None or touched & {"attributes", "absorbed"}
            ):
                alike.write(self._side, alike.borne(transition.after, self._rows))

    def end(self) -> list[str]:
        """What does not agree, in words; empty when all is well."""
        for name in (*schema.TABLES, "texts"):
            present = self._one(f"SELECT count(*) FROM {name}")
            past = self._one(f"SELECT count(*) FROM past_{name}")
            if present != self._begun[name] - self._ended[name] or past != self._ended[name]:
                self._say(
                    f"{name} holds {present} present and {past} past rows;"
                    f" the log makes {self._begun[name] - self._ended[name]} and {self._ended[name]}"
                )
        self._same(
            "external_ids",
            "SELECT system, external, key FROM external_ids",
            "SELECT json_extract(j.value, '$[0]'), json_extract(j.value, '$[1]'), m.key FROM memories m,"
            " json_each(m.external_ids) j WHERE m.external_ids <> '[]' AND m.stored IN ('active', 'archived')",
        )
        self._same(
            "text_totals",
            "SELECT * FROM text_totals WHERE texts > 0",
            f"SELECT lane, from_position / {texts.SPAN}, count(*), sum(length) FROM texts GROUP BY 1, 2",
        )
        found = {row[:3]: row[3] for row in self._tx.execute("SELECT * FROM dangling")}
        if found != self._dangling:
            self._say(f"dangling holds {len(found)} edges; the log makes {len(self._dangling)}, or others")
        names = self._one("SELECT count(*) FROM names")
        if names != self._begun["names"]:
            self._say(f"names holds {names} rows; the log makes {self._begun['names']}")
        self._words()
        for name in _NARROW:
            self._narrow(name)
        self._side.close()
        return self._problems

    # -- memories -----------------------------------------------------------------------------------

    def _memory(self, transition: Transition) -> None:
        before, after, _ = transition
        expected = self._rows.full(after)
        key, since = expected[0], expected[_FROM]
        self._begun["memories"] += 1
        row: Row | None = self._tx.execute(f"SELECT {_COLUMNS} FROM memories WHERE key = ?", (key,)).fetchone()
        if row is None or row[_FROM] != since:
            row = self._tx.execute(
                f"SELECT {_COLUMNS} FROM past_memories WHERE key = ? AND from_position = ?", (key, since)
            ).fetchone()
        if row is None:
            self._say(f"memory {after.id} has no row for position {since}")
        elif row != expected:
            wrong = [name for name, is_, was in zip(_NAMES, row, expected, strict=True) if is_ != was]
            self._say(f"memory {after.id}, position {since}: {', '.join(wrong)} differ from the log")
        if before is not None:
            self._ended["memories"] += 1
            ended = self._one(
                "SELECT to_position FROM past_memories WHERE key = ? AND from_position = ?", (key, before.position)
            )
            if ended != since:
                self._say(f"memory {after.id}: its row of position {before.position} should have ended at {since}")

    # -- what hangs on them -------------------------------------------------------------------------

    def _hanging(self, transition: Transition) -> None:
        before, after, _ = transition
        key, position = after.origin.position, after.position
        touched = _touched(transition)
        if touched is None or touched & {"tags", "absorbed"}:
            gone, come = sides.difference(sides.tags(before), sides.tags(after))
            self._rows_of("tags", after, [(tag, key) for tag in gone], [((tag, key), ()) for tag, _ in come])
        if touched is not None and not touched & {"edges", "lifecycle"}:
            return
        for table, held in sides.EDGES:
            gone, come = sides.difference(held(before), held(after))
            ended = [sides.primary(table, key, other, what) for id, what in gone if (other := self._key(id, position))]
            begun = []
            for (id, what), values in come:
                other = self._key(id, position)
                if other is not None:
                    begun.append((sides.primary(table, key, other, what), values))
                elif table == "links":
                    self._dangle(key, what, cleaned(id), values[0])
            if table == "links":
                for id, what in gone:
                    self._dangling.pop((key, what, cleaned(id)), None)
            self._rows_of(table, after, ended, begun)
        if before is None:
            self._resolve(after)

    def _rows_of(self, table: str, state: MemoryState, ended: Iterable[Row], begun: Iterable[tuple[Row, Row]]) -> None:
        """Looks up the rows of one table that a commit ended, and those that it began."""
        present, past, end = self._sql[table]
        position = state.position
        for primary in ended:
            self._ended[table] += 1
            if self._tx.execute(end, (*primary, position)).fetchone() is None:
                self._say(f"{table}: {primary} of {state.id} should have ended at position {position}")
        for primary, values in begun:
            self._begun[table] += 1
            row = self._tx.execute(present, (*primary, position)).fetchone()
            if row is None:
                row = self._tx.execute(past, (*primary, position)).fetchone()
            if row is None:
                self._say(f"{table}: {primary} of {state.id} is missing from position {position} on")
            elif row != (*primary, *values):
                self._say(f"{table}: {row} of {state.id} differs from the log at position {position}")

    def _dangle(self, key: int, relation: str, target: str, began: int) -> None:
        self._dangling[key, relation, target] = began

    def _resolve(self, state: MemoryState) -> None:
        """Edges that waited for a memory begin with it."""
        id = cleaned(state.id)
        waiting = [(edge, began) for edge, began in self._dangling.items() if edge[2] == id]
        for (source, relation, _), began in waiting:
            del self._dangling[source, relation, id]
            self._rows_of("links", state, [], [((source, relation, state.origin.position), (began,))])

    def _key(self, id: str, position: int) -> int | None:
        """The key of a memory that had begun by the end of a commit."""
        found = self._side.execute("SELECT key FROM memories WHERE id = ?", (cleaned(id),)).fetchone()
        return None if found is None else int(found[0])

    # -- texts --------------------------------------------------------------------------------------

    def _text(self, transition: Transition) -> None:
        before, after, _ = transition
        change = text_change(before, after, _touched(transition), self._rows)
        if change is None:
            return
        if before is not None and text_change(None, before, None, self._rows) is not None:
            self._ended["texts"] += 1
            self._text_ended(after.origin.position, after)
        if not isinstance(change, texts.Text):
            return
        self._begun["texts"] += 1
        place, size = (change.key, change.position), texts.length_of(change.terms)
        row = self._tx.execute(
            "SELECT lane, audience, length, document FROM texts WHERE key = ? AND from_position = ?", place
        ).fetchone()
        lane = texts.LANES[change.lane]
        if row is None:
            lane = texts.PAST_LANE
            row = self._tx.execute(
                "SELECT lane, audience, length, document FROM past_texts WHERE key = ? AND from_position = ?", place
            ).fetchone()
        if row is None or row[:2] != (change.lane, change.audience):
            self._say(f"the text of {after.id} is not where it should be from position {after.position} on")
        elif self._one(f"SELECT terms FROM {lane} WHERE rowid = ?", (row[3],)) != change.terms:
            self._say(f"the text of {after.id} differs from the log at position {after.position}")
        elif row[2] != size or row[3] % 10 != texts.document_id(change.key, change.terms) % 10:
            self._say(f"the length of the text of {after.id} differs from the log at position {after.position}")
        if row is not None:
            self._indexed[lane] += sum(hash((row[3], n, term)) for n, term in enumerate(change.terms.split()))
        self._names(change, after)

    def _text_ended(self, key: int, state: MemoryState) -> None:
        """Looks whether a text ended with the commit that made a state, and its names with it."""
        ended = self._one(
            "SELECT from_position FROM past_texts WHERE key = ? AND to_position = ?", (key, state.position)
        )
        if ended is None:
            self._say(f"the text of {state.id} should have ended at position {state.position}")
        elif self._one(
            "SELECT 1 FROM names WHERE key = ? AND from_position = ? AND to_position IS NOT ? LIMIT 1",
            (key, ended, state.position),
        ):
            self._say(f"the names of {state.id} should have ended at position {state.position}")

    def _names(self, text: texts.Text, state: MemoryState) -> None:
        found = self._tx.execute(
            "SELECT phrase, term, size FROM names WHERE key = ? AND from_position = ?", (text.key, text.position)
        )
        expected = {(n, term, len(phrase)) for n, phrase in enumerate(text.names) for term in phrase}
        self._begun["names"] += len(expected)
        if set(found) != expected:
            self._say(f"the names of {state.id} differ from the log at position {state.position}")

    def _words(self) -> None:
        """Compares what each lane finds with what the log makes it find: every word, at its place, in its text.

        Of both only a sum is kept, so this tells that a lane is wrong, and not where.
        """
        for lane in (*texts.LANES, texts.PAST_LANE):
            if sum(map(hash, self._tx.execute(f"SELECT doc, offset, term FROM {lane}_places"))) != self._indexed[lane]:
                self._say(f"the index of {lane} does not find what the log says; rebuild() makes it anew")

    # -- the rest -----------------------------------------------------------------------------------

    def _narrow(self, table: str) -> None:
        columns = ", ".join(row[1] for row in self._side.execute(f"PRAGMA table_info({table})"))
        sql = f"SELECT {columns} FROM {table} ORDER BY {columns}"
        for is_, was in zip_longest(self._tx.execute(sql), self._side.execute(sql)):
            if is_ != was:
                self._say(f"{table}: {is_} is there, {was} is what the log makes")
                return

    def _same(self, table: str, is_: str, was: str) -> None:
        for one, other, how in ((is_, was, "holds"), (was, is_, "lacks")):
            row = self._tx.execute(f"SELECT * FROM ({one}) EXCEPT SELECT * FROM ({other}) LIMIT 1").fetchone()
            if row is not None:
                self._say(f"{table} {how} {row}, unlike the log")

    def _one(self, sql: str, parameters: Row = ()) -> Any:
        found = self._tx.execute(sql, parameters).fetchone()
        return None if found is None else found[0]

    def _say(self, problem: str) -> None:
        if len(self._problems) < _MOST:
            self._problems.append(problem)


def _touched(transition: Transition) -> frozenset[str] | None:
    """The groups that changed; None where all may have."""
    before, after, _ = transition
    if before is None or is_bare(before) != is_bare(after):
        return None
    return touched_groups(before, after)


def _lookups(name: str) -> tuple[str, str, str]:
    """SQL for one version of a row in the present, in the past, and for its end."""
    columns, primary = schema.TABLES[name]
    names = primary.split(", ")
    rest = [column for column, _ in columns if column not in names and column != "from_position"]
    listed = ", ".join((*names, *rest))
    where = " AND ".join(f"{column} = ?" for column in names)
    return (
        f"SELECT {listed} FROM {name} WHERE {where} AND from_position = ?",
        f"SELECT {listed} FROM past_{name} WHERE {where} AND from_position = ?",
        f"SELECT 1 FROM past_{name} WHERE {where} AND to_position = ?",
    )
