"""The pages hold what they promise: links lead somewhere, records are complete, commands exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
RECORDS = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))


def name(path: Path) -> str:
    """A page's name in a test's id."""
    return path.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """The text of a page without its code blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The fragments by which the headings of a page can be linked."""
    headings = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def links(page: Path) -> Iterator[str]:
    """The targets that lead to other files of the repository, or within the page."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if not re.match(r"[a-z]+:", target):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    """Relative links name files and headings that exist."""
    broken = []
    for link in links(page):
        file, _, fragment = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (fragment and fragment not in anchors(target)):
            broken.append(link)
    assert [] == broken


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_page_holds_a_place_for_later(page: Path) -> None:
    """What is published is written."""
    assert [] == re.findall(r"(?i)\b(?:TODO|TBD|FIXME|lorem ipsum|coming soon)\b", prose(page))


@pytest.mark.parametrize("record", RECORDS, ids=name)
def test_every_record_names_its_confirmation(record: Path) -> None:
    """A decision has a status, a date, its reasons, and the test that fails when it is broken."""
    text = record.read_text("utf-8")
    assert re.search(r"^# \d{4}: \S", text)
    assert re.search(r"^- Status: (proposed|accepted|superseded by \d{4})$", text, re.MULTILINE)
    assert re.search(r"^- Date: \d{4}-\d{2}-\d{2}$", text, re.MULTILINE)
    for section in ("Context", "Options", "Decision", "Consequences", "Confirmation"):
        assert re.search(rf"^## {section}\n\n\S", text, re.MULTILINE), f"no section {section}"
    assert f"({record.name})" in (record.parent / "README.md").read_text("utf-8"), "not in the index"


@pytest.mark.parametrize("record", RECORDS, ids=name)
def test_every_confirmation_exists(record: Path) -> None:
    """The test that a record names is there."""
    confirmation = record.read_text("utf-8").partition("## Confirmation")[2]
    tests = re.findall(r"`(tests/[\w/]+\.py)(?:::([\w:]+))?`", confirmation)
    for file, test in tests:
        path = ROOT / file
        assert path.is_file(), f"{file} does not exist"
        tree = ast.parse(path.read_text("utf-8"))
        names = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        assert set(filter(None, test.split("::"))) <= names, f"{file} has no {test}"


def test_the_readme_gives_both_commands() -> None:
    """A fresh machine needs two lines, and the sessions they name exist."""
    text = README.read_text("utf-8")
    nox_sessions = ast.parse((ROOT / "noxfile.py").read_text("utf-8"))
    sessions = {node.name for node in nox_sessions.body if isinstance(node, ast.FunctionDef)}
    for session in ("demo", "tests"):
        assert f"python -m pip install nox && python -m nox -s {session}" in text
    assert set(re.findall(r"nox -s (\w+)", text)) <= sessions


def test_the_readme_starts_with_code_that_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """At most twelve statements that can be pasted into a file; what a line prints stands behind it."""
    block = re.search(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert block is not None
    assert len(ast.parse(block[1]).body) <= 12
    exec(compile(block[1], "README.md", "exec"), {})
    promised = [line.rsplit("  # ", 1)[1] for line in block[1].splitlines() if line.startswith("print(")]
    assert promised
    assert promised == capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("page", [ROOT / "docs" / "tutorial.md"], ids=name)
def test_python_on_the_page_is_executable(page: Path) -> None:
    """A block that says it is Python is a doctest, so that nothing on the page goes untested."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert blocks
    assert [] == [block for block in blocks if not block.startswith(">>> ")]
