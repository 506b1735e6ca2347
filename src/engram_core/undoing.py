"""Undo and redo by batch: one mechanism for every event, made of field groups.

Whatever a batch did to a memory lies in groups of fields. Taking it back sets those groups to what they held before,
computed now and written down (`MemoryReverted`), so that a fold never has to look back. It is refused as soon as a
later batch touched one of the groups, or came to rest on what the batch began.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve as replaced

from engram_core.core import Terms
from engram_core.decider import Change
from engram_core.errors import ConflictError, ForbiddenError, IllegalTransitionError, NotFoundError
from engram_core.events import (
    ErasedPayload,
    MemoryAbsorbed,
    MemoryCreated,
    MemoryDeleted,
    MemoryErased,
    MemoryMerged,
    MemoryReverted,
    ProposalMerged,
    ProposalUndone,
    RecordedEvent,
)
from engram_core.folding import fold
from engram_core.kinds.relations import RELATIONS
from engram_core.log import Author
from engram_core.proposal import is_proposal_stream
from engram_core.receipts import Receipt
from engram_core.similar import twin_beside
from engram_core.state import Life, MemoryState
from engram_core.touching import TOUCHES, groups_touched
from engram_core.values import Link
from engram_core.vocab import FieldGroup, ReceiptStatus, StoredStatus
from engram_core.work import Work
from engram_core.writing import Writer

__all__ = ["Undoing"]

_GONE = (StoredStatus.DELETED, StoredStatus.ERASED, StoredStatus.WITHDRAWN)


class Undoing:
    """Takes batches back, and puts them forward again, over one writer."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def undo(self, author: Author, batch_id: str, terms: Terms) -> Receipt:
        """Takes the effects of a batch back.

        Raises: NotFoundError, ForbiddenError for others than users, ConflictError when something later touched or
            needed what it changed, IllegalTransitionError for tombstones and erasures.
        """
        return self._turn(author, batch_id, terms, redo=False)

    def redo(self, author: Author, batch_id: str, terms: Terms) -> Receipt:
        """Puts the effects of a batch that was undone back in place; takes the original batch's id."""
        return self._turn(author, batch_id, terms, redo=True)

    def _turn(self, author: Author, batch_id: str, terms: Terms, *, redo: bool) -> Receipt:
        if not author.actor.is_user:
            raise ForbiddenError("only users undo and redo", hint="propose the opposite change instead")

        def decide(work: Work) -> Receipt:
            tx = work.tx
            events = self._batch(tx, batch_id)
            turned = next((e.event for e in events if isinstance(e.event, MemoryReverted | ProposalUndone)), None)
            if turned is not None:
                # To undo an undo is to redo what it undid, and so on: there is one switch for each batch.
                first = self._batch(tx, turned.batch_id)
                return self._turned(work, tx, turned.batch_id, first, redo=redo is turned.redo)
            return self._turned(work, tx, batch_id, events, redo=redo)

        return self.writer.settle(author, terms, decide, MemoryReverted, ProposalUndone, about=batch_id)

    def _turned(
        self, work: Work, tx: sqlite3.Connection, batch_id: str, events: Sequence[RecordedEvent], *, redo: bool
    ) -> Receipt:
        streams: dict[str, list[RecordedEvent]] = {}
        for event in events:
            streams.setdefault(event.stream, []).append(event)
        now = self.writer.now()
        if not redo:
            self._check_unneeded(work, streams, batch_id)
        begun_again: dict[str, int] = {}
        withdrawn = MemoryReverted(batch_id, {FieldGroup.LIFECYCLE: Life(StoredStatus.WITHDRAWN)})
        _enter(work, streams)
        # Proposals last, so that they are settled at a later position than what they changed.
        for stream, own in sorted(streams.items(), key=lambda item: is_proposal_stream(item[0])):
            changes: Sequence[Change]
            if is_proposal_stream(stream):
                changes = self._proposal(stream, own, batch_id, redo=redo)
            elif work.is_memory(stream):
                changes = self._memory(work, own, withdrawn, begun_again, redo=redo)
            else:
                continue
            work.take(changes, now)
        for entry in work.decided:
            if isinstance(entry.change.event, MemoryReverted) and _shapes(entry.change.event):
                _check_shape(work, entry.change.stream, batch_id)
        for stream, undone_at in begun_again.items():
            _check_twin(work, stream, undone_at, batch_id)
        if not work.decided:
            return Receipt(status=ReceiptStatus.UNCHANGED, memory_id=events[0].stream)
        memory_id = next((stream for stream in streams if work.is_memory(stream)), None)
        receipt = Receipt(status=ReceiptStatus.CHANGED, memory_id=memory_id, batch_id="")
        result = self.writer.write(work, [receipt], causation_id=batch_id)
        return replaced(result.receipts[0], events=tuple(e.event for e in result.events))

    def _batch(self, tx: sqlite3.Connection, batch_id: str) -> tuple[RecordedEvent, ...]:
        row = tx.execute("SELECT position FROM batches WHERE batch_id = ?", (batch_id,)).fetchone()
        events = () if row is None else self.writer.log.batch(row[0])
        if not events:
            raise NotFoundError(f"there is no batch {batch_id}", batch_id=batch_id)
        return events

    def _memory(
        self,
        work: Work,
        own: list[RecordedEvent],
        withdrawn: MemoryReverted,
        begun_again: dict[str, int],
        *,
        redo: bool,
    ) -> tuple[Change, ...]:
        """What sets one memory back to where it was before the batch; or, for redo, before the undo.

        What began in the batch is `withdrawn`. What begins again is told to `begun_again`, with the position of the
        undo.
        """
        stream, batch_id = own[0].stream, withdrawn.batch_id
        for event in own:
            if isinstance(event.event, MemoryDeleted | MemoryErased | ErasedPayload):
                raise IllegalTransitionError(
                    "deletion and erasure have no undo", hint="remember it anew", memory_id=stream, batch_id=batch_id
                )
        upcast = self.writer.options.kinds.upcast
        current = work.state(stream)
        assert current is not None
        # Where nothing came after the batch, its own events and what was before it tell all.
        is_last = not redo and current.revision == own[-1].version
        history = own if is_last else self.writer.log.stream(stream)
        turns = [e for e in history if isinstance(e.event, MemoryReverted) and e.event.batch_id == batch_id]
        undone = bool(turns) and isinstance(turns[-1].event, MemoryReverted) and not turns[-1].event.redo
        _check_turn(undone, batch_id, redo=redo)
        groups = frozenset().union(*(groups_touched(e.event, e.stream) for e in own))
        start = (turns[-1] if redo else own[0]).version
        began = any(isinstance(e.event, MemoryCreated) for e in own)
        if current.lifecycle.stored in _GONE and not (redo and began):
            raise IllegalTransitionError(
                f"{stream} is {current.lifecycle.stored}",
                hint="nothing is undone or redone on it" if began or not turns else "redo its beginning first",
                memory_id=stream,
                batch_id=batch_id,
            )
        if not is_last:
            self._check_untouched(history, groups, start, batch_id)
        if began and not redo:
            return (Change(stream, withdrawn, stream),)
        if began:
            begun_again[stream] = turns[-1].position
            groups = frozenset({FieldGroup.LIFECYCLE})
        before = self.writer.log.stream(stream, upto=start - 1) if is_last else history
        earlier = fold((e for e in before if e.version < start), upcast=upcast)
        assert earlier is not None
        restored = {g: earlier.group(g) for g in sorted(groups) if earlier.group(g) != current.group(g)}
        separated: tuple[str, ...] = ()
        again: list[Change] = []
        if groups & TOUCHES[MemoryAbsorbed]:
            separated = tuple(source for source in current.absorbed if source not in earlier.absorbed)
            again = _absorbed_again(stream, earlier, current)
        return (Change(stream, MemoryReverted(batch_id, restored, separated, redo), stream), *again)

    def _proposal(self, stream: str, own: list[RecordedEvent], batch_id: str, *, redo: bool) -> tuple[Change, ...]:
        merged = [e.event for e in own if isinstance(e.event, ProposalMerged)]
        if not merged:
            raise IllegalTransitionError("a proposal is not undone", hint="withdraw or reject it", batch_id=batch_id)
        turns = [e.event for e in self.writer.log.stream(stream) if isinstance(e.event, ProposalUndone)]
        mine = [event for event in turns if event.batch_id == batch_id]
        _check_turn(bool(mine) and not mine[-1].redo, batch_id, redo=redo)
        drafts = tuple(number for event in merged for number in event.drafts)
        return (Change(stream, ProposalUndone(batch_id, drafts, redo), stream),)

    def _check_untouched(
        self, history: Sequence[RecordedEvent], groups: frozenset[FieldGroup], start: int, batch_id: str
    ) -> None:
        """Refuses when another batch changed one of the groups since, and is not itself undone by now.

        What another batch did counts for nothing as long as it is in effect now if and only if it was so at `start`.
        """
        parts = _parts(history)
        then = _in_effect(history, parts, upto=start - 1)
        now = _in_effect(history, parts, upto=history[-1].version)
        for later in history:
            part = parts[later.batch_id]
            if later.version <= start or part == batch_id or (part in then) is (part in now):
                continue
            if touched := groups_touched(later.event, later.stream) & groups:
                listed = ", ".join(sorted(touched))
                verb = "redo" if part in then else "undo"
                raise ConflictError(
                    f"{later.stream} has changed since, in {listed} (batch {part})",
                    hint=f"{verb} that batch first",
                    memory_id=later.stream,
                    batch_id=batch_id,
                    blocking_batch=part,
                )

    def _check_unneeded(self, work: Work, streams: Mapping[str, list[RecordedEvent]], batch_id: str) -> None:
        """A beginning cannot be taken back once other memories point to it."""
        begun = {
            own[0].stream: own[-1].position
            for own in streams.values()
            if any(isinstance(e.event, MemoryCreated) for e in own)
        }
        rows = work.tx.execute(_NEEDED, (json.dumps(list(begun.items())),)) if begun else ()
        needing: dict[str, list[str]] = {}
        for id, by in rows:
            if by not in streams:
                needing.setdefault(id, []).append(by)
        for id in begun:
            if others := needing.get(id):
                raise ConflictError(
                    f"{id} is needed by {others[0]}" + (f" and {len(others) - 1} more" if others[1:] else ""),
                    hint="unlink or undo those first, or archive it",
                    memory_id=id,
                    batch_id=batch_id,
                )


