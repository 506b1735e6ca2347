"""What a new memory may repeat: exact twins, equal titles, overlapping words. Reported, never decided."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from engram_core.audience import sees_all
from engram_core.decider import Context
from engram_core.events import MemoryCreated
from engram_core.identity import word_set
from engram_core.lifecycle import decay_of, is_expired
from engram_core.overlapping import sharing
from engram_core.projections.lanes import VisibleTexts
from engram_core.receipts import PossibleConflict
from engram_core.state import MemoryState
from engram_core.vocab import StoredStatus
from engram_core.work import Work

__all__ = ["Twin", "possible_conflicts", "twin_beside", "twin_of"]

_PORTION = 50
_LOOKED_AT = 200
_NOTICE = "so many memories hold its words that some which share up to {} in 100 of them were not compared with it"
_KEPT = (StoredStatus.ACTIVE, StoredStatus.ARCHIVED)


class Twin(NamedTuple):
    """A memory that says exactly the same to the same audience.

    Attributes:
        memory_id: Which one.
        recallable: False when it is archived, superseded or expired.
        reason: "archived" or "expired" in that case.
    """

    memory_id: str
    recallable: bool
    reason: str = ""


def twin_of(work: Work, created: MemoryCreated, now: datetime) -> Twin | None:
    """The exact duplicate of a new memory, a recallable one first; None if there is none."""
    digest = work.fingerprint(created)
    best: Twin | None = None
    for twin in () if digest is None else _twins(work, digest, now):
        if twin.recallable:
            return twin
        best = best or twin
    return best


def twin_beside(work: Work, memory: MemoryState, since: int, now: datetime) -> str | None:
    """A recallable exact duplicate of a recallable memory that was not there yet, or not active, at a position."""
    digest = work.fingerprint_of(memory) if not memory.redacted and _is_recallable(work, memory, now) else None
    for twin in () if digest is None else _twins(work, digest, now):
        if twin.recallable and twin.memory_id != memory.id:
            was = work.tx.execute(_STORED_AT, {"id": twin.memory_id, "since": since}).fetchone()
            if was is None or was[0] != StoredStatus.ACTIVE:
                return twin.memory_id
    return None


_STORED_AT = """
SELECT stored FROM memories WHERE id = :id AND from_position <= :since
UNION ALL SELECT stored FROM past_memories WHERE id = :id AND from_position <= :since AND to_position > :since
"""


def _twins(work: Work, digest: str, now: datetime) -> Iterator[Twin]:
    """The memories that say what a digest says, the oldest first."""
    rows = work.tx.execute("SELECT id FROM memories WHERE fingerprint = ? ORDER BY key", (digest,)).fetchall()
    begun = [work.fingerprints[digest]] if digest in work.fingerprints else []
    for id in (*begun, *(id for (id,) in rows)):
        state = work.visible(id)
        if state is None or work.fingerprint_of(state) != digest or _is_superseded(work, state, now):
            continue
        stored = state.lifecycle.stored
        if _is_recallable(work, state, now):
            yield Twin(id, recallable=True)
        elif stored in _KEPT:
            yield Twin(id, recallable=False, reason="archived" if stored is StoredStatus.ARCHIVED else "expired")


def _is_recallable(work: Work, memory: MemoryState, now: datetime) -> bool:
    options = work.core.options
    expired = is_expired(memory, now, decay_of(memory.kind, options.policy, options.kinds))
    return memory.lifecycle.stored is StoredStatus.ACTIVE and not expired and not _is_superseded(work, memory, now)


def _is_superseded(work: Work, memory: MemoryState, now: datetime) -> bool:
    """True when a memory that the actor may see, and that is still there, has taken its place."""
    for by, effective_at in memory.lifecycle.superseded:
        other = work.visible(by)
        if effective_at <= now and other is not None and other.lifecycle.stored in _KEPT:
            return True
    return False


def _hint(work: Work, twin: Twin) -> str:
    """The command that would bring a twin back."""
    state = work.state(twin.memory_id)
    if state is not None and state.lifecycle.merged_into is not None:
        return "unmerge(m)"
    return "restore(m)" if twin.reason == "archived" else "restore(m, lifetime=standard())"


def possible_conflicts(
    work: Work, created: MemoryCreated, memory_id: str, twin: Twin | None, ctx: Context
) -> tuple[tuple[PossibleConflict, ...], str]:
    """Memories that the actor may see, and that a new one may repeat or contradict, the surest first; and a notice."""
    found: dict[str, PossibleConflict] = {}
    if twin is not None and not twin.recallable:
        found[twin.memory_id] = PossibleConflict(
            memory_id=twin.memory_id,
            reason=twin.reason,
            overlap=1.0,
            hint=_hint(work, twin),
        )
    if created.title is not None:
        for (id,) in work.tx.execute(
            f"SELECT m.id FROM memories m WHERE m.title = ? AND m.stored = 'active' AND {work.sees('m')}"
            " ORDER BY m.key DESC LIMIT ?",
            (created.title, ctx.policy.review.similar_reported),
        ):
            found.setdefault(id, PossibleConflict(memory_id=id, reason="title", hint="edit it, or supersede it"))
    found.pop(memory_id, None)
    alike, notice = _overlapping(work, created, ctx)
    for conflict in alike:
        found.setdefault(conflict.memory_id, conflict)
    return tuple(found.values()), notice


def _overlapping(work: Work, created: MemoryCreated, ctx: Context) -> tuple[list[PossibleConflict], str]:
    """Memories of the same kind whose words overlap with the new one's, the most alike first; and what limits that."""
    review = ctx.policy.review
    texts = _texts(ctx, created.kind, created.attributes, created.title, created.content)
    words = word_set(texts)
    if not words:
        return [], ""
    visible = VisibleTexts(work.tx, readable="" if sees_all(work.viewer) else work.sees("{row}"))
    keys, missed = sharing(visible, texts, words, review.similar, most=_LOOKED_AT + 1)
    found: list[tuple[float, str]] = []
    for start in range(0, len(keys), _PORTION):
        # Those that follow share no more than so many, which is not enough where as many as are told share more.
        told = sorted(found)[: review.similar_reported]
        if len(told) == review.similar_reported and told and keys[start][1] / len(words) < -told[-1][0]:
            break
        if start >= _LOOKED_AT:
            missed = max(missed, keys[start][1])
            break
        for id, attributes, title, content in work.tx.execute(
            "SELECT m.id, m.attributes, m.title, m.content FROM json_each(?) j CROSS JOIN memories m ON m.key = j.value"
            f" WHERE m.kind = ? AND m.stored = 'active' AND {work.sees('m')}",
            (json.dumps([key for key, _ in keys[start : start + _PORTION]]), created.kind),
        ):
            theirs = word_set(_texts(ctx, created.kind, json.loads(attributes), title, content))
            overlap = len(words & theirs) / len(words | theirs)
            if overlap >= review.similar:
                found.append((-overlap, id))
    alike = [
        PossibleConflict(memory_id=id, reason="similar", overlap=-negative, hint="edit it, or supersede it")
        for negative, id in sorted(found)[: review.similar_reported]
    ]
    return alike, _NOTICE.format(100 * missed // len(words)) if missed else ""


def _texts(ctx: Context, kind: str, raw: Mapping[str, Any], title: str | None, content: str) -> list[str]:
    """The texts of a memory on which its likeness is measured."""
    listed = [title or "", content]
    for name in ctx.kinds.spec(kind).text_fields:
        value = raw.get(name)
        listed += [value] if isinstance(value, str) else list(value or ())
    return [text for text in listed if text]
