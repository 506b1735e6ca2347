"""Mutation testing of floors 0 to 3: small faults are put into the code, and the tests must notice.

    python -m checks.mutation --sample 400 --seed 1      # so many mutants, picked by chance
    python -m checks.mutation --only confidence legality # all mutants of some modules
    python -m checks.mutation --children 4               # in four processes at once

mutmut (see the dependency group `mutation`) makes the mutants, in a copy of the project in `build/mutation/`. Each is
shown to the tests of its own module in a process of its own, which imports the library anew, so that what happens at
import is mutated, too; what they do not notice is shown to more tests of these floors. Survivors are printed with their
change; the status is 1 when fewer than 90 % of the mutants were noticed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread

from checks.floors import ROOT, files_of

__all__ = ["main"]

WORKPLACE = ROOT / "build" / "mutation"
LEAST = 0.90

_COPIED = ("src", "tests", "docs", "examples", "README.md", "pyproject.toml")
_OWN = {
    "commands": ["test_wire.py", "test_approval.py"],
    "decider": ["test_state.py"],
    "differing": ["test_proposal.py"],
    "events": ["test_events.py"],
    "folding": ["test_state.py"],
    "known": ["memory"],
    "receipts": ["test_memory.py"],
    "touching": ["test_state.py", "test_legality.py"],
    "vocab": ["test_values.py"],
}
_NO_TESTS = (4, 5)  # pytest's own codes for a wrong path, and for nothing collected
_WIDE = (
    "kinds",
    "memory",
    "test_drafting.py",
    "test_golden_events.py",
    "test_legality.py",
    "test_memory.py",
    "test_proposal.py",
    "test_state.py",
    "test_wire.py",
)

_GENERATE = """
from mutmut.__main__ import copy_also_copy_files, copy_src_dir, create_mutants, setup_source_paths
from mutmut.mutation.trampoline import set_mutant_under_test
set_mutant_under_test("mutant_generation")
copy_src_dir()
copy_also_copy_files()
setup_source_paths()
create_mutants(1)
"""

# The parent imports what every child needs, but nothing of the library.
_SERVE = """
import os, resource, sys
import attrs, cattrs, hypothesis, pytest, hypothesis.strategies
from hypothesis import HealthCheck, Phase, settings
for line in sys.stdin:
    name, *tests = line.split()
    pid = os.fork()
    if pid == 0:
        os.environ["MUTANT_UNDER_TEST"] = name
        resource.setrlimit(resource.RLIMIT_CPU, (100, 101))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        settings.register_profile(
            "mutation", deadline=None, database=None, derandomize=True, max_examples=40,
            phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
        )
        os._exit(pytest.main([
            "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutation", "--tb=no",
            "-W", "ignore::pytest.PytestAssertRewriteWarning",
            "--deselect=tests/test_policy.py::test_every_constant_is_read_from_the_policy",
            "--deselect=tests/test_events.py::test_matches_over_the_unions_are_exhaustive",
            *tests,
        ]))
    _, status = os.waitpid(pid, 0)
    print(os.waitstatus_to_exitcode(status), file=sys.__stdout__, flush=True)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the mutants that were asked for; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m checks.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=400, help="how many mutants; 0 for all (400)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (1)")
    parser.add_argument("--children", type=int, default=1, help="how many processes (1)")
    parser.add_argument("--only", nargs="*", default=(), help="modules, such as kinds.fields")
    options = parser.parse_args(arguments)
    names = _generated()
    if options.only:
        names = [name for name in names if _module(name) in options.only]
    if options.sample and options.sample < len(names):
        names = sorted(random.Random(options.seed).sample(names, options.sample))
    print(f"{len(names)} mutants", flush=True)
    outcomes = _run([("", name) for name in ("own", "wide")], options.children, probe=True)
    if set(outcomes.values()) != {"survived"}:
        print("the tests fail without a mutant", file=sys.stderr)
        return 2
    outcomes = _run([(name, "own") for name in names], options.children)
    unnoticed = [name for name, outcome in outcomes.items() if outcome == "survived"]
    print(f"{len(unnoticed)} unnoticed by the tests of their modules", flush=True)
    outcomes |= _run([(name, "wide") for name in unnoticed], options.children)
    return _judge(outcomes)


