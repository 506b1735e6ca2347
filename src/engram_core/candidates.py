"""What upkeep may propose: entities that seem to be one thing, preferences that cannot both hold. Decides nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from engram_core.audience import includes
from engram_core.conflicts import incompatible, taste_key
from engram_core.identity import normal_name
from engram_core.kinds import KindRegistry
from engram_core.values import SHARED, Actor, Visibility, private
from engram_core.vocab import VisibilityKind

__all__ = ["SameThing", "incompatible_preferences", "same_things"]


class SameThing(NamedTuple):
    """Two entities of one kind that seem to be one.

    Attributes:
        survivor: The one that would stay.
        source: The one that would be merged into it.
        evidence: What makes them alike, in words without any text of theirs.
    """

    survivor: str
    source: str
    evidence: str


class _Entity(NamedTuple):
    id: str
    kind: str
    visibility: Visibility


def same_things(tx: sqlite3.Connection, kinds: KindRegistry, shortest: int) -> Iterator[SameThing]:
    """Entities that share a name, an alias or a contact, found by blocks and never by comparing all with all.

    Args:
        tx: A connection to the read model.
        kinds: Tells which kinds are entities, and where their names are.
        shortest: Characters below which a name is not compared.

    Returns: Each thing that is there n times as n − 1 pairs with one survivor: the oldest whose audience includes the
        other's. Pairs that a person marked distinct are left out.
    """
    distinct = {
        frozenset(pair)
        for pair in tx.execute(
            "SELECT a.id, b.id FROM settled s JOIN memories a ON a.key = s.one JOIN memories b ON b.key = s.other"
            " WHERE s.what = 'distinct'"
        )
    }
    first: dict[tuple[str, str], _Entity] = {}
    leader: dict[str, _Entity] = {}

    def led(entity: _Entity) -> _Entity:
        while entity.id in leader:
            entity = leader[entity.id]
        return entity

    for entity, block, what in _blocks(tx, kinds, shortest):
        held = first.setdefault((entity.kind, block), entity)
        survivor, source = led(held), led(entity)
        if survivor.id == source.id or distinct & {
            frozenset({survivor.id, source.id}),
            frozenset({held.id, entity.id}),
        }:
            continue
        if not includes(survivor.visibility, source.visibility):
            survivor, source = source, survivor
            if not includes(survivor.visibility, source.visibility):
                continue
        leader[source.id] = survivor
        yield SameThing(survivor.id, source.id, f"{held.id} and {entity.id} share {what}")


def _blocks(tx: sqlite3.Connection, kinds: KindRegistry, shortest: int) -> Iterator[tuple[_Entity, str, str]]:
    """(entity, block, what the block is) of every live entity, the oldest first; then by contacts."""
    specs = {spec.kind: spec for spec in kinds if spec.entity}
    rows = tx.execute(
        "SELECT m.kind, m.id, m.lane, m.audience, m.attributes FROM memories m WHERE m.stored = 'active'"
        " AND m.kind IN (SELECT value FROM json_each(?)) ORDER BY m.key",
        (json.dumps(sorted(specs)),),
    )
    for kind, id, lane, audience, attributes in rows:
        spec, raw = specs[kind], json.loads(attributes)
        names = [next((raw[name] for name in spec.label_fields if raw.get(name)), "")]
        if spec.alias_field is not None:
            names += raw.get(spec.alias_field) or ()
        entity = _Entity(id, kind, _visibility(lane, audience))
        for name in dict.fromkeys(normal_name(str(name)) for name in names):
            if len(name) >= shortest:
                yield entity, f"name:{name}", "a name or alias"
    rows = tx.execute(
        "SELECT o.kind, o.id, o.lane, o.audience, json_extract(c.attributes, '$.channel'),"
        " json_extract(c.attributes, '$.value') FROM memories c JOIN links l ON l.source = c.key"
        " AND l.relation = 'owned_by' JOIN memories o ON o.key = l.target WHERE c.kind = 'contact'"
        " AND c.stored = 'active' AND o.stored = 'active' ORDER BY o.key, c.key"
    )
    for kind, id, lane, audience, channel, value in rows:
        if kind in specs:
            yield (
                _Entity(id, kind, _visibility(lane, audience)),
                f"contact:{channel}:{normal_name(value)}",
                f"a contact ({channel})",
            )


def _visibility(lane: int, audience: str | None) -> Visibility:
    if not lane:
        return SHARED
    if audience is None:
        return private()
    actors = [Actor(*text.split(":", 1)) for text in json.loads(audience)]
    return Visibility(VisibilityKind.RESTRICTED, frozenset(actors))


def incompatible_preferences(tx: sqlite3.Connection, now: int) -> Iterator[tuple[str, str, str]]:
    """(older, newer, why) of preferences with one holder, target and context that cannot both hold.

    What a person has ended by `resolve` is left out, as is what was superseded or has expired.

    Args:
        tx: A connection to the read model.
        now: Microseconds since 1970.
    """
    settled = {
        frozenset(pair)
        for pair in tx.execute(
            "SELECT a.id, b.id FROM settled s JOIN memories a ON a.key = s.one JOIN memories b ON b.key = s.other"
            " WHERE s.what = 'resolved'"
        )
    }
    merged = dict(tx.execute("SELECT s.key, v.key FROM memories s JOIN memories v ON v.id = s.merged_into").fetchall())
    by_key: dict[tuple[Any, ...], list[tuple[str, str]]] = {}
    rows = tx.execute(
        "SELECT m.id, m.attributes, (SELECT json_group_array(l.target) FROM links l WHERE l.source = m.key"
        " AND l.relation = 'about') FROM memories m WHERE m.kind = 'preference' AND m.stored = 'active'"
        " AND (m.superseded = 0 OR NOT EXISTS (SELECT 1 FROM supersessions s JOIN memories n ON n.key = s.new"
        " WHERE s.old = m.key AND s.effective_at <= :now AND n.stored IN ('active', 'archived')))"
        " AND (m.expires_at IS NULL OR m.expires_at > :now) ORDER BY m.created_at, m.key",
        {"now": now},
    )
    for id, attributes, about in rows:
        raw = json.loads(attributes)
        key = taste_key(raw, frozenset(_survivor(holder, merged) for holder in json.loads(about)))
        if key is None:
            continue
        group = by_key.setdefault(key, [])
        for older, polarity in group:
            if incompatible(polarity, raw["polarity"]) and frozenset({older, id}) not in settled:
                yield older, id, f"{polarity} and {raw['polarity']}"
        group.append((id, raw["polarity"]))


def _survivor(key: int, merged: dict[int, int]) -> int:
    seen = {key}
    while key in merged and merged[key] not in seen:
        key = merged[key]
        seen.add(key)
    return key
