"""The pages on certifying are followed to the letter: each file is written, each command is run."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import engram_core

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "how-to").glob("certify-*.md"))


def run(command: str, folder: Path) -> str:
    """What a command prints, in both streams."""
    program, *arguments = shlex.split(command)
    assert "python" == program
    path = str(Path(engram_core.__file__).parents[1])
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "error"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    return ran.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_can_be_followed(page: Path, tmp_path: Path) -> None:
    """Whoever copies the files and types the commands, in order, sees what the page says."""
    blocks = re.findall(r"^```(python|console)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert {"python", "console"} == {sort for sort, _ in blocks}
    compare = doctest.OutputChecker().check_output
    for sort, text in blocks:
        first, _, rest = text.partition("\n")
        if sort == "python":
            name = re.fullmatch(r"# (\w+\.py)", first)
            assert name is not None, f"a block that begins with {first!r} names no file"
            (tmp_path / name[1]).write_text(rest, "utf-8")
        else:
            assert first.startswith("$ ")
            printed = run(first[2:], tmp_path)
            assert compare(rest, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), printed


def test_there_are_pages() -> None:
    """Both of them: for stores, and for projections."""
    assert ["certify-your-own-projection", "certify-your-own-store"] == [page.stem for page in PAGES]
