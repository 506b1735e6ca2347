"""What changes one memory alone: text, attributes, tags, importance, audience, time, the archive."""

from __future__ import annotations

from attrs import evolve as replaced

from engram_core.commands import (
    AdjustImportance,
    Archive,
    Edit,
    Restore,
    SetValidity,
    SetVisibility,
    Tag,
    UpdateAttributes,
)
from engram_core.decider import Context
from engram_core.drafting import attribute_problems, check_visibility, checked_note, checked_tags, checked_text
from engram_core.errors import IllegalTransitionError, InvalidAttributesError, Problem
from engram_core.events import (
    MemoryArchived,
    MemoryAttributesUpdated,
    MemoryEdited,
    MemoryImportanceAdjusted,
    MemoryLifetimeChanged,
    MemoryRestored,
    MemoryTagged,
    MemoryValidityChanged,
    MemoryVisibilityChanged,
)
from engram_core.lifecycle import decay_of, is_expired
from engram_core.policy import number_problem
from engram_core.state import MemoryState
from engram_core.values import UNSET, Validity
from engram_core.vocab import StoredStatus

__all__ = ["adjust", "archive", "edit", "restore", "set_validity", "set_visibility", "tag", "update"]


def edit(command: Edit, memory: MemoryState, ctx: Context) -> MemoryEdited | None:
    """Title and content."""
    # What is not mentioned is not judged: the limits may have been other ones when it was written.
    title, content = checked_text(
        None if command.title is UNSET else command.title,
        "" if command.content is UNSET else command.content,
        ctx.limits,
    )
    title = memory.text.title if command.title is UNSET else title
    content = memory.text.content if command.content is UNSET else content
    event = MemoryEdited(
        UNSET if title == memory.text.title else title, UNSET if content == memory.text.content else content
    )
    return None if event == MemoryEdited() else replaced(event, redactions=command.redactions)


def update(command: UpdateAttributes, memory: MemoryState, ctx: Context) -> MemoryAttributesUpdated | None:
    """A sparse change of attributes, judged on the whole payload; unless by a user it lowers high confidence."""
    before = ctx.kinds.upcast(memory.kind, memory.attributes.raw, memory.attributes.version)
    after = ctx.kinds.change(memory.kind, before, command.changes)
    changes = {key: after.get(key) for key in (*before, *after) if before.get(key) != after.get(key)}
    if not changes:
        return None
    if problems := attribute_problems(ctx.kinds.spec(memory.kind), changes, ctx.limits):
        raise InvalidAttributesError(memory.kind, problems)
    cap = None
    if not ctx.actor.is_user:
        prior = ctx.policy.weights(ctx.actor.kind).prior
        cap = prior if memory.confidence.confidence > prior else None
    return MemoryAttributesUpdated(changes, ctx.kinds.spec(memory.kind).version, cap, command.redactions)


def tag(command: Tag, memory: MemoryState, ctx: Context) -> MemoryTagged | None:
    """Tags added and removed."""
    wanted = checked_tags(command.added, ctx.limits, count=False)
    unwanted = checked_tags(command.removed, ctx.limits, count=False)
    removed = tuple(tag for tag in unwanted if tag in memory.tags and tag not in wanted)
    kept = [tag for tag in memory.tags if tag not in removed]
    added = tuple(tag for tag in wanted if tag not in kept)
    if not added and not removed:
        return None
    if added and len(kept) + len(added) > ctx.limits.tags:
        problem = f"would be {len(kept) + len(added):,} entries; at most {ctx.limits.tags:,} are allowed"
        raise InvalidAttributesError("memory", [Problem("tags", problem)])
    return MemoryTagged(added, removed)


def adjust(command: AdjustImportance, memory: MemoryState) -> MemoryImportanceAdjusted | None:
    """Pin and weight by hand."""
    problems: list[Problem] = []
    if command.pinned is not UNSET and not isinstance(command.pinned, bool):
        problems.append(Problem("pinned", "must be True or False"))
    given = command.user_weight
    if given is not UNSET and given is not None:
        if problem := number_problem(given, low=0.0, high=1.0):
            problems.append(Problem("user_weight", problem))
        else:
            given = float(given)
    if problems:
        raise InvalidAttributesError("memory", problems)
    pinned = UNSET if command.pinned is memory.importance.pinned else command.pinned
    weight = UNSET if given == memory.importance.user_weight else given
    event = MemoryImportanceAdjusted(pinned, weight)
    return None if event == MemoryImportanceAdjusted() else event


def set_visibility(command: SetVisibility, memory: MemoryState, ctx: Context) -> MemoryVisibilityChanged | None:
    """Another audience."""
    visibility = command.visibility
    if visibility == memory.visibility:
        return None
    check_visibility(visibility, ctx)
    return MemoryVisibilityChanged(visibility)


def set_validity(command: SetValidity, memory: MemoryState) -> MemoryValidityChanged | None:
    """When it is true; what is not mentioned stays."""
    window = memory.validity
    changed = Validity(
        window.valid_from if command.valid_from is UNSET else command.valid_from,
        window.valid_to if command.valid_to is UNSET else command.valid_to,
    )
    return None if changed == window else MemoryValidityChanged(changed)


def archive(command: Archive, memory: MemoryState, ctx: Context) -> MemoryArchived | None:
    """Out of the active memories, with the reason."""
    if memory.lifecycle.stored is StoredStatus.ARCHIVED:
        return None
    return MemoryArchived(command.because, checked_note(command.note, ctx.limits))


def restore(command: Restore, memory: MemoryState, ctx: Context) -> MemoryRestored | MemoryLifetimeChanged | None:
    """Back among the active ones, if need be with another lifetime."""
    if memory.lifecycle.merged_into is not None:
        raise IllegalTransitionError(
            f"{memory.id} was merged into another one",
            hint="use unmerge",
            memory_id=memory.id,
        )
    lifetime = None if command.lifetime == memory.lifetime else command.lifetime
    decay = decay_of(memory.kind, ctx.policy, ctx.kinds)
    then = memory if lifetime is None else replaced(memory, lifetime=lifetime)
    if memory.lifecycle.stored is StoredStatus.ACTIVE and not is_expired(memory, ctx.now, decay):
        return None if lifetime is None else MemoryLifetimeChanged(lifetime)
    if is_expired(then, ctx.now, decay):
        raise IllegalTransitionError(
            f"the lifetime of {memory.id} has ended",
            hint="give lifetime=standard(), or a later end",
            memory_id=memory.id,
        )
    return MemoryRestored(lifetime)
