"""Which test reaches which function, and the processes that are asked; see `checks.mutation`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, Final, TypeVar

from attrs import frozen

from checks.floors import files_of

__all__ = ["BUDGET", "Reach", "Server", "Tests", "digest_of", "file_of", "reached", "shared"]

T = TypeVar("T")

BUDGET: Final = 10.0
"""Seconds of tests that a mutant is shown to, as they take without it."""

_ELSEWHERE: Final = (
    "contracts/",
    "examples/",
    "projections/",
    "stores/",
    "testing/",
    "machines/test_noninterference.py",
    "test_aio.py",
    "test_docs.py",
    "test_driver_errors.py",
    "test_examples.py",
    "test_faults.py",
    "test_import_cost.py",
    "test_import_law.py",
    "test_tampering.py",
    "test_wrong_arguments.py",
)
"""Tests of the floors above, and of other things: they take long, and come to these floors by chance."""

_LONGEST: Final = 15.0
_FILES_ANEW: Final = 3


class Server:
    """A process that has collected tests; see `checks.serving`.

    Args:
        copy: Of the project, with mutants in it.
        mutant: Switched on before anything is imported; else it is noted what is called by then.
        files: Whose tests are collected; without any, those of all but `_ELSEWHERE`.
    """

    def __init__(self, copy: Path, mutant: str = "stats", files: Sequence[str] = ()) -> None:
        paths = files or ["tests", *(f"--ignore=tests/{place.rstrip('/')}" for place in _ELSEWHERE)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "checks.serving", mutant, *paths],
            cwd=copy,
            env={**os.environ, "PYTHONHASHSEED": "0"},  # so that tests have the same names in each process
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    @cached_property
    def hello(self) -> dict[str, Any]:
        """Which tests there are, which functions were called by then, and how many files could not be collected."""
        return self._answer() or {"errors": 1}

    def ask(self, mutant: str, tests: Sequence[tuple[str, float]]) -> dict[str, Any]:
        """Shows a mutant to tests, each given with its usual time."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"mutant": mutant, "tests": tests}) + "\n")
        self._process.stdin.flush()
        found = self._answer()
        if "outcome" not in found:
            raise RuntimeError(f"the server ended where {mutant} was shown: {found.get('error', self._process.wait())}")
        return found

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline() or "{}")
        return found


def shared(
    servers: Sequence[Server], names: Sequence[str], do: Callable[[Server, str], T], minutes: float = inf
) -> Iterator[T]:
    """What `do` gives for each name that there is time for, asked of whichever server is free.

    Args:
        servers: Those that are asked, each by a thread.
        names: Of what; the order is kept as far as several servers can.
        do: Asks a server about a name.
        minutes: None is begun after so long.
    """
    queue: SimpleQueue[str] = SimpleQueue()
    for name in names:
        queue.put(name)
    done: SimpleQueue[T | BaseException | None] = SimpleQueue()
    end = monotonic() + 60 * minutes

    def work(server: Server) -> None:
        try:
            with suppress(Empty):
                while monotonic() < end:
                    done.put(do(server, queue.get_nowait()))
            done.put(None)
        except BaseException as error:
            done.put(error)
            raise

    for server in servers:
        Thread(target=work, args=(server,), daemon=True).start()
    working = len(servers)
    while working:
        found = done.get()
        if isinstance(found, BaseException):
            raise found
        if found is None:
            working -= 1
        else:
            yield found


@frozen
class Reach:
    """What a test does without a mutant.

    Attributes:
        seconds: How long it takes.
        called: The functions of these floors that it calls, as mutmut names them.
        passed: False where the copy itself makes it fail, as it does with tests that read the source.
    """

    seconds: float
    called: frozenset[str]
    passed: bool


