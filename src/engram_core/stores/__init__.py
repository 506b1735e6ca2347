"""The logs that come with the library: one in memory, one in a SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram_core.stores.in_memory import InMemoryStore
    from engram_core.stores.sqlite import SqliteStore

__all__ = ["InMemoryStore", "SqliteStore"]


def __getattr__(name: str) -> object:
    """Imports a store when it is first asked for, so that sqlite3 is loaded by those who use it."""
    if name == "InMemoryStore":
        from engram_core.stores.in_memory import InMemoryStore

        return InMemoryStore
    if name == "SqliteStore":
        from engram_core.stores.sqlite import SqliteStore

        return SqliteStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