def _enter(work: Work, streams: Mapping[str, list[RecordedEvent]]) -> None:
    """Memories that are what a batch made of them, and nothing else, are made of its events; all others are read."""
    begun = {stream: own for stream, own in streams.items() if own[0].version == 1 and work.is_memory(stream)}
    rows = work.tx.execute(_REVISIONS, (json.dumps(list(begun)),)) if begun else ()
    for stream, revision in rows:
        if revision == begun[stream][-1].version:
            work.enter(stream, begun[stream])


_REVISIONS = "SELECT m.id, m.revision FROM json_each(?) j CROSS JOIN memories m ON m.id = j.value"

_LIVE = "('active', 'archived')"
_NEEDED = f"""
WITH begun AS (SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS since FROM json_each(?)),
    placed AS (SELECT b.id, b.since, m.key FROM begun b CROSS JOIN memories m ON m.id = b.id)
SELECT b.id, s.id FROM placed b CROSS JOIN links l ON l.target = b.key AND l.from_position > b.since
    JOIN memories s ON s.key = l.source WHERE s.stored IN {_LIVE}
UNION SELECT b.id, o.id FROM placed b CROSS JOIN supersessions x ON x.new = b.key AND x.from_position > b.since
    JOIN memories o ON o.key = x.old
UNION SELECT b.id, m.id FROM begun b CROSS JOIN memories m ON m.merged_into = b.id
UNION SELECT b.id, r.id FROM begun b CROSS JOIN memories r ON json_extract(r.attributes, '$.subject_id') = b.id
    WHERE r.kind = 'relationship' AND r.stored IN {_LIVE}
UNION SELECT b.id, r.id FROM begun b CROSS JOIN memories r ON json_extract(r.attributes, '$.object_id') = b.id
    WHERE r.kind = 'relationship' AND r.stored IN {_LIVE}
ORDER BY 1, 2
"""


