"""What happened in a stretch of time, and what changed in what is believed between two views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.events import RecordedEvent
from engram_core.filters import Span
from engram_core.reads.listing import check_limit, page, read_cursor
from engram_core.reads.memories import by_keys
from engram_core.reads.past import rows_of, seen_events
from engram_core.reads.snapshot import Snapshot
from engram_core.results.accounts import Diff, DiffRow
from engram_core.results.listings import Page
from engram_core.results.memory import Memory

__all__ = ["diff", "timeline"]

_COMPARED: Final = (
    "title", "content", "attributes", "tags", "links", "evidence", "confidence", "pinned", "user_weight", "lifetime",
    "visibility", "validity", "status", "flags",
)  # fmt: skip


def timeline(snapshot: Snapshot, span: Span, *, limit: int = 1_000, after: str | None = None) -> Page[Memory[Any]]:
    """What happened in a stretch: episodes that lie in it or reach into it, and what was remembered in it otherwise.

    Returns: Active and stale memories by the instant of the episode, else of creation; ties end in the id.
    Raises: InvalidAttributesError.
    """
    limit = check_limit(limit, snapshot.library.limits)
    sql = snapshot.sql
    more: dict[str, Any] = {"limit": limit + 1, "start": span.start, "end": span.end}
    # Each half has its own index; only episodes have happened.
    episodes = f"{sql.recallable('m')} AND m.happened_from < :end AND m.happened_to >= :start"
    others = f"{sql.recallable('m')} AND m.happened_from IS NULL AND m.created_at < :end AND m.created_at >= :start"
    query = f"timeline:{span.start}:{span.end}"
    beyond = ""
    if after is not None:
        cursor = read_cursor(after, query, 1)
        more["after_value"], more["after_id"] = cursor.values[0], cursor.id
        beyond = " AND ({at}, m.id) > (:after_value, :after_id)"
    chosen = (
        f"SELECT m.key, m.id, m.happened_from FROM memories m WHERE {episodes}{beyond.format(at='m.happened_from')}"
        f" UNION ALL SELECT m.key, m.id, m.created_at FROM memories m WHERE {others}{beyond.format(at='m.created_at')}"
        " ORDER BY 3, 2 LIMIT :limit"
    )
    return page(snapshot, snapshot.all(chosen, more), limit, query)


def diff(before: Snapshot, after: Snapshot) -> Diff:
    """What is believed in one reading and not, or otherwise, in another of the same viewer.

    Believed is what is active or stale.
    """
    if before.point.actor != after.point.actor:
        raise InvalidAttributesError("diff", [Problem("other", "must be a view of the same actor")])
    old, new = _believed(before), _believed(after)
    changed = {key for key in old.keys() & new.keys() if old[key] != new[key]}
    gone, appeared = old.keys() - new.keys(), new.keys() - old.keys()
    were = by_keys(before, changed | gone | appeared)
    are = by_keys(after, changed | gone | appeared)
    rows = []
    for keys, change in ((appeared, "appeared"), (gone, "gone"), (changed, "changed")):
        for key in keys:
            row = _row(change, were.get(key), are.get(key), before, after)
            if row is not None:
                rows.append(row)
    return Diff(tuple(sorted(rows, key=_in_order)))


def _believed(snapshot: Snapshot) -> dict[int, tuple[Any, ...]]:
    """Of what is believed, by key, what tells whether it is believed in the same way.

    Edges of others may raise a flag without touching the memory; whatever has such edges is always looked into.
    """
    sql = snapshot.sql
    rows = snapshot.all(
        f"SELECT m.key, m.revision, m.stale_at <= :now, EXISTS (SELECT 1 FROM links l WHERE l.source = m.key AND"
        " l.relation IN ('contradicts', 'derived_from')) OR EXISTS (SELECT 1 FROM links l WHERE l.target = m.key AND"
        f" l.relation = 'contradicts') FROM memories m WHERE {sql.recallable('m')}"
    )
    return {key: (id(snapshot),) if contested else (revision, stale) for key, revision, stale, contested in rows}


def _row(
    change: str, was: Memory[Any] | None, is_now: Memory[Any] | None, before: Snapshot, after: Snapshot
) -> DiffRow | None:
    known = was or is_now
    assert known is not None
    fields: tuple[str, ...] = ()
    if was is not None and is_now is not None:
        fields = tuple(name for name in _COMPARED if getattr(was, name) != getattr(is_now, name))
        if change == "changed" and not fields:
            return None
    later, earlier = (after, before) if after.known >= before.known else (before, after)
    events: tuple[RecordedEvent, ...] = ()
    if later.known > earlier.known:
        try:
            events = tuple(event for event in seen_events(later, known.id) if event.position > earlier.known)
        except LookupError:
            events = ()
    return DiffRow(
        change=change,
        memory_id=known.id,
        before=was,
        after=is_now,
        fields=fields,
        because=rows_of(later, events),
    )


_RANK: Final = {"appeared": 0, "gone": 1, "changed": 2}
_in_order: Callable[[DiffRow], tuple[int, str]] = lambda row: (_RANK[row.change], row.memory_id)
