"""The tables of the read model: present rows, and their past in twin tables with the position at which each ended.

A memory's `key` is the position of its first event: integers that follow creation, and are the same after a rebuild.
Instants are microseconds since 1970 UTC. `from_position` is the position from which a row holds; a twin's row holds up
to `to_position`, exclusively. What was true at a position is therefore a filter (see `as_of_tables`), not a replay.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "FALLEN",
    "MEMORY_COLUMNS",
    "OTHER_TABLES",
    "SCHEMA_VERSION",
    "TABLES",
    "as_of_tables",
    "create_statements",
    "drop_statements",
    "index_statements",
    "table_statements",
]

SCHEMA_VERSION: Final = 3

MEMORY_COLUMNS: Final[tuple[tuple[str, str], ...]] = (
    ("key", "INTEGER"),
    ("id", "TEXT NOT NULL"),
    ("kind", "TEXT NOT NULL"),  # '' when erased
    ("stored", "TEXT NOT NULL"),  # a StoredStatus
    ("lane", "INTEGER NOT NULL"),  # 0 shared, 1 private, 2 restricted
    ("audience", "TEXT"),  # lane 2: JSON list of "kind:id"
    ("title", "TEXT"),
    ("content", "TEXT NOT NULL"),
    ("attributes", "TEXT NOT NULL"),  # JSON in the kind's current schema, aliases of merged sources included
    ("tags", "TEXT NOT NULL"),  # JSON list, those of merged sources included
    ("evidence", "TEXT NOT NULL"),  # JSON list of [type, value, note, actor, at]
    ("evidence_count", "INTEGER NOT NULL"),
    ("confidence", "REAL NOT NULL"),
    ("confirmed_at", "INTEGER"),
    ("user_confirmed", "INTEGER NOT NULL"),  # position of a user's last confirmation, 0 if none
    ("stale_at", "INTEGER"),  # first instant of staleness; NULL: never
    ("expires_at", "INTEGER"),  # NULL: never
    ("pinned", "INTEGER NOT NULL"),
    ("user_weight", "REAL"),
    ("lifetime", "TEXT NOT NULL"),  # a LifetimeKind
    ("until", "INTEGER"),  # the end of the lifetime "until"
    ("valid_from", "INTEGER"),
    ("valid_to", "INTEGER"),
    ("happened_from", "INTEGER"),  # episodes: occurred_at or start_at
    ("happened_to", "INTEGER"),  # episodes: end_at, else happened_from
    ("superseded", "INTEGER NOT NULL"),  # 1: look into supersessions
    ("because", "TEXT"),  # why archived
    ("merged_into", "TEXT"),  # id of a merge's survivor
    ("external_ids", "TEXT NOT NULL"),  # JSON list of [system, id]
    ("source", "TEXT"),  # JSON of the Provenance; NULL when erased
    ("session", "TEXT"),  # session of the source
    ("fingerprint", "TEXT"),  # NULL: can have no exact duplicate
    ("doubted", "INTEGER NOT NULL"),  # 1: somebody may dispute it by a word or evidence, unconfirmed by a user since
    ("owners", "INTEGER"),  # contacts: how many edges owned_by it has
    ("created_at", "INTEGER NOT NULL"),
    ("recorded_at", "INTEGER NOT NULL"),
    ("updated_at", "INTEGER NOT NULL"),
    ("revision", "INTEGER NOT NULL"),
    ("from_position", "INTEGER NOT NULL"),
)
"""Columns of `memories` in order; a row is a tuple in this order."""

_LINKS: Final = (
    ("source", "INTEGER NOT NULL"),
    ("relation", "TEXT NOT NULL"),
    ("target", "INTEGER NOT NULL"),
    ("began", "INTEGER NOT NULL"),  # the event that made the edge; undo brings an edge back with its old one
    ("from_position", "INTEGER NOT NULL"),
)
_TAGS: Final = (
    ("tag", "TEXT NOT NULL"),
    ("key", "INTEGER NOT NULL"),
    ("from_position", "INTEGER NOT NULL"),
)
_SUPERSESSIONS: Final = (
    ("old", "INTEGER NOT NULL"),
    ("new", "INTEGER NOT NULL"),
    ("effective_at", "INTEGER NOT NULL"),
    ("from_position", "INTEGER NOT NULL"),
)
_SETTLED: Final = (  # disputes that a person ended, twins that a person denied; holds in both directions
    ("one", "INTEGER NOT NULL"),  # the memory in whose stream it was said
    ("other", "INTEGER NOT NULL"),
    ("what", "TEXT NOT NULL"),  # 'resolved' or 'distinct'
    ("keep", "TEXT"),  # of a dispute: an id, or "both"
    ("at", "INTEGER"),  # of a dispute: the position at which it was ended
    ("from_position", "INTEGER NOT NULL"),
)

TABLES: Final[dict[str, tuple[tuple[tuple[str, str], ...], str]]] = {
    "memories": (MEMORY_COLUMNS, "key"),
    "links": (_LINKS, "source, relation, target"),
    "tags": (_TAGS, "tag, key"),
    "supersessions": (_SUPERSESSIONS, "old, new"),
    "settled": (_SETTLED, "one, other, what"),
}
"""Tables with a past: columns, and the primary key of a present row."""

FALLEN: Final = "superseded = 1 OR because = 'wrong' OR because = 'merged'"
"""SQL: what is there, and may be no ground to rest on any more; the condition of an index, to the letter."""

_TOLD: Final = "relation = 'contradicts' OR relation = 'derived_from'"

_INDEXES: Final = (
    "CREATE INDEX {p}memories_created ON {p}memories (created_at, id)",
    "CREATE INDEX {p}memories_kind ON {p}memories (kind, created_at, id)",
    "CREATE INDEX {p}memories_updated ON {p}memories (updated_at, id)",
    "CREATE INDEX {p}memories_fingerprint ON {p}memories (fingerprint) WHERE fingerprint IS NOT NULL",
    "CREATE INDEX {p}memories_session ON {p}memories (session, key) WHERE session IS NOT NULL",
    "CREATE INDEX {p}memories_expiry ON {p}memories (expires_at) WHERE expires_at IS NOT NULL",
    "CREATE INDEX {p}memories_happened ON {p}memories (happened_from, id) WHERE happened_from IS NOT NULL",
    "CREATE INDEX {p}memories_title ON {p}memories (title) WHERE title IS NOT NULL",
    "CREATE INDEX {p}proposals_status ON {p}proposals (status, position)",
    "CREATE INDEX {p}drafts_memory ON {p}drafts (memory_id)",
    "CREATE INDEX {p}drafts_digest ON {p}drafts (digest) WHERE digest IS NOT NULL",
    "CREATE INDEX {p}memories_gone ON {p}memories (key) WHERE stored NOT IN ('active', 'archived')",
    # What the review queue begins at: it would else look through everything for the little that waits.
    "CREATE INDEX {p}memories_stale ON {p}memories (stale_at) WHERE stale_at IS NOT NULL AND stored = 'active'",
    "CREATE INDEX {p}memories_doubted ON {p}memories (key) WHERE doubted = 1",
    "CREATE INDEX {p}memories_owners ON {p}memories (key) WHERE owners <> 1",
    f"CREATE INDEX {{p}}memories_fallen ON {{p}}memories (key) WHERE {FALLEN}",
    f"CREATE INDEX {{p}}links_told ON {{p}}links (relation, source, target) WHERE {_TOLD}",
    "CREATE INDEX {p}proposals_open ON {p}proposals (closed_position, opened_at, id)",
    "CREATE INDEX {p}alike_key ON {p}alike (key)",
    "CREATE INDEX {p}alike_shared ON {p}alike (shared, key) WHERE shared = 1",
    "CREATE INDEX {p}memories_merged ON {p}memories (merged_into) WHERE merged_into IS NOT NULL",
    "CREATE INDEX {p}links_target ON {p}links (target, relation, source, from_position)",
    "CREATE INDEX {p}tags_key ON {p}tags (key, tag)",
    "CREATE INDEX {p}supersessions_new ON {p}supersessions (new)",
    "CREATE INDEX {p}settled_other ON {p}settled (other, one)",
    "CREATE INDEX {p}past_memories_id ON {p}past_memories (id)",
    "CREATE INDEX {p}past_memories_end ON {p}past_memories (to_position)",
    "CREATE INDEX {p}past_memories_merged ON {p}past_memories (merged_into) WHERE merged_into IS NOT NULL",
    "CREATE INDEX {p}past_links_end ON {p}past_links (to_position)",
    "CREATE INDEX {p}past_links_source ON {p}past_links (source)",
    "CREATE INDEX {p}past_links_target ON {p}past_links (target)",
    "CREATE INDEX {p}past_tags_end ON {p}past_tags (to_position)",
    "CREATE INDEX {p}past_tags_key ON {p}past_tags (key)",
)

_OTHERS: Final = (
    # What the read model is made of and how far it has come: schema, policy digest, analysis version, position.
    "CREATE TABLE {p}meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    # Ids of importers; unique for live memories of one audience, which is checked when a memory begins.
    (
        "CREATE TABLE {p}external_ids (system TEXT NOT NULL, external TEXT NOT NULL, key INTEGER NOT NULL,"
        " PRIMARY KEY (system, external, key)) WITHOUT ROWID"
    ),
    # Edges to ids that no memory bears; only a foreign log can hold them.
    (
        "CREATE TABLE {p}dangling (source INTEGER NOT NULL, relation TEXT NOT NULL, target_id TEXT NOT NULL,"
        " from_position INTEGER NOT NULL, PRIMARY KEY (source, relation, target_id)) WITHOUT ROWID"
    ),
    # Who read what, when: one row for each memory and actor of a flush.
    (
        "CREATE TABLE {p}reads (key INTEGER NOT NULL, position INTEGER NOT NULL, actor TEXT NOT NULL,"
        " count INTEGER NOT NULL, last_at INTEGER NOT NULL, PRIMARY KEY (key, position, actor)) WITHOUT ROWID"
    ),
    # The sum of the reads of a memory.
    "CREATE TABLE {p}accesses (key INTEGER PRIMARY KEY, count INTEGER NOT NULL, last_at INTEGER NOT NULL)",
    # Names that entities bore, and values of contacts, at any time; shared when another of the kind bore it, too.
    (
        "CREATE TABLE {p}alike (kind TEXT NOT NULL, name TEXT NOT NULL, key INTEGER NOT NULL, shared INTEGER NOT NULL,"
        " PRIMARY KEY (kind, name, key)) WITHOUT ROWID"
    ),
    # Derived columns that one statement recomputes for the whole space.
    (
        "CREATE TABLE {p}scores (key INTEGER PRIMARY KEY, importance REAL NOT NULL, retention REAL NOT NULL,"
        " degree INTEGER NOT NULL, computed_at INTEGER NOT NULL)"
    ),
    # Where a batch begins in the log, and which batch answered a command_id.
    # Proposals and their drafts, without their text. `digest` names what a draft asks for; NULL once it is erased.
    (
        "CREATE TABLE {p}proposals (id TEXT PRIMARY KEY, author TEXT, author_kind TEXT NOT NULL, status TEXT NOT NULL,"
        " opened_at INTEGER NOT NULL, position INTEGER NOT NULL, closed_position INTEGER) WITHOUT ROWID"
    ),
    (
        "CREATE TABLE {p}drafts (proposal TEXT NOT NULL, number INTEGER NOT NULL, memory_id TEXT NOT NULL,"
        " begins INTEGER NOT NULL, base INTEGER NOT NULL, status TEXT NOT NULL, digest TEXT,"
        " PRIMARY KEY (proposal, number)) WITHOUT ROWID"
    ),
    "CREATE TABLE {p}batches (batch_id TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE {p}commands (command_key TEXT PRIMARY KEY, batch_id TEXT NOT NULL) WITHOUT ROWID",
)

OTHER_TABLES: Final = (
    "meta",
    "external_ids",
    "dangling",
    "reads",
    "accesses",
    "alike",
    "scores",
    "proposals",
    "drafts",
    "batches",
    "commands",
)
"""Tables without a past."""


def create_statements(prefix: str = "") -> list[str]:
    """The statements that create every table and index, under a prefix for a shadow."""
    return table_statements(prefix) + index_statements(prefix)


def table_statements(prefix: str = "") -> list[str]:
    """The statements that create every table, with the indexes without which it cannot be filled."""
    statements = []
    for name, (columns, key) in TABLES.items():
        body = ", ".join(f"{column} {kind}" for column, kind in columns)
        past = f"CREATE TABLE {prefix}past_{name} ({body}, to_position INTEGER NOT NULL"
        if name == "memories":
            body = body.replace("key INTEGER,", "key INTEGER PRIMARY KEY,", 1)
            statements.append(f"CREATE TABLE {prefix}{name} ({body})")
            # Rows are wide: they go to the end of a plain table, and are found by its index.
            statements.append(f"{past}, UNIQUE ({key}, from_position))")
        else:
            statements.append(f"CREATE TABLE {prefix}{name} ({body}, PRIMARY KEY ({key})) WITHOUT ROWID")
            statements.append(f"{past}, PRIMARY KEY ({key}, from_position)) WITHOUT ROWID")
    statements += [statement.format(p=prefix) for statement in _OTHERS]
    statements.append(f"CREATE UNIQUE INDEX {prefix}memories_id ON {prefix}memories (id)")
    return statements


def index_statements(prefix: str = "") -> list[str]:
    """The statements that create the other indexes; after a bulk fill, this is the cheaper order."""
    return [statement.format(p=prefix) for statement in _INDEXES]


def drop_statements(prefix: str = "") -> list[str]:
    """The statements that drop every table again, if it is there."""
    names = [name for base in TABLES for name in (base, f"past_{base}")]
    return [f"DROP TABLE IF EXISTS {prefix}{name}" for name in (*names, *OTHER_TABLES)]


def as_of_tables(position: str = ":known") -> str:
    """The common table expressions under which every present query reads the log's prefix up to a position.

    Args:
        position: The SQL of that position, a parameter by default.

    Returns: "memories AS (…), links AS (…), …", to stand after WITH and before the query: inside the query the names
        of the tables then mean what they held at that position.
    """
    parts = []
    for name, (columns, _) in TABLES.items():
        listed = ", ".join(column for column, _ in columns)
        parts.append(
            f"{name} AS (SELECT {listed} FROM main.{name} WHERE from_position <= {position}"
            f" UNION ALL SELECT {listed} FROM main.past_{name}"
            f" WHERE from_position <= {position} AND to_position > {position})"
        )
    parts.append(
        "accesses AS (SELECT key, sum(count) AS count, max(last_at) AS last_at FROM main.reads"
        f" WHERE position <= {position} GROUP BY key)"
    )
    return ", ".join(parts)
