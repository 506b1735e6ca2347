"""Verbs of the naive space that begin a memory, change its words, its edges, and how far it is believed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from tests.machines.naive_base import GONE, GROUPS, Mem, NaiveBase, includes, visibility_of
from tests.machines.naive_kinds import ACYCLIC, EMITS, ENTITIES, LABELS, SINGLE, SYMMETRIC, TARGETS, problem_of, window


def once(evidence: Sequence[Any]) -> list[Any]:
    """Each reference once, the first time that it is given."""
    return [
        e for place, e in enumerate(evidence) if (e.type, e.value) not in [(o.type, o.value) for o in evidence[:place]]
    ]


def start_of(new: tuple[Any, Any], old: tuple[Any, Any], instants: Sequence[datetime]) -> datetime:
    """From when on one stands for another, unless somebody says so: the first of these that lies in both windows."""
    wanted = [at for at in (new[0], *instants) if at is not None]
    later = [at for at in wanted if old[0] is None or at > old[0]]
    return [*(at for at in later if new[1] is None or at < new[1]), *later, *wanted][0]


class Words(NaiveBase):
    """Every verb answers (status, memory id)."""

    # -- beginning --------------------------------------------------------------------------------------

    def remember(
        self,
        attributes: dict[str, Any],
        *,
        id: str,
        content: str = "",
        title: str | None = None,
        tags: Sequence[str] = (),
        links: Sequence[tuple[str, str]] = (),
        evidence: Sequence[Any] = (),
        confidence: float | None = None,
        pinned: bool = False,
        user_weight: float | None = None,
        lifetime: Any = None,
        visibility: Any = None,
        validity: Any = None,
        external_ids: Sequence[tuple[str, str]] = (),
        occurred_at: datetime | None = None,
        on_duplicate: str = "return",
        similar: bool = True,
    ) -> tuple[str, str]:
        kind = attributes["kind"]
        raw = {name: value for name, value in attributes.items() if name != "kind" and value not in (None, [], ())}
        now = self.now()
        at = occurred_at or now
        audience = ("shared", frozenset()) if visibility is None else visibility_of(visibility)
        no = {"InvalidAttributesError"} if problem_of(kind, attributes) else set()
        self._end(no)
        for pair in external_ids:
            for other in self.memories.values():
                if pair in other["externals"] and other["stored"] not in GONE and other["visibility"] == audience:
                    self._names[id] = other["id"]
                    return "duplicate", other["id"]
        if confidence is not None and not 0 <= confidence <= 1:
            no.add("InvalidAttributesError")
        if at > now + timedelta(minutes=5) or len({tag.strip().casefold() for tag in tags}) > 20:
            no.add("InvalidAttributesError")
        self._end(no)
        span = (validity.valid_from, validity.valid_to) if validity is not None else window(kind, raw)
        m: Mem = {
            "id": id, "kind": kind, "attributes": raw, "title": title and title.strip(), "content": content,
            "tags": list(dict.fromkeys(tag.strip().casefold() for tag in tags)),
            "links": {}, "resolved": {}, "distinct": set(),
            "evidence": [(e.type.value, e.value, e.note) for e in once(evidence)],
            "confidence": 0.95 if confidence is None else float(confidence), "confirmed_at": None, "confirmed_by": {},
            "disputes": set(), "user_confirmed": 0, "disputed": 0, "doubted": False,
            "pinned": pinned, "user_weight": user_weight, "stored": "active", "because": None, "superseded": [],
            "merged_into": None, "visibility": audience,
            "lifetime": ("standard", None) if lifetime is None else (lifetime.kind.value, lifetime.expires_at),
            "validity": span, "externals": list(external_ids), "absorbed": {},
            "created_at": at, "updated_at": at, "source": self.actor, "begun": 0,
        }  # fmt: skip
        taken = id in self.memories
        superseding = []
        for relation, target in dict.fromkeys((r, self._names.get(t, t)) for r, t in links):
            if taken:
                no.add("ConflictError")
            no |= self._edge_problems(m, relation, target)
            self._end(no)
            m["links"][relation, target] = 0
            if relation == "supersedes":
                superseding.append(self.memories[target])
        for old in superseding:
            start = start_of(m["validity"], old["validity"], [at])
            no |= self._may_follow(m, old, start)
            m["validity"] = (start, m["validity"][1])
        if taken:
            no.add("ConflictError")
        self._end(no)
        if on_duplicate != "create" and (twin := self._twin(m)) is not None:
            self._names[id] = twin["id"]
            if on_duplicate == "confirm":
                self.confirm(twin["id"], evidence=evidence[0] if evidence else None, at=at)
                for extra in evidence[1:]:
                    self.add_evidence(twin["id"], extra, at=at)
            return "duplicate", twin["id"]
        self.memories[id] = m
        self._began.add(id)
        m["begun"] = tick = next(self._ticks)
        m["links"] = dict.fromkeys(m["links"], tick)
        self._touched.setdefault(id, set()).update(GROUPS)
        for old in superseding:
            self._close(old, id, m["validity"][0])
        return "created", id

    def _print(self, m: Mem) -> object:
        """What two memories share iff they say the same to the same audience; None for a mere name."""
        edges = sorted(link for link in m["links"] if link[0] in ("about", "owned_by", "involves"))
        own = m["attributes"]
        is_name = m["kind"] in ENTITIES and set(own) <= set(LABELS[m["kind"]])
        if is_name and not m["content"].strip() and m["title"] is None and not edges:
            return None
        said = {name: " ".join(value.split()) if isinstance(value, str) else value for name, value in own.items()}
        return m["kind"], m["title"], " ".join(m["content"].split()), said, edges, m["visibility"]

    def _twin(self, m: Mem) -> Mem | None:
        wanted = self._print(m)
        for other in self.memories.values():
            if (
                wanted is not None
                and self._print(other) == wanted
                and self.status(other, self.actor) in ("active", "stale")
            ):
                return other
        return None

    # -- text, attributes, tags -------------------------------------------------------------------------

    def edit(self, id: str, **given: Any) -> tuple[str, str]:
        m = self._find(id)
        no = self._legal(m, "active")
        title = given.get("title", m["title"])
        if title is not None and not title.strip():
            no.add("InvalidAttributesError")
        self._end(no)
        new = {"title": title and title.strip(), "content": given.get("content", m["content"])}
        if all(m[name] == value for name, value in new.items()):
            return "unchanged", m["id"]
        m.update(new)
        return self._touch(m, "text")

    def update(self, id: str, changes: dict[str, Any]) -> tuple[str, str]:
        m = self._find(id)
        no = self._legal(m, "active")
        new = {**m["attributes"], **changes}
        if problem_of(m["kind"], new):
            no.add("InvalidAttributesError")
        self._end(no)
        new = {name: value for name, value in new.items() if value not in (None, [], ())}
        if new == m["attributes"]:
            return "unchanged", m["id"]
        m["attributes"] = new
        return self._touch(m, "attributes")

    def tag(self, id: str, *tags: str) -> tuple[str, str]:
        m = self._find(id)
        new = [*m["tags"]]
        new += [t for t in dict.fromkeys(tag.strip().casefold() for tag in tags) if t not in new]
        return self._retag(m, new, sorted(new) != sorted(m["tags"]))

    def untag(self, id: str, *tags: str) -> tuple[str, str]:
        m = self._find(id)
        new = [t for t in m["tags"] if t not in {tag.strip().casefold() for tag in tags}]
        return self._retag(m, new, len(new) < len(m["tags"]))

    def _retag(self, m: Mem, new: list[str], changed: bool) -> tuple[str, str]:
        no = self._legal(m, "active")
        if len(new) > 20 and len(new) > len(m["tags"]):
            no.add("InvalidAttributesError")
        self._end(no)
        if not changed:
            return "unchanged", m["id"]
        m["tags"] = new
        return self._touch(m, "tags")

    # -- edges ------------------------------------------------------------------------------------------

    def _edge_problems(self, m: Mem, relation: str, target: str) -> set[str]:
        no = set()
        if target == m["id"] or relation not in EMITS[m["kind"]]:
            no.add("ConflictError")
        other = self.memories.get(target)
        if other is None:
            return no | {"NotFoundError"}
        kinds = TARGETS.get(relation)
        if other["stored"] in GONE or (kinds is not None and other["kind"] not in kinds):
            no.add("ConflictError")
        if relation == "part_of" and other["kind"] != m["kind"]:
            no.add("ConflictError")
        if m["kind"] in SINGLE.get(relation, ()) and any(
            r == relation and self.memories[t]["stored"] not in GONE for r, t in m["links"]
        ):
            no.add("ConflictError")
        if relation in ACYCLIC and m["id"] in self.memories and self.leads(target, m["id"], relation):
            no.add("ConflictError")
        return no

    def _mirrored(self, m: Mem, relation: str, target: str) -> bool:
        other = self.memories.get(target)
        if relation not in SYMMETRIC or other is None or other["stored"] in GONE:
            return False
        return (relation, m["id"]) in other["links"]

    def link(self, id: str, relation: str, target: str, *, ensure: bool = False) -> tuple[str, str]:
        m, target = self._find(id), self._names.get(target, target)
        no = self._legal(m, "active")
        if target in self.memories and ((relation, target) in m["links"] or self._mirrored(m, relation, target)):
            self._end(no if ensure else no | {"ConflictError"})
            return "unchanged", m["id"]
        self._end(no | self._edge_problems(m, relation, target))
        if relation == "supersedes":
            return self._supersede(self.memories[target], m, None, m["id"])
        m["links"][relation, target] = next(self._ticks)
        return self._touch(m, "edges")

    def ensure_link(self, id: str, relation: str, target: str) -> tuple[str, str]:
        return self.link(id, relation, target, ensure=True)

    def unlink(self, id: str, relation: str, target: str) -> tuple[str, str]:
        m, target = self._find(id), self._names.get(target, target)
        no = self._legal(m, "active")
        there = (relation, target) in m["links"]
        if relation == "supersedes" and there:
            no.add("ConflictError")
        self._end(no)
        if there:
            del m["links"][relation, target]
            return self._touch(m, "edges")
        if self._mirrored(m, relation, target):
            other = self.memories[target]
            del other["links"][relation, m["id"]]
            self._touch(other, "edges")
            return "changed", m["id"]
        return "unchanged", m["id"]

    # -- belief -----------------------------------------------------------------------------------------

    def confirm(self, id: str, *, evidence: Any = None, at: datetime | None = None) -> tuple[str, str]:
        m = self._find(id)
        self._end(self._legal(m))
        now, fresh = at or self.now(), False
        last = m["confirmed_by"].get(self.actor)
        lately = last is not None and now - last < timedelta(hours=24)
        if evidence is not None:
            fresh = (evidence.type.value, evidence.value) not in [e[:2] for e in m["evidence"]]
        if fresh or not lately or m["disputed"] > m["user_confirmed"]:
            if evidence is not None:
                m["evidence"].append((evidence.type.value, evidence.value, evidence.note))
                self._touch(m, "evidence", at=at)
            m["confidence"] += (1 - m["confidence"]) * 0.90
            m["confirmed_at"] = max(m["confirmed_at"] or m["created_at"], now)
            m["confirmed_by"][self.actor] = max(last or now, now)
            m["user_confirmed"], m["doubted"] = next(self._ticks), False
            return self._touch(m, "confidence", at=at)
        return "unchanged", m["id"]

    def contradict(self, id: str, *, by: str | None = None, evidence: Any = None) -> tuple[str, str]:
        m = self._find(id)
        no = self._legal(m)
        other = None
        if by is not None:
            by = self._names.get(by, by)
            other = self.memories.get(by)
            no |= self._other_problems(m, by)
        self._end(no)
        ground = by or (evidence and (evidence.type.value, evidence.value)) or "word"
        if (self.actor, ground) in m["disputes"] and m["user_confirmed"] <= m["disputed"]:
            return "unchanged", m["id"]
        m["confidence"] *= 1 - 0.80
        m["disputes"].add((self.actor, ground))
        m["disputed"] = next(self._ticks)
        if other is None:
            m["doubted"] = True
            return self._touch(m, "confidence")
        if self._mirrored(m, "contradicts", other["id"]):
            del other["links"]["contradicts", m["id"]]
            self._touch(other, "edges")
        m["links"]["contradicts", other["id"]] = m["disputed"]
        return self._touch(m, "confidence", "edges")

    def _other_problems(self, m: Mem, other: str) -> set[str]:
        if other == m["id"]:
            return {"ConflictError"}
        if other not in self.memories:
            return {"NotFoundError"}
        return {"ConflictError"} if self.memories[other]["stored"] in GONE else set()

    def add_evidence(
        self, id: str, evidence: Any, *, corroborates: bool = False, at: datetime | None = None
    ) -> tuple[str, str]:
        m = self._find(id)
        self._end(self._legal(m))
        known = (evidence.type.value, evidence.value) in [e[:2] for e in m["evidence"]]
        m["evidence"].append((evidence.type.value, evidence.value, evidence.note))
        if corroborates and not known:
            m["confidence"] += (1 - m["confidence"]) * 0.20
            m["confirmed_at"] = max(m["confirmed_at"] or self.now(), self.now())
            self._touch(m, "confidence")
        return self._touch(m, "evidence", at=at)

    # -- taking another's place -------------------------------------------------------------------------

    def _may_follow(self, new: Mem, old: Mem, start: datetime) -> set[str]:
        no = set()
        if not includes(new["visibility"], old["visibility"]):
            no.add("ConflictError")
        ends = new["validity"][1]
        if (ends is not None and ends <= start) or (old["validity"][0] is not None and start <= old["validity"][0]):
            no.add("InvalidAttributesError")
        return no

    def _close(self, old: Mem, by: str, start: datetime) -> None:
        old["superseded"] = [*(pair for pair in old["superseded"] if pair[0] != by), (by, start)]
        if old["validity"][1] is None:
            old["validity"] = (old["validity"][0], start)
        self._touch(old, "lifecycle", "validity")

    def _supersede(self, old: Mem, new: Mem, at: datetime | None, named: str) -> tuple[str, str]:
        no = self._legal(old) | self._legal(new, "active")
        if any(by == new["id"] for by, _ in old["superseded"]):
            self._end(no)
            return "unchanged", named
        start = at or start_of(new["validity"], old["validity"], [self.now(), new["created_at"]])
        is_over = new["validity"][1] is not None and new["validity"][1] <= start
        no |= (
            self._may_follow(new, old, start)
            if at or not is_over
            else self._may_follow({**new, "validity": (None, None)}, old, start)
        )
        if self.leads(old["id"], new["id"], "supersedes"):
            no.add("ConflictError")
        self._end(no)
        if ("supersedes", old["id"]) not in new["links"]:
            new["links"]["supersedes", old["id"]] = next(self._ticks)
            self._touch(new, "edges")
        if new["validity"][0] is None and not is_over:
            new["validity"] = (start, new["validity"][1])
            self._touch(new, "validity")
        self._close(old, new["id"], start)
        return "changed", named
