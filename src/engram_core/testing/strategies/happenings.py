"""Strategies for commands, events and histories: any event in any order, since whatever a log holds must fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from engram_core import commands as c
from engram_core import events as ev
from engram_core import state
from engram_core.decider import Context
from engram_core.kinds import KINDS, KindRegistry
from engram_core.policy import Limits, Policy
from engram_core.testing.scenario import START, recorded_event
from engram_core.testing.strategies.values import (
    actors,
    evidence,
    instants,
    lifetimes,
    links,
    memory_ids,
    raw_attributes,
    tags,
    texts,
    validities,
    visibilities,
)
from engram_core.values import UNSET, Actor
from engram_core.vocab import ArchiveReason, FieldGroup, Relation, StoredStatus

__all__ = ["command_of", "commands", "contexts", "event_of", "events", "groups", "histories", "recorded_events"]

_STREAMS: Final = ("a", "b", "c")


# -- commands and events ----------------------------------------------------------------------------

_shares = st.floats(0, 1)
_weights = st.floats(0, 1, exclude_min=True)
_notes = st.sampled_from(["", "because"])
_some_links = st.lists(links(), max_size=3, unique=True).map(tuple)
_some_evidence = st.lists(evidence(), max_size=2).map(tuple)
_external = st.lists(st.tuples(texts(blank=False, max_size=3), texts(blank=False, max_size=3)), max_size=2).map(tuple)
_unset = st.just(UNSET)
_changes = st.dictionaries(
    st.sampled_from(["statement", "strength", "notes"]), st.one_of(st.none(), texts(blank=False), _shares), max_size=2
)
_spine: Final[Mapping[str, SearchStrategy[Any]]] = {
    "title": st.none() | texts(blank=False).map(str.strip),
    "content": texts(),
    "tags": tags(),
    "links": _some_links,
    "evidence": _some_evidence,
    "pinned": st.booleans(),
    "user_weight": st.none() | _shares,
    "lifetime": lifetimes(),
    "visibility": visibilities(),
    "external_ids": _external,
    "source_ref": st.none() | texts(max_size=5),
    "redactions": st.integers(0, 2),
    "redactor": st.none() | texts(max_size=5),
}
_editing: Final[Mapping[str, SearchStrategy[Any]]] = {
    "title": _unset | st.none() | texts(blank=False).map(str.strip),
    "content": _unset | texts(),
    "redactions": st.integers(0, 2),
}
_weighing: Final[Mapping[str, SearchStrategy[Any]]] = {
    "pinned": _unset | st.booleans(),
    "user_weight": _unset | st.none() | _shares,
}


def _remember(cls: type[Any], **more: SearchStrategy[Any]) -> SearchStrategy[Any]:
    def built(raw: tuple[str, int, Mapping[str, Any]], given: Mapping[str, Any]) -> Any:
        kind, version, payload = raw
        return cls(kind=kind, attributes=payload, attributes_version=version, **given)

    return st.builds(built, raw_attributes(), st.fixed_dictionaries({**_spine, **more}))


@cache
def _commands() -> Mapping[type[Any], SearchStrategy[Any]]:
    id = memory_ids()
    return {
        c.Remember: _remember(
            c.Remember,
            memory_id=memory_ids(),
            own_id=st.booleans(),
            confidence=st.none() | _shares,
            validity=st.none() | validities(),
            on_duplicate=st.sampled_from(["return", "confirm", "create"]),
        ),
        c.Edit: st.builds(c.Edit, id, **_editing),
        c.UpdateAttributes: st.builds(c.UpdateAttributes, id, _changes),
        c.AddEvidence: st.builds(c.AddEvidence, id, evidence(), st.booleans()),
        c.Confirm: st.builds(c.Confirm, id, st.none() | evidence()),
        c.Contradict: st.builds(c.Contradict, id, st.none() | memory_ids(), st.none() | evidence(), _notes),
        c.AdjustImportance: st.builds(c.AdjustImportance, id, **_weighing),
        c.Tag: st.builds(c.Tag, id, tags(), tags()),
        c.AddLink: st.builds(c.AddLink, id, st.sampled_from(Relation), memory_ids(), st.booleans()),
        c.RemoveLink: st.builds(c.RemoveLink, id, st.sampled_from(Relation), memory_ids()),
        c.SetVisibility: st.builds(c.SetVisibility, id, visibilities()),
        c.SetLifetime: st.builds(c.SetLifetime, id, lifetimes()),
        c.SetValidity: st.builds(c.SetValidity, id, *[_unset | st.none() | instants()] * 2),
        c.Supersede: st.builds(c.Supersede, id, memory_ids(), st.none() | instants()),
        c.Merge: st.builds(c.Merge, id, memory_ids()),
        c.Unmerge: st.builds(c.Unmerge, id),
        c.MarkDistinct: st.builds(c.MarkDistinct, id, memory_ids()),
        c.Resolve: st.builds(c.Resolve, id, memory_ids(), st.sampled_from([*_STREAMS, "both"]), _notes),
        c.Archive: st.builds(c.Archive, id, st.sampled_from(ArchiveReason), _notes),
        c.Restore: st.builds(c.Restore, id, st.none() | lifetimes()),
        c.Delete: st.builds(c.Delete, id, _notes),
    }


@cache
def groups() -> SearchStrategy[Mapping[FieldGroup, Any]]:
    """Some field groups with a whole value each, as undo restores them."""
    positions = st.integers(0, 99)
    actor = actors()
    life = st.builds(
        state.Life,
        st.sampled_from(StoredStatus),
        st.none() | st.sampled_from(ArchiveReason),
        st.lists(st.tuples(memory_ids(), instants()), max_size=2).map(tuple),
        st.none() | memory_ids(),
    )
    edges = st.builds(
        state.Edges,
        st.dictionaries(links(), positions, max_size=3),
        st.dictionaries(memory_ids(), st.builds(state.Resolution, memory_ids(), positions), max_size=2),
        st.frozensets(memory_ids()),
    )
    belief = st.builds(
        state.Belief,
        _shares,
        st.none() | instants(),
        st.dictionaries(actor, instants(), max_size=2),
        st.frozensets(st.tuples(actor, texts()), max_size=2),
        positions,
        positions,
    )
    supported = st.builds(state.Supported, evidence(), st.none() | actor, instants())
    return st.fixed_dictionaries(
        {},
        optional={
            FieldGroup.TEXT: st.builds(state.Text, st.none() | texts(blank=False), texts()),
            FieldGroup.ATTRIBUTES: raw_attributes().map(lambda raw: state.Payload(raw[1], raw[2])),
            FieldGroup.TAGS: tags(),
            FieldGroup.EDGES: edges,
            FieldGroup.CONFIDENCE: belief,
            FieldGroup.EVIDENCE: st.lists(supported, max_size=2).map(tuple),
            FieldGroup.IMPORTANCE: st.builds(state.Importance, st.booleans(), st.none() | _shares),
            FieldGroup.LIFECYCLE: life,
            FieldGroup.VISIBILITY: visibilities(),
            FieldGroup.LIFETIME: lifetimes(),
            FieldGroup.VALIDITY: validities(),
        },
    )


@cache
def _events() -> Mapping[type[Any], SearchStrategy[Any]]:
    id, relation = memory_ids(), st.sampled_from(Relation)
    names = st.lists(texts(blank=False, max_size=8), max_size=2).map(tuple)
    numbers = st.lists(st.integers(1, 4), max_size=3, unique=True).map(tuple)
    return {
        ev.MemoryCreated: _remember(ev.MemoryCreated, confidence=_shares, validity=validities()),
        ev.MemoryEdited: st.builds(ev.MemoryEdited, **_editing),
        ev.MemoryAttributesUpdated: st.builds(
            ev.MemoryAttributesUpdated, _changes, st.integers(1, 3), st.none() | _shares
        ),
        ev.MemoryConfirmed: st.builds(ev.MemoryConfirmed, _weights, _shares, st.booleans()),
        ev.MemoryContradicted: st.builds(
            ev.MemoryContradicted, _weights, _shares, st.none() | memory_ids(), st.none() | evidence(), _notes
        ),
        ev.MemoryEvidenceAdded: st.builds(
            ev.MemoryEvidenceAdded, evidence(), st.none() | _weights, _shares, st.booleans()
        ),
        ev.MemoryImportanceAdjusted: st.builds(ev.MemoryImportanceAdjusted, **_weighing),
        ev.MemoryVisibilityChanged: st.builds(ev.MemoryVisibilityChanged, visibilities()),
        ev.MemoryLifetimeChanged: st.builds(ev.MemoryLifetimeChanged, lifetimes()),
        ev.MemoryValidityChanged: st.builds(ev.MemoryValidityChanged, validities()),
        ev.MemoryTagged: st.builds(ev.MemoryTagged, tags(), tags()),
        ev.MemoryLinked: st.builds(ev.MemoryLinked, relation, id),
        ev.MemoryUnlinked: st.builds(ev.MemoryUnlinked, relation, id),
        ev.MemorySuperseded: st.builds(ev.MemorySuperseded, id, instants()),
        ev.MemoryArchived: st.builds(ev.MemoryArchived, st.sampled_from(ArchiveReason), _notes),
        ev.MemoryRestored: st.builds(ev.MemoryRestored, st.none() | lifetimes()),
        ev.MemoryDeleted: st.builds(ev.MemoryDeleted, _notes),
        ev.MemoryErased: st.builds(ev.MemoryErased, names, _notes, _notes, st.booleans(), st.none() | id),
        ev.MemoryMerged: st.builds(ev.MemoryMerged, id),
        ev.MemoryAbsorbed: st.builds(
            ev.MemoryAbsorbed, id, names, tags(), st.lists(id, max_size=2, unique=True).map(tuple)
        ),
        ev.MemoryMergedInto: st.builds(ev.MemoryMergedInto, id),
        ev.MemoryUnmerged: st.builds(ev.MemoryUnmerged, id, id),
        ev.MemoryReverted: st.builds(
            ev.MemoryReverted,
            texts(max_size=3),
            groups(),
            st.lists(id, max_size=2, unique=True).map(tuple),
            st.booleans(),
        ),
        ev.ContradictionResolved: st.builds(ev.ContradictionResolved, id, st.sampled_from([*_STREAMS, "both"]), _notes),
        ev.MemoryNoted: st.builds(ev.MemoryNoted, id, _notes, st.none() | evidence()),
        ev.MarkedDistinct: st.builds(ev.MarkedDistinct, id),
        ev.MemoriesAccessed: st.builds(
            ev.MemoriesAccessed, st.lists(st.tuples(id, st.integers(1, 9), instants()), max_size=3).map(tuple)
        ),
        ev.ProposalOpened: st.builds(ev.ProposalOpened, texts(), texts(), _some_evidence),
        ev.DraftAdded: st.builds(ev.DraftAdded, st.integers(1, 4), commands(), id, st.integers(0, 9), instants()),
        ev.ProposalRebased: st.builds(
            ev.ProposalRebased, st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), max_size=3).map(tuple)
        ),
        ev.ProposalMerged: st.builds(ev.ProposalMerged, numbers, st.booleans()),
        ev.ProposalRejected: st.builds(ev.ProposalRejected, numbers, _notes),
        ev.ProposalWithdrawn: st.builds(ev.ProposalWithdrawn, _notes),
        ev.ProposalUndone: st.builds(ev.ProposalUndone, texts(max_size=3), numbers, st.booleans()),
    }


def command_of(cls: type[Any]) -> SearchStrategy[Any]:
    """Commands of one class."""
    return st.deferred(lambda: _commands()[cls])


@cache
def commands() -> SearchStrategy[c.Command]:
    """Commands of every class, about few memories."""
    return st.one_of([command_of(cls) for cls in c.COMMANDS])


def event_of(cls: type[Any]) -> SearchStrategy[Any]:
    """Events of one class that is written."""
    return st.deferred(lambda: _events()[cls])


@cache
def events() -> SearchStrategy[ev.Event]:
    """Events of every class, and what stands for an erased or an unknown one."""
    written = [event_of(cls) for cls in ev.EVENTS]
    erased = st.sampled_from([cls.__name__ for cls in ev.EVENTS]).map(ev.ErasedPayload)
    return st.one_of(*written, erased, st.just(ev.UnknownEvent("Later", 1, "{}")))


# -- histories and contexts -------------------------------------------------------------------------


@st.composite
def histories(
    draw: st.DrawFn,
    *,
    streams: Sequence[str] = _STREAMS,
    min_size: int = 0,
    max_size: int = 12,
    begun: bool = False,
    of: Callable[[], SearchStrategy[Any]] = events,
) -> tuple[ev.RecordedEvent, ...]:
    """Any events in any order, with honest envelopes: whatever a log may hold must fold.

    Args:
        streams: In which streams they stand.
        min_size, max_size: How many at least and at most, beside the beginnings.
        begun: Whether every stream begins with a creation.
        of: Gives the events.
    """
    chosen: list[tuple[str, Any]] = [(stream, draw(event_of(ev.MemoryCreated))) for stream in streams if begun]
    chosen += draw(st.lists(st.tuples(st.sampled_from(streams), of()), min_size=min_size, max_size=max_size))
    versions: dict[str, int] = {}
    told = []
    for position, (stream, event) in enumerate(chosen, start=1):
        versions[stream] = versions.get(stream, 0) + 1
        told.append(
            recorded_event(
                event,
                stream=stream,
                version=versions[stream],
                position=position,
                at=START + timedelta(hours=draw(st.integers(-50, 50))),
                recorded_at=START + timedelta(minutes=position),
                by=draw(actors()),
                on_behalf_of=draw(st.none() | actors()),
            )
        )
    return tuple(told)


def recorded_events() -> SearchStrategy[ev.RecordedEvent]:
    """Single events with their envelopes, each the last of a history."""
    return histories(min_size=1, max_size=3).map(lambda history: history[-1])


def contexts(kinds: KindRegistry = KINDS) -> SearchStrategy[Context]:
    """Who decides and when: any actor, near the time of the histories, by the usual rules."""

    def context(actor: Actor, hours: int) -> Context:
        now = START + timedelta(hours=hours)
        return Context(now=now, occurred_at=now, actor=actor, policy=Policy(), limits=Limits(), kinds=kinds)

    return st.builds(context, actors(), st.integers(-10, 100))
