"""One actor's way to read and write: a capability to hand to a tool, which can do no more with it than that actor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from engram_core.engine import Engine, Request
from engram_core.errors import EngramError, InvalidAttributesError, Problem
from engram_core.kinds import KindRegistry
from engram_core.log import Author
from engram_core.receipts import ImportReport, Receipt
from engram_core.values import Actor, text_problem
from engram_core.verbs import Draft, Verbs
from engram_core.view import View

__all__ = ["Session"]


class Session(Verbs, View):
    """Reads at the clock's now and the head of the log, call by call; every write returns a `Receipt`.

    Made by `MemorySpace.session`. It holds no public way back to the space.
    """

    def __init__(
        self,
        engine: Engine,
        actor: Actor,
        *,
        session_id: str | None = None,
        client: str | None = None,
        record: bool = True,
    ) -> None:
        problems = [
            Problem(name, problem)
            for name, value in (("session_id", session_id), ("client", client))
            if value is not None and (problem := text_problem(value, at_most=200, blank=False))
        ]
        if not isinstance(actor, Actor):
            problems.append(Problem("actor", f'must be an actor, such as user("ann"), not {type(actor).__name__}'))
        if problems:
            raise InvalidAttributesError("session", problems)
        self._engine = engine
        self._author = Author(actor=actor, session_id=session_id, client=client)
        self._start_view(engine, actor, on_read=self._recorder() if record else None)

    def _recorder(self) -> Callable[[Sequence[str]], None]:
        """Notes reads in the engine's buffer; never touches the database."""
        buffer, author, now = self._engine.accesses, self._author, self._engine.now

        def record(ids: Sequence[str]) -> None:
            buffer.record(author.actor, author.session_id, ids, now())

        return record

    def _kinds(self) -> KindRegistry:
        return self._engine.options.kinds

    def _new_id(self) -> str:
        return str(self._engine.options.ids())

    def _run(self, requests: Sequence[Request], command_id: str | None, *, answer: int = 0) -> Receipt:
        return self._engine.submit(self._author, requests, command_id=command_id).receipts[answer]

    def remember_many(
        self,
        items: Iterable[Any],
        *,
        batch: int = 500,
        progress: Callable[[int], None] | None = None,
        on_error: str = "stop",
    ) -> ImportReport:
        """Begins many memories, in batches that are atomic each.

        Args:
            items: `Draft`s, or attributes alone; read as they are needed, never all at once.
            batch: How many make a transaction, 1 to 10,000.
            progress: Called after each batch with the number of items so far.
            on_error: "stop" raises at the first item that is refused, with nothing of its batch written, and the
                report so far in the error's `fields["report"]`; "skip" leaves that item out and goes on.

        Returns: Receipts in the order of the items, counts by status, and errors by index.
        Raises: InvalidAttributesError for the arguments; with "stop", whatever refused an item.
        """
        if on_error not in ("stop", "skip"):
            raise InvalidAttributesError("remember_many", [Problem("on_error", 'must be "stop" or "skip"')])
        if isinstance(batch, bool) or not isinstance(batch, int) or not 1 <= batch <= 10_000:
            raise InvalidAttributesError("remember_many", [Problem("batch", "must be 1 to 10,000")])
        many = _Many(self, skip=on_error == "skip")
        for item in items:
            many.add(item)
            if len(many.requests) >= batch:
                many.write(progress)
        many.write(progress)
        return many.report()


class _Many:
    """An import in progress."""

    def __init__(self, session: Session, *, skip: bool) -> None:
        self.session = session
        self.skip = skip
        self.requests: list[tuple[int, Request]] = []
        self.receipts: list[Receipt] = []
        self.errors: list[tuple[int, Exception]] = []
        self.seen = 0

    def add(self, item: Any) -> None:
        index = self.seen
        self.seen += 1
        try:
            request = self.session._remembering(item if isinstance(item, Draft) else Draft(item), similar=False)
        except EngramError as error:
            self.refuse(index, error)
            return
        self.requests.append((index, request))

    def refuse(self, index: int, error: EngramError) -> None:
        self.errors.append((index, error))
        if not self.skip:
            error.fields = {**error.fields, "index": index, "report": self.report()}
            error.add_note(f"in item {index} of remember_many")
            raise error

    def write(self, progress: Callable[[int], None] | None) -> None:
        indexes = [index for index, _ in self.requests]
        requests = [request for _, request in self.requests]
        self.requests = []
        if requests:
            engine, author = self.session._engine, self.session._author
            result = engine.submit(author, requests, refused=lambda place, error: self.refuse(indexes[place], error))
            self.receipts += result.receipts
        if progress is not None and indexes:
            progress(self.seen)

    def report(self) -> ImportReport:
        counts: dict[str, int] = {}
        for receipt in self.receipts:
            counts[receipt.status.value] = counts.get(receipt.status.value, 0) + 1
        if self.errors:
            counts["error"] = len(self.errors)
        return ImportReport(receipts=tuple(self.receipts), counts=counts, errors=tuple(self.errors))
