"""The stores that come with the library, as factories for tests."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from engram_core.ports import EventStore
from engram_core.stores.in_memory import InMemoryStore
from engram_core.stores.sqlite import SqliteStore

__all__ = ["STORES"]


def _sqlite() -> SqliteStore:
    """A store in a directory of its own, which goes when the store does."""
    directory = tempfile.mkdtemp(prefix="engram-")
    store = SqliteStore(Path(directory) / "log.db")
    weakref.finalize(store, _remove, directory, os.getpid())
    return store


def _remove(directory: str, owner: int) -> None:
    """Removes a directory, but not from a child of the process that uses it."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


STORES: Mapping[str, Callable[[], EventStore]] = MappingProxyType({"in_memory": InMemoryStore, "sqlite": _sqlite})
"""A factory for each store of the library: every call gives a new, empty one."""
