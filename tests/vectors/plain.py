"""A vector read with the standard library alone, as in another language: no line of ours is used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

HALF_LIVES = {
    "fact": 365, "preference": 365, "skill": 365, "person": 730, "organization": 730, "location": 730, "project": 180,
    "goal": 180, "contact": 180, "asset": 180, "relationship": 180, "event": 30,
}  # fmt: skip
STALE_BELOW = {
    "fact": 0.35, "preference": 0.35, "skill": 0.35, "person": 0.30, "organization": 0.30, "location": 0.30,
    "event": 0.50,
}  # fmt: skip
IMPORTANCE = {
    "person": 0.60, "organization": 0.55, "preference": 0.55, "goal": 0.55, "project": 0.55, "skill": 0.50,
    "relationship": 0.50, "contact": 0.50, "location": 0.45, "fact": 0.45, "asset": 0.45, "event": 0.30,
}  # fmt: skip
KNOWN = {
    "MemoryCreated", "MemoryEdited", "MemoryAttributesUpdated", "MemoryConfirmed", "MemoryContradicted",
    "MemoryEvidenceAdded", "MemoryImportanceAdjusted", "MemoryVisibilityChanged", "MemoryLifetimeChanged",
    "MemoryValidityChanged", "MemoryTagged", "MemoryLinked", "MemoryUnlinked", "MemoryArchived", "MemoryRestored",
    "MemoryDeleted", "MemoryErased", "MemoryNoted", "ContradictionResolved", "MarkedDistinct",
}  # fmt: skip
"""What is read here; a memory to which anything else has happened is left to the library's own machines."""


def micros(text: str) -> int:
    """An instant as the log keeps it."""
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def text(instant: int) -> str:
    """An instant as payloads and answers have it."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def events_of(vector: Mapping[str, Any], after: int | None = None) -> list[dict[str, Any]]:
    """The events of a vector in the order of the log, after so many steps, with what is erased taken out."""
    found: list[dict[str, Any]] = []
    for step in vector["steps"][:after]:
        if "erase" in step:
            for event in found:
                if event["owner"] == step["erase"]["owner"]:
                    event["data"] = step["erase"]["marker"]
            continue
        commit = [
            {**event, "stream": entry["stream"], "recorded_at": step["append"]["at"]}
            for entry in step["append"]["entries"]
            for event in entry["events"]
        ]
        commit[-1]["ends"] = True
        found += commit
    versions: dict[str, int] = {}
    for position, event in enumerate(found, 1):
        versions[event["stream"]] = versions.get(event["stream"], 0) + 1
        event["position"], event["version"] = position, versions[event["stream"]]
    return found


def link_of(vector: Mapping[str, Any]) -> str:
    """The end of the hash chain."""
    link = hashlib.sha256(b"engram_core/1/" + UUID(vector["store_id"]).bytes).digest()
    commit: list[dict[str, Any]] = []
    for event in events_of(vector):
        commit.append(event)
        if "ends" in event:
            digest = hashlib.sha256(link)
            for e in commit:
                names = ("position", "stream", "version", "id", "type", "schema_version", "owner", "commitment")
                more = ("occurred_at", "recorded_at", "actor_kind", "batch_id", "causation_id", "command_key")
                row = [e.get(name) for name in (*names, *more)]
                digest.update(b"\n" + json.dumps(row, ensure_ascii=True, separators=(",", ":")).encode())
            link, commit = digest.digest(), []
    return link.hex()


def state_of(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    """What a memory's events make of it; None for what is not read here."""
    m: dict[str, Any] = {}
    for event in events:
        kind, at = event["type"], text(event["occurred_at"])
        if kind not in KNOWN:
            return None
        m["revision"], m["updated_at"] = event["version"], at
        raw = json.loads(event["data"])
        if kind == "MemoryErased":
            return {"gone": True}
        if "v" not in raw:
            continue  # the marker of what was erased
        v = raw["v"]
        match kind:
            case "MemoryCreated":
                m |= {
                    "id": event["stream"],
                    "kind": v["kind"],
                    "attributes": dict(v["attributes"]),
                    "title": v.get("title"),
                    "content": v.get("content", ""),
                    "tags": set(v.get("tags", ())),
                    "links": {tuple(link) for link in v.get("links", ())},
                    "evidence": list(v.get("evidence", ())),
                    "confidence": v["confidence"],
                    "last_confirmed_at": None,
                    "pinned": v.get("pinned", False),
                    "user_weight": v.get("user_weight"),
                    "visibility": v["visibility"],
                    "created_at": at,
                    "stored": "active",
                }
            case "MemoryEdited":
                m |= {name: v[name] for name in ("title", "content") if name in v}
            case "MemoryAttributesUpdated":
                changed = {**m["attributes"], **v["changes"]}
                m["attributes"] = {name: value for name, value in changed.items() if value is not None}
                if v.get("confidence_cap") is not None:
                    m["confidence"] = min(m["confidence"], v["confidence_cap"])
            case "MemoryConfirmed" | "MemoryEvidenceAdded":
                if kind == "MemoryEvidenceAdded":
                    m["evidence"].append(v["evidence"])
                if v.get("weight") is not None:
                    raised = m["confidence"] + (1 - m["confidence"]) * v["weight"]
                    m["confidence"] = max(m["confidence"], min(raised, v.get("cap", 1.0)))
                if v.get("vouched"):
                    m["last_confirmed_at"] = max(m["last_confirmed_at"] or at, at)
            case "MemoryContradicted":
                m["confidence"] = min(m["confidence"], max(m["confidence"] * (1 - v["weight"]), v["floor"]))
                if "by" in v:
                    m["links"].add(("contradicts", v["by"]))
            case "MemoryImportanceAdjusted":
                m |= {name: v[name] for name in ("pinned", "user_weight") if name in v}
            case "MemoryVisibilityChanged":
                m["visibility"] = v["visibility"]
            case "MemoryTagged":
                m["tags"] = (m["tags"] | set(v.get("added", ()))) - set(v.get("removed", ()))
            case "MemoryLinked":
                m["links"].add((v["relation"], v["target"]))
            case "MemoryUnlinked":
                m["links"].discard((v["relation"], v["target"]))
            case "MemoryArchived":
                m["stored"] = "archived"
            case "MemoryRestored":
                m["stored"] = "active"
            case "MemoryDeleted":
                return {"gone": True}
            case _:
                pass
    return m


