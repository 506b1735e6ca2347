"""Importing the package does nothing but define names, and is quick about it."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"
HEAVY = ("asyncio", "cattrs", "dateutil", "hypothesis", "numpy", "snowballstemmer", "sqlite3", "uuid6")
EFFECTS = "os.fork os.mkdir os.remove os.rename os.system shutil. socket. sqlite3. subprocess."

PROBE = """
import json, sys, threading, time
sys.path.insert(0, sys.argv[1])
effects, watched = [], True
def watch(event, args):
    if not watched:
        return
    if event == "open" and not str(args[0]).endswith((".py", ".pyc", ".so", ".pyd")):
        effects.append(f"open {args[0]}")
    elif event.startswith(tuple(sys.argv[2].split())):
        effects.append(f"{event} {args}")
import attrs
before, start = set(sys.modules), time.process_time()
sys.addaudithook(watch)
import engram_core
seconds = time.process_time() - start
watched = False
print(json.dumps({
    "modules": sorted(set(sys.modules) - before),
    "effects": effects,
    "threads": threading.active_count(),
    "seconds": seconds,
}))
"""

pytestmark = pytest.mark.skipif(
    not (SOURCE / "engram_core" / "__init__.py").is_file(), reason="the door, __init__.py, is yet to come"
)


def import_once() -> dict[str, Any]:
    """What a fresh interpreter notices when it imports the package after attrs."""
    command = [sys.executable, "-B", "-I", "-c", PROBE, str(SOURCE), EFFECTS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@cache
def imported() -> dict[str, Any]:
    """One such observation, shared by the tests."""
    return import_once()


def test_nothing_heavy_is_loaded() -> None:
    """Whoever imports the package pays for attrs; stores and converters are loaded when first used."""
    assert "engram_core" in imported()["modules"]
    assert [] == [name for name in HEAVY if name in imported()["modules"]]


@pytest.mark.parametrize(
    ("use", "absent"),
    [
        ("import engram_core", "attr sqlite3 engram_core.values"),
        ("from engram_core import MemorySpace, user", "asyncio cattrs dateutil numpy uuid6 engram_core.recall"),
        (
            "from engram_core import *; MemorySpace.in_memory().session(user('ann')).remember(Fact('x'))",
            "cattrs dateutil numpy engram_core.recall engram_core.results.accounts engram_core.reads.queue",
        ),
    ],
)
def test_a_program_pays_for_what_it_uses(use: str, absent: str) -> None:
    """The package alone loads nothing; the door no more than the first write needs; reads come with the first read."""
    loaded = "print(*({*sys.argv[2].split()} & {*sys.modules} - before))"  # what looks on may have loaded some itself
    code = f"import sys\nbefore = {{*sys.modules}}\nsys.path.insert(0, sys.argv[1])\n{use}\n{loaded}"
    command = [sys.executable, "-B", "-c", code, str(SOURCE), absent]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "" == done.stdout.strip()


def test_no_file_socket_or_process_is_opened() -> None:
    """An import reads code and nothing else."""
    assert [] == imported()["effects"]


def test_no_thread_is_started() -> None:
    """The package works in its caller's threads."""
    assert 1 == imported()["threads"]


def test_nothing_is_printed() -> None:
    """An import is silent, with all warnings shown."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import engram_core"
    command = [sys.executable, "-B", "-W", "error", "-c", code, str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def test_it_is_quick() -> None:
    """The best of three imports takes less than half a second of processor time beyond attrs."""
    assert min(import_once()["seconds"] for _ in range(3)) < 0.5
