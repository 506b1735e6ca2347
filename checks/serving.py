"""Shows mutants to tests; runs inside the copy of the project that `checks.mutation` made.

A server collects tests once. Then each request forks it: the child has one mutant switched on, runs the tests it was
given, and stops at the first that fails. Requests come and answers go as lines of JSON; the first answer says which
tests there are, and which functions were called before any of them ran.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from time import perf_counter
from typing import Any, TextIO

import cattrs  # noqa: F401 -- so that no child needs to import it
import hypothesis.strategies  # noqa: F401
import numpy as np  # noqa: F401
import pytest
from hypothesis import HealthCheck, Phase, settings

__all__ = ["Server", "main"]

trampoline: Any = import_module("mutmut.mutation.trampoline")  # what every mutated function goes through

_BYTES = 3 * 2**30
_COLLECTING = 200.0


class Server:
    """A plug-in that takes the place of pytest's loop over the tests."""

    def __init__(self, requests: TextIO, answers: TextIO) -> None:
        self._requests = requests
        self._answers = answers
        self._called: set[str] = set()
        self._failed = False
        self._pid = os.getpid()
        self._folder = Path(mkdtemp(prefix="answers-", dir=Path.cwd()))
        trampoline.record_trampoline_hit = lambda name, **_: self._called.add(name)

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes a failure in any phase of a test."""
        self._failed |= report.failed

    @pytest.hookimpl
    def pytest_internalerror(self, excrepr: object) -> None:
        """Says why the server ends, if it is the server that fails and not a test."""
        if os.getpid() == self._pid:
            self._answer({"error": str(excrepr)})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answers requests until there are no more."""
        items = {item.nodeid: item for item in session.items}
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._answer({"tests": list(items), "called": sorted(self._called), "errors": session.testsfailed})
        gc.collect()
        gc.freeze()
        for number, line in enumerate(self._requests):
            request = json.loads(line)
            tests = [(items[name], seconds) for name, seconds in request["tests"]]
            result = self._folder / f"{number}.json"
            pid = os.fork()
            if pid == 0:
                self._child(request["mutant"], tests, result)
            _, status = os.waitpid(pid, 0)
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            if os.WIFSIGNALED(status):
                self._answer({"outcome": "timeout" if os.WTERMSIG(status) in _ALARMS else "died"})
            else:
                self._answer(json.loads(result.read_text("utf-8")) if result.exists() else {"outcome": "died"})
        return True

    def _answer(self, found: Mapping[str, Any]) -> None:
        self._answers.write(json.dumps(found) + "\n")
        self._answers.flush()

    def _child(self, mutant: str, tests: Sequence[tuple[pytest.Item, float]], result: Path) -> None:
        os.setsid()
        trampoline.set_mutant_under_test(mutant)
        self._called.clear()
        start, by = perf_counter(), ""
        try:
            for (item, seconds), following in zip(tests, [*tests[1:], None], strict=True):
                by = item.nodeid
                signal.setitimer(signal.ITIMER_PROF, 5 * seconds + 3)
                signal.setitimer(signal.ITIMER_REAL, 30 * seconds + 60)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following and following[0])
                if self._failed:
                    break
            found = {
                "outcome": "killed" if self._failed else "survived",
                "by": by,
                "seconds": perf_counter() - start,
                "called": sorted(self._called),
            }
            draft = result.with_suffix(f".{os.getpid()}")  # a test may have forked, and its child come here, too
            draft.write_text(json.dumps(found), "utf-8")
            draft.rename(result)
        finally:
            os._exit(0)


_ALARMS = (signal.SIGPROF, signal.SIGALRM)


def main(arguments: Sequence[str]) -> int:
    """Serves; what is given are a mutant that is switched on from the start, or statistics, and paths of tests."""
    mutant, *paths = arguments
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    with open(os.devnull, "r+b") as nothing:  # noqa: PTH123
        for descriptor in range(3):
            os.dup2(nothing.fileno(), descriptor)
    # A mutant may do harm while tests are collected, too; the children inherit the one limit, and not the other.
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    signal.setitimer(signal.ITIMER_PROF, _COLLECTING)
    trampoline.set_mutant_under_test(mutant)
    settings.register_profile(
        "mutation",
        deadline=None,
        database=None,
        derandomize=True,
        max_examples=40,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    options = [
        "-q",
        "-s",
        "--tb=no",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:faulthandler",
        "--hypothesis-profile=mutation",
    ]
    options += ["--continue-on-collection-errors", f"--basetemp=scratch-{os.getpid()}"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*options, *paths], plugins=[Server(requests, answers)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
