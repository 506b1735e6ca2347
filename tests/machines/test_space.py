"""Whole spaces agree with a naive one, and with each other, whatever users do in whatever order."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engram_core import MemorySpace, NotFoundError, Session, system, user
from engram_core.errors import EngramError
from engram_core.kinds import KINDS
from engram_core.results import Memory
from engram_core.testing import FrozenClock
from engram_core.values import Actor
from tests.machines import naive_reads
from tests.machines.naive import NaiveSpace, Refused
from tests.machines.steps import BOT, FIRST, START, any_step, named, placed, steps, which

USERS = (user("ann"), user("bob"))
LISTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"status": None},
    {"status": ("expired", "superseded")},
    {"kind": "fact"},
    {"kind": "project", "where": {"status": "active"}},
    {"tags": ["two words"]},
    {"any_tags": ["a", "b"], "status": ("archived", "active")},
    {"min_confidence": 0.6},
    {"created": (START, START.replace(year=2027))},
)


def fields(m: Memory[Any]) -> dict[str, Any]:
    """One memory as the naive space shows it."""
    raw = KINDS.unstructure(m.attributes)
    return {
        "id": m.id,
        "kind": m.kind,
        "attributes": {
            n: sorted(set(v)) if isinstance(v, list | tuple) else v for n, v in raw.items() if v not in (None, [], ())
        },
        "title": m.title,
        "content": m.content,
        "tags": sorted(m.tags),
        "links": [(link.relation.value, link.target) for link in m.links],
        "evidence": [(e.type.value, e.value, e.note) for e in m.evidence],
        "confidence": m.confidence,
        "last_confirmed_at": m.last_confirmed_at,
        "pinned": m.pinned,
        "user_weight": m.user_weight,
        "lifetime": (m.lifetime.kind.value, m.lifetime.expires_at),
        "visibility": (m.visibility.kind.value, {str(a) for a in m.visibility.actors}),
        "validity": (m.validity.valid_from, m.validity.valid_to),
        "external_ids": list(m.external_ids),
        "created_at": m.created_at,
        "updated_at": m.updated_at,
        "source": str(m.source.actor),
        "status": m.status.value,
        "effective_confidence": m.effective_confidence,
        "importance": m.importance,
        "flags": sorted(m.flags),
    }


def close(value: dict[str, Any]) -> dict[str, Any]:
    """The same with figures as near as arithmetic may differ."""
    return {name: round(v, 9) if isinstance(v, float) else v for name, v in value.items()}


class SpaceMachine(RuleBasedStateMachine):
    """Runs every verb three times: in memory, in a file, and on plain dicts."""

    folder: Path

    @initialize(first=st.lists(steps["remember"], min_size=1, max_size=5))
    def begin(self, first: list[Any]) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.clock = FrozenClock(START)
        self.spaces = [MemorySpace.in_memory(clock=self.clock), self.opened()]
        self.naive = NaiveSpace(self.clock.now)
        self.ids: list[str] = []
        self.drawn = 0
        self.batches: list[list[str]] = []
        for step in (*FIRST, *first):
            self.do(USERS[0], [step])

    def opened(self) -> MemorySpace:
        return MemorySpace.open(self.folder / "space.db", clock=self.clock, durability="normal")

    def teardown(self) -> None:
        try:
            if hasattr(self, "spaces"):
                self.verify()
        finally:
            for space in getattr(self, "spaces", ()):
                space.close()
            if hasattr(self, "folder"):
                shutil.rmtree(self.folder)

    def sessions(self, actor: Actor) -> list[Session]:
        return [space.session(actor, record=False) for space in self.spaces]

    # -- writing ----------------------------------------------------------------------------------------

    def do(self, actor: Actor, wanted: list[Any]) -> None:
        """The same steps everywhere, as one batch where there are several; all answer alike."""
        todo = []
        for step in wanted:
            verb, args, options = placed(step, self.ids)
            if verb == "remember":
                self.drawn += 1
                options = {**options, "id": named(self.drawn)}
            todo.append((verb, args, options))
        expected: Any
        try:
            expected = self.naive.run(str(actor), todo)
        except Refused as refused:
            # Arguments that fit nothing are refused while a block collects, before its first step is judged.
            expected = refused.names | ({"InvalidAttributesError"} if len(todo) > 1 else set())
        receipts: list[Any] = []
        for session in self.sessions(actor):
            answer, batch = self.asked(session, todo)
            if isinstance(expected, set):
                assert isinstance(answer, Exception), (expected, answer)
                assert type(answer).__name__ in expected, (expected, answer)
                receipts.append((type(answer), str(answer)))
            else:
                assert expected == answer, answer
                receipts.append(batch)
        if isinstance(expected, set):
            assert receipts[0] == receipts[1]
            return
        self.ids += [id for status, id in expected if status == "created"]
        if None not in receipts:
            self.batches.append(receipts)
        assert len(self.batches) == len(self.naive.batches)

    @staticmethod
    def asked(session: Session, todo: list[Any]) -> tuple[Any, str | None]:
        """What a space answers, or the error; and the batch that it wrote."""
        try:
            if len(todo) == 1:
                ((verb, args, options),) = todo
                receipt = getattr(session, verb)(*args, **options)
                return [(receipt.status.value, receipt.memory_id)], receipt.batch_id
            with session.batch() as batch:
                for verb, args, options in todo:
                    getattr(batch, verb)(*args, **options)
        except EngramError as error:
            return error, None
        return [(r.status.value, r.memory_id) for r in batch.receipts], batch.batch_id

    @rule(step=any_step, actor=st.sampled_from(USERS))
    def one(self, step: Any, actor: Actor) -> None:
        self.do(actor, [step])

    @rule(step=any_step)
    def another(self, step: Any) -> None:
        self.do(USERS[0], [step])

    @rule(step=st.one_of(steps["lives"], steps["people"], steps["belief"]))
    def grave(self, step: Any) -> None:
        self.do(USERS[0], [step])

    @rule(several=st.lists(any_step, min_size=2, max_size=4))
    def batch(self, several: list[Any]) -> None:
        self.do(USERS[0], several)

    @precondition(lambda self: self.batches)
    @rule(back=st.integers(0, 5), redo=st.booleans())
    def turn(self, back: int, redo: bool) -> None:
        number = max(0, len(self.batches) - 1 - back)
        expected: Any = "changed"
        try:
            self.naive.turn(number, redo=redo)
        except Refused as refused:
            expected = refused.names
        batches = []
        for session, batch in zip(self.sessions(USERS[0]), self.batches[number], strict=True):
            try:
                receipt = session.redo(batch) if redo else session.undo(batch)
                answer: str = receipt.status.value
                batches.append(str(receipt.batch_id))
            except EngramError as error:
                answer = type(error).__name__
            assert answer in (expected if isinstance(expected, set) else {expected}), (answer, expected)
        if batches:
            self.batches.append(batches)
        assert len(self.batches) == len(self.naive.batches)

    @rule(hours=st.sampled_from((1, 25, 24 * 8, 24 * 100, 24 * 400)))
    def wait(self, hours: float) -> None:
        self.clock.move(seconds=3600 * hours)

    # -- reading ----------------------------------------------------------------------------------------

    @invariant()
    def agrees(self) -> None:
        for viewer in (USERS[0], BOT):
            for session in self.sessions(viewer):
                for id in self.ids:
                    try:
                        expected: Any = close(naive_reads.get(self.naive, str(viewer), id))
                    except Refused:
                        with pytest.raises(NotFoundError):
                            session.get(id)
                    else:
                        actual = close(fields(session.get(id)))
                        assert expected == actual, {
                            n: (expected[n], actual[n]) for n in expected if expected[n] != actual[n]
                        }
                assert naive_reads.tags(self.naive, str(viewer)) == session.tags()

    @rule(filters=st.sampled_from(LISTINGS), limit=st.integers(1, 4))
    def listing(self, filters: dict[str, Any], limit: int) -> None:
        for viewer in (USERS[0], BOT):
            expected = naive_reads.find(self.naive, str(viewer), **filters)
            for session in self.sessions(viewer):
                assert len(expected) == session.count(**filters)
                page = session.find(limit=limit, **filters)
                found = [m.id for m in page]
                while page.next is not None:
                    assert limit == len(page)
                    page = session.find(limit=limit, after=page.next, **filters)
                    found += [m.id for m in page]
                assert expected == found

    @precondition(lambda self: self.ids)
    @rule(number=which, depth=st.integers(1, 3))
    def walk(self, number: int, depth: int) -> None:
        id = self.ids[number % len(self.ids)]
        for viewer in (USERS[0], BOT):
            for session in self.sessions(viewer):
                try:
                    expected = naive_reads.neighbours(self.naive, str(viewer), id, depth)
                except Refused:
                    with pytest.raises(NotFoundError):
                        session.neighbours(id)
                    continue
                found = session.neighbours(id, depth=depth)
                assert expected == {(n.memory.id, n.relation, n.direction, n.depth) for n in found}

    def everything(self, session: Session) -> list[Any]:
        """All that a viewer reads, to the last figure."""
        some = [m.id for m in session.find_all(status=None)]
        read: list[Any] = [repr(m) + repr(fields(m)) + str(m.revision) for m in map(session.get, some)]
        read += [session.neighbours(id, depth=2) for id in some]
        read += [(session.history(id), repr(session.why(id)), session.scores(id)) for id in some]
        read += [session.tags(), session.stats(), session.reviews(limit=100), session.find(order="importance")]
        for question in ("oolong tea", "Alice Al", "narrative two words"):
            read += [[(hit.id, hit.score, dict(hit.explanation)) for hit in session.recall(question)]]
        # What no two spaces share: the names of batches and events.
        return [self.nameless(repr(one)) for one in read]

    def nameless(self, text: str) -> str:
        for number, batches in enumerate(self.batches):
            for batch in batches:
                text = text.replace(batch, f"batch {number}")
        return text

    @rule()
    def compare(self) -> None:
        """Every read gives the same in both spaces, for a user and for an assistant."""
        for viewer in (USERS[0], BOT):
            one, other = (self.everything(session) for session in self.sessions(viewer))
            assert one == other

    @rule()
    def reopen(self) -> None:
        """Closing and opening a file changes nothing that is read from it."""
        before = self.everything(self.sessions(USERS[0])[1])
        self.spaces[1].close()
        self.spaces[1] = self.opened()
        assert before == self.everything(self.sessions(USERS[0])[1])

    def verify(self) -> None:
        """Positions have no gap, and the tables are what a replay of the log gives."""
        for space in self.spaces:
            assert list(range(1, space.position + 1)) == [event.position for event in space.events()]
            assert () == tuple(space.maintenance(system("test")).verify().problems)

    @precondition(lambda self: len(self.batches) > 9)
    @rule()
    def rebuild(self) -> None:
        """Tables made anew from the log answer as those before."""
        session = self.sessions(USERS[0])[1]
        before = self.everything(session)
        self.spaces[1].maintenance(system("test")).rebuild()
        assert before == self.everything(session)


BRIEF = settings(max_examples=20, stateful_step_count=25, deadline=None)
SOAK = settings(max_examples=2_000, stateful_step_count=50, deadline=None)


def test_users_commands() -> None:
    """Stores, reads and the naive model agree after each of a user's commands."""
    run_state_machine_as_test(SpaceMachine, settings=BRIEF)


@pytest.mark.slow
def test_users_commands_for_long() -> None:
    """The same, for a while."""
    run_state_machine_as_test(SpaceMachine, settings=SOAK)
