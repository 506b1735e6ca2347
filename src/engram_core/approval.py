"""Who may change what without asking: a value that the application chooses. Users always may; nobody else deletes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, assert_never

from attrs import field, frozen

from engram_core.commands import (
    AddEvidence,
    AddLink,
    AdjustImportance,
    Archive,
    Command,
    Confirm,
    Contradict,
    Delete,
    Edit,
    MarkDistinct,
    Merge,
    Remember,
    RemoveLink,
    Resolve,
    Restore,
    SetLifetime,
    SetValidity,
    SetVisibility,
    Supersede,
    Tag,
    Unmerge,
    UpdateAttributes,
)
from engram_core.errors import InvalidAttributesError, Problem
from engram_core.state import MemoryState
from engram_core.values import SHARED, STANDARD, Actor, Validity
from engram_core.vocab import ActorKind, Relation

__all__ = ["ApprovalPolicy", "Permission", "needed"]


class Permission(StrEnum):
    """A sort of change that may be allowed without a user's approval; `…_own`: on what the same actor created.

    `contradict_unasserted` is for what no user asserted, by creating or confirming it; `confidence` is for saying how
    sure a new memory is to be taken, where the actor's kind would decide otherwise.
    """

    CREATE = "create"
    EDIT = "edit"
    EDIT_OWN = "edit_own"
    EVIDENCE = "evidence"
    CONFIDENCE = "confidence"
    CONFIRM = "confirm"
    CONTRADICT = "contradict"
    CONTRADICT_UNASSERTED = "contradict_unasserted"
    LINK = "link"
    UNLINK = "unlink"
    TAG = "tag"
    UNTAG = "untag"
    IMPORTANCE = "importance"
    LIFETIME = "lifetime"
    VALIDITY = "validity"
    VISIBILITY = "visibility"
    SUPERSEDE = "supersede"
    MERGE = "merge"
    ARCHIVE = "archive"
    RESTORE = "restore"
    RESOLVE = "resolve"
    DELETE = "delete"


_ALL: Final = tuple(Permission)
_NEVER: Final = frozenset({Permission.DELETE})
_ASSISTANTS: Final = frozenset(
    {
        Permission.CREATE,
        Permission.EVIDENCE,
        Permission.LINK,
        Permission.TAG,
        Permission.CONFIRM,
        Permission.EDIT_OWN,
        Permission.CONTRADICT_UNASSERTED,
    }
)

_BEYOND_LINKING: Final = MappingProxyType(
    {Relation.SUPERSEDES: Permission.SUPERSEDE, Relation.CONTRADICTS: Permission.CONTRADICT}
)
"""Relations whose edges say more than an edge does, with the permission that they need instead."""


def needed(command: Command) -> frozenset[Permission]:
    """The permissions of which a command needs every one."""
    match command:
        case Remember():
            return _needed_to_begin(command)
        case Edit() | UpdateAttributes():
            return frozenset({Permission.EDIT})
        case AddEvidence():
            return frozenset({Permission.EVIDENCE})
        case Confirm(evidence=evidence):
            return frozenset({Permission.CONFIRM} if evidence is None else {Permission.CONFIRM, Permission.EVIDENCE})
        case Contradict():
            return frozenset({Permission.CONTRADICT})
        case AddLink():
            return frozenset({_BEYOND_LINKING.get(command.relation, Permission.LINK)})
        case RemoveLink():
            return frozenset({Permission.UNLINK})
        case Tag():
            wanted = {Permission.TAG} if command.added or not command.removed else set()
            return frozenset(wanted | ({Permission.UNTAG} if command.removed else set()))
        case AdjustImportance():
            return frozenset({Permission.IMPORTANCE})
        case SetLifetime():
            return frozenset({Permission.LIFETIME})
        case SetValidity():
            return frozenset({Permission.VALIDITY})
        case SetVisibility():
            return frozenset({Permission.VISIBILITY})
        case Supersede():
            return frozenset({Permission.SUPERSEDE})
        case Merge() | Unmerge() | MarkDistinct():
            return frozenset({Permission.MERGE})
        case Resolve():
            return frozenset({Permission.RESOLVE})
        case Archive():
            return frozenset({Permission.ARCHIVE})
        case Restore(lifetime=lifetime):
            return frozenset({Permission.RESTORE} if lifetime is None else {Permission.RESTORE, Permission.LIFETIME})
        case Delete():
            return frozenset({Permission.DELETE})
        case _:
            assert_never(command)


def _needed_to_begin(command: Remember) -> frozenset[Permission]:
    """What comes along with a beginning needs what it would need as a command of its own."""
    along = {
        Permission.TAG: command.tags,
        Permission.EVIDENCE: command.evidence,
        Permission.CONFIRM: command.on_duplicate == "confirm",
        Permission.CONFIDENCE: command.confidence is not None,
        Permission.IMPORTANCE: command.pinned or command.user_weight is not None,
        Permission.LIFETIME: command.lifetime != STANDARD,
        Permission.VISIBILITY: command.visibility != SHARED,
        Permission.VALIDITY: command.validity not in (None, Validity()),
    }
    links = {_BEYOND_LINKING.get(link.relation, Permission.LINK) for link in command.links}
    return frozenset({Permission.CREATE, *links, *(permission for permission, given in along.items() if given)})


@frozen
class ApprovalPolicy:
    """Which changes need no user's approval. Made by `review_all()`, `trust_assistants()` or `of({…})`.

    Attributes:
        by_kind: Permissions of each actor kind.
        by_actor: Permissions of single actors, beside those of their kind.
    """

    by_kind: Mapping[ActorKind, frozenset[Permission]] = field(factory=dict)
    by_actor: Mapping[Actor, frozenset[Permission]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        problems = [
            Problem(name, f"must be a mapping of {who.__name__} to frozen sets of Permission; see of()")
            for name, who, given in (("by_kind", ActorKind, self.by_kind), ("by_actor", Actor, self.by_actor))
            if not _are_grants(given, who)
        ]
        if problems:
            raise InvalidAttributesError("approval policy", problems)

    @classmethod
    def review_all(cls) -> ApprovalPolicy:
        """Whatever others than users ask for waits for a user. The default."""
        return cls()

    @classmethod
    def trust_assistants(cls) -> ApprovalPolicy:
        """Assistants create, support, link, tag and confirm on their own, and edit what they created themselves.

        They never supersede, merge, archive or hide, nor contradict what a user asserted. A creation that also pins,
        weighs, hides, or sets a confidence, a lifetime or a validity does more than create, and waits.
        """
        return cls({ActorKind.ASSISTANT: _ASSISTANTS})

    @classmethod
    def of(cls, grants: Mapping[Actor | ActorKind | str, Iterable[Permission | str]]) -> ApprovalPolicy:
        """One's own rules.

        Args:
            grants: For an actor, or an actor kind (or its value), the permissions (or their values).

        Raises: InvalidAttributesError for an unknown kind or permission, and for "delete", which is never automated.
        """
        by_kind: dict[ActorKind, frozenset[Permission]] = {}
        by_actor: dict[Actor, frozenset[Permission]] = {}
        problems: list[Problem] = []
        if not isinstance(grants, Mapping):
            problem = f"must be a mapping of actors to permissions, not {type(grants).__name__}"
            raise InvalidAttributesError("approval policy", [Problem("grants", problem)])
        for who, names in grants.items():
            listed = [names] if isinstance(names, str) else list(names) if _are_several(names) else [names]
            known = frozenset(Permission(name) for name in listed if name in _ALL)
            problems += [
                Problem(str(who), f"{name!r} is none of {', '.join(Permission)}") for name in listed if name not in _ALL
            ]
            if known & _NEVER:
                problems.append(Problem(str(who), "deletion is never automated"))
            if isinstance(who, Actor):
                by_actor[who] = known
            elif who in tuple(ActorKind):
                by_kind[ActorKind(who)] = known
            else:
                problems.append(Problem(str(who), f"is no actor, and none of {', '.join(ActorKind)}"))
        if problems:
            raise InvalidAttributesError("approval policy", problems)
        return cls(by_kind, by_actor)

    def allows(self, actor: Actor, command: Command, memory: MemoryState | None) -> bool:
        """True when an actor may make this change without asking.

        Args:
            actor: Who asks.
            command: What for.
            memory: The memory that the command names; None for one that is to begin.
        """
        if actor.is_user:
            return True
        granted = self.by_kind.get(actor.kind, frozenset()) | self.by_actor.get(actor, frozenset())
        source = None if memory is None else memory.origin.source
        author = None if source is None else source.on_behalf_of or source.actor
        missing = set(needed(command)) - granted
        if needed(command) & _NEVER:
            return False
        unasserted = not (author is None or author.is_user or _vouched(memory))
        if Permission.CONTRADICT_UNASSERTED in granted and isinstance(command, Contradict) and unasserted:
            missing.discard(Permission.CONTRADICT)
        if Permission.EDIT_OWN in granted and author == actor:
            missing -= {Permission.EDIT, Permission.UNTAG}
        return not missing


def _are_grants(given: object, who: type) -> bool:
    return isinstance(given, Mapping) and all(
        isinstance(key, who) and isinstance(names, frozenset) and names <= frozenset(_ALL)
        for key, names in given.items()
    )


def _are_several(names: object) -> bool:
    return isinstance(names, Iterable) and not isinstance(names, bytes | type)


def _vouched(memory: MemoryState | None) -> bool:
    """True when a user has confirmed the memory: then he asserts it, too."""
    return memory is not None and memory.confidence.user_confirmed > 0
