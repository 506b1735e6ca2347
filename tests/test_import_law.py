"""The reading order is the import law, and the lower floors are pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "engram_core"
PACKAGE = "engram_core"
PURE_FLOORS = range(4)

IMPURE_MODULES = frozenset(
    """asyncio concurrent ctypes glob io json logging multiprocessing os pathlib random secrets select shutil
    signal socket sqlite3 subprocess sys tempfile threading time urllib uuid6 warnings""".split()
)
PURE_NAMES = {"uuid": {"UUID"}}
IMPURE_CALLS = frozenset({"open", "print", "input", "exec", "eval"})
CLOCK_METHODS = frozenset({"now", "utcnow", "today"})


# -- the list ------------------------------------------------------------------------------------------


class Order:
    """The modules of docs/reading-order.md, in order."""

    def __init__(self, text: str) -> None:
        self.names: list[str] = []
        self.floors: dict[str, int | None] = {}
        self.later: set[str] = set()
        floor: int | None = None
        for line in text.splitlines():
            if heading := re.match(r"## (?:Floor (\d+))?", line):
                floor = int(heading[1]) if heading[1] else None
            elif entry := re.match(r"- `([\w.*]+)`(.*)", line):
                self.names.append(entry[1])
                self.floors[entry[1]] = floor
                if "*(later)*" in entry[2]:
                    self.later.add(entry[1])

    def entry(self, module: str) -> str | None:
        """The line that stands for a module: its own, else that of its folder."""
        if module in self.floors:
            return module
        parts = module.split(".")
        folders = (".".join(parts[:n]) + ".*" for n in range(len(parts), 0, -1))
        return next((folder for folder in folders if folder in self.floors), None)

    def allows(self, importer: str, imported: str) -> bool:
        """Whether `imported` stands before `importer`, or beside it in a folder without order."""
        mine, its = self.entry(importer), self.entry(imported)
        if mine is None or its is None:
            return False
        if mine == its:
            return mine.endswith(".*")
        return self.names.index(its) < self.names.index(mine)


ORDER = Order((ROOT / "docs" / "reading-order.md").read_text("utf-8"))


def module_name(path: Path, source: Path = SOURCE) -> str:
    """The name below the package: `kinds.schemas`, `kinds`, and `__init__` for the package itself."""
    parts = path.relative_to(source).with_suffix("").parts
    if parts[-1] == "__init__" and len(parts) > 1:
        parts = parts[:-1]
    return ".".join(parts)


PATHS = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text("utf-8"), str(path)) for name, path in PATHS.items()}


def is_pure(module: str) -> bool:
    """Whether the module stands on a floor that must be pure."""
    entry = ORDER.entry(module)
    return entry is not None and ORDER.floors[entry] in PURE_FLOORS


# -- what a module imports -----------------------------------------------------------------------------


def absolute(node: ast.ImportFrom, importer: str, *, is_package: bool) -> str:
    """The module named by a `from` import, with its dots resolved."""
    if not node.level:
        return node.module or ""
    home = [PACKAGE] if importer == "__init__" else [PACKAGE, *importer.split(".")]
    if not is_package:
        home = home[:-1]
    base = home[: len(home) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def imports(tree: ast.AST, importer: str, *, is_package: bool) -> Iterator[tuple[int, str, frozenset[str]]]:
    """Line, module and imported names of each import, wherever in the module it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, frozenset()
        elif isinstance(node, ast.ImportFrom):
            names = frozenset(alias.name for alias in node.names)
            yield node.lineno, absolute(node, importer, is_package=is_package), names
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            argument = node.args[0].value
            if called in {"import_module", "__import__"} and isinstance(argument, str):
                if argument.startswith("."):
                    argument = f"{PACKAGE}{argument}"
                yield node.lineno, argument, frozenset()


