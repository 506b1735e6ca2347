"""Every payload that was ever released can be read; lines are added to the file, and never changed or removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engram_core.kinds import KINDS
from engram_core.packs.outcomes import with_outcomes

REGISTRY = with_outcomes(KINDS)
LINES = (Path(__file__).parent.parent / "golden" / "kinds.jsonl").read_text("utf-8").splitlines()
GOLDEN = [json.loads(line) for line in LINES]


def test_every_kind_and_version_has_a_line() -> None:
    """A new version comes with its payload."""
    expected = {(spec.kind, version) for spec in REGISTRY for version in range(1, spec.version + 1)}
    assert expected == {(line["kind"], line["version"]) for line in GOLDEN}


def test_every_field_of_the_current_version_is_there() -> None:
    """The newest line of a kind shows all of its fields."""
    newest = {
        line["kind"]: set(line["raw"]) for line in GOLDEN if line["version"] == REGISTRY.spec(line["kind"]).version
    }
    assert {spec.kind: set(spec.names) for spec in REGISTRY} == newest


@pytest.mark.parametrize("line", GOLDEN, ids=lambda line: f"{line['kind']}-{line['version']}")
def test_released_payloads_are_read(line: dict[str, Any]) -> None:
    """What was stored in any version becomes the current form, and the current form is written as it was."""
    value = REGISTRY.structure(line["kind"], line["raw"], line["version"])
    assert line["current"] == REGISTRY.unstructure(value)
    assert value == REGISTRY.structure(line["kind"], line["current"])
