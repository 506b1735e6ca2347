"""The write verbs: each turns its arguments into commands. A session runs them; a recorder collects them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from engram_core.arguments import (
    Evidence,
    MemoryRef,
    Pairs,
    check_changes,
    check_revision,
    check_type,
    checked_evidence,
    lifetime_of,
    memory_id,
    names_memory,
    number_of,
    plain_value,
    relation_named,
    visibility_of,
)
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
from engram_core.drafts import Draft, remembering
from engram_core.errors import InvalidAttributesError, Problem
from engram_core.kinds import KindRegistry
from engram_core.receipts import Receipt
from engram_core.values import (
    SHARED,
    STANDARD,
    UNSET,
    EvidenceRef,
    Lifetime,
    Period,
    Unset,
    Validity,
    Visibility,
    checked_instant,
)
from engram_core.vocab import ArchiveReason, Relation

__all__ = ["Verbs"]


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
        check_revision(expected_revision)
        return self._run([Request(command=command, expected_revision=expected_revision)], command_id)

    def _beginning(self, draft: Draft, *, similar: bool | None = None) -> Request:
        return remembering(draft, self._kinds(), self._new_id, similar=similar)

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
        lifetime: Lifetime | str = STANDARD,
        visibility: Visibility | str = SHARED,
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
            lifetime: How long to keep it: `standard()`, `permanent()`, `until(…)` or `ephemeral()`; also the word
                alone, where it says all.
            visibility: Who may see it: `shared()`, `private()` or `restricted(…)`; also the word alone.
            validity: When it is true; a relationship's dates and an episode's are the default.
            external_ids: Pairs (system, id) of other systems. If a live memory of the same audience bears one, that
                memory is returned as a duplicate.
            source_ref: File, commit, message or address from which it was taken.
            occurred_at: Aware instant at which it was said; by default now, never later than that.
            id: A UUID of one's own, for users, importers and the system.
            on_duplicate: For an exact duplicate: "return" it, "confirm" it, or "create" another all the same.
            similar: Report memories that it may repeat.
            expected_revision: Every write verb has it; a new memory has none to compare.
            command_id: A name that makes a retry return the first result.

        Returns: A receipt: created, duplicate, or proposed.
        Raises: InvalidAttributesError with every problem; NotFoundError, ConflictError for links; ForbiddenError.
        """
        check_revision(expected_revision)
        draft = Draft(
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
        return self._run([self._beginning(draft)], command_id)

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
        check_changes(changes)
        wanted = {name: plain_value(value) for name, value in {**(changes or {}), **attributes}.items()}
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
        /,
        relation: Relation | str,
        target: MemoryRef,
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
        /,
        relation: Relation | str,
        target: MemoryRef,
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
        /,
        relation: Relation | str,
        target: MemoryRef,
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
        /,
        evidence: EvidenceRef,
        *,
        corroborates: bool = False,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Adds evidence; with `corroborates` it also raises confidence a little, the first time it is given."""
        check_type(corroborates, bool, "corroborates")
        command = AddEvidence(memory_id(m), checked_evidence(evidence), corroborates)
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
        command = Confirm(memory_id(m), None if evidence is None else checked_evidence(evidence))
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
        """Disputes a memory: c' = c·(1 − w); with `by`, an edge "contradicts" opens a contradiction of the two.

        Others than users count once for each `by` or `evidence`; contradicting oneself is refused.
        """
        command = Contradict(
            memory_id(m),
            None if by is None else memory_id(by, "by"),
            None if evidence is None else checked_evidence(evidence),
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
        """Ends the dispute of two memories: the one that is not to `keep` is archived as wrong; "both" keeps both."""
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
        /,
        weight: float | None,
        *,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Sets importance by hand, in [0, 1]; None takes the weight away."""
        return self._one(AdjustImportance(memory_id(m), user_weight=number_of(weight)), expected_revision, command_id)

    def set_visibility(
        self,
        m: MemoryRef,
        /,
        visibility: Visibility | str,
        *,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Says who may see it; visibility is `shared()`, `private()` or `restricted(…)`."""
        return self._one(SetVisibility(memory_id(m), visibility_of(visibility)), expected_revision, command_id)

    def set_lifetime(
        self,
        m: MemoryRef,
        /,
        lifetime: Lifetime | str,
        *,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Says how long to keep it; lifetime is `permanent()`, `standard()`, `until(…)` or `ephemeral()`."""
        return self._one(SetLifetime(memory_id(m), lifetime_of(lifetime)), expected_revision, command_id)

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
        /,
        new: Any,
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
        check_revision(expected_revision)
        start = None if effective_at is None else checked_instant(effective_at, "effective_at")
        requests: list[Request] = []
        if names_memory(new):
            by = memory_id(new, "new")
        else:
            beginning = self._beginning(new if isinstance(new, Draft) else Draft(new), similar=False)
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
        lifetime: Lifetime | str | None = None,
        expected_revision: int | None = None,
        command_id: str | None = None,
    ) -> Receipt:
        """Brings an archived memory back; an expired one needs a new lifetime."""
        wanted = None if lifetime is None else lifetime_of(lifetime)
        return self._one(Restore(memory_id(m), wanted), expected_revision, command_id)

    def delete(
        self, m: MemoryRef, /, *, note: str = "", expected_revision: int | None = None, command_id: str | None = None
    ) -> Receipt:
        """Takes a memory out of every query; its history stays for users. Only `erase` takes the text, too."""
        return self._one(Delete(memory_id(m), note), expected_revision, command_id)


def _renamed(receipt: Receipt, id: str) -> Receipt:
    from attrs import evolve

    return evolve(receipt, memory_id=id)
