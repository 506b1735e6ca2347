"""Tells Hypothesis how to make the values of this library; it calls `register` when it is imported itself.

Nothing is built before somebody asks for a type: an import of Hypothesis pays for the modules of the classes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Final, TypeAlias, get_args

__all__ = ["register"]

_Resolver: TypeAlias = Callable[[Any], Any]

_VALUES: Final = {
    "Actor": "actors", "EvidenceRef": "evidence", "Lifetime": "lifetimes", "Link": "links",
    "PartialDate": "partial_dates", "Period": "periods", "Provenance": "provenances", "Validity": "validities",
    "Visibility": "visibilities",
}  # fmt: skip
_POLICIES: Final = ("ActorWeights", "Decay", "ImportancePolicy", "RecallPolicy", "RetentionPolicy", "ReviewPolicy")
_ANSWERS: Final = {
    "drafts": ("Draft",),
    "proposal": ("Proposal", "ProposedChange"),
    "receipts": ("ImportReport", "PossibleConflict", "Receipt"),
    "results.accounts": (
        "Accesses", "Basis", "BeliefChange", "Diff", "DiffRow", "Explanation", "GivenEvidence", "HistoryRow", "Read",
        "ReviewRow", "Stats", "Why",
    ),
    "results.graph": ("Edge", "Neighbour", "Path", "Subgraph"),
    "results.listings": ("Hit", "Hits", "Page", "Scores"),
    "results.memory": ("Flags", "Memory"),
}  # fmt: skip
_OTHERS: Final = {
    "approval": {"ApprovalPolicy": "approvals"},
    "decider": {"Context": "contexts"},
    "events": {"RecordedEvent": "recorded_events"},
    "kinds": {"KindRegistry": "kind_registries", "KindSpec": "kind_specs"},
    "policy": {"Limits": "limits", "Policy": "policies"},
    "ports": {
        "Appended": "stored_events", "AtomicStore": "stores", "Clock": "clocks", "ClockedStore": "stores",
        "Embedder": "embedders",
        "EraserStore": "stores", "EventStore": "stores", "IdSource": "id_sources", "NewEvent": "new_events",
        "Projection": "projections", "Recorded": "rows", "Redactor": "redactors", "SqlStore": "sql_stores",
        "StreamAppend": "appends",
    },
}  # fmt: skip


def register() -> None:
    """Makes `st.from_type` know every value, kind, rule, command, event and answer, and the ports."""
    from hypothesis import strategies as st

    for cls, resolver in (*_values(), *_rules(), *_happenings(), *_answers()):
        st.register_type_strategy(cls, resolver)


def _values() -> Iterator[tuple[type[Any], _Resolver]]:
    for name, strategy in _VALUES.items():
        yield _class("values", name), _made_by(strategy)
    for module, names in _OTHERS.items():
        for name, strategy in names.items():
            yield _class(module, name), _made_by(strategy)


def _rules() -> Iterator[tuple[type[Any], _Resolver]]:
    for spec in (*_class("kinds", "KINDS"), *_class("packs.outcomes", "OUTCOMES")):
        yield spec.attributes, _made_by("attributes", spec.attributes)
    for name in _POLICIES:
        cls = _class("policy", name)
        yield cls, _made_by("parts_of_policies", cls)


def _happenings() -> Iterator[tuple[type[Any], _Resolver]]:
    for command in _class("commands", "COMMANDS"):
        yield command, _made_by("command_of", command)
    for event in _class("events", "EVENTS"):
        yield event, _made_by("event_of", event)


def _answers() -> Iterator[tuple[type[Any], _Resolver]]:
    for module, names in _ANSWERS.items():
        for name in names:
            cls = _class(module, name)
            yield cls, _made_by("answer_of", cls)
    yield _class("results.memory", "Memory"), _memories


def _class(module: str, name: str) -> Any:
    return getattr(import_module(f"engram_core.{module}"), name)


def _made_by(strategy: str, *args: Any) -> _Resolver:
    return lambda _: _class("testing.strategies", strategy)(*args)


def _memories(asked: Any) -> Any:
    """Memories of any kind, or of the one in `Memory[Person]`."""
    root = _class("kinds", "Attributes")
    kinds = [arg for arg in get_args(asked) if isinstance(arg, type) and issubclass(arg, root) and arg is not root]
    return _class("testing.strategies", "memories")(*kinds)
