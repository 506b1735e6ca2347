"""What the test kit exports, and what it costs to import."""

from __future__ import annotations

import sys

import pytest

from engram_core import testing
from tests.stores import processes


def test_every_name_is_there() -> None:
    """Each exported name can be had, and no other."""
    for name in testing.__all__:
        assert getattr(testing, name) is not None
    assert sorted(testing.__all__, key=lambda name: (name.lower() == name, not name.isupper(), name)) == testing.__all__
    with pytest.raises(AttributeError):
        testing.nothing  # noqa: B018


def test_hypothesis_is_needed_by_the_machine_alone() -> None:
    """Everything else works without it; the machine says what to install."""
    code = """
import sys
sys.modules["hypothesis"] = None
from engram_core import testing
for name in testing.__all__:
    if name != "event_store_machine":
        getattr(testing, name)
try:
    testing.event_store_machine
except ImportError as error:
    print(error)
"""
    assert "event_store_machine needs Hypothesis: pip install 'engram-core-memory[testing]'\n" == processes.run(code)


def test_importing_the_kit_imports_no_part_of_it() -> None:
    """Its parts come when they are asked for."""
    code = "import sys; from engram_core import testing; print([m for m in sys.modules if '.testing.' in m])"
    assert "[]\n" == processes.run(code)
    assert "engram_core.testing" in sys.modules
