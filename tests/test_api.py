"""What is public says so, says what it is for, and is found in the reference."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "engram_core"
REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))


def import_name(path: Path) -> str:
    """The name by which a file of the package is imported."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_public(name: str) -> bool:
    """Whether no part of a dotted name starts with an underscore."""
    return not any(part.startswith("_") for part in name.split("."))


PATHS = {import_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
PUBLIC = [name for name in PATHS if is_public(name)]
TREES = {name: ast.parse(PATHS[name].read_text("utf-8")) for name in PUBLIC}

# A type variable is spelled like a public name and is none.
TYPE_VARIABLES = {"TypeVar", "ParamSpec", "TypeVarTuple"}


def called(node: ast.expr | None) -> str:
    """The name of what an expression calls, or nothing."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def targets(node: ast.expr) -> Iterator[str]:
    """The names that an assignment binds."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            yield from targets(element)


def defined(tree: ast.Module) -> Iterator[str]:
    """The names a module itself defines at its top level; what it imports is not its own."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and called(node.value) not in TYPE_VARIABLES:
            for target in node.targets:
                yield from targets(target)
        elif isinstance(node, ast.AnnAssign) and called(node.value) not in TYPE_VARIABLES:
            yield from targets(node.target)


def reexported(tree: ast.Module) -> Iterator[str]:
    """The names a module takes from the package."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("engram_core")):
            for alias in node.names:
                yield alias.asname or alias.name


def declared(tree: ast.Module) -> list[str] | None:
    """The names in `__all__`, or None if there is none."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            bound = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == "__all__" for target in bound):
                assert node.value is not None
                return list(ast.literal_eval(node.value))
    return None


def documented(tree: ast.Module, public: set[str], module: str) -> Iterator[str]:
    """The public classes, functions and methods that lack a docstring of their own or of a base class."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name in public:
            if ast.get_docstring(node) is None and not is_overload(node):
                yield node.name
            if isinstance(node, ast.ClassDef):
                for method in node.body:
                    if (
                        isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
                        and not method.name.startswith("_")
                        and ast.get_docstring(method) is None
                        and not is_overload(method)
                        and not is_inherited(module, node.name, method.name)
                    ):
                        yield f"{node.name}.{method.name}"


def is_overload(node: ast.AST) -> bool:
    """Whether a definition only adds a signature or a setter to one that is documented."""
    decorators = getattr(node, "decorator_list", [])
    names = {d.attr if isinstance(d, ast.Attribute) else getattr(d, "id", "") for d in decorators}
    return bool(names & {"overload", "setter", "deleter"})


def is_inherited(module: str, owner: str, method: str) -> bool:
    """Whether a base class documents the method, as a protocol does for those who implement it."""
    bases = getattr(importlib.import_module(module), owner).__mro__[1:]
    return any(getattr(vars(base).get(method), "__doc__", None) for base in bases if base is not object)


def reference_words() -> set[str]:
    """The words of the reference that are set as code."""
    text = "\n".join(page.read_text("utf-8") for page in REFERENCE)
    return set(re.findall(r"\w+", "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))))


def test_there_are_public_modules() -> None:
    """The checks below have something to check."""
    assert "engram_core.errors" in PUBLIC


@pytest.mark.parametrize("module", PUBLIC)
def test_all_is_what_the_module_defines(module: str) -> None:
    """`__all__` names each public thing the module defines, and nothing that it lacks."""
    names = declared(TREES[module])
    assert names is not None, "a public module has an __all__"
    assert len(set(names)) == len(names)
    own = {name for name in defined(TREES[module]) if not name.startswith("_")}
    if PATHS[module].name == "__init__.py":
        own |= {name for name in reexported(TREES[module]) if not name.startswith("_")}
        found = importlib.import_module(module)
        assert own <= set(names)
        assert [] == [name for name in names if not hasattr(found, name)]
    else:
        # A topic module may also offer, by name, what the machinery behind it defines.
        assert own == set(names) - (set(reexported(TREES[module])) - own)


@pytest.mark.parametrize("module", PUBLIC)
def test_whatever_is_public_has_a_docstring(module: str) -> None:
    """Module, classes, functions and methods say what they are for."""
    tree = TREES[module]
    assert ast.get_docstring(tree), "a module's head says what it owns"
    assert [] == list(documented(tree, set(declared(tree) or ()), module))


def test_star_import_gives_the_public_names() -> None:
    """`from engram_core import *` works and brings exactly `__all__`."""
    namespace: dict[str, object] = {}
    exec("from engram_core import *", namespace)
    namespace.pop("__builtins__")
    assert set(importlib.import_module("engram_core").__all__) == set(namespace)


def test_every_public_name_is_in_the_reference() -> None:
    """docs/reference mentions each name of the door, as code."""
    words = reference_words()
    assert [] == sorted(set(importlib.import_module("engram_core").__all__) - words)


def code_that_runs() -> set[str]:
    """The words of README, pages and examples that a test executes."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    lines = [
        line for page in pages for line in re.findall(r"^(?:>>>|\.\.\.) .*$", page.read_text("utf-8"), re.MULTILINE)
    ]
    lines += [path.read_text("utf-8") for path in (ROOT / "examples").glob("*.py")]
    return set(re.findall(r"\w+", "\n".join(lines)))


def test_every_public_name_is_shown_at_work() -> None:
    """Each name of the door is used in code that a reader can copy, and that a test runs."""
    assert [] == sorted(set(importlib.import_module("engram_core").__all__) - code_that_runs())


HOLDERS = ("ApprovalPolicy", "Hits", "KindRegistry", "Maintenance", "MemorySpace", "Session", "View")


@pytest.mark.parametrize("holder", HOLDERS)
def test_every_method_is_shown_at_work(holder: str) -> None:
    """So is each method, and the reference names it."""
    cls = getattr(importlib.import_module("engram_core"), holder)
    names = {name for name, _ in inspect.getmembers(cls, callable) if not name.startswith("_")}
    assert [] == sorted(names - code_that_runs())
    assert [] == sorted(names - reference_words())


SHARED_ARGUMENTS = {
    "a", "after", "b", "command_id", "expected_revision", "filters", "limit", "m", "note", "p", "progress", "relation",
    "self", "source", "target", "title",
}  # fmt: skip
"""Arguments that mean the same everywhere, and are explained once, in the reference."""


@pytest.mark.parametrize("holder", ["Maintenance", "MemorySpace", "Session", "View"])
def test_every_argument_is_explained(holder: str) -> None:
    """The docstring of a method speaks of each argument of its own."""
    cls = getattr(importlib.import_module("engram_core"), holder)
    missing = [
        f"{name}({argument})"
        for name, method in inspect.getmembers(cls, callable)
        if not name.startswith("_")
        for argument in inspect.signature(method).parameters.keys() - SHARED_ARGUMENTS
        if not re.search(rf"\b{argument}\b", method.__doc__ or "")
    ]
    assert [] == missing


TOPICS = ("commands", "errors", "events", "filters", "memory", "packs.outcomes", "ports", "results", "testing", "vocab")


@pytest.mark.parametrize("topic", TOPICS)
def test_every_name_of_a_topic_is_in_the_reference(topic: str) -> None:
    """docs/reference mentions what the public topic modules offer, too."""
    words = reference_words()
    assert [] == sorted(set(importlib.import_module(f"engram_core.{topic}").__all__) - words)


def test_the_reference_names_nothing_that_is_gone() -> None:
    """A heading of the reference that looks like a name of the door is one."""
    door = importlib.import_module("engram_core")
    headings = [
        heading
        for page in REFERENCE
        for heading in re.findall(r"^#{2} `(\w+)\b.*`", page.read_text("utf-8"), re.MULTILINE)
    ]
    assert [] == [heading for heading in headings if not hasattr(door, heading)]


def test_a_missing_name_is_seen() -> None:
    """The reading of modules sees definitions, aliases and constants, and no imports or type variables."""
    source = """
from attrs import frozen
T = TypeVar("T")
Alias: TypeAlias = int
LEGAL, _private = {}, 1
__all__ = ["f"]
def f(): "It does."
class C:
    def undocumented(self): ...
"""
    tree = ast.parse(source)
    assert {"Alias", "LEGAL", "f", "C"} == {name for name in defined(tree) if not name.startswith("_")}
    assert ["f"] == declared(tree)
    assert [] == list(documented(tree, {"f"}, "engram_core.errors"))
