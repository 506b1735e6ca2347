"""Who may see what: the one rule. Users and the system see all; the others what is shared, or lists them."""

from __future__ import annotations

from engram_core.values import Actor, Visibility
from engram_core.vocab import ActorKind, VisibilityKind

__all__ = ["includes", "may_see", "sees_all"]


def sees_all(actor: Actor) -> bool:
    """True for users and the system: nothing that lives in the space is hidden from them."""
    return actor.kind in (ActorKind.USER, ActorKind.SYSTEM)


def may_see(actor: Actor, visibility: Visibility) -> bool:
    """True when the actor may see a memory of this visibility."""
    if sees_all(actor) or visibility.kind is VisibilityKind.SHARED:
        return True
    return visibility.kind is VisibilityKind.RESTRICTED and actor in visibility.actors


def includes(wider: Visibility, narrower: Visibility) -> bool:
    """True when whoever may see `narrower` may see `wider`, too."""
    if VisibilityKind.SHARED in (wider.kind, narrower.kind):
        return wider.kind is VisibilityKind.SHARED
    return all(sees_all(actor) or actor in wider.actors for actor in narrower.actors)
