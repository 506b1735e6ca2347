"""What the reads must give."""

# ruff: noqa: PT009, PT027 -- the contract runs under unittest as well as under pytest

from __future__ import annotations

from engram_core.ports import EventStore
from engram_core.testing.building import appending, whole_log
from engram_core.testing.contracts.base import Obligations

__all__ = ["Reading"]


class Reading(Obligations):
    """Obligations of `read`, `read_stream`, `head` and `close`."""

    def filled(self) -> EventStore:
        """A store of twelve events: odd positions in stream z, even ones in stream a."""
        store = self.fresh()
        for number in range(1, 13):
            store.append([appending("z" if number % 2 else "a", f"e{number}")])
        return store

    def test_empty_log(self) -> None:
        """An empty log has head 0 and no events."""
        store = self.fresh()
        self.assertEqual(0, store.head())
        self.assertEqual((), store.read())
        self.assertEqual((), store.read_stream("a"))
        self.assertEqual((), store.read_stream("a", backwards=True))

    def test_read_in_order(self) -> None:
        """`read` gives positions in order, whatever the streams."""
        self.assertEqual(list(range(1, 13)), [event.position for event in self.filled().read()])

    def test_read_bounds(self) -> None:
        """`read` gives after < position <= upto, at most limit, for every combination."""
        store = self.filled()
        for after in (0, 1, 5, 11, 12, 13, 10**20):
            for upto in (None, 0, 1, 5, 6, 12, 13, 10**20):
                for limit in (0, 1, 3, 12, 1_000, 10**20):
                    expected = [p for p in range(1, 13) if after < p and (upto is None or p <= upto)][:limit]
                    found = store.read(after=after, upto=upto, limit=limit)
                    self.assertEqual(expected, [event.position for event in found], (after, upto, limit))

    def test_stream_bounds(self) -> None:
        """`read_stream` does the same by version, forwards and backwards."""
        store = self.filled()
        for backwards in (False, True):
            for after in (0, 1, 3, 6, 7):
                for upto in (None, 0, 1, 3, 6, 7):
                    for limit in (None, 0, 1, 2, 6, 99):
                        expected = [v for v in range(1, 7) if after < v and (upto is None or v <= upto)]
                        expected = (expected[::-1] if backwards else expected)[:limit]
                        found = store.read_stream("z", after=after, upto=upto, limit=limit, backwards=backwards)
                        asked = (after, upto, limit, backwards)
                        self.assertEqual(expected, [event.version for event in found], asked)
                        self.assertEqual({"z"} if expected else set(), {event.stream for event in found})

    def test_negative_bounds(self) -> None:
        """A negative bound is a mistake: nothing counts from the end."""
        store = self.filled()
        for bound in ("after", "upto", "limit"):
            with self.assertRaises(ValueError):
                store.read(**{bound: -1})
            with self.assertRaises(ValueError):
                store.read_stream("z", **{bound: -1})  # type: ignore[arg-type]

    def test_long_stream(self) -> None:
        """A stream is read whole unless a limit says otherwise; `read` gives a thousand by default."""
        store = self.fresh()
        store.append([appending("a", *(str(number) for number in range(1_050)))])
        self.assertEqual(1_050, len(store.read_stream("a")))
        self.assertEqual(1_000, len(store.read()))
        self.assertEqual(1_050, len(whole_log(store)))

    def test_head_follows(self) -> None:
        """The head is the last position, as soon as the append has answered."""
        store = self.fresh()
        for number in range(1, 6):
            answer = store.append([appending("a", f"e{number}", f"f{number}")])
            self.assertEqual(answer.positions[-1], store.head())
            self.assertEqual(answer.events, store.read(after=store.head() - 2))

    def test_results_are_values(self) -> None:
        """What was read is a tuple of its own; no later append changes it."""
        store = self.filled()
        pages = store.read(), store.read_stream("z"), store.append([appending("a", "x")]).events
        copies = [list(page) for page in pages]
        store.append([appending("z", "y")])
        for page, copy in zip(pages, copies, strict=True):
            self.assertIs(tuple, type(page))
            self.assertEqual(copy, list(page))

    def test_reads_repeat(self) -> None:
        """Reading changes nothing: the same read gives the same again."""
        store = self.filled()
        self.assertEqual([store.read(limit=5)] * 3, [store.read(limit=5) for _ in range(3)])
        self.assertEqual(store.read_stream("a"), store.read_stream("a"))
        self.assertEqual(12, store.head())

    def test_both_reads_agree(self) -> None:
        """The streams together are the log."""
        store = self.filled()
        both = [*store.read_stream("z"), *store.read_stream("a")]
        self.assertEqual(list(store.read()), sorted(both, key=lambda event: event.position))

    def test_close_twice(self) -> None:
        """Closing a closed store is no error."""
        store = self.make_store()
        store.append([appending("a", "1")])
        store.close()
        store.close()

    def test_reopen(self) -> None:
        """A log that is opened again is the same log, and goes on where it ended."""
        store = self.filled()
        before, name = whole_log(store), store.store_id
        again = self.reopened(store)
        self.assertEqual((name, before, 12), (again.store_id, whole_log(again), again.head()))
        self.assertTrue(again.append([appending("z", "e1")]).duplicate)
        self.assertEqual((13,), again.append([appending("a", "more", expected=6)]).positions)
