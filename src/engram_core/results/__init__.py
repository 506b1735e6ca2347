"""What reads answer: frozen values that hold what one viewer may know."""

from __future__ import annotations

from engram_core.results.accounts import (
    Accesses,
    Basis,
    BeliefChange,
    Diff,
    DiffRow,
    Explanation,
    GivenEvidence,
    HistoryRow,
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
