"""Proposals as the viewer may read them: users all, everybody else his own."""

from __future__ import annotations

from attrs import evolve

from engram_core.errors import InvalidAttributesError, NotFoundError, Problem
from engram_core.proposal import Proposal, fold_proposal, proposal_stream
from engram_core.reads.listing import Cursor, check_limit, read_cursor, write_cursor
from engram_core.reads.snapshot import Snapshot, can_exist
from engram_core.results.listings import Page
from engram_core.vocab import ProposalStatus

__all__ = ["proposal", "proposals"]

_MINE = "(:everybody OR p.author = :viewer)"


def proposals(
    snapshot: Snapshot, *, status: ProposalStatus | str | None = "open", limit: int = 1_000, after: str | None = None
) -> Page[Proposal]:
    """One page of the proposals, oldest first.

    Args:
        snapshot: Through whose eyes.
        status: Where they stand; None: anywhere.
        limit: How many, 1 to 1,000.
        after: The `next` of the page before.

    Raises: InvalidAttributesError.
    """
    limit = check_limit(limit, snapshot.library.limits)
    wanted = None if status is None else _status(status)
    query = f"proposals:{wanted}"
    cursor = Cursor((-1,), "") if after is None else read_cursor(after, query, 1)
    rows = snapshot.all(
        f"SELECT p.id, p.opened_at FROM proposals p WHERE p.position <= :upto AND {_MINE}"
        " AND (p.opened_at, p.id) > (:at, :id) AND (:known IS NOT NULL OR :status IS NULL OR p.status = :status)"
        " ORDER BY p.opened_at, p.id",
        {
            "upto": snapshot.known,
            "everybody": snapshot.point.actor.is_user,
            "at": cursor.values[0],
            "id": cursor.id,
            "status": wanted,
        },
    )
    found: list[tuple[int, Proposal]] = []
    for id, opened_at in rows:
        state = _state(snapshot, id)
        if state is not None and wanted in {None, state.status}:
            found.append((opened_at, state))
        if len(found) > limit:
            break
    following = None
    if len(found) > limit:
        found = found[:limit]
        following = write_cursor(Cursor((found[-1][0],), found[-1][1].id), query)
    return Page(tuple(state for _, state in found), following)


def proposal(snapshot: Snapshot, id: str) -> Proposal:
    """One proposal.

    Raises: NotFoundError for one that is absent, and for another's.
    """
    row = None
    if can_exist(id):
        row = snapshot.one(
            f"SELECT 1 FROM proposals p WHERE p.id = :id AND p.position <= :upto AND {_MINE}",
            {"id": id, "upto": snapshot.known, "everybody": snapshot.point.actor.is_user},
        )
    state = None if row is None else _state(snapshot, id)
    if state is None:
        raise NotFoundError(f"there is no proposal {id}", proposal_id=id)
    return state


def _state(snapshot: Snapshot, id: str) -> Proposal | None:
    known = snapshot.known
    events = [event for event in snapshot.library.log.stream(proposal_stream(id)) if event.position <= known]
    state = fold_proposal(events)
    return state if state is None or snapshot.point.actor.is_user else evolve(state, batch_id=None)


def _status(given: ProposalStatus | str) -> ProposalStatus:
    try:
        return ProposalStatus(given)
    except ValueError:
        problem = Problem("status", f"{given!r} is none of {', '.join(ProposalStatus)}")
        raise InvalidAttributesError("proposals", [problem]) from None
