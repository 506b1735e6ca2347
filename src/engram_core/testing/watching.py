"""Notices when code that should depend on its arguments alone looks at a clock, draws lots, or leaves the process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

__all__ = ["watching"]

_CALLS: Final = frozenset(
    {
        "now", "utcnow", "today", "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns",
        "localtime", "gmtime", "urandom", "getrandbits", "random", "uuid1", "uuid4", "open", "connect", "sendall",
        "fork_exec", "system", "sleep",
    }
)  # fmt: skip

# Hypothesis measures the garbage collector, whenever that runs; a message in a log file is dated, and decides nothing.
_OTHERS: Final = frozenset({"hypothesis", "logging"})


@contextmanager
def watching() -> Iterator[list[str]]:
    """Lists the calls of clocks, sources of randomness, files and sockets within the block, as they happen."""
    seen: list[str] = []

    def called(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call" and argument.__name__ in _CALLS:
            caller = str(frame.f_globals.get("__name__"))
            if caller.partition(".")[0] not in _OTHERS:
                seen.append(f"{caller} calls {argument.__qualname__}")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        yield seen
    finally:
        sys.setprofile(before)
