"""Mutation testing of floors 0 to 3: small faults are put into the code, and the tests must notice.

    python -m checks.mutation --sample 400 --seed 1      # so many mutants, picked by chance
    python -m checks.mutation --only confidence legality # all mutants of some modules
    python -m checks.mutation --children 2               # in two processes at once

mutmut (see the dependency group `mutation`) makes the mutants, in a copy of the project in `build/mutation/`. There
each test runs once alone, and it is noted which functions of these floors it reaches and how long it takes; that is
kept for as long as neither these floors nor the test change. Then each mutant is shown to the tests that reach its
function, the fastest first, until one fails, or for as long as they take ten seconds together without a mutant.
What they do not notice of a function that also runs at import is shown to tests in a process that imports the library
anew. A test that noticed something must pass without a mutant, or else it has noticed nothing.

Survivors are printed with their change; the status is 1 when fewer than 90 % of the mutants were noticed.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, Final

from checks.floors import ROOT, files_of
from checks.reaching import Server, Tests, digest_of, file_of, reached, shared

__all__ = ["LEAST", "main"]

WORKPLACE: Final = ROOT / "build" / "mutation"
COPY: Final = WORKPLACE / "mutants"
KEPT: Final = ROOT / "build" / "reach.json"
LEAST: Final = 0.90

_COPIED: Final = ("src", "tests", "docs", "examples", "benchmarks", "checks", "README.md", "pyproject.toml")
_GENERATE: Final = """
from mutmut.__main__ import copy_also_copy_files, copy_src_dir, create_mutants, setup_source_paths
from mutmut.mutation.trampoline import set_mutant_under_test
set_mutant_under_test("mutant_generation")
copy_src_dir()
copy_also_copy_files()
setup_source_paths()
create_mutants(1)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Shows the mutants that were asked for; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m checks.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=400, help="how many mutants; 0 for all (400)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (1)")
    parser.add_argument(
        "--minutes", type=float, default=inf, help="show no more after so long; what was is a sample, too"
    )
    parser.add_argument("--children", type=int, default=1, help="how many processes (1)")
    parser.add_argument("--only", nargs="*", default=(), help="modules, such as kinds.fields, or mutants")
    options = parser.parse_args(arguments)
    names = _generated()
    if options.only:
        names = [name for name in names if {name, _module(name)} & {*options.only}]
    names = random.Random(options.seed).sample(names, min(options.sample or len(names), len(names)))
    servers = [Server(COPY) for _ in range(options.children)]
    if any(server.hello["errors"] for server in servers):
        print("not all tests can be collected without a mutant", file=sys.stderr)
        return 2
    tests = Tests(reached(servers, COPY, KEPT), {*servers[0].hello["called"]})
    print(f"{len(names)} mutants, {len(tests.shown)} tests", flush=True)
    outcomes = _outcomes(servers, names, tests, options.minutes)
    return _judge(outcomes)


# -- the copy ---------------------------------------------------------------------------------------


def _generated() -> list[str]:
    """Copies the project as it stands, makes the mutants unless the code is the same, and gives their names."""
    made = digest_of([ROOT / "src", ROOT / "docs" / "reading-order.md"])
    stamp = WORKPLACE / "made.txt"
    if not stamp.exists() or stamp.read_text("utf-8") != made:
        shutil.rmtree(WORKPLACE, ignore_errors=True)
        WORKPLACE.mkdir(parents=True)
        _copy(_COPIED, WORKPLACE)
        settings = {
            "source_paths": ["src"],
            "only_mutate": [path.as_posix() for path in files_of(range(4))],
            "also_copy": ["README.md", "docs", "examples", "checks"],
        }
        lines = [f"{name} =\n    " + "\n    ".join(values) for name, values in settings.items()]
        (WORKPLACE / "setup.cfg").write_text("[mutmut]\n" + "\n".join(lines) + "\n", "utf-8")
        subprocess.run([sys.executable, "-c", _GENERATE], cwd=WORKPLACE, check=True, stdout=subprocess.DEVNULL)
        stamp.write_text(made, "utf-8")
    _copy([name for name in _COPIED if name != "src"], COPY)
    found: set[str] = set()
    for path in COPY.rglob("*.py.meta"):
        found.update(json.loads(path.read_text("utf-8"))["exit_code_by_key"])
    return sorted(found)


