"""One SQL view per kind, for those who look into the file with other tools, and the indexes on hot attributes.

A view holds the memories of its kind that are there, with one typed column for each attribute. Indexes repeat the
views' expressions to the letter, since SQLite uses them only then.
"""

from __future__ import annotations

from typing import Final

from engram_core.kinds import Column, KindRegistry, KindSpec

__all__ = ["attribute_sql", "create_statements", "drop_statements", "index_statements"]

_SPINE: Final = (
    "id",
    "title",
    "content",
    "stored",
    "lane",
    "tags",
    "confidence",
    "confirmed_at",
    "stale_at",
    "expires_at",
    "pinned",
    "user_weight",
    "lifetime",
    "valid_from",
    "valid_to",
    "merged_into",
    "session",
    "created_at",
    "recorded_at",
    "updated_at",
    "revision",
)

_EVIDENCE: Final = (
    "CREATE VIEW view_evidence AS SELECT m.id AS memory_id, e.key + 1 AS number,"
    " json_extract(e.value, '$[0]') AS type, json_extract(e.value, '$[1]') AS value,"
    " json_extract(e.value, '$[2]') AS note, json_extract(e.value, '$[3]') AS actor,"
    " json_extract(e.value, '$[4]') AS added_at FROM memories m, json_each(m.evidence) e"
    " WHERE m.evidence_count > 0 AND m.stored IN ('active', 'archived')"
)


def attribute_sql(column: Column, alias: str = "") -> str:
    """The expression that reads one attribute, the same in views, indexes and queries."""
    return f"json_extract({alias}attributes, '{column.path}')"


def create_statements(kinds: KindRegistry) -> list[str]:
    """The statements that create every view."""
    return [_EVIDENCE, *(_view(spec) for spec in kinds)]


def drop_statements(names: list[str]) -> list[str]:
    """The statements that drop views and indexes of ours, by the names that are there."""
    return [f'DROP VIEW IF EXISTS "{name}"' for name in names]


def index_statements(kinds: KindRegistry, prefix: str = "") -> list[str]:
    """The statements that create an index for each hot attribute, of the memories of its kind alone."""
    return [
        f"CREATE INDEX {prefix}hot_{spec.kind}_{name} ON {prefix}memories"
        f" ({attribute_sql(_column(spec, name))}, created_at, id) WHERE kind = '{spec.kind}'"
        for spec in kinds
        for name in spec.hot_fields
    ]


def _column(spec: KindSpec, field: str) -> Column:
    """The column of the view that shows a field; one like it, if the view does not show it."""
    path = f"$.{field}"
    return next((column for column in spec.columns.values() if column.path == path), Column(path, "TEXT"))


def _view(spec: KindSpec) -> str:
    spine = ", ".join(_SPINE)
    attributes = "".join(f', {attribute_sql(column)} AS "{_free(name)}"' for name, column in spec.columns.items())
    return (
        f'CREATE VIEW "{spec.view}" AS SELECT {spine}{attributes} FROM memories'
        f" WHERE kind = '{spec.kind}' AND stored IN ('active', 'archived')"
    )


def _free(name: str) -> str:
    """The name of an attribute's column, another than those of the spine."""
    return f"attribute_{name}" if name in _SPINE else name
