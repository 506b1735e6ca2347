"""Kinds beyond the twelve, each pack a few classes and their registration; nothing of the core knows them."""

from __future__ import annotations

__all__ = ["outcomes"]

from engram_core.packs import outcomes
