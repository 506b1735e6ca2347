"""One actor's way to read and write: a capability to hand to a tool, which can do no more with it than that actor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, overload
from uuid import UUID

from attrs import evolve as replaced

from engram_core.arguments import Evidence, MemoryRef, check_revision, memory_id
from engram_core.core import Request, Result, Terms
from engram_core.drafts import Draft
from engram_core.engine import Engine
from engram_core.erasing import ErasureReport, SubjectExport
from engram_core.errors import EngramError, ForbiddenError, InvalidAttributesError, NotFoundError, Problem
from engram_core.exporting import export_subject
from engram_core.kinds import KindRegistry
from engram_core.log import Author
from engram_core.policy import whole_problem
from engram_core.proposal import Proposal
from engram_core.quarantine import quarantine
from engram_core.receipts import ImportReport, Receipt
from engram_core.recorder import Preview, Recorder
from engram_core.values import Actor, EvidenceRef, checked_flag, text_problem
from engram_core.verbs import Verbs
from engram_core.view import View

__all__ = ["ProposalRef", "Session", "batch_ref", "proposal_ref"]


ProposalRef: TypeAlias = Any
"""What names a proposal: its id, a `Proposal`, or the receipt that opened it."""


def proposal_ref(p: ProposalRef) -> str:
    """The id of a proposal."""
    found = p.proposal_id if isinstance(p, Receipt) else p if isinstance(p, str | UUID) else getattr(p, "id", None)
    if not isinstance(found, str | UUID) or not str(found):
        problem = f"must be an id, a Proposal or the receipt of one, not {type(p).__name__}"
        raise InvalidAttributesError("proposal", [Problem("proposal", problem)])
    if text_problem(str(found)):
        raise NotFoundError(f"there is no proposal {found}", proposal_id=str(found))
    return str(found)


def batch_ref(batch: str | Receipt) -> str:
    """The id of a batch."""
    found = batch.batch_id if isinstance(batch, Receipt) else batch
    if not isinstance(found, str) or not found:
        problem = "must be a batch id, or the receipt of something that was written"
        raise InvalidAttributesError("undo", [Problem("batch", problem)])
    if text_problem(found):
        raise NotFoundError(f"there is no batch {found}", batch_id=found)
    return found


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
        result = self._engine.submit(self._author, requests, command_id=command_id)
        receipt = result.receipts[answer]
        if len(requests) == 1 or receipt.proposal_id is not None:
            return receipt
        return replaced(receipt, events=tuple(recorded.event for recorded in result.events))

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
        if problem := whole_problem(batch, low=1, high=10_000):
            raise InvalidAttributesError("remember_many", [Problem("batch", problem)])
        if progress is not None and not callable(progress):
            raise InvalidAttributesError("remember_many", [Problem("progress", "must be callable")])
        _check_list(items, "items")
        many = _Many(self, skip=on_error == "skip")
        for item in items:
            many.add(item)
            if len(many.requests) >= batch:
                many.write(progress)
        many.write(progress)
        return many.report()

    # -- together -----------------------------------------------------------------------------------

    def batch(self) -> Recorder:
        """A `with` block whose verbs take effect together, as one batch, when it ends; or not at all if it raises."""
        return Recorder(self._kinds(), self._new_id, lambda requests: self._engine.submit(self._author, requests))

    @overload  # type: ignore[override] # beside reading one, a session opens one
    def proposal(self, title: str, *, rationale: str = "", evidence: Evidence = ()) -> Recorder: ...
    @overload
    def proposal(self, p: Proposal | Receipt | UUID, /) -> Proposal: ...
    def proposal(self, title: Any, *, rationale: str = "", evidence: Evidence = ()) -> Any:
        """A `with` block whose verbs become the drafts of one proposal when it ends, also for a user.

        Given what names a proposal instead of a title (a UUID, a `Proposal`, a receipt), it reads that proposal, as
        `View.proposal` does.

        Args:
            title: What it is about.
            rationale: Why it should be believed.
            evidence: What supports it as a whole.
        """
        if not isinstance(title, str) or _is_uuid(title):
            return super().proposal(title)
        refs = (evidence,) if isinstance(evidence, EvidenceRef) else _listed(evidence, "evidence")
        engine, author = self._engine, self._author

        def propose(requests: Sequence[Request]) -> Result:
            return engine.propose(author, requests, title=title, rationale=rationale, evidence=refs)

        return Recorder(self._kinds(), self._new_id, propose, proposing=True)

    def preview(self) -> Preview:
        """A `with` block that writes nothing; afterwards it shows the events and queue rows that it would cause."""
        engine, author = self._engine, self._author

        def rehearse(requests: Sequence[Request]) -> Result:
            result, rows = engine.rehearse(author, requests, self._queue)
            preview.reviews = rows
            return result

        preview = Preview(self._kinds(), self._new_id, rehearse)
        return preview

    def _queue(self) -> tuple[Any, ...]:
        """The whole review queue, as this actor sees it."""
        found: list[Any] = []
        after: str | None = None
        while True:
            page = self.reviews(limit=1_000, after=after)
            found += page
            after = page.next
            if after is None:
                return tuple(found)

    # -- deciding -----------------------------------------------------------------------------------

    def approve(
        self,
        p: ProposalRef,
        /,
        *,
        only: Iterable[int] | None = None,
        confirm: bool = False,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Merges a proposal's drafts as one atomic batch; users only.

        Args:
            p: The proposal: its id, itself, or the receipt that opened it.
            only: Numbers of the drafts to merge; the others stay open. By default all.
            confirm: Vouch for what the drafts touch, too, with a user's weight.
            expected_revision: The proposal's `revision` as it was read: a later change is a conflict then.
            command_id: A name that makes a retry return the first receipt.

        Raises: ForbiddenError; ConflictError when a draft's ground has moved (see `rebase`); NotFoundError.
        """
        checked_flag(confirm, "confirm", "approve")
        return self._engine.desk.approve(
            self._author, proposal_ref(p), _terms(expected_revision, command_id), only=only, confirm=confirm
        )

    def reject(
        self,
        p: ProposalRef,
        /,
        *,
        note: str = "",
        only: Iterable[int] | None = None,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Closes drafts as not believed; they are kept, with the note. Users only."""
        return self._engine.desk.reject(
            self._author, proposal_ref(p), _terms(expected_revision, command_id), note=note, only=only
        )

    def withdraw(
        self, p: ProposalRef, /, *, expected_revision: int | None = None, command_id: str | None = None
    ) -> Receipt:
        """Takes a proposal back: one's own, or as a user any."""
        return self._engine.desk.withdraw(self._author, proposal_ref(p), _terms(expected_revision, command_id))

    def rebase(
        self, p: ProposalRef, /, *, expected_revision: int | None = None, command_id: str | None = None
    ) -> Receipt:
        """Sets open drafts upon today's revisions; `proposal(p)` shows what has changed under each before that."""
        return self._engine.desk.rebase(self._author, proposal_ref(p), _terms(expected_revision, command_id))

    def undo(
        self, batch: str | Receipt, *, expected_revision: int | None = None, command_id: str | None = None
    ) -> Receipt:
        """Takes the effects of a batch back, whatever its events were. Users only.

        Args:
            batch: A batch id, or the receipt of what is to be undone.
            expected_revision: Takes part in no check here, as a batch changes many memories; every write has it.
            command_id: A name that makes a retry return the first receipt.

        Raises: ConflictError when something later touched or needed what it changed; IllegalTransitionError for
            deletions and erasures, and when it is undone already; NotFoundError; ForbiddenError.
        """
        return self._engine.undoing.undo(self._author, batch_ref(batch), _terms(expected_revision, command_id))

    def redo(
        self, batch: str | Receipt, *, expected_revision: int | None = None, command_id: str | None = None
    ) -> Receipt:
        """Puts the effects of an undone batch back; takes the original batch. Users only."""
        return self._engine.undoing.redo(self._author, batch_ref(batch), _terms(expected_revision, command_id))

    def quarantine(
        self,
        *,
        session_id: str | None = None,
        actor: Actor | None = None,
        source_ref: str | None = None,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Proposes to archive everything that came from one source, as wrong; nothing else is touched.

        Args:
            session_id, actor, source_ref: The source; at least one of them, and all that are given must fit.
            expected_revision: Takes part in no check here; every write has it.
            command_id: A name that makes a retry return the first receipt, without its `possible_conflicts`.

        Returns: The receipt of the proposal; its `possible_conflicts` name what would be undermined.
        """
        problems = [
            Problem(name, problem)
            for name, value in (("session_id", session_id), ("source_ref", source_ref))
            if value is not None and (problem := text_problem(value))
        ]
        if actor is not None and not isinstance(actor, Actor):
            problems.append(Problem("actor", f'must be an actor, such as user("ann"), not {type(actor).__name__}'))
        if problems:
            raise InvalidAttributesError("quarantine", problems)
        return quarantine(
            self._engine,
            self._author,
            _terms(expected_revision, command_id),
            session_id=session_id,
            actor=actor,
            source_ref=source_ref,
        )

    # -- erasing ------------------------------------------------------------------------------------

    def erase(
        self, m: MemoryRef, /, *, because: str = "requested", note: str = "", dry_run: bool = False
    ) -> ErasureReport:
        """Takes a memory's text out of the log and of everything made of it, for good; a trace without text stays.

        Args:
            m: The memory.
            because, note: Kept in the trace; they should not repeat what is erased.
            dry_run: Only report what would go.

        Raises: ForbiddenError for others than users; NotFoundError; IllegalTransitionError if it is erased already.
        """
        checked_flag(dry_run, "dry_run", "erase")
        return self._engine.erasing.erase(self._author, memory_id(m), because=because, note=note, dry_run=dry_run)

    def erase_subject(
        self, m: MemoryRef, /, *, because: str = "requested", note: str = "", dry_run: bool = False
    ) -> ErasureReport:
        """Erases an entity and all that concerns it alone; what concerns others, too, is listed in `shared`.

        `because` and `dry_run` are as of `erase`.
        """
        checked_flag(dry_run, "dry_run", "erase")
        return self._engine.erasing.erase_subject(
            self._author, memory_id(m), because=because, note=note, dry_run=dry_run
        )

    def export_subject(self, m: MemoryRef, /) -> SubjectExport:
        """All that the space holds about an entity, as JSON can hold it. Users only."""
        if not self._author.actor.is_user:
            raise ForbiddenError("only users export a subject", hint="ask a user")
        return export_subject(self._engine, memory_id(m))


def _terms(expected_revision: int | None, command_id: str | None) -> Terms:
    check_revision(expected_revision)
    return Terms(expected_revision=expected_revision, command_id=command_id)


def _check_list(given: object, name: str) -> None:
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping):
        raise InvalidAttributesError(name, [Problem(name, f"must be a list, not {type(given).__name__}")])


def _listed(given: Any, name: str) -> tuple[Any, ...]:
    _check_list(given, name)
    return tuple(given)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


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
            request = self.session._beginning(item if isinstance(item, Draft) else Draft(item), similar=False)
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
