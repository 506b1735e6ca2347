"""The rules of a memory: what each command changes, given what is known and who asks. Pure.

`decide` looks at a `Known`: the memories that the command names, as far as the actor may see them, and the few facts
about the rest of the space that a rule needs (a twin, a taken id, what an edge could lead back to). It answers with
changes, with none when all is so already, or with an error that says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, assert_never

from attrs import evolve as replaced
from attrs import field, frozen

from engram_core.audience import includes, sees_all
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
from engram_core.decider import Change, Context, Decider
from engram_core.drafting import (
    check_evidence,
    check_visibility,
    checked_creation,
    checked_note,
    checked_tags,
    checked_text,
)
from engram_core.errors import (
    ConflictError,
    ForbiddenError,
    IllegalTransitionError,
    InvalidAttributesError,
    NotFoundError,
    Problem,
)
from engram_core.events import (
    ContradictionResolved,
    Event,
    MarkedDistinct,
    MemoryAbsorbed,
    MemoryArchived,
    MemoryAttributesUpdated,
    MemoryConfirmed,
    MemoryContradicted,
    MemoryDeleted,
    MemoryEdited,
    MemoryEvidenceAdded,
    MemoryImportanceAdjusted,
    MemoryLifetimeChanged,
    MemoryLinked,
    MemoryMerged,
    MemoryMergedInto,
    MemoryRestored,
    MemorySuperseded,
    MemoryTagged,
    MemoryUnlinked,
    MemoryUnmerged,
    MemoryValidityChanged,
    MemoryVisibilityChanged,
    RecordedEvent,
)
from engram_core.folding import dispute_key, evolve, fold
from engram_core.kinds import KindRegistry
from engram_core.kinds.relations import RELATIONS
from engram_core.legality import LEGAL
from engram_core.lifecycle import decay_of, is_expired
from engram_core.policy import number_problem
from engram_core.state import MemoryState
from engram_core.values import UNSET, EvidenceRef, Link, Validity
from engram_core.vocab import ActorKind, ArchiveReason, Relation, StoredStatus

__all__ = ["LEGAL", "Known", "MemoryState", "decide", "evolve", "fold", "memory_decider"]

_GONE: Final = (StoredStatus.DELETED, StoredStatus.ERASED, StoredStatus.WITHDRAWN)


@frozen
class Known:
    """What a decision may look at.

    Attributes:
        memories: The memories that a command names, by id, as far as the actor may see them.
        leads_to: Ids reachable from the command's target along its relation, for those that must stay acyclic; None:
            follow the edges of `memories`.
        taken: Ids that exist, whoever may see them.
    """

    memories: Mapping[str, MemoryState] = field(factory=dict)
    leads_to: frozenset[str] | None = None
    taken: frozenset[str] = frozenset()

    def reaches(self, start: str, goal: str, relation: Relation) -> bool:
        """True when following the relation from `start` leads to `goal`."""
        if self.leads_to is not None:
            return start == goal or goal in self.leads_to
        seen, open_ids = set(), [start]
        while open_ids:
            id = open_ids.pop()
            if id == goal:
                return True
            if id in seen or id not in self.memories:
                continue
            seen.add(id)
            open_ids += [link.target for link in self.memories[id].edges.links if link.relation is relation]
        return False


def memory_decider(kinds: KindRegistry) -> Decider[Command, Known]:
    """The rules as a `Decider` over everything known, for a registry of kinds."""

    def evolved(known: Known, recorded: RecordedEvent) -> Known:
        state = evolve(known.memories.get(recorded.stream), recorded, upcast=kinds.upcast)
        if state is None:
            return known
        return replaced(
            known, memories={**known.memories, recorded.stream: state}, taken=known.taken | {recorded.stream}
        )

    return Decider(Known(), decide, evolved)


def decide(command: Command, known: Known, ctx: Context) -> tuple[Change, ...]:
    """What a command changes.

    Args:
        command: What is asked for.
        known: The memories it names and the facts it needs.
        ctx: Who asks, when, and by which rules.

    Returns: Changes to append together; none when nothing is to change.
    Raises: RejectedError (and its kinds) when the rules say no; NotFoundError for what the actor may not see.
    """
    if isinstance(command, Remember):
        return _remember(command, known, ctx)
    memory = _visible(command.memory_id, known)
    _check_legal(command, memory)
    match command:
        case Edit():
            return _one(memory, _edit(command, memory, ctx))
        case UpdateAttributes():
            return _one(memory, _update(command, memory, ctx))
        case Tag():
            return _one(memory, _tag(command, memory, ctx))
        case AddLink():
            return _link(command, memory, known, ctx)
        case RemoveLink():
            return _unlink(command, memory, known, ctx)
        case AddEvidence():
            return _one(memory, _add_evidence(command, memory, ctx))
        case Confirm():
            return _confirm(command, memory, ctx)
        case Contradict():
            return _contradict(command, memory, known, ctx)
        case AdjustImportance():
            return _one(memory, _adjust(command, memory))
        case SetVisibility():
            return _one(memory, _set_visibility(command, memory, ctx))
        case SetLifetime():
            changed = command.lifetime != memory.lifetime
            return _one(memory, MemoryLifetimeChanged(command.lifetime) if changed else None)
        case SetValidity():
            return _one(memory, _set_validity(command, memory))
        case Supersede():
            return _supersede(command, memory, known, ctx)
        case Merge():
            return _merge(command, memory, known, ctx)
        case Unmerge():
            return _unmerge(memory, known)
        case MarkDistinct():
            other = _other(command.other, memory, known)
            same = command.other in memory.edges.distinct or memory.id in other.edges.distinct
            return _one(memory, None if same else MarkedDistinct(command.other))
        case Resolve():
            return _resolve(command, memory, known, ctx)
        case Archive():
            return _one(memory, _archive(command, memory, ctx))
        case Restore():
            return _one(memory, _restore(command, memory, ctx))
        case Delete():
            return _one(memory, MemoryDeleted(checked_note(command.note, ctx.limits)))
        case _:
            assert_never(command)


# -- common checks ----------------------------------------------------------------------------------


def _one(memory: MemoryState, event: Event | None) -> tuple[Change, ...]:
    return () if event is None else (Change(memory.id, event, memory.id),)


def _visible(id: str, known: Known) -> MemoryState:
    found = known.memories.get(id)
    if found is None:
        raise NotFoundError(f"there is no memory {id}", memory_id=id)
    return found


def _live(id: str, known: Known, field_name: str) -> MemoryState:
    """The other memory of a command: it must be there, and neither deleted nor erased nor withdrawn."""
    found = _visible(id, known)
    if found.lifecycle.stored in _GONE:
        raise ConflictError(
            f"{field_name} {id} is {found.lifecycle.stored}", hint="name a memory that is there", memory_id=id
        )
    return found


def _other(id: str, memory: MemoryState, known: Known) -> MemoryState:
    if id == memory.id:
        raise ConflictError("a memory cannot be related to itself", hint="name two different ones", memory_id=id)
    return _live(id, known, "the other memory")


def _check_legal(command: Command, memory: MemoryState) -> None:
    legal = LEGAL[type(command)]
    stored = memory.lifecycle.stored
    if stored in legal.stored:
        return
    verb = type(command).__name__
    hint = "restore it first" if stored is StoredStatus.ARCHIVED else ""
    if stored in _GONE:
        hint = "only erase works on it" if stored is StoredStatus.DELETED else "nothing works on it"
    raise IllegalTransitionError(
        f"{verb} is not possible on a memory that is {stored}",
        hint=hint,
        memory_id=memory.id,
        stored=stored.value,
    )


def _cap(ctx: Context) -> float:
    """The confidence above which this actor lifts nothing."""
    return 1.0 if ctx.actor.is_user else ctx.policy.confidence_cap


# -- creation ---------------------------------------------------------------------------------------


def _remember(command: Remember, known: Known, ctx: Context) -> tuple[Change, ...]:
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
        target = _edge(command.memory_id, command.kind, (), link, known, ctx, earlier=linked)
        linked.append(link)
        if link.relation is Relation.SUPERSEDES:
            if not includes(command.visibility, target.visibility):
                raise _audience_conflict(command.memory_id, target.id)
            start = created.validity.valid_from or ctx.occurred_at
            superseded.append(_superseded(target, command.memory_id, start))
            if created.validity.valid_from is None:
                created = replaced(created, validity=Validity(start, created.validity.valid_to))
    return (Change(command.memory_id, created, command.memory_id), *superseded)


# -- text, attributes, tags -------------------------------------------------------------------------


def _edit(command: Edit, memory: MemoryState, ctx: Context) -> MemoryEdited | None:
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


def _update(command: UpdateAttributes, memory: MemoryState, ctx: Context) -> MemoryAttributesUpdated | None:
    before = ctx.kinds.upcast(memory.kind, memory.attributes.raw, memory.attributes.version)
    after = ctx.kinds.change(memory.kind, before, command.changes)
    changes = {key: after.get(key) for key in (*before, *after) if before.get(key) != after.get(key)}
    if not changes:
        return None
    cap = None
    if not ctx.actor.is_user:
        prior = ctx.policy.weights(ctx.actor.kind).prior
        cap = prior if memory.confidence.confidence > prior else None
    return MemoryAttributesUpdated(changes, ctx.kinds.spec(memory.kind).version, cap, command.redactions)


def _tag(command: Tag, memory: MemoryState, ctx: Context) -> MemoryTagged | None:
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


# -- edges ------------------------------------------------------------------------------------------


def _edge(
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
    target = _live(link.target, known, "the target")
    if (rule.targets is not None and target.kind not in rule.targets) or (rule.alike and target.kind != kind):
        wanted = kind if rule.alike else " or ".join(sorted(rule.targets or ()))
        raise ConflictError(
            f'an edge "{link.relation}" leads from a {kind} to a {wanted}, not to a {target.kind}',
            memory_id=id,
        )
    owners = [other.target for other in (*links, *earlier) if other.relation is link.relation]
    if kind in rule.single and any(_is_there(owner, known) for owner in owners):
        raise ConflictError(
            f'a {kind} has at most one edge "{link.relation}"',
            hint="unlink the other one first",
            memory_id=id,
        )
    if rule.acyclic and known.reaches(link.target, id, link.relation):
        raise ConflictError(f'an edge "{link.relation}" from {id} to {link.target} would close a circle', memory_id=id)
    return target


def _is_there(id: str, known: Known) -> bool:
    """True for a memory that the actor may see, and that is neither deleted nor erased nor withdrawn."""
    found = known.memories.get(id)
    return found is not None and found.lifecycle.stored not in _GONE


def _link(command: AddLink, memory: MemoryState, known: Known, ctx: Context) -> tuple[Change, ...]:
    link = Link(command.relation, command.target)
    _visible(link.target, known)
    if link in memory.edges.links or _mirrored(link, memory, known):
        if command.ensure:
            return ()
        raise ConflictError(
            f'there is an edge "{link.relation}" from {memory.id} to {link.target} already',
            hint="use ensure_link where that is no error",
            memory_id=memory.id,
        )
    if len(memory.edges.links) >= ctx.limits.links:
        raise InvalidAttributesError("memory", [Problem("links", f"at most {ctx.limits.links:,} are allowed")])
    target = _edge(memory.id, memory.kind, memory.edges.links, link, known, ctx)
    if link.relation is Relation.SUPERSEDES:
        return _supersede(Supersede(target.id, memory.id), target, known, ctx)
    return _one(memory, MemoryLinked(link.relation, link.target))


def _mirrored(link: Link, memory: MemoryState, known: Known) -> bool:
    """True when a symmetric edge stands in the other memory's stream."""
    if not RELATIONS[link.relation].symmetric:
        return False
    other = known.memories.get(link.target)
    return other is not None and _is_there(other.id, known) and Link(link.relation, memory.id) in other.edges.links


