"""How the reads of a view are answered from the tables of the read model."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram_core.reads import asking, changes, figures, graph, listing, memories, past, proposals, queue, reasons

__all__ = ["asking", "changes", "figures", "graph", "listing", "memories", "past", "proposals", "queue", "reasons"]


def __getattr__(name: str) -> ModuleType:
    """Imports a part when it is first asked for: who only writes pays for none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
