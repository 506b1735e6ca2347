"""Broken stores, each with one fault that the contract must find: they show what an obligation means."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from engram_core.testing.zoo._appends import APPENDS
from engram_core.testing.zoo._reads import READS
from engram_core.testing.zoo._records import RECORDS
from engram_core.testing.zoo._wholes import WHOLES
from engram_core.testing.zoo.base import BrokenStore

__all__ = ["APPENDS", "BROKEN_STORES", "READS", "RECORDS", "WHOLES", "BrokenStore"]

BROKEN_STORES: Mapping[str, BrokenStore] = MappingProxyType({**APPENDS, **RECORDS, **READS, **WHOLES})
"""All broken stores, by name."""