def _copy(names: Iterable[str], place: Path) -> None:
    for name in names:
        source, target = ROOT / name, place / name
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)


# -- showing ----------------------------------------------------------------------------------------


def _outcomes(servers: Sequence[Server], names: Sequence[str], tests: Tests, minutes: float) -> dict[str, str]:
    """What became of each mutant; survivors are printed as they come."""

    def show(server: Server, name: str) -> tuple[str, dict[str, Any]]:
        chosen = tests.reaching(name)
        found = server.ask(name, chosen) if chosen else {"outcome": "survived"}
        if found["outcome"] == "survived" and (chosen := tests.anew(name)):
            found = _anew(name, chosen)
        return name, found

    def ask_again(server: Server, test: str) -> tuple[str, str]:
        return test, server.ask("none", [(test, tests.shown[test].seconds)])["outcome"]

    outcomes: dict[str, str] = {}
    noticed_by: dict[str, str] = {}
    for name, found in shared(servers, names, show, minutes):
        outcomes[name] = found["outcome"]
        if found["outcome"] == "survived":
            print(f"\n{name}  ({len(outcomes)} of {len(names)})\n{_change(name)}", flush=True)
        elif "by" in found:
            noticed_by[name] = found["by"]
    for test, outcome in shared(servers, sorted({*noticed_by.values()}), ask_again):
        if outcome != "survived":
            print(f"\nfails without a mutant, too: {test}", flush=True)
            outcomes.update(dict.fromkeys([name for name, by in noticed_by.items() if by == test], "survived"))
    for server in servers:
        server.close()
    return outcomes


def _anew(name: str, chosen: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Shows a mutant to tests in a process of its own, where it is switched on from the start."""
    server = Server(COPY, name, sorted({file_of(test) for test, _ in chosen}))
    try:
        there = {*server.hello.get("tests", ())}
        if server.hello["errors"] or any(test not in there for test, _ in chosen):
            return {"outcome": "killed"}  # it cannot be imported, or else tests, whose names say what they try
        return server.ask(name, chosen)
    finally:
        server.close()


# -- the account ------------------------------------------------------------------------------------


def _judge(outcomes: Mapping[str, str]) -> int:
    """Prints rates by module, and the share that was noticed with its interval of 95 %."""
    noticed = Counter(_module(name) for name, outcome in outcomes.items() if outcome != "survived")
    every = Counter(map(_module, outcomes))
    print(f"\n{'module':<24} noticed  of")
    for module, count in sorted(every.items()):
        print(f"{module:<24} {noticed[module]:>7} {count:>3}")
    count, share = len(outcomes), sum(noticed.values()) / max(1, len(outcomes))
    low, high = _interval(share, max(1, count))
    print(f"\n{dict(Counter(outcomes.values()))}: {share:.1%} noticed, 95 % interval {low:.1%} to {high:.1%}")
    return 0 if share >= LEAST else 1


def _interval(share: float, count: int) -> tuple[float, float]:
    """Wilson's interval for a share that a sample showed."""
    z = 1.96
    middle = share + z * z / (2 * count)
    spread = z * ((share * (1 - share) + z * z / (4 * count)) / count) ** 0.5
    whole = 1 + z * z / count
    return (middle - spread) / whole, (middle + spread) / whole


def _module(mutant: str) -> str:
    return mutant.removeprefix("engram_core.").rpartition(".")[0]


def _change(name: str) -> str:
    """A mutant's change as a diff."""
    shown = subprocess.run(
        [sys.executable, "-m", "mutmut", "show", name], cwd=WORKPLACE, check=False, capture_output=True, text=True
    )
    return "\n".join(line for line in shown.stdout.splitlines() if line.startswith(("-", "+", "@")))


if __name__ == "__main__":
    sys.exit(main())
