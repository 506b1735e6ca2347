"""How a state follows from events. Total: whatever the log holds folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, TypeAlias, assert_never

from attrs import fields

from engram_core import confidence as arithmetic
from engram_core.errors import EngramError
from engram_core.events import (
    ContradictionResolved,
    DraftAdded,
    ErasedPayload,
    MarkedDistinct,
    MemoriesAccessed,
    MemoryAbsorbed,
    MemoryArchived,
    MemoryAttributesUpdated,
    MemoryConfirmed,
    MemoryContradicted,
    MemoryCreated,
    MemoryDeleted,
    MemoryEdited,
    MemoryErased,
    MemoryEvidenceAdded,
    MemoryImportanceAdjusted,
    MemoryLifetimeChanged,
    MemoryLinked,
    MemoryMerged,
    MemoryMergedInto,
    MemoryNoted,
    MemoryRestored,
    MemoryReverted,
    MemorySuperseded,
    MemoryTagged,
    MemoryUnlinked,
    MemoryUnmerged,
    MemoryValidityChanged,
    MemoryVisibilityChanged,
    ProposalMerged,
    ProposalOpened,
    ProposalRebased,
    ProposalRejected,
    ProposalUndone,
    ProposalWithdrawn,
    RecordedEvent,
    UnknownEvent,
)
from engram_core.state import (
    Absorbed,
    Belief,
    Edges,
    Importance,
    Life,
    MemoryState,
    Origin,
    Payload,
    Resolution,
    Supported,
    Text,
)
from engram_core.touching import groups_touched
from engram_core.values import (
    UNSET,
    EvidenceRef,
    Lifetime,
    Link,
    Provenance,
    Validity,
    Visibility,
    private,
    shared,
    standard,
)
from engram_core.vocab import ActorKind, ArchiveReason, FieldGroup, Relation, StoredStatus

__all__ = ["Upcast", "dispute_key", "evolve", "fold", "is_own_word"]

Upcast: TypeAlias = Callable[[str, Mapping[str, Any], int], Mapping[str, Any]]
"""How a whole older payload becomes one of the current schema: `KindRegistry.upcast`."""


_NO_TEXT: Final = Text()
_NOT_WEIGHED: Final = Importance()
_ALIVE: Final = Life()


def dispute_key(by: str | None, evidence: EvidenceRef | None) -> str:
    """Names the ground of a contradiction: the same actor and ground count once."""
    if by is not None:
        return f"memory:{by}"
    if evidence is not None:
        return f"evidence:{evidence.type}:{evidence.value}"
    return "word"


def is_own_word(ground: str) -> bool:
    """True for the key of a contradiction by a word or evidence, and not by another memory."""
    return not ground.startswith("memory:")


class _Folding:
    """A memory under construction: mutable inside `fold`, and nowhere else."""

    __slots__ = tuple(attribute.name for attribute in fields(MemoryState))
    id: str
    kind: str
    origin: Origin
    external_ids: tuple[tuple[str, str], ...]
    text: Text
    attributes: Payload
    tags: tuple[str, ...]
    edges: Edges
    confidence: Belief
    evidence: tuple[Supported, ...]
    importance: Importance
    lifecycle: Life
    visibility: Visibility
    lifetime: Lifetime
    validity: Validity
    absorbed: dict[str, Absorbed]
    revision: int
    position: int
    updated_at: datetime
    redacted: bool
    touched: dict[FieldGroup, int]

    def __init__(self, start: MemoryState | RecordedEvent) -> None:
        if isinstance(start, MemoryState):
            for name, value in zip(_Folding.__slots__, _all_of(start), strict=True):
                setattr(self, name, value)
            self.absorbed = dict(start.absorbed)
        else:
            self.begin(start)

    def frozen(self) -> MemoryState:
        return MemoryState(*_all_of(self))

    def begin(self, first: RecordedEvent) -> None:
        """The empty memory of a stream; also what is left of it when its first payload was erased."""
        self.id, self.kind = first.stream, ""
        self.origin = Origin(None, first.occurred_at, first.recorded_at, first.position, first.batch_id)
        self.external_ids = ()
        self.text, self.attributes, self.tags, self.edges = Text(), Payload(), (), Edges()
        self.confidence, self.evidence, self.importance = Belief(0.0), (), Importance()
        self.lifecycle, self.visibility, self.lifetime, self.validity = Life(), private(), standard(), Validity()
        self.absorbed, self.touched = {}, {}
        self.revision, self.position, self.updated_at = 0, first.position, first.occurred_at
        self.redacted = False

    def take(self, recorded: RecordedEvent, upcast: Upcast | None) -> None:
        event = recorded.event
        self.revision, self.position = recorded.version, recorded.position
        match event:
            case MemoryConfirmed():
                self.confirm(event, recorded)
            case MemoryLinked():
                link = Link(event.relation, event.target)
                if link not in self.edges.links:
                    self.relink({**self.edges.links, link: recorded.position})
            case MemoryTagged():
                kept = [tag for tag in self.tags if tag not in event.removed]
                self.tags = tuple(dict.fromkeys([*kept, *event.added]))
            case MemoryEvidenceAdded():
                self.support(event.evidence, recorded)
                if event.weight is not None:
                    self.raise_confidence(event.weight, event.cap, recorded.occurred_at if event.vouched else None)
            case MemoryCreated():
                self.begin_again(_begun(event, recorded))
            case MemoryEdited():
                self.text = Text(
                    self.text.title if event.title is UNSET else event.title,
                    self.text.content if event.content is UNSET else event.content,
                )
                self.redacted = self.redacted or event.redactions > 0
            case MemoryAttributesUpdated():
                self.update(event, upcast)
            case MemoryContradicted():
                self.contradict(event, recorded)
            case MemoryImportanceAdjusted():
                self.importance = Importance(
                    self.importance.pinned if event.pinned is UNSET else event.pinned,
                    self.importance.user_weight if event.user_weight is UNSET else event.user_weight,
                )
            case MemoryVisibilityChanged():
                self.visibility = event.visibility
            case MemoryLifetimeChanged():
                self.lifetime = event.lifetime
            case MemoryValidityChanged():
                self.validity = event.validity
            case MemoryUnlinked():
                gone = Link(event.relation, event.target)
                self.relink({link: at for link, at in self.edges.links.items() if link != gone})
            case MemorySuperseded():
                self.supersede(event)
            case MemoryArchived():
                self.live(stored=StoredStatus.ARCHIVED, because=event.because)
            case MemoryRestored():
                self.live(stored=StoredStatus.ACTIVE, because=None)
                if event.lifetime is not None:
                    self.lifetime = event.lifetime
            case MemoryDeleted():
                self.live(stored=StoredStatus.DELETED, because=None, merged_into=self.lifecycle.merged_into)
            case MemoryErased():
                self.erase(event)
            case MemoryMerged():
                self.absorbed.setdefault(event.source, Absorbed())
            case MemoryAbsorbed():
                self.absorbed[event.source] = Absorbed(event.aliases, event.tags, event.through)
            case MemoryMergedInto():
                self.live(stored=StoredStatus.ARCHIVED, because=ArchiveReason.MERGED, merged_into=event.survivor)
            case MemoryUnmerged():
                if event.source == self.id:
                    self.live(stored=StoredStatus.ACTIVE, because=None, merged_into=None)
                else:
                    self.part(event.source)
            case MemoryReverted():
                self.revert(event)
            case ContradictionResolved():
                resolution = Resolution(event.keep, recorded.position)
                self.edges = Edges(
                    self.edges.links, {**self.edges.resolved, event.other: resolution}, self.edges.distinct
                )
            case MarkedDistinct():
                self.edges = Edges(self.edges.links, self.edges.resolved, self.edges.distinct | {event.other})
            case (
                MemoriesAccessed()
                | MemoryNoted()
                | ProposalOpened()
                | DraftAdded()
                | ProposalRebased()
                | ProposalMerged()
                | ProposalRejected()
                | ProposalWithdrawn()
                | ProposalUndone()
                | ErasedPayload()
                | UnknownEvent()
            ):
                return
            case _:
                assert_never(event)
        self.updated_at = max(self.updated_at, recorded.occurred_at)
        touched = dict.fromkeys(groups_touched(event, recorded.stream), recorded.version)
        self.touched = {**self.touched, **touched} if self.touched else touched

    def begin_again(self, begun: MemoryState) -> None:
        """As a second creation has it, which only a foreign log can hold; what was absorbed stays."""
        for name, value in zip(_Folding.__slots__, _all_of(begun), strict=True):
            if name not in {"absorbed", "touched"}:
                setattr(self, name, value)

    def update(self, event: MemoryAttributesUpdated, upcast: Upcast | None) -> None:
        raw, version = self.attributes.raw, self.attributes.version
        if version < event.attributes_version and upcast is not None:
            # A kind or version that is not known here is refused by whoever reads the attributes; a fold goes on.
            with suppress(EngramError):
                raw = upcast(self.kind, raw, version)
        changed = {**raw, **event.changes}
        self.attributes = Payload(
            max(version, event.attributes_version),
            {key: value for key, value in changed.items() if value is not None},
        )
        self.redacted = self.redacted or event.redactions > 0
        if event.confidence_cap is not None and self.confidence.confidence > event.confidence_cap:
            self.believe(event.confidence_cap)

    def confirm(self, event: MemoryConfirmed, recorded: RecordedEvent) -> None:
        self.raise_confidence(event.weight, event.cap, recorded.occurred_at if event.vouched else None)
        speaker = recorded.on_behalf_of or recorded.actor
        if speaker is None:
            return
        b = self.confidence
        by_user = speaker.kind is ActorKind.USER
        last = max(recorded.occurred_at, b.confirmed.get(speaker, recorded.occurred_at))
        self.confidence = Belief(
            b.confidence,
            b.last_confirmed_at,
            {**b.confirmed, speaker: last},
            b.disputes,
            recorded.position if by_user else b.user_confirmed,
            b.disputed,
        )

    def contradict(self, event: MemoryContradicted, recorded: RecordedEvent) -> None:
        b = self.confidence
        speaker = recorded.on_behalf_of or recorded.actor
        disputes = b.disputes if speaker is None else b.disputes | {(speaker, dispute_key(event.by, event.evidence))}
        self.confidence = Belief(
            arithmetic.contradicted(b.confidence, event.weight, event.floor),
            b.last_confirmed_at,
            b.confirmed,
            disputes,
            b.user_confirmed,
            recorded.position,
        )
        if event.by is not None:
            # A dispute that was ended is open again: its edge begins anew.
            self.relink({**self.edges.links, Link(Relation.CONTRADICTS, event.by): recorded.position})

    def raise_confidence(self, weight: float, cap: float, vouched_at: datetime | None) -> None:
        b = self.confidence
        last = b.last_confirmed_at
        if vouched_at is not None:
            # Nobody vouches for a memory before it began, and so nothing fades by being confirmed.
            last = max(vouched_at, last or self.origin.created_at)
        self.confidence = Belief(
            arithmetic.confirmed(b.confidence, weight, cap),
            last,
            b.confirmed,
            b.disputes,
            b.user_confirmed,
            b.disputed,
        )

    def believe(self, confidence: float) -> None:
        b = self.confidence
        self.confidence = Belief(confidence, b.last_confirmed_at, b.confirmed, b.disputes, b.user_confirmed, b.disputed)

    def support(self, ref: EvidenceRef, recorded: RecordedEvent) -> None:
        speaker = recorded.on_behalf_of or recorded.actor
        self.evidence = (*self.evidence, Supported(ref, speaker, recorded.occurred_at))

    def relink(self, links: Mapping[Link, int]) -> None:
        self.edges = Edges(links, self.edges.resolved, self.edges.distinct)

    def supersede(self, event: MemorySuperseded) -> None:
        life = self.lifecycle
        others = tuple(pair for pair in life.superseded if pair[0] != event.by)
        self.lifecycle = Life(life.stored, life.because, (*others, (event.by, event.effective_at)), life.merged_into)
        window = self.validity
        if window.valid_to is None and (window.valid_from is None or window.valid_from < event.effective_at):
            self.validity = Validity(window.valid_from, event.effective_at)

    def live(
        self,
        *,
        stored: StoredStatus,
        because: ArchiveReason | None,
        merged_into: str | None = None,
    ) -> None:
        self.lifecycle = Life(stored, because, self.lifecycle.superseded, merged_into)

    def erase(self, event: MemoryErased) -> None:
        origin = self.origin
        self.kind, self.external_ids = "", ()
        self.text, self.attributes, self.tags, self.edges = Text(), Payload(), (), Edges()
        self.confidence, self.evidence, self.importance = Belief(0.0), (), Importance()
        self.visibility = shared() if event.shared else private()
        self.lifetime, self.validity = standard(), Validity()
        self.lifecycle = Life(StoredStatus.ERASED, merged_into=event.merged_into)
        self.absorbed, self.redacted = {}, False
        self.origin = Origin(None, origin.created_at, origin.recorded_at, origin.position, origin.batch_id)

    def revert(self, event: MemoryReverted) -> None:
        for group, value in event.restored.items():
            setattr(self, group.value, value)
        for source in event.separated:
            self.part(source)

    def part(self, source: str) -> None:
        """A merged source goes, and takes along what came through it."""
        self.absorbed = {
            id: given for id, given in self.absorbed.items() if id != source and source not in given.through
        }


def _begun(event: MemoryCreated, recorded: RecordedEvent) -> MemoryState:
    """The memory that a creation makes."""
    actor, at, weighed = recorded.actor, recorded.occurred_at, event.pinned or event.user_weight is not None
    source = None
    if actor is not None:
        source = Provenance(
            actor=actor,
            on_behalf_of=recorded.on_behalf_of,
            session_id=recorded.session_id,
            client=recorded.client,
            source_ref=event.source_ref,
            redactions=event.redactions,
            redactor=event.redactor,
        )
    speaker = recorded.on_behalf_of or actor
    return MemoryState(
        id=recorded.stream,
        kind=event.kind,
        origin=Origin(source, at, recorded.recorded_at, recorded.position, recorded.batch_id),
        external_ids=event.external_ids,
        text=_NO_TEXT if event.title is None and not event.content else Text(event.title, event.content),
        attributes=Payload(event.attributes_version, event.attributes),
        tags=event.tags,
        edges=Edges(dict.fromkeys(event.links, recorded.position)),
        confidence=Belief(event.confidence),
        evidence=tuple([Supported(ref, speaker, at) for ref in event.evidence]),
        importance=Importance(event.pinned, event.user_weight) if weighed else _NOT_WEIGHED,
        lifecycle=_ALIVE,
        visibility=event.visibility,
        lifetime=event.lifetime,
        validity=event.validity,
        absorbed={},
        revision=recorded.version,
        position=recorded.position,
        updated_at=at,
        redacted=event.redactions > 0,
        touched=dict.fromkeys(groups_touched(event, recorded.stream), recorded.version),
    )


_all_of: Final = attrgetter(*_Folding.__slots__)


def fold(
    events: Iterable[RecordedEvent], state: MemoryState | None = None, *, upcast: Upcast | None = None
) -> MemoryState | None:
    """The state after some more events of one memory's stream.

    Args:
        events: Recorded events of that stream, in version order, after `state`.
        state: The state so far; None before the first event.
        upcast: `KindRegistry.upcast`, applied to a whole payload before a sparse change of a newer schema.

    Returns: The new state; None as long as there were no events.
    Raises: Nothing, whatever the log holds.
    """
    folding: _Folding | None = None
    for recorded in events:
        if folding is None:
            if state is None and type(recorded.event) is MemoryCreated:
                state = _begun(recorded.event, recorded)
                continue
            folding = _Folding(recorded if state is None else state)
        folding.take(recorded, upcast)
    return state if folding is None else folding.frozen()


def evolve(state: MemoryState | None, recorded: RecordedEvent, *, upcast: Upcast | None = None) -> MemoryState | None:
    """The state after one more event; `fold` of several is faster."""
    return fold((recorded,), state, upcast=upcast)
