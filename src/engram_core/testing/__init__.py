"""What those need who test a store, a projection, rules, or something built on them.

Hypothesis is needed by the two machines, by the `check_…` suites and by `engram_core.testing.strategies`; install the
extra `testing` for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram_core.testing.building import appending, new_event, whole_log
    from engram_core.testing.clocks import FrozenClock, SequentialIds
    from engram_core.testing.contracts import EventStoreContract, ProjectionContract
    from engram_core.testing.embedding import FakeEmbedder
    from engram_core.testing.good import STORES
    from engram_core.testing.history import History, problems_of
    from engram_core.testing.logs import encoded, memory_created, store_of
    from engram_core.testing.machine import event_store_machine
    from engram_core.testing.report import certify, certify_projection
    from engram_core.testing.scenario import Happened, Outcome, Scenario, happened, recorded_event
    from engram_core.testing.spaces import memory_space_machine
    from engram_core.testing.suites import (
        check_codec,
        check_decided_events_fold,
        check_decider,
        check_determinism,
        check_folds_split,
        check_no_wall_clock,
    )
    from engram_core.testing.vectors import VECTORS, certify_vectors, check_vector
    from engram_core.testing.zoo import BROKEN_PROJECTIONS, BROKEN_STORES, PROJECTIONS

__all__ = [
    "BROKEN_PROJECTIONS",
    "BROKEN_STORES",
    "PROJECTIONS",
    "STORES",
    "VECTORS",
    "EventStoreContract",
    "FakeEmbedder",
    "FrozenClock",
    "Happened",
    "History",
    "Outcome",
    "ProjectionContract",
    "Scenario",
    "SequentialIds",
    "appending",
    "certify",
    "certify_projection",
    "certify_vectors",
    "check_codec",
    "check_decided_events_fold",
    "check_decider",
    "check_determinism",
    "check_folds_split",
    "check_no_wall_clock",
    "check_vector",
    "encoded",
    "event_store_machine",
    "happened",
    "memory_created",
    "memory_space_machine",
    "new_event",
    "problems_of",
    "recorded_event",
    "store_of",
    "whole_log",
]

_HOMES = {
    "BROKEN_PROJECTIONS": "zoo",
    "BROKEN_STORES": "zoo",
    "PROJECTIONS": "zoo",
    "STORES": "good",
    "VECTORS": "vectors",
    "EventStoreContract": "contracts",
    "FakeEmbedder": "embedding",
    "FrozenClock": "clocks",
    "Happened": "scenario",
    "History": "history",
    "Outcome": "scenario",
    "ProjectionContract": "contracts",
    "Scenario": "scenario",
    "SequentialIds": "clocks",
    "appending": "building",
    "certify": "report",
    "certify_projection": "report",
    "certify_vectors": "vectors",
    "check_codec": "suites",
    "check_decided_events_fold": "suites",
    "check_decider": "suites",
    "check_determinism": "suites",
    "check_folds_split": "suites",
    "check_no_wall_clock": "suites",
    "check_vector": "vectors",
    "encoded": "logs",
    "event_store_machine": "machine",
    "happened": "scenario",
    "memory_created": "logs",
    "memory_space_machine": "spaces",
    "new_event": "building",
    "problems_of": "history",
    "recorded_event": "scenario",
    "store_of": "logs",
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
