"""The export of a subject: what the space holds about it, with its history, as JSON can hold it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from enum import Enum
from typing import Any

from attrs import fields, has

from engram_core import wire
from engram_core.core import Core
from engram_core.erasing import SubjectExport
from engram_core.erasure_plans import proposals_about, subject_plan
from engram_core.events import ErasedPayload, RecordedEvent, UnknownEvent
from engram_core.values import PartialDate, instant_text

__all__ = ["export_subject", "to_plain"]


def export_subject(core: Core, subject: str) -> SubjectExport:
    """All memories that concern a subject alone, with their history and every draft; ids of those it shares."""
    with core.host.reading() as tx:
        ids, _, shared = subject_plan(core, tx, subject)
        asked = proposals_about(tx, ids)
    memories = []
    for id in ids:
        state = core.state_of(id)
        if state is None:
            continue
        memories.append(
            {
                "id": id,
                "kind": state.kind,
                "status": state.lifecycle.stored.value,
                "title": state.text.title,
                "content": state.text.content,
                "attributes": dict(state.attributes.raw),
                "tags": list(state.all_tags),
                "links": [[link.relation.value, link.target] for link in state.edges.links],
                "evidence": [to_plain(item) for item in state.evidence],
                "confidence": state.confidence.confidence,
                "visibility": state.visibility.kind.value,
                "created_at": instant_text(state.origin.created_at),
                "updated_at": instant_text(state.updated_at),
                "source": to_plain(state.origin.source),
                "history": [_told(event) for event in core.log.stream(id)],
            }
        )
    return SubjectExport(
        subject_id=subject, memories=tuple(memories), drafts=_drafts(core, asked, set(ids)), shared=shared
    )


def _drafts(core: Core, proposal_ids: Iterable[str], ids: set[str]) -> tuple[dict[str, Any], ...]:
    """What was asked about some memories, whatever became of it."""
    found = []
    for proposal_id in proposal_ids:
        proposal = core.proposal_of(proposal_id)
        for draft in () if proposal is None else proposal.drafts:
            if draft.memory_id in ids and draft.command is not None:
                told = {"proposal_id": proposal_id, "number": draft.number, "memory_id": draft.memory_id}
                asked = wire.encode_command(draft.command)
                found.append({**told, "status": draft.status.value, "command": asked})
    return tuple(found)


def _told(recorded: RecordedEvent) -> dict[str, Any]:
    event = recorded.event
    payload = {} if isinstance(event, ErasedPayload | UnknownEvent) else wire.encode(event)
    return {
        "type": recorded.type,
        "occurred_at": instant_text(recorded.occurred_at),
        "recorded_at": instant_text(recorded.recorded_at),
        "actor": None if recorded.actor is None else str(recorded.actor),
        "payload": payload,
    }


def to_plain(value: Any) -> Any:
    """A value of the model as JSON can hold it; for reading, not for reading back."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return instant_text(value)
    if isinstance(value, date | PartialDate):
        return str(value)
    if has(type(value)):
        return {a.name: to_plain(getattr(value, a.name)) for a in fields(type(value))}
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(item) for item in value]
    return value
