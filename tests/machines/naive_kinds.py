"""The tables of the model as plain data: what kinds hold, which edges join them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

_TEXT, _NAMES, _UNIT, _INSTANT = "text", "names", "unit", "instant"

# Field: what it may hold; required ones are marked by "!".
FIELDS: dict[str, dict[str, Any]] = {
    "fact": {"statement!": _TEXT},
    "preference": {
        "polarity!": {"likes", "dislikes", "wants", "avoids", "prefers"},
        "strength": _UNIT,
        "context": _TEXT,
        "target": _TEXT,
    },
    "person": {"full_name!": _TEXT, "aliases": _NAMES, "roles": _NAMES, "notes": _TEXT},
    "organization": {"name!": _TEXT, "aliases": _NAMES, "url": _TEXT},
    "project": {
        "name!": _TEXT,
        "status!": {"idea", "active", "paused", "done", "abandoned"},
        "summary": _TEXT,
    },
    "goal": {"statement!": _TEXT, "status!": {"active", "achieved", "dropped"}},
    "contact": {"channel!": {"email", "phone", "handle", "address", "other"}, "value!": _TEXT, "label": _TEXT},
    "location": {"name!": _TEXT, "aliases": _NAMES, "address": _TEXT},
    "event": {"occurred_at!": _INSTANT, "outcome": _TEXT},
    "relationship": {"subject_id!": _TEXT, "predicate!": _TEXT, "object_id!": _TEXT, "since": "day", "until": "day"},
}
ENTITIES = {"person", "organization", "location"}
LABELS = {"person": ("full_name",), "organization": ("name",), "location": ("name",)}
TEXTS = {
    kind: [name.rstrip("!") for name, sort in fields.items() if sort in (_TEXT, _NAMES)]
    for kind, fields in FIELDS.items()
}

_PARTIES = {"person", "organization"}
_SOURCES = {
    "involves": {"project", "event", "goal"},
    "part_of": {"goal", "project", "location"},
    "owned_by": {"contact", "asset"},
    "works_at": {"person"},
}
RELATIONS = (
    "about", "involves", "part_of", "owned_by", "works_at", "located_in", "relates_to", "supersedes", "derived_from",
    "contradicts",
)  # fmt: skip
EMITS = {kind: {r for r in RELATIONS if kind in _SOURCES.get(r, {kind})} for kind in FIELDS}
TARGETS = {
    "involves": _PARTIES,
    "owned_by": _PARTIES,
    "works_at": {"organization"},
    "located_in": {"location"},
    "part_of": {"goal", "project", "location"},
}
ACYCLIC = {"part_of", "supersedes", "derived_from"}
SYMMETRIC = {"relates_to", "contradicts"}
SINGLE = {"owned_by": {"contact"}}

_ENTITY, _TASTE, _AFFAIR = (730, 0.30), (365, 0.35), (180, 0.40)
DECAY = {
    "fact": _TASTE, "preference": _TASTE, "skill": _TASTE, "person": _ENTITY, "organization": _ENTITY,
    "location": _ENTITY, "project": _AFFAIR, "goal": _AFFAIR, "contact": _AFFAIR, "asset": _AFFAIR,
    "relationship": _AFFAIR, "event": (30, 0.50),
}  # fmt: skip
BASE = {
    "person": 0.60, "organization": 0.55, "preference": 0.55, "goal": 0.55, "project": 0.55, "skill": 0.50,
    "relationship": 0.50, "contact": 0.50, "location": 0.45, "fact": 0.45, "asset": 0.45, "event": 0.30,
}  # fmt: skip


def _fits(sort: Any, value: Any) -> bool:
    if isinstance(sort, set):
        return value in sort
    if sort == _TEXT:
        return isinstance(value, str)
    if sort == _NAMES:
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    if sort == _UNIT:
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return isinstance(value, str)


def problem_of(kind: str, given: dict[str, Any]) -> bool:
    """Whether attributes do not fit their kind."""
    rules = {name.rstrip("!"): (sort, name.endswith("!")) for name, sort in FIELDS[kind].items()}
    values = {name: value for name, value in given.items() if name != "kind"}
    for name, (sort, required) in rules.items():
        value = values.get(name)
        if value is None:
            if required:
                return True
        elif not _fits(sort, value) or (required and isinstance(value, str) and not value.strip()):
            return True
    if kind == "relationship" and values["subject_id"] == values["object_id"]:
        return True
    return bool(set(values) - set(rules))


def window(kind: str, raw: dict[str, Any]) -> tuple[datetime | None, datetime | None]:
    """When it is true, unless somebody says: a relationship's days, an episode's instants."""
    if kind == "event":
        return datetime.fromisoformat(raw["occurred_at"]), None
    if kind == "relationship":
        since, until = raw.get("since"), raw.get("until")
        start = None if since is None else datetime.combine(date.fromisoformat(since), datetime.min.time(), UTC)
        end = None if until is None else datetime.combine(date.fromisoformat(until), datetime.min.time(), UTC)
        return start, None if end is None else end + timedelta(days=1)
    return None, None
