"""A memory as one viewer reads it: frozen, typed, and made ready field by field when it is asked."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Final, Generic, NoReturn, TypeVar, cast

from attrs import frozen
from attrs.exceptions import FrozenInstanceError

from engram_core.confidence import faded
from engram_core.kinds import Attributes, KindRegistry
from engram_core.lifecycle import decay_of
from engram_core.policy import Decay, Policy
from engram_core.projections.schema import MEMORY_COLUMNS
from engram_core.retention import Signals, importance_score
from engram_core.values import (
    Actor,
    EvidenceRef,
    Lifetime,
    Link,
    Provenance,
    Validity,
    Visibility,
    from_micros,
)
from engram_core.vocab import ActorKind, LifetimeKind, Relation, Status, VisibilityKind

__all__ = ["EXTRA_COLUMNS", "Flags", "Lens", "Memory"]

T_co = TypeVar("T_co", bound=Attributes, covariant=True)

EXTRA_COLUMNS: Final = ("status", "outgoing", "incoming", "disputable", "derived")
"""What a query adds to the columns of a row: the status, the outgoing links as JSON, how many edges come in (as far as
importance counts them), and whether there are edges by which it may be disputed or undermined."""

_AT: Final = {name: place for place, name in enumerate((*(name for name, _ in MEMORY_COLUMNS), *EXTRA_COLUMNS))}
_ID, _KIND, _REVISION = _AT["id"], _AT["kind"], _AT["revision"]
_FIELDS: Final = (
    "id", "kind", "attributes", "title", "content", "tags", "links", "evidence", "source", "confidence",
    "last_confirmed_at", "pinned", "user_weight", "lifetime", "visibility", "validity", "external_ids", "created_at",
    "updated_at", "revision", "status", "effective_confidence", "importance", "flags",
)  # fmt: skip


class Flags(frozenset[str]):
    """What to mind about a memory: a set of "stale", "disputed" and "undermined", each also readable by its name."""

    __slots__ = ()

    @property
    def stale(self) -> bool:
        """True when it has faded so far that it should be confirmed again."""
        return "stale" in self

    @property
    def disputed(self) -> bool:
        """True while a contradiction is open between it and another memory that the viewer may see."""
        return "disputed" in self

    @property
    def undermined(self) -> bool:
        """True when something it is derived from no longer holds."""
        return "undermined" in self

    def __repr__(self) -> str:
        return f"Flags({', '.join(sorted(self))})"


@frozen
class Lens:
    """Through what a row is read: the kinds, the policy, and the now of the view."""

    kinds: KindRegistry
    policy: Policy
    now: datetime
    micros: int

    def decay(self, kind: str) -> Decay:
        """How memories of a kind fade."""
        return decay_of(kind, self.policy, self.kinds)


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _actor(text: str) -> Actor:
    kind, _, id = text.partition(":")
    return Actor(ActorKind(kind), id)


class Memory(Generic[T_co]):
    """One memory, as its viewer sees it at the view's now. Frozen; two are equal when all their fields are.

    Attributes are typed: `view.get(m, kind=Person)` gives a `Memory[Person]`, whose `attributes` is a `Person`.
    """

    __slots__ = ("_attributes", "_lens", "_row", "flags")
    _attributes: T_co | None
    _lens: Lens
    _row: tuple[Any, ...]
    flags: Flags

    def __init__(self, row: tuple[Any, ...], lens: Lens, *, disputed: bool = False, undermined: bool = False) -> None:
        keep = object.__setattr__
        keep(self, "_row", row)
        keep(self, "_lens", lens)
        keep(self, "_attributes", None)
        stale_at = row[_AT["stale_at"]]
        raised = []
        if stale_at is not None and stale_at <= lens.micros:
            raised.append("stale")
        if disputed:
            raised.append("disputed")
        if undermined:
            raised.append("undermined")
        keep(self, "flags", Flags(raised) if raised else _NONE)

    # -- what it is -------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """Its id."""
        return cast("str", self._row[_ID])

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return cast("str", self._row[_KIND])

    @property
    def attributes(self) -> T_co:
        """The typed attributes of its kind; those of a merge's survivor hold the aliases of its sources, too."""
        if self._attributes is None:
            raw = json.loads(self._row[_AT["attributes"]])
            object.__setattr__(self, "_attributes", self._lens.kinds.structure(self.kind, raw))
        return cast("T_co", self._attributes)

    @property
    def title(self) -> str | None:
        """The title that somebody gave it."""
        return cast("str | None", self._row[_AT["title"]])

    @property
    def display_title(self) -> str:
        """Its title, else the name that its kind gives it, else its kind."""
        return self.title or self._lens.kinds.label(self.attributes) or self.kind

    @property
    def content(self) -> str:
        """The narrative."""
        return cast("str", self._row[_AT["content"]])

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags, and those of memories merged into it."""
        return tuple(json.loads(self._row[_AT["tags"]]))

    @property
    def links(self) -> tuple[Link, ...]:
        """The outgoing edges whose targets the viewer may see, in order; users also see those that dangle."""
        return tuple(sorted(Link(Relation(relation), target) for relation, target, _ in self._outgoing()))

    @property
    def evidence(self) -> tuple[EvidenceRef, ...]:
        """What supports it, oldest first, each reference once; `why` says who gave it, and how often."""
        listed: dict[tuple[str, str], EvidenceRef] = {}
        for type, value, note, *_ in json.loads(self._row[_AT["evidence"]]):
            listed.setdefault((type, value), EvidenceRef(type, value, note))
        return tuple(listed.values())

    @property
    def source(self) -> Provenance:
        """Where it came from."""
        # Only an erased beginning has none, and an erased memory is in no answer.
        given = json.loads(self._row[_AT["source"]])
        given["actor"] = _actor(given["actor"])
        if given.get("on_behalf_of"):
            given["on_behalf_of"] = _actor(given["on_behalf_of"])
        return Provenance(**given)

    @property
    def external_ids(self) -> tuple[tuple[str, str], ...]:
        """Pairs of (system, id) under which importers know it."""
        return tuple((system, id) for system, id in json.loads(self._row[_AT["external_ids"]]))

    # -- how far it is believed, and for how long -------------------------------------------------------

    @property
    def confidence(self) -> float:
        """Stored confidence, in [0, 1]."""
        return cast("float", self._row[_AT["confidence"]])

    @property
    def effective_confidence(self) -> float:
        """Confidence as it has faded by the view's now, in [0, 1]."""
        lens, row = self._lens, self._row
        since = row[_AT["confirmed_at"]]
        elapsed = lens.micros - (row[_AT["created_at"]] if since is None else since)
        return faded(self.confidence, elapsed, lens.decay(self.kind).half_life_days)

    @property
    def last_confirmed_at(self) -> datetime | None:
        """When a user or a corroborating source last vouched for it."""
        return _instant(self._row[_AT["confirmed_at"]])

    @property
    def pinned(self) -> bool:
        """True while somebody has pinned it."""
        return bool(self._row[_AT["pinned"]])

    @property
    def user_weight(self) -> float | None:
        """The weight that somebody gave it, in [0, 1]."""
        return cast("float | None", self._row[_AT["user_weight"]])

    @property
    def importance(self) -> float:
        """How much it matters, in [0, 1], counting only what the viewer may see."""
        row, lens = self._row, self._lens
        signals = Signals(
            created_at=lens.now,
            recorded_at=lens.now,
            confidence=0.0,
            evidences=row[_AT["evidence_count"]],
            links=self.visible_links,
            is_disputed=self.flags.disputed,
            is_pinned=self.pinned,
            user_weight=self.user_weight,
        )
        return importance_score(signals, lens.policy, lens.decay(self.kind))

    @property
    def visible_links(self) -> int:
        """Edges from it and to it whose other end the viewer may see; those that come in only as far as they count."""
        shown: int = sum(shown for _, _, shown in self._outgoing()) + self._row[_AT["incoming"]]
        return shown

    @property
    def status(self) -> Status:
        """What it is at the view's now: active, stale, expired, superseded or archived."""
        return Status(self._row[_AT["status"]])

    @property
    def lifetime(self) -> Lifetime:
        """How long to keep it."""
        return Lifetime(LifetimeKind(self._row[_AT["lifetime"]]), _instant(self._row[_AT["until"]]))

    @property
    def visibility(self) -> Visibility:
        """Who may see it."""
        lane = self._row[_AT["lane"]]
        if lane != 2:
            return Visibility(VisibilityKind.PRIVATE if lane else VisibilityKind.SHARED)
        actors = json.loads(self._row[_AT["audience"]])
        return Visibility(VisibilityKind.RESTRICTED, frozenset(_actor(actor) for actor in actors))

    @property
    def validity(self) -> Validity:
        """When it is true."""
        return Validity(_instant(self._row[_AT["valid_from"]]), _instant(self._row[_AT["valid_to"]]))

    # -- its history in short ---------------------------------------------------------------------------

    @property
    def created_at(self) -> datetime:
        """When its creation is said to have happened."""
        return from_micros(self._row[_AT["created_at"]])

    @property
    def created_micros(self) -> int:
        """`created_at` in microseconds since 1970 UTC."""
        return cast("int", self._row[_AT["created_at"]])

    @property
    def updated_at(self) -> datetime:
        """When its last change is said to have happened."""
        return from_micros(self._row[_AT["updated_at"]])

    @property
    def revision(self) -> int:
        """How many events made it; what `expected_revision` compares."""
        return cast("int", self._row[_REVISION])

    def _outgoing(self) -> list[tuple[str, str, bool]]:
        """Relation, target and whether the target is shown, of each outgoing edge."""
        found = []
        for edge in json.loads(self._row[_AT["outgoing"]]):
            relation, _, target = edge.partition(" ")
            found.append((relation.lstrip("!"), target, not relation.startswith("!")))
        return found

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in _FIELDS)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Memory):
            return NotImplemented
        return self is other or self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.id, self.revision))

    def __repr__(self) -> str:
        marks = "".join(f" {flag}" for flag in sorted(self.flags - {self.status.value}))
        return f"<Memory {self.kind} {self.id} {self.display_title!r} {self.status}{marks}>"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self._row, self._lens, self.flags.disputed, self.flags.undermined)

    def __copy__(self) -> Memory[T_co]:
        return self

    def __deepcopy__(self, memo: object) -> Memory[T_co]:
        return self


def _again(row: tuple[Any, ...], lens: Lens, disputed: bool, undermined: bool) -> Memory[Any]:
    """A memory that comes out of a pickle."""
    return Memory(row, lens, disputed=disputed, undermined=undermined)


_NONE: Final = Flags()