def _unlink(command: RemoveLink, memory: MemoryState, known: Known, ctx: Context) -> tuple[Change, ...]:
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
        return _one(memory, MemoryUnlinked(link.relation, link.target))
    if _mirrored(link, memory, known):
        other = known.memories[link.target]
        return _one(other, MemoryUnlinked(link.relation, memory.id))
    return ()


# -- confidence and evidence ------------------------------------------------------------------------


def _add_evidence(command: AddEvidence, memory: MemoryState, ctx: Context) -> MemoryEvidenceAdded:
    _check_support(command.evidence, memory, ctx)
    if not command.corroborates or _is_known(command.evidence, memory):
        return MemoryEvidenceAdded(command.evidence)
    vouched = ctx.actor.kind is not ActorKind.ASSISTANT
    return MemoryEvidenceAdded(command.evidence, ctx.policy.corroboration, _cap(ctx), vouched)


def _check_support(evidence: EvidenceRef, memory: MemoryState, ctx: Context) -> None:
    """Refuses evidence that does not fit, or that is one too many."""
    check_evidence((evidence,), ctx.limits)
    if len(memory.evidence) >= ctx.limits.evidences:
        raise InvalidAttributesError("memory", [Problem("evidence", f"at most {ctx.limits.evidences:,} are allowed")])


