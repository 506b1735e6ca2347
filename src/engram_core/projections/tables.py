"""All tables of the read model together: creating them, dropping them, and putting a shadow in their place."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable
from typing import Any, Final

from engram_core.kinds import KindRegistry
from engram_core.projections import schema, texts, views

__all__ = [
    "Statements",
    "create_indexes",
    "create_tables",
    "drop_leftovers",
    "drop_tables",
    "is_there",
    "new_prefix",
    "read_meta",
    "swap",
]

_SHADOW: Final = "rebuild_"
_KEPT: Final = "scores"

Statements = Iterable[str]


def new_prefix() -> str:
    """A prefix for the tables of a shadow, never used before; its indexes keep it for good."""
    return f"{_SHADOW}{secrets.token_hex(4)}_"


def create_tables(tx: sqlite3.Connection, prefix: str = "") -> None:
    """Creates every table, without the indexes that a bulk fill is better off without."""
    _run(tx, (*schema.table_statements(prefix), *texts.create_statements(prefix)))


def create_indexes(kinds: KindRegistry, prefix: str = "") -> list[str]:
    """The statements that create the other indexes, so that each can have a transaction of its own."""
    return [*schema.index_statements(prefix), *views.index_statements(kinds, prefix)]


def drop_tables(tx: sqlite3.Connection) -> None:
    """Drops every table and view of ours that is there."""
    _drop_views(tx)
    _run(tx, (*texts.drop_statements(), *schema.drop_statements()))


def drop_leftovers(tx: sqlite3.Connection) -> bool:
    """Drops what rebuilds have left behind, of running ones too; they begin again. True if there was any."""
    prefixes = {
        name[: len(_SHADOW) + 9]
        for (name,) in tx.execute(
            "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name GLOB ?", (f"{_SHADOW}*",)
        )
    }
    for prefix in sorted(prefixes):
        for each in (prefix, f"{prefix}old_"):
            _run(tx, (*texts.drop_statements(each), *schema.drop_statements(each)))
    return bool(prefixes)


def is_there(tx: sqlite3.Connection, table: str) -> bool:
    """True when there is a table of this name."""
    found = tx.execute("SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    return found is not None


def read_meta(tx: sqlite3.Connection) -> dict[str, Any]:
    """What the tables say of themselves; a position of 0 and nothing else if there are none."""
    there = is_there(tx, "meta")
    return {"position": 0, **dict(tx.execute("SELECT name, value FROM meta") if there else ())}


def swap(tx: sqlite3.Connection, prefix: str, kinds: KindRegistry) -> None:
    """Puts the tables of a shadow in the place of the present ones, which get the shadow's prefix and "old_".

    Scores are taken along: they are no part of the log, and as good as before.
    """
    (legacy,) = tx.execute("PRAGMA legacy_alter_table").fetchone()
    tx.execute("PRAGMA legacy_alter_table=ON")  # else a view of the application on our tables forbids the renaming
    try:
        _drop_views(tx)
        if is_there(tx, "memories"):
            if is_there(tx, _KEPT):
                tx.execute(f"INSERT INTO {prefix}{_KEPT} SELECT * FROM {_KEPT} WHERE true ON CONFLICT DO NOTHING")
            _rename(tx, "", f"{prefix}old_")
        _rename(tx, prefix, "")
        _run(tx, (s for s in texts.create_statements() if " USING fts5vocab(" in s))
        _run(tx, views.create_statements(kinds))
    finally:
        tx.execute(f"PRAGMA legacy_alter_table={legacy}")


def _rename(tx: sqlite3.Connection, old: str, new: str) -> None:
    """Gives every table that bears one prefix another. Tables that show a full-text index name it, and are dropped."""
    own = [s.split()[-1] for s in (*texts.drop_statements(), *schema.drop_statements())]
    for name in own:
        found = tx.execute("SELECT sql FROM main.sqlite_master WHERE name = ?", (old + name,)).fetchone()
        if found is None:
            continue
        if " USING fts5vocab(" in found[0]:
            tx.execute(f"DROP TABLE {old}{name}")
        else:
            tx.execute(f"ALTER TABLE {old}{name} RENAME TO {new}{name}")


def _drop_views(tx: sqlite3.Connection) -> None:
    for (name,) in tx.execute(
        "SELECT name FROM main.sqlite_master WHERE type = 'view' AND name GLOB 'view_*'"
    ).fetchall():
        tx.execute(f'DROP VIEW "{name}"')


def _run(tx: sqlite3.Connection, statements: Statements) -> None:
    for statement in statements:
        tx.execute(statement)
