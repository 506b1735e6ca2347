"""Runs code in other processes, which the tests may kill."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import engram_core.stores

SOURCE = Path(engram_core.stores.__file__).parents[2]

WRITER = """
import sys
from engram_core.errors import ConcurrencyError
from engram_core.ports import Expect
from engram_core.stores import SqliteStore
from engram_core.testing import History, appending

path, notes, who, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
history = History(notes)
store = SqliteStore(path, busy_timeout=30)
watched = history.watch(store, who)
print("ready", flush=True)
for number in range(count):
    ids = [f"{who}-{number}-{part}" for part in range(number % 3 + 1)]
    stream = f"s{number % 5}"
    expected = Expect.ANY if number % 2 else len(store.read_stream(stream))
    try:
        watched.append([appending(stream, *ids, expected=expected, text="x" * 200)])
    except ConcurrencyError:
        watched.append([appending(stream, *ids)])
    if number % 50 == 0:
        watched.head()
        watched.read(after=max(0, store.head() - 10))
store.close()
history.close()
"""
"""Appends to streams that others write too, and notes what it did."""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that runs the code; its output can be read, and a warning is an error."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.PIPE,
        text=True,
    )


def run(code: str, *arguments: object) -> str:
    """What the code prints; it must succeed."""
    process = start(code, *arguments)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    return output


def expect_line(process: subprocess.Popen[str], line: str) -> None:
    """Waits for the process to say a line."""
    assert process.stdout is not None
    assert line == process.stdout.readline().strip()