def _shapes(event: MemoryReverted) -> bool:
    """True for what brings edges or a merge back."""
    life = event.restored.get(FieldGroup.LIFECYCLE)
    return FieldGroup.EDGES in event.restored or (isinstance(life, Life) and life.merged_into is not None)


def _check_turn(undone: bool, batch_id: str, *, redo: bool) -> None:
    if undone is not redo:
        state = "is undone already" if undone else "was not undone"
        raise IllegalTransitionError(f"the batch {batch_id} {state}", batch_id=batch_id)


def _parts(history: Iterable[RecordedEvent]) -> dict[str, str]:
    """To which original batch each batch of a stream belongs: an undo or redo belongs to what it turned."""
    parts: dict[str, str] = {}
    for e in history:
        if isinstance(e.event, MemoryReverted):
            parts[e.batch_id] = e.event.batch_id
        else:
            parts.setdefault(e.batch_id, e.batch_id)
    return parts


def _in_effect(history: Iterable[RecordedEvent], parts: dict[str, str], *, upto: int) -> set[str]:
    """The batches whose effects stand after a version of the stream."""
    standing: set[str] = set()
    for e in history:
        if e.version > upto:
            break
        if isinstance(e.event, MemoryReverted) and not e.event.redo:
            standing.discard(e.event.batch_id)
        elif isinstance(e.event, MemoryReverted) or parts[e.batch_id] == e.batch_id:
            standing.add(parts[e.batch_id])
    return standing


