"""A line of the query language, answered for one viewer: conditions first, then words rank what is left."""

from __future__ import annotations

import json

from engram_core.projections.encoding import Asked
from engram_core.query import Query
from engram_core.reads.asking import asked
from engram_core.reads.conditions import Condition, condition
from engram_core.reads.disputes import disputed_sql, undermined
from engram_core.reads.listing import check_limit
from engram_core.reads.memories import by_keys
from engram_core.reads.snapshot import Snapshot
from engram_core.reads.walking import Web, ways
from engram_core.results.listings import Hit, Hits

__all__ = ["search"]

_SIGNS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def search(snapshot: Snapshot, query: Query, *, limit: int = 10, meant: Asked | None = None) -> Hits:
    """The memories that meet a query's conditions: by its words, best first; without words, the newest first.

    Raises: InvalidAttributesError.
    """
    limit = check_limit(limit, snapshot.library.limits)
    wanted = _condition(snapshot, query)
    if query.words:
        return asked(snapshot, query.words, wanted, limit=limit, meant=meant)
    rows = snapshot.all(
        f"SELECT m.key, m.created_at, m.id FROM memories m WHERE {wanted.sql}"
        " ORDER BY m.created_at DESC, m.id LIMIT :limit",
        {**wanted.parameters, "limit": limit},
    )
    memories = by_keys(snapshot, [row[0] for row in rows])
    return Hits(tuple(Hit(memories[row[0]], 0.0) for row in rows))


def _condition(snapshot: Snapshot, query: Query) -> Condition:
    """The filters of a query, and what the language knows beyond them."""
    made = condition(snapshot, query.filters)
    terms, parameters = [made.sql], dict(made.parameters)
    for number, (sign, value) in enumerate(query.confidence):
        parameters[f"c{number}"] = value
        terms.append(f"m.confidence {_SIGNS[sign]} :c{number}")
    for number, phrase in enumerate(query.phrases):
        parameters[f"p{number}"] = phrase.encode("utf-8", "replace").decode()
        terms.append(_holds(f":p{number}"))
    for number, id in enumerate(query.linked):
        parameters[f"l{number}"] = json.dumps(_next_to(snapshot, id))
        terms.append(f"m.key IN (SELECT value FROM json_each(:l{number}))")
    if "pinned" in query.marks:
        terms.append("m.pinned = 1")
    if "disputed" in query.marks:
        terms.append(disputed_sql(snapshot, "m"))
    if "undermined" in query.marks:
        parameters["undermined"] = json.dumps(_undermined(snapshot))
        terms.append("m.key IN (SELECT value FROM json_each(:undermined))")
    return Condition(" AND ".join(terms), parameters)


def _holds(phrase: str) -> str:
    """SQL: title, content, a tag or an attribute holds the words of the phrase, whole, in this order."""
    title_or_content = f"holds_words(m.title, {phrase}) OR holds_words(m.content, {phrase})"
    attribute = f"a.type = 'text' AND holds_words(a.value, {phrase})"
    tag = f"holds_words(g.value, {phrase})"
    return (
        f"({title_or_content} OR EXISTS (SELECT 1 FROM json_tree(m.attributes) a WHERE {attribute})"
        f" OR EXISTS (SELECT 1 FROM json_each(m.tags) g WHERE {tag}))"
    )


def _next_to(snapshot: Snapshot, id: str) -> list[int]:
    web = Web(snapshot)
    start = web.start(id)
    return [] if start is None else sorted({step.there for step in web.steps([start], ways(None, "both"))})


def _undermined(snapshot: Snapshot) -> list[int]:
    rows = snapshot.all(
        "SELECT DISTINCT source FROM (SELECT l.source FROM links l JOIN memories m ON m.key = l.source"
        f" WHERE l.relation = 'derived_from' AND {snapshot.sql.shown('m')} LIMIT -1)"
    )
    return sorted(undermined(snapshot, [key for (key,) in rows]))
