"""The one read model: tables that follow the log, in the same transaction where the store allows it."""

from __future__ import annotations

__all__: list[str] = []
