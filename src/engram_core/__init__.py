"""A long-term memory for people and their assistants: typed, event-sourced, explainable, and theirs to erase.

    from engram_core import Fact, MemorySpace, user

    with MemorySpace.in_memory() as space:
        ann = space.session(user("ann"))
        ann.remember(Fact("Oslo is the capital of Norway"))
        print(ann.recall("capital of Norway"))

Topic modules for those who test rules: `engram_core.commands`, `engram_core.events`, `engram_core.memory`; filters of
`find`: `engram_core.filters`; a kit for stores and rules: `engram_core.testing`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engram_core.aio import AsyncMemorySpace
    from engram_core.approval import ApprovalPolicy
    from engram_core.dates import when
    from engram_core.drafts import Draft
    from engram_core.errors import (
        ConcurrencyError,
        ConflictError,
        EngramError,
        ForbiddenError,
        HistoryError,
        IllegalTransitionError,
        InvalidAttributesError,
        NotFoundError,
        ProjectionError,
        RejectedError,
        StoreBusy,
        StoreCorrupt,
        StoreError,
        StoreFull,
        StoreReadOnly,
    )
    from engram_core.kinds import (
        KINDS,
        Asset,
        Contact,
        Episode,
        Fact,
        Goal,
        KindRegistry,
        KindSpec,
        Location,
        Organization,
        Person,
        Preference,
        Project,
        Relationship,
        Skill,
    )
    from engram_core.maintenance import Maintenance
    from engram_core.policy import Limits, Policy
    from engram_core.ports import Clock, Embedder, EventStore, IdSource, Projection, Redactor
    from engram_core.projections.running import following
    from engram_core.proposal import Proposal
    from engram_core.receipts import Receipt
    from engram_core.results import Hit, Hits, Memory, Page
    from engram_core.session import Session
    from engram_core.space import MemorySpace
    from engram_core.values import (
        Actor,
        EvidenceRef,
        PartialDate,
        Period,
        Validity,
        assistant,
        ephemeral,
        importer,
        permanent,
        plugin,
        private,
        restricted,
        shared,
        standard,
        system,
        until,
        user,
    )
    from engram_core.view import View

__all__ = [
    "KINDS",
    "Actor",
    "ApprovalPolicy",
    "Asset",
    "AsyncMemorySpace",
    "Clock",
    "ConcurrencyError",
    "ConflictError",
    "Contact",
    "Draft",
    "Embedder",
    "EngramError",
    "Episode",
    "EventStore",
    "EvidenceRef",
    "Fact",
    "ForbiddenError",
    "Goal",
    "HistoryError",
    "Hit",
    "Hits",
    "IdSource",
    "IllegalTransitionError",
    "InvalidAttributesError",
    "KindRegistry",
    "KindSpec",
    "Limits",
    "Location",
    "Maintenance",
    "Memory",
    "MemorySpace",
    "NotFoundError",
    "Organization",
    "Page",
    "PartialDate",
    "Period",
    "Person",
    "Policy",
    "Preference",
    "Project",
    "Projection",
    "ProjectionError",
    "Proposal",
    "Receipt",
    "Redactor",
    "RejectedError",
    "Relationship",
    "Session",
    "Skill",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "Validity",
    "View",
    "assistant",
    "ephemeral",
    "following",
    "importer",
    "permanent",
    "plugin",
    "private",
    "restricted",
    "shared",
    "standard",
    "system",
    "until",
    "user",
    "when",
]

_HOMES = {
    "aio": "AsyncMemorySpace",
    "approval": "ApprovalPolicy",
    "dates": "when",
    "drafts": "Draft",
    "errors": (
        "ConcurrencyError ConflictError EngramError ForbiddenError HistoryError IllegalTransitionError "
        "InvalidAttributesError NotFoundError ProjectionError RejectedError StoreBusy StoreCorrupt StoreError "
        "StoreFull StoreReadOnly"
    ),
    "kinds": (
        "KINDS Asset Contact Episode Fact Goal KindRegistry KindSpec Location Organization Person Preference "
        "Project Relationship Skill"
    ),
    "maintenance": "Maintenance",
    "policy": "Limits Policy",
    "ports": "Clock Embedder EventStore IdSource Projection Redactor",
    "projections.running": "following",
    "proposal": "Proposal",
    "receipts": "Receipt",
    "results": "Hit Hits Memory Page",
    "session": "Session",
    "space": "MemorySpace",
    "values": (
        "Actor EvidenceRef PartialDate Period Validity assistant ephemeral importer permanent plugin private "
        "restricted shared standard system until user"
    ),
    "view": "View",
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first asked for: a program pays for what it uses."""
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
