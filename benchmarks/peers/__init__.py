"""Other libraries at the same work, each in an environment of its own and in a process of its own.

Nothing of them is installed beside the library. An environment is made at the first run and kept; what cannot be
installed or does not run is told, and left out. All write to files at `synchronous=NORMAL`, and get the same texts and
the same questions. They do less: none keeps a log with a hash chain, LangGraph's store has no text index, mem0 gets
hashes in the place of vectors, and engrama is asked for words without its vectors.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import evolve, frozen

from benchmarks.measuring import Row
from benchmarks.world import World

__all__ = ["PEERS", "Peer", "beside_peers", "measured"]

_HERE = Path(__file__).parent
_KEPT = Path(tempfile.gettempdir()) / "engram-peers"
_MOST = 20_000  # memories that a peer is filled with; some take a millisecond and more for each


@frozen
class Peer:
    """One of the others.

    Attributes:
        name: Its name in the package registry.
        program: What measures it, beside this file.
    """

    name: str
    program: str


PEERS = (
    Peer("eventsourcing", "event_library.py"),
    Peer("engrama", "graph_memory.py"),
    Peer("langgraph-checkpoint-sqlite", "key_value_store.py"),
    Peer("mem0ai", "vector_memory.py"),
)

# What our rows and the figures of a peer's program call the same.
_SAME = {
    "append 1 event": "append 1",
    "append 10 events": "append 10",
    "remember one": "add one",
    "remember_many, of 1,000": "add many",
    "get": "get",
    "recall, p50 (floor: the same ranking by hand)": "search p50",
    "recall, p99 (floor: the same ranking by hand)": "search p99",
    "load a memory of 10 events": "load 10",
    "load a memory of 100 events": "load 100",
    "load a memory of 1,000 events": "load 1,000",
    "read the log as typed events": "read log",
    "import engram_core": "import",
}


def measured(world: World, say: Callable[[str], object]) -> dict[str, dict[str, float]]:
    """The figures of each peer that can be had, in µs of CPU, by name and operation."""
    given = world.folder / "peers.json"
    texts = list(world.texts[:_MOST])
    asked = {"texts": texts, "spare": world.take(400), "questions": list(world.questions[:100])}
    given.write_text(json.dumps(asked), encoding="utf-8")
    found: dict[str, dict[str, float]] = {}
    for peer in PEERS:
        python = _environment(peer)
        if python is None:
            say(f"    {peer.name} could not be installed")
            continue
        place = world.folder / peer.name
        place.mkdir()
        command = [str(python), str(_HERE / peer.program), str(given), str(place)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            say(f"    {peer.name} does not run: {done.stderr.strip().splitlines()[-1:]}")
            continue
        found[peer.name] = json.loads(done.stdout.strip().splitlines()[-1])
        say(f"    {peer.name}: {found[peer.name]}")
    return found


def _environment(peer: Peer) -> Path | None:
    """The interpreter of a peer's own environment; None when it cannot be made."""
    folder = _KEPT / peer.name
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    known = subprocess.run([str(python), "-m", "pip", "show", "-q", peer.name], capture_output=True, check=False)
    if known.returncode:
        install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", peer.name]
        if subprocess.run(install, stdout=sys.stderr, check=False).returncode:
            return None
    return python


def beside_peers(rows: Sequence[Row], peers: dict[str, dict[str, float]]) -> list[Row]:
    """The rows with what the peers take for the same."""
    return [
        evolve(
            row,
            peers={name: figures[_SAME[row.area]] for name, figures in peers.items() if _SAME[row.area] in figures},
        )
        if row.area in _SAME
        else row
        for row in rows
    ]
