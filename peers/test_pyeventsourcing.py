"""The recorder cases of the library `eventsourcing`, over an adapter that leaves every decision to a store of ours.

Their version numbers begin where the application likes, 0 or 1, and ours at 1; their states are bytes, ours are text.
Beyond that the adapter only renames: what conflicts, what is atomic and in which order things stand, the store says.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from eventsourcing.persistence import (
    ApplicationRecorder,
    IntegrityError,
    Notification,
    ProcessRecorder,
    StoredEvent,
    Subscription,
    Tracking,
)
from eventsourcing.tests.persistence import (
    AggregateRecorderTestCase,
    ApplicationRecorderTestCase,
    NonInterleavingNotificationIDsBaseCase,
    ProcessRecorderTestCase,
    TrackingRecorderTestCase,
)

from engram_core.chain import commitment
from engram_core.errors import ConcurrencyError, DuplicateEvent
from engram_core.ports import AtomicStore, NewEvent, Recorded, StreamAppend
from engram_core.stores import InMemoryStore, SqliteStore


@contextmanager
def conflicts() -> Iterator[None]:
    """What our stores refuse is what they call an IntegrityError."""
    try:
        yield
    except (ConcurrencyError, DuplicateEvent, ValueError) as error:
        raise IntegrityError(str(error)) from error


class Recorder(ApplicationRecorder):
    """One of our stores as one of their recorders; as an aggregate recorder it tells no positions."""

    def __init__(self, store: AtomicStore, *, tells_positions: bool = True) -> None:
        self.store = store
        self._tells_positions = tells_positions

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int] | None:
        with conflicts():
            positions = self._append(stored_events)
        return positions if self._tells_positions else None

    def _append(self, stored_events: Sequence[StoredEvent]) -> list[int]:
        streams: dict[str, list[StoredEvent]] = {}
        for event in stored_events:
            streams.setdefault(str(event.originator_id), []).append(event)
        batch = [
            StreamAppend(stream, events[0].originator_version - self._first(stream, events[0]), [*map(_new, events)])
            for stream, events in streams.items()
        ]
        appended = self.store.append(batch)
        if appended.duplicate:
            raise IntegrityError("these events were stored before")
        positions = {event.id: event.position for event in appended.events}
        return [positions[_id(event)] for event in stored_events]

    def _first(self, stream: str, new: StoredEvent) -> int:
        """Their version of the event that is our first."""
        known = self.store.read_stream(stream, limit=1)
        return _their(known[0]).originator_version if known else new.originator_version

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        stream = str(originator_id)
        known = self.store.read_stream(stream, limit=1)
        if not known:
            return []
        first = _their(known[0]).originator_version
        after = 0 if gt is None else max(0, gt + 1 - first)
        upto = None if lte is None else max(0, lte + 1 - first)
        return [*map(_their, self.store.read_stream(stream, after=after, upto=upto, limit=limit, backwards=desc))]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        after = max(0, (start or 0) - (1 if inclusive_of_start and start is not None else 0))
        found: list[Notification] = []
        while len(found) < limit:
            page = self.store.read(after=after, upto=stop, limit=limit)
            if not page:
                break
            found += [_notification(event) for event in page if not topics or event.type in topics]
            after = page[-1].position
        return found[:limit]

    def max_notification_id(self) -> int | None:
        return self.store.head() or None

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> Subscription[ApplicationRecorder]:
        return Following(self, gt=gt, topics=topics)


class Following(Subscription[ApplicationRecorder]):
    """Asks again and again for what is new."""

    def __next__(self) -> Notification:
        while not self._has_been_stopped:
            found = self._recorder.select_notifications(
                self._last_notification_id or 0, 1, topics=self._topics, inclusive_of_start=False
            )
            if found:
                self._last_notification_id = found[0].id
                return found[0]
            time.sleep(0.005)
        raise StopIteration


class TrackingRecorder(Recorder, ProcessRecorder):
    """The same with a table of positions, written in the transaction of the append."""

    store: SqliteStore

    def __init__(self, store: SqliteStore) -> None:
        super().__init__(store)
        with store.transaction():
            store.writing().execute("CREATE TABLE tracking (application TEXT PRIMARY KEY, position INTEGER NOT NULL)")

    def insert_events(
        self, stored_events: Sequence[StoredEvent], *, tracking: Tracking | None = None, **_: Any
    ) -> Sequence[int] | None:
        with conflicts(), self.store.transaction():
            if tracking is not None:
                self._track(tracking)
            return self._append(stored_events)

    def insert_tracking(self, tracking: Tracking) -> None:
        with self.store.transaction():
            self._track(tracking)

    def _track(self, tracking: Tracking) -> None:
        moved = self.store.writing().execute(
            "INSERT INTO tracking VALUES (?1, ?2)"
            " ON CONFLICT DO UPDATE SET position = excluded.position WHERE excluded.position > position",
            (tracking.application_name, tracking.notification_id),
        )
        if moved.rowcount != 1:
            raise IntegrityError(f"{tracking} is not ahead")

    def max_tracking_id(self, application_name: str) -> int | None:
        with self.store.reading() as connection:
            found = connection.execute("SELECT position FROM tracking WHERE application = ?", (application_name,))
            row = found.fetchone()
        return None if row is None else int(row[0])


def _id(event: StoredEvent) -> str:
    return f"{event.originator_id} {event.originator_version}"


def _new(event: StoredEvent) -> NewEvent:
    data = event.state.decode("latin-1")
    id = _id(event)
    return NewEvent(id, event.topic, 1, str(event.originator_id), data, commitment(data), 0, "system", id)


def _their(event: Recorded) -> StoredEvent:
    name, _, version = event.id.rpartition(" ")
    return StoredEvent(UUID(name), int(version), event.type, event.data.encode("latin-1"))


def _notification(event: Recorded) -> Notification:
    their = _their(event)
    return Notification(their.originator_id, their.originator_version, their.topic, their.state, event.position)


# -- the cases, over each store


class InFile:
    """Makes stores in files of a folder that goes with the test."""

    def make(self) -> SqliteStore:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)  # type: ignore[attr-defined]
        store = SqliteStore(Path(folder.name) / "log.db")
        self.addCleanup(store.close)  # type: ignore[attr-defined]
        return store


class InMemory:
    """Makes stores in memory."""

    def make(self) -> InMemoryStore:
        return InMemoryStore()


class AggregatesInFile(InFile, AggregateRecorderTestCase):
    def create_recorder(self) -> Recorder:
        return Recorder(self.make(), tells_positions=False)


class AggregatesInMemory(InMemory, AggregateRecorderTestCase):
    def create_recorder(self) -> Recorder:
        return Recorder(self.make(), tells_positions=False)


class ApplicationsInFile(InFile, ApplicationRecorderTestCase[Recorder]):
    def create_recorder(self) -> Recorder:
        return Recorder(self.make())


class ApplicationsInMemory(InMemory, ApplicationRecorderTestCase[Recorder]):
    def create_recorder(self) -> Recorder:
        return Recorder(self.make())


class OrderInFile(InFile, NonInterleavingNotificationIDsBaseCase):
    def create_recorder(self) -> Recorder:
        return Recorder(self.make())


class OrderInMemory(InMemory, NonInterleavingNotificationIDsBaseCase):
    def create_recorder(self) -> Recorder:
        return Recorder(self.make())


class ProcessesInFile(InFile, ProcessRecorderTestCase):
    def create_recorder(self) -> TrackingRecorder:
        return TrackingRecorder(self.make())


class TrackingInFile(InFile, TrackingRecorderTestCase):
    def create_recorder(self) -> TrackingRecorder:
        return TrackingRecorder(self.make())


del AggregateRecorderTestCase, ApplicationRecorderTestCase, NonInterleavingNotificationIDsBaseCase
del ProcessRecorderTestCase, TrackingRecorderTestCase
