"""A Hypothesis state machine that holds a whole space to one in memory, and to its own log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engram_core.errors import EngramError, NotFoundError
from engram_core.ports import Clock
from engram_core.session import Session
from engram_core.space import MemorySpace
from engram_core.testing.clocks import FrozenClock
from engram_core.testing.steps import BOT, FIRST, START, STEPS, Step, any_step, named, placed
from engram_core.values import Actor, system, user

__all__ = ["MemorySpaceMachine", "memory_space_machine"]

_USERS: Final = (user("ann"), user("bob"))
_QUESTIONS: Final = ("oolong tea", "Alice Al", "narrative two words")
_WAITS: Final = (1, 25, 24 * 8, 24 * 100, 24 * 400)
_SHOWN: Final = (
    "id", "kind", "attributes", "title", "content", "tags", "links", "evidence", "confidence", "last_confirmed_at",
    "pinned", "user_weight", "lifetime", "visibility", "validity", "external_ids", "created_at", "source", "status",
    "flags",
)  # fmt: skip


def memory_space_machine(
    make_space: Callable[[Clock], MemorySpace],
    *,
    reopen: Callable[[MemorySpace, Clock], MemorySpace] | None = None,
) -> type[MemorySpaceMachine]:
    """A fresh state machine class; its `TestCase` runs it, with settings of your own if you set them on it.

    Users give random commands, single and in batches, undo and redo them, while the clock moves on. After each, a
    space in memory that was given the same has answered the same, and each of both shows what a user and an assistant
    may read alike; positions have no gap; closing, opening and rebuilding change nothing; the log verifies.

    Args:
        make_space: Gives a new, empty space that goes by a clock, as its store does.
        reopen: Closes a space and opens its log again; without it, that is not tried.
    """

    class Machine(MemorySpaceMachine):
        pass

    Machine.make_space = staticmethod(make_space)
    Machine.reopen_space = staticmethod(reopen) if reopen else None
    Machine.__name__ = Machine.__qualname__ = "MemorySpaceMachine"
    return Machine


class MemorySpaceMachine(RuleBasedStateMachine):
    """The machine of `memory_space_machine`; a subclass may say what it expects of every command.

    Attributes:
        clock: By which the spaces go.
        spaces: The one in memory, and the one that is tested.
        ids: Of the memories that were begun, in order.
        batches: What was written, as the batch ids of both spaces.
    """

    make_space: Callable[[Clock], MemorySpace]
    reopen_space: Callable[[MemorySpace, Clock], MemorySpace] | None = None

    def __init__(self) -> None:
        super().__init__()
        self.clock = FrozenClock(START)
        self.spaces: list[MemorySpace] = []
        self.ids: list[str] = []
        self.batches: list[tuple[str, ...]] = []
        self._numbers = count(1)

    @initialize(first=st.lists(STEPS["remember"], min_size=1, max_size=5))
    def begin(self, first: list[Step]) -> None:
        """Two new spaces, with some memories."""
        self.spaces = [MemorySpace.in_memory(clock=self.clock), type(self).make_space(self.clock)]
        for step in (*FIRST, *first):
            self.do(_USERS[0], [step])

    def teardown(self) -> None:
        """Positions have no gap, and the tables are what a replay of the log gives."""
        try:
            for space in self.spaces:
                assert list(range(1, space.position + 1)) == [event.position for event in space.events()]
                assert tuple(space.maintenance(system("test")).verify().problems) == ()
        finally:
            for space in self.spaces:
                space.close()

    def sessions(self, actor: Actor) -> list[Session]:
        """An actor's sessions in both spaces; what he reads is not recorded."""
        return [space.session(actor, record=False) for space in self.spaces]

    # -- writing

    def do(self, actor: Actor, steps: Sequence[Step]) -> None:
        """Takes steps in both spaces, as one batch where there are several; both answer alike."""
        todo = []
        for step in steps:
            verb, args, options = placed(step, self.ids)
            todo.append((verb, args, {**options, "id": named(next(self._numbers))} if verb == "remember" else options))
        answers, batches = zip(*(_asked(session, todo) for session in self.sessions(actor)), strict=True)
        first = answers[0]
        assert all(_told(first) == _told(answer) for answer in answers), answers
        self.expect(actor, todo, first)
        if not isinstance(first, EngramError):
            self.ids += [id for status, id in first if status == "created"]
            if batches[0] is not None:
                self.batches.append(batches)

    def expect(self, actor: Actor, steps: Sequence[Step], answer: list[tuple[str, str]] | EngramError) -> None:
        """Called with what both spaces answered: status and id of each step, or the error. Raises what is wrong."""

    def expect_turn(self, number: int, redo: bool, answer: str) -> None:
        """Called with what an undo or redo led to: a status, or the name of the error. Raises what is wrong."""

    @rule(step=any_step, actor=st.sampled_from(_USERS))
    def one(self, step: Step, actor: Actor) -> None:
        """One of two users takes a step."""
        self.do(actor, [step])

    @rule(step=any_step)
    def another(self, step: Step) -> None:
        """The same user as ever takes a step."""
        self.do(_USERS[0], [step])

    @rule(step=st.one_of(STEPS["lives"], STEPS["people"], STEPS["belief"]))
    def grave(self, step: Step) -> None:
        """A step that changes much."""
        self.do(_USERS[0], [step])

    @rule(several=st.lists(any_step, min_size=2, max_size=4))
    def batch(self, several: list[Step]) -> None:
        """Several steps that take effect together."""
        self.do(_USERS[0], several)

    @precondition(lambda self: self.batches)
    @rule(back=st.integers(0, 5), redo=st.booleans())
    def turn(self, back: int, redo: bool) -> None:
        """Undo or redo of one of the last batches."""
        number = max(0, len(self.batches) - 1 - back)
        answers, batches = [], []
        for session, batch in zip(self.sessions(_USERS[0]), self.batches[number], strict=True):
            try:
                receipt = session.redo(batch) if redo else session.undo(batch)
                answers.append(receipt.status.value)
                batches.append(str(receipt.batch_id))
            except EngramError as error:
                answers.append(type(error).__name__)
        assert answers[0] == answers[-1]
        self.expect_turn(number, redo, answers[0])
        if batches:
            self.batches.append(tuple(batches))

    @precondition(lambda self: self.batches)
    @rule()
    def there_and_back(self) -> None:
        """Undo and redo together change nothing that is shown but revisions and instants of change."""
        number = len(self.batches) - 1
        before = [self.shown(session) for session in self.sessions(_USERS[0])]
        length = len(self.batches)
        self.turn(back=0, redo=False)
        if len(self.batches) > length:
            self.turn(back=len(self.batches) - 1 - number, redo=True)
            assert before == [self.shown(session) for session in self.sessions(_USERS[0])]

    @rule(hours=st.sampled_from(_WAITS))
    def wait(self, hours: float) -> None:
        """Time passes."""
        self.clock.move(seconds=3600 * hours)

    # -- reading

    def shown(self, session: Session) -> list[Any]:
        """What undo and redo leave as it was."""
        return [tuple(getattr(m, name) for name in _SHOWN) for m in session.find_all(status=None)]

    def everything(self, session: Session) -> list[str]:
        """All that a viewer reads, to the last figure."""
        some = [m.id for m in session.find_all(status=None)]
        read: list[Any] = [(m, m.revision, m.updated_at, m.importance) for m in map(session.get, some)]
        read += [self.shown(session), [m.effective_confidence for m in session.find_all(status=None)]]
        read += [(session.neighbours(id, depth=2), session.scores(id)) for id in some]
        read += [(session.history(id), session.why(id)) for id in some]
        read += [session.tags(), session.stats(), session.reviews(limit=100), session.find(order="importance")]
        read += [[(hit.id, hit.score, hit.explanation) for hit in session.recall(q)] for q in _QUESTIONS]
        return [self._nameless(repr(one)) for one in read]

    def _nameless(self, text: str) -> str:
        """Without the names of batches, which no two spaces share."""
        for number, batches in enumerate(self.batches):
            for batch in batches:
                text = text.replace(batch, f"batch {number}")
        return text

    @invariant()
    def shows_alike(self) -> None:
        """Both spaces show the same memories."""
        for viewer in (_USERS[0], BOT):
            found = [self.shown(session) for session in self.sessions(viewer)]
            assert found[:1] == found[-1:]

    @invariant()
    def hides_alike(self) -> None:
        """What an assistant finds and what he may get are the same memories, in either space."""
        for session in self.sessions(BOT):
            found = {m.id for m in session.find_all(status=None)}
            assert found == {id for id in self.ids if _is_there(session, id)}
            assert len(found) == session.count(status=None)

    @rule()
    def compare(self) -> None:
        """Both spaces give the same answer to every read."""
        for viewer in (_USERS[0], BOT):
            one, other = (self.everything(session) for session in self.sessions(viewer))
            assert one == other

    @precondition(lambda self: type(self).reopen_space is not None)
    @rule()
    def open_again(self) -> None:
        """Closing and opening the log changes nothing that is read from it."""
        reopen = type(self).reopen_space
        assert reopen is not None
        before = self.everything(self.sessions(_USERS[0])[1])
        self.spaces[1] = reopen(self.spaces[1], self.clock)
        assert before == self.everything(self.sessions(_USERS[0])[1])

    @precondition(lambda self: len(self.batches) > 12)
    @rule()
    def rebuild(self) -> None:
        """Tables made anew from the log answer as those before."""
        session = self.sessions(_USERS[0])[1]
        before = self.everything(session)
        self.spaces[1].maintenance(system("test")).rebuild()
        assert before == self.everything(session)


def _asked(session: Session, steps: Sequence[Step]) -> tuple[list[tuple[str, str]] | EngramError, str | None]:
    """What a space answers, and the batch that it wrote."""
    try:
        if len(steps) == 1:
            ((verb, args, options),) = steps
            receipts = [getattr(session, verb)(*args, **options)]
            batch_id = receipts[0].batch_id
        else:
            with session.batch() as batch:
                for verb, args, options in steps:
                    getattr(batch, verb)(*args, **options)
            receipts, batch_id = list(batch.receipts), batch.batch_id
    except EngramError as error:
        return error, None
    return [(receipt.status.value, str(receipt.memory_id)) for receipt in receipts], batch_id


def _told(answer: list[tuple[str, str]] | EngramError) -> object:
    """An answer as it can be compared."""
    return (type(answer), str(answer)) if isinstance(answer, EngramError) else answer


def _is_there(session: Session, id: str) -> bool:
    try:
        session.get(id)
    except NotFoundError:
        return False
    return True
