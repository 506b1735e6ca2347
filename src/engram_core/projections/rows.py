"""The row of a memory's state: every column of `memories` as a function of the state alone, and total.

Columns are made in sections, each from a few field groups; a change writes only the sections whose groups it touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from engram_core.compact import compact_json
from engram_core.errors import EngramError
from engram_core.events import RecordedEvent
from engram_core.folding import is_own_word
from engram_core.identity import fingerprint
from engram_core.kinds import KindRegistry
from engram_core.lifecycle import decay_of, expires_at, stale_at
from engram_core.policy import Policy
from engram_core.projections.schema import MEMORY_COLUMNS
from engram_core.state import MemoryState
from engram_core.values import Provenance, to_micros
from engram_core.vocab import Kind, Relation, StoredStatus, VisibilityKind

__all__ = ["Commit", "Row", "Rows", "Section", "Transition", "cleaned", "is_bare", "is_memory_stream", "touched_groups"]

Row: TypeAlias = tuple[Any, ...]
"""The values of `MEMORY_COLUMNS`, in order."""

Section: TypeAlias = Callable[[MemoryState], tuple[Any, ...]]

_dumps: Final = compact_json(ascii=False, nan=True)

_LANES: Final = {VisibilityKind.SHARED: 0, VisibilityKind.PRIVATE: 1, VisibilityKind.RESTRICTED: 2}

_MOST: Final = 2**53


class Transition(NamedTuple):
    """What a commit made of one memory: its state before (None: there was none) and after.

    Attributes:
        before, after: The states.
        digest: The fingerprint of `after`, where the decision computed it already.
    """

    before: MemoryState | None
    after: MemoryState
    digest: str | None = None


class Commit(NamedTuple):
    """One commit of the log, as the read model takes it in.

    Attributes:
        events: All of its events, in order.
        transitions: One for each memory whose stream it touched.
        commands: Of each batch that answers a command_id: the command's key, and the batch id.
        keys: Of memories that were looked at, so that nobody asks for them again.
    """

    events: tuple[RecordedEvent, ...]
    transitions: tuple[Transition, ...]
    commands: tuple[tuple[str, str], ...] = ()
    keys: Mapping[str, int] = MappingProxyType({})


def is_memory_stream(stream: str) -> bool:
    """True for the streams of memories; all others begin with a dollar sign."""
    return not stream.startswith("$")


def is_bare(state: MemoryState) -> bool:
    """True for a memory of which nothing may be shown: its creation's payload was erased."""
    return state.kind == "" or state.lifecycle.stored is StoredStatus.ERASED


