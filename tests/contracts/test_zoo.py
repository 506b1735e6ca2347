"""The contract finds the fault of every broken store."""

from __future__ import annotations

import pytest

from engram_core.testing import BROKEN_STORES, STORES, EventStoreContract, certify
from engram_core.testing.zoo._handles import _Handle


@pytest.mark.parametrize("name", sorted(BROKEN_STORES))
def test_the_contract_kills(name: str) -> None:
    """A broken store fails at least one obligation, and says which one it means to break."""
    broken = BROKEN_STORES[name]
    assert name == broken.name
    assert broken.obligation
    assert certify(broken, **broken.options).failed


@pytest.mark.parametrize("name", sorted(STORES))
def test_the_contract_spares(name: str) -> None:
    """The same run finds nothing in the library's own stores."""
    report = certify(STORES[name])
    assert {} == report.failed
    assert {"test_clock_steps_back", "test_reopen", "test_two_handles_race"} < set(report.skipped)
    assert len(report.passed) > 45


def test_the_zoo_covers_the_contract() -> None:
    """Every obligation has a store that breaks it."""
    tests = {name for name in dir(EventStoreContract) if name.startswith("test_")}
    for broken in BROKEN_STORES.values():
        tests -= set(certify(broken, **broken.options, only=tests).failed) if tests else set()
    assert set() == tests


def test_a_good_handle_passes() -> None:
    """Without a fault, the store of which those with several handles are made keeps the contract."""
    report = certify(_Handle, make_store_with_clock=_Handle.with_clock, reopen=_Handle.reopen, another=_Handle.another)
    assert {} == report.failed
    assert not {"test_clock_steps_back", "test_reopen", "test_two_handles_race"} & set(report.skipped)


def test_the_zoo_is_large() -> None:
    """There are at least thirty faults, and no two break the same obligation in the same words."""
    obligations = [broken.obligation for broken in BROKEN_STORES.values()]
    assert len(obligations) >= 30
    assert len(set(obligations)) == len(obligations)


def test_a_fault_is_found_by_the_tests_of_its_obligation() -> None:
    """Where one thing is wrong, few tests fail, so that their names say what it is."""
    report = certify(BROKEN_STORES["cuts_at_nul"])
    assert ["test_every_byte_is_kept"] == list(report.failed)
    assert not report.ok
    assert "failed: test_every_byte_is_kept: AssertionError" in str(report)
    assert "skipped: test_reopen: the subclass defines no reopen(self, store)" in str(report)
    assert "broken store cuts_at_nul: breaks 'payloads are kept beyond a NUL'" in repr(BROKEN_STORES["cuts_at_nul"])