def inner_imports(
    tree: ast.AST, importer: str, known: Mapping[str, object], *, is_package: bool = False
) -> Iterator[tuple[int, str]]:
    """Line and name of each module of the package that is imported, with its folders, which run too."""
    for line, module, names in imports(tree, importer, is_package=is_package):
        if module != PACKAGE and not module.startswith(PACKAGE + "."):
            continue
        inner = module.removeprefix(PACKAGE).removeprefix(".")
        prefix = inner + "." if inner else ""
        modules = {prefix + name for name in names if prefix + name in known}
        if {prefix + name for name in names} - modules or not names:
            modules.add(inner or "__init__")
        for target in modules:
            parts = target.split(".")
            for n in range(1, len(parts) + 1):
                step = ".".join(parts[:n])
                # Python has begun to run a module's own folders before it runs the module.
                is_own_folder = n < len(parts) and (importer + ".").startswith(step + ".")
                if step != importer and not is_own_folder and (step == target or step in known):
                    yield line, step


def impurities(tree: ast.AST, importer: str) -> Iterator[str]:
    """What a pure module must not do, with its line."""
    for line, module, names in imports(tree, importer, is_package=False):
        top = module.split(".")[0]
        if top in PURE_NAMES:
            if not names or names - PURE_NAMES[top]:
                yield f"{line}: of {top}, only {', '.join(PURE_NAMES[top])} is pure"
        elif top in IMPURE_MODULES:
            yield f"{line}: imports {module}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
                yield f"{node.lineno}: calls {node.func.id}"
            elif isinstance(node.func, ast.Attribute) and node.func.attr in CLOCK_METHODS:
                yield f"{node.lineno}: calls .{node.func.attr}(), a clock"


def environment_reads(tree: ast.AST) -> Iterator[int]:
    """Lines that read environment variables."""
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name in {"environ", "environb", "getenv", "getenvb"}:
            yield node.lineno  # type: ignore[attr-defined]


# -- the law -------------------------------------------------------------------------------------------


def test_the_list_can_be_read() -> None:
    """The page lists modules of all seven floors, each once."""
    assert set(range(7)) <= set(ORDER.floors.values())
    assert len(ORDER.names) == len(set(ORDER.names))


def test_every_module_is_listed() -> None:
    """A module that is not in the reading order has no place."""
    assert PATHS, "no modules were found"
    assert [] == [name for name in PATHS if ORDER.entry(name) is None]


def test_every_listed_module_exists() -> None:
    """The reading order promises nothing that is not there, unless it says so, and no longer than needed."""
    present = {ORDER.entry(name) for name in PATHS}
    expected = {name for name in ORDER.names if not name.endswith(".*")}
    assert expected - ORDER.later == {name for name in expected if name in present}


@pytest.mark.parametrize("importer", list(PATHS))
def test_a_module_imports_only_what_stands_before_it(importer: str) -> None:
    """Imports point upwards in the list, inside functions and under TYPE_CHECKING too."""
    is_package = PATHS[importer].name == "__init__.py"
    found = inner_imports(TREES[importer], importer, PATHS, is_package=is_package)
    assert [] == sorted({f"{line}: {name}" for line, name in found if not ORDER.allows(importer, name)})


@pytest.mark.parametrize("module", [name for name in PATHS if is_pure(name)])
def test_the_lower_floors_are_pure(module: str) -> None:
    """Floors 0 to 3 read no file, clock, randomness or setting; a decision depends on its arguments alone."""
    assert [] == list(impurities(TREES[module], module))


@pytest.mark.parametrize("module", list(PATHS))
def test_no_converter_comes_between(module: str) -> None:
    """Attributes and payloads are structured by hand, strictly."""
    used = {name.split(".")[0] for _, name, _ in imports(TREES[module], module, is_package=False)}
    assert not used & {"cattrs", "cattr"}


@pytest.mark.parametrize("module", list(PATHS))
def test_no_module_reads_the_environment(module: str) -> None:
    """Settings are values that are passed down."""
    assert [] == list(environment_reads(TREES[module]))


