"""Listings: filtered, ordered, in pages that neither repeat nor skip while others write."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from attrs import evolve

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.filters import Filters
from engram_core.policy import Limits
from engram_core.reads.conditions import condition
from engram_core.reads.disputes import disputed_sql
from engram_core.reads.memories import by_keys
from engram_core.reads.snapshot import Snapshot
from engram_core.results.listings import Page
from engram_core.results.memory import Memory

__all__ = ["ORDERS", "Cursor", "check_limit", "count", "find", "importance_sql", "page", "read_cursor", "write_cursor"]

ORDERS: Final = (
    "created_at", "updated_at", "occurred_at", "last_confirmed_at", "confidence", "importance", "title", "kind", "id",
)  # fmt: skip
"""What a listing can be ordered by; ties end in the id."""


class Cursor(NamedTuple):
    """Where a listing goes on: after the item of this id, whose sort values these are."""

    values: tuple[Any, ...]
    id: str


def find(
    snapshot: Snapshot,
    filters: Filters,
    *,
    order: str = "created_at",
    descending: bool = False,
    limit: int = 50,
    after: str | None = None,
) -> Page[Memory[Any]]:
    """One page of the memories that pass the filters.

    Raises: InvalidAttributesError for an order, a limit or a cursor that does not fit.
    """
    limit = check_limit(limit, snapshot.library.limits)
    wanted = condition(snapshot, filters, listing=True)
    expression = _order(snapshot, order)
    query = f"{_named(filters)}:{order}:{descending}"
    more = dict(wanted.parameters)
    where = wanted.sql
    if after is not None:
        cursor = read_cursor(after, query, 1)
        more["after_value"], more["after_id"] = cursor.values[0], cursor.id
        where += f" AND {_beyond(expression, order, descending=descending)}"
    way = " DESC" if descending else ""
    by = "m.id" + way if order == "id" else f"{expression}{way}, m.id{way}"
    more["limit"] = limit + 1
    chosen = f"SELECT m.key, m.id, {expression} FROM memories m WHERE {where} ORDER BY {by} LIMIT :limit"
    return page(snapshot, snapshot.all(chosen, more), limit, query)


def page(snapshot: Snapshot, chosen: Sequence[tuple[int, str, Any]], limit: int, query: str) -> Page[Memory[Any]]:
    """The page of what was chosen: key, id and sort value of each memory in order, one more than `limit` if there is.

    Rows are wide, and some of their columns are queries of their own: they are read for what is shown, and no more.
    """
    shown = chosen[:limit]
    following = None
    if len(chosen) > limit:
        following = write_cursor(Cursor((shown[-1][2],), shown[-1][1]), query)
    found = by_keys(snapshot, [key for key, _, _ in shown])
    return Page(tuple(found[key] for key, _, _ in shown), following)


def count(snapshot: Snapshot, filters: Filters) -> int:
    """How many memories pass the filters."""
    wanted = condition(snapshot, filters, listing=True)
    (found,) = snapshot.one(
        f"SELECT count(*) FROM (SELECT 1 FROM memories m WHERE {wanted.sql} LIMIT -1)", wanted.parameters
    )
    return int(found)


def check_limit(limit: object, limits: Limits) -> int:
    """A limit of a listing, 1 to 1,000 by default.

    Raises: InvalidAttributesError.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= limits.listing:
        raise InvalidAttributesError("listing", [Problem("limit", f"must be a whole number, 1 to {limits.listing:,}")])
    return limit


# -- order ------------------------------------------------------------------------------------------


def _order(snapshot: Snapshot, order: str) -> str:
    """The SQL of a sort value, never NULL."""
    match order:
        case "created_at" | "updated_at" | "kind" | "id" | "confidence":
            return f"m.{order}"
        case "occurred_at":
            return "coalesce(m.happened_from, m.created_at)"
        case "last_confirmed_at":
            return "coalesce(m.confirmed_at, m.created_at)"
        case "title":
            return _title(snapshot)
        case "importance":
            return importance_sql(snapshot)
        case _:
            problem = Problem("order", f"{order!r} is none of {', '.join(ORDERS)}")
            raise InvalidAttributesError("listing", [problem])


