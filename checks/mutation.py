"""Mutation testing of floors 0 to 3: small faults are put into the code, and the tests must notice.

    python -m checks.mutation --sample 400 --seed 1      # so many mutants, picked by chance
    python -m checks.mutation --only confidence legality # all mutants of some modules
    python -m checks.mutation --sample 50 --children 4   # in four processes at once

It works in a copy of the project, in `build/mutation/`, and needs mutmut (see the dependency group `mutation`). The
tests that a mutant is shown are those that call its function. Survivors are printed with their change; the status is 1
when fewer than 90 % of the mutants were noticed.
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
from collections.abc import Sequence

from checks.floors import ROOT, files_of

__all__ = ["main"]

WORKPLACE = ROOT / "build" / "mutation"
LEAST = 0.90

_COPIED = ("src", "tests", "docs", "examples", "README.md", "pyproject.toml")
_TESTS = (
    "memory",
    "kinds",
    "test_analysis.py",
    "test_approval.py",
    "test_audience.py",
    "test_confidence.py",
    "test_conflicts.py",
    "test_drafting.py",
    "test_errors.py",
    "test_golden_events.py",
    "test_identity.py",
    "test_legality.py",
    "test_lifecycle.py",
    "test_memory.py",
    "test_moments.py",
    "test_policy.py",
    "test_proposal.py",
    "test_retention.py",
    "test_state.py",
    "test_stems.py",
    "test_values.py",
)
_OUTCOMES = {0: "survived", 1: "killed", 3: "killed", 5: "untested", 33: "untested", 34: "skipped", 36: "timeout"}
"""What the exit code of a mutant's tests means; any other, such as that of a signal, is a crash or a timeout."""

_NOTICED = {"killed", "timeout", "crashed"}

_GENERATE = """
from mutmut.__main__ import copy_also_copy_files, copy_src_dir, create_mutants, setup_source_paths
from mutmut.mutation.trampoline import set_mutant_under_test
set_mutant_under_test("mutant_generation")
copy_src_dir()
copy_also_copy_files()
setup_source_paths()
create_mutants(1)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the mutants that were asked for; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m checks.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=400, help="how many mutants; 0 for all (400)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (1)")
    parser.add_argument("--children", type=int, default=1, help="how many processes (1)")
    parser.add_argument("--only", nargs="*", default=(), help="modules, such as kinds.fields")
    options = parser.parse_args(arguments)
    _prepare()
    subprocess.run([sys.executable, "-c", _GENERATE], cwd=WORKPLACE, check=True, stdout=subprocess.DEVNULL)
    names = sorted(_outcomes())
    if options.only:
        names = [name for name in names if _module(name) in options.only]
    if options.sample and options.sample < len(names):
        names = sorted(random.Random(options.seed).sample(names, options.sample))
    return _judge(_run(names, options.children))


def _prepare() -> None:
    """Copies the project as it stands."""
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
        "pytest_add_cli_args": ["-p", "no:cacheprovider", "--hypothesis-seed=0"],
        "pytest_add_cli_args_test_selection": [f"tests/{name}" for name in _TESTS],
        "also_copy": ["README.md", "docs", "examples"],
    }
    lines = [f"{name} =\n    " + "\n    ".join(values) for name, values in settings.items()]
    (WORKPLACE / "setup.cfg").write_text("[mutmut]\n" + "\n".join(lines) + "\n", "utf-8")


def _outcomes() -> dict[str, int | None]:
    """The exit code of each mutant's tests, None where they have not run."""
    found: dict[str, int | None] = {}
    for path in sorted((WORKPLACE / "mutants").rglob("*.py.meta")):
        found.update(json.loads(path.read_text("utf-8"))["exit_code_by_key"])
    return found


def _run(names: Sequence[str], children: int) -> dict[str, str]:
    """What became of the named mutants."""
    print(f"{len(names)} mutants", flush=True)
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(children), *names]
    with (WORKPLACE / "run.txt").open("w", encoding="utf-8") as log:
        subprocess.run(command, cwd=WORKPLACE, check=True, stdout=log, stderr=log, env={**os.environ, "CI": "1"})
    codes = _outcomes()
    return {name: _outcome(codes[name]) for name in names}


def _outcome(code: int | None) -> str:
    return "not run" if code is None else _OUTCOMES.get(code, "crashed")


def _judge(outcomes: dict[str, str]) -> int:
    """Prints rates by module and the changes that nobody noticed."""
    noticed = Counter(
        _module(name) for name, outcome in outcomes.items() if outcome in {"killed", "timeout", "crashed"}
    )
    every = Counter(map(_module, outcomes))
    for name, outcome in outcomes.items():
        if outcome in {"survived", "untested", "not run"}:
            print(f"\n{name}: {outcome}\n{_change(name)}")
    print(f"\n{'module':<24} noticed  of")
    for module, count in sorted(every.items()):
        print(f"{module:<24} {noticed[module]:>7} {count:>3}")
    share = sum(noticed.values()) / max(1, len(outcomes))
    print(f"\n{dict(Counter(outcomes.values()))}: {share:.1%} noticed")
    return 0 if share >= LEAST else 1


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
