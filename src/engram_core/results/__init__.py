"""What reads answer: frozen values that hold what one viewer may know."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engram_core.results.accounts import (
        Accesses,
        Basis,
        BeliefChange,
        Diff,
        DiffRow,
        Explanation,
        GivenEvidence,
        HistoryRow,
        IllShape,
        Read,
        ReviewRow,
        Stats,
        Why,
    )
    from engram_core.results.graph import Direction, Edge, Neighbour, Path, Subgraph
    from engram_core.results.listings import Hit, Hits, Page, Scores
    from engram_core.results.memory import Flags, Memory

__all__ = [
    "Accesses",
    "Basis",
    "BeliefChange",
    "Diff",
    "DiffRow",
    "Direction",
    "Edge",
    "Explanation",
    "Flags",
    "GivenEvidence",
    "HistoryRow",
    "Hit",
    "Hits",
    "IllShape",
    "Memory",
    "Neighbour",
    "Page",
    "Path",
    "Read",
    "ReviewRow",
    "Scores",
    "Stats",
    "Subgraph",
    "Why",
]

_HOMES = {
    "accounts": (
        "Accesses Basis BeliefChange Diff DiffRow Explanation GivenEvidence HistoryRow IllShape Read ReviewRow Stats "
        "Why"
    ),
    "graph": "Direction Edge Neighbour Path Subgraph",
    "listings": "Hit Hits Page Scores",
    "memory": "Flags Memory",
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Imports a result when it is first asked for: who only writes pays for none."""
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
