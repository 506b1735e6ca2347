"""A database in which one projection is tried: beside tables of others, with an eye on all that it does.

Effects and checkpoint are committed together, as the library does it; a crash in between is a rollback.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from engram_core.events import RecordedEvent
from engram_core.ports import Projection
from engram_core.projections.host import prepare_connection
from engram_core.testing.watching import watching

__all__ = ["Contents", "Ground", "own_tables", "rows_of"]

Contents: TypeAlias = dict[str, list[Any]]
"""Rows by table, in an order of their own."""

_NEIGHBOURS: Final = (
    "CREATE TABLE memories (key INTEGER PRIMARY KEY, id TEXT NOT NULL)",
    "CREATE TABLE projection_checkpoints (name TEXT PRIMARY KEY, position INTEGER NOT NULL)",
    "INSERT INTO memories VALUES (1, 'a neighbour')",
    "INSERT INTO projection_checkpoints VALUES ('a neighbour', 7)",
)
_DATES: Final = ("date", "time", "datetime", "julianday", "unixepoch")
_TOUCHING: Final = {
    sqlite3.SQLITE_READ: "reads",
    sqlite3.SQLITE_INSERT: "writes to",
    sqlite3.SQLITE_UPDATE: "writes to",
    sqlite3.SQLITE_DELETE: "deletes from",
    sqlite3.SQLITE_DROP_TABLE: "drops",
}


class Ground:
    """One database with one projection.

    Args:
        make_projection: Gives the projection, anew for each process that is played.

    Attributes:
        tx: The connection.
        projection: The one at work.
        trespasses: Where it went that is not its own, in words.
        glances: What it looked at besides its events, in words.
    """

    def __init__(self, make_projection: Callable[[], Projection]) -> None:
        self._make = make_projection
        self.projection = make_projection()
        self.trespasses: list[str] = []
        self.glances: list[str] = []
        self._inside = False
        self._plain = sqlite3.connect(":memory:")
        # A statement that was prepared before would not be looked at again.
        self.tx = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
        prepare_connection(self.tx)
        for statement in _NEIGHBOURS:
            self.tx.execute(statement)
        self._foreign = set(own_tables(self.tx))
        self.neighbours = self._neighbours()
        self._guard()

    def close(self) -> None:
        """Closes the database."""
        self.tx.close()
        self._plain.close()

    # -- what happens to a projection

    def setup(self) -> Ground:
        """Has it create its tables."""
        with self._transaction():
            self._do(lambda: self.projection.setup(self.tx))
        return self

    def teardown(self) -> None:
        """Has it drop them."""
        with self._transaction():
            self._do(lambda: self.projection.teardown(self.tx))

    def take(self, events: Sequence[RecordedEvent]) -> None:
        """Has it take in events, and commits."""
        with self._transaction():
            self._do(lambda: self.projection.apply(self.tx, events))

    def take_all(self, commits: Iterable[Sequence[RecordedEvent]], *, page: int = 1) -> Ground:
        """Has it take in commits, so many at a time."""
        waiting: list[RecordedEvent] = []
        for number, commit in enumerate(commits, 1):
            waiting += commit
            if number % page == 0:
                self.take(tuple(waiting))
                waiting = []
        if waiting:
            self.take(tuple(waiting))
        return self

    def crash(self, events: Sequence[RecordedEvent]) -> None:
        """Has it take in events, and goes down before the commit."""
        self.tx.execute("BEGIN")
        self._do(lambda: self.projection.apply(self.tx, events))
        if self.tx.in_transaction:
            self.tx.execute("ROLLBACK")

    def restart(self) -> None:
        """Goes on with a new instance, as another process would."""
        self.projection = self._make()

    def rebuild(self, events: Sequence[RecordedEvent]) -> None:
        """Drops its tables and has it make them again from these events, in one transaction."""
        with self._transaction():
            self._do(lambda: self.projection.teardown(self.tx))
            self._do(lambda: self.projection.setup(self.tx))
            self._do(lambda: self.projection.apply(self.tx, events))

    # -- what is there

    def contents(self) -> Contents:
        """The rows of its tables."""
        return rows_of(self.tx, self.tables())

    def tables(self) -> list[str]:
        """The names of its tables."""
        return [name for name in own_tables(self.tx) if name not in self._foreign]

    def schema(self) -> list[Any]:
        """All that the database consists of."""
        return self.tx.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()

    def holds(self, word: str) -> list[str]:
        """Its tables, hidden ones of full-text indexes included, that hold a word anywhere."""
        shadows = own_tables(self.tx, kinds=("table", "virtual", "shadow"))
        return [
            name
            for name in shadows
            if name not in self._foreign
            and any(_mentions(value, word) for row in self.tx.execute(f'SELECT * FROM "{name}"') for value in row)
        ]

    def _neighbours(self) -> Contents:
        return rows_of(self.tx, sorted(self._foreign))

    def check_neighbours(self) -> None:
        """Notes it when tables of others are no longer what they were."""
        if self._neighbours() != self.neighbours:
            self.trespasses.append("tables of others have changed")

    # -- the eye

    @contextmanager
    def _transaction(self) -> Any:
        self.tx.execute("BEGIN")
        try:
            yield
        except BaseException:
            if self.tx.in_transaction:
                self.tx.execute("ROLLBACK")
            raise
        if self.tx.in_transaction:
            self.tx.execute("COMMIT")

    def _do(self, step: Callable[[], None]) -> None:
        self._inside = True
        try:
            with watching() as seen:
                step()
        finally:
            self._inside = False
        self.glances += seen

    def _guard(self) -> None:
        self.tx.set_authorizer(self._authorize)
        for name in (*_DATES, "strftime"):
            self.tx.create_function(name, -1, self._dated(name), deterministic=True)
        for name in ("current_date", "current_time", "current_timestamp"):
            self.tx.create_function(name, 0, self._dated(name), deterministic=True)
        self.tx.create_function("random", 0, self._lot("random", lambda: 4))
        self.tx.create_function("randomblob", 1, self._lot("randomblob", bytes))

    def _authorize(self, action: int, first: str | None, second: str | None, database: Any, trigger: Any) -> int:
        if self._inside:
            if action in _TOUCHING and first in self._foreign:
                _note(self.trespasses, f"it {_TOUCHING[action]} the table {first}, which is another's")
            elif action == sqlite3.SQLITE_TRANSACTION:
                _note(self.trespasses, f"it says {first}, and the transaction is not its own")
            elif action == sqlite3.SQLITE_ATTACH:
                _note(self.trespasses, "it attaches another database")
        return sqlite3.SQLITE_OK

    def _dated(self, name: str) -> Callable[..., Any]:
        def called(*given: Any) -> Any:
            instants = given[1:] if name == "strftime" else given
            if not instants or any(isinstance(one, str) and one.strip().lower() == "now" for one in instants):
                _note(self.glances, f"its SQL asks {name}() for the present")
                instants = ("2000-01-01", *instants[1:])
            if name.startswith("current_"):
                return "2000-01-01"
            given = (given[0], *instants) if name == "strftime" else instants
            (found,) = self._plain.execute(f"SELECT {name}({', '.join('?' * len(given))})", given).fetchone()
            return found

        return called

    def _lot(self, name: str, value: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any) -> Any:
            _note(self.glances, f"its SQL calls {name}()")
            return value(*given)

        return called


def _note(notes: list[str], note: str) -> None:
    if note not in notes:
        notes.append(note)


def own_tables(tx: sqlite3.Connection, *, kinds: Sequence[str] = ("table", "virtual")) -> list[str]:
    """The tables of a database, but for those of SQLite itself."""
    rows = tx.execute("PRAGMA table_list").fetchall()
    return sorted(row[1] for row in rows if row[0] == "main" and row[2] in kinds and not row[1].startswith("sqlite_"))


def rows_of(tx: sqlite3.Connection, tables: Iterable[str]) -> Contents:
    """The rows of tables, each in an order of its own."""
    return {name: sorted(tx.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr) for name in tables}


def _mentions(value: Any, word: str) -> bool:
    if isinstance(value, bytes):
        return word.encode().lower() in value.lower()
    return word.casefold() in str(value).casefold()
