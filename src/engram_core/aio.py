"""The same space for asyncio: whole operations on worker threads, one for writes and one for reads.

A write that has begun is not interrupted by a cancellation: it finishes, and the caller who was cancelled may look for
its outcome by the `command_id` he gave.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from engram_core.events import RecordedEvent
from engram_core.log import Anchor
from engram_core.maintenance import Maintenance
from engram_core.ports import EventStore
from engram_core.recorder import Recorder
from engram_core.session import Session
from engram_core.space import MemorySpace
from engram_core.stores.driver import closed
from engram_core.values import Actor
from engram_core.verbs import Verbs

__all__ = ["AsyncMaintenance", "AsyncMemorySpace", "AsyncRecorder", "AsyncSession", "AsyncView"]

T = TypeVar("T")
S = TypeVar("S", bound="AsyncMemorySpace")

_VERBS: Final = frozenset(name for name in vars(Verbs) if not name.startswith("_"))
_DECISIONS: Final = frozenset({
    "approve", "erase", "erase_subject", "quarantine", "rebase", "redo", "reject", "remember_many", "undo", "withdraw",
})  # fmt: skip
_WRITES: Final = _VERBS | _DECISIONS
_RECORDERS: Final = frozenset({"batch", "proposal", "preview"})
_VIEWS: Final = frozenset({"as_of", "at"})
_STEP: Final = 200


class _Threads:
    """The two worker threads of a space."""

    def __init__(self) -> None:
        self.writes = ThreadPoolExecutor(1, thread_name_prefix="engram-write")
        self.reads = ThreadPoolExecutor(1, thread_name_prefix="engram-read")
        self.closed = False

    async def write(self, call: Callable[[], T]) -> T:
        """Runs a write to its end, even if the caller is cancelled meanwhile."""
        return await asyncio.shield(self._running(self.writes, call))

    async def read(self, call: Callable[[], T]) -> T:
        """Runs a read."""
        return await self._running(self.reads, call)

    def _running(self, thread: ThreadPoolExecutor, call: Callable[[], T]) -> asyncio.Future[T]:
        if self.closed:
            raise closed()
        return asyncio.get_running_loop().run_in_executor(thread, call)

    def close(self) -> None:
        self.closed = True
        self.writes.shutdown(wait=True)
        self.reads.shutdown(wait=True)


class AsyncView:
    """A `View` whose reads are awaited: `await view.get(m)`. `as_of` and `at` give views at once, without waiting.

    Every method of `View` is here under its name, with the same arguments. What iterates lazily there (`find_all`) is
    read page by page here: `async for memory in view.find_all(kind="fact")`.
    """

    def __init__(self, threads: _Threads, view: Any) -> None:
        self._threads = threads
        self._view = view

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self._view, name)
        if name in _VIEWS:
            return lambda *args, **kwargs: AsyncView(self._threads, method(*args, **kwargs))
        if name == "find_all":
            return partial(_stepwise, self._threads, method)
        if not callable(method):
            return method
        run = self._threads.write if name in _WRITES else self._threads.read

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await run(partial(method, *args, **kwargs))

        return call


async def _stepwise(threads: _Threads, method: Callable[..., Any], **filters: Any) -> AsyncIterator[Any]:
    """What a lazy listing gives, one by one, read by the reading thread some at a time."""
    items = iter(await threads.read(partial(method, **filters)))
    while some := await threads.read(lambda: list(islice(items, _STEP))):
        for item in some:
            yield item


class AsyncSession(AsyncView):
    """A `Session` whose verbs and reads are awaited: `await ann.remember(…)`.

    `batch`, `proposal` and `preview` are `async with` blocks; the verbs inside collect at once, without waiting.
    `await ann.proposal(p)` reads a proposal.
    """

    def __getattr__(self, name: str) -> Any:
        if name in _RECORDERS:
            method = getattr(self._view, name)
            return lambda *args, **kwargs: AsyncRecorder(self._threads, partial(method, *args, **kwargs))
        return super().__getattr__(name)


class AsyncRecorder:
    """An `async with` block around a `Recorder`, which runs on the writing thread when the block ends.

    Args:
        threads: The space's worker threads.
        start: Gives the recorder; of `proposal(p)`, the proposal, which is read when this is awaited instead.
    """

    def __init__(self, threads: _Threads, start: Callable[[], Any]) -> None:
        self._threads = threads
        self._start = start
        self._recorder: Recorder | None = None

    def __await__(self) -> Generator[Any, None, Any]:
        return self._threads.read(self._start).__await__()

    async def __aenter__(self) -> Recorder:
        recorder: Recorder = self._start()
        self._recorder = recorder
        return recorder.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._recorder is not None:
            await self._threads.write(partial(self._recorder.__exit__, kind, error, trace))


class AsyncMaintenance:
    """A `Maintenance` whose passes are awaited: `await upkeep.expire()`. They run on the writing thread.

    A `progress=` function is called there, too.
    """

    def __init__(self, threads: _Threads, upkeep: Maintenance) -> None:
        self._threads = threads
        self._upkeep = upkeep

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self._upkeep, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._threads.write(partial(method, *args, **kwargs))

        return call


class AsyncMemorySpace:
    """A `MemorySpace` for asyncio, made by `open`, `in_memory` or `over`; closes itself after `async with`."""

    def __init__(self, space: MemorySpace, threads: _Threads | None = None) -> None:
        self._space = space
        self._threads = threads or _Threads()

    @classmethod
    def open(cls, path: Any, **options: Any) -> _Opening[Self]:
        """As `MemorySpace.open`; await it, or enter it by `async with`."""
        return _Opening(_opened(cls, partial(MemorySpace.open, path, **options)))

    @classmethod
    def in_memory(cls, **options: Any) -> _Opening[Self]:
        """As `MemorySpace.in_memory`; await it, or enter it by `async with`."""
        return _Opening(_opened(cls, partial(MemorySpace.in_memory, **options)))

    @classmethod
    def over(cls, store: EventStore, **options: Any) -> _Opening[Self]:
        """As `MemorySpace.over`; await it, or enter it by `async with`."""
        return _Opening(_opened(cls, partial(MemorySpace.over, store, **options)))

    def session(
        self, actor: Actor, *, session_id: str | None = None, client: str | None = None, record: bool = True
    ) -> AsyncSession:
        """One actor's way to read and write; see `MemorySpace.session`."""
        session: Session = self._space.session(actor, session_id=session_id, client=client, record=record)
        return AsyncSession(self._threads, session)

    def maintenance(self, actor: Actor) -> AsyncMaintenance:
        """The upkeep of the space; see `MemorySpace.maintenance`."""
        return AsyncMaintenance(self._threads, self._space.maintenance(actor))

    async def position(self) -> int:
        """The last position of the log."""
        return await self._threads.read(lambda: self._space.position)

    async def anchor(self) -> Anchor:
        """The end of the hash chain; see `MemorySpace.anchor`."""
        return await self._threads.read(self._space.anchor)

    async def events(self, after: int = 0) -> AsyncIterator[RecordedEvent]:
        """Every event after a position, in order."""
        async for event in _stepwise(self._threads, self._space.events, after=after):
            yield event

    async def flush(self) -> None:
        """Writes what is buffered."""
        await self._threads.write(self._space.flush)

    async def close(self) -> None:
        """Writes what is buffered and closes the space; closing twice is no error."""
        if self._threads.closed:
            return
        try:
            await self._threads.write(self._space.close)
        finally:
            self._threads.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class _Opening(Coroutine[Any, Any, S]):
    """A space that is being opened: a coroutine to be awaited, or entered by `async with`, which then closes it."""

    def __init__(self, opened: Coroutine[Any, Any, S]) -> None:
        self._opened = opened
        self._space: S | None = None

    def __await__(self) -> Generator[Any, Any, S]:
        return self._opened.__await__()

    def send(self, value: Any) -> Any:
        """As of the coroutine within."""
        return self._opened.send(value)

    def throw(self, *error: Any) -> Any:
        """As of the coroutine within."""
        return self._opened.throw(*error)

    def close(self) -> None:
        """As of the coroutine within."""
        self._opened.close()

    async def __aenter__(self) -> S:
        self._space = await self._opened
        return self._space

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._space is not None:
            await self._space.close()


async def _opened(cls: type[S], start: Callable[[], MemorySpace]) -> S:
    threads = _Threads()
    try:
        return cls(await threads.write(start), threads)
    except BaseException:
        threads.close()
        raise