# -- the law sees what it must -------------------------------------------------------------------------


def found(source: str, importer: str, *, is_package: bool = False) -> set[str]:
    """The inner imports of some source text."""
    modules = ["__init__", "errors", "values", "kinds", "kinds.schemas", "kinds.registry", "stores.sqlite"]
    known = dict.fromkeys(modules)
    return {name for _, name in inner_imports(ast.parse(source), importer, known, is_package=is_package)}


@pytest.mark.parametrize(
    ("source", "importer", "expected"),
    [
        ("import engram_core.errors", "values", {"errors"}),
        ("from engram_core.errors import EngramError", "values", {"errors"}),
        ("from engram_core import errors", "values", {"errors"}),
        ("from engram_core import Fact", "values", {"__init__"}),
        ("from engram_core import Fact, errors", "values", {"__init__", "errors"}),
        ("from . import errors", "values", {"errors"}),
        ("from .errors import X", "values", {"errors"}),
        ("from .schemas import Fact", "kinds.registry", {"kinds.schemas"}),
        ("from ..errors import X", "kinds.registry", {"errors"}),
        ("from engram_core.kinds.schemas import Fact", "values", {"kinds", "kinds.schemas"}),
        ("from engram_core.stores.sqlite import X", "values", {"stores.sqlite"}),
        ("def f():\n    from engram_core.errors import X", "values", {"errors"}),
        ("if TYPE_CHECKING:\n    from engram_core.errors import X", "values", {"errors"}),
        ("importlib.import_module('engram_core.errors')", "values", {"errors"}),
        ("import attrs\nfrom engram_corex import y", "values", set()),
    ],
)
def test_every_form_of_import_is_seen(source: str, importer: str, expected: set[str]) -> None:
    """Absolute, relative, lazy, typed and dynamic imports all count."""
    assert expected == found(source, importer)


def test_the_folder_imports_its_own_modules() -> None:
    """Relative imports of an `__init__` start at its own folder."""
    assert {"kinds.schemas"} == found("from .schemas import Fact", "kinds", is_package=True)
    assert {"errors"} == found("from ..errors import X", "kinds", is_package=True)


def test_order_is_strict() -> None:
    """What stands after may not be imported, nor what is not listed; some folders have no order inside."""
    order = Order("## Floor 0: a\n- `errors`: x\n- `values`: y\n## Beside\n- `packs.*`: z *(later)*")
    assert order.allows("values", "errors")
    assert not order.allows("errors", "values")
    assert not order.allows("errors", "nowhere")
    assert order.allows("packs.a", "packs.b")
    assert not order.allows("values", "packs.a")
    assert {"packs.*"} == order.later
    assert [0, None] == [order.floors["values"], order.floors["packs.*"]]


@pytest.mark.parametrize(
    "source",
    [
        "import json",
        "import sqlite3 as s",
        "from logging import getLogger",
        "import os.path",
        "from uuid import uuid4",
        "import uuid",
        "import uuid6",
        "def f():\n    import random",
        "from datetime import datetime\ndatetime.now(UTC)",
        "datetime.utcnow()",
        "date.today()",
        "open('x')",
        "print(1)",
    ],
)
def test_impurity_is_seen(source: str) -> None:
    """Input, output, clocks and randomness do not slip through."""
    assert list(impurities(ast.parse(source), "values"))


@pytest.mark.parametrize("source", ["from uuid import UUID", "from datetime import time", "context.now"])
def test_purity_is_left_alone(source: str) -> None:
    """Types of ids and instants, and an instant that was passed in, are pure."""
    assert [] == list(impurities(ast.parse(source), "values"))


@pytest.mark.parametrize("source", ["os.environ['X']", "from os import getenv\ngetenv('X')"])
def test_environment_reads_are_seen(source: str) -> None:
    """Both ways to read a variable are noticed."""
    assert list(environment_reads(ast.parse(source)))
