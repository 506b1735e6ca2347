"""That the benchmarks measure what they say."""

from __future__ import annotations

from pathlib import Path

from benchmarks.agreement import differences


def test_the_hand_written_side_leaves_the_very_rows_of_the_library(tmp_path: Path) -> None:
    """Every row of every table, after remembering, confirming, pinning, weighing and tagging: else no ratio counts."""
    assert [] == differences(tmp_path, 300)
