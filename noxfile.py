"""Every check of the project, one session each; what a session runs is also a command one can type.

`python -m nox -s tests` runs on each Python named in the classifiers that this machine has.
"""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["tests", "types", "lint"]
nox.options.default_venv_backend = "virtualenv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False
nox.options.reuse_venv = "yes"

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)


def prepare(session: nox.Session, *groups: str) -> None:
    """Installs the package, editable, and what the named dependency groups list."""
    session.install("-e", ".", *(nox.project.dependency_groups(PROJECT, *groups) if groups else ()))


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """All tests but the slow ones, and every code block of README and docs."""
    prepare(session, "test")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """The soaks: long histories, large inputs, many processes."""
    prepare(session, "test")
    session.run("python", "-m", "pytest", "-m", "slow", *session.posargs)


@nox.session
def types(session: nox.Session) -> None:
    """Strict types of the library, its examples and this file."""
    prepare(session, "types")
    session.run("python", "-m", "mypy", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """The linter."""
    session.install(*nox.project.dependency_groups(PROJECT, "lint"))
    session.run("ruff", "check", *(session.posargs or ["."]))


@nox.session
def docs(session: nox.Session) -> None:
    """Code blocks run, links resolve, every public name is documented."""
    prepare(session, "test")
    session.run("python", "-m", "pytest", "README.md", "docs", "tests/test_docs.py", "tests/test_api.py")


@nox.session
def examples(session: nox.Session) -> None:
    """Each example asserts its own claims."""
    prepare(session, "test")
    session.run("python", "-m", "pytest", "tests/test_examples.py", "tests/examples", *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """A git history becomes a memory that answers questions; by default this clone's own."""
    prepare(session)
    session.run("python", "examples/git_history.py", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Branch coverage, judged by floor."""
    prepare(session, "test")
    session.run("python", "-m", "checks.coverage", *session.posargs)


@nox.session
def mutation(session: nox.Session) -> None:
    """Small faults in floors 0 to 3, which the tests must notice; takes --sample, --seed, --minutes and --only."""
    prepare(session, "mutation")
    session.run("python", "-m", "checks.mutation", *session.posargs)


@nox.session
def peers(session: nox.Session) -> None:
    """Another library's cases for event stores, run against ours."""
    prepare(session, "peers")
    session.run("python", "-m", "pytest", "peers", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """What each operation costs here, beside hand-written SQLite in the same run."""
    prepare(session, "test")
    session.run("python", "-m", "benchmarks", *session.posargs)
