"""What a process costs that has just begun."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

from benchmarks.measuring import ROUNDS, Cost, Row, beside
from benchmarks.world import World

__all__ = ["importing"]

# The gate names cattrs, which the library once needed; where it is not installed, the floor is without it.
_PARTS = "import attrs, uuid6, sqlite3" + (", cattrs" if find_spec("cattrs") else "")
_LIBRARY = "import engram_core"
_EVERYTHING = "from engram_core import *"
_FIRST = """
import sys
from engram_core import Fact, MemorySpace, user
with MemorySpace.open(sys.argv[1]) as space:
    space.session(user("ann")).remember(Fact("Alice moved to Oslo"))
"""


def importing(world: World) -> Iterator[Row]:
    """A cold process that imports the library, or goes on to a first memory in a new file, against its parts alone."""
    # What is imported is compiled once, as it is where it was installed, and the compiled files are kept.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(world.folder / "compiled")
    programs = ("pass", _PARTS, _LIBRARY, _EVERYTHING, _FIRST)
    taken: list[list[Cost]] = [[] for _ in programs]
    for turn in range(ROUNDS + 1):
        for place, program in enumerate(programs):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            path = world.folder / f"cold-{turn}-{place}.db"
            subprocess.run([sys.executable, "-c", program, str(path)], check=True, env=environment)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if turn:
                taken[place].append(Cost(used * 1e6, used * 1e6))
    bare, parts, library, everything, first = (
        Cost(statistics.median(cost.cpu for cost in costs), statistics.median(cost.cpu for cost in costs))
        for costs in taken
    )
    note = f"an interpreter alone takes {bare.cpu:,.0f} µs"
    yield beside("import engram_core", parts, library, 1.0, note)
    yield beside("from engram_core import *", parts, everything)
    yield beside("cold process to a first memory", parts, first, 1.6)