def may_see(viewer: str, visibility: Any) -> bool:
    """Whether somebody may see a memory of this visibility."""
    if viewer.startswith(("user:", "system:")) or visibility == "shared":
        return True
    return isinstance(visibility, list) and viewer in visibility[1:]


def shown(m: Mapping[str, Any], viewer: str, now: int) -> dict[str, Any]:
    """The fields of a memory that are read here, as somebody is answered who asks for it."""
    if "gone" in m or not may_see(viewer, m["visibility"]):
        return {"refused": "not_found"}
    since = m["last_confirmed_at"] or m["created_at"]
    days = max(0, now - micros(since)) / 86_400_000_000
    names = ("id", "kind", "title", "content", "confidence", "last_confirmed_at", "pinned", "user_weight")
    return {
        **{name: m[name] for name in (*names, "created_at", "updated_at", "revision", "attributes")},
        "tags": sorted(m["tags"]),
        "evidence": [[e[0], e[1], e[2] if len(e) > 2 else None] for e in m["evidence"]],
        "effective_confidence": m["confidence"] * 0.5 ** (days / HALF_LIVES[m["kind"]]),
        "is_stale": m["confidence"] * 0.5 ** (days / HALF_LIVES[m["kind"]]) < STALE_BELOW.get(m["kind"], 0.40),
        "links": sorted(m["links"]),
    }


def states_of(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]] | None:
    """All memories; None if something happened to one of them that is not read here."""
    ids = dict.fromkeys(event["stream"] for event in events if event["type"] == "MemoryCreated")
    states = {id: state_of([event for event in events if event["stream"] == id]) for id in ids}
    if any(state is None for state in states.values()) or any(event["stream"].startswith("$") for event in events):
        return None
    return {id: state for id, state in states.items() if state is not None}


def seen(states: Mapping[str, dict[str, Any]], viewer: str) -> dict[str, dict[str, Any]]:
    """The live memories that somebody may see."""
    return {id: m for id, m in states.items() if "gone" not in m and may_see(viewer, m["visibility"])}


def importance(states: Mapping[str, dict[str, Any]], id: str, viewer: str) -> float:
    """How much a memory matters, counting what the viewer may see; no dispute is counted here."""
    visible = seen(states, viewer)
    m = visible[id]
    if m["pinned"]:
        return 1.0
    if m["user_weight"] is not None:
        return float(m["user_weight"])
    edges = sum(target in visible for _, target in m["links"])
    edges += sum(target == id for other in visible.values() for _, target in other["links"])
    supports = {(e[0], e[1]) for e in m["evidence"]}
    return min(1.0, IMPORTANCE[m["kind"]] + 0.10 * min(3, len(supports)) + 0.05 * min(4, edges))


def find(states: Mapping[str, dict[str, Any]], viewer: str, **options: Any) -> list[str]:
    """The ids that a listing shows, for the filters that are read here."""
    kinds = options.get("kind")
    wanted = {kinds} if isinstance(kinds, str) else set(kinds or IMPORTANCE)
    found = [
        m
        for m in seen(states, viewer).values()
        if m["stored"] == "active" and m["kind"] in wanted and set(options.get("tags", ())) <= m["tags"]
    ]
    return [m["id"] for m in sorted(found, key=lambda m: (m["created_at"], m["id"]))]


def tags(states: Mapping[str, dict[str, Any]], viewer: str) -> dict[str, int]:
    """How many memories bear each tag."""
    found: dict[str, int] = {}
    for m in seen(states, viewer).values():
        for tag in m["tags"] if m["stored"] == "active" else ():
            found[tag] = found.get(tag, 0) + 1
    return found
