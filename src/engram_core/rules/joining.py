"""One memory takes another's place: supersession and merging."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from engram_core.audience import includes
from engram_core.commands import Merge, Supersede
from engram_core.decider import Change, Context
from engram_core.errors import (
    ConflictError,
    ForbiddenError,
    IllegalTransitionError,
    InvalidAttributesError,
    Problem,
)
from engram_core.events import (
    MemoryAbsorbed,
    MemoryLinked,
    MemoryMerged,
    MemoryMergedInto,
    MemorySuperseded,
    MemoryUnmerged,
    MemoryValidityChanged,
)
from engram_core.known import Known, one, other_of
from engram_core.state import MemoryState
from engram_core.values import Link, Validity
from engram_core.vocab import Relation, StoredStatus

__all__ = ["audience_conflict", "effective_start", "merge", "supersede", "superseded_from", "unmerge"]


def supersede(command: Supersede, old: MemoryState, known: Known, ctx: Context) -> tuple[Change, ...]:
    """The old one stops where the new one begins; they are joined by an edge."""
    new = other_of(command.by, old, known)
    if new.lifecycle.stored is not StoredStatus.ACTIVE:
        raise IllegalTransitionError(f"{new.id} is {new.lifecycle.stored} and takes nobody's place", memory_id=new.id)
    if any(by == new.id for by, _ in old.lifecycle.superseded):
        return ()
    if not includes(new.visibility, old.visibility):
        raise audience_conflict(new.id, old.id)
    if known.reaches(old.id, new.id, Relation.SUPERSEDES):
        raise ConflictError(f"{old.id} supersedes {new.id} already, by some steps", memory_id=old.id)
    start = command.effective_at or effective_start(
        new.validity, old.validity, (ctx.occurred_at, new.origin.created_at)
    )
    changes: list[Change] = []
    if Link(Relation.SUPERSEDES, old.id) not in new.edges.links:
        changes += one(new, MemoryLinked(Relation.SUPERSEDES, old.id))
    is_over = new.validity.valid_to is not None and new.validity.valid_to <= start
    if is_over and command.effective_at is not None:
        problem = f"must be earlier than {new.validity.valid_to}, when the new one is over"
        raise InvalidAttributesError("supersede", [Problem("effective_at", problem)])
    if new.validity.valid_from is None and not is_over:
        changes += one(new, MemoryValidityChanged(Validity(start, new.validity.valid_to)))
    return (*changes, superseded_from(old, new.id, start))


def effective_start(new: Validity, old: Validity, instants: Sequence[datetime]) -> datetime:
    """From when on one memory stands for another where nobody says so.

    It is the new one's beginning; where the old one began no earlier, or the new one is over by then, the first of
    some instants that lies in both windows, or else in the old one's.

    Args:
        new, old: When the two are true.
        instants: Others to choose from, such as now.
    """
    wanted: tuple[datetime, ...] = (*(() if new.valid_from is None else (new.valid_from,)), *instants)
    later = [start for start in wanted if old.valid_from is None or old.valid_from < start] or wanted
    return next((start for start in later if new.valid_to is None or start < new.valid_to), later[0])


def superseded_from(old: MemoryState, by: str, start: datetime) -> Change:
    """The change by which another memory takes the place of an old one."""
    if old.validity.valid_from is not None and start <= old.validity.valid_from:
        raise InvalidAttributesError(
            "supersede",
            [
                Problem(
                    "effective_at",
                    f"must be later than {old.validity.valid_from}, since when the old one is true",
                )
            ],
        )
    return Change(old.id, MemorySuperseded(by, start), old.id)


def audience_conflict(new: str, old: str) -> ConflictError:
    """Nobody may lose the old one without being able to see the new one."""
    return ConflictError(
        f"{new} is hidden from some who may see {old}",
        hint="widen its visibility first, so that nobody is left without either",
        memory_id=new,
    )


def merge(command: Merge, survivor: MemoryState, known: Known, ctx: Context) -> tuple[Change, ...]:
    """Two entities are one: the survivor takes names and tags, the source redirects to it."""
    source = other_of(command.source, survivor, known)
    if source.lifecycle.merged_into == survivor.id:
        return ()
    if source.lifecycle.stored is not StoredStatus.ACTIVE:
        raise IllegalTransitionError(
            f"{source.id} is {source.lifecycle.stored}; both must be active", memory_id=source.id
        )
    if source.kind != survivor.kind or not ctx.kinds.spec(survivor.kind).entity:
        raise ConflictError(
            f"a {source.kind} and a {survivor.kind} cannot be merged",
            hint="only two of one entity kind are one thing; supersede otherwise",
            memory_id=survivor.id,
        )
    if not includes(survivor.visibility, source.visibility):
        raise audience_conflict(survivor.id, source.id)
    own = ctx.kinds.structure(survivor.kind, survivor.attributes.raw, survivor.attributes.version)
    theirs = ctx.kinds.structure(source.kind, source.attributes.raw, source.attributes.version)
    present = {ctx.kinds.label(own), *ctx.kinds.aliases(own)}

    def given(id: str, names: Iterable[str | None], tags: Iterable[str], through: tuple[str, ...]) -> Change:
        aliases = tuple(dict.fromkeys(name for name in names if name and name not in present))
        new = tuple(tag for tag in tags if tag not in survivor.tags)
        return Change(survivor.id, MemoryAbsorbed(id, aliases, new, through), id)

    # What came to the source by earlier merges still belongs to those from whom it came.
    return (
        Change(survivor.id, MemoryMerged(source.id), survivor.id),
        given(source.id, (ctx.kinds.label(theirs), *ctx.kinds.aliases(theirs)), source.tags, ()),
        *(
            given(id, held.aliases, held.tags, (source.id, *held.through))
            for id, held in source.absorbed.items()
            if held.aliases or held.tags
        ),
        Change(source.id, MemoryMergedInto(survivor.id), source.id),
    )


def unmerge(source: MemoryState, known: Known) -> tuple[Change, ...]:
    """They were two after all: what the source gave goes back with it."""
    into = source.lifecycle.merged_into
    if into is None:
        raise IllegalTransitionError(f"{source.id} was not merged", hint="use restore", memory_id=source.id)
    changes = [Change(source.id, MemoryUnmerged(source.id, into), source.id)]
    survivor = known.memories.get(into)
    if survivor is None:
        raise ForbiddenError(f"{source.id} was merged into something else", hint="ask a user", memory_id=source.id)
    # Where the survivor was merged on, what it had from the source went along, and goes now, too.
    following: str | None = into
    seen = {source.id}
    while following is not None and following not in seen and following in known.memories:
        seen.add(following)
        survivor = known.memories[following]
        if source.id in survivor.absorbed:
            changes.insert(0, Change(following, MemoryUnmerged(source.id, into), following))
        following = survivor.lifecycle.merged_into
    return tuple(changes)
