"""The naive space: all its verbs, and undo by plain copies of what was before."""

from __future__ import annotations

from copy import deepcopy
from datetime import datetime
from typing import Any

from tests.machines.naive_base import GONE, GROUPS, Mem, Refused, expiry, includes, visibility_of
from tests.machines.naive_kinds import ACYCLIC, ENTITIES, LABELS, SYMMETRIC
from tests.machines.naive_words import Words

__all__ = ["NaiveSpace", "Refused"]

_MISSING = object()


def part(m: Mem, source: str) -> bool:
    """A merged source goes, and takes along what came through it; true when something went."""
    kept = {id: given for id, given in m["absorbed"].items() if id != source and source not in given["through"]}
    changed = len(kept) < len(m["absorbed"])
    m["absorbed"] = kept
    return changed


class NaiveSpace(Words):
    """Users' commands over memories. Every verb answers (status, memory id)."""

    # -- importance, audience, time ---------------------------------------------------------------------

    def _set(self, id: str, group: str, **values: Any) -> tuple[str, str]:
        m = self._find(id)
        self._end(self._legal(m))
        if all(m[name] == value for name, value in values.items()):
            return "unchanged", m["id"]
        m.update(values)
        return self._touch(m, group)

    def pin(self, id: str) -> tuple[str, str]:
        return self._set(id, "importance", pinned=True)

    def unpin(self, id: str) -> tuple[str, str]:
        return self._set(id, "importance", pinned=False)

    def weigh(self, id: str, weight: float | None) -> tuple[str, str]:
        m = self._find(id)
        no = self._legal(m)
        if weight is not None and not 0 <= weight <= 1:
            no.add("InvalidAttributesError")
        self._end(no)
        return self._set(id, "importance", user_weight=weight)

    def set_visibility(self, id: str, visibility: Any) -> tuple[str, str]:
        return self._set(id, "visibility", visibility=visibility_of(visibility))

    def set_lifetime(self, id: str, lifetime: Any) -> tuple[str, str]:
        return self._set(id, "lifetime", lifetime=(lifetime.kind.value, lifetime.expires_at))

    def set_validity(self, id: str, *, valid_from: Any = _MISSING, valid_to: Any = _MISSING) -> tuple[str, str]:
        m = self._find(id)
        no = self._legal(m)
        start = m["validity"][0] if valid_from is _MISSING else valid_from
        end = m["validity"][1] if valid_to is _MISSING else valid_to
        if start is not None and end is not None and end <= start:
            no.add("InvalidAttributesError")
        self._end(no)
        return self._set(id, "validity", validity=(start, end))

    # -- supersession, merging --------------------------------------------------------------------------

    def supersede(self, old: str, new: str, *, effective_at: datetime | None = None) -> tuple[str, str]:
        m = self._find(old)
        self._end(self._legal(m) | self._other_problems(m, new))
        return self._supersede(m, self.memories[new], effective_at, new)

    def merge(self, survivor: str, source: str) -> tuple[str, str]:
        m = self._find(survivor)
        no = self._legal(m, "active") | self._other_problems(m, source)
        self._end(no)
        other = self.memories[source]
        if other["merged_into"] == m["id"]:
            return "unchanged", m["id"]
        no |= self._legal(other, "active")
        if m["kind"] != other["kind"] or m["kind"] not in ENTITIES:
            no.add("ConflictError")
        if not includes(m["visibility"], other["visibility"]):
            no.add("ConflictError")
        self._end(no)

        def names(one: Mem) -> list[str]:
            (label,) = LABELS[one["kind"]]
            return [one["attributes"][label], *one["attributes"].get("aliases", ())]

        def given(aliases: list[str], tags: list[str], through: tuple[str, ...]) -> dict[str, Any]:
            return {
                "aliases": [name for name in dict.fromkeys(aliases) if name not in names(m)],
                "tags": [tag for tag in tags if tag not in m["tags"]],
                "through": through,
            }

        m["absorbed"][source] = given(names(other), other["tags"], ())
        for id, held in other["absorbed"].items():
            if held["aliases"] or held["tags"]:
                m["absorbed"][id] = given(held["aliases"], held["tags"], (source, *held["through"]))
        other.update(stored="archived", because="merged", merged_into=m["id"])
        self._touch(other, "lifecycle")
        return self._touch(m, "attributes", "tags")

    def unmerge(self, source: str) -> tuple[str, str]:
        m = self._find(source)
        if m["stored"] != "archived" or m["merged_into"] is None:
            raise Refused("IllegalTransitionError")
        at, seen = m["merged_into"], {m["id"]}
        while at is not None and at not in seen:
            seen.add(at)
            part(self.memories[at], m["id"])
            self._touch(self.memories[at], "attributes", "tags")
            at = self.memories[at]["merged_into"]
        m.update(stored="active", because=None, merged_into=None)
        return self._touch(m, "lifecycle")

    def mark_distinct(self, a: str, b: str) -> tuple[str, str]:
        m = self._find(a)
        self._end(self._legal(m) | self._other_problems(m, b))
        if b in m["distinct"] or a in self.memories[b]["distinct"]:
            return "unchanged", m["id"]
        m["distinct"].add(b)
        return self._touch(m, "edges")

    def resolve(self, a: str, b: str, *, keep: str) -> tuple[str, str]:
        m = self._find(a)
        no = self._legal(m) | self._other_problems(m, b)
        if keep not in (a, b, "both"):
            no.add("InvalidAttributesError")
        self._end(no)
        other, changed = self.memories[b], False
        last = max((one["resolved"].get(id, (None, 0))[::-1] for one, id in ((m, b), (other, a))), key=lambda x: x[0])
        begun = max(m["links"].get(("contradicts", b), 0), other["links"].get(("contradicts", a), 0))
        if last[1] != keep or last[0] <= max(begun, m["disputed"], other["disputed"]):
            m["resolved"][b] = (keep, next(self._ticks))
            self._touch(m, "edges")
            changed = True
        for side in (m, other):
            if keep not in (side["id"], "both") and side["stored"] == "active":
                side.update(stored="archived", because="wrong")
                self._touch(side, "lifecycle")
                changed = True
        return ("changed" if changed else "unchanged"), m["id"]

    # -- leaving ----------------------------------------------------------------------------------------

    def archive(self, id: str, *, because: str = "obsolete") -> tuple[str, str]:
        m = self._find(id)
        self._end(self._legal(m))
        if m["stored"] == "archived":
            return "unchanged", m["id"]
        m.update(stored="archived", because=because)
        return self._touch(m, "lifecycle")

    def restore(self, id: str, *, lifetime: Any = None) -> tuple[str, str]:
        m = self._find(id)
        self._end(self._legal(m))
        if m["merged_into"] is not None:
            raise Refused("IllegalTransitionError")
        new = m["lifetime"] if lifetime is None else (lifetime.kind.value, lifetime.expires_at)
        end, was = expiry({**m, "lifetime": new}), expiry(m)
        if m["stored"] == "active" and (was is None or self.now() < was):
            return self._set(id, "lifetime", lifetime=new)
        if end is not None and self.now() >= end:
            raise Refused("IllegalTransitionError")
        if new != m["lifetime"]:
            m["lifetime"] = new
            self._touch(m, "lifetime")
        m.update(stored="active", because=None, merged_into=None)
        return self._touch(m, "lifecycle")

    def delete(self, id: str) -> tuple[str, str]:
        m = self._find(id)
        self._end(self._legal(m))
        m.update(stored="deleted", because=None)
        return self._touch(m, "lifecycle")

    # -- undo and redo ----------------------------------------------------------------------------------

    def turn(self, number: int, *, redo: bool) -> None:
        """Takes a batch back, or puts it forward again; to undo an undo is to redo."""
        batch = self.batches[number]
        if batch["turns"] is not None:
            of, was_redo = batch["turns"]
            return self.turn(of, redo=redo is was_redo)
        no = set()
        if batch["undone"] is not redo:
            no.add("IllegalTransitionError")
        then = batch["then_undone"] if redo and batch["undone"] else batch["then"]
        differing = {n for n in then ^ self.in_effect if n != number}
        for id, groups in batch["touched"].items():
            m, began = self.memories[id], id in batch["began"]
            if (m["stored"] in GONE and not (redo and began)) or id in batch.get("deleted", ()):
                no.add("IllegalTransitionError")
            if any(groups & self.batches[n]["touched"].get(id, set()) for n in differing):
                no.add("ConflictError")
            if began and not redo and self._needed(id, batch):
                no.add("ConflictError")
        self._end(no)
        saved = deepcopy(self.memories)
        before = batch["before_undo"] if redo else batch["before"]
        for id, groups in batch["touched"].items():
            m = self.memories[id]
            if id in batch["began"] and not redo:
                m.update(stored="withdrawn", because=None, superseded=[], merged_into=None)
            else:
                restored = ["lifecycle"] if id in batch["began"] else groups
                for name in (name for group in restored for name in GROUPS[group]):
                    m[name] = deepcopy(before[id][name])
                if groups & {"attributes", "tags"} and id not in batch["began"]:
                    m["absorbed"] = deepcopy(before[id]["absorbed"])
            m["updated_at"] = max(m["updated_at"], self.now())
        began = batch["began"] if redo else ()
        fits = all(self._fits(id, saved[id]) for id in batch["touched"])
        if not fits or any(self._said_anew(self.memories[id], batch["before_undo"]) for id in began):
            self.memories = saved
            raise Refused("ConflictError")
        batch["undone"] = not redo
        if redo:
            self.in_effect.add(number)
        else:
            batch["before_undo"], batch["then_undone"] = saved, set(self.in_effect)
            self.in_effect.discard(number)
        self.batches.append({"turns": (number, redo), "touched": {}})
        return None

    def _said_anew(self, m: Mem, before_undo: dict[str, Mem]) -> bool:
        """Another one says the same, and was not active beside it when it was undone."""
        said = self._print(m)
        if said is None or self.status(m, self.actor) not in ("active", "stale"):
            return False
        return any(
            other["id"] != m["id"]
            and self._print(other) == said
            and self.status(other, self.actor) in ("active", "stale")
            and before_undo.get(other["id"], {}).get("stored") != "active"
            for other in self.memories.values()
        )

    def _needed(self, id: str, batch: dict[str, Any]) -> bool:
        """Something that came later points to what the batch began."""
        for other in self.memories.values():
            if other["id"] in batch["touched"]:
                continue
            if other["stored"] not in GONE and any(target == id for _, target in other["links"]):
                return True
            ends = [other["attributes"].get(end) for end in ("subject_id", "object_id")]
            if other["kind"] == "relationship" and other["stored"] not in GONE and id in ends:
                return True
            if other["merged_into"] == id or any(by == id for by, _ in other["superseded"]):
                return True
        return False

    def _fits(self, id: str, before: Mem) -> bool:
        """What came back closes no circle, and is no second edge of a pair."""
        m = self.memories[id]
        for relation, target in m["links"].keys() - before["links"].keys():
            if relation in ACYCLIC and self.leads(target, id, relation):
                return False
            if relation in SYMMETRIC and (relation, id) in self.memories[target]["links"]:
                return False
        if (m["visibility"] != before["visibility"] or before["stored"] in GONE) and self._meets(id):
            return False
        at, seen = m["merged_into"], {id}
        while at is not None and at not in seen:
            seen.add(at)
            at = self.memories[at]["merged_into"]
        return at is None
