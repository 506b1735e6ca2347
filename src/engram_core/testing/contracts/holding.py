"""What transactions must do, in stores that have them."""

# ruff: noqa: PT009, PT027 -- the contract runs under unittest as well as under pytest

from __future__ import annotations

import threading

from engram_core.errors import ConcurrencyError, DuplicateEvent
from engram_core.ports import AtomicStore, EraserStore
from engram_core.testing.building import appending, whole_log
from engram_core.testing.contracts.base import Obligations

__all__ = ["Holding"]


class _Veto(Exception):
    """Raised by a test in the middle of a transaction."""


class Holding(Obligations):
    """Obligations of an `AtomicStore`."""

    def test_transaction_commits(self) -> None:
        """Appends of a transaction are all there at its end."""
        store = self.atomic()
        with store.transaction():
            first = store.append([appending("a", "1", expected=0)])
            second = store.append([appending("b", "2"), appending("a", "3", expected=1)])
        self.assertEqual([(1,), (2, 3)], [first.positions, second.positions])
        self.assertEqual((*first.events, *second.events), whole_log(store))

    def test_transaction_sees_itself(self) -> None:
        """Reads of the same thread within it see its appends, retries included."""
        store = self.atomic()
        store.append([appending("a", "1")])
        with store.transaction():
            store.append([appending("a", "2")])
            self.assertEqual(2, store.head())
            self.assertEqual(["1", "2"], [event.id for event in store.read()])
            self.assertEqual(["2", "1"], [event.id for event in store.read_stream("a", backwards=True)])
            self.assertTrue(store.append([appending("a", "2")]).duplicate)

    def test_transaction_rolls_back(self) -> None:
        """A transaction that raises leaves no trace: no event, no position, no id."""
        store = self.atomic()
        first = store.append([appending("a", "1")])
        with self.assertRaises(_Veto), store.transaction():
            store.append([appending("a", "2"), appending("b", "3")])
            store.append([appending("c", "4")])
            raise _Veto
        self.assertEqual((1, first.events), (store.head(), whole_log(store)))
        self.assertEqual((), store.read_stream("b"))
        again = store.append([appending("b", "3", expected=0), appending("a", "2")])
        self.assertEqual(((2, 3), False), (again.positions, again.duplicate))

    def test_transaction_survives_a_refusal(self) -> None:
        """An append that is refused within a transaction takes nothing with it, and leaves nothing."""
        store = self.atomic()
        store.append([appending("a", "1")])
        with store.transaction():
            store.append([appending("b", "2")])
            with self.assertRaises(ConcurrencyError):
                store.append([appending("c", "3"), appending("b", "4", expected=0)])
            with self.assertRaises(DuplicateEvent):
                store.append([appending("c", "5", "6"), appending("d", "1")])
            store.append([appending("c", "7")])
        self.assertEqual(["1", "2", "7"], [event.id for event in whole_log(store)])
        self.assertEqual([1, 2, 3], [event.position for event in whole_log(store)])

    def test_transaction_is_hidden_until_its_end(self) -> None:
        """Another thread sees nothing of it before its end, and all of it afterwards."""
        store = self.atomic()
        store.append([appending("a", "1")])
        seen: list[tuple[int, int]] = []
        has_looked = threading.Event()

        def look() -> None:
            seen.append((store.head(), len(store.read_stream("a"))))
            has_looked.set()

        with store.transaction():
            store.append([appending("a", "2"), appending("b", "3")])
            self.in_threads([look], patience=0.5)
        # A store may also make the other thread wait; then it sees the end twice.
        has_looked.wait(60)
        self.in_threads([look], patience=60)
        self.assertIn(seen, ([(1, 1), (3, 2)], [(3, 2), (3, 2)]))

    def test_transactions_exclude_each_other(self) -> None:
        """Between a look and an append in one transaction, nobody else writes."""
        store = self.atomic()

        def count() -> None:
            for _ in range(10):
                with store.transaction():
                    version = len(store.read_stream("n"))
                    store.append([appending("n", f"n{version}", expected=version)])

        self.in_threads([count] * 4, patience=60)
        self.assertEqual([f"n{number}" for number in range(40)], [event.id for event in store.read_stream("n")])

    def test_transactions_do_not_nest(self) -> None:
        """A transaction within one of the same thread is a mistake, and is said to be one."""
        store = self.atomic()
        with store.transaction():
            store.append([appending("a", "1")])
            with self.assertRaises(RuntimeError), store.transaction():
                self.fail("entered twice")
        self.assertEqual(1, store.head())

    def test_erasure_rolls_back(self) -> None:
        """An erasure in a transaction that raises did not happen."""
        store = self.both()
        first = store.append([appending("a", "1"), appending("b", "2")]).events
        with self.assertRaises(_Veto), store.transaction():
            self.eraser_of(store).erase("a", "gone")
            self.assertEqual("gone", store.read_stream("a")[0].data)
            raise _Veto
        self.assertEqual(first, whole_log(store))

    def both(self) -> AtomicStore:
        """A new store with transactions that can erase, or the test is skipped."""
        store = self.atomic()
        if self.erasure is False or not isinstance(store, EraserStore):
            self.skipTest("the store has no erase(): it is not an EraserStore")
        return store

    def eraser_of(self, store: object) -> EraserStore:
        """The same store, by its other protocol."""
        assert isinstance(store, EraserStore)
        return store
