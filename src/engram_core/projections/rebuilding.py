"""Builds the read model anew beside the present one, in short transactions, and puts it in its place.

While it runs, others read and write the present tables. It ends in one transaction that takes in what they wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from engram_core.codec import EventCodec
from engram_core.projections import tables
from engram_core.projections.filling import fill
from engram_core.projections.host import Host
from engram_core.projections.replay import Replay
from engram_core.projections.rows import Rows

__all__ = ["Progress", "rebuild"]

Progress: TypeAlias = Callable[[int, int], None]
"""Called with what is done and what there is to do, in events."""

_EVENTS_A_TRANSACTION: Final = 2_000
_ATTEMPTS: Final = 5


def rebuild(
    host: Host, codec: EventCodec, rows: Rows, stamps: Mapping[str, Any], progress: Progress | None = None
) -> None:
    """Builds every table from the log.

    An erasure takes unfinished work away, since that may hold what was erased; it is then begun again, and at last
    done under the write lock.
    """
    for left in reversed(range(_ATTEMPTS)):
        if _Shadow(host, codec, rows, stamps, progress).build(at_once=left == 0):
            return


class _Shadow:
    """One attempt."""

    def __init__(
        self, host: Host, codec: EventCodec, rows: Rows, stamps: Mapping[str, Any], progress: Progress | None
    ) -> None:
        self._host = host
        self._rows = rows
        self._stamps = stamps
        self._progress = progress
        self._prefix = tables.new_prefix()
        self._replay = Replay(host.store, codec, rows)
        self._position = 0

    def build(self, *, at_once: bool) -> bool:
        """Builds and swaps; False if the tables vanished on the way."""
        prefix = self._prefix
        with self._host.transaction() as tx:
            tables.drop_leftovers(tx)
            tables.create_tables(tx, prefix)
            values = {**self._stamps, "position": 0}
            tx.executemany(f"INSERT INTO {prefix}meta VALUES (?, ?)", values.items())
            if at_once:
                self._fill(tx, None)
        head = self._host.store.head()
        while self._position < head:
            with self._host.transaction() as tx:
                if not tables.is_there(tx, f"{prefix}meta"):
                    return False
                self._fill(tx, _EVENTS_A_TRANSACTION)
        for statement in tables.create_indexes(self._rows.kinds, prefix):
            with self._host.transaction() as tx:
                if not tables.is_there(tx, f"{prefix}meta"):
                    return False
                tx.execute(statement)
        with self._host.transaction() as tx:
            if not tables.is_there(tx, f"{prefix}meta"):
                return False
            self._fill(tx, None)
            tables.swap(tx, prefix, self._rows.kinds)
        with self._host.transaction() as tx:
            tables.drop_leftovers(tx)
        return True

    def _fill(self, tx: Any, budget: int | None) -> None:
        self._position = fill(tx, self._replay, self._rows, self._position, prefix=self._prefix, budget=budget)
        if self._progress is not None:
            self._progress(self._position, max(self._position, self._host.store.head()))
