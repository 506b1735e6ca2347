"""Runs the ordinary tests under branch coverage, and fails below what each floor owes.

python -m checks.coverage                # run, then judge
python -m checks.coverage --report       # judge what the last run left
python -m checks.coverage -- -x          # what follows goes to pytest
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence

from checks.floors import ROOT, files_of

__all__ = ["main"]

LOWER, UPPER = 100, 95
_KIT = "src/engram_core/testing/*"


def main(arguments: Sequence[str] | None = None) -> int:
    """Floors 0 to 4 owe all of their branches, the rest owes 95 %; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m checks.coverage", description=__doc__.partition("\n")[0])
    parser.add_argument("--report", action="store_true", help="judge what the last run left")
    parser.add_argument("pytest", nargs="*", help="further arguments of pytest")
    options = parser.parse_args(arguments)
    if not options.report:
        _run("erase")
        if _run("run", "-m", "pytest", "-q", *options.pytest):
            return 1
        _run("combine", "-q")
    lower = ",".join(map(str, files_of(range(5))))
    print(f"\nFloors 0 to 4, which owe {LOWER} %\n", flush=True)
    status = _run("report", f"--include={lower}", f"--fail-under={LOWER}")
    print(f"\nThe rest, which owes {UPPER} %\n", flush=True)
    return _run("report", f"--omit={lower},{_KIT}", f"--fail-under={UPPER}") or status


def _run(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "coverage", *arguments], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
