"""The memory space: opens a log, hands out sessions, and keeps the host's own tools."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from engram_core import reads
from engram_core.approval import ApprovalPolicy
from engram_core.core import Options
from engram_core.engine import Engine
from engram_core.errors import InvalidAttributesError, Problem
from engram_core.events import RecordedEvent
from engram_core.kinds import KINDS
from engram_core.log import Anchor
from engram_core.outside import CheckedClock, CheckedIds
from engram_core.policy import Limits, Policy
from engram_core.ports import Clock, ClockedStore, EventStore, Projection, Redactor, SystemClock, uuid7_ids
from engram_core.session import Session
from engram_core.values import Actor, checked_flag, text_problem

if TYPE_CHECKING:
    import sqlite3

    from engram_core.maintenance import Maintenance

__all__ = ["MemorySpace"]


class MemorySpace:
    """One memory: one ordered log and the read model that follows it. A context manager that closes itself.

    Made by `open`, `in_memory` or `over`, which share these options:
        policy: The tunables, a `Policy`.
        approval: Who may change what without asking, an `ApprovalPolicy`; by default everything but a user's waits.
        kinds: The kinds that can be remembered, a `KindRegistry`.
        limits: How much fits where, a `Limits`.
        clock: Gives `now()`, aware: `recorded_at`, and `occurred_at` where none is given.
        ids: Called for new ids: a UUID, or text of at most 200 characters that never came before.
        embedder: The application's `Embedder`, if it has one.
        redactor: The application's `Redactor`, if it has one.
        projections: The application's own read models, applied in each commit unless wrapped by `following`.
    """

    def __init__(
        self, store: EventStore, options: Options, *, owns_store: bool = True, read_only: bool = False
    ) -> None:
        self._engine = Engine(store, options, owns_store=owns_store, read_only=read_only)
        self._closed = False

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        create: bool = True,
        read_only: bool = False,
        durability: Literal["full", "normal"] = "full",
        connect: Callable[..., sqlite3.Connection] | None = None,
        **options: Any,
    ) -> MemorySpace:
        """Opens the space of a SQLite file.

        Args:
            path: The file; one file is one space.
            create: Begin a new space where there is no file.
            read_only: Open for reading alone; writing raises StoreReadOnly.
            durability: "full": what was acknowledged is on the disk; "normal": the last writes may be lost at a power
                cut, never half-written.
            connect: Opens connections in the application's own way. Called as `sqlite3.connect` is, with a URI and
                keywords (uri, timeout, isolation_level, check_same_thread, cached_statements), which it passes on.
            options: See the class.

        Raises: StoreError (missing, damaged or foreign file, which is left as it is); InvalidAttributesError.
        """
        from engram_core.stores.sqlite import SqliteStore

        chosen = _options(options)
        checked_flag(create, "create", "space")
        checked_flag(read_only, "read_only", "space")
        problems = []
        if problem := _path_problem(path):
            problems.append(Problem("path", problem))
        if durability not in ("full", "normal"):
            problems.append(Problem("durability", 'must be "full" or "normal"'))
        if connect is not None and not callable(connect):
            problems.append(Problem("connect", "must be callable"))
        if problems:
            raise InvalidAttributesError("space", problems)
        store = SqliteStore(
            path,
            create=create,
            read_only=read_only,
            durability=durability,
            connect=None if connect is None else partial(_connection, connect),
            clock=chosen.clock,
        )
        return cls._opened(store, chosen, read_only=read_only)

    @classmethod
    def in_memory(cls, **options: Any) -> MemorySpace:
        """A space that ends with the process; for the options see the class."""
        from engram_core.stores.in_memory import InMemoryStore

        chosen = _options(options)
        return cls._opened(InMemoryStore(clock=chosen.clock), chosen)

    @classmethod
    def over(cls, store: EventStore, **options: Any) -> MemorySpace:
        """A space over anybody's `EventStore`, which stays open when the space is closed.

        Args:
            store: The log. If it is a `ClockedStore`, space and store go by one clock: the one given here, else the
                store's. Any other store keeps its own time; make it with the clock that is given here.
            options: See the class.

        Raises: InvalidAttributesError for what is no store; StoreError.
        """
        if isinstance(store, type) or not isinstance(store, EventStore):
            raise InvalidAttributesError("space", [Problem("store", "is no EventStore: see engram_core.ports")])
        chosen = _options(options)
        if isinstance(store, ClockedStore) and isinstance(store.clock, Clock):
            if options.get("clock") is None:
                chosen = _options({**options, "clock": store.clock})
            else:
                store.clock = options["clock"]
        return cls(store, chosen, owns_store=False)

    @classmethod
    def _opened(cls, store: EventStore, options: Options, *, read_only: bool = False) -> MemorySpace:
        _load_before_forks()
        try:
            return cls(store, options, read_only=read_only)
        except BaseException:
            store.close()
            raise

    # -- the actors' side ---------------------------------------------------------------------------

    def session(
        self, actor: Actor, *, session_id: str | None = None, client: str | None = None, record: bool = True
    ) -> Session:
        """One actor's way to read and write.

        Args:
            actor: Who: `user("ann")`, `assistant("claude")`, `importer("vcard")` …
            session_id: The conversation or run; kept as provenance of what is written.
            client: The program; kept likewise.
            record: Whether reads are noted (buffered, never in the way of a read).
        """
        records = checked_flag(record, "record", "session") and not self._engine.read_only
        return Session(self._engine, actor, session_id=session_id, client=client, record=records)

    def maintenance(self, actor: Actor) -> Maintenance:
        """The upkeep of the space, in the name of an actor: expiry, proposals of pruning and merging, checks."""
        from engram_core.maintenance import Maintenance

        return Maintenance(self._engine, actor)

    # -- the host's side ----------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """The last position of the log; 0 when nothing has happened."""
        return self._engine.log.head()

    def events(self, after: int = 0) -> Iterator[RecordedEvent]:
        """Every event after a position, in order; not for actors, since nothing is hidden."""
        _check_position(after)
        return self._engine.log.read(after=after)

    def anchor(self) -> Anchor:
        """The end of the hash chain, to be kept elsewhere and given to `verify(anchor=…)` later."""
        return self._engine.log.anchor()

    def flush(self) -> None:
        """Writes what is buffered, and lets following projections and the embedder catch up.

        Raises: ProjectionError when one of them fails; all else is done by then.
        """
        self._engine.flush()

    def close(self) -> None:
        """Writes what is buffered and closes the space; closing twice is no error."""
        if not self._closed:
            self._closed = True
            self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<MemorySpace over {self._engine.store!r}, {state}>"


_MOST_FIGURES = 16_384

_LOADED_LATER: Final = (
    "uuid6",
    "zoneinfo",
    "dateutil.parser",
    "dateutil.relativedelta",
    "engram_core.maintenance",
    "engram_core.reads.searching",
    *(f"{reads.__name__}.{name}" for name in reads.__all__),
)
"""What is loaded when it is first needed."""


@cache
def _load_before_forks() -> None:
    """Has all be loaded before this process forks: what another thread is loading then, a child would wait for ever."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lambda: [import_module(name) for name in _LOADED_LATER])