def reached(servers: Sequence[Server], copy: Path, kept: Path) -> dict[str, Reach]:
    """What each test reaches; those of files that did not change are known from the last time.

    Args:
        servers: To ask.
        copy: Where they run; the unchanged code is in the folder above.
        kept: A file for what was found.
    """
    files = sorted({file_of(name) for name in servers[0].hello["tests"]})
    lower = [copy.parent / path for path in files_of(range(4))]
    digests = {file: digest_of([*lower, *_with_helpers(copy / file, copy / "tests")]) for file in files}
    known: dict[str, dict[str, Any]] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    reach: dict[str, dict[str, Any]] = {
        file: known[file] if known.get(file, {}).get("digest") == digest else {"digest": digest, "tests": {}}
        for file, digest in digests.items()
    }
    wanted = [name for name in servers[0].hello["tests"] if name not in reach[file_of(name)]["tests"]]
    print(f"{len(wanted)} tests to be looked at", flush=True)

    def look(server: Server, name: str) -> tuple[str, dict[str, Any]]:
        return name, server.ask("stats", [(name, _LONGEST / 5)])

    try:
        for name, found in shared(servers, wanted, look):
            passed = found["outcome"] == "survived"
            reach[file_of(name)]["tests"][name] = [found.get("seconds", _LONGEST), found.get("called", []), passed]
    finally:
        kept.write_text(json.dumps(reach), "utf-8")
    return {
        name: Reach(seconds, frozenset(called), passed)
        for name in servers[0].hello["tests"]
        for seconds, called, passed in [reach[file_of(name)]["tests"][name]]
    }


def _with_helpers(test: Path, tests: Path) -> list[Path]:
    """A file of tests and those of its helpers, which it names as `tests.…`, directly or by another."""
    found: list[Path] = []
    wanted = [test]
    while wanted:
        path = wanted.pop()
        if path not in found and path.exists():
            found.append(path)
            named = re.findall(r"\btests(?:\.\w+)+|(?<=from tests import )\w+", path.read_text("utf-8"))
            places = (tests / Path(*name.split(".")[name.startswith("tests.") :]) for name in named)
            wanted += [place.with_suffix(".py") for place in places]
    return found


class Tests:
    """The tests, as mutants are shown to them.

    Args:
        reach: What each of them reaches.
        before: The functions that are called before any test runs, at import.
    """

    def __init__(self, reach: Mapping[str, Reach], before: set[str]) -> None:
        self.shown = {name: r for name, r in reach.items() if r.passed and r.seconds < _LONGEST}
        self._before = before
        self._of: dict[str, list[str]] = {}
        for name, r in sorted(self.shown.items(), key=lambda item: item[1].seconds):
            for function in r.called:
                self._of.setdefault(function, []).append(name)
        left_out = Counter(name.partition("[")[0] for name in reach.keys() - self.shown.keys())
        for name, count in sorted(left_out.items()):
            print(f"not shown, since it fails or takes long without a mutant: {name} ({count})")

    def reaching(self, mutant: str) -> list[tuple[str, float]]:
        """The tests that reach a mutant's function, the fastest first, as far as the budget goes."""
        return self._within_budget(self._of.get(_function(mutant), ()))

    def anew(self, mutant: str) -> list[tuple[str, float]]:
        """Tests of the files that are most about a mutant's module, if its function is called at import."""
        if _function(mutant) not in self._before:
            return []
        module = _function(mutant).rpartition(".")[0] + "."
        about: Counter[str] = Counter()
        every: Counter[str] = Counter()
        for name, r in self.shown.items():
            about[file_of(name)] += sum(function.startswith(module) for function in r.called)
            every[file_of(name)] += len(r.called)
        files = sorted((file for file in about if about[file]), key=lambda file: -about[file] / every[file])
        chosen = {*files[:_FILES_ANEW]}
        first = {*self._of.get(_function(mutant), ())}
        names = sorted(
            (name for name in self.shown if file_of(name) in chosen),
            key=lambda name: (name not in first, self.shown[name].seconds),
        )
        return self._within_budget(names)

    def _within_budget(self, names: Iterable[str]) -> list[tuple[str, float]]:
        chosen = [(name, self.shown[name].seconds) for name in names]
        spent = accumulate(seconds for _, seconds in chosen)
        return [test for test, so_far in zip(chosen, spent, strict=True) if so_far <= BUDGET]


def digest_of(places: Iterable[Path]) -> str:
    """A digest of Python files, and of those in folders."""
    found = sha256()
    for place in places:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else (place,):
            found.update(path.read_bytes())
    return found.hexdigest()


def file_of(test: str) -> str:
    """The file of a test, by the test's name."""
    return test.partition("::")[0]


def _function(mutant: str) -> str:
    return re.sub(r"__mutmut_\d+$", "", mutant)
