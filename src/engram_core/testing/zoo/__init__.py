"""Broken stores and projections, each with one fault that the contract must find: they show what it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from engram_core.testing.zoo._appends import APPENDS
from engram_core.testing.zoo._effects import EFFECTS
from engram_core.testing.zoo._handles import HANDLES
from engram_core.testing.zoo._reads import READS
from engram_core.testing.zoo._records import RECORDS
from engram_core.testing.zoo._traces import TRACES
from engram_core.testing.zoo._wholes import WHOLES
from engram_core.testing.zoo.base import BrokenProjection, BrokenStore
from engram_core.testing.zoo.ledgers import PROJECTIONS

__all__ = [
    "APPENDS",
    "BROKEN_PROJECTIONS",
    "BROKEN_STORES",
    "EFFECTS",
    "HANDLES",
    "PROJECTIONS",
    "READS",
    "RECORDS",
    "TRACES",
    "WHOLES",
    "BrokenProjection",
    "BrokenStore",
]

BROKEN_STORES: Mapping[str, BrokenStore] = MappingProxyType({**APPENDS, **RECORDS, **READS, **WHOLES, **HANDLES})
"""All broken stores, by name."""

BROKEN_PROJECTIONS: Mapping[str, BrokenProjection] = MappingProxyType({**EFFECTS, **TRACES})
"""All broken projections, by name."""