def cleaned(text: str) -> str:
    """The text as SQLite can hold it; a foreign log may contain lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _json(value: Any) -> str:
    return cleaned(_dumps(value))


def _micros(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


_SECTIONS: Final[tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = (
    # name of the method, groups it reads, columns it makes
    ("identity", (), ("key", "id", "kind", "external_ids", "source", "session", "created_at", "recorded_at")),
    ("text", ("text",), ("title", "content")),
    ("attributes", ("attributes", "absorbed"), ("attributes", "happened_from", "happened_to")),
    ("tags", ("tags", "absorbed"), ("tags",)),
    ("evidence", ("evidence",), ("evidence", "evidence_count")),
    ("confidence", ("confidence",), ("confidence", "confirmed_at", "user_confirmed", "doubted")),
    ("owners", ("edges",), ("owners",)),
    ("importance", ("importance",), ("pinned", "user_weight")),
    ("lifecycle", ("lifecycle",), ("stored", "superseded", "because", "merged_into")),
    ("visibility", ("visibility",), ("lane", "audience")),
    ("lifetime", ("lifetime",), ("lifetime", "until")),
    ("validity", ("validity",), ("valid_from", "valid_to")),
    ("turning", ("confidence", "importance", "lifetime"), ("stale_at", "expires_at")),
    ("version", (), ("updated_at", "revision", "from_position")),
    ("fingerprint", ("text", "attributes", "edges", "lifecycle", "visibility"), ("fingerprint",)),
)
_NAMES: Final = tuple(name for name, _ in MEMORY_COLUMNS)
_MADE: Final = [column for _, _, columns in _SECTIONS for column in columns]
_in_order: Final = itemgetter(*(_MADE.index(name) for name in _NAMES))
_ALL_BUT_KEY: Final = _NAMES[1:]
_GROUPS: Final = tuple(dict.fromkeys(group for _, groups, _ in _SECTIONS for group in groups))


class Rows:
    """Makes rows from states.

    Args:
        kinds: Tells the current schema of attributes, entities and alias fields.
        policy: Tells when memories go stale and expire.
        lenient: Keep attributes of a version to come as they are, instead of refusing them.

    Attributes:
        named: The kinds whose memories may seem to be one by what they are called, or by how they are reached.
    """

    def __init__(self, kinds: KindRegistry, policy: Policy, *, lenient: bool = False) -> None:
        self.kinds = kinds
        self.policy = policy
        self._lenient = lenient
        self._sections: tuple[tuple[frozenset[str], tuple[str, ...], Section], ...] = tuple(
            (frozenset(groups), columns, getattr(self, f"_{name}")) for name, groups, columns in _SECTIONS
        )
        self._versions = {spec.kind: spec.version for spec in kinds}
        self.named = frozenset({Kind.CONTACT.value, *(spec.kind for spec in kinds if spec.entity)})
        self._decays = {kind: decay_of(kind, policy, kinds) for kind in kinds.kinds}
        self._plans: dict[frozenset[str], tuple[tuple[str, ...], tuple[Section, ...]]] = {}

    def upcast(self, kind: str, raw: Mapping[str, Any], version: int) -> Mapping[str, Any]:
        """A whole payload in the current schema of its kind; that of an unknown kind as it is."""
        current = self._versions.get(kind)
        if current is None or current == version:
            return raw
        try:
            return self.kinds.upcast(kind, raw, version)
        except EngramError:
            if self._lenient:
                return raw
            raise

    def full(self, state: MemoryState, digest: str | None = None) -> Row:
        """The whole row of a state; a fingerprint that is known need not be computed again."""
        if is_bare(state):
            return self._bare(state)
        made: list[Any] = []
        for _, _, section in self._sections[:-1]:
            made += section(state)
        made += self._fingerprint(state) if digest is None else (digest,)
        row: Row = _in_order(made)
        return row

    def changed(
        self, before: MemoryState, after: MemoryState, touched: frozenset[str] | None = None
    ) -> tuple[tuple[str, ...], Row]:
        """The columns that may differ between two states of one memory, and their values after.

        Args:
            before, after: The states.
            touched: Their `touched_groups`, where they are known already.
        """
        if is_bare(after) or is_bare(before):
            if is_bare(after) and is_bare(before):
                lane = _LANES[after.visibility.kind]
                return ("lane", "updated_at", "revision", "from_position"), (lane, *self._version(after))
            return _ALL_BUT_KEY, self.full(after)[1:]
        if touched is None:
            touched = touched_groups(before, after)
        plan = self._plans.get(touched)
        if plan is None:
            chosen = [
                (columns, section)
                for groups, columns, section in self._sections
                if groups & touched or columns[0] == "updated_at"
            ]
            plan = (
                tuple(column for columns, _ in chosen for column in columns),
                tuple(section for _, section in chosen),
            )
            self._plans[touched] = plan
        columns, sections = plan
        made: list[Any] = []
        for section in sections:
            made += section(after)
        return columns, tuple(made)

    def attributes(self, state: MemoryState) -> Mapping[str, Any]:
        """The attributes in the current schema of their kind, with the aliases that merged sources gave."""
        raw = self.upcast(state.kind, state.attributes.raw, state.attributes.version)
        if state.absorbed and state.kind in self.kinds:
            field = self.kinds.spec(state.kind).alias_field
            given = state.absorbed_aliases
            if field is not None and given:
                return {**raw, field: list(dict.fromkeys([*(raw.get(field) or ()), *given]))}
        return raw

    def audience(self, state: MemoryState) -> tuple[int, str | None]:
        """Who may see it: the lane, and the listed actors as JSON."""
        seen_by = state.visibility
        listed = _json(sorted(str(actor) for actor in seen_by.actors)) if seen_by.actors else None
        return _LANES[seen_by.kind], listed

    # -- sections -----------------------------------------------------------------------------------

    def _identity(self, state: MemoryState) -> tuple[Any, ...]:
        origin = state.origin
        source = origin.source
        return (
            origin.position,
            state.id,
            state.kind,
            _json(state.external_ids) if state.external_ids else "[]",
            None if source is None else _json(_provenance(source)),
            None if source is None or source.session_id is None else cleaned(source.session_id),
            to_micros(origin.created_at),
            to_micros(origin.recorded_at),
        )

    def _text(self, state: MemoryState) -> tuple[Any, ...]:
        title = state.text.title
        return None if title is None else cleaned(title), cleaned(state.text.content)

    def _attributes(self, state: MemoryState) -> tuple[Any, ...]:
        attributes = self.attributes(state)
        start, end = _happened(attributes) if state.kind == Kind.EVENT else (None, None)
        return _json(attributes), start, end

    def _tags(self, state: MemoryState) -> tuple[Any, ...]:
        tags = state.all_tags
        return (_json(tags) if tags else "[]",)

    def _evidence(self, state: MemoryState) -> tuple[Any, ...]:
        if not state.evidence:
            return "[]", 0
        listed = [
            [s.ref.type, s.ref.value, s.ref.note, None if s.actor is None else str(s.actor), to_micros(s.at)]
            for s in state.evidence
        ]
        return _json(listed), len({(type, value) for type, value, *_ in listed})

    def _confidence(self, state: MemoryState) -> tuple[Any, ...]:
        belief = state.confidence
        # Which voice was the last is not kept: who asks reads the stream of those few that are marked.
        doubted = belief.disputed > belief.user_confirmed and any(is_own_word(ground) for _, ground in belief.disputes)
        return _number(belief.confidence), _micros(belief.last_confirmed_at), belief.user_confirmed, int(doubted)

    def _owners(self, state: MemoryState) -> tuple[Any, ...]:
        if state.kind != Kind.CONTACT:
            return (None,)
        return (sum(link.relation is Relation.OWNED_BY for link in state.edges.links),)

    def _importance(self, state: MemoryState) -> tuple[Any, ...]:
        return int(state.importance.pinned), state.importance.user_weight

    def _lifecycle(self, state: MemoryState) -> tuple[Any, ...]:
        life = state.lifecycle
        because = None if life.because is None else life.because.value
        return life.stored.value, int(bool(life.superseded)), because, life.merged_into

    def _visibility(self, state: MemoryState) -> tuple[Any, ...]:
        return self.audience(state)

    def _lifetime(self, state: MemoryState) -> tuple[Any, ...]:
        return state.lifetime.kind.value, _micros(state.lifetime.expires_at)

    def _validity(self, state: MemoryState) -> tuple[Any, ...]:
        return _micros(state.validity.valid_from), _micros(state.validity.valid_to)

    def _turning(self, state: MemoryState) -> tuple[Any, ...]:
        decay = self._decays.get(state.kind) or decay_of(state.kind, self.policy, self.kinds)
        try:
            stale = _micros(stale_at(state, decay))
        except (ValueError, OverflowError):
            stale = None
        return stale, _micros(expires_at(state, decay))

    def _fingerprint(self, state: MemoryState) -> tuple[Any, ...]:
        # What is archived can be restored instead of being remembered again.
        kept = state.lifecycle.stored in (StoredStatus.ACTIVE, StoredStatus.ARCHIVED)
        if state.redacted or not kept or state.kind not in self.kinds:
            return (None,)
        title, attributes = state.text.title, self.upcast(state.kind, state.attributes.raw, state.attributes.version)
        try:
            digest = fingerprint(
                self.kinds,
                kind=state.kind,
                attributes=attributes,
                title=title,
                content=state.text.content,
                links=state.edges.links,
                visibility=state.visibility,
            )
        except UnicodeEncodeError:
            return (None,)
        return (digest,)

    def _version(self, state: MemoryState) -> tuple[Any, ...]:
        return to_micros(state.updated_at), state.revision, state.position

    def _bare(self, state: MemoryState) -> Row:
        values = {
            "key": state.origin.position,
            "id": state.id,
            "kind": "",
            "stored": StoredStatus.ERASED.value,
            "lane": _LANES[state.visibility.kind],
            "content": "",
            "attributes": "{}",
            "tags": "[]",
            "evidence": "[]",
            "evidence_count": 0,
            "confidence": 0.0,
            "user_confirmed": 0,
            "doubted": 0,
            "pinned": 0,
            "lifetime": "standard",
            "superseded": 0,
            "external_ids": "[]",
            "created_at": to_micros(state.origin.created_at),
            "recorded_at": to_micros(state.origin.recorded_at),
            **dict(zip(("updated_at", "revision", "from_position"), self._version(state), strict=True)),
        }
        return tuple(map(values.get, _NAMES))


def touched_groups(before: MemoryState, after: MemoryState) -> frozenset[str]:
    """The groups of two states that are not the same object, or not equal where they are copied."""
    return frozenset(
        group
        for group in _GROUPS
        if (old := getattr(before, group)) is not (new := getattr(after, group)) and (group != "absorbed" or old != new)
    )


def _number(value: float) -> float:
    """A confidence as SQLite can hold it; NaN, which a foreign log may contain, would become NULL."""
    return value if value == value else 0.0  # noqa: PLR0124


def _provenance(source: Provenance) -> dict[str, Any]:
    """Provenance as JSON, in the form of `wire.encode`: without what is at its default."""
    out: dict[str, Any] = {"actor": str(source.actor)}
    if source.on_behalf_of is not None:
        out["on_behalf_of"] = str(source.on_behalf_of)
    for name in ("session_id", "client", "source_ref", "redactor"):
        value = getattr(source, name)
        if value is not None:
            out[name] = value
    if source.redactions:
        out["redactions"] = min(source.redactions, _MOST)
    return out


def _happened(attributes: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """When an episode began and ended, in microseconds; as far as its attributes can be read."""
    begin = attributes.get("start_at") or attributes.get("occurred_at")
    start = _instant(begin)
    return start, _instant(attributes.get("end_at")) or start


def _instant(text: Any) -> int | None:
    try:
        return to_micros(datetime.fromisoformat(text))
    except (TypeError, ValueError):
        return None
