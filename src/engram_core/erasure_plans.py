"""What an erasure takes: one memory, or an entity with all that concerns it alone. Source: model §10."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from engram_core.audience import may_see
from engram_core.commands import Remember
from engram_core.core import Core
from engram_core.errors import NotFoundError
from engram_core.events import DraftAdded, ErasedPayload
from engram_core.identity import fingerprint, pair_of, pair_owner
from engram_core.proposal import named, note_owner, proposal_stream, words_owner
from engram_core.state import MemoryState
from engram_core.values import SHARED, Actor
from engram_core.vocab import Kind, Relation, StoredStatus

__all__ = ["Plan", "Said", "memory_plan", "proposals_about", "said_beside", "subject_plan"]


class Plan(NamedTuple):
    """What an erasure would take.

    Attributes:
        memory_ids: The memories, in order; ids that were only reserved come last.
        counts: How many of each sort.
        shared: What was left for a decision.
    """

    memory_ids: tuple[str, ...]
    counts: dict[str, int]
    shared: tuple[str, ...] = ()


def memory_plan(core: Core, tx: sqlite3.Connection, id: str) -> Plan:
    """One memory, or one that was only ever proposed, with the drafts that say exactly the same.

    Not those of an actor who may not see it: they are words of his own, and if they went, he would know that it was.

    Raises: NotFoundError.
    """
    state = core.state_of(id)
    waiting = {draft.command.memory_id: draft for draft in _never_begun(core, tx)}
    if state is None and id not in waiting and not proposals_about(tx, (id,)):
        raise NotFoundError(f"there is no memory {id}", memory_id=id)
    twins: list[str] = []
    if state is not None and (digest := _digest(core, state)) is not None:
        twins = [
            other
            for other, draft in waiting.items()
            if _digest(core, draft.command) == digest
            and (draft.author is None or may_see(draft.author, state.visibility))
        ]
    merged = [row[0] for row in tx.execute("SELECT id FROM memories WHERE merged_into = ? ORDER BY key", (id,))]
    counts = {"memory": 1} | ({"drafts": len(twins)} if twins else {})
    return Plan((id, *(twin for twin in twins if twin != id)), counts, tuple(merged))


class _Draft(NamedTuple):
    """The beginning of a memory that was asked for, and never came to be."""

    command: Remember
    proposal_id: str
    author: Actor | None


def _never_begun(core: Core, tx: sqlite3.Connection) -> list[_Draft]:
    rows = tx.execute(
        "SELECT d.proposal, group_concat(d.number) FROM drafts d WHERE d.begins = 1 AND d.digest IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = d.memory_id) GROUP BY d.proposal ORDER BY d.proposal"
    ).fetchall()
    found = []
    for proposal_id, numbers in rows:
        state = core.proposal_of(proposal_id)
        for number in sorted(map(int, numbers.split(","))):
            draft = None if state is None else state.draft(number)
            if state is not None and draft is not None and isinstance(draft.command, Remember):
                found.append(_Draft(draft.command, proposal_id, state.author))
    return found


def _digest(core: Core, said: MemoryState | Remember) -> str | None:
    """What a memory or a draft says to whom, whoever may see it."""
    kinds = core.options.kinds
    if isinstance(said, Remember):
        raw, version = said.attributes, said.attributes_version
        title, content, links = said.title, said.content, said.links
    else:
        raw, version = said.attributes.raw, said.attributes.version
        title, content, links = said.text.title, said.text.content, tuple(said.edges.links)
    if said.kind not in kinds:
        return None
    return fingerprint(
        kinds,
        kind=said.kind,
        attributes=kinds.upcast(said.kind, raw, version),
        title=title,
        content=content,
        links=links,
        visibility=SHARED,
    )


class Said(NamedTuple):
    """What is said of erased memories in payloads that are not theirs alone.

    Attributes:
        owners: The owners of such payloads, each with the first of the erased memories that it concerns.
        proposals: The proposals among whose drafts one names an erased memory.
    """

    owners: dict[str, str]
    proposals: tuple[str, ...]


def said_beside(core: Core, tx: sqlite3.Connection, ids: Iterable[str]) -> Said:
    """Words that may repeat what some memories say: of whole proposals that touch one, and of decisions about two.

    Any proposal may name them in a draft about another memory, so all that still have a text are looked through.
    """
    listed = dict.fromkeys(ids)
    owners = {pair_owner(*pair): id for id in listed for pair in _pairs(core, tx, id, listed)}
    touching: list[str] = []
    for (proposal_id,) in tx.execute(
        "SELECT DISTINCT proposal FROM drafts WHERE digest IS NOT NULL ORDER BY proposal"
    ).fetchall():
        events = core.log.stream(proposal_stream(proposal_id))
        drafts = [e.event for e in events if isinstance(e.event, DraftAdded)]
        concerned = {id for draft in drafts for id in (draft.memory_id, *named(draft.command))}
        first = next((id for id in listed if id in concerned), None) if concerned & listed.keys() else None
        if first is None:
            continue
        touching.append(proposal_id)
        for e in events:
            pair = pair_of(e.owner) or ()
            ours = e.owner in (words_owner(proposal_id), note_owner(proposal_id)) or listed.keys() & set(pair)
            if ours and not isinstance(e.event, ErasedPayload):
                owners.setdefault(e.owner, next((id for id in pair if id in listed), first))
    return Said(owners, tuple(touching))


def _pairs(core: Core, tx: sqlite3.Connection, id: str, going: Container[str]) -> Iterator[tuple[str, str]]:
    """The memory with each one that it was ever disputed with or told from, in both orders."""
    rows = tx.execute(_OPPONENTS, {"id": id}).fetchall()
    for (other,) in rows:
        state = core.state_of(other)
        if other in going or (state is not None and state.lifecycle.stored is not StoredStatus.ERASED):
            yield from ((id, other), (other, id))


_OPPONENTS = "SELECT id FROM memories WHERE key IN ({}) ORDER BY key".format(
    " UNION ".join(
        f"SELECT {there} FROM {table} WHERE {here} = (SELECT key FROM memories WHERE id = :id){and_so}"
        for table, one, other, and_so in (
            ("links", "source", "target", " AND relation = 'contradicts'"),
            ("past_links", "source", "target", " AND relation = 'contradicts'"),
            ("settled", "one", "other", ""),
            ("past_settled", "one", "other", ""),
        )
        for here, there in ((one, other), (other, one))
    )
)


def proposals_about(tx: sqlite3.Connection, ids: Iterable[str]) -> tuple[str, ...]:
    """Proposals with a draft that would change or begin one of the memories."""
    rows = tx.execute(
        "SELECT d.proposal FROM json_each(?) j JOIN drafts d ON d.memory_id = j.value"
        " WHERE d.digest IS NOT NULL ORDER BY j.key",
        (json.dumps(list(ids)),),
    ).fetchall()
    return tuple(dict.fromkeys(id for (id,) in rows))


# -- subjects ---------------------------------------------------------------------------------------


def subject_plan(core: Core, tx: sqlite3.Connection, subject: str) -> Plan:
    """What concerns an entity alone, and what concerns others, too.

    Alone: the entity, what was merged into it, its contacts, relationships that name it, memories about nothing else,
    what derives from any of those without being about somebody else, and drafts of such memories that never came to
    be. Shared: other memories with an edge to it, and other memories that derive from what goes.

    Raises: NotFoundError.
    """
    entity = _entity(tx, subject)
    listed = json.dumps(list(entity))
    chosen: dict[int, str] = dict.fromkeys(entity, "entity")
    for sort, sql in (("contacts", _CONTACTS), ("relationships", _RELATIONSHIPS)):
        for (key,) in tx.execute(sql, (listed,)).fetchall():
            chosen.setdefault(key, sort)
    about = _edges(tx, entity, Relation.ABOUT)
    while True:
        known = len(chosen)
        _choose(tx, chosen, "about", about)
        _choose(tx, chosen, "derived", _edges(tx, chosen, Relation.DERIVED_FROM))
        if len(chosen) == known:
            break
    others = {row[0] for row in tx.execute(_POINTING, (listed,))} | set(_edges(tx, chosen, Relation.DERIVED_FROM))
    going = _ids(tx, chosen)
    counts: dict[str, int] = {}
    for key in going:
        counts[chosen[key]] = counts.get(chosen[key], 0) + 1
    drafts = _drafts_of(core, tx, set(going.values()), {going[key] for key in entity})
    if drafts:
        counts["drafts"] = len(drafts)
    shared = _ids(tx, others - chosen.keys())
    return Plan((*going.values(), *drafts), counts, tuple(shared.values()))


_CONTACTS = (
    "SELECT l.source FROM json_each(?) j JOIN links l ON l.target = j.value JOIN memories m ON m.key = l.source"
    " WHERE l.relation = 'owned_by' AND m.kind = 'contact'"
)
_RELATIONSHIPS = (
    "SELECT m.key FROM memories m WHERE m.kind = 'relationship' AND EXISTS (SELECT 1 FROM json_each(?) j"
    " JOIN memories e ON e.key = j.value WHERE json_extract(m.attributes, '$.subject_id') = e.id"
    " OR json_extract(m.attributes, '$.object_id') = e.id)"
)
_POINTING = "SELECT l.source FROM json_each(?) j JOIN links l ON l.target = j.value"


def _entity(tx: sqlite3.Connection, id: str) -> dict[int, str]:
    """Key and id of an entity, and of all that was merged into it, by any number of steps."""
    row = tx.execute("SELECT key, id FROM memories WHERE id = ? AND stored <> 'erased'", (id,)).fetchone()
    if row is None:
        raise NotFoundError(f"there is no memory {id}", memory_id=id)
    found: dict[int, str] = dict([row])
    open_ids = [row[1]]
    while open_ids:
        for key, source in tx.execute("SELECT key, id FROM memories WHERE merged_into = ?", (open_ids.pop(),)):
            if key not in found:
                found[key] = source
                open_ids.append(source)
    return found


def _edges(tx: sqlite3.Connection, targets: Iterable[int], relation: Relation) -> list[int]:
    """Keys of what points to one of the targets."""
    rows = tx.execute(
        "SELECT DISTINCT l.source FROM json_each(?) j JOIN links l ON l.target = j.value AND l.relation = ?",
        (json.dumps(list(targets)), relation.value),
    )
    return [key for (key,) in rows]


def _choose(tx: sqlite3.Connection, chosen: dict[int, str], sort: str, candidates: Iterable[int]) -> None:
    """Adds the candidates that are about nothing that stays."""
    for key in candidates:
        if key in chosen:
            continue
        about = tx.execute("SELECT target FROM links WHERE source = ? AND relation = 'about'", (key,))
        if all(target in chosen for (target,) in about):
            chosen[key] = sort


def _ids(tx: sqlite3.Connection, keys: Iterable[int]) -> dict[int, str]:
    """Ids of those that are not erased yet, by key, the oldest first."""
    rows = tx.execute(
        "SELECT m.key, m.id FROM json_each(?) j JOIN memories m ON m.key = j.value WHERE m.stored <> 'erased'"
        " ORDER BY m.key",
        (json.dumps(sorted(keys)),),
    )
    return dict(rows.fetchall())


def _drafts_of(core: Core, tx: sqlite3.Connection, going: set[str], entity: set[str]) -> list[str]:
    """Reserved ids of memories that never came to be, and that would have concerned nobody but the subject."""
    found: dict[str, None] = {}
    waiting = _never_begun(core, tx)
    while True:
        new = [
            d.command.memory_id
            for d in waiting
            if d.command.memory_id not in found and _is_about(d.command, going, entity)
        ]
        if not new:
            return list(found)
        found |= dict.fromkeys(new)
        going = going | set(new)


def _is_about(command: Remember, going: set[str], entity: set[str]) -> bool:
    raw = command.attributes
    if command.kind == Kind.RELATIONSHIP and entity & {raw.get("subject_id"), raw.get("object_id")}:
        return True
    ends: dict[Relation, set[str]] = {}
    for link in command.links:
        ends.setdefault(link.relation, set()).add(link.target)
    about = ends.get(Relation.ABOUT, set())
    if not about <= going:
        return False
    owned = command.kind == Kind.CONTACT and bool(ends.get(Relation.OWNED_BY, set()) & entity)
    return bool(about & entity) or owned or bool(ends.get(Relation.DERIVED_FROM, set()) & going)
