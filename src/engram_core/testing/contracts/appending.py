"""What an append must do: the decision table, row by row, then order, numbering, bytes and time."""

# ruff: noqa: PT009, PT027 -- the contract runs under unittest as well as under pytest

from __future__ import annotations

from datetime import timedelta

from engram_core.chain import chain_link, genesis
from engram_core.errors import ConcurrencyError, DuplicateEvent
from engram_core.ports import Appended, EventStore, Expect, Recorded, StreamAppend
from engram_core.testing.building import appending, new_event, whole_log
from engram_core.testing.clocks import FrozenClock
from engram_core.testing.contracts.base import Obligations, envelope

__all__ = ["Appending"]

_AWKWARD = (
    "",
    "  leading and trailing  \n",
    '{"b":1,"a":2,"a":3,"f":1.0,"e":1e2,"big":123456789012345678901234567890}',
    "nul\x00 in the middle",
    "e\u0301 is not \u00e9, and \u212b is not \u00c5",
    "\U0001f9e0 \u200d \ufeff \u2028",
    "quote ' double \" back \\ percent % question ?",
    "x" * 300_000,
)


class Appending(Obligations):
    """Obligations of `append`."""

    # -- expectations

    def test_new_stream_at_zero(self) -> None:
        """Expecting 0 appends to a stream that does not exist, and refuses one that does."""
        store = self.fresh()
        store.append([appending("a", "1", expected=0)])
        self.refused(store, appending("a", "2", expected=0), expected=0, actual=1)

    def test_exact_version(self) -> None:
        """Expecting a version appends at that version alone: neither below nor above it."""
        store = self.fresh()
        store.append([appending("a", "1", "2", expected=0)])
        self.refused(store, appending("a", "3", expected=1), expected=1, actual=2)
        self.refused(store, appending("a", "3", expected=3), expected=3, actual=2)
        self.refused(store, appending("b", "3", expected=1), expected=1, actual=0)
        store.append([appending("a", "3", expected=2)])
        self.assertEqual([1, 2, 3], [event.version for event in store.read_stream("a")])

    def test_any(self) -> None:
        """Expecting anything appends to a stream, whether it exists or not."""
        store = self.fresh()
        store.append([appending("a", "1", expected=Expect.ANY)])
        store.append([appending("a", "2", expected=Expect.ANY)])
        self.assertEqual(["1", "2"], [event.id for event in store.read_stream("a")])

    def test_exists(self) -> None:
        """Expecting a stream to exist refuses one that does not."""
        store = self.fresh()
        self.refused(store, appending("a", "1", expected=Expect.EXISTS), expected="exists", actual=0)
        store.append([appending("a", "1")])
        store.append([appending("a", "2", expected=Expect.EXISTS)])
        self.assertEqual(2, store.head())

    def test_first_failing_expectation_is_named(self) -> None:
        """When several expectations fail, the error is about the first of them."""
        store = self.fresh()
        store.append([appending("a", "1"), appending("b", "2")])
        self.refused(
            store,
            appending("a", "3", expected=1),
            appending("b", "4", expected=7),
            appending("c", "5", expected=9),
            stream="b",
            expected=7,
            actual=1,
        )

    def test_all_or_nothing(self) -> None:
        """When the expectation of one stream fails, nothing is written to any."""
        store = self.fresh()
        store.append([appending("b", "1")])
        for failing in (0, 5, Expect.EXISTS):
            stream = "c" if failing is Expect.EXISTS else "b"
            with self.assertRaises(ConcurrencyError):
                store.append([appending("a", "2", expected=0), appending(stream, "3", expected=failing)])
            self.assertEqual(["1"], [event.id for event in whole_log(store)])
            self.assertEqual((), store.read_stream("a"))
        self.assertEqual((2, 3), store.append([appending("a", "2"), appending("b", "3")]).positions)

    def test_guard(self) -> None:
        """An entry without events guards the version of its stream, and writes nothing."""
        store = self.fresh()
        store.append([appending("a", "1")])
        store.append([StreamAppend("a", 1), StreamAppend("none", 0), appending("b", "2")])
        self.refused(store, StreamAppend("a", 0), appending("b", "3"), stream="a", expected=0, actual=1)
        self.refused(store, appending("b", "3"), StreamAppend("a", 2), stream="a", expected=2, actual=1)
        self.refused(store, StreamAppend("none", Expect.EXISTS), stream="none", expected="exists", actual=0)
        self.assertEqual(["1", "2"], [event.id for event in whole_log(store)])

    def test_nothing_to_append(self) -> None:
        """An append without events succeeds, leaves the head alone and brings no stream into being."""
        store = self.fresh()
        for batch in ([], [StreamAppend("a", 0)], [StreamAppend("a", Expect.ANY), StreamAppend("b", 0)]):
            self.assertEqual(Appended((), False), store.append(batch))
            self.assertEqual(0, store.head())
        store.append([appending("a", "1", expected=0)])
        self.assertEqual(1, store.head())

    # -- repeated ids

    def test_stream_repeated_in_a_batch(self) -> None:
        """A batch that names a stream twice is a mistake, whatever else is wrong with it."""
        store = self.fresh()
        with self.assertRaises(ValueError):
            store.append([appending("a", "1", expected=5), appending("a", "2", expected=0)])
        self.assertEqual(0, store.head())

    def test_id_repeated_in_a_batch(self) -> None:
        """A batch that names an event id twice is a mistake, in one stream or in two."""
        store = self.fresh()
        for batch in ([appending("a", "1", "1")], [appending("a", "1"), appending("b", "1")]):
            with self.assertRaises(ValueError):
                store.append(batch)
            self.assertEqual((), whole_log(store))

    def test_retry(self) -> None:
        """The very same append again is no error: it gets the first answer, marked, and writes nothing."""
        store = self.fresh()
        batch = [appending("a", "1", "2", expected=0), StreamAppend("g", 0), appending("b", "3", expected=0)]
        first = store.append(batch)
        store.append([appending("a", "4"), appending("g", "5")])
        again = store.append(batch)
        self.assertFalse(first.duplicate)
        self.assertTrue(again.duplicate)
        self.assertEqual(first.events, again.events)
        self.assertEqual(5, store.head())

    def test_retry_whatever_is_expected(self) -> None:
        """A retry is recognised before its expectations are looked at."""
        store = self.fresh()
        first = store.append([appending("a", "1", expected=0)])
        for expected in (0, 1, 9, Expect.ANY, Expect.EXISTS):
            again = store.append([appending("a", "1", expected=expected)])
            self.assertEqual((first.events, True), (again.events, again.duplicate))
        self.assertEqual(1, store.head())

    def test_stored_id_in_another_append(self) -> None:
        """A stored id with other bytes, or in another stream, order or company, is refused."""
        store = self.fresh()
        store.append([appending("a", "1", "2", expected=0)])
        store.append([appending("a", "3")])
        other_type = StreamAppend("a", 3, [new_event("3", type="Other")])
        for batch in (
            [appending("a", "1", "2", text="other")],
            [appending("b", "1", "2")],
            [appending("a", "2", "1")],
            [appending("a", "2", "3")._replace(events=(new_event("1"), new_event("3")))],
            [appending("a", "1", "new")],
            [appending("a", "new", "1")],
            [appending("b", "new", expected=0), appending("a", "3", expected=9)],
            [other_type],
        ):
            with self.assertRaises(DuplicateEvent):
                store.append(batch)
            self.assertEqual(["1", "2", "3"], [event.id for event in whole_log(store)])
        self.assertEqual((), store.read_stream("b"))

    def test_retry_of_a_part(self) -> None:
        """A part of an earlier append, in place and unchanged, counts as stored by the same call."""
        store = self.fresh()
        first = store.append([appending("a", "1", "2", "3")])
        part = StreamAppend("a", 0, [new_event(id, batch_id="1") for id in ("2", "3")])
        again = store.append([part])
        self.assertEqual((first.events[1:], True), (again.events, again.duplicate))

    # -- order and numbers

    def test_positions_are_dense(self) -> None:
        """Positions count from 1, without gaps, in the order of the batch, over all streams."""
        store = self.fresh()
        answers = [
            store.append([appending("b", "1", "2"), appending("a", "3")]),
            store.append([appending("a", "4"), appending("c", "5"), appending("b", "6", "7")]),
        ]
        self.assertEqual([(1, 2, 3), (4, 5, 6, 7)], [answer.positions for answer in answers])
        self.assertEqual(
            [(1, "b", 1), (2, "b", 2), (3, "a", 1), (4, "a", 2), (5, "c", 1), (6, "b", 3), (7, "b", 4)],
            [event[:3] for event in whole_log(store)],
        )

    def test_failures_burn_no_position(self) -> None:
        """What is refused leaves no gap behind."""
        store = self.fresh()
        store.append([appending("a", "1")])
        with self.assertRaises(ConcurrencyError):
            store.append([appending("a", "2", "3", expected=0)])
        with self.assertRaises(DuplicateEvent):
            store.append([appending("b", "2", "1")])
        with self.assertRaises(ValueError):
            store.append([appending("b", "2", "2")])
        self.assertEqual((2,), store.append([appending("b", "2")]).positions)
        self.assertEqual(1, store.read_stream("b")[0].version)

    def test_streams_are_their_exact_names(self) -> None:
        """Streams that differ by case, spaces or composition of letters are different streams."""
        store = self.fresh()
        names = ["a", "A", " a", "a ", "a\u0301", "\u00e1", "a%", "a_", "", "0", "00"]
        for number, name in enumerate(names):
            store.append([appending(name, str(number), expected=0)])
        for number, name in enumerate(names):
            self.assertEqual([str(number)], [event.id for event in store.read_stream(name)])

    def test_ids_are_their_exact_text(self) -> None:
        """Ids that differ by case or spaces are different ids."""
        store = self.fresh()
        store.append([appending("a", "x", "X", "x ", "1", "01", "1.0")])
        self.assertEqual(6, store.head())

    # -- what is kept

    def test_answer_is_what_is_stored(self) -> None:
        """The events of the answer are those that are read later, field by field."""
        store = self.fresh()
        first = store.append([appending("a", "1", "2"), appending("b", "3")])
        second = store.append([appending("a", "4")])
        self.assertEqual((*first.events, *second.events), store.read())
        self.assertTrue(all(type(event) is Recorded for event in store.read()))

    def test_every_field_is_kept(self) -> None:
        """All that the caller gave comes back as it was, `None` included."""
        store = self.fresh()
        full = new_event(
            "1",
            owner="somebody else",
            type="Typed",
            schema_version=7,
            occurred_at=-62_135_596_800_000_000,
            actor_kind="plugin",
            batch_id="the batch",
            causation_id="the cause",
            command_key="the command",
        )
        bare = new_event("2", owner="a", occurred_at=253_402_300_799_999_999)
        store.append([StreamAppend("a", 0, [full, bare])])
        self.assertEqual([full, bare], [envelope(event) for event in store.read()])
        self.assertEqual([full, bare], [envelope(event) for event in store.read_stream("a")])

    def test_every_byte_is_kept(self) -> None:
        """Payloads are kept as they are: not parsed, trimmed, normalised or cut."""
        store = self.fresh()
        given = [new_event(str(number), data=data) for number, data in enumerate(_AWKWARD)]
        store.append([StreamAppend("a", 0, given)])
        found = [envelope(event) for event in store.read()]
        self.assertEqual(len(given), len(found))
        for one, other in zip(given, found, strict=True):
            self.assertTrue(one == other, f"{one.data[:60]!r} came back as {other.data[:60]!r}")

    def test_links(self) -> None:
        """The last event of each append, and no other, carries the chain's link over all that came before."""
        store = self.fresh()
        batches = (
            [appending("a", "1", "2", "3")],
            [appending("b", "4")],
            [appending("a", "5"), appending("b", "6")],
        )
        link = genesis(store.store_id)
        for batch in batches:
            events = store.append(batch).events
            link = chain_link(link, events)
            self.assertEqual([*[None] * (len(events) - 1), link], [event.link for event in events])
        self.assertEqual(link, store.read()[-1].link)

    def test_store_id_stays(self) -> None:
        """A store has one id, and two logs have two."""
        store = self.fresh()
        first = store.store_id
        store.append([appending("a", "1")])
        self.assertEqual(first, store.store_id)
        self.assertNotEqual(first, self.fresh().store_id)

    def test_two_logs_share_nothing(self) -> None:
        """What one store holds, another one does not."""
        one, two = self.fresh(), self.fresh()
        one.append([appending("a", "1", expected=0)])
        self.assertEqual(0, two.head())
        for id in ("1", "2"):
            self.assertFalse(two.append([appending(f"stream {id}", id, expected=0)]).duplicate)
        self.assertEqual(["1"], [event.id for event in whole_log(one)])
        self.assertEqual(["1", "2"], [event.id for event in whole_log(two)])

    # -- time

    def test_time_never_falls(self) -> None:
        """`recorded_at` never falls along positions, and is the store's own, not the caller's."""
        store = self.fresh()
        for number, occurred_at in enumerate((9_000_000_000_000_000, 5, 7_000_000_000_000_000)):
            event = new_event(str(number), occurred_at=occurred_at)
            store.append([StreamAppend(f"s{number}", 0, [event])])
        times = [event.recorded_at for event in store.read()]
        self.assertEqual(sorted(times), times)
        self.assertTrue(all(1_600_000_000_000_000 < time < 5_000_000_000_000_000 for time in times), times)

    def test_clock_steps_back(self) -> None:
        """When the clock steps back, time stands still; one append has one instant."""
        clock = FrozenClock(step=timedelta(microseconds=1))
        store = self.clocked(clock)
        store.append([appending("a", "1", "2", "3"), appending("b", "4")])
        clock.move(days=-400)
        store.append([appending("a", "5")])
        clock.move(days=800)
        store.append([appending("a", "6")])
        times = [event.recorded_at for event in store.read()]
        self.assertEqual([times[0]] * 5, times[:5])
        self.assertGreater(times[5], times[4] + 300 * 86_400_000_000)

    def refused(
        self, store: EventStore, *batch: StreamAppend, expected: object, actual: object, stream: str | None = None
    ) -> None:
        """The batch must fail with a ConcurrencyError of these facts, and write nothing."""
        before = whole_log(store)
        with self.assertRaises(ConcurrencyError) as caught:
            store.append(batch)
        error = caught.exception
        self.assertEqual((stream or batch[0].stream, expected, actual), (error.stream, error.expected, error.actual))
        self.assertTrue(error.retry)
        self.assertEqual(before, whole_log(store))
