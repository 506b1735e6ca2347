"""Edges between memories: which may be, and which are there already."""

from __future__ import annotations

from collections.abc import Iterable

from engram_core.audience import sees_all
from engram_core.commands import AddLink, RemoveLink, Supersede
from engram_core.decider import Change, Context
from engram_core.errors import ConflictError, InvalidAttributesError, Problem
from engram_core.events import MemoryLinked, MemoryUnlinked
from engram_core.kinds.relations import RELATIONS
from engram_core.known import Known, is_there, live, mirrored, one, visible
from engram_core.rules.joining import supersede
from engram_core.state import MemoryState
from engram_core.values import Link
from engram_core.vocab import Relation

__all__ = ["checked_edge", "link", "unlink"]


def checked_edge(
    id: str,
    kind: str,
    links: Iterable[Link],
    link: Link,
    known: Known,
    ctx: Context,
    earlier: Iterable[Link] = (),
) -> MemoryState:
    """Checks one new edge against kinds, existence and shape of the graph; gives its target."""
    rule = RELATIONS[link.relation]
    if link.target == id:
        raise ConflictError("a memory cannot be linked to itself", hint="name another target", memory_id=id)
    spec = ctx.kinds.spec(kind)
    if link.relation not in spec.emits:
        allowed = ", ".join(sorted(spec.emits))
        raise ConflictError(f'a {kind} has no edge "{link.relation}"', hint=f"it may have: {allowed}", memory_id=id)
    target = live(link.target, known, "the target")
    if (rule.targets is not None and target.kind not in rule.targets) or (rule.alike and target.kind != kind):
        wanted = kind if rule.alike else " or ".join(sorted(rule.targets or ()))
        raise ConflictError(
            f'an edge "{link.relation}" leads from a {kind} to a {wanted}, not to a {target.kind}',
            memory_id=id,
        )
    owners = [other.target for other in (*links, *earlier) if other.relation is link.relation]
    if kind in rule.single and any(is_there(owner, known) for owner in owners):
        raise ConflictError(
            f'a {kind} has at most one edge "{link.relation}"',
            hint="unlink the other one first",
            memory_id=id,
        )
    if rule.acyclic and known.reaches(link.target, id, link.relation):
        raise ConflictError(f'an edge "{link.relation}" from {id} to {link.target} would close a circle', memory_id=id)
    return target


def link(command: AddLink, memory: MemoryState, known: Known, ctx: Context) -> tuple[Change, ...]:
    """A new edge."""
    link = Link(command.relation, command.target)
    visible(link.target, known)
    if link in memory.edges.links or mirrored(link, memory, known):
        if command.ensure:
            return ()
        raise ConflictError(
            f'there is an edge "{link.relation}" from {memory.id} to {link.target} already',
            hint="use ensure_link where that is no error",
            memory_id=memory.id,
        )
    if len(memory.edges.links) >= ctx.limits.links:
        raise InvalidAttributesError("memory", [Problem("links", f"at most {ctx.limits.links:,} are allowed")])
    target = checked_edge(memory.id, memory.kind, memory.edges.links, link, known, ctx)
    if link.relation is Relation.SUPERSEDES:
        return supersede(Supersede(target.id, memory.id), target, known, ctx)
    return one(memory, MemoryLinked(link.relation, link.target))


def unlink(command: RemoveLink, memory: MemoryState, known: Known, ctx: Context) -> tuple[Change, ...]:
    """An edge goes."""
    link = Link(command.relation, command.target)
    if link.target not in known.memories and not sees_all(ctx.actor):
        return ()  # an edge to what the actor may not see is as absent as its target
    if link.relation is Relation.SUPERSEDES and link in memory.edges.links:
        raise ConflictError(
            "a supersession is more than its edge",
            hint="undo its batch, or archive the new one",
            memory_id=memory.id,
        )
    if link in memory.edges.links:
        return one(memory, MemoryUnlinked(link.relation, link.target))
    if mirrored(link, memory, known):
        other = known.memories[link.target]
        return one(other, MemoryUnlinked(link.relation, memory.id))
    return ()
