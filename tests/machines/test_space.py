"""Whole spaces agree with a naive one, and with each other, whatever users do in whatever order."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from engram_core import MemorySpace, NotFoundError, user
from engram_core.kinds import KINDS
from engram_core.ports import Clock
from engram_core.results import Memory
from engram_core.testing.spaces import MemorySpaceMachine
from engram_core.testing.steps import BOT, START, Step
from engram_core.values import Actor
from tests.machines import naive_reads
from tests.machines.naive import NaiveSpace, Refused

ANN = user("ann")
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


class NaiveMachine(MemorySpaceMachine):
    """Takes every step on plain dicts, too."""

    def __init__(self) -> None:
        super().__init__()
        self.naive = NaiveSpace(self.clock.now)

    def expect(self, actor: Actor, steps: Sequence[Step], answer: Any) -> None:
        try:
            expected = self.naive.run(str(actor), steps)
        except Refused as refused:
            # Arguments that fit nothing are refused while a block collects, before its first step is judged.
            names = refused.names | ({"InvalidAttributesError"} if len(steps) > 1 else set())
            assert type(answer).__name__ in names, answer
        else:
            assert expected == answer

    def expect_turn(self, number: int, redo: bool, answer: str) -> None:
        expected = {"changed"}
        try:
            self.naive.turn(number, redo=redo)
        except Refused as refused:
            expected = refused.names
        assert answer in expected

    # -- reading ----------------------------------------------------------------------------------------

    @invariant()
    def agrees(self) -> None:
        for viewer in (ANN, BOT):
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
        for viewer in (ANN, BOT):
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
    @rule(number=st.integers(0, 11), depth=st.integers(1, 3))
    def walk(self, number: int, depth: int) -> None:
        id = self.ids[number % len(self.ids)]
        for viewer in (ANN, BOT):
            for session in self.sessions(viewer):
                try:
                    expected = naive_reads.neighbours(self.naive, str(viewer), id, depth)
                except Refused:
                    with pytest.raises(NotFoundError):
                        session.neighbours(id)
                    continue
                found = session.neighbours(id, depth=depth)
                assert expected == {(n.memory.id, n.relation, n.direction, n.depth) for n in found}


def reopened(space: MemorySpace, clock: Clock) -> MemorySpace:
    """The same file again."""
    path = space._engine.store.path  # type: ignore[attr-defined]
    space.close()
    return MemorySpace.open(path, clock=clock, durability="normal")


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory for many small files."""
    path = Path(tempfile.mkdtemp())
    yield path
    shutil.rmtree(path)


def files(directory: Path) -> Callable[[Clock], MemorySpace]:
    """Makes spaces, each in a file of its own."""
    numbers = count()
    return lambda clock: MemorySpace.open(directory / f"{next(numbers)}.db", clock=clock, durability="normal")


def naive_machine(directory: Path) -> type[NaiveMachine]:
    """The machine over files and the naive space."""

    class Machine(NaiveMachine):
        make_space = staticmethod(files(directory))
        reopen_space = staticmethod(reopened)

    return Machine


BRIEF = settings(max_examples=12, stateful_step_count=20, deadline=None)
SOAK = settings(max_examples=2_000, stateful_step_count=50, deadline=None)


def test_users_commands(directory: Path) -> None:
    """A file, a space in memory and the naive model agree after each of a user's commands."""
    run_state_machine_as_test(naive_machine(directory), settings=BRIEF)


@pytest.mark.slow
def test_users_commands_for_long(directory: Path) -> None:
    """The same, for a while."""
    run_state_machine_as_test(naive_machine(directory), settings=SOAK)
