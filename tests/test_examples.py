"""Each example runs, and asserts its own claims."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def load(path: Path) -> ModuleType:
    """An example, imported from its file."""
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def arguments(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """What an example is started with; a repository is made here, since an archive of the source is none."""
    if request.node.callspec.params["example"].stem != "git_history":
        return []
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    identity = {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in {"NAME": "Ann", "EMAIL": "ann@example.org"}.items()
    }
    environment = {**os.environ, **identity, "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    for command in (["init", "-q", "."], ["commit", "-q", "--allow-empty", "-m", "Begin"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, env=environment)
    return [str(tmp_path)]


def test_there_are_examples() -> None:
    """Both the page of first steps and the main job are here."""
    assert {"quickstart", "git_history"} <= {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(example: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Its main() ends well, prints something, and needs no input."""
    assert 0 == load(example).main(arguments)
    assert capsys.readouterr().out
