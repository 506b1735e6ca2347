"""The one way in: commands → decide → events → codec → log → projections, in one transaction.

A submission is one command or many; either all take effect under one batch id, or none. Decisions are made under the
store's write lock against the log itself, so that a twin, a taken edge or a second owner cannot slip in between.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeAlias

from attrs import evolve as replaced

from engram_core.answering import answered, check_answers, named_command
from engram_core.commands import Remember
from engram_core.core import Options, Request, Result
from engram_core.desk import Desk
from engram_core.erasing import Erasing
from engram_core.errors import EngramError, NotFoundError, RejectedError
from engram_core.events import RecordedEvent
from engram_core.log import Author
from engram_core.ports import EventStore
from engram_core.receipts import Receipt
from engram_core.redaction import redacted, redacted_words
from engram_core.undoing import Undoing
from engram_core.values import EvidenceRef
from engram_core.work import Work
from engram_core.writing import Writer

__all__ = ["Engine", "Refused"]

Refused: TypeAlias = Callable[[int, EngramError], None]
"""Is told of the place of a refused command in its submission, and why."""


class Engine(Writer):
    """One open space: takes submissions, and keeps the desk, undo and erasure at hand."""

    def __init__(
        self, store: EventStore, options: Options, *, owns_store: bool = True, read_only: bool = False
    ) -> None:
        super().__init__(store, options, owns_store=owns_store, read_only=read_only)
        self.desk = Desk(self)
        self.undoing = Undoing(self)
        self.erasing = Erasing(self)

    def submit(
        self,
        author: Author,
        requests: Sequence[Request],
        *,
        command_id: str | None = None,
        refused: Refused | None = None,
    ) -> Result:
        """Runs commands as one batch.

        Args:
            author: Who asks.
            requests: The commands, decided in order, each seeing what those before it changed.
            command_id: A name that makes a retry safe: the second time, the first result comes back.
            refused: Is told of a command that the rules refuse, by its place, and may raise; the others go on then.

        Returns: A receipt for each that was not refused, and what was written.
        Raises: RejectedError, NotFoundError, ConcurrencyError, ProjectionError, StoreError; nothing is written then.
        """
        key = named_command(author, command_id)
        cleaned = [self._cleaned(request) for request in requests]

        def attempt(tx: sqlite3.Connection) -> Result:
            work = Work(self, tx, author, key)
            if (events := answered(work)) is not None:
                return self._first_result(work, events, cleaned)
            now = self.now()
            if not author.actor.is_user and not self._allows(work, cleaned):
                return self.desk.propose(work, cleaned, now)
            return self.write(work, self._decide_all(work, cleaned, now, refused))

        return self.transact(attempt)

    def propose(
        self,
        author: Author,
        requests: Sequence[Request],
        *,
        title: str = "",
        rationale: str = "",
        evidence: tuple[EvidenceRef, ...] = (),
    ) -> Result:
        """Opens a proposal of commands, whoever asks."""
        cleaned = [self._cleaned(request) for request in requests]

        def attempt(tx: sqlite3.Connection) -> Result:
            work = Work(self, tx, author)
            said = redacted_words((title, rationale, evidence), self.options.redactor)
            return self.desk.propose(work, cleaned, self.now(), title=said[0], rationale=said[1], evidence=said[2])

        return self.transact(attempt)

    def rehearse(
        self, author: Author, requests: Sequence[Request], queue: Callable[[], tuple[Any, ...]]
    ) -> tuple[Result, tuple[Any, ...]]:
        """Runs commands, looks at the review queue, and takes everything back.

        Returns: What would have been written, and the rows that would have entered the queue.
        """
        cleaned = [self._cleaned(request) for request in requests]
        found: list[tuple[Result, tuple[Any, ...]]] = []

        def attempt(tx: sqlite3.Connection) -> None:
            before = {_names(row) for row in queue()}
            work = Work(self, tx, author)
            now = self.now()
            if not author.actor.is_user and not self._allows(work, cleaned):
                result = self.desk.propose(work, cleaned, now)
            else:
                result = self.write(work, self._decide_all(work, cleaned, now, None), reads=False)
            found.append((result, tuple(row for row in queue() if _names(row) not in before)))
            raise _Rehearsed

        with suppress(_Rehearsed):
            self.transact(attempt)
        return found[0]

    def _allows(self, work: Work, requests: Sequence[Request]) -> bool:
        """True when the actor may make every one of these changes without asking."""
        actor, approval = work.author.actor, self.options.approval
        return all(
            approval.allows(actor, request.command, work.visible(request.command.memory_id)) for request in requests
        )

    def _decide_all(
        self, work: Work, requests: Sequence[Request], now: datetime, refused: Refused | None
    ) -> list[Receipt]:
        receipts = []
        for place, request in enumerate(requests):
            try:
                receipts.append(self.decide(work, request, now))
            except (RejectedError, NotFoundError) as error:
                if refused is None:
                    raise
                refused(place, error)
        return receipts

    def _cleaned(self, request: Request) -> Request:
        """The request without secrets, where the application gave a redactor."""
        redactor = self.options.redactor
        if redactor is None:
            return request
        command, removed = redacted(request.command, redactor)
        if removed and isinstance(command, Remember):
            self.options.kinds.structure(command.kind, command.attributes, command.attributes_version)
        return replaced(request, command=command, redactions=removed)

    def _first_result(self, work: Work, events: tuple[RecordedEvent, ...], requests: Sequence[Request]) -> Result:
        """What the same command of the same actor led to before."""
        check_answers(events, (work.renamed(request.command) for request in requests))
        told = self.shown(work, events)
        receipts = self.desk.receipts_of(events, requests, tuple(e.event for e in told))
        return Result(receipts=tuple(receipts), batch_id=events[0].batch_id, events=told)

    def close(self) -> None:
        """Writes what is buffered and releases the store."""
        try:
            if not self.read_only:
                self.flush(encode=False)
        finally:
            self.host.close()
            if self.owns_store:
                self.store.close()


def _names(row: Any) -> tuple[Any, ...]:
    """What tells a row of the review queue from all others."""
    return (row.reason, row.memory_id, row.other_id, row.proposal_id)


class _Rehearsed(Exception):
    pass
