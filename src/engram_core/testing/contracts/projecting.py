"""The contract of a `Projection`, as tests that every projection inherits."""

# ruff: noqa: PT009 -- the contract runs under unittest as well as under pytest

from __future__ import annotations

import sqlite3
import tempfile
import unittest
from collections.abc import Iterable, Sequence
from copy import deepcopy
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_core.audience import sees_all
from engram_core.events import ErasedPayload, RecordedEvent, UnknownEvent
from engram_core.kinds import Fact
from engram_core.ports import Projection
from engram_core.projections.running import following
from engram_core.space import MemorySpace
from engram_core.testing.clocks import FrozenClock, SequentialIds
from engram_core.testing.contracts.ground import Ground, rows_of
from engram_core.testing.stories import (
    ERASED_WORDS,
    GONE_WORDS,
    HIDDEN_WORDS,
    Commit,
    Story,
    life,
    lives_with_secrets,
    turned_private,
    with_erasure,
    with_what_is_gone,
    without,
)
from engram_core.values import Actor, user

__all__ = ["ProjectionContract"]

if TYPE_CHECKING:
    _Case = unittest.TestCase
else:
    _Case = object


class ProjectionContract(_Case):
    """Every obligation of a projection, inline or following, as a mixin for a test class.

    A subclass defines `make_projection(self)`. `expected` adds an oracle, `viewer` says whom it serves; what is not
    given is skipped with a reason. It runs under unittest and under pytest:

        class TestMine(ProjectionContract, unittest.TestCase):
            def make_projection(self):
                return MyProjection()

    Attributes:
        viewer: For whom it is made; None: for users, who see everything. For anybody else it must show nothing that
            is hidden from him.
        erasure: Whether it forgets what is erased; False skips those obligations.
    """

    viewer: Actor | None = None
    erasure: bool = True

    def make_projection(self) -> Projection:
        """A new instance of the projection, as a new process would make it; the subclass says how."""
        raise NotImplementedError("define make_projection(self), which gives a new instance of the projection")

    def expected(self, events: Sequence[RecordedEvent]) -> Any:
        """What `shown` must give after these events, computed in another way; None: the subclass does not say."""
        return None

    def shown(self, tx: sqlite3.Connection) -> Any:
        """What is read from it, to be compared; by default all rows of its tables."""
        return rows_of(tx, self._tables)

    # -- its tables

    def test_name_and_version(self) -> None:
        """Every instance says the same name, and the same version from 1 on: the checkpoint is kept under them."""
        named = [(one.name, one.version) for one in (self.make_projection(), self.make_projection())]
        self.assertEqual(named[0], named[1])
        name, version = named[0]
        self.assertIs(str, type(name))
        self.assertTrue(name.strip(), "the name is blank")
        self.assertIs(int, type(version))
        self.assertGreaterEqual(version, 1)

    def test_teardown(self) -> None:
        """Teardown leaves nothing behind, and setup begins again from there."""
        ground = self.ground(setup=False)
        before = ground.schema()
        ground.setup()
        empty = self.read(ground)
        ground.take_all(self.history())
        ground.teardown()
        self.assertEqual(before, ground.schema())
        ground.setup()
        self.assertEqual(empty, self.read(ground))

    def test_keeps_to_its_own_tables(self) -> None:
        """It neither reads nor changes tables of others, and leaves the transaction to its host."""
        ground = self.ground().take_all(self.history(), page=3)
        ground.rebuild(_joined(self.history()))
        ground.teardown()
        ground.check_neighbours()
        self.assertEqual([], ground.trespasses)

    def test_depends_on_its_events_alone(self) -> None:
        """No clock, no lots, no files and no network, in Python or in SQL: a rebuild would give something else."""
        ground = self.ground().take_all(self.history(), page=3)
        self.assertEqual([], ground.glances)

    def test_leaves_events_alone(self) -> None:
        """What it is given is others' too: no event has changed afterwards."""
        history = self.history()
        before = repr(history)
        self.ground().take_all(history)
        self.assertTrue(before == repr(history), "an event is not what it was")

    # -- once, and in order

    def test_expected(self) -> None:
        """After every commit, and after an erasure, it shows what the subclass expects of the events as they stand."""
        if self.expected(()) is None:
            self.skipTest("the subclass defines no expected(self, events)")
        ground = self.ground()
        self.assertEqual(self.expected(()), self.read(ground), "before any event")
        events: list[RecordedEvent] = []
        for commit in self.history():
            events += commit
            ground.take(commit)
            self.assertEqual(self.expected(tuple(events)), self.read(ground), f"at position {commit[-1].position}")
        if self.erasure:
            story = _own(with_erasure())
            ground.take_all(story.told[story.before_erasure :])
            self.assertEqual(self.expected(_joined(story.final)), self.read(ground), "after the erasure")

    def test_page_sizes(self) -> None:
        """However many commits come at once, the end is the same."""
        history = self.history()
        one_by_one = self.read(self.ground().take_all(history))
        for page in (2, 3, 7, len(history)):
            self.assertEqual(one_by_one, self.read(self.ground().take_all(history, page=page)), f"{page} at a time")

    def test_crash_before_the_commit(self) -> None:
        """What was taken back leaves no trace, in its tables or in its memory; taken in again, it counts once."""
        smooth, bumpy, restarted = self.ground(), self.ground(), self.ground()
        for commit in self.history():
            smooth.take(commit)
            before = self.read(bumpy)
            bumpy.crash(commit)
            self.assertEqual(before, self.read(bumpy), f"the crash left something at position {commit[-1].position}")
            bumpy.take(commit)
            restarted.crash(commit)
            restarted.restart()
            restarted.take(commit)
            wanted = self.read(smooth)
            self.assertEqual(wanted, self.read(bumpy), f"after a crash at position {commit[-1].position}")
            self.assertEqual(wanted, self.read(restarted), f"after a restart at position {commit[-1].position}")

    def test_new_instances_go_on(self) -> None:
        """All that it knows is in its tables: a new instance goes on where the last one stopped."""
        history = self.history()
        ground = self.ground()
        for commit in history:
            ground.restart()
            ground.take(commit)
        self.assertEqual(self.read(self.ground().take_all(history)), self.read(ground))

    def test_rebuild(self) -> None:
        """Built anew from the log, by the same instance or another, it is what it was."""
        history = self.history()
        ground = self.ground().take_all(history)
        before = self.read(ground)
        for restarts in (False, True):
            if restarts:
                ground.restart()
            ground.rebuild(_joined(history))
            self.assertEqual(before, self.read(ground))

    def test_instances_do_not_share(self) -> None:
        """Two instances over two databases, taking turns, are as each would be alone."""
        history = self.history()
        alone = self.read(self.ground().take_all(history))
        one, other = self.ground(), self.ground()
        for commit in history:
            one.take(commit)
            other.take(commit)
        self.assertEqual([alone, alone], [self.read(one), self.read(other)])

    def test_inline_and_following(self) -> None:
        """In a space, within each commit or behind it, with a reopening in between, the end is the same."""
        with tempfile.TemporaryDirectory() as directory:
            inline = self._in_space(Path(directory) / "inline.db", follows=False)
            behind = self._in_space(Path(directory) / "following.db", follows=True)
        self.assertEqual(inline, behind)

    # -- whatever a log holds

    def test_every_type(self) -> None:
        """It takes in every type of event, in the order of a life and each alone."""
        self.survives(self.history(), "the history")
        alone = {event.type: event for event in _joined(_own(with_erasure()).told)}
        for type_name, event in sorted(alone.items()):
            self.survives([(event,)], f"{type_name} of a memory whose beginning is not there")

    def test_erased_events(self) -> None:
        """It takes in what stands for erased payloads, of every type."""
        events = _joined(self.history())
        markers = [event._replace(event=ErasedPayload(event.type), actor=None) for event in events]
        self.survives([markers], "all payloads erased")
        for marker in markers:
            if marker.version == 1:
                later = [event for event in events if event.stream == marker.stream and event.version > 1]
                self.survives([[marker], later], f"{marker.type} erased at position {marker.position}")

    def test_unknown_events(self) -> None:
        """It takes in what stands for types and versions to come, of every type."""
        later = [
            event._replace(event=UnknownEvent(event.type, 99, "{}"), schema_version=99)
            for event in _joined(self.history())
        ]
        self.survives([later], "all events of a later version")
        unheard = [event._replace(event=UnknownEvent("Unheard", 1, "{}"), type="Unheard") for event in later]
        self.survives([unheard], "all events of an unknown type")

    # -- what is gone

    def test_erased_text_is_gone(self) -> None:
        """No table holds a word that was erased, wherever it stood, nor an index over it."""
        story = self.erasing()
        ground = self.ground().take_all(story.told)
        found = [f"{word} in {table}" for word in ERASED_WORDS for table in ground.holds(word)]
        self.assertEqual([], found)

    def test_rebuild_after_erasure(self) -> None:
        """Whoever saw the erased text and whoever never did end with the same."""
        story = self.erasing()
        anew = self.read(self.ground().take_all(story.final, page=len(story.final)))
        self.assertEqual(anew, self.read(self.ground().take_all(story.told)))
        for place in range(0, len(story.told), 7):
            mixed = (*story.told[:place], *story.final[place:])
            if place <= story.before_erasure:
                self.assertEqual(anew, self.read(self.ground().take_all(mixed)), f"erased text until commit {place}")

    # -- what is hidden

    def test_hidden_memories_change_nothing(self) -> None:
        """What it shows its viewer is the same, whether or not memories that are hidden from him exist."""
        story = self.secretive()
        bare = self.read(self.ground().take_all(without(story, story.hidden_ids)))
        self.assertEqual(bare, self.read(self.ground().take_all(story.final)))

    def test_hidden_text_is_not_shown(self) -> None:
        """It shows its viewer no word and no id of what is hidden from him, though it was shared before."""
        self.secretive()
        assert self.viewer is not None
        story = _own(turned_private(self.viewer))
        text = repr(self.read(self.ground().take_all(story.told))).casefold()
        self.assertEqual([], [word for word in (*HIDDEN_WORDS, *story.hidden_ids) if word.casefold() in text])

    def test_what_is_gone_is_not_shown(self) -> None:
        """It shows its viewer no word and no id of what was deleted, or of a creation that was undone."""
        self.secretive()
        story = _own(with_what_is_gone())
        for page in (1, len(story.told)):
            text = repr(self.read(self.ground().take_all(story.told, page=page))).casefold()
            self.assertEqual([], [word for word in (*GONE_WORDS, *story.hidden_ids) if word.casefold() in text])

    # -- what the tests are made of

    def history(self) -> tuple[Commit, ...]:
        """The commits on which most obligations are tried, without an erasure."""
        story = _own(with_erasure())
        return story.told[: story.before_erasure]

    def ground(self, *, setup: bool = True) -> Ground:
        """A new database with a new instance."""
        ground = Ground(self.make_projection)
        self.addCleanup(ground.close)
        return ground.setup() if setup else ground

    def read(self, ground: Ground) -> Any:
        """What is read from it."""
        self._tables = ground.tables()
        return self.shown(ground.tx)

    def survives(self, commits: Iterable[Sequence[RecordedEvent]], what: str) -> None:
        """Requires that it takes in commits without an error."""
        try:
            self.ground().take_all(commits)
        except Exception as error:
            raise AssertionError(f"it raises {error!r} at: {what}") from error

    def erasing(self) -> Story:
        """The history with an erasure, or the test is skipped."""
        if not self.erasure:
            self.skipTest("the subclass says erasure = False: it need not forget")
        return _own(with_erasure())

    def secretive(self) -> Story:
        """The history with hidden memories, or the test is skipped."""
        if self.viewer is None or sees_all(self.viewer):
            self.skipTest("it serves users, who see everything: the subclass names no other viewer")
        return _own(lives_with_secrets(self.viewer))

    def _in_space(self, path: Path, *, follows: bool) -> Any:
        clock, ids = FrozenClock(), SequentialIds()

        def opened() -> MemorySpace:
            projection = self.make_projection()
            listed = [following(projection) if follows else projection]
            return MemorySpace.open(path, clock=clock, ids=ids, projections=listed)

        with opened() as space:
            life(space, clock)
            if follows:
                space.flush()
        with opened() as space:
            ann = space.session(user("ann"))
            ann.tag(ann.remember(Fact("The boat is for sale.")), "boats")
            space.flush()
        self._tables = self.ground().tables()
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            return self.shown(connection)
        finally:
            connection.close()

    _tables: Sequence[str] = ()


def _own(story: Story) -> Story:
    """A story that a projection may spoil without harm to the next test."""
    return deepcopy(story)


def _joined(commits: Iterable[Sequence[RecordedEvent]]) -> tuple[RecordedEvent, ...]:
    return tuple(chain.from_iterable(commits))
