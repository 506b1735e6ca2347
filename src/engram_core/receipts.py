"""What a write answers: the receipt of one command, the report of many."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from engram_core.events import Event
from engram_core.vocab import ReceiptStatus

__all__ = ["ImportReport", "PossibleConflict", "Receipt"]


@frozen(kw_only=True)
class PossibleConflict:
    """A memory that a new one may repeat or contradict; nothing was decided.

    Attributes:
        memory_id: The other memory.
        reason: "title" (same title, other content), "similar" (word overlap), or "archived" / "expired" (an exact
            twin that is out of recall); of a quarantine "undermined" (it rests on what would be archived), of a rebase
            "rebased" (it has changed under a draft).
        overlap: Share of common words in [0, 1], where that is the reason.
        hint: What would settle it; of a rebase, what has changed.
    """

    memory_id: str
    reason: str
    overlap: float | None = None
    hint: str = ""


@frozen(kw_only=True)
class Receipt:
    """What became of a write.

    Attributes:
        status: created, changed, unchanged, duplicate or proposed.
        memory_id: The memory that it concerns; of a duplicate the one that is there; of a proposal the reserved id.
        proposal_id: The proposal that now waits for a user.
        batch_id: What `undo` takes; None when nothing was written.
        events: What was written, in order.
        possible_conflicts: Memories that it may repeat or contradict.
        redactions: How many secrets were removed before anything was stored.
        notice: What must be known of `possible_conflicts`, if anything.
    """

    status: ReceiptStatus
    memory_id: str | None = None
    proposal_id: str | None = None
    batch_id: str | None = None
    events: tuple[Event, ...] = field(default=(), repr=lambda events: f"<{len(events)}>")
    possible_conflicts: tuple[PossibleConflict, ...] = ()
    redactions: int = 0
    notice: str = ""

    def of_batch(self, batch_id: str) -> Receipt:
        """The same receipt, of a batch that has its id now."""
        return Receipt(
            status=self.status,
            memory_id=self.memory_id,
            proposal_id=self.proposal_id,
            batch_id=batch_id,
            events=self.events,
            possible_conflicts=self.possible_conflicts,
            redactions=self.redactions,
            notice=self.notice,
        )


@frozen(kw_only=True)
class ImportReport:
    """What became of many.

    Attributes:
        receipts: One for each item that was taken, in order.
        counts: How many of each status, and of errors under "error".
        errors: (index of the item, error) for each that was refused.
    """

    receipts: tuple[Receipt, ...] = field(default=(), repr=lambda receipts: f"<{len(receipts)}>")
    counts: dict[str, int] = field(factory=dict)
    errors: tuple[tuple[int, Exception], ...] = ()

    def __len__(self) -> int:
        return len(self.receipts)

    def __iter__(self) -> Any:
        return iter(self.receipts)
