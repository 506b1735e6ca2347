"""Where the review queue begins: the few that may wait for a reason, found by index, as SQL.

Each gives at least all that do wait, whoever looks: the query that goes on from there decides. In the past, where the
present's indexes say nothing, some begin at everything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from engram_core.projections.schema import FALLEN
from engram_core.reads.snapshot import Snapshot

__all__ = ["Listed", "called_alike", "reached_alike", "replacing", "resting", "unowned"]

_FEW: Final = 1_024

_GONE: Final = "SELECT g.key FROM memories g WHERE g.stored NOT IN ('active', 'archived')"
_DERIVED: Final = "SELECT l.source FROM links l WHERE l.relation = 'derived_from'"
_SHAKY: Final = (
    f"{_GONE} UNION ALL SELECT key FROM memories WHERE {FALLEN}"
    " UNION ALL SELECT d.key FROM memories d WHERE d.doubted = 1"
    " UNION ALL SELECT c.source FROM links c WHERE c.relation = 'contradicts'"
    " UNION ALL SELECT c.target FROM links c WHERE c.relation = 'contradicts'"
)


class Listed(NamedTuple):
    """Keys to which a query is kept; None: it is kept to nothing."""

    keys: list[int] | None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Those of `sql`."""
        return {} if self.keys is None else {"listed": json.dumps(self.keys)}

    def sql(self, column: str) -> str:
        """The condition, with the AND before it."""
        return "" if self.keys is None else f" AND {column} IN (SELECT value FROM json_each(:listed))"


def _is_past(snapshot: Snapshot) -> bool:
    return snapshot.parameters["known"] is not None


def resting(snapshot: Snapshot) -> Listed:
    """What may be undermined: found from what is derived, or from what may have given way, whichever is less."""
    if _is_past(snapshot) or not _is_more(snapshot, _DERIVED, _SHAKY):
        return Listed(None)
    above = (
        "SELECT DISTINCT l.source FROM ({}) s CROSS JOIN links l ON l.target = s.key AND l.relation = 'derived_from'"
    )
    level = [key for (key,) in snapshot.all(above.format(_SHAKY))]
    found = set(level)
    while level:
        rows = snapshot.all(above.format("SELECT value AS key FROM json_each(:level)"), {"level": json.dumps(level)})
        level = [key for (key,) in rows if key not in found]
        found.update(level)
    return Listed(sorted(found))


def replacing(snapshot: Snapshot) -> str:
    """Supersessions `s` and what superseded, `n`, as a join: begun at the gone, or at all, if these are less."""
    if _is_past(snapshot) or not _is_more(snapshot, "SELECT s.new FROM supersessions s", _GONE):
        return "supersessions s CROSS JOIN memories n ON n.key = s.new"
    return f"({_GONE}) g CROSS JOIN supersessions s ON s.new = g.key CROSS JOIN memories n ON n.key = g.key"


def unowned(snapshot: Snapshot) -> str:
    """Contacts `m` that may have no owner whom the viewer may see."""
    if _is_past(snapshot) or snapshot.point.valid_at is not None:
        return ""
    hidden = "" if snapshot.sees_all else " UNION ALL SELECT t.key FROM texts t WHERE t.lane > 0"
    return (
        " AND m.key IN (SELECT w.key FROM memories w WHERE w.owners <> 1"
        " UNION ALL SELECT x.source FROM dangling x WHERE x.relation = 'owned_by'"
        f" UNION ALL SELECT l.source FROM ({_GONE}{hidden}) g CROSS JOIN links l"
        " ON l.target = g.key AND l.relation = 'owned_by')"
    )


def called_alike() -> str:
    """Entities `m` that once bore a name that another bore, too."""
    return " AND m.key IN (SELECT a.key FROM main.alike a WHERE a.shared = 1)"


def reached_alike(snapshot: Snapshot) -> str:
    """Contacts `c` of a value that another had, too, or with more than one owner."""
    if _is_past(snapshot):
        return ""
    return (
        " AND c.key IN (SELECT a.key FROM alike a WHERE a.shared = 1"
        " UNION ALL SELECT w.key FROM memories w WHERE w.owners <> 1)"
    )


def _is_more(snapshot: Snapshot, one: str, other: str) -> bool:
    """Whether a query gives more rows than another; takes about as long as the smaller of them."""
    few = _FEW
    while True:
        counts = [snapshot.one(f"SELECT count(*) FROM (SELECT 1 FROM ({sql}) LIMIT {few})")[0] for sql in (one, other)]
        if min(counts) < few:
            return bool(counts[0] > counts[1])
        few *= 4