def _is_known(evidence: EvidenceRef, memory: MemoryState) -> bool:
    """True when the same reference supports the memory already, whatever its note."""
    same = (evidence.type, evidence.value)
    return any((item.ref.type, item.ref.value) == same for item in memory.evidence)


def _confirm(command: Confirm, memory: MemoryState, ctx: Context) -> tuple[Change, ...]:
    fresh = False
    changes: list[Change] = []
    if command.evidence is not None:
        _check_support(command.evidence, memory, ctx)
        fresh = not _is_known(command.evidence, memory)
        changes += _one(memory, MemoryEvidenceAdded(command.evidence))
    if fresh or not _repeats(memory, ctx):
        weight = ctx.policy.weights(ctx.actor.kind).confirm
        vouched = ctx.actor.is_user or (fresh and ctx.actor.kind is not ActorKind.ASSISTANT)
        changes += _one(memory, MemoryConfirmed(weight, _cap(ctx), vouched))
    return tuple(changes)


def _repeats(memory: MemoryState, ctx: Context) -> bool:
    """True when this actor confirmed so lately that doing it again says nothing new.

    A user's word counts again as soon as somebody has disputed the memory since.
    """
    last = memory.confidence.confirmed.get(ctx.actor)
    if last is None or ctx.occurred_at - last >= timedelta(hours=ctx.policy.repeat_hours):
        return False
    return not (ctx.actor.is_user and memory.confidence.disputed > memory.confidence.user_confirmed)


