"""How a memory begins."""

from __future__ import annotations

from attrs import evolve as replaced

from engram_core.audience import includes
from engram_core.commands import Remember
from engram_core.decider import Change, Context
from engram_core.drafting import checked_creation
from engram_core.errors import ConflictError, ForbiddenError
from engram_core.known import Known
from engram_core.rules.edges import checked_edge
from engram_core.rules.joining import audience_conflict, effective_start, superseded_from
from engram_core.values import Link, Validity
from engram_core.vocab import ActorKind, Relation

__all__ = ["remember"]


def remember(command: Remember, known: Known, ctx: Context) -> tuple[Change, ...]:
    """A new memory with its edges, and what it supersedes."""
    if command.own_id and ctx.actor.kind in (ActorKind.ASSISTANT, ActorKind.PLUGIN):
        raise ForbiddenError("assistants and plugins do not choose ids", hint="leave id out")
    if command.memory_id in known.taken or command.memory_id in known.memories:
        raise ConflictError(
            f"the id {command.memory_id} is taken",
            hint="leave it out, or choose another",
            memory_id=command.memory_id,
        )
    created = checked_creation(command, ctx)
    linked: list[Link] = []
    superseded: list[Change] = []
    for link in created.links:
        target = checked_edge(command.memory_id, command.kind, (), link, known, ctx, earlier=linked)
        linked.append(link)
        if link.relation is Relation.SUPERSEDES:
            if not includes(command.visibility, target.visibility):
                raise audience_conflict(command.memory_id, target.id)
            start = effective_start(created.validity, target.validity, (ctx.occurred_at,))
            superseded.append(superseded_from(target, command.memory_id, start))
            if created.validity.valid_from is None:
                created = replaced(created, validity=Validity(start, created.validity.valid_to))
    return (Change(command.memory_id, created, command.memory_id), *superseded)
