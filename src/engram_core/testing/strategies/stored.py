"""Strategies for what stores are given and give back, and for stores and other ports themselves."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from engram_core.chain import place_all
from engram_core.events import EVENTS
from engram_core.ports import (
    Appended,
    Clock,
    Embedder,
    EventStore,
    Expect,
    IdSource,
    NewEvent,
    Projection,
    Recorded,
    Redaction,
    Redactor,
    SqlStore,
    StreamAppend,
)
from engram_core.testing.building import new_event
from engram_core.testing.clocks import FrozenClock, SequentialIds
from engram_core.testing.embedding import FakeEmbedder
from engram_core.testing.good import STORES
from engram_core.testing.logs import store_of
from engram_core.testing.strategies.happenings import event_of, histories
from engram_core.testing.strategies.values import instants, memory_ids, texts
from engram_core.testing.zoo.ledgers import PROJECTIONS

__all__ = [
    "appends",
    "clocks",
    "embedders",
    "id_sources",
    "new_events",
    "projections",
    "redactors",
    "rows",
    "sql_stores",
    "stored_events",
    "stores",
]


# -- what stores are given and give back ------------------------------------------------------------


def new_events() -> SearchStrategy[NewEvent]:
    """Events for a store: any text, honest commitments; ids are few, so that they meet again."""
    ids = st.integers(1, 50).map(lambda number: f"e{number}")
    return st.builds(new_event, ids, owner=memory_ids(), text=texts())


@st.composite
def appends(draw: st.DrawFn) -> StreamAppend:
    """Entries of a batch, with any expectation."""
    expected = draw(st.one_of(st.integers(0, 5), st.sampled_from(Expect)))
    events = draw(st.lists(new_events(), max_size=3, unique_by=lambda event: event.id))
    return StreamAppend(draw(memory_ids()), expected, tuple(events))


@st.composite
def stored_events(draw: st.DrawFn) -> Appended:
    """What a store answers to an append."""
    entry = draw(appends().filter(lambda entry: bool(entry.events)))
    version, head = draw(st.integers(0, 5)), draw(st.integers(5, 9))
    events = place_all([entry], [version], head=head, recorded_at=1_750_000_000_000_000, last_link=b"")
    return Appended(events, draw(st.booleans()))


def rows() -> SearchStrategy[Recorded]:
    """Events as they stand in a log, each the last of its commit."""
    return stored_events().map(lambda answer: answer.events[-1])


# -- ports ------------------------------------------------------------------------------------------


def _written() -> SearchStrategy[Any]:
    return st.one_of([event_of(cls) for cls in EVENTS])


def stores() -> SearchStrategy[EventStore]:
    """Stores in memory that hold any history."""
    return histories(max_size=4, of=_written).map(store_of)


def sql_stores() -> SearchStrategy[SqlStore]:
    """Empty stores in SQLite files of their own, which go when the stores do."""
    return st.builds(STORES["sqlite"])  # type: ignore[arg-type]


def clocks() -> SearchStrategy[Clock]:
    """Clocks that stand still."""
    return st.builds(FrozenClock, instants())


def id_sources() -> SearchStrategy[IdSource]:
    """Ids that count."""
    return st.builds(SequentialIds, st.integers(1, 1_000))


def embedders() -> SearchStrategy[Embedder]:
    """Embedders without a model."""
    return st.builds(FakeEmbedder, dimension=st.integers(1, 8))


def projections() -> SearchStrategy[Projection]:
    """Projections that keep the contract."""
    return st.sampled_from(sorted(PROJECTIONS)).map(lambda name: PROJECTIONS[name]())


class _Striker:
    """Strikes out one word."""

    def __init__(self, word: str) -> None:
        self.name = f"without {word!r}"
        self._word = word

    def redact(self, text: str) -> Redaction:
        """The text without the word."""
        return Redaction(text.replace(self._word, "█"), text.count(self._word))

    def __repr__(self) -> str:
        return f"<redactor {self.name}>"


def redactors() -> SearchStrategy[Redactor]:
    """Redactors that strike out one word each."""
    return st.sampled_from(["secret", "a", "é"]).map(_Striker)
