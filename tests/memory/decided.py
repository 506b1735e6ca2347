"""Some memories, and what is decided about them: the ground of test_refusals and test_decisions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from engram_core.commands import Command, Remember
from engram_core.decider import Change
from engram_core.kinds import Contact, Fact, Organization, Person, Project
from engram_core.memory import decide
from engram_core.testing import Happened, Scenario, happened, memory_created
from engram_core.testing.scenario import ANN, START
from engram_core.values import Actor, Validity, assistant, private
from tests.memory.contexts import context_of

__all__ = ["BEFORE", "BOT", "LATER", "PLACES", "after", "asked", "remembering"]

BOT = assistant("bot")
LATER, BEFORE = START + timedelta(days=9), START - timedelta(days=9)

PLACES: dict[str, Any] = {
    "fact": memory_created(Fact("x")),
    "other": memory_created(Fact("y")),
    "hidden": memory_created(Fact("y"), visibility=private()),
    "ann": memory_created(Person(full_name="Ann")),
    "anna": memory_created(Person(full_name="Anna")),
    "acme": memory_created(Organization(name="Acme")),
    "moon": memory_created(Project(name="Moon", status="active")),
    "mars": memory_created(Project(name="Mars", status="active")),
    "mail": memory_created(Contact(channel="email", value="a@b")),
    "new": memory_created(Fact("new"), validity=Validity(LATER)),
}
"""What there is, by id."""


def asked(command: Command, *events: Any, by: Actor = ANN, **context: Any) -> Callable[[], tuple[Change, ...]]:
    """A decision about these memories, after some more events."""
    begun = [happened(event, id) for id, event in PLACES.items()]

    def decided() -> tuple[Change, ...]:
        known = Scenario[Any, Any]().given(*begun, *events).state
        return decide(command, known, context_of(by, **context))

    return decided


def after(id: str, event: Any, **how: Any) -> Happened:
    """An event in the stream of one of the memories."""
    return happened(event, id, **how)


def remembering(**fields: Any) -> Remember:
    """A new fact."""
    usual = {"memory_id": "n", "kind": "fact", "attributes": {"statement": "x"}, "attributes_version": 1}
    return Remember(**{**usual, **fields})
