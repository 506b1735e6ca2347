"""A store of one's own: a log in a text file, one line a commit, that keeps the whole contract of a store.

It shows all that a store may offer: transactions, erasure, several objects and processes on one log, and a clock that
is given to it. It keeps its events in memory and reads what others have added; for a log of millions, use SQLite.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from uuid import UUID, uuid4

from engram_core import Fact, MemorySpace, NotFoundError, user
from engram_core.chain import genesis, plan_append
from engram_core.errors import StoreError
from engram_core.ports import Appended, Clock, Recorded, StreamAppend, SystemClock
from engram_core.stores.pages import bounds
from engram_core.testing import certify
from engram_core.values import to_micros

_COMMITMENT = Recorded._fields.index("commitment")


class FileStore:
    """A space's log in a directory: an `AtomicStore` and an `EraserStore`, for many threads and processes.

    The first line of `log.jsonl` is a header, each further one a commit. A commit is there when its line ends: what a
    killed process left of one is overwritten by the next. An erasure writes the file anew and swaps it in whole.

    Args:
        directory: Where the file is; made if it is not there.
        clock: What `recorded_at` is read from; the machine's clock by default.
    """

    def __init__(self, directory: str | Path, *, clock: Clock | None = None) -> None:
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._path = self.directory / "log.jsonl"
        self._clock = clock or SystemClock()
        self._guard = threading.Lock()
        self._writer: int | None = None
        self._closed = False
        self._header = b""
        self._erased = False
        self._forget()
        with self._held():
            self._id = UUID(json.loads(self._header)["store_id"])

    # -- reading

    @property
    def store_id(self) -> UUID:
        """Names this log for ever."""
        return self._id

    def head(self) -> int:
        """The last position, 0 for an empty log."""
        with self._held():
            return len(self._events)

    def read(self, *, after: int = 0, upto: int | None = None, limit: int = 1_000) -> tuple[Recorded, ...]:
        """The events with `after` < position <= `upto`, at most `limit`."""
        first, last, most = bounds(after, upto, limit)
        with self._held():
            return tuple(self._events[first:last][:most])

    def read_stream(
        self, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None, backwards: bool = False
    ) -> tuple[Recorded, ...]:
        """The events of one stream with `after` < version <= `upto`, at most `limit`."""
        first, last, most = bounds(after, upto, limit)
        with self._held():
            places = self._streams.get(stream, [])[first:last]
            return tuple(self._events[place] for place in (places[::-1] if backwards else places)[:most])

    # -- writing

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        """Appends all or nothing, by `engram_core.chain.plan_append`."""
        if self._writer != threading.get_ident():
            with self.transaction():
                return self.append(batch)
        last = self._events[-1] if self._events else None
        planned = plan_append(
            batch,
            head=len(self._events),
            last_recorded_at=last.recorded_at if last else 0,
            last_link=(last.link if last else None) or genesis(self._id),
            now=to_micros(self._clock.now()),
            versions=lambda stream: len(self._streams.get(stream, ())),
            stored=lambda ids: {id: self._events[self._places[id]] for id in ids if id in self._places},
        )
        if not planned.duplicate:
            self._add(planned.events)
        return planned

    def erase(self, owner: str, marker: str) -> tuple[Recorded, ...]:
        """Replaces `data` of every event of this owner by the marker; all else stays."""
        if self._writer != threading.get_ident():
            with self.transaction():
                return self.erase(owner, marker)
        found = [place for place, event in enumerate(self._events) if event.owner == owner]
        for place in found:
            self._events[place] = self._events[place]._replace(data=marker)
        self._erased = self._erased or bool(found)
        return tuple(self._events[place] for place in found)

    def scrub(self) -> bool:
        """The file that held erased text went with the erasure; free blocks of the disk are the disk's affair."""
        return True

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Holds the lock; what is done within takes effect at its end, or not at all if it raises."""
        if self._writer == threading.get_ident():
            raise RuntimeError("this thread is in a transaction already; they do not nest")
        with self._held():
            start = len(self._events)
            self._writer = threading.get_ident()
            try:
                yield
                self._commit(start)
            except BaseException:
                if self._erased or len(self._events) > start:
                    self._forget()
                raise
            finally:
                self._writer = None

    def close(self) -> None:
        """Ends the use of this object; closing twice is no error."""
        self._closed = True

    # -- the file

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Keeps other threads and processes out, with all that they have written taken in."""
        if self._closed:
            raise StoreError("the store is closed", code="store_closed", hint="open it again")
        if self._writer == threading.get_ident():
            yield
            return
        with self._guard, (self.directory / "lock").open("ab") as lock:
            _lock(lock)
            try:
                self._catch_up()
                yield
            finally:
                _unlock(lock)

    def _catch_up(self) -> None:
        if not self._path.exists():
            self._swap_in([_header(uuid4(), 0)])
        with self._path.open("rb") as file:
            header = file.readline()
            if header != self._header:  # another file took its place: something was erased
                self._forget()
                self._header, self._end = header, len(header)
            file.seek(self._end)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._add([_event(row) for row in json.loads(line)])
                self._end += len(line)

    def _commit(self, start: int) -> None:
        if self._erased:
            header = _header(self._id, json.loads(self._header)["rewritten"] + 1)
            self._swap_in([header, *(_line([event]) for event in self._events)])
            self._forget()
        elif len(self._events) > start:
            line = _line(self._events[start:])
            with self._path.open("r+b") as file:
                file.seek(self._end)
                file.truncate()
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            self._end += len(line)

    def _swap_in(self, lines: Sequence[bytes]) -> None:
        new = self.directory / "log.new"
        with new.open("wb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)

    # -- what is known of it

    def _forget(self) -> None:
        self._header = b""
        self._end = 0
        self._events: list[Recorded] = []
        self._streams: dict[str, list[int]] = {}
        self._places: dict[str, int] = {}
        self._erased = False

    def _add(self, events: Sequence[Recorded]) -> None:
        for event in events:
            self._streams.setdefault(event.stream, []).append(len(self._events))
            self._places[event.id] = len(self._events)
            self._events.append(event)


def _header(store_id: UUID, rewritten: int) -> bytes:
    return json.dumps({"store_id": str(store_id), "rewritten": rewritten}).encode() + b"\n"


def _line(events: Sequence[Recorded]) -> bytes:
    rows = [[value.hex() if isinstance(value, bytes) else value for value in event] for event in events]
    return json.dumps(rows).encode() + b"\n"


def _event(row: list[Any]) -> Recorded:
    event = Recorded(*row)
    link = None if event.link is None else bytes.fromhex(row[-1])
    return event._replace(commitment=bytes.fromhex(row[_COMMITMENT]), link=link)


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)

    def _unlock(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


def main(argv: Sequence[str] | None = None) -> int:
    """Keeps a memory in a text file, erases it, and certifies the store; takes no arguments."""
    assert not argv, "store_in_a_file takes no arguments"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "brain")
        with MemorySpace.over(FileStore(path)) as space:
            secret = space.session(user("ann")).remember(Fact("The key is under the third flowerpot"))
        with MemorySpace.over(FileStore(path)) as space:
            ann = space.session(user("ann"))
            assert "flowerpot" in ann.recall("where is the key?").as_text()
            assert "flowerpot" in (path / "log.jsonl").read_text("utf-8")
            ann.erase(secret)
            assert "flowerpot" not in (path / "log.jsonl").read_text("utf-8")
            try:
                ann.get(secret)
            except NotFoundError as error:
                print(f"after the erasure: {error}")
            assert space.maintenance(user("ann")).verify().ok

        numbers = iter(range(1_000))

        def new_store(clock: Clock | None = None) -> FileStore:
            return FileStore(Path(folder, str(next(numbers))), clock=clock)

        def another(store: FileStore) -> FileStore:
            return FileStore(store.directory)

        report = certify(new_store, make_store_with_clock=new_store, reopen=another, another=another)
        print(report)
        assert report.ok
        assert not report.skipped
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