def _beyond(expression: str, order: str, *, descending: bool) -> str:
    sign = "<" if descending else ">"
    if order == "id":
        return f"m.id {sign} :after_id"
    return f"({expression}, m.id) {sign} (:after_value, :after_id)"


def _title(snapshot: Snapshot) -> str:
    """The display title as SQL: the title, else the first label field that is not blank, else the kind."""
    cases = []
    for spec in snapshot.library.kinds:
        fields = [f"nullif(trim(json_extract(m.attributes, '$.{name}')), '')" for name in spec.label_fields]
        cases.append(f"WHEN '{spec.kind}' THEN coalesce({', '.join([*fields, 'm.kind'])})")
    return f"coalesce(nullif(m.title, ''), CASE m.kind {' '.join(cases)} ELSE m.kind END)"


def importance_sql(snapshot: Snapshot) -> str:
    """Importance as `engram_core.retention.importance_score` gives it, counting only what the viewer may see."""
    policy = snapshot.library.policy
    shares = policy.importance
    kinds = snapshot.library.kinds
    bases = {kind: snapshot.lens.decay(kind).base_importance for kind in kinds.kinds}
    base = " ".join(f"WHEN '{kind}' THEN {value!r}" for kind, value in bases.items())
    other = snapshot.lens.decay("fact").base_importance
    shown = snapshot.sql.shown("n")
    out = f"SELECT 1 FROM links l JOIN memories n ON n.key = l.target WHERE l.source = m.key AND {shown}"
    back = f"SELECT 1 FROM links l JOIN memories n ON n.key = l.source WHERE l.target = m.key AND {shown}"
    links = (
        f"min({shares.max_links}, (SELECT count(*) FROM ({out} LIMIT {shares.max_links}))"
        f" + (SELECT count(*) FROM ({back} LIMIT {shares.max_links})))"
    )
    # Most spaces hold no contradiction at all, and then no row need be asked for one.
    contested = snapshot.one("SELECT EXISTS (SELECT 1 FROM links d WHERE d.relation = 'contradicts')")[0]
    disputed = f" + iif({disputed_sql(snapshot, 'm')}, {float(shares.disputed)!r}, 0.0)" if contested else ""
    return (
        "CASE WHEN m.pinned THEN 1.0 WHEN m.user_weight IS NOT NULL THEN m.user_weight ELSE min(1.0,"
        f" CASE m.kind {base} ELSE {other!r} END"
        f" + {float(shares.per_evidence)!r} * min(m.evidence_count, {shares.max_evidence})"
        f" + {float(shares.per_link)!r} * {links}"
        f"{disputed}) END"
    )


def _named(filters: Filters) -> str:
    """Filters as text: nothing of it depends on what has been written, or on how they are answered."""
    status = None if filters.status is None else sorted(filters.status)
    return repr((status, evolve(filters, status=None)))


# -- cursors ----------------------------------------------------------------------------------------


def write_cursor(cursor: Cursor, query: str) -> str:
    """A cursor as text; it holds what the last item showed, and no positions."""
    body = json.dumps([*cursor.values, cursor.id], ensure_ascii=False, separators=(",", ":"))
    return urlsafe_b64encode(f"{_seal(query, body)}{body}".encode()).decode().rstrip("=")


def read_cursor(text: object, query: str, values: int) -> Cursor:
    """The cursor of a text that the same query gave.

    Raises: InvalidAttributesError for any other text.
    """
    problem = Problem("after", "is no cursor of this listing: give `page.next` of the same call, and the same filters")
    if not isinstance(text, str) or not text.isascii():
        raise InvalidAttributesError("listing", [problem])
    try:
        opened = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        seal, body = opened[:8], opened[8:]
        found = json.loads(body) if seal == _seal(query, body) else None
    except (NotBase64, UnicodeDecodeError, ValueError):
        found = None
    if not isinstance(found, list) or len(found) != values + 1 or not isinstance(found[-1], str):
        raise InvalidAttributesError("listing", [problem])
    return Cursor(tuple(found[:-1]), found[-1])


def _seal(query: str, body: str) -> str:
    """Ties a cursor to its query, so that it is not taken for another's by mistake."""
    return sha256(f"{query}\0{body}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
