"""Hypothesis strategies for every public value, kind, command, event and history.

After installation `st.from_type(Person)`, `st.from_type(Actor)` and the like work of themselves.
"""

from __future__ import annotations

from engram_core.testing.strategies.happenings import (
    command_of,
    commands,
    contexts,
    event_of,
    events,
    groups,
    histories,
)
from engram_core.testing.strategies.values import (
    actors,
    attributes,
    days,
    evidence,
    instants,
    lifetimes,
    links,
    memory_ids,
    partial_dates,
    periods,
    provenances,
    raw_attributes,
    tags,
    texts,
    validities,
    visibilities,
)

__all__ = [
    "actors",
    "attributes",
    "command_of",
    "commands",
    "contexts",
    "days",
    "event_of",
    "events",
    "evidence",
    "groups",
    "histories",
    "instants",
    "lifetimes",
    "links",
    "memory_ids",
    "partial_dates",
    "periods",
    "provenances",
    "raw_attributes",
    "tags",
    "texts",
    "validities",
    "visibilities",
]
