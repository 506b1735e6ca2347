"""Entities that share a name or a contact, as one viewer may see them."""

from __future__ import annotations

import json

from engram_core.identity import normal_name
from engram_core.projections.alike import names
from engram_core.reads import waiting
from engram_core.reads.snapshot import Snapshot

__all__ = ["by_contact", "by_name"]


def by_name(snapshot: Snapshot) -> dict[tuple[str, str], list[int]]:
    """Entities by kind and each of their names, the oldest first; those who share none are left out."""
    specs = {spec.kind: spec for spec in snapshot.library.kinds if spec.entity}
    rows = snapshot.all(
        f"SELECT m.key, m.kind, m.attributes FROM memories m WHERE m.kind IN ({_entities(snapshot)})"
        f"{waiting.called_alike()} AND {snapshot.sql.recallable('m')} ORDER BY m.created_at, m.id"
    )
    least = snapshot.library.policy.review.min_name
    blocks: dict[tuple[str, str], list[int]] = {}
    for key, kind, text in rows:
        for name in names(specs[kind], json.loads(text)):
            if len(name) >= least:
                blocks.setdefault((kind, name), []).append(key)
    return blocks


def by_contact(snapshot: Snapshot) -> dict[tuple[str, str], list[int]]:
    """Entities by kind and each contact that is theirs, the oldest first; those who share none are left out."""
    sql = snapshot.sql
    rows = snapshot.all(
        "SELECT o.key, o.kind, json_extract(c.attributes, '$.channel'), json_extract(c.attributes, '$.value')"
        " FROM memories c JOIN links l ON l.source = c.key AND l.relation = 'owned_by'"
        f" JOIN memories o ON o.key = l.target WHERE c.kind = 'contact'{waiting.reached_alike(snapshot)}"
        f" AND o.kind IN ({_entities(snapshot)}) AND {sql.recallable('c')} AND {sql.recallable('o')}"
        " ORDER BY o.created_at, o.id, c.created_at, c.id"
    )
    contacts: dict[tuple[str, str], list[int]] = {}
    for key, kind, channel, value in rows:
        contacts.setdefault((kind, f"{channel}: {normal_name(value)}"), []).append(key)
    return contacts


def _entities(snapshot: Snapshot) -> str:
    return ", ".join(f"'{spec.kind}'" for spec in snapshot.library.kinds if spec.entity)
