"""A space as plain dicts and lists, written from the text of the model alone: what the library must agree with.

Nothing here is fast, and nothing looks at the library's rules: the only things taken from it are the values that
callers hand in. Where more than one rule is broken, `Refused` names every error that may come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from tests.machines.naive_kinds import DECAY

GROUPS: dict[str, tuple[str, ...]] = {
    "text": ("title", "content"),
    "attributes": ("attributes",),
    "tags": ("tags",),
    "edges": ("links", "resolved", "distinct"),
    "confidence": ("confidence", "confirmed_at", "confirmed_by", "disputes", "user_confirmed", "disputed", "doubted"),
    "evidence": ("evidence",),
    "importance": ("pinned", "user_weight"),
    "lifecycle": ("stored", "because", "superseded", "merged_into"),
    "visibility": ("visibility",),
    "lifetime": ("lifetime",),
    "validity": ("validity",),
}
GONE = ("deleted", "withdrawn", "erased")
EPHEMERAL_DAYS = {"event": 2, "person": 14, "organization": 14, "location": 14}

Mem = dict[str, Any]


class Refused(Exception):
    """The rules say no; `names` are the classes of which one must be raised."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.names = set(names)


def visibility_of(value: Any) -> tuple[str, frozenset[str]]:
    return value.kind.value, frozenset(str(actor) for actor in value.actors)


def includes(wider: Any, narrower: Any) -> bool:
    """Whoever may see the narrower may see the wider."""
    if wider[0] == "shared":
        return True
    return bool(narrower[0] == "private" or (narrower[0] == "restricted" and narrower[1] <= wider[1]))


def expiry(m: Mem) -> datetime | None:
    """When its lifetime ends; an effective permanence (a pin, too) has no end."""
    kind, at = m["lifetime"]
    if m["pinned"] or kind in ("permanent", "standard"):
        return None
    if kind == "until":
        assert at is None or isinstance(at, datetime)
        return at
    start: datetime = max(m["created_at"], m["confirmed_at"] or m["created_at"])
    return start + timedelta(days=EPHEMERAL_DAYS.get(m["kind"], 7))


class NaiveBase:
    """Memories as dicts, batches as records of what they touched."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.memories: dict[str, Mem] = {}
        self.batches: list[dict[str, Any]] = []
        self.in_effect: set[int] = set()
        self.actor = "user:ann"
        self._ticks = count(1)
        self._touched: dict[str, set[str]] = {}
        self._began: set[str] = set()
        self._names: dict[str, str] = {}

    # -- running ----------------------------------------------------------------------------------------

    def run(self, actor: str, steps: Sequence[tuple[str, tuple[Any, ...], dict[str, Any]]]) -> list[tuple[str, str]]:
        """Some verbs as one batch: all of them, or nothing."""
        self.actor = actor
        saved = deepcopy(self.memories)
        self._touched, self._began, self._names = {}, set(), {}
        try:
            answers = [getattr(self, verb)(*args, **options) for verb, args, options in steps]
            if any("visibility" in groups and self._meets(id) for id, groups in self._touched.items()):
                raise Refused("ConflictError")
        except Refused:
            self.memories = saved
            raise
        if self._touched:
            batch = {"touched": self._touched, "began": self._began, "before": saved, "then": set(self.in_effect)}
            self.batches.append({**batch, "undone": False, "turns": None, "seq": next(self._ticks)})
            self.in_effect.add(len(self.batches) - 1)
        return answers

    def _meets(self, id: str) -> bool:
        """Another memory that is there bears one of its external ids in the same audience."""
        m = self.memories[id]
        return m["stored"] not in GONE and any(
            other["id"] != id
            and other["stored"] not in GONE
            and other["visibility"] == m["visibility"]
            and set(other["externals"]) & set(m["externals"])
            for other in self.memories.values()
        )

    def _find(self, id: str) -> Mem:
        found = self.memories.get(self._names.get(id, id))
        if found is None:
            raise Refused("NotFoundError")
        return found

    def _touch(self, m: Mem, *groups: str, at: datetime | None = None) -> tuple[str, str]:
        self._touched.setdefault(m["id"], set()).update(groups)
        m["updated_at"] = max(m["updated_at"], at or self.now())
        return "changed", m["id"]

    def _legal(self, m: Mem, *stored: str) -> set[str]:
        return set() if m["stored"] in (stored or ("active", "archived")) else {"IllegalTransitionError"}

    @staticmethod
    def _end(no: Iterable[str]) -> None:
        if no:
            raise Refused(*no)

    def sees(self, viewer: str, m: Mem) -> bool:
        """Users see everything, others what is shared or lists them."""
        return viewer.startswith(("user:", "system:")) or m["visibility"][0] == "shared" or viewer in m["visibility"][1]

    def shows(self, viewer: str, id: str) -> bool:
        """There for a viewer: neither hidden nor gone."""
        m = self.memories.get(id)
        return m is not None and m["stored"] not in GONE and self.sees(viewer, m)

    def effective(self, m: Mem) -> float:
        """Confidence as it has faded by now."""
        since = m["confirmed_at"] or m["created_at"]
        days = max(0.0, (self.now() - since) / timedelta(days=1))
        faded: float = m["confidence"] * 2.0 ** (-days / DECAY[m["kind"]][0])
        return faded

    def status(self, m: Mem, viewer: str) -> str:
        """The strongest of deleted > withdrawn > archived > superseded > expired > stale > active."""
        if m["stored"] != "active":
            return str(m["stored"])
        if any(at <= self.now() and self.shows(viewer, by) for by, at in m["superseded"]):
            return "superseded"
        end = expiry(m)
        if end is not None and self.now() >= end:
            return "expired"
        return "stale" if self.effective(m) < DECAY[m["kind"]][1] else "active"

    def place(self, id: str) -> str:
        """Where a memory lives on after merges."""
        seen = {id}
        while (into := self.memories[id]["merged_into"]) is not None and into not in seen:
            id = into
            seen.add(id)
        return id

    def leads(self, start: str, goal: str, relation: str) -> bool:
        """Following a relation from one place reaches another."""
        seen, todo = set(), [start, self.place(start)]
        while todo:
            at = todo.pop()
            if at == goal:
                return True
            if at not in seen and at in self.memories:
                seen.add(at)
                todo += [self.place(t) for r, t in self.memories[at]["links"] if r == relation]
        return False