def _generated() -> list[str]:
    """Copies the project as it stands, makes the mutants, and gives their names."""
    shutil.rmtree(WORKPLACE, ignore_errors=True)
    WORKPLACE.mkdir(parents=True)
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, WORKPLACE / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, WORKPLACE / name)
    settings = {
        "source_paths": ["src"],
        "only_mutate": [path.as_posix() for path in files_of(range(4))],
        "also_copy": ["README.md", "docs", "examples"],
    }
    lines = [f"{name} =\n    " + "\n    ".join(values) for name, values in settings.items()]
    (WORKPLACE / "setup.cfg").write_text("[mutmut]\n" + "\n".join(lines) + "\n", "utf-8")
    subprocess.run([sys.executable, "-c", _GENERATE], cwd=WORKPLACE, check=True, stdout=subprocess.DEVNULL)
    found: set[str] = set()
    for path in (WORKPLACE / "mutants").rglob("*.py.meta"):
        found.update(json.loads(path.read_text("utf-8"))["exit_code_by_key"])
    return sorted(found)


def _run(wanted: Sequence[tuple[str, str]], children: int, *, probe: bool = False) -> dict[str, str]:
    """What became of mutants that were shown to the tests of their own modules, or to more."""
    outcomes: dict[str, str] = {}
    queue: SimpleQueue[tuple[str, str]] = SimpleQueue()
    for pair in wanted:
        queue.put(pair)

    def work() -> None:
        server = _server()
        assert server.stdin is not None
        assert server.stdout is not None
        with suppress(Empty):
            while True:
                name, scope = queue.get_nowait()
                tests = _WIDE if scope == "wide" else _own("values" if probe else _module(name))
                server.stdin.write(" ".join([name or "none", *(f"tests/{test}" for test in tests)]) + "\n")
                server.stdin.flush()
                outcomes[name or scope] = _outcome(int(server.stdout.readline()))
        server.communicate()

    workers = [Thread(target=work) for _ in range(children)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return outcomes


def _server() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _SERVE],
        cwd=WORKPLACE / "mutants",
        env={**os.environ, "PYTHONPATH": "src"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _own(module: str) -> Sequence[str]:
    """The tests of a module."""
    first, _, last = module.rpartition(".")
    folder = {"kinds": "kinds", "rules": "memory"}.get(first or last)
    return [*(_OWN.get(module) or [folder or f"test_{last}.py"]), "test_rarely.py"]


def _outcome(code: int) -> str:
    if code in _NO_TESTS:
        raise RuntimeError("pytest found no tests for a mutant, which proves nothing")
    return "survived" if code == 0 else "killed" if code > 0 else "timeout"


def _judge(outcomes: dict[str, str]) -> int:
    """Prints rates by module and the changes that nobody noticed."""
    noticed = Counter(_module(name) for name, outcome in outcomes.items() if outcome != "survived")
    every = Counter(map(_module, outcomes))
    for name in _survivors(outcomes):
        print(f"\n{name}\n{_change(name)}")
    print(f"\n{'module':<24} noticed  of")
    for module, count in sorted(every.items()):
        print(f"{module:<24} {noticed[module]:>7} {count:>3}")
    share = sum(noticed.values()) / max(1, len(outcomes))
    print(f"\n{dict(Counter(outcomes.values()))}: {share:.1%} noticed")
    return 0 if share >= LEAST else 1


def _survivors(outcomes: dict[str, str]) -> Iterable[str]:
    return (name for name, outcome in sorted(outcomes.items()) if outcome == "survived")


def _module(name: str) -> str:
    return name.removeprefix("engram_core.").rpartition(".")[0]


def _change(name: str) -> str:
    """A mutant's change as a diff."""
    shown = subprocess.run(
        [sys.executable, "-m", "mutmut", "show", name], cwd=WORKPLACE, check=False, capture_output=True, text=True
    )
    return "\n".join(line for line in shown.stdout.splitlines() if line.startswith(("-", "+", "@")))


if __name__ == "__main__":
    sys.exit(main())
