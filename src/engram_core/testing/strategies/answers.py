"""Strategies for what writes and reads answer: each is the answer of a small space in memory, so none is impossible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any, Final

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from engram_core import results
from engram_core.drafts import Draft
from engram_core.errors import RejectedError
from engram_core.kinds import KINDS, Attributes, Fact
from engram_core.packs.outcomes import with_outcomes
from engram_core.proposal import Proposal, ProposedChange
from engram_core.receipts import ImportReport, PossibleConflict, Receipt
from engram_core.results import Hit, Hits, Memory, Page
from engram_core.space import MemorySpace
from engram_core.testing.clocks import FrozenClock, SequentialIds
from engram_core.testing.scenario import START
from engram_core.testing.strategies.values import attributes, evidence, lifetimes, tags, texts, visibilities
from engram_core.values import EvidenceRef, assistant, user

__all__ = ["ANSWERS", "answer_of", "drafts", "hits", "memories", "pages", "proposals", "receipts"]

_OPTIONS: Final[Mapping[str, SearchStrategy[Any]]] = {
    "content": texts(),
    "title": texts(blank=False),
    "tags": tags(),
    "evidence": st.lists(evidence(), max_size=2),
    "confidence": st.floats(0, 1),
    "pinned": st.booleans(),
    "user_weight": st.floats(0, 1),
    "lifetime": lifetimes(),
    "visibility": visibilities(),
}


_TWELVE: Final = frozenset(spec.attributes for spec in KINDS)


def drafts(kind: type[Attributes] | None = None) -> SearchStrategy[Draft]:
    """What `remember_many` takes.

    Args:
        kind: The attribute class; by default any of the twelve.
    """
    classes = [kind] if kind else [spec.attributes for spec in KINDS]
    given = st.one_of([attributes(cls) for cls in classes])
    return st.builds(
        lambda built, options: Draft(built, **options), given, st.fixed_dictionaries({}, optional=_OPTIONS)
    )


class _Small:
    """A small space: a drawn memory, one that disputes it, one that rests on what was wrong, reads, a proposal."""

    def __init__(self, space: MemorySpace, first: Draft) -> None:
        self.ann = ann = space.session(user("ann"))
        self.bot = space.session(assistant("bot"))
        self.created = ann.remember(first.attributes, **first.options)
        self.first = str(self.created.memory_id)
        self.other = self.new("The other one.", relates_to=self.first, evidence=[EvidenceRef("quote", "the other one")])
        ann.contradict(self.first, by=self.other)
        ann.confirm(self.other)
        wrong = self.new("The wrong one.")
        self.resting = self.new("The one on top.", derived_from=wrong)
        ann.archive(wrong, because="wrong")
        ann.get(self.other)
        space.flush()

    def new(self, statement: str, *, evidence: Sequence[EvidenceRef] = (), **links: str) -> str:
        """A fact beside the drawn memory."""
        return str(
            self.ann.remember(Fact(statement), links=list(links.items()), evidence=evidence, similar=False).memory_id
        )

    def proposed(self, how: str = "open") -> Proposal:
        """What an assistant asks for, and what became of it."""
        asked = self.bot.remember(Fact("A third one."), similar=False)
        if how == "withdrawn":
            self.bot.withdraw(asked)
        elif how == "merged":
            self.ann.approve(asked)
        elif how == "rejected":
            self.ann.reject(asked)
        return self.ann.proposal(asked)


@st.composite
def _answers(draw: st.DrawFn, ask: Callable[[_Small], Any], kind: type[Attributes] | None = None) -> Any:
    first = draw(drafts(kind))
    kinds = KINDS if kind is None or kind in _TWELVE else with_outcomes(KINDS)
    with MemorySpace.in_memory(clock=FrozenClock(START), ids=SequentialIds(), kinds=kinds) as space:
        try:
            small = _Small(space, first)
        except RejectedError:  # what was drawn may lie in the future, or need an edge
            assume(False)
            raise
        return ask(small)


def memories(kind: type[Attributes] | None = None) -> SearchStrategy[Memory[Any]]:
    """Memories as a user sees them.

    Args:
        kind: Their attribute class; by default any of the twelve.
    """
    return _answers(lambda s: s.ann.get(s.first), kind)


def hits() -> SearchStrategy[Hit]:
    """Single hits of a question."""
    return _answers(lambda s: s.ann.recall("other one")[0])


def pages() -> SearchStrategy[Page[Any]]:
    """Pages of memories: the first of several, and the whole."""
    return st.sampled_from([1, 2, 50]).flatmap(lambda limit: _answers(lambda s: s.ann.find(limit=limit)))


def receipts() -> SearchStrategy[Receipt]:
    """Receipts of every status."""
    return st.one_of(
        _answers(lambda s: s.created),
        _answers(lambda s: s.ann.tag(s.other, "new")),
        _answers(lambda s: s.ann.unpin(s.other)),
        _answers(lambda s: s.bot.remember(Fact("A third one."))),
        _answers(lambda s: s.ann.remember(Fact("The one on top."))),
        _answers(lambda s: s.ann.remember(Fact("The other one here."))),
    )


def proposals() -> SearchStrategy[Proposal]:
    """Proposals that are open, rejected, merged or withdrawn."""
    ways = st.sampled_from(["open", "merged", "rejected", "withdrawn"])
    return ways.flatmap(lambda how: _answers(lambda s: s.proposed(how)))


@cache
def _strategies() -> Mapping[type[Any], SearchStrategy[Any]]:
    return {
        Draft: drafts(),
        Hit: hits(),
        Hits: _answers(lambda s: s.ann.recall("other one")),
        ImportReport: _answers(lambda s: s.ann.remember_many([Draft(Fact("One of many."))])),
        Memory: memories(),
        Page: pages(),
        PossibleConflict: _answers(lambda s: s.ann.remember(Fact("The other one here.")).possible_conflicts[0]),
        Proposal: proposals(),
        ProposedChange: proposals().map(lambda proposal: proposal.drafts[0]),
        Receipt: receipts(),
        results.Accesses: _answers(lambda s: s.ann.accesses(s.other)),
        results.Basis: _answers(lambda s: s.ann.why(s.resting).undermined[0]),
        results.BeliefChange: _answers(lambda s: s.ann.why(s.other).confidence[-1]),
        results.Diff: _answers(lambda s: s.ann.as_of(known_at=START - timedelta(days=1)).diff(s.ann)),
        results.DiffRow: _answers(lambda s: s.ann.as_of(known_at=START - timedelta(days=1)).diff(s.ann).rows[0]),
        results.Edge: _answers(lambda s: s.ann.subgraph(s.first).edges[0]),
        results.Explanation: _answers(lambda s: s.ann.explain(s.first)),
        results.Flags: _answers(lambda s: s.ann.get(s.first).flags),
        results.GivenEvidence: _answers(lambda s: s.ann.why(s.other).evidence[0]),
        results.HistoryRow: _answers(lambda s: s.ann.history(s.first)[-1]),
        results.Neighbour: _answers(lambda s: s.ann.neighbours(s.first)[0]),
        results.Path: _answers(lambda s: s.ann.path(s.first, s.other)),
        results.Read: _answers(lambda s: s.ann.accesses(s.other).reads[0]),
        results.ReviewRow: _answers(lambda s: s.ann.reviews()[0]),
        results.Scores: _answers(lambda s: s.ann.scores(s.first)),
        results.Stats: _answers(lambda s: s.ann.stats()),
        results.Subgraph: _answers(lambda s: s.ann.subgraph(s.first)),
        results.Why: _answers(lambda s: s.ann.why(s.first)),
    }


ANSWERS: Final[tuple[type[Any], ...]] = tuple(_strategies())
"""The classes of which `answer_of` gives strategies."""


def answer_of(cls: type[Any]) -> SearchStrategy[Any]:
    """Answers of one class, one of `ANSWERS`."""
    return st.deferred(lambda: _strategies()[cls])