def _check_shape(work: Work, id: str, batch_id: str) -> None:
    """What comes back must still fit: no circle of edges or merges, no second edge of a pair."""
    before, after = work.before(id), work.state(id)
    if before is None or after is None:
        return
    problem = ""
    for link in after.edges.links.keys() - before.edges.links.keys():
        rule = RELATIONS[link.relation]
        other = work.state(link.target)
        if rule.acyclic and id in work.reachable(link.target, link.relation):
            problem = f'the edge "{link.relation}" from {id} to {link.target} would close a circle'
        elif rule.symmetric and other is not None and Link(link.relation, id) in other.edges.links:
            problem = f'there is an edge "{link.relation}" from {link.target} to {id} by now'
    survivor, seen = after.lifecycle.merged_into, {id}
    while survivor is not None and survivor not in seen:
        seen.add(survivor)
        state = work.state(survivor)
        survivor = None if state is None else state.lifecycle.merged_into
    if survivor is not None:
        problem = f"{id} and {survivor} would be merged into each other"
    if problem:
        raise ConflictError(problem, hint="undo what came later first", memory_id=id, batch_id=batch_id)


def _check_twin(work: Work, id: str, undone_at: int, batch_id: str) -> None:
    """What was said anew while it was gone is not said twice."""
    memory = work.state(id)
    twin = None if memory is None else twin_beside(work, memory, undone_at - 1, work.now)
    if twin is not None:
        raise ConflictError(
            f"{twin} says exactly the same by now",
            hint="undo or delete that one first",
            memory_id=id,
            batch_id=batch_id,
            other_id=twin,
        )


def _absorbed_again(stream: str, earlier: MemoryState, current: MemoryState) -> list[Change]:
    """What a merge gave comes back in events that its source owns."""
    changes = []
    for source, given in earlier.absorbed.items():
        if source not in current.absorbed:
            if not given.through:
                changes.append(Change(stream, MemoryMerged(source), stream))
            changes.append(Change(stream, MemoryAbsorbed(source, given.aliases, given.tags, given.through), source))
    return changes