_KNOWN = {
    "policy": Policy,
    "approval": ApprovalPolicy,
    "kinds": type(KINDS),
    "limits": Limits,
}


def _check_position(after: object) -> None:
    if isinstance(after, bool) or not isinstance(after, int) or after < 0:
        raise InvalidAttributesError("events", [Problem("after", "must be a position, 0 or above")])


def _path_problem(path: object) -> str | None:
    if not isinstance(path, str | Path):
        return f"must be a str or a Path, not {type(path).__name__}"
    if str(path) == ":memory:":
        return "names no file; for a space in memory there is MemorySpace.in_memory()"
    return text_problem(str(path), blank=False)


def _connection(connect: Callable[..., sqlite3.Connection], *args: Any, **keywords: Any) -> sqlite3.Connection:
    """A connection by the application's own function, or an error that names it."""
    try:
        found = connect(*args, **keywords)
    except TypeError as error:
        problem = f"must take what sqlite3.connect takes: {error}"
        raise InvalidAttributesError("space", [Problem("connect", problem)]) from error
    if not all(hasattr(found, name) for name in ("execute", "executemany", "close")):
        problem = f"must give a connection, not {type(found).__name__}"
        raise InvalidAttributesError("space", [Problem("connect", problem)])
    return found


def _embedder_problem(embedder: Any) -> str | None:
    """What is wrong with an embedder, by its own word."""
    if embedder is None:
        return None
    if text_problem(getattr(embedder, "name", None), at_most=200, blank=False):
        return "must have a name"
    dimension = getattr(embedder, "dimension", None)
    if isinstance(dimension, bool) or not isinstance(dimension, int) or not 0 < dimension <= _MOST_FIGURES:
        return f"must have a dimension between 1 and {_MOST_FIGURES:,}"
    return None if callable(getattr(embedder, "encode", None)) else "must have encode()"


def _is_known(clock: object) -> bool:
    return type(clock) in (SystemClock, CheckedClock)


def _is_projection(one: object) -> bool:
    found = getattr(one, "projection", one)
    named = isinstance(getattr(found, "name", None), str)
    return named and isinstance(found, Projection) and not isinstance(found, type)


def _options(given: dict[str, Any]) -> Options:
    """The options with their defaults; all problems in one error."""
    names = {"policy", "approval", "kinds", "limits", "clock", "ids", "embedder", "redactor", "projections"}
    problems = [Problem(name, f"is no option; options are {', '.join(sorted(names))}") for name in set(given) - names]
    problems += [
        Problem(name, f"must be a {cls.__name__}, not {type(given[name]).__name__}")
        for name, cls in _KNOWN.items()
        if name in given and not isinstance(given[name], cls)
    ]
    clock = given.get("clock")
    if clock is not None and not callable(getattr(clock, "now", None)):
        problems.append(Problem("clock", "must have now()"))
    if given.get("ids") is not None and not callable(given["ids"]):
        problems.append(Problem("ids", "must be callable"))
    if problem := _embedder_problem(given.get("embedder")):
        problems.append(Problem("embedder", problem))
    redactor = given.get("redactor")
    if redactor is not None and not isinstance(redactor, Redactor):
        problems.append(Problem("redactor", "must have a name and redact(): see engram_core.Redactor"))
    projections = given.get("projections", ())
    if not isinstance(projections, list | tuple) or not all(_is_projection(one) for one in projections):
        problems.append(Problem("projections", "must be a list of projections: see engram_core.Projection"))
    if problems:
        raise InvalidAttributesError("space", problems)
    return Options(
        policy=given.get("policy", Policy()),
        approval=given.get("approval", ApprovalPolicy.review_all()),
        kinds=given.get("kinds", KINDS),
        limits=given.get("limits", Limits()),
        clock=SystemClock() if clock is None else clock if _is_known(clock) else CheckedClock(clock),
        ids=uuid7_ids if given.get("ids") is None else CheckedIds(given["ids"]),
        embedder=given.get("embedder"),
        redactor=given.get("redactor"),
        projections=tuple(projections),
    )
