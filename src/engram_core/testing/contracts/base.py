"""What the parts of the contract share: a store for each test, and obligations that are skipped visibly."""

from __future__ import annotations

import threading
import unittest
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engram_core.ports import AtomicStore, Clock, EraserStore, EventStore, NewEvent, Recorded

__all__ = ["Obligations", "envelope"]

if TYPE_CHECKING:
    _Case = unittest.TestCase
else:
    # A mixin: were it a TestCase itself, whoever imports it would have it collected without a store.
    _Case = object


class Obligations(_Case):
    """Base of the contract's parts.

    Attributes:
        transactions: Whether the obligations of an `AtomicStore` are tested; by default if the store is one.
        erasure: The same for an `EraserStore`.
    """

    transactions: bool | None = None
    erasure: bool | None = None

    def make_store(self) -> EventStore:
        """A new store with an empty log; the subclass says how."""
        raise NotImplementedError("define make_store(self), which gives a new, empty store")

    def make_store_with_clock(self, clock: Clock) -> EventStore | None:
        """A new store that reads this clock; None if the store cannot be given one."""
        return None

    def reopen(self, store: EventStore) -> EventStore | None:
        """Closes the store and opens its log again; None if it does not survive that."""
        return None

    def another(self, store: EventStore) -> EventStore | None:
        """A second store object on the same log, beside the first; None if there can be none."""
        return None

    def fresh(self) -> EventStore:
        """A new store, closed when the test ends."""
        store = self.make_store()
        self.addCleanup(store.close)
        return store

    def atomic(self) -> AtomicStore:
        """A new store with transactions, or the test is skipped."""
        store = self.fresh()
        if self.transactions is False or not isinstance(store, AtomicStore):
            self.skipTest("the store has no transaction(): it is not an AtomicStore")
        return store

    def eraser(self) -> EraserStore:
        """A new store that can erase, or the test is skipped."""
        store = self.fresh()
        if self.erasure is False or not isinstance(store, EraserStore):
            self.skipTest("the store has no erase(): it is not an EraserStore")
        return store

    def clocked(self, clock: Clock) -> EventStore:
        """A new store that reads this clock, or the test is skipped."""
        store = self.make_store_with_clock(clock)
        if store is None:
            self.skipTest("the subclass defines no make_store_with_clock(self, clock)")
        self.addCleanup(store.close)
        return store

    def reopened(self, store: EventStore) -> EventStore:
        """The store's log opened again, or the test is skipped."""
        again = self.reopen(store)
        if again is None:
            self.skipTest("the subclass defines no reopen(self, store)")
        self.addCleanup(again.close)
        return again

    def beside(self, store: EventStore) -> EventStore:
        """A second store object on the same log, or the test is skipped."""
        second = self.another(store)
        if second is None:
            self.skipTest("the subclass defines no another(self, store)")
        self.addCleanup(second.close)
        return second

    def in_threads(self, steps: Sequence[Callable[[], None]], *, patience: float) -> None:
        """Runs each step in a thread of its own and waits so long; their errors are this test's."""
        errors: list[BaseException] = []

        def run(step: Callable[[], None]) -> None:
            try:
                step()
            except BaseException as error:  # noqa: BLE001 -- handed over to the test
                errors.append(error)

        threads = [threading.Thread(target=run, args=(step,), daemon=True) for step in steps]
        for thread in threads:
            self.addCleanup(thread.join, 60)
            thread.start()
        for thread in threads:
            thread.join(patience)
        if errors:
            raise errors[0]


def envelope(event: Recorded) -> NewEvent:
    """What of a recorded event the caller had given."""
    return NewEvent(
        event.id,
        event.type,
        event.schema_version,
        event.owner,
        event.data,
        event.commitment,
        event.occurred_at,
        event.actor_kind,
        event.batch_id,
        event.causation_id,
        event.command_key,
    )
