"""What the library says to SQLite is said in a way that every Python it supports understands."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).resolve().parent.parent / "src" / "engram_core").rglob("*.py"))


def numbered(text: str) -> list[str]:
    """The texts of a module that hold a numbered placeholder of SQLite."""
    found = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return [value for value in found if isinstance(value, str) and re.search(r"[=(,<> ]\?\d", value)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(SOURCES[0].parent).as_posix())
def test_placeholders_are_not_numbered(path: Path) -> None:
    """Python 3.12 warns of numbered placeholders that are given a sequence, and 3.14 refuses them."""
    assert [] == numbered(path.read_text("utf-8"))


def test_a_numbered_placeholder_is_seen() -> None:
    """The reading of a module sees them, in plain and in formatted texts."""
    assert 2 == len(numbered("a = 'SELECT ?1'\nb = f'SELECT x FROM {a} WHERE y = ?2'"))
