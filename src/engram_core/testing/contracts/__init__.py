"""The contracts of an `EventStore` and of a `Projection`, as tests that every store and every projection inherits."""

from __future__ import annotations

from engram_core.testing.contracts.appending import Appending
from engram_core.testing.contracts.erasing import Erasing
from engram_core.testing.contracts.holding import Holding
from engram_core.testing.contracts.projecting import ProjectionContract
from engram_core.testing.contracts.reading import Reading
from engram_core.testing.contracts.sharing import Sharing

__all__ = ["Appending", "Erasing", "EventStoreContract", "Holding", "ProjectionContract", "Reading", "Sharing"]


class EventStoreContract(Appending, Reading, Holding, Erasing, Sharing):
    """Every obligation of a store, as a mixin for a test class.

    A subclass defines `make_store(self)`, and more where the store can do more: `make_store_with_clock`,
    `reopen` and `another`. What a store cannot do is skipped with a reason. It runs under unittest and under
    pytest:

        class TestMine(EventStoreContract, unittest.TestCase):
            def make_store(self):
                return MyStore()
    """
