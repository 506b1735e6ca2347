"""The context in which a test's decision is made, where a scenario is not used."""

from __future__ import annotations

from typing import Any

from engram_core.decider import Context
from engram_core.kinds import KINDS
from engram_core.policy import Limits, Policy
from engram_core.testing.scenario import ANN, START
from engram_core.values import Actor

__all__ = ["context_of"]


def context_of(actor: Actor = ANN, **changes: Any) -> Context:
    """The usual rules, at the start of scenarios."""
    usual = {"now": START, "occurred_at": START, "policy": Policy(), "limits": Limits(), "kinds": KINDS}
    return Context(actor=actor, **{**usual, **changes})
