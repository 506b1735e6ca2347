"""One reading of the space by one viewer: what he may see, as SQL, and nowhere else.

Every statement of a read is written over tables named memories, links, tags, supersessions, settled and accesses. In
the present these are the tables; in a past view, common table expressions of the same names stand in front, and hold
what was so at the known position.

Such an expression is a UNION ALL of present and past rows. SQLite looks rows up in both by index as long as the query
around it neither aggregates nor joins it from the left: what is counted is therefore first selected in a subquery,
which LIMIT -1 keeps apart.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from attrs import frozen

from engram_core.audience import sees_all
from engram_core.events import RecordedEvent
from engram_core.kinds import KindRegistry
from engram_core.policy import Limits, Policy
from engram_core.projections.schema import MEMORY_COLUMNS, as_of_tables
from engram_core.results.memory import Lens
from engram_core.values import Actor, to_micros

if TYPE_CHECKING:
    from engram_core.projections.encoding import Encoding

__all__ = ["Fragments", "History", "Library", "Point", "Snapshot", "can_exist", "fragments", "position"]

_LIVE: Final = "('active', 'archived')"
_COLUMNS: Final = ", ".join(f"m.{name}" for name, _ in MEMORY_COLUMNS)


class History(Protocol):
    """What a read asks of the log: `engram_core.log.Log` is one."""

    def stream(self, stream: str, *, after: int = 0, upto: int | None = None) -> tuple[RecordedEvent, ...]:
        """The events of one stream, in order."""
        ...

    def position_at(self, instant: datetime) -> int:
        """The last position recorded at or before an instant."""
        ...

    def head(self) -> int:
        """The last position."""
        ...


@frozen(kw_only=True)
class Library:
    """What all views of a space share.

    Attributes:
        reading: Gives a connection to the read model, in one snapshot until the block ends.
        log: The log beneath it.
        kinds, policy, limits: The rules of the space.
        encoding: The vectors of the space, where the application brought a model.
    """

    reading: Callable[[], AbstractContextManager[sqlite3.Connection]]
    log: History
    kinds: KindRegistry
    policy: Policy
    limits: Limits
    encoding: Encoding | None = None


class Point(NamedTuple):
    """Who looks, and from where in time.

    Attributes:
        actor: The viewer.
        now: Aware instant for which status and figures are derived.
        known: Position up to which the log is known; None: its head.
        valid_at: Aware instant at which what is read must be true; None: whenever.
    """

    actor: Actor
    now: datetime
    known: int | None = None
    valid_at: datetime | None = None


class Fragments:
    """The SQL that every read is built from, for one sort of viewer, in the present or the past.

    Parameters are `:viewer`, `:now`, `:valid` and, in the past, `:known`.
    """

    def __init__(self, *, all_seen: bool, is_user: bool, is_past: bool, is_timed: bool) -> None:
        self._all_seen = all_seen
        self._is_past = is_past
        self._is_timed = is_timed
        self._is_user = is_user
        self.prelude = f"WITH {_inlined(as_of_tables())} " if is_past else ""
        row = f"SELECT {_COLUMNS}, {self.status('m')}, {self._edges()} FROM"
        self.row_by_id = f"{self.prelude}{row} memories m WHERE m.id = :id AND {self.shown('m')}"
        self.rows_by_keys = f"{row} json_each(:keys) j CROSS JOIN memories m ON m.key = j.value WHERE {self.shown('m')}"

    def audience(self, alias: str) -> str:
        """The viewer may see this row: the one rule of `engram_core.audience`, as SQL."""
        if self._all_seen:
            return "1"
        return (
            f"({alias}.lane = 0 OR ({alias}.lane = 2"
            f" AND EXISTS (SELECT 1 FROM json_each({alias}.audience) WHERE value = :viewer)))"
        )

    def readable(self, alias: str) -> str:
        """He may see it at the known position, and now."""
        if not self._is_past:
            return self.audience(alias)
        return (
            f"({self.audience(alias)} AND EXISTS (SELECT 1 FROM main.memories p"
            f" WHERE p.key = {alias}.key AND {self.still('p')}))"
        )

    def traced(self, alias: str) -> str:
        """As `readable`, and also what was gone already at the known position: what pointed to it still tells so."""
        if not self._is_past:
            return self.audience(alias)
        return (
            f"({self.audience(alias)} AND EXISTS (SELECT 1 FROM main.memories p WHERE p.key = {alias}.key"
            f" AND ({self.still('p')} OR ({alias}.stored NOT IN {_LIVE} AND {self.audience('p')}))))"
        )

    def still(self, alias: str) -> str:
        """Of a present row: past views show it; to users also what was deleted since, and erased ones to nobody."""
        stored = f"{alias}.stored <> 'erased'" if self._is_user else f"{alias}.stored IN {_LIVE}"
        return f"({stored} AND {self.audience(alias)})"

    def shown(self, alias: str) -> str:
        """It is there for him: neither gone, nor hidden, nor (where a valid time is set) untrue then."""
        shown = f"{alias}.stored IN {_LIVE} AND {self.readable(alias)}"
        if self._is_timed:
            shown += (
                f" AND ({alias}.valid_from IS NULL OR {alias}.valid_from <= :valid)"
                f" AND ({alias}.valid_to IS NULL OR :valid < {alias}.valid_to)"
            )
        return f"({shown})"

    def superseded(self, alias: str) -> str:
        """Some memory that he may see has taken its place."""
        return (
            f"({alias}.superseded = 1 AND EXISTS (SELECT 1 FROM supersessions s JOIN memories n ON n.key = s.new"
            f" WHERE s.old = {alias}.key AND s.effective_at <= :valid"
            f" AND n.stored IN {_LIVE} AND {self.readable('n')}))"
        )

    def status(self, alias: str) -> str:
        """Its status, as `engram_core.lifecycle.status` derives it."""
        return (
            f"CASE WHEN {alias}.stored <> 'active' THEN {alias}.stored"
            f" WHEN {self.superseded(alias)} THEN 'superseded'"
            f" WHEN {alias}.expires_at <= :now THEN 'expired'"
            f" WHEN {alias}.stale_at <= :now THEN 'stale' ELSE 'active' END"
        )

    def recallable(self, alias: str) -> str:
        """It is shown, and active or stale."""
        return (
            f"({self.shown(alias)} AND {alias}.stored = 'active'"
            f" AND ({alias}.expires_at IS NULL OR {alias}.expires_at > :now) AND NOT {self.superseded(alias)})"
        )

    def _edges(self) -> str:
        """The columns of `EXTRA_COLUMNS` beside the status; users also get edges that dangle, marked by "!"."""
        if self._all_seen:
            target, mark = "1", f"iif({self.shown('n')}, '', '!')"
        else:
            target, mark = self.shown("n"), "''"
        return (
            f"(SELECT json_group_array(edge) FROM (SELECT {mark} || l.relation || ' ' || n.id AS edge FROM links l"
            f" JOIN memories n ON n.key = l.target WHERE l.source = m.key AND {target} LIMIT -1)),"
            " (SELECT count(*) FROM (SELECT 1 FROM links l JOIN memories n ON n.key = l.source"
            f" WHERE l.target = m.key AND {self.shown('n')} LIMIT :counted)),"
            " (EXISTS (SELECT 1 FROM links l WHERE l.source = m.key AND l.relation = 'contradicts')"
            " OR EXISTS (SELECT 1 FROM links l WHERE l.target = m.key AND l.relation = 'contradicts')),"
            " EXISTS (SELECT 1 FROM links l WHERE l.source = m.key AND l.relation = 'derived_from')"
        )


def _inlined(tables: str) -> str:
    """Without this SQLite copies a table that is named twice, instead of looking rows up in it."""
    return tables.replace(" AS (SELECT ", " AS NOT MATERIALIZED (SELECT ")


@cache
def fragments(*, all_seen: bool, is_user: bool, is_past: bool, is_timed: bool) -> Fragments:
    """The fragments for one sort of viewer; there are few, and they never change."""
    return Fragments(all_seen=all_seen, is_user=is_user, is_past=is_past, is_timed=is_timed)


class Snapshot:
    """One reading: a connection, a viewer, and the fragments that keep him to what he may see."""

    __slots__ = ("connection", "lens", "library", "parameters", "point", "sql")

    def __init__(self, connection: sqlite3.Connection, library: Library, point: Point) -> None:
        actor = point.actor
        self.connection = connection
        self.library = library
        self.point = point
        known = point.known
        if known is not None and known >= position(connection):
            known = None
        self.sql = fragments(
            all_seen=sees_all(actor),
            is_user=actor.is_user,
            is_past=known is not None,
            is_timed=point.valid_at is not None,
        )
        now = to_micros(point.now)
        self.parameters: dict[str, Any] = {
            "viewer": str(actor),
            "now": now,
            "valid": now if point.valid_at is None else to_micros(point.valid_at),
            "known": known,
            "counted": library.policy.importance.max_links,
        }
        self.lens = Lens(library.kinds, library.policy, point.now, now)

    @property
    def sees_all(self) -> bool:
        """True when nothing that lives in the space is hidden from the viewer."""
        return sees_all(self.point.actor)

    @property
    def known(self) -> int:
        """The last position that this reading knows."""
        known = self.parameters["known"]
        return position(self.connection) if known is None else known

    def all(self, sql: str, more: Mapping[str, Any] | None = None) -> list[Any]:
        """All rows of a query over the tables as they are known here."""
        parameters = {**self.parameters, **more} if more else self.parameters
        return self.connection.execute(self.sql.prelude + sql, parameters).fetchall()

    def one(self, sql: str, more: Mapping[str, Any] | None = None) -> Any:
        """The first row of such a query, or None."""
        parameters = {**self.parameters, **more} if more else self.parameters
        return self.connection.execute(self.sql.prelude + sql, parameters).fetchone()

    def key(self, id: str) -> int | None:
        """The key of a memory that is shown to the viewer."""
        if not can_exist(id):
            return None
        found = self.one(f"SELECT m.key FROM memories m WHERE m.id = :id AND {self.sql.shown('m')}", {"id": id})
        return None if found is None else found[0]

    def ids(self, keys: Iterable[int]) -> dict[int, str]:
        """The ids of keys that were found through the viewer's eyes."""
        listed = json.dumps(list(keys))
        rows = self.all(
            "SELECT m.key, m.id FROM json_each(:keys) j CROSS JOIN memories m ON m.key = j.value",
            {"keys": listed},
        )
        return dict(rows)


def position(connection: sqlite3.Connection) -> int:
    """How far the read model has come."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'position'").fetchone()
    return int(found[0]) if found else 0


def can_exist(id: str) -> bool:
    """False for text that no store holds, and no driver takes."""
    try:
        id.encode()
    except UnicodeEncodeError:
        return False
    return True
