"""The tables follow from the log, whichever way they were made."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings

from tests.projections.histories import Driver, Naive, Step, as_of, histories, stores, tables

SORTS = ("memory", "plain", "sqlite")

UNDONE: list[Step] = [
    ("remember", 0, 1, 0),
    ("remember", 0, 2, 0),
    ("link", 0, 1, 0),
    ("unlink", 0, 1, 0),
    ("undo", 0, 0, 0),
    ("contradict", 0, 1, 0),
    ("undo", 0, 0, 0),
    ("redo", 1, 0, 0),
]
MERGED: list[Step] = [
    ("remember", 1, 1, 1),
    ("remember", 1, 2, 1),
    ("merge", 0, 1, 0),
    ("unmerge", 1, 0, 0),
    ("merge", 0, 1, 0),
    ("erase", 1, 0, 0),
    ("tag", 0, 1, 0),
]


def driven(sort: str, directory: str, steps: list[Step]) -> Driver:
    driver = Driver(stores(Path(directory))[sort]())
    driver.run(steps)
    driver.space.flush()
    return driver


@pytest.mark.parametrize("sort", SORTS)
@given(steps=histories)
@example(steps=UNDONE)
@example(steps=MERGED)
@settings(max_examples=25)
def test_a_rebuild_leaves_the_same_tables(sort: str, steps: list[Step]) -> None:
    """Byte for byte, the past included, and a check finds nothing amiss before or after."""
    with TemporaryDirectory() as directory:
        driver = driven(sort, directory, steps)
        with driver.engine.host.reading() as tx:
            live = tables(tx)
        assert driver.model.check() == []
        driver.model.rebuild()
        with driver.engine.host.reading() as tx:
            rebuilt = tables(tx)
        assert rebuilt == live
        assert driver.model.check() == []
        driver.space.close()


@given(steps=histories)
@example(steps=UNDONE)
@example(steps=MERGED)
@settings(max_examples=50)
def test_every_past_view_is_a_replay_of_the_prefix(steps: list[Step]) -> None:
    """At each commit, what the as-of tables show is what a naive fold of the log up to there makes."""
    driver = driven("memory", "", steps)
    naive = Naive(driver)
    with driver.engine.host.reading() as tx:
        for position, expected in naive.commits():
            assert as_of(tx, position) == expected
        present = [row[:3] + row[-1:] for row in tables(tx)["texts"]]
        assert present == naive.texts()


@given(steps=histories, more=histories)
@settings(max_examples=20)
def test_a_foreign_log_is_followed(steps: list[Step], more: list[Step]) -> None:
    """Two spaces over one log without transactions: each takes in what the other wrote, once."""
    one = driven("plain", "", steps)
    other = Driver(one.engine.store, first_id=5_000)
    other.ids = one.ids
    for driver, step in zip([one, other] * len(more), more, strict=False):
        driver.take(*step)
    one.space.flush()
    other.space.flush()
    with one.engine.host.reading() as tx:
        first = tables(tx)
    with other.engine.host.reading() as tx:
        assert tables(tx) == first
    assert one.model.check() == other.model.check() == []
