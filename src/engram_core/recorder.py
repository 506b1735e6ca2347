"""Recorders: the same verbs as a session, collected and run as one batch, as one proposal, or as a rehearsal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from engram_core.commands import Remember
from engram_core.core import Request, Result
from engram_core.errors import RejectedError
from engram_core.events import Event
from engram_core.kinds import KindRegistry
from engram_core.receipts import Receipt
from engram_core.verbs import Verbs
from engram_core.vocab import ReceiptStatus

__all__ = ["Preview", "Recorder"]


class Recorder(Verbs):
    """Collects commands within a `with` block, and runs them when it ends; if it raises, nothing was asked.

    A verb answers with a provisional receipt: its `memory_id` is reserved and can be used in later verbs of the block.
    The true ones are in `receipts` afterwards.

    Attributes:
        receipts: One for each verb, after the block.
        receipt: The receipt of the whole, after the block; what `undo` or `approve` takes.
    """

    def __init__(
        self,
        kinds: KindRegistry,
        new_id: Callable[[], str],
        run: Callable[[Sequence[Request]], Result],
        *,
        proposing: bool = False,
    ) -> None:
        self._registry = kinds
        self._ids = new_id
        self._finish = run
        self._proposing = proposing
        self._requests: list[Request] = []
        self._answers: list[int] = []
        self._ended = False
        self._result = Result()

    def _kinds(self) -> KindRegistry:
        return self._registry

    def _new_id(self) -> str:
        return self._ids()

    def _run(self, requests: Sequence[Request], command_id: str | None, *, answer: int = 0) -> Receipt:
        if self._ended:
            raise RejectedError("this recorder has ended", code="recorder_ended", hint="open another with block")
        if command_id is not None:
            raise RejectedError(
                "a recorder takes no command_id",
                code="no_command_id",
                hint="repeat the whole block, or use session verbs",
            )
        self._answers.append(len(self._requests) + answer)
        self._requests += requests
        command = requests[answer].command
        status = ReceiptStatus.CREATED if isinstance(command, Remember) else ReceiptStatus.CHANGED
        return Receipt(status=ReceiptStatus.PROPOSED if self._proposing else status, memory_id=command.memory_id)

    def __len__(self) -> int:
        return len(self._answers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        if kind is None and self._requests:
            self._result = self._finish(tuple(self._requests))

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts of the verbs, in order; empty before the block has ended."""
        found = self._result.receipts
        return tuple(found[place] for place in self._answers if place < len(found))

    @property
    def receipt(self) -> Receipt:
        """The receipt of the whole."""
        receipts = self.receipts
        proposed = next((r for r in receipts if r.status is ReceiptStatus.PROPOSED), None)
        if proposed is not None:
            return proposed
        status = ReceiptStatus.CHANGED if self._result.batch_id else ReceiptStatus.UNCHANGED
        return Receipt(
            status=status,
            memory_id=receipts[0].memory_id if receipts else None,
            batch_id=self._result.batch_id,
            events=tuple(e.event for e in self._result.events),
        )

    @property
    def proposal_id(self) -> str | None:
        """The proposal that the block opened, if it did."""
        return self.receipt.proposal_id

    @property
    def batch_id(self) -> str | None:
        """The batch that the block wrote, if it did."""
        return self._result.batch_id


class Preview(Recorder):
    """A recorder that writes nothing, and shows what it would.

    Attributes:
        events: The events that would be written, after the block.
        reviews: The rows that would enter the review queue, after the block.
    """

    reviews: tuple[Any, ...] = ()

    @property
    def events(self) -> tuple[Event, ...]:
        """The events that would be written."""
        return tuple(e.event for e in self._result.events)
