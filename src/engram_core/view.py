"""Every read of a space, for one actor, at one point in time. What he may not see does not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, overload

from engram_core import reads
from engram_core.core import Core
from engram_core.errors import InvalidAttributesError, Problem
from engram_core.filters import Filters, Span, id_of
from engram_core.kinds import Attributes
from engram_core.proposal import Proposal
from engram_core.reads.snapshot import Library, Point, Snapshot
from engram_core.results.memory import Memory
from engram_core.values import Actor, Period, checked_flag, checked_instant, to_micros
from engram_core.vocab import ProposalStatus, ReviewReason

if TYPE_CHECKING:
    from engram_core.results import (
        Accesses,
        Diff,
        Explanation,
        HistoryRow,
        Hits,
        Neighbour,
        Page,
        Path,
        ReviewRow,
        Scores,
        Stats,
        Subgraph,
        Why,
    )

__all__ = ["OnRead", "View"]

A = TypeVar("A", bound=Attributes)

OnRead = Callable[[Sequence[str]], None]
"""Is told the ids that `get` and `recall` returned; must not write."""

_STEP = 500


class View:
    """All reads for one actor. Views are values: reading changes nothing that a later read returns.

    A session reads at the clock's now and the head of the log, call by call; `as_of` and `at` give views that are
    pinned. Wherever a memory is asked for, it is given as its id, as a `Memory` or as a `Receipt`.

    Args:
        library: What all views of the space share.
        actor: Who reads.
        now: Gives the instant for which status and figures are derived.
        known: Position up to which the log is known; None: its head at each call.
        valid_at: Aware instant at which what is read must be true; None: whenever.
        on_read: Is told what was read; None: nobody is.
    """

    def __init__(
        self,
        library: Library,
        actor: Actor,
        *,
        now: Callable[[], datetime],
        known: int | None = None,
        valid_at: datetime | None = None,
        on_read: OnRead | None = None,
    ) -> None:
        self._library = library
        self._viewer = actor
        self._now = now
        self._known = known
        self._valid_at = valid_at
        self._on_read = on_read

    def _start_view(self, core: Core, actor: Actor, *, on_read: OnRead | None) -> None:
        """Makes this the view of a space's present."""
        options = core.options
        library = Library(
            reading=core.host.reading,
            log=core.log,
            kinds=options.kinds,
            policy=options.policy,
            limits=options.limits,
            encoding=core.encoding,
        )
        View.__init__(self, library, actor, now=core.now, on_read=on_read)

    # -- one memory and many ------------------------------------------------------------------------

    @overload
    def get(self, m: object, /, *, kind: type[A]) -> Memory[A]: ...
    @overload
    def get(self, m: object, /, *, kind: str | None = None) -> Memory[Any]: ...
    def get(self, m: object, /, *, kind: type[Attributes] | str | None = None) -> Memory[Any]:
        """One memory.

        Args:
            m: Which.
            kind: Its kind or class, which types the answer.

        Raises: NotFoundError for what is absent, deleted, withdrawn, erased or hidden, and for another kind.
        """
        id = id_of(m)
        library = self._library
        wanted = None if kind is None else library.kinds.spec(kind).kind
        point = Point(self._viewer, self._now(), self._known, self._valid_at)
        with library.reading() as connection:
            found = reads.memories.memory(Snapshot(connection, library, point), id)
        if wanted is not None and found.kind != wanted:
            raise reads.memories.not_there(id)
        if self._on_read is not None:
            self._on_read((id,))
        return found

    def find(
        self,
        *,
        order: str = "created_at",
        descending: bool = False,
        limit: int = 50,
        after: str | None = None,
        **filters: Any,
    ) -> Page[Memory[Any]]:
        """A page of the memories that pass the filters; those that are active or stale unless `status` says more.

        Args:
            order: created_at, updated_at, occurred_at, last_confirmed_at, confidence, importance, title, kind or id.
            descending: The other way round.
            limit: How many, 1 to 1,000.
            after: The `next` of the page before, with the same filters and order.
            filters: See `engram_core.filters`: kind, where, tags, any_tags, status, min_confidence, created, occurred,
                linked, about.

        Raises: InvalidAttributesError that names each filter that is wrong.
        """
        checked_flag(descending, "descending", "find")
        with self._snapshot() as snapshot:
            return reads.listing.find(
                snapshot, self._filters(filters), order=order, descending=descending, limit=limit, after=after
            )

    def find_all(self, *, order: str = "created_at", descending: bool = False, **filters: Any) -> Iterator[Memory[Any]]:
        """All memories that pass the filters, read page by page as needed; order and descending as of `find`."""
        step = min(_STEP, self._library.limits.listing)
        page = self.find(order=order, descending=descending, limit=step, **filters)
        return self._rest(page, order, descending, step, filters)

    def _rest(
        self, page: Page[Memory[Any]], order: str, descending: bool, step: int, filters: Mapping[str, Any]
    ) -> Iterator[Memory[Any]]:
        yield from page
        while page.next is not None:
            page = self.find(order=order, descending=descending, limit=step, after=page.next, **filters)
            yield from page

    def count(self, **filters: Any) -> int:
        """How many memories pass the filters."""
        with self._snapshot() as snapshot:
            return reads.listing.count(snapshot, self._filters(filters))

    # -- the graph ----------------------------------------------------------------------------------

    def neighbours(
        self, m: object, /, *, relation: str | Iterable[str] | None = None, direction: str = "both", depth: int = 1
    ) -> tuple[Neighbour, ...]:
        """What is connected with a memory, nearest first.

        Args:
            m: Where to start.
            relation: One relation, its inverse name (which has one direction only), or "relationship" for
                relationships of any predicate, which are walked like edges; or several of these. None: all.
            direction: "out", "in" or "both", as seen along the relation.
            depth: How many steps at most.

        Raises: NotFoundError; InvalidAttributesError; RejectedError where the walk reaches too many memories.
        """
        with self._snapshot() as snapshot:
            return reads.graph.neighbours(snapshot, id_of(m), relation=relation, direction=direction, depth=depth)

    def path(self, a: object, b: object, /) -> Path:
        """A shortest way from one memory to another, along or against any edges; empty when there is none."""
        with self._snapshot() as snapshot:
            return reads.graph.path(snapshot, id_of(a), id_of(b))

    def subgraph(self, ms: object, /, *, depth: int = 1) -> Subgraph:
        """What lies within `depth` steps of `ms`, one memory or several, with every edge between."""
        several = not isinstance(ms, str | Memory) and isinstance(ms, Iterable)
        ids = [id_of(m) for m in ms] if several else [id_of(ms)]  # type: ignore[attr-defined]
        with self._snapshot() as snapshot:
            return reads.graph.subgraph(snapshot, ids, depth=depth)

    # -- accounts -----------------------------------------------------------------------------------

    def history(self, m: object, /) -> tuple[HistoryRow, ...]:
        """What happened to a memory, oldest first; users also learn it of what was deleted.

        For others it starts where the memory became visible to them, and ids that they may not see are masked.
        """
        with self._snapshot() as snapshot:
            return reads.past.history(snapshot, id_of(m))

    def why(self, m: object, /) -> Why:
        """Why a memory is believed: its source and evidence, every change of confidence, what it rests on."""
        with self._snapshot() as snapshot:
            return reads.reasons.why(snapshot, id_of(m))

    def explain(self, m: object, /) -> Explanation:
        """What the figures of a memory come from; of a `Hit`, also each term of its score."""
        from engram_core.results.listings import Hit

        with self._snapshot() as snapshot:
            if isinstance(m, Hit):
                return reads.figures.explanation(snapshot, m.id, m.explanation)
            return reads.figures.explanation(snapshot, id_of(m))

    def scores(self, m: object, /) -> Scores:
        """Importance, retention and effective confidence of a memory, counting only what the viewer may see."""
        with self._snapshot() as snapshot:
            return reads.figures.scores(snapshot, id_of(m))

    def accesses(self, m: object, /) -> Accesses:
        """Who read a memory, when last and how often, as far as it has been flushed."""
        with self._snapshot() as snapshot:
            return reads.figures.accesses(snapshot, id_of(m))

    # -- the space ----------------------------------------------------------------------------------

    def tags(self) -> dict[str, int]:
        """How many active or stale memories bear each tag."""
        with self._snapshot() as snapshot:
            return reads.figures.tags(snapshot)

    def stats(self) -> Stats:
        """Figures of all that the viewer may see."""
        with self._snapshot() as snapshot:
            return reads.figures.stats(snapshot)

    def timeline(
        self, start: datetime, end: datetime, *, limit: int = 1_000, after: str | None = None
    ) -> Page[Memory[Any]]:
        """What happened in [start, end), in order: episodes at their own time, all else at its creation."""
        period = Period(start, end)
        span = Span(to_micros(period.start), to_micros(period.end))
        with self._snapshot() as snapshot:
            return reads.changes.timeline(snapshot, span, limit=limit, after=after)

    def diff(self, other: View) -> Diff:
        """What the `other` view of the same actor believes that this one does not, or does otherwise; and why."""
        if not isinstance(other, View):
            raise InvalidAttributesError("diff", [Problem("other", f"must be a View, not {type(other).__name__}")])
        with self._snapshot() as before:
            point = Point(other._viewer, other._now(), other._known, other._valid_at)
            return reads.changes.diff(before, Snapshot(before.connection, self._library, point))

    def reviews(
        self, *, reason: ReviewReason | str | None = None, limit: int = 50, after: str | None = None
    ) -> Page[ReviewRow]:
        """What waits for a person, by reason, importance and age; each row says what would close it."""
        with self._snapshot() as snapshot:
            return reads.queue.reviews(snapshot, reason=reason, limit=limit, after=after)

    def proposals(
        self, *, status: ProposalStatus | str | None = "open", limit: int = 1_000, after: str | None = None
    ) -> Page[Proposal]:
        """The proposals of a `status`, or of every one (None), oldest first; non-users see their own alone."""
        with self._snapshot() as snapshot:
            return reads.proposals.proposals(snapshot, status=status, limit=limit, after=after)

    def proposal(self, p: object, /) -> Proposal:
        """One proposal, by its id, by itself or by the receipt that opened it.

        Raises: NotFoundError.
        """
        named = getattr(p, "proposal_id", None)
        with self._snapshot() as snapshot:
            return reads.proposals.proposal(snapshot, named if isinstance(named, str) else id_of(p))

    # -- questions ----------------------------------------------------------------------------------

    def recall(self, query: str, *, limit: int = 10, **filters: Any) -> Hits:
        """The memories that answer a question, best first.

        Args:
            query: Any text; one without words finds nothing.
            limit: How many at most, 1 to 1,000.
            filters: As of `find`; they apply before the limit.

        Returns: Hits, each with its score and the terms that add up to it.
        Raises: InvalidAttributesError.
        """
        if not isinstance(query, str):
            raise InvalidAttributesError("recall", [Problem("query", f"must be text, not {type(query).__name__}")])
        meant = reads.asking.meant(self._library, query)
        with self._snapshot() as snapshot:
            hits = reads.asking.recall(snapshot, query, self._filters(filters), limit=limit, meant=meant)
        if self._on_read is not None and hits:
            self._on_read([hit.id for hit in hits])
        return hits

    def search(self, text: str, *, limit: int = 10) -> Hits:
        """The memories that a line of the query language asks for.

        Args:
            text: Words, "phrases" and conditions such as `kind:person is:stale confidence>0.5 created:2026-03`; see
                `engram_core.query`.
            limit: How many at most, 1 to 1,000.

        Returns: Hits, best first; where there are no words, newest first.
        Raises: InvalidAttributesError that names each condition that is wrong.
        """
        from engram_core.query import parsed
        from engram_core.reads.searching import search

        if not isinstance(text, str):
            raise InvalidAttributesError("search", [Problem("text", f"must be text, not {type(text).__name__}")])
        query = parsed(text[: self._library.limits.query], self._library.kinds, self._now())
        meant = reads.asking.meant(self._library, query.words)
        with self._snapshot() as snapshot:
            hits = search(snapshot, query, limit=limit, meant=meant)
        if self._on_read is not None and hits:
            self._on_read([hit.id for hit in hits])
        return hits

    # -- other points in time -----------------------------------------------------------------------

    def as_of(self, *, known_at: datetime | None = None, valid_at: datetime | None = None) -> View:
        """The view as it was, or of what was true.

        Args:
            known_at: Aware instant; what was recorded later is unknown, and status and figures are derived for then.
            valid_at: Aware instant; what was not true then is left out, and what was superseded later is not yet.

        Returns: A pinned view. It shows a memory iff the actor may see it then and now.
        """
        if known_at is None and valid_at is None:
            raise InvalidAttributesError("as_of", [Problem("known_at", "is required, or valid_at")])
        now, known, holds = self._now, self._known, self._valid_at
        if known_at is not None:
            instant = checked_instant(known_at, "known_at", "as_of")
            found = self._library.log.position_at(instant)
            now, known = (lambda: instant), found if known is None else min(found, known)
        elif known is None:
            now, known = _pinned(now), self._library.log.head()
        if valid_at is not None:
            holds = checked_instant(valid_at, "valid_at", "as_of")
        return self._moved(now, known, holds)

    def at(self, now: datetime) -> View:
        """What is known, as it stands at another now, an aware instant: status and figures are derived for then."""
        instant = checked_instant(now, "now", "at")
        known = self._library.log.head() if self._known is None else self._known
        return self._moved(lambda: instant, known, self._valid_at)

    def _moved(self, now: Callable[[], datetime], known: int | None, valid_at: datetime | None) -> View:
        return View(self._library, self._viewer, now=now, known=known, valid_at=valid_at, on_read=self._on_read)

    # -- within -------------------------------------------------------------------------------------

    @contextmanager
    def _snapshot(self) -> Iterator[Snapshot]:
        point = Point(self._viewer, self._now(), self._known, self._valid_at)
        with self._library.reading() as connection:
            yield Snapshot(connection, self._library, point)

    def _filters(self, given: Mapping[str, Any]) -> Filters:
        return Filters.of(given, self._library.kinds)


def _pinned(now: Callable[[], datetime]) -> Callable[[], datetime]:
    instant = now()
    return lambda: instant
