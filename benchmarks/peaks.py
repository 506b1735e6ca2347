"""How much memory an operation over a whole space holds: each in a process of its own, on a copy of the file.

python -m benchmarks.peaks PATH OPERATION    # prints the peak in KiB, and the seconds that it took
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measuring import Row
from benchmarks.world import World
from engram_core import MemorySpace, system, user

__all__ = ["peaks"]

_GATE = 200.0


def _export(space: MemorySpace) -> None:
    """Every memory and every event, written out as they come."""
    session = space.session(user("bench"), record=False)
    with Path(os.devnull).open("w", encoding="utf-8") as out:
        out.writelines(
            json.dumps([memory.id, memory.kind, memory.content, memory.tags]) + "\n" for memory in session.find_all()
        )
        out.writelines(f"{event.position} {event.type} {event.stream}\n" for event in space.events())


def _backup(space: MemorySpace) -> None:
    target = Path(space._engine.store.path).with_name("backup.db")  # type: ignore[attr-defined]
    space.maintenance(system("bench")).backup(target)
    target.unlink()


_OPERATIONS: dict[str, Callable[[MemorySpace], object]] = {
    "rebuild": lambda space: space.maintenance(system("bench")).rebuild(),
    "verify": lambda space: space.maintenance(system("bench")).verify(),
    "export": _export,
    "backup": _backup,
    "pruning": lambda space: space.maintenance(system("bench")).propose_pruning(),
    "merges": lambda space: space.maintenance(system("bench")).propose_merges(),
    "contradictions": lambda space: space.maintenance(system("bench")).detect_contradictions(),
    "report": lambda space: space.maintenance(system("bench")).report(),
}


def peaks(world: World) -> Iterator[Row]:
    """The most that each of these holds; the gate is 200 MiB at 100,000 memories."""
    for name in _OPERATIONS:
        path = world.copy("peak.db")
        command = [sys.executable, "-m", "benchmarks.peaks", str(path), name]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        kibibytes, seconds = done.stdout.split()
        area = f"peak memory: {name} (floor: {_GATE:g} MiB)"
        yield Row(
            area=area, floor=_GATE, ours=int(kibibytes) / 1024, gate=1, unit="MiB", note=f"{float(seconds):.1f} s"
        )


def _peak() -> int:
    """The most that this process has held so far, in KiB; the parent's memory is not counted, as getrusage would."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise OSError("this system tells no peak")


def main(path: str, operation: str) -> None:
    """Does one thing and tells what it held."""
    started = time.perf_counter()
    with MemorySpace.open(path, durability="normal") as space:
        _OPERATIONS[operation](space)
    print(_peak(), time.perf_counter() - started)


if __name__ == "__main__":
    main(*sys.argv[1:])
