"""What must hold when several threads, or several store objects, use one log."""

# ruff: noqa: PT009, PT027 -- the contract runs under unittest as well as under pytest

from __future__ import annotations

import threading
from functools import partial

from engram_core.errors import ConcurrencyError
from engram_core.ports import EventStore, Expect
from engram_core.testing.building import appending, whole_log
from engram_core.testing.contracts.base import Obligations
from engram_core.testing.history import History, problems_of

__all__ = ["Sharing"]


class Sharing(Obligations):
    """Obligations towards more than one user."""

    def test_threads(self) -> None:
        """Threads that race for streams lose nothing, double nothing, and read only prefixes."""
        store = self.fresh()
        self.race([store] * 4)

    def test_two_handles_see_each_other(self) -> None:
        """What one store object has written, another on the same log sees at once, and respects."""
        store = self.fresh()
        second = self.beside(store)
        self.assertEqual(store.store_id, second.store_id)
        store.append([appending("a", "1", expected=0)])
        self.assertEqual((1, store.read()), (second.head(), second.read()))
        second.append([appending("a", "2", expected=1)])
        self.assertEqual(2, store.head())
        with self.assertRaises(ConcurrencyError):
            store.append([appending("a", "3", expected=1)])
        self.assertTrue(store.append([appending("a", "2", expected=0)]).duplicate)
        self.assertEqual((3,), store.append([appending("b", "3")]).positions)
        self.assertEqual(whole_log(store), whole_log(second))

    def test_two_handles_race(self) -> None:
        """The same holds for threads over several store objects on one log."""
        store = self.fresh()
        second = self.beside(store)
        self.race([store, second, store, second])

    def race(self, stores: list[EventStore]) -> None:
        """Runs a writer and a reader in one thread a store, and has the history checked."""
        history = History()
        start = threading.Barrier(len(stores))

        def run(who: int, store: EventStore) -> None:
            watched = history.watch(store, f"t{who}")
            start.wait()
            for number in range(12):
                stream = f"s{number % 2}"
                expected = len(watched.read_stream(stream)) if number % 3 else Expect.ANY
                ids = f"{who}-{number}", f"{who}-{number}b"
                try:
                    watched.append([appending(stream, *ids, expected=expected)])
                except ConcurrencyError:
                    continue
                watched.head()
                watched.read(after=max(0, watched.head() - 5))

        steps = [partial(run, who, store) for who, store in enumerate(stores)]
        self.in_threads(steps, patience=60)
        self.assertEqual((), problems_of(history, whole_log(stores[0])))
