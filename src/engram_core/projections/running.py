"""Runs an application's own projections: within the commit, or following it; effects and checkpoint always together.

A checkpoint names the projection, its version, the log and the position that it has reached. Whatever does not fit (a
new version, another log, a log that was restored from an older copy) leads to the projection being built anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

from attrs import frozen

from engram_core.codec import EventCodec
from engram_core.errors import CheckpointAhead, ForeignCheckpoint, InvalidAttributesError, Problem, ProjectionError
from engram_core.events import RecordedEvent
from engram_core.ports import Projection
from engram_core.projections.host import Host
from engram_core.projections.replay import commits_of

__all__ = ["Following", "OnError", "Parked", "Runner", "following"]

OnError: TypeAlias = Literal["stop", "park"]

_PAGE: Final = 500

_TABLES: Final = (
    (
        "CREATE TABLE IF NOT EXISTS projection_checkpoints (name TEXT PRIMARY KEY, version INTEGER NOT NULL,"
        " store TEXT NOT NULL, position INTEGER NOT NULL) WITHOUT ROWID"
    ),
    (
        "CREATE TABLE IF NOT EXISTS projection_parked (name TEXT NOT NULL, position INTEGER NOT NULL,"
        " last_position INTEGER NOT NULL, error TEXT NOT NULL, PRIMARY KEY (name, position)) WITHOUT ROWID"
    ),
)


@frozen
class Following:
    """A projection that is brought up to date by `flush()` and by maintenance, not by each write.

    Attributes:
        projection: The projection.
        on_error: "stop": it stays where it is, and the error is raised; "park": what it could not take is noted, and
            it goes on.
    """

    projection: Projection
    on_error: OnError = "stop"


def following(projection: Projection, on_error: OnError = "stop") -> Following:
    """Lets a projection follow the log, so that it cannot veto a write nor slow one down.

    Args:
        projection: The application's own read model.
        on_error: What happens when it raises; see `Following`.

    Raises: InvalidAttributesError.
    """
    problems = []
    if not isinstance(projection, Projection):
        problems.append(Problem("projection", f"is no Projection, but {type(projection).__name__}"))
    if on_error not in ("stop", "park"):
        problems.append(Problem("on_error", f'must be "stop" or "park", not {on_error!r}'))
    if problems:
        raise InvalidAttributesError("following", problems)
    return Following(projection, on_error)


@frozen
class Parked:
    """A commit that a following projection could not take in.

    Attributes:
        name: Of the projection.
        position, last_position: Of the commit's first and last event.
        error: What it raised, in words.
    """

    name: str
    position: int
    last_position: int
    error: str


class Runner:
    """The application's projections of one space.

    Args:
        host: Where the tables live.
        codec: Reads events.
        projections: Applied in each commit, in this order, unless wrapped by `following`.
    """

    def __init__(self, host: Host, codec: EventCodec, projections: Sequence[Projection | Following]) -> None:
        self._host = host
        self._codec = codec
        self._store_id = str(host.store.store_id)
        self._inline = [p for p in projections if not isinstance(p, Following)]
        self._following = [p for p in projections if isinstance(p, Following)]
        self._ready = False
        names = [p.name for p in self._all()]
        if len(set(names)) != len(names):
            raise ValueError(f"two projections share a name: {', '.join(sorted(names))}")

    def _all(self) -> list[Projection]:
        return [*self._inline, *(f.projection for f in self._following)]

    def prepare(self) -> None:
        """Sets up what is new and builds anew what does not fit; inline ones are then at the log's head."""
        if not self._all():
            return
        with self._host.transaction() as tx:
            for statement in _TABLES:
                tx.execute(statement)
            for projection in self._all():
                try:
                    fits = self.checkpoint(tx, projection) is not None
                except (CheckpointAhead, ForeignCheckpoint):
                    fits = False
                if not fits:
                    self._begin(tx, projection)
        for projection in self._inline:
            while self._step(projection):
                pass
        self._ready = True

    def checkpoint(self, tx: sqlite3.Connection, projection: Projection) -> int | None:
        """The position that a projection has reached; None if this version was never built.

        Raises: ForeignCheckpoint, CheckpointAhead.
        """
        row = tx.execute(
            "SELECT version, store, position FROM projection_checkpoints WHERE name = ?", (projection.name,)
        ).fetchone()
        if row is None or row[0] != projection.version:
            return None
        position: int = row[2]
        if row[1] != self._store_id:
            raise ForeignCheckpoint(
                f"the projection {projection.name} followed another log", hint="build it anew", name=projection.name
            )
        if position > self._host.store.head():
            raise CheckpointAhead(
                f"the projection {projection.name} has seen more than the log holds",
                hint="the log was restored from an older copy: build it anew",
                name=projection.name,
                position=position,
            )
        return position

    def apply_inline(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        """Gives a commit to the inline projections.

        Raises: ProjectionError when one of them fails.
        """
        for projection in self._inline:
            self._advance(tx, projection, events)

    def catch_up_inline(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        """Gives events that others wrote to the inline projections; one that fails stays behind, and vetoes later."""
        if not self._ready:
            return
        for projection in self._inline:
            tx.execute("SAVEPOINT projection")
            try:
                self._advance(tx, projection, events)
            except ProjectionError:
                tx.execute("ROLLBACK TO projection")
            finally:
                tx.execute("RELEASE projection")

    def follow(self) -> int:
        """Brings following projections up to the head, in pages; gives the number of events they took in.

        Raises: ProjectionError when one that stops fails; the others have caught up by then.
        """
        taken = 0
        first: ProjectionError | None = None
        for one in self._following:
            projection = one.projection
            parks = one.on_error == "park"
            try:
                while step := self._step(projection, parks=parks):
                    taken += step
            except ProjectionError as error:
                first = first or error
        if first is not None:
            raise first
        return taken

    def parked(self) -> list[Parked]:
        """What following projections could not take in, in order."""
        if not self._following:
            return []
        with self._host.reading() as tx:
            rows = tx.execute("SELECT name, position, last_position, error FROM projection_parked ORDER BY 1, 2")
            return [Parked(*row) for row in rows]

    # -- inside -------------------------------------------------------------------------------------

    def _begin(self, tx: sqlite3.Connection, projection: Projection) -> None:
        """Makes a projection's tables anew, with nothing in them."""
        known = tx.execute("SELECT 1 FROM projection_checkpoints WHERE name = ?", (projection.name,)).fetchone()
        if known is not None:
            _guarded(projection, lambda: projection.teardown(tx))
        _guarded(projection, lambda: projection.setup(tx))
        tx.execute("DELETE FROM projection_parked WHERE name = ?", (projection.name,))
        tx.execute(
            "INSERT OR REPLACE INTO projection_checkpoints VALUES (?, ?, ?, 0)",
            (projection.name, projection.version, self._store_id),
        )

    def _step(self, projection: Projection, *, parks: bool = False) -> int:
        with self._host.reading() as tx:
            behind = (self.checkpoint(tx, projection) or 0) < self._host.store.head()
        if not behind:
            return 0
        with self._host.transaction() as tx:
            return self._take_page(tx, projection, parks=parks)

    def _advance(self, tx: sqlite3.Connection, projection: Projection, events: Sequence[RecordedEvent]) -> None:
        """Applies events that follow upon the checkpoint; if others lie in between, those first, from the log."""
        if self._move(tx, projection, events[0].position - 1, events[-1].position):
            _guarded(projection, lambda: projection.apply(tx, events))
            return
        while self._take_page(tx, projection):
            pass

    def _move(self, tx: sqlite3.Connection, projection: Projection, old: int, new: int) -> bool:
        moved = tx.execute(
            "UPDATE projection_checkpoints SET position = ? WHERE name = ? AND version = ? AND position = ?",
            (new, projection.name, projection.version, old),
        )
        return moved.rowcount == 1

    def _take_page(self, tx: sqlite3.Connection, projection: Projection, *, parks: bool = False) -> int:
        """Takes in one page of whole commits after the checkpoint; gives the number of events, 0 at the head."""
        position = self.checkpoint(tx, projection)
        if position is None:
            raise ProjectionError(
                f"another version of the projection {projection.name} has taken over",
                hint="use one version at a time",
                name=projection.name,
            )
        commits = list(self._page(position))
        if not commits:
            return 0
        events = [event for commit in commits for event in commit]
        self._move(tx, projection, position, events[-1].position)
        if not parks:
            _guarded(projection, lambda: projection.apply(tx, events))
        elif not _tried(tx, lambda: projection.apply(tx, events)):
            for commit in commits:
                self._apply_or_park(tx, projection, commit)
        return len(events)

    def _page(self, position: int) -> Iterator[list[RecordedEvent]]:
        size = 0
        for commit in commits_of(self._host.store, position):
            yield [self._codec.decode(r) for r in commit]
            size += len(commit)
            if size >= _PAGE:
                return

    def _apply_or_park(self, tx: sqlite3.Connection, projection: Projection, events: list[RecordedEvent]) -> None:
        errors: list[Exception] = []
        if not _tried(tx, lambda: projection.apply(tx, events), errors):
            tx.execute(
                "INSERT OR REPLACE INTO projection_parked VALUES (?, ?, ?, ?)",
                (projection.name, events[0].position, events[-1].position, repr(errors[0])),
            )


def _guarded(projection: Projection, step: Callable[[], Any]) -> None:
    """Runs an application's code; what it raises becomes ours."""
    try:
        step()
    except Exception as error:
        raise ProjectionError(
            f"the projection {projection.name} failed: {error!r}",
            hint="nothing was written; correct the projection, or let it follow",
            name=projection.name,
        ) from error


def _tried(tx: sqlite3.Connection, step: Callable[[], Any], errors: list[Exception] | None = None) -> bool:
    """Runs an application's code; what it did is taken back if it raises."""
    tx.execute("SAVEPOINT projection")
    try:
        step()
    except Exception as error:  # noqa: BLE001 -- it is noted, and the projection goes on
        tx.execute("ROLLBACK TO projection")
        if errors is not None:
            errors.append(error)
        return False
    else:
        return True
    finally:
        tx.execute("RELEASE projection")
