"""What an assistant reads is the same, to the letter, whether or not memories that are hidden from him exist."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from engram_core import ApprovalPolicy, EngramError, MemorySpace, Receipt, Session, private, restricted, user
from engram_core.testing import FrozenClock
from engram_core.testing.steps import BOT, FIRST, OTHER, START, STEPS, Step, any_step, named, placed
from engram_core.values import Actor
from engram_core.view import View
from tests.everything import diffs, everything, laid_open, told

ANN = user("ann")
HIDDEN = 0x900
POLICIES = (ApprovalPolicy.review_all(), ApprovalPolicy.trust_assistants())

# What happens to hidden memories without touching the stream of any other.
own = st.one_of(STEPS["words"], STEPS["keeping"], STEPS["lives"], STEPS["people"])
# "set_visibility" would show it, "supersede" and "merge" are among hidden ones, where they touch nobody else.
audiences = st.sampled_from((private(), restricted(OTHER)))
ties = st.lists(
    st.tuples(st.sampled_from(("about", "derived_from", "relates_to", "contradicts")), st.integers(0, 9)), max_size=2
)


class Ids:
    """Ids that depend on the command alone for which they are drawn, not on what was drawn before."""

    def __init__(self) -> None:
        self.command = self.drawn = 0

    def begin(self, command: int) -> None:
        self.command, self.drawn = command, 0

    def __call__(self) -> str:
        self.drawn += 1
        return f"{self.command:08x}-0000-7000-8000-{self.drawn:012x}"


class NoninterferenceMachine(RuleBasedStateMachine):
    """Leads the same life in two spaces; in one of them, hidden things happen in between."""

    @initialize(first=st.lists(STEPS["remember"], max_size=3), approval=st.sampled_from(POLICIES))
    def begin(self, first: list[Step], approval: ApprovalPolicy) -> None:
        self.clock = FrozenClock(START)
        self.ids = (Ids(), Ids())
        self.plain, self.rich = (
            MemorySpace.in_memory(clock=self.clock, ids=ids, approval=approval) for ids in self.ids
        )
        self.shared: list[str] = []
        self.hidden: list[str] = []
        self.batches: list[str] = []
        self.proposals: list[str] = []
        self.secrets: dict[str, list[str]] = {"batch": [], "proposal": []}
        self.instants = [START]
        self.commands = 0
        for step in (*FIRST, *first):
            self.happen(ANN, step)

    def teardown(self) -> None:
        try:
            if hasattr(self, "plain"):
                self.compare(hours=0, days=None)
                self.compare(hours=1, days=None)
                self.changes()
        finally:
            for space in (self.plain, self.rich) if hasattr(self, "plain") else ():
                space.close()

    # -- what happens in both ---------------------------------------------------------------------------

    def both(self, actor: Actor, call: Callable[[Session], Receipt]) -> Receipt | None:
        """The same command in both spaces; what it answers is the same, unless a user is told of more."""
        self.commands += 1
        self.clock.move(seconds=60)
        answers: list[Any] = []
        for space, ids in zip((self.plain, self.rich), self.ids, strict=True):
            ids.begin(self.commands)
            try:
                answers.append(call(space.session(actor, session_id="s", record=False)))
            except EngramError as error:
                answers.append(error)
        plain, rich = answers
        if actor == BOT:
            assert told(lambda: _raised(plain)) == told(lambda: _raised(rich))
        else:
            assert _gist(plain) == _gist(rich)
        return plain if isinstance(plain, Receipt) else None

    def happen(self, actor: Actor, step: Step) -> None:
        ids = self.shared if actor == ANN else self.shared + [named(HIDDEN + n) for n in range(1, 4)]
        verb, args, options = placed(step, ids)
        if verb == "remember" and actor == ANN:
            options = {**options, "id": named(self.commands + 1)}
        receipt = self.both(actor, lambda session: getattr(session, verb)(*args, **options))
        if receipt is None:
            return
        if receipt.proposal_id is not None:
            if receipt.status == "proposed":
                self.proposals.append(receipt.proposal_id)
        elif receipt.status == "created":
            self.shared.append(str(receipt.memory_id))
        elif receipt.batch_id is not None:
            self.batches.append(receipt.batch_id)

    @rule(step=any_step)
    def ann(self, step: Step) -> None:
        self.happen(ANN, step)

    @rule(step=any_step)
    def bot(self, step: Step) -> None:
        self.happen(BOT, step)

    @precondition(lambda self: self.proposals)
    @rule(back=st.integers(0, 3), verb=st.sampled_from(("approve", "approve", "reject")), vouched=st.booleans())
    def decide(self, back: int, verb: str, vouched: bool) -> None:
        proposal = self.proposals[-1 - back % len(self.proposals)]
        options = {"confirm": True} if vouched and verb == "approve" else {}
        receipt = self.both(ANN, lambda session: getattr(session, verb)(proposal, **options))
        if receipt is not None and verb == "approve" and receipt.memory_id not in (None, *self.shared):
            self.shared.append(str(receipt.memory_id))

    @precondition(lambda self: self.batches)
    @rule(back=st.integers(0, 3), redo=st.booleans())
    def turn(self, back: int, redo: bool) -> None:
        """Undo of anything but a beginning, which could be refused because something hidden needs it."""
        batch = self.batches[-1 - back % len(self.batches)]
        self.both(ANN, lambda session: session.redo(batch) if redo else session.undo(batch))

    @rule(days=st.sampled_from((1, 8, 100)))
    def wait(self, days: float) -> None:
        self.clock.move(days=days)

    @rule(
        verb=st.sampled_from(("undo", "redo", "withdraw", "rebase", "approve", "reject", "erase", "quarantine")),
        back=st.integers(0, 3),
        own=st.booleans(),
    )
    def overreach(self, verb: str, back: int, own: bool) -> None:
        """The assistant tries what it may not do, also to what it can only have guessed."""
        if verb in ("undo", "redo"):
            known = self.batches if own else self.secrets["batch"]
        elif verb == "erase":
            known = self.shared if own else self.hidden
        elif verb == "quarantine":
            known = ["s"]
        else:
            known = self.proposals if own else self.secrets["proposal"]
        if not known:
            return
        target = known[-1 - back % len(known)]
        if verb == "quarantine":
            self.both(BOT, lambda session: session.quarantine(session_id=target))
        else:
            self.both(BOT, lambda session: getattr(session, verb)(target))

    @rule(steps=st.lists(any_step, min_size=1, max_size=2), how=st.sampled_from(("preview", "preview", "batch")))
    def block(self, steps: list[Step], how: str) -> None:
        """The assistant rehearses some steps, or asks for them all at once; it is told the same in both spaces."""
        known = self.shared + [named(HIDDEN + n) for n in range(1, 4)]

        def call(session: Session) -> Any:
            with getattr(session, how)() as recorder:
                for step in steps:
                    verb, args, options = placed(step, known)
                    getattr(recorder, verb)(*args, **options)
            return (
                recorder.receipts,
                recorder.receipt,
                getattr(recorder, "events", ()),
                getattr(recorder, "reviews", ()),
            )

        self.both(BOT, call)

    # -- what happens in one ----------------------------------------------------------------------------

    def secretly(self, actor: Actor, call: Callable[[Session], Any]) -> Any:
        self.commands += 1
        self.ids[1].begin(0xF0000000 + self.commands)
        try:
            return call(self.rich.session(actor, session_id="s"))
        except EngramError:
            return None

    @rule(step=STEPS["remember"], visibility=audiences, ties=ties)
    def hide(self, step: Step, visibility: Any, ties: list[tuple[str, int]]) -> None:
        """A hidden memory begins, with edges to whatever there is."""
        others = self.shared + self.hidden
        _, args, options = placed(step, others)
        id = named(HIDDEN + len(self.hidden) + 1)
        links = list({(relation, others[number % len(others)]) for relation, number in ties})
        options = {**options, "id": id, "visibility": visibility, "links": links}
        made = self.secretly(ANN, lambda session: session.remember(*args, **options))
        if made is not None and made.status == "created":
            self.hidden.append(id)
            self.secrets["batch"].append(made.batch_id)

    @precondition(lambda self: self.hidden)
    @rule(step=own)
    def change(self, step: Step) -> None:
        """Something happens to hidden memories alone."""
        if step[0] != "set_visibility":
            verb, args, options = placed(step, self.hidden)
            self.secretly(ANN, lambda session: getattr(session, verb)(*args, **options))

    @precondition(lambda self: self.hidden)
    @rule(
        number=st.integers(0, 9), other=st.integers(0, 9), verb=st.sampled_from(("contradict", "mark", "link", "read"))
    )
    def tie(self, number: int, other: int, verb: str) -> None:
        """A hidden memory is disputed by a visible one, told from it, linked to it."""
        id, target = self.hidden[number % len(self.hidden)], self.shared[other % len(self.shared)]
        calls: dict[str, Callable[[Session], Any]] = {
            "contradict": lambda session: session.contradict(id, by=target),
            "mark": lambda session: session.mark_distinct(id, target),
            "link": lambda session: session.link(id, "derived_from", target),
            "read": lambda session: session.get(id),
        }
        self.secretly(ANN, calls[verb])

    @rule(step=any_step, verb=st.sampled_from((None, "withdraw", "reject")))
    def propose(self, step: Step, verb: str | None) -> None:
        """Another assistant proposes something, also about visible memories; nobody approves it."""
        verb_, args, options = placed(step, self.shared + self.hidden)

        def call(session: Session) -> Any:
            with session.proposal("secret oolong") as draft:
                getattr(draft, verb_)(*args, **options)
            return draft.receipt

        receipt = self.secretly(OTHER, call)
        if receipt is not None and receipt.proposal_id is not None:
            self.secrets["proposal"].append(receipt.proposal_id)
        if verb is not None and receipt is not None and receipt.proposal_id is not None:
            by = OTHER if verb == "withdraw" else ANN
            self.secretly(by, lambda session: getattr(session, verb)(receipt.proposal_id))

    @precondition(lambda self: self.hidden)
    @rule(number=st.integers(0, 9))
    def erase(self, number: int) -> None:
        id = self.hidden[number % len(self.hidden)]
        self.secretly(ANN, lambda session: session.erase(id))

    # -- what is read -----------------------------------------------------------------------------------

    @rule(hours=st.sampled_from((0, 0, 1, 30)), days=st.sampled_from((None, None, -10, 5, 400)))
    def compare(self, hours: int, days: int | None) -> None:
        """All that the assistant reads, now or as of some time ago, of whatever or of what was true on a day."""
        ids = [*self.shared, *(named(HIDDEN + n) for n in (1, 2)), named(0xFFFF)]
        views: list[View] = [space.session(BOT, record=False) for space in (self.plain, self.rich)]
        if hours:
            then = max(START, self.clock.now() - timedelta(hours=hours))
            views = [view.as_of(known_at=then) for view in views]
        if days is not None:
            views = [view.as_of(valid_at=START + timedelta(days=days)) for view in views]
        proposals = [*self.proposals[-2:], *self.secrets["proposal"][-2:]]
        for (name, expected), (_, actual) in zip(*(everything(view, ids, proposals) for view in views), strict=True):
            assert expected == actual, name

    @rule()
    def changes(self) -> None:
        """What it is told of the time between some instants."""
        if self.clock.now() > self.instants[-1]:
            self.instants.append(self.clock.now())
        views = [space.session(BOT, record=False) for space in (self.plain, self.rich)]
        for (name, expected), (_, actual) in zip(*(diffs(view, self.instants[-3:]) for view in views), strict=True):
            assert expected == actual, name
        later = [view.at(self.clock.now() + timedelta(days=200)) for view in views]
        for read in (View.reviews, View.stats, View.tags):
            assert laid_open(read(later[0])) == laid_open(read(later[1]))


def _raised(answer: Any) -> Any:
    if isinstance(answer, EngramError):
        raise answer
    return answer


def _gist(answer: Any) -> Any:
    """What a user must be told alike in both spaces; of what a new memory may repeat he learns more in one."""
    if isinstance(answer, EngramError):
        return type(answer).__name__
    return answer.status, answer.memory_id, answer.proposal_id, answer.batch_id


BRIEF = settings(max_examples=15, stateful_step_count=20, deadline=None)
SOAK = settings(max_examples=1_000, stateful_step_count=50, deadline=None)


def test_hidden_memories_move_nothing() -> None:
    """Every read, receipt and error of an assistant is the same in both spaces."""
    run_state_machine_as_test(NoninterferenceMachine, settings=BRIEF)


@pytest.mark.slow
def test_hidden_memories_move_nothing_for_long() -> None:
    """The same, for a while."""
    run_state_machine_as_test(NoninterferenceMachine, settings=SOAK)
