"""The contract finds the fault of every broken store."""

from __future__ import annotations

import io
import unittest

import pytest

from engram_core.ports import EventStore
from engram_core.testing import BROKEN_STORES, STORES, EventStoreContract


def failures_of(make: object) -> set[str]:
    """The names of the contract's tests that a store fails."""

    class Case(EventStoreContract, unittest.TestCase):
        def make_store(self) -> EventStore:
            return make()  # type: ignore[operator, no-any-return]

    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Case)
    result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
    return {test.id().rpartition(".")[2] for test, _ in (*result.failures, *result.errors)}


@pytest.mark.parametrize("name", sorted(BROKEN_STORES))
def test_the_contract_kills(name: str) -> None:
    """A broken store fails at least one obligation, and says which one it means to break."""
    broken = BROKEN_STORES[name]
    assert name == broken.name
    assert broken.obligation
    assert failures_of(broken)


@pytest.mark.parametrize("name", sorted(STORES))
def test_the_contract_spares(name: str) -> None:
    """The same run finds nothing in the library's own stores."""
    assert set() == failures_of(STORES[name])


def test_the_zoo_is_large() -> None:
    """There are at least thirty faults, and no two break the same obligation in the same words."""
    obligations = [broken.obligation for broken in BROKEN_STORES.values()]
    assert len(obligations) >= 30
    assert len(set(obligations)) == len(obligations)
