"""What those need who test a store, or something built on one.

Hypothesis is needed by `event_store_machine` alone; install the extra `testing` for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram_core.testing.building import appending, new_event, whole_log
    from engram_core.testing.clocks import FrozenClock, SequentialIds
    from engram_core.testing.contracts import EventStoreContract
    from engram_core.testing.good import STORES
    from engram_core.testing.history import History, problems_of
    from engram_core.testing.machine import event_store_machine
    from engram_core.testing.report import certify
    from engram_core.testing.zoo import BROKEN_STORES

__all__ = [
    "BROKEN_STORES",
    "STORES",
    "EventStoreContract",
    "FrozenClock",
    "History",
    "SequentialIds",
    "appending",
    "certify",
    "event_store_machine",
    "new_event",
    "problems_of",
    "whole_log",
]

_HOMES = {
    "BROKEN_STORES": "zoo",
    "STORES": "good",
    "EventStoreContract": "contracts",
    "FrozenClock": "clocks",
    "History": "history",
    "SequentialIds": "clocks",
    "appending": "building",
    "certify": "report",
    "event_store_machine": "machine",
    "new_event": "building",
    "problems_of": "history",
    "whole_log": "building",
}


def __getattr__(name: str) -> object:
    """Imports what is asked for, and no more."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        home = import_module(f"{__name__}.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "hypothesis":
            raise
        raise ImportError(f"{name} needs Hypothesis: pip install 'engram-core-memory[testing]'") from error
    return getattr(home, name)
