"""Whoever tampers with the file is refused, reported, or has done no harm; no wrong answer passes for right."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from engram_core.testing.faults import flip, pages_of
from tests.stores.tampering import DEEDS, Specimen, copied, specimen, tamper, verdict


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Specimen:
    """A file that nobody has tampered with."""
    return specimen(tmp_path_factory.mktemp("tampering") / "whole.db")


def flips(whole: Specimen, path: Path, seed: int, count: int, *, everywhere: bool = False) -> Counter[str]:
    """What becomes of so many flips of one bit in the pages of the event table, or anywhere in the file."""
    picks = random.Random(seed)
    starts, size = pages_of(whole.path, "events")
    if everywhere:
        starts = list(range(0, whole.path.stat().st_size, size))
    found: Counter[str] = Counter()
    for number in range(count):
        place, bit = picks.choice(starts) + picks.randrange(size), picks.randrange(8)
        flip(copied(whole, path), place, bit)
        try:
            found[verdict(whole, path)] += 1
        except BaseException as error:
            error.add_note(f"flip {number}: bit {bit} of byte {place}")
            raise
    return found


def deeds(whole: Specimen, path: Path, seed: int, count: int) -> Counter[tuple[str, str]]:
    """What becomes of so many tamperings with rows, by deed."""
    picks = random.Random(seed)
    found: Counter[tuple[str, str]] = Counter()
    for number in range(count):
        name = tamper(copied(whole, path), picks)
        try:
            found[name, verdict(whole, path)] += 1
        except BaseException as error:
            error.add_note(f"tampering {number}: {name}")
            raise
    return found


def test_flipped_bits(whole: Specimen, tmp_path: Path) -> None:
    """A flipped bit of the event table's pages, its indexes included, is never taken for history."""
    found = flips(whole, tmp_path / "flipped.db", seed=1, count=30)
    assert found["reported"] + found["refused"] > 12
    assert found["harmless"] > 0


def test_tampered_rows(whole: Specimen, tmp_path: Path) -> None:
    """Rows altered, removed, swapped, inserted or cut off are never taken for history, whatever links they bear."""
    found = deeds(whole, tmp_path / "tampered.db", seed=2, count=40)
    assert {name.partition(",")[0] for name, _ in found} == set(DEEDS)
    assert sum(count for (_, outcome), count in found.items() if outcome == "harmless") < 6


@pytest.mark.slow
def test_many_flipped_bits(whole: Specimen, tmp_path: Path) -> None:
    """The same, a thousand times; and five hundred times anywhere in the file."""
    print(flips(whole, tmp_path / "flipped.db", seed=3, count=1_000))
    print(flips(whole, tmp_path / "flipped.db", seed=4, count=500, everywhere=True))


@pytest.mark.slow
def test_many_tampered_rows(whole: Specimen, tmp_path: Path) -> None:
    """The same, two hundred times."""
    for line in sorted(deeds(whole, tmp_path / "tampered.db", seed=5, count=200).items()):
        print(line)
