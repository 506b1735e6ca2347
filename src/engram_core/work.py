"""One submission in progress: the memories that it has looked at, and what it has decided so far."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from attrs import evolve as replaced

from engram_core.audience import may_see, sees_all
from engram_core.commands import (
    AddLink,
    Command,
    Contradict,
    MarkDistinct,
    Merge,
    Remember,
    RemoveLink,
    Resolve,
    Supersede,
    Unmerge,
)
from engram_core.core import Core
from engram_core.decider import Change
from engram_core.errors import ConcurrencyError, NotFoundError
from engram_core.events import MemoriesAccessed, MemoryCreated, RecordedEvent
from engram_core.folding import fold
from engram_core.identity import fingerprint
from engram_core.kinds.relations import RELATIONS
from engram_core.legality import LEGAL
from engram_core.log import Author, Decided, Written
from engram_core.memory import Known
from engram_core.projections.accesses import Reads
from engram_core.state import MemoryState
from engram_core.values import Actor, Link
from engram_core.vocab import Relation

__all__ = ["ACCESSES", "Work"]

ACCESSES = "$accesses"
"""The stream of reads; a memory's id never begins with "$"."""


class _Pending(NamedTuple):
    """A decided change that the state of its memory does not show yet, with the place that it will get."""

    change: Change
    author: Author
    occurred_at: datetime
    position: int
    version: int