def _contradict(command: Contradict, memory: MemoryState, known: Known, ctx: Context) -> tuple[Change, ...]:
    other = None if command.by is None else _other(command.by, memory, known)
    source = memory.origin.source
    if not ctx.actor.is_user and source is not None and ctx.actor in (source.actor, source.on_behalf_of):
        raise ForbiddenError(
            "nobody disputes what he said himself", hint="edit or archive it instead", memory_id=memory.id
        )
    if command.evidence is not None:
        check_evidence((command.evidence,), ctx.limits)
    note = checked_note(command.note, ctx.limits)
    belief = memory.confidence
    said_before = (ctx.actor, dispute_key(command.by, command.evidence)) in belief.disputes
    if said_before and not (ctx.actor.is_user and belief.user_confirmed > belief.disputed):
        return ()
    floor = 0.0 if ctx.actor.is_user else ctx.policy.confidence_floor
    weight = ctx.policy.weights(ctx.actor.kind).contradict
    changes = _one(memory, MemoryContradicted(weight, floor, command.by, command.evidence, note))
    if other is not None and _mirrored(Link(Relation.CONTRADICTS, other.id), memory, known):
        # The pair has one edge, and this is where the newest dispute stands.
        changes = (*_one(other, MemoryUnlinked(Relation.CONTRADICTS, memory.id)), *changes)
    return changes


def _resolve(command: Resolve, memory: MemoryState, known: Known, ctx: Context) -> tuple[Change, ...]:
    other = _other(command.other, memory, known)
    if command.keep not in (memory.id, other.id, "both"):
        raise InvalidAttributesError("resolve", [Problem("keep", 'must be one of the two memories, or "both"')])
    note = checked_note(command.note, ctx.limits)
    changes: list[Change] = []
    if not _is_resolved(command.keep, memory, other):
        changes += _one(memory, ContradictionResolved(other.id, command.keep, note))
    for side in (memory, other):
        if command.keep not in (side.id, "both") and side.lifecycle.stored is StoredStatus.ACTIVE:
            changes += _one(side, MemoryArchived(ArchiveReason.WRONG, note))
    return tuple(changes)


