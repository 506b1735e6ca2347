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


def test_hypothesis_is_needed_by_few() -> None:
    """Everything but the machine, the suites and the strategies works without it; those say what to install."""
    code = """
import sys
sys.modules["hypothesis"] = None
from engram_core import testing
for name in testing.__all__:
    try:
        getattr(testing, name)
    except ImportError as error:
        print(error)
"""
    needing = [
        name
        for name in testing.__all__
        if name.endswith("_machine") or (name.startswith("check_") and name != "check_vector")
    ]
    expected = [f"{name} needs Hypothesis: pip install 'engram-core-memory[testing]'" for name in needing]
    assert expected == processes.run(code).splitlines()


def test_importing_the_kit_imports_no_part_of_it() -> None:
    """Its parts come when they are asked for."""
    code = "import sys; from engram_core import testing; print([m for m in sys.modules if '.testing.' in m])"
    assert "[]\n" == processes.run(code)
    assert "engram_core.testing" in sys.modules
