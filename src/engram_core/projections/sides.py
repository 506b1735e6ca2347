"""What hangs on a memory beside its row: tags, edges, supersessions, what was settled, ids of importers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from engram_core.projections.rows import cleaned, is_bare
from engram_core.state import MemoryState
from engram_core.values import to_micros
from engram_core.vocab import StoredStatus

__all__ = ["EDGES", "difference", "external_ids", "primary", "tags"]

_LIVE: Final = (StoredStatus.ACTIVE, StoredStatus.ARCHIVED)
_EMPTY: Final[dict[Any, Any]] = {}


def primary(table: str, key: int, other: int, what: str) -> tuple[Any, ...]:
    """The primary key of a row between two memories."""
    match table:
        case "links":
            return key, what, other
        case "settled":
            return key, other, what
        case _:
            return key, other


def tags(state: MemoryState | None) -> dict[str, None]:
    """Its tags and those of what it absorbed."""
    if state is None or not (state.tags or state.absorbed) or is_bare(state):
        return _EMPTY
    return dict.fromkeys(cleaned(tag) for tag in state.all_tags)


def external_ids(state: MemoryState | None) -> tuple[tuple[str, str], ...]:
    """The ids that importers gave it, as long as it is there."""
    if state is None or not state.external_ids or is_bare(state) or state.lifecycle.stored not in _LIVE:
        return ()
    return tuple((cleaned(system), cleaned(id)) for system, id in state.external_ids)


def _links(state: MemoryState | None) -> dict[tuple[str, str], tuple[Any, ...]]:
    if state is None or not state.edges.links or is_bare(state):
        return _EMPTY
    return {(link.target, link.relation.value): (began,) for link, began in state.edges.links.items()}


def _supersessions(state: MemoryState | None) -> dict[tuple[str, str], tuple[Any, ...]]:
    if state is None or not state.lifecycle.superseded or is_bare(state):
        return _EMPTY
    return {(new, ""): (to_micros(effective_at),) for new, effective_at in state.lifecycle.superseded}


def _settled(state: MemoryState | None) -> dict[tuple[str, str], tuple[Any, ...]]:
    if state is None or not (state.edges.resolved or state.edges.distinct) or is_bare(state):
        return _EMPTY
    resolved = state.edges.resolved.items()
    return {
        **{(other, "resolved"): (how.keep, how.position) for other, how in resolved},
        **{(other, "distinct"): (None, None) for other in sorted(state.edges.distinct)},
    }


EDGES: Final[tuple[tuple[str, Callable[[MemoryState | None], dict[tuple[str, str], tuple[Any, ...]]]], ...]] = (
    ("links", _links),
    ("supersessions", _supersessions),
    ("settled", _settled),
)
"""Tables whose rows lead to another memory: what a state holds of each, as {(other id, what): values}."""


def difference(old: dict[Any, Any], new: dict[Any, Any]) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """What went, and what came with its values; what changed did both."""
    if old is new or old == new:
        return [], []
    if not old:
        return [], list(new.items())
    gone = [name for name, value in old.items() if name not in new or new[name] != value]
    come = [(name, value) for name, value in new.items() if name not in old or old[name] != value]
    return gone, come