def _is_resolved(keep: str, memory: MemoryState, other: MemoryState) -> bool:
    """True when the two were settled in this way, and nobody has disputed either since."""
    settled = [side.edges.resolved.get(id) for side, id in ((memory, other.id), (other, memory.id))]
    last = max((found for found in settled if found is not None), key=lambda found: found.position, default=None)
    if last is None or last.keep != keep:
        return False
    edges = [(memory, Link(Relation.CONTRADICTS, other.id)), (other, Link(Relation.CONTRADICTS, memory.id))]
    begun = [side.edges.links.get(link, 0) for side, link in edges]
    return last.position > max(*begun, memory.confidence.disputed, other.confidence.disputed)


# -- importance, visibility, validity ---------------------------------------------------------------


def _adjust(command: AdjustImportance, memory: MemoryState) -> MemoryImportanceAdjusted | None:
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


def _set_visibility(command: SetVisibility, memory: MemoryState, ctx: Context) -> MemoryVisibilityChanged | None:
    visibility = command.visibility
    if visibility == memory.visibility:
        return None
    check_visibility(visibility, ctx)
    return MemoryVisibilityChanged(visibility)


def _set_validity(command: SetValidity, memory: MemoryState) -> MemoryValidityChanged | None:
    window = memory.validity
    changed = Validity(
        window.valid_from if command.valid_from is UNSET else command.valid_from,
        window.valid_to if command.valid_to is UNSET else command.valid_to,
    )
    return None if changed == window else MemoryValidityChanged(changed)


# -- supersession and merging -----------------------------------------------------------------------


def _supersede(command: Supersede, old: MemoryState, known: Known, ctx: Context) -> tuple[Change, ...]:
    new = _other(command.by, old, known)
    if new.lifecycle.stored is not StoredStatus.ACTIVE:
        raise IllegalTransitionError(f"{new.id} is {new.lifecycle.stored} and takes nobody's place", memory_id=new.id)
    if any(by == new.id for by, _ in old.lifecycle.superseded):
        return ()
    if not includes(new.visibility, old.visibility):
        raise _audience_conflict(new.id, old.id)
    if known.reaches(old.id, new.id, Relation.SUPERSEDES):
        raise ConflictError(f"{old.id} supersedes {new.id} already, by some steps", memory_id=old.id)
    start = command.effective_at or new.validity.valid_from or ctx.occurred_at
    changes: list[Change] = []
    if Link(Relation.SUPERSEDES, old.id) not in new.edges.links:
        changes += _one(new, MemoryLinked(Relation.SUPERSEDES, old.id))
    if new.validity.valid_to is not None and new.validity.valid_to <= start:
        problem = f"must be earlier than {new.validity.valid_to}, when the new one is over"
        raise InvalidAttributesError("supersede", [Problem("effective_at", problem)])
    if new.validity.valid_from is None:
        changes += _one(new, MemoryValidityChanged(Validity(start, new.validity.valid_to)))
    return (*changes, _superseded(old, new.id, start))


def _superseded(old: MemoryState, by: str, start: datetime) -> Change:
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


def _audience_conflict(new: str, old: str) -> ConflictError:
    return ConflictError(
        f"{new} is hidden from some who may see {old}",
        hint="widen its visibility first, so that nobody is left without either",
        memory_id=new,
    )


def _merge(command: Merge, survivor: MemoryState, known: Known, ctx: Context) -> tuple[Change, ...]:
    source = _other(command.source, survivor, known)
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
        raise _audience_conflict(survivor.id, source.id)
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


def _unmerge(source: MemoryState, known: Known) -> tuple[Change, ...]:
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


# -- archive and back -------------------------------------------------------------------------------


def _archive(command: Archive, memory: MemoryState, ctx: Context) -> MemoryArchived | None:
    if memory.lifecycle.stored is StoredStatus.ARCHIVED:
        return None
    return MemoryArchived(command.because, checked_note(command.note, ctx.limits))


def _restore(command: Restore, memory: MemoryState, ctx: Context) -> MemoryRestored | MemoryLifetimeChanged | None:
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
