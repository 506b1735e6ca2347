"""Runs a contract and tells what held, what did not, and what was not tried."""

from __future__ import annotations

import io
import sqlite3
import unittest
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar, cast

from engram_core.events import RecordedEvent
from engram_core.ports import Clock, EventStore, Projection
from engram_core.testing.contracts import EventStoreContract, ProjectionContract
from engram_core.values import Actor

__all__ = ["Report", "certify", "certify_projection"]

S = TypeVar("S", bound=EventStore)


class Report:
    """What the contract found.

    Attributes:
        passed: The names of the tests that held.
        failed: Those that did not, each with the end of its traceback.
        skipped: Those that were not tried, each with the reason.
    """

    def __init__(self, passed: tuple[str, ...], failed: Mapping[str, str], skipped: Mapping[str, str]) -> None:
        self.passed = passed
        self.failed = failed
        self.skipped = skipped

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.failed

    def __str__(self) -> str:
        lines = [f"{len(self.passed)} held, {len(self.failed)} failed, {len(self.skipped)} skipped"]
        lines += [f"failed: {name}: {why.strip().splitlines()[-1]}" for name, why in self.failed.items()]
        lines += [f"skipped: {name}: {why}" for name, why in self.skipped.items()]
        return "\n".join(lines)


def certify(
    make_store: Callable[[], S],
    *,
    make_store_with_clock: Callable[[Clock], S] | None = None,
    reopen: Callable[[S], S] | None = None,
    another: Callable[[S], S] | None = None,
    only: Collection[str] = (),
) -> Report:
    """Runs every obligation of `EventStoreContract` on new stores of this factory; what is not given is skipped.

    Args:
        make_store: Gives a new, empty store.
        make_store_with_clock, reopen, another: As the methods of `EventStoreContract`.
        only: Names of the tests to run; by default all.
    """

    class Case(EventStoreContract, unittest.TestCase):
        def make_store(self) -> EventStore:
            return make_store()

        def make_store_with_clock(self, clock: Clock) -> EventStore | None:
            return make_store_with_clock(clock) if make_store_with_clock else None

        def reopen(self, store: EventStore) -> EventStore | None:
            return reopen(cast("S", store)) if reopen else None

        def another(self, store: EventStore) -> EventStore | None:
            return another(cast("S", store)) if another else None

    return _run(Case, only)


def certify_projection(
    make_projection: Callable[[], Projection],
    *,
    viewer: Actor | None = None,
    erasure: bool = True,
    expected: Callable[[Sequence[RecordedEvent]], Any] | None = None,
    shown: Callable[[sqlite3.Connection], Any] | None = None,
    only: Collection[str] = (),
) -> Report:
    """Runs every obligation of `ProjectionContract` on new instances; what is not given is skipped.

    Args:
        make_projection: Gives a new instance of the projection.
        viewer, erasure, expected, shown: As the attributes and methods of `ProjectionContract`.
        only: Names of the tests to run; by default all.
    """
    serves, forgets = viewer, erasure

    class Case(ProjectionContract, unittest.TestCase):
        viewer = serves
        erasure = forgets

        def make_projection(self) -> Projection:
            return make_projection()

        def expected(self, events: Sequence[RecordedEvent]) -> Any:
            return expected(events) if expected else None

        def shown(self, tx: sqlite3.Connection) -> Any:
            return shown(tx) if shown else super().shown(tx)

    return _run(Case, only)


def _run(case: type[unittest.TestCase], only: Collection[str]) -> Report:
    if unknown := [name for name in only if not hasattr(case, name)]:
        raise ValueError(f"the contract has no test {', '.join(unknown)}")
    names = sorted(only) or unittest.defaultTestLoader.getTestCaseNames(case)
    suite = unittest.TestSuite(map(case, names))
    result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
    failed = {_name(test): trace for test, trace in (*result.failures, *result.errors)}
    skipped = {_name(test): why for test, why in result.skipped}
    return Report(tuple(name for name in names if name not in {*failed, *skipped}), failed, skipped)


def _name(test: unittest.TestCase) -> str:
    return test.id().rpartition(".")[2]
