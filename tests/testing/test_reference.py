"""The reference lists what the kit has: every obligation, every strategy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from engram_core.testing import EventStoreContract, ProjectionContract, strategies

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "testing.md").read_text("utf-8")


@pytest.mark.parametrize("contract", [EventStoreContract, ProjectionContract], ids=lambda contract: contract.__name__)
def test_every_obligation_is_listed(contract: type[Any]) -> None:
    """With the sentence that the test itself says."""
    part = PAGE.partition(f"The obligations of `{contract.__name__}`:")[2].partition("\n#")[0]
    listed = dict(re.findall(r"^\| `(test_\w+)` \| (.*) \|$", part, re.MULTILINE))
    required = {
        name: getattr(contract, name).__doc__.splitlines()[0] for name in dir(contract) if name.startswith("test_")
    }
    assert required == listed


def test_every_strategy_is_listed() -> None:
    """Under the heading of generated data."""
    words = set(re.findall(r"\w+", "".join(re.findall(r"`[^`]+`", PAGE.partition("## Generated data")[2]))))
    assert [] == sorted(set(strategies.__all__) - words)