class Work:
    """The overlay over the log under which a batch is decided."""

    def __init__(self, core: Core, tx: sqlite3.Connection, author: Author | None, key: str | None = None) -> None:
        self.core = core
        self.tx = tx
        self.key = key
        self.now = core.now()
        self.head = core.head()
        self._author = author
        self._before: dict[str, MemoryState | None] = {}
        self._after: dict[str, MemoryState | None] = {}
        self.decided: list[Decided] = []
        self._names: dict[str, str] = {}
        self.assume: Callable[[str], None] | None = None
        self._versions: dict[str, int] = {}
        self._pending: dict[str, list[_Pending]] = {}
        self._counts: dict[str, int] = {}
        self.fingerprints: dict[str, str] = {}
        self._printed: tuple[MemoryCreated | None, str | None] = (None, None)
        self._digests: dict[str, str | None] = {}
        self.externals: dict[tuple[str, str], list[str]] = {}

    @contextmanager
    def acting_as(self, author: Author) -> Iterator[None]:
        """Within the block, changes are another author's: a drafter's, while his draft is merged."""
        outer, self._author = self._author, author
        try:
            yield
        finally:
            self._author = outer

    def forget(self) -> None:
        """Drops what was decided so far, as a rehearsal is dropped; memories are as the log has them again."""
        self.decided.clear()
        self._after = dict(self._before)
        self._pending.clear()
        self._counts.clear()
        self.fingerprints.clear()
        self.externals.clear()
        self.assume = None

    def reload(self) -> None:
        """Forgets what was read, because the log itself was changed."""
        self._before.clear()
        self._after.clear()
        self._pending.clear()
        self._counts.clear()
        self.core.forget()

    @property
    def author(self) -> Author:
        """Who asks."""
        assert self._author is not None
        return self._author

    @property
    def viewer(self) -> Actor:
        """Whose eyes decide what exists: those of the one who acts, also when he merges another's draft."""
        return self.author.actor

    # -- memories -----------------------------------------------------------------------------------

    def before(self, id: str) -> MemoryState | None:
        """A memory as it stands in the log."""
        if id not in self._before:
            self._enter(id, self.core.state_of(id))
        return self._before[id]

    def enter(self, id: str, events: Sequence[RecordedEvent]) -> None:
        """Says that these are all events of a memory, so that nobody reads them again."""
        if id not in self._before:
            self._enter(id, self.core.states.get(id) or fold(events, upcast=self.core.options.kinds.upcast))

    def begins(self, id: str) -> None:
        """Says that an id was drawn for a memory that is to begin, so that nobody looks for it in the log."""
        self._enter(id, None)

    def _enter(self, id: str, state: MemoryState | None) -> None:
        self._before[id] = self._after[id] = state
        self._versions[id] = 0 if state is None else state.revision

    def state(self, id: str) -> MemoryState | None:
        """A memory as it will stand after what was decided so far."""
        self.before(id)
        if pending := self._pending.pop(id, None):
            upcast = self.core.options.kinds.upcast
            self._after[id] = fold(map(self._provisional, pending), self._after[id], upcast=upcast)
        return self._after[id]

    def visible(self, id: str) -> MemoryState | None:
        """As `state`, but None for what the viewer may not see."""
        found = self.state(id)
        if found is None and self.assume is not None:
            self.assume(id)
            found = self.state(id)
        if found is None or not may_see(self.viewer, found.visibility):
            return None
        return found

    def keys(self) -> dict[str, int]:
        """The keys of the memories that were looked at."""
        return {id: state.origin.position for id, state in self._before.items() if state is not None}

    def is_memory(self, stream: str) -> bool:
        """True for the streams of memories."""
        return not stream.startswith("$")

    def version(self, stream: str) -> int:
        """The version of a stream in the log as it was decided upon."""
        if self.is_memory(stream):
            self.before(stream)
        elif stream not in self._versions:
            last = self.core.store.read_stream(stream, limit=1, backwards=True)
            self._versions[stream] = last[0].version if last else 0
        return self._versions[stream]

    # -- what a decision may look at ----------------------------------------------------------------

    def known(self, command: Command) -> Known:
        """The memories that a command names, and the facts that its rules need."""
        ids = [command.memory_id]
        leads_to: frozenset[str] | None = None
        match command:
            case Remember():
                ids = [link.target for link in command.links]
                leads_to = frozenset()  # nothing leads to what is not there yet
            case AddLink(target=target, relation=relation) | RemoveLink(target=target, relation=relation):
                ids.append(target)
                if RELATIONS[relation].single and (state := self.visible(command.memory_id)) is not None:
                    ids += [link.target for link in state.edges.links if link.relation is relation]
                if RELATIONS[relation].acyclic:
                    leads_to = self.reachable(target, relation)
            case Supersede(by=by):
                ids.append(by)
                leads_to = self.reachable(command.memory_id, Relation.SUPERSEDES)
            case Contradict(by=by) if by is not None:
                ids.append(by)
            case Merge(source=source):
                ids.append(source)
            case MarkDistinct(other=other) | Resolve(other=other):
                ids.append(other)
            case Unmerge():
                ids += self._survivors(command.memory_id)[:1]
            case _:
                pass
        found = {id: state for id in ids if (state := self.visible(id)) is not None}
        if isinstance(command, Unmerge) and ids[1:] and ids[1] in found:
            further = self._survivors(ids[1])
            found |= {id: state for id in further if (state := self.state(id)) is not None}
        taken: frozenset[str] = frozenset()
        if isinstance(command, Remember):
            if not command.own_id and command.memory_id not in self._before:
                self.begins(command.memory_id)
            elif self.state(command.memory_id) is not None:
                taken = frozenset({command.memory_id})
        return Known(found, leads_to, taken)

    def reachable(self, start: str, relation: Relation) -> frozenset[str]:
        """Ids to which a relation leads from a memory, through what the viewer may see.

        The memory itself is among them, and what it was merged into.
        """
        seen: set[str] = set()
        open_ids = [start, self._survivor(start)]
        while open_ids:
            id = open_ids.pop()
            if id in seen:
                continue
            seen.add(id)
            open_ids += [target for target in self._targets(id, relation) if target not in seen]
        return frozenset(seen)

    def _targets(self, id: str, relation: Relation) -> Sequence[str]:
        """Where edges of a relation lead from a memory, merges resolved."""
        if id in self._after:
            state = self.visible(id)
            targets = [] if state is None else [ln.target for ln in state.edges.links if ln.relation is relation]
        else:
            rows = self.tx.execute(
                "SELECT t.id FROM memories s JOIN links l ON l.source = s.key JOIN memories t ON t.key = l.target"
                " WHERE s.id = ? AND l.relation = ? AND " + self.sees("s") + " AND " + self.sees("t"),
                (id, relation.value),
            )
            targets = [row[0] for row in rows]
        return [self._survivor(target) for target in targets]

    def _survivors(self, id: str) -> list[str]:
        """The memories into which one was merged, the nearest first."""
        found: list[str] = []
        state = self.state(id)
        while state is not None and (into := state.lifecycle.merged_into) is not None and into not in found:
            found.append(into)
            state = self.state(into)
        return found

    def _survivor(self, id: str) -> str:
        """Where a memory lives on after merges, as far as the viewer may see."""
        seen = {id}
        while (into := self._merged_into(id)) is not None and into not in seen:
            id = into
            seen.add(id)
        return id

    def _merged_into(self, id: str) -> str | None:
        if id in self._after:
            state = self.state(id)
            into = None if state is None else state.lifecycle.merged_into
            return into if into is not None and self.visible(into) is not None else None
        row = self.tx.execute(
            "SELECT n.id FROM memories m JOIN memories n ON n.id = m.merged_into WHERE m.id = ? AND " + self.sees("n"),
            (id,),
        ).fetchone()
        return None if row is None else str(row[0])

    def sees(self, alias: str) -> str:
        """The audience of a row as SQL."""
        if sees_all(self.viewer):
            return "1"
        quoted = str(self.viewer).replace("'", "''")
        return (
            f"({alias}.lane = 0 OR ({alias}.lane = 2 AND EXISTS (SELECT 1 FROM json_each({alias}.audience)"
            f" WHERE value = '{quoted}')))"
        )

    # -- names --------------------------------------------------------------------------------------

    def rename(self, reserved: str, id: str) -> None:
        """From now on, a reserved id means a memory that was there already."""
        if reserved != id:
            self._names[reserved] = id

    def reprint(self, reserved: str, id: str) -> None:
        """What was taken to be said by a reserved id is said by another memory."""
        self.fingerprints = {digest: id if own == reserved else own for digest, own in self.fingerprints.items()}

    def renamed(self, command: Command) -> Command:
        """A command whose reserved ids mean what they turned out to be."""
        if not self._names:
            return command
        changed: dict[str, Any] = {}
        for name in ("memory_id", "target", "by", "source", "other", "keep"):
            value = getattr(command, name, None)
            if value in self._names and not (name == "memory_id" and isinstance(command, Remember)):
                changed[name] = self._names[value]
        if isinstance(command, Remember) and any(link.target in self._names for link in command.links):
            changed["links"] = tuple(
                Link(link.relation, self._names.get(link.target, link.target)) for link in command.links
            )
        if not changed:
            return command
        renamed: Command = replaced(command, **changed)
        return renamed

    # -- revisions ----------------------------------------------------------------------------------

    def check_revision(self, command: Command, expected: int) -> None:
        """Raises ConcurrencyError when a later event touched a field group that the command touches."""
        memory = self.before(command.memory_id)
        if memory is None or self.visible(command.memory_id) is None:
            raise NotFoundError(f"there is no memory {command.memory_id}", memory_id=command.memory_id)
        touched = memory.last_touched(LEGAL[type(command)].groups)
        if expected > memory.revision or touched > expected or expected < 1:
            raise ConcurrencyError(command.memory_id, expected, memory.revision)

    # -- identity -----------------------------------------------------------------------------------

    def fingerprint(self, created: MemoryCreated) -> str | None:
        """What the new memory says, as a digest; None when it can have no exact duplicate."""
        if created.redactions:
            return None
        if self._printed[0] is created:
            return self._printed[1]
        digest = fingerprint(
            self.core.options.kinds,
            kind=created.kind,
            attributes=created.attributes,
            title=created.title,
            content=created.content,
            links=created.links,
            visibility=created.visibility,
        )
        self._printed = (created, digest)
        return digest

    def digest_of(self, events: Sequence[RecordedEvent]) -> str | None:
        """The fingerprint of a memory that these events of its stream made, if the decision computed it already."""
        return self._digests.get(events[0].stream) if len(events) == 1 else None

    def fingerprint_of(self, memory: MemoryState) -> str | None:
        """What a memory that is there says, as a digest."""
        kinds = self.core.options.kinds
        return fingerprint(
            kinds,
            kind=memory.kind,
            attributes=kinds.upcast(memory.kind, memory.attributes.raw, memory.attributes.version),
            title=memory.text.title,
            content=memory.text.content,
            links=memory.edges.links,
            visibility=memory.visibility,
        )

    # -- what was decided ---------------------------------------------------------------------------

    def take(self, changes: Sequence[Change], occurred_at: datetime) -> None:
        """Adds decided changes, and lets the next command see them."""
        for change in changes:
            self.decided.append(Decided(change, self.author, occurred_at))
            if not self.is_memory(change.stream):
                continue
            self.before(change.stream)
            version = self._counts.get(change.stream, self._versions[change.stream]) + 1
            self._counts[change.stream] = version
            pending = _Pending(change, self.author, occurred_at, self.head + len(self.decided), version)
            self._pending.setdefault(change.stream, []).append(pending)
            if isinstance(change.event, MemoryCreated):
                self._remembered(change.stream, change.event)

    def _remembered(self, id: str, created: MemoryCreated) -> None:
        for pair in created.external_ids:
            self.externals.setdefault(pair, []).append(id)
        digest = self._digests[id] = self.fingerprint(created)
        if digest is not None:
            self.fingerprints.setdefault(digest, id)

    def _provisional(self, pending: _Pending) -> RecordedEvent:
        """The event as it will be recorded; its place and instant are those that the log will give it."""
        change, author, occurred_at, position, version = pending
        return RecordedEvent(
            change.event,
            position,
            change.stream,
            version,
            "",
            type(change.event).__name__,
            1,
            change.owner,
            "",
            None,
            occurred_at,
            self.now,
            author.actor.kind,
            author.actor,
            author.on_behalf_of,
            author.session_id,
            author.client,
        )

    def reads(self, drained: Sequence[Reads]) -> list[Written]:
        """Buffered reads as batches of their own."""
        written = []
        for reads in drained:
            last = max(at for _, _, at in reads.reads)
            event = MemoriesAccessed(reads.reads)
            author = Author(actor=reads.actor, session_id=reads.session_id)
            written.append(Written([Decided(Change(ACCESSES, event, ACCESSES), author, last)]))
        return written
