"""One file, many writers: threads, processes, and one that dies; nothing acknowledged is lost, nothing is twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from engram_core import Fact, MemorySpace, system, user

WRITER = """
import sys
from engram_core import Fact, MemorySpace, user
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with MemorySpace.open(path, durability="normal") as space:
    session = space.session(user(name))
    for n in range(count):
        print(session.remember(Fact(f"{name} says {n}"), similar=False).memory_id, flush=True)
"""


def started(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def check_all_there(path: Path, acknowledged: list[str]) -> None:
    with MemorySpace.open(path) as space:
        ann = space.session(user("ann"), record=False)
        there = [memory.id for memory in ann.find_all()]
        assert sorted(set(there)) == sorted(there)
        assert set(acknowledged) <= set(there)
        assert list(range(1, space.position + 1)) == [event.position for event in space.events()]
        assert () == space.maintenance(system("test")).verify().problems


def test_a_thousand_writes_from_four_threads_are_there_once(tmp_path: Path) -> None:
    """Every acknowledged write is there, positions are dense, nobody is turned away."""
    path = tmp_path / "memory.db"
    acknowledged: list[str] = []
    failures: list[BaseException] = []
    with MemorySpace.open(path, durability="normal") as space:

        def write(name: str) -> None:
            session = space.session(user(name))
            try:
                for n in range(250):
                    receipt = session.remember(Fact(f"{name} says {n}"), similar=False)
                    acknowledged.append(str(receipt.memory_id))
            except BaseException as error:  # noqa: BLE001 (shown by the assertion below)
                failures.append(error)

        threads = [threading.Thread(target=write, args=(f"user{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [] == failures
    assert 1_000 == len(set(acknowledged))
    check_all_there(path, acknowledged)


def test_a_thousand_writes_from_two_processes_are_there_once(tmp_path: Path) -> None:
    """Nobody sees a locked database."""
    path = tmp_path / "memory.db"
    MemorySpace.open(path).close()
    processes = [started(path, name, 500) for name in ("ann", "bob")]
    outputs = [process.communicate() for process in processes]
    assert ["", ""] == [errors for _, errors in outputs]
    acknowledged = [line for out, _ in outputs for line in out.split()]
    assert 1_000 == len(set(acknowledged))
    check_all_there(path, acknowledged)


def test_what_a_killed_process_acknowledged_is_there(tmp_path: Path) -> None:
    """After kill -9 in the middle of a run the read model equals a replay of the log."""
    path = tmp_path / "memory.db"
    MemorySpace.open(path).close()
    acknowledged: list[str] = []
    for turn in range(3):
        process = started(path, f"user{turn}", 100_000)
        assert process.stdout is not None
        acknowledged += [process.stdout.readline().strip() for _ in range(40 + turn * 17)]
        process.send_signal(signal.SIGKILL)
        acknowledged += process.communicate()[0].split("\n")[:-1]
    check_all_there(path, [id for id in acknowledged if len(id) == 36])


def test_two_racing_identical_adds_give_one_memory(tmp_path: Path) -> None:
    """The duplicate is found under the write lock."""
    path = tmp_path / "memory.db"
    MemorySpace.open(path).close()
    processes = [started(path, "same", 100) for _ in range(2)]
    outputs = [process.communicate()[0].split() for process in processes]
    assert outputs[0] == outputs[1]
    check_all_there(path, outputs[0])
