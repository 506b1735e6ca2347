"""Quarantine: everything that came from one source is proposed to be archived, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve as replaced

from engram_core.commands import Archive
from engram_core.core import Request, Terms
from engram_core.engine import Engine
from engram_core.errors import InvalidAttributesError, Problem
from engram_core.events import ProposalOpened
from engram_core.log import Author
from engram_core.receipts import PossibleConflict, Receipt
from engram_core.values import Actor
from engram_core.vocab import ArchiveReason, ReceiptStatus
from engram_core.work import Work

__all__ = ["quarantine"]


def quarantine(
    engine: Engine, author: Author, terms: Terms, *, session_id: str | None, actor: Actor | None, source_ref: str | None
) -> Receipt:
    """Proposes to archive, as wrong, all that came from one source; what rests on it is named, and left alone.

    Args:
        engine: The space's engine.
        author: Who asks.
        terms: His conditions.
        session_id, actor, source_ref: The source; at least one, and all that are given must fit.

    Returns: The receipt of the proposal; its `possible_conflicts` are the memories that would be undermined.
    """
    wanted = {"session_id": session_id, "actor": None if actor is None else str(actor), "source_ref": source_ref}
    given = {name: value for name, value in wanted.items() if value is not None}
    if not given:
        raise InvalidAttributesError("quarantine", [Problem("source", "give session_id, actor or source_ref")])

    def decide(work: Work) -> Receipt:
        found = _of_source(work, given)
        if not found:
            return Receipt(status=ReceiptStatus.UNCHANGED)
        undermined = _resting_on(work, found)
        requests = [Request(command=Archive(id, ArchiveReason.WRONG)) for id in found.values()]
        rationale = f"{len(found)} memories came from this source; {len(undermined)} others rest on them."
        result = engine.desk.propose(
            work, requests, engine.now(), title="Quarantine one source", rationale=rationale, bounded=False
        )
        conflicts = tuple(PossibleConflict(memory_id=id, reason="undermined", hint="review it") for id in undermined)
        proposed = next((r for r in result.receipts if r.proposal_id), result.receipts[0])
        return replaced(proposed, possible_conflicts=conflicts)

    return engine.settle(author, terms, decide, ProposalOpened)


def _of_source(work: Work, given: Mapping[str, str]) -> dict[int, str]:
    """Key and id of the active memories whose source fits, as far as the actor may see them."""
    sql = {
        "session_id": "m.session = ?",
        "actor": "? IN (json_extract(m.source, '$.actor'), json_extract(m.source, '$.on_behalf_of'))",
        "source_ref": "json_extract(m.source, '$.source_ref') = ?",
    }
    conditions = " AND ".join(sql[name] for name in given)
    rows = work.tx.execute(
        f"SELECT m.key, m.id FROM memories m WHERE {conditions} AND m.stored = 'active' AND {work.sees('m')}"
        " ORDER BY m.key",
        tuple(given.values()),
    )
    return dict(rows.fetchall())


def _resting_on(work: Work, found: Mapping[int, str]) -> list[str]:
    """Ids of active memories that derive from the given ones by any number of steps, through merges, too."""
    seen = set(found)
    open_keys = list(found)
    resting: dict[int, str] = {}
    while open_keys:
        rows = work.tx.execute(
            "SELECT m.key, m.id, m.stored FROM links l JOIN memories m ON m.key = l.source WHERE l.target = :key"
            f" AND l.relation = 'derived_from' AND m.stored IN ('active', 'archived') AND {work.sees('m')}"
            " UNION ALL SELECT s.key, s.id, 'merged' FROM memories s JOIN memories v ON v.id = s.merged_into"
            f" WHERE v.key = :key AND {work.sees('s')}",
            {"key": open_keys.pop()},
        ).fetchall()
        for key, id, stored in rows:
            if key not in seen:
                seen.add(key)
                open_keys.append(key)
                if stored == "active":
                    resting[key] = id
    return [resting[key] for key in sorted(resting)]
