"""Ids of other systems: within one audience, at most one memory that is there bears a given one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeGuard

from engram_core.errors import ConflictError
from engram_core.events import MemoryReverted, MemoryVisibilityChanged
from engram_core.state import MemoryState
from engram_core.values import Visibility
from engram_core.vocab import StoredStatus
from engram_core.work import Work

__all__ = ["check_external_ids", "holder"]

_THERE: Final = (StoredStatus.ACTIVE, StoredStatus.ARCHIVED)


def holder(
    work: Work, pairs: Iterable[tuple[str, str]], visibility: Visibility, *, besides: str | None = None
) -> str | None:
    """The memory of an audience that bears one of some external ids after what was decided so far.

    Args:
        work: The submission in progress.
        pairs: (system, id), looked up in this order.
        visibility: The audience.
        besides: A memory that does not count.

    Returns: The oldest such memory's id; None if there is none, archived ones counted, deleted ones not.
    """
    for system, external in pairs:
        rows = work.tx.execute(
            "SELECT m.id FROM external_ids e JOIN memories m ON m.key = e.key"
            " WHERE e.system = ? AND e.external = ? ORDER BY m.key",
            (system, external),
        ).fetchall()
        for id in (*(id for (id,) in rows), *work.externals.get((system, external), ())):
            state = None if id == besides else work.state(id)
            if _is_there(state) and state.visibility == visibility:
                return str(id)
    return None


def check_external_ids(work: Work) -> None:
    """Refuses a batch after which two memories of one audience would bear the same external id.

    A new memory never does: remembering a known id returns its bearer. But a memory may come back, or change its
    audience, while another one bears its id there by now.

    Raises: ConflictError; it names the other memory if the actor may see it.
    """
    moved: dict[str, MemoryState] = {}
    for entry in work.decided:
        if not isinstance(entry.change.event, MemoryVisibilityChanged | MemoryReverted):
            continue
        id = entry.change.stream
        before = work.before(id)
        if before is not None and not before.external_ids:
            continue
        after = work.state(id)
        stayed = _is_there(before) and after is not None and before.visibility == after.visibility
        if _is_there(after) and after.external_ids and not stayed:
            moved[id] = after
    for id, after in moved.items():
        for pair in after.external_ids:
            work.externals.setdefault(pair, []).append(id)
    for id, after in moved.items():
        for pair in after.external_ids:
            other = holder(work, (pair,), after.visibility, besides=id)
            if other is not None:
                shown = work.visible(other) is not None
                named = other if shown else "another memory"
                raise ConflictError(
                    f"{named} of the same audience bears the external id {pair[1]!r} of {pair[0]!r} already",
                    hint="delete one of the two, or give them different audiences",
                    memory_id=id,
                    **({"other_id": other} if shown else {}),
                )


def _is_there(state: MemoryState | None) -> TypeGuard[MemoryState]:
    return state is not None and state.lifecycle.stored in _THERE
