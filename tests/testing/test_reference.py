"""The reference lists what the kit has: every obligation, every strategy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from engram_core import testing
from engram_core.testing import EventStoreContract, ProjectionContract, strategies

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "reference" / "testing.md").read_text("utf-8")

PARTS = {"check_decided_events_fold", "check_determinism", "check_no_wall_clock"}
"""Parts of `check_decider`, which take what it takes."""


@pytest.mark.parametrize("contract", [EventStoreContract, ProjectionContract], ids=lambda contract: contract.__name__)
def test_every_obligation_is_listed(contract: type[Any]) -> None:
    """With the sentence that the test itself says."""
    part = PAGE.partition(f"The obligations of `{contract.__name__}`:")[2].partition("\n#")[0]
    listed = dict(re.findall(r"^\| `(test_\w+)` \| (.*) \|$", part, re.MULTILINE))
    required = {
        name: getattr(contract, name).__doc__.splitlines()[0] for name in dir(contract) if name.startswith("test_")
    }
    assert required == listed


def test_every_name_has_an_example() -> None:
    """Each exported name stands in code that runs: on a page of the reference, or on one about certifying."""
    pages = [*DOCS.glob("reference/*.md"), *DOCS.glob("how-to/certify-*.md"), *DOCS.parent.glob("examples/*.py")]
    text = "\n".join(page.read_text("utf-8") for page in pages if page.suffix == ".md")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    code = "\n".join([*blocks, *(page.read_text("utf-8") for page in pages if page.suffix == ".py")])
    assert [] == sorted(set(testing.__all__) - set(re.findall(r"\w+", code)) - PARTS)


def test_every_strategy_is_listed() -> None:
    """Under the heading of generated data."""
    words = set(re.findall(r"\w+", "".join(re.findall(r"`[^`]+`", PAGE.partition("## Generated data")[2]))))
    assert [] == sorted(set(strategies.__all__) - words)
