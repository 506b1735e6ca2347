"""The write verbs: each turns its arguments into commands. A session runs them; a recorder collects them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from attrs import frozen

from engram_core.commands import (
    AddEvidence,
    AddLink,
    AdjustImportance,
    Archive,
    Command,
    Confirm,
    Contradict,
    Delete,
    Edit,
    MarkDistinct,
    Merge,
    Remember,
    RemoveLink,
    Resolve,
    Restore,
    SetLifetime,
    SetValidity,
    SetVisibility,
    Supersede,
    Tag,
    Unmerge,
    UpdateAttributes,
)
from engram_core.core import Request
from engram_core.errors import InvalidAttributesError, NotFoundError, Problem
from engram_core.kinds import KindRegistry, named_relation
from engram_core.kinds.fields import plain
from engram_core.receipts import Receipt
from engram_core.values import (
    SHARED,
    STANDARD,
    UNSET,
    EvidenceRef,
    Lifetime,
    Link,
    Period,
    Unset,
    Validity,
    Visibility,
    canonical_id,
    checked_instant,
    text_problem,
)
from engram_core.vocab import ArchiveReason, Relation

if TYPE_CHECKING:
    from engram_core.results import Memory

__all__ = ["Draft", "Evidence", "MemoryRef", "Pairs", "Verbs", "memory_id", "relation_named"]

MemoryRef: TypeAlias = "str | UUID | Memory[Any] | Receipt"
"""What names a memory: its id, the memory itself, or the receipt of a write."""

Evidence: TypeAlias = EvidenceRef | Iterable[EvidenceRef]
Pairs: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]]


def memory_id(m: MemoryRef, name: str = "memory") -> str:
    """The id that a reference stands for.

    Raises: InvalidAttributesError for anything that names no memory.
    """
    found: object = m
    if isinstance(m, Receipt):
        found = m.memory_id
    elif not isinstance(m, str | UUID):
        found = getattr(m, "id", None)
    if isinstance(found, UUID):
        return str(found)
    if not isinstance(found, str) or not found:
        problem = f"must be an id, a Memory or a Receipt, not {type(m).__name__}"
        raise InvalidAttributesError(name, [Problem(name, problem)])
    if found.startswith("$") or text_problem(found):
        raise NotFoundError(f"there is no memory {found}", memory_id=found)
    return canonical_id(found)


def relation_named(name: Relation | str) -> Relation:
    """The relation of a new edge, by its canonical name.

    Raises: InvalidAttributesError for an unknown name, and for an inverse, which is only a way of asking.
    """
    try:
        relation, backwards = named_relation(str(name))
    except KeyError:
        listed = ", ".join(Relation)
        raise InvalidAttributesError("link", [Problem("relation", f"{name!r} is none of {listed}")]) from None
    if backwards:
        problem = f'"{name}" is read backwards: link the other memory by "{relation}" to this one'
        raise InvalidAttributesError("link", [Problem("relation", problem)])
    return relation


@frozen(init=False)
class Draft:
    """A memory to be: attributes and the same options as `Session.remember`, for `remember_many` and `supersede`.

    Args:
        attributes: A kind's object, or a mapping with "kind".
        options: Those of `Session.remember`, by name.
    """

    attributes: Any
    options: Mapping[str, Any]

    def __init__(self, attributes: Any, **options: Any) -> None:
        unknown = sorted(set(options) - _OPTIONS)
        if unknown:
            problem = [Problem(name, "is no option of remember") for name in unknown]
            raise InvalidAttributesError("draft", problem, hint=f"options are {', '.join(sorted(_OPTIONS))}")
        self.__attrs_init__(attributes, options)


_OPTIONS = frozenset(
    [
        "content",
        "title",
        "tags",
        "links",
        "evidence",
        "confidence",
        "pinned",
        "user_weight",
        "lifetime",
        "visibility",
        "validity",
        "external_ids",
        "source_ref",
        "occurred_at",
        "id",
        "on_duplicate",
        "similar",
    ]
)


class Verbs:
    """Every write verb of a session, over a way to run requests."""

    def _kinds(self) -> KindRegistry:
        raise NotImplementedError

    def _new_id(self) -> str:
        raise NotImplementedError

    def _run(self, requests: Sequence[Request], command_id: str | None, *, answer: int = 0) -> Receipt:
        """Runs requests as one batch; the receipt is that of request number `answer`."""
        raise NotImplementedError

    def _one(self, command: Command, expected_revision: int | None, command_id: str | None) -> Receipt:
        _check_revision(expected_revision)
        return self._run([Request(command=command, expected_revision=expected_revision)], command_id)

    # -- beginning ----------------------------------------------------------------------------------

    def remember(
        self,
        attributes: Any,
        *,
        content: str = "",
        title: str | None = None,
        tags: Iterable[str] = (),
        links: Iterable[tuple[Relation | str, MemoryRef]] = (),
        evidence: Evidence = (),
        confidence: float | None = None,
        pinned: bool = False,
        user_weight: float | None = None,
        lifetime: Lifetime = STANDARD,
        visibility: Visibility = SHARED,
        validity: Validity | Period | None = None,
        external_ids: Pairs = (),
        source_ref: str | None = None,
        occurred_at: datetime | None = None,
        id: str | UUID | None = None,
        on_duplicate: str = "return",
        similar: bool = True,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Begins a memory.

        Args:
            attributes: An object of one of the kinds, or a mapping such as {"kind": "fact", "statement": "…"}.
            content: The narrative, Markdown, at most 20,000 characters.
            title: A title of its own; else the kind's label is displayed. At most 200 characters.
            tags: At most 20; case and outer blanks do not count.
            links: Pairs of a relation and a memory, in canonical direction from the new memory.
            evidence: What supports it.
            confidence: In [0, 1]; by default the prior of the actor's kind.
            pinned: Never expires, is never pruned.
            user_weight: Importance by hand, in [0, 1].
            lifetime: How long to keep it: `standard()`, `permanent()`, `until(…)` or `ephemeral()`.
            visibility: Who may see it: `shared()`, `private()` or `restricted(…)`.
            validity: When it is true; a relationship's dates and an episode's are the default.
            external_ids: Pairs (system, id) of other systems. If a live memory of the same audience bears one, that
                memory is returned as a duplicate.
            source_ref: File, commit, message or address from which it was taken.
            occurred_at: Aware instant at which it was said; by default now, never later than that.
            id: A UUID of one's own, for users, importers and the system.
            on_duplicate: For an exact duplicate: "return" it, "confirm" it, or "create" another all the same.
            similar: Report memories that it may repeat.
            expected_revision: Takes part in no check here; every write verb has it.
            command_id: A name that makes a retry return the first result.

        Returns: A receipt: created, duplicate, or proposed.
        Raises: InvalidAttributesError with every problem; NotFoundError, ConflictError for links; ForbiddenError.
        """
        request = self._remembering(
            Draft(
                attributes,
                content=content,
                title=title,
                tags=tags,
                links=links,
                evidence=evidence,
                confidence=confidence,
                pinned=pinned,
                user_weight=user_weight,
                lifetime=lifetime,
                visibility=visibility,
                validity=validity,
                external_ids=external_ids,
                source_ref=source_ref,
                occurred_at=occurred_at,
                id=id,
                on_duplicate=on_duplicate,
                similar=similar,
            )
        )
        return self._run([request], command_id)

    def _remembering(self, draft: Draft, *, similar: bool | None = None) -> Request:
        """The request of one new memory."""
        given = draft.options
        problems: list[Problem] = []
        kinds = self._kinds()
        kind, raw = _attributes(draft.attributes, kinds)
        evidence = given.get("evidence", ())
        links = _sequence(given.get("links", ()), "links", problems)
        on_duplicate = given.get("on_duplicate", "return")
        if on_duplicate not in ("return", "confirm", "create"):
            problems.append(Problem("on_duplicate", 'must be "return", "confirm" or "create"'))
        for name, wanted in (("lifetime", Lifetime), ("visibility", Visibility)):
            if name in given and not isinstance(given[name], wanted):
                problems.append(Problem(name, f"must be a {wanted.__name__}, such as {_EXAMPLES[name]}"))
        validity = given.get("validity")
        if isinstance(validity, Period):
            validity = Validity(validity.start, validity.end)
        elif validity is not None and not isinstance(validity, Validity):
            problems.append(Problem("validity", "must be a Validity or a Period"))
        id = given.get("id")
        if id is not None and (id := _checked_id(id)) is None:
            problems.append(Problem("id", f"{given['id']!r} is not a UUID"))
        tags = _sequence(given.get("tags", ()), "tags", problems)
        pairs = _pairs(given.get("external_ids", ()), problems)
        refs = _sequence((evidence,) if isinstance(evidence, EvidenceRef) else evidence, "evidence", problems)
        occurred_at = given.get("occurred_at")
        if problems:
            raise InvalidAttributesError(kind, problems)
        command = Remember(
            memory_id=id or self._new_id(),
            own_id=id is not None,
            kind=kind,
            attributes=raw,
            attributes_version=kinds.spec(kind).version,
            title=given.get("title"),
            content=given.get("content", ""),
            tags=tags,
            links=tuple(_link(pair) for pair in links),
            evidence=refs,
            confidence=given.get("confidence"),
            pinned=given.get("pinned", False),
            user_weight=given.get("user_weight"),
            lifetime=given.get("lifetime", STANDARD),
            visibility=given.get("visibility", SHARED),
            validity=validity,
            external_ids=pairs,
            source_ref=given.get("source_ref"),
            on_duplicate=on_duplicate,
        )
        wanted_similar = given.get("similar", True) if similar is None else similar
        return Request(command=command, occurred_at=occurred_at, similar=wanted_similar)

    # -- text, attributes, tags ---------------------------------------------------------------------

    def edit(
        self,
        m: MemoryRef,
        /,
        *,
        title: str | Unset | None = UNSET,
        content: str | Unset = UNSET,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Changes title or content; a title of None is taken away."""
        return self._one(Edit(memory_id(m), title, content), expected_revision, command_id)

    def update(
        self,
        m: MemoryRef,
        changes: Mapping[str, Any] | None = None,
        /,
        *,
        expected_revision: int | None = None,
        command_id: str | None = None,
        **attributes: Any,
    ) -> Receipt:
        """Changes some attributes of the kind; None clears an optional one.

        Args:
            m: The memory.
            changes: New values by field, typed or as JSON holds them.
            attributes: The same by keyword.
        """
        wanted = {name: _plain(value) for name, value in {**(changes or {}), **attributes}.items()}
        return self._one(UpdateAttributes(memory_id(m), wanted), expected_revision, command_id)

    def tag(
        self, m: MemoryRef, /, *tags: str, expected_revision: int | None = None, command_id: str | None = None
    ) -> Receipt:
        """Adds tags."""
        return self._one(Tag(memory_id(m), added=tags), expected_revision, command_id)

    def untag(
        self, m: MemoryRef, /, *tags: str, expected_revision: int | None = None, command_id: str | None = None
    ) -> Receipt:
        """Removes tags; one that is not there is no error."""
        return self._one(Tag(memory_id(m), removed=tags), expected_revision, command_id)

    # -- edges --------------------------------------------------------------------------------------

    def link(
        self,
        source: MemoryRef,
        relation: Relation | str,
        target: MemoryRef,
        /,
        *,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Begins an edge in canonical direction. Raises: ConflictError if it is there already."""
        command = AddLink(memory_id(source), relation_named(relation), memory_id(target))
        return self._one(command, expected_revision, command_id)

    def ensure_link(
        self,
        source: MemoryRef,
        relation: Relation | str,
        target: MemoryRef,
        /,
        *,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """As `link`, but an edge that is there already is left as it is."""
        command = AddLink(memory_id(source), relation_named(relation), memory_id(target), ensure=True)
        return self._one(command, expected_revision, command_id)

    def unlink(
        self,
        source: MemoryRef,
        relation: Relation | str,
        target: MemoryRef,
        /,
        *,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Ends an edge; a symmetric one from either end. One that is not there is no error."""
        command = RemoveLink(memory_id(source), relation_named(relation), memory_id(target))
        return self._one(command, expected_revision, command_id)

    # -- belief -------------------------------------------------------------------------------------

    def add_evidence(
        self,
        m: MemoryRef,
        evidence: EvidenceRef,
        /,
        *,
        corroborates: bool = False,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Adds support; with `corroborates` it also raises confidence a little, the first time it is given."""
        _check_type(corroborates, bool, "corroborates")
        command = AddEvidence(memory_id(m), _evidence(evidence), corroborates)
        return self._one(command, expected_revision, command_id)

    def confirm(
        self,
        m: MemoryRef,
        /,
        *,
        evidence: EvidenceRef | None = None,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Vouches for a memory: c' = c + (1 − c)·w. The same voice within 24 hours needs new evidence."""
        command = Confirm(memory_id(m), None if evidence is None else _evidence(evidence))
        return self._one(command, expected_revision, command_id)

    def contradict(
        self,
        m: MemoryRef,
        /,
        *,
        by: MemoryRef | None = None,
        evidence: EvidenceRef | None = None,
        note: str = "",
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Disputes a memory: c' = c·(1 − w); with `by`, an edge "contradicts" opens a contradiction of the two."""
        command = Contradict(
            memory_id(m),
            None if by is None else memory_id(by, "by"),
            None if evidence is None else _evidence(evidence),
            note,
        )
        return self._one(command, expected_revision, command_id)

    def resolve(
        self,
        a: MemoryRef,
        b: MemoryRef,
        /,
        *,
        keep: MemoryRef,
        note: str = "",
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Ends the dispute of two memories: the one that is not kept is archived as wrong; "both" keeps both."""
        kept = "both" if keep == "both" else memory_id(keep, "keep")
        command = Resolve(memory_id(a), memory_id(b), kept, note)
        return self._one(command, expected_revision, command_id)

    # -- importance, visibility, time ---------------------------------------------------------------

    def pin(self, m: MemoryRef, /, *, expected_revision: int | None = None, command_id: str | None = None) -> Receipt:
        """Pins a memory: importance 1, never expires, is never pruned."""
        return self._one(AdjustImportance(memory_id(m), pinned=True), expected_revision, command_id)

    def unpin(self, m: MemoryRef, /, *, expected_revision: int | None = None, command_id: str | None = None) -> Receipt:
        """Takes a pin away."""
        return self._one(AdjustImportance(memory_id(m), pinned=False), expected_revision, command_id)

    def weigh(
        self,
        m: MemoryRef,
        weight: float | None,
        /,
        *,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Sets importance by hand, in [0, 1]; None takes the weight away."""
        return self._one(AdjustImportance(memory_id(m), user_weight=weight), expected_revision, command_id)

    def set_visibility(
        self,
        m: MemoryRef,
        visibility: Visibility,
        /,
        *,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Says who may see it: `shared()`, `private()` or `restricted(…)`."""
        _check_type(visibility, Visibility, "visibility")
        return self._one(SetVisibility(memory_id(m), visibility), expected_revision, command_id)

    def set_lifetime(
        self,
        m: MemoryRef,
        lifetime: Lifetime,
        /,
        *,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Says how long to keep it: `permanent()`, `standard()`, `until(…)` or `ephemeral()`."""
        _check_type(lifetime, Lifetime, "lifetime")
        return self._one(SetLifetime(memory_id(m), lifetime), expected_revision, command_id)

    def set_validity(
        self,
        m: MemoryRef,
        /,
        *,
        valid_from: datetime | Unset | None = UNSET,
        valid_to: datetime | Unset | None = UNSET,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Says when it is true, [valid_from, valid_to); None opens a side, one that is left out stays."""
        start = valid_from if valid_from is None or valid_from is UNSET else checked_instant(valid_from, "valid_from")
        end = valid_to if valid_to is None or valid_to is UNSET else checked_instant(valid_to, "valid_to")
        return self._one(SetValidity(memory_id(m), start, end), expected_revision, command_id)

    # -- taking another's place ---------------------------------------------------------------------

    def supersede(
        self,
        old: MemoryRef,
        new: Any,
        /,
        *,
        effective_at: datetime | None = None,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Lets a memory take another's place, in one atomic batch.

        Args:
            old: The memory whose place is taken; its validity ends.
            new: Attributes, a `Draft`, or an existing memory.
            effective_at: From when on; by default the new one's valid_from, else now. Later than the old one's.

        Returns: The receipt of the new memory, created if it did not exist.
        """
        _check_revision(expected_revision)
        start = None if effective_at is None else checked_instant(effective_at, "effective_at")
        requests: list[Request] = []
        if _names_memory(new):
            by = memory_id(new, "new")
        else:
            beginning = self._remembering(new if isinstance(new, Draft) else Draft(new), similar=False)
            requests.append(beginning)
            by = beginning.command.memory_id
        superseding = Supersede(memory_id(old, "old"), by, start)
        requests.append(Request(command=superseding, expected_revision=expected_revision))
        receipt = self._run(requests, command_id)
        return _renamed(receipt, by) if len(requests) == 1 else receipt

    def merge(
        self,
        survivor: MemoryRef,
        source: MemoryRef,
        /,
        *,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Makes two memories of one entity kind one: the source is archived, and its names find the survivor."""
        return self._one(Merge(memory_id(survivor), memory_id(source)), expected_revision, command_id)

    def unmerge(
        self, source: MemoryRef, /, *, expected_revision: int | None = None, command_id: str | None = None
    ) -> Receipt:
        """Takes a merge back, by its source."""
        return self._one(Unmerge(memory_id(source)), expected_revision, command_id)

    def mark_distinct(
        self,
        a: MemoryRef,
        b: MemoryRef,
        /,
        *,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Says that two memories are not the same thing; they are never suggested as duplicates again."""
        return self._one(MarkDistinct(memory_id(a), memory_id(b)), expected_revision, command_id)

    # -- leaving ------------------------------------------------------------------------------------

    def archive(
        self,
        m: MemoryRef,
        /,
        *,
        because: ArchiveReason | str = "obsolete",
        note: str = "",
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Takes a memory out of recall; `because` is obsolete, wrong or pruned. It can be restored."""
        chosen = (ArchiveReason.OBSOLETE, ArchiveReason.WRONG, ArchiveReason.PRUNED)
        if because not in chosen:
            raise InvalidAttributesError("archive", [Problem("because", f"{because!r} is none of {', '.join(chosen)}")])
        return self._one(Archive(memory_id(m), ArchiveReason(because), note), expected_revision, command_id)

    def restore(
        self,
        m: MemoryRef,
        /,
        *,
        lifetime: Lifetime | None = None,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Brings an archived memory back; an expired one needs a new lifetime."""
        if lifetime is not None:
            _check_type(lifetime, Lifetime, "lifetime")
        return self._one(Restore(memory_id(m), lifetime), expected_revision, command_id)

    def delete(
        self, m: MemoryRef, /, *, note: str = "", expected_revision: int | None = None, command_id: str | None = None
    ) -> Receipt:
        """Takes a memory out of every query; its history stays for users. Only `erase` takes the text, too."""
        return self._one(Delete(memory_id(m), note), expected_revision, command_id)


# -- arguments --------------------------------------------------------------------------------------

_EXAMPLES = {"lifetime": "until(…)", "visibility": "private()"}


def _attributes(given: Any, kinds: KindRegistry) -> tuple[str, Mapping[str, Any]]:
    """Kind and raw payload of an attributes object, or of a mapping with "kind"."""
    if isinstance(given, Mapping):
        if not isinstance(given.get("kind"), str):
            problem = Problem("kind", 'is missing: give {"kind": "fact", …} or an object such as Fact("…")')
            raise InvalidAttributesError("attributes", [problem])
        raw = {name: value for name, value in given.items() if name != "kind"}
        typed = kinds.structure(given["kind"], raw)
    elif isinstance(given, Draft):
        raise InvalidAttributesError("attributes", [Problem("attributes", "is a Draft; give what the draft holds")])
    elif isinstance(given, type):
        problem = Problem("attributes", f"is the class {given.__name__}; give an object of it")
        raise InvalidAttributesError("attributes", [problem])
    else:
        kinds.spec(given)
        typed = given
    return kinds.spec(typed).kind, kinds.unstructure(typed)


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else plain(value)


def _sequence(given: Any, name: str, problems: list[Problem]) -> tuple[Any, ...]:
    if isinstance(given, str | bytes | Mapping):
        problems.append(Problem(name, f"must be a list, not {type(given).__name__}"))
        return ()
    try:
        return tuple(given)
    except TypeError:
        problems.append(Problem(name, f"must be a list, not {type(given).__name__}"))
        return ()


def _link(pair: Any) -> Link:
    if isinstance(pair, Link):
        return pair
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise InvalidAttributesError("link", [Problem("links", "must be pairs of a relation and a memory")])
    return Link(relation_named(pair[0]), memory_id(pair[1], "links"))


def _pairs(given: Any, problems: list[Problem]) -> tuple[tuple[str, str], ...]:
    items = tuple(given.items()) if isinstance(given, Mapping) else _sequence(given, "external_ids", problems)
    if any(isinstance(item, str) or not isinstance(item, Sequence) or len(item) != 2 for item in items):
        problems.append(Problem("external_ids", "must be pairs of a system and an id"))
        return ()
    wrong = [found for pair in items for text in pair if (found := text_problem(text, blank=False))]
    if wrong:
        problems.append(Problem("external_ids", wrong[0]))
        return ()
    return tuple((system, id) for system, id in items)


def _checked_id(id: object) -> str | None:
    try:
        return str(id if isinstance(id, UUID) else UUID(str(id)))
    except ValueError:
        return None


def _evidence(given: object) -> EvidenceRef:
    _check_type(given, EvidenceRef, "evidence")
    assert isinstance(given, EvidenceRef)
    return given


def _check_type(given: object, wanted: type, name: str) -> None:
    if not isinstance(given, wanted):
        problem = f"must be {wanted.__name__}, not {type(given).__name__}"
        raise InvalidAttributesError(name, [Problem(name, problem)])


def _check_revision(given: object) -> None:
    if given is not None and (isinstance(given, bool) or not isinstance(given, int)):
        problem = f"must be the revision of a memory, a whole number, not {type(given).__name__}"
        raise InvalidAttributesError("command", [Problem("expected_revision", problem)])


def _names_memory(given: object) -> bool:
    return isinstance(given, str | UUID | Receipt) or hasattr(given, "revision")


def _renamed(receipt: Receipt, id: str) -> Receipt:
    from attrs import evolve

    return evolve(receipt, memory_id=id)
