"""Whatever a log holds, the read model takes it in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_core import MemorySpace, Person, user
from engram_core.chain import commitment
from engram_core.codec import EventCodec
from engram_core.errors import HistoryError
from engram_core.kinds import KINDS
from engram_core.policy import Policy
from engram_core.ports import NewEvent, StreamAppend
from engram_core.projections.host import open_host
from engram_core.projections.read_model import ReadModel
from engram_core.stores.in_memory import InMemoryStore
from engram_core.testing import FrozenClock
from tests.projections.histories import tables

SPINE: dict[str, Any] = {"confidence": 0.9, "lifetime": "standard", "visibility": "shared"}
ids = iter(range(1_000_000))


def event(type: str, stream: str, payload: dict[str, Any], **envelope: Any) -> NewEvent:
    data = json.dumps({"by": {"id": "ann"}, "v": payload, "salt": "s"})
    id = f"e{next(ids)}"
    return NewEvent(id, type, 1, stream, data, commitment(data), 0, "user", id, **envelope)


def created(stream: str, **fields: Any) -> NewEvent:
    given = {"kind": "fact", "attributes": {"statement": "x"}, "attributes_version": 1, **SPINE, **fields}
    return event("MemoryCreated", stream, given)


def model(store: Any) -> ReadModel:
    made = ReadModel(open_host(store), codec=EventCodec(), kinds=KINDS, policy=Policy())
    made.prepare()
    return made


def taken_in(*commits: Sequence[NewEvent], streams: str = "") -> ReadModel:
    """The read model of a log that somebody else wrote, live and rebuilt to the same."""
    store = InMemoryStore()
    live = model(store)
    versions: dict[str, int] = {}
    for commit in commits:
        by_stream: dict[str, list[NewEvent]] = {}
        for one in commit:
            by_stream.setdefault(one.owner, []).append(one)
        store.append([StreamAppend(stream, versions.get(stream, 0), events) for stream, events in by_stream.items()])
        for stream, events in by_stream.items():
            versions[stream] = versions.get(stream, 0) + len(events)
        with live.host.reading():
            pass  # follows commit by commit
    with live.host.reading() as tx:
        followed = tables(tx)
    live.rebuild()
    with live.host.reading() as tx:
        assert tables(tx) == followed
    assert live.check() == []
    with model(store).host.reading() as tx:
        assert tables(tx) == followed
    return live


def rows(live: ReadModel, sql: str) -> list[Any]:
    with live.host.reading() as tx:
        return tx.execute(sql).fetchall()


def test_edges_wait_for_what_is_not_there() -> None:
    """An edge to an unknown id is kept apart; it begins with the memory, should that ever come."""
    live = taken_in([created("a", links=[["about", "b"], ["about", "c"]])], [created("b")])
    assert rows(live, "SELECT source, relation, target, began, from_position FROM links") == [(1, "about", 2, 1, 2)]
    assert rows(live, "SELECT source, relation, target_id FROM dangling") == [(1, "about", "c")]


def test_a_waiting_edge_can_be_taken_away() -> None:
    """What never began does not end either."""
    unlinked = event("MemoryUnlinked", "a", {"relation": "about", "target": "b"})
    live = taken_in([created("a", links=[["about", "b"]])], [unlinked], [created("b")])
    assert rows(live, "SELECT * FROM dangling UNION ALL SELECT source, relation, target, began FROM links") == []


def test_forward_edges_within_a_commit_are_edges() -> None:
    """Order within a commit does not matter."""
    live = taken_in([created("a", links=[["about", "b"]]), created("b")])
    assert rows(live, "SELECT source, target, from_position FROM links") == [(1, 2, 1)]


def test_a_kind_that_nobody_knows_is_kept() -> None:
    """Its attributes stay as they are; it can have no duplicate."""
    live = taken_in([created("a", kind="recipe", attributes={"dish": "soup"})])
    assert rows(live, "SELECT kind, attributes, fingerprint FROM memories") == [("recipe", '{"dish":"soup"}', None)]


def test_a_version_to_come_is_refused_by_name() -> None:
    """An older program must not guess."""
    store = InMemoryStore()
    store.append([StreamAppend("a", 0, [created("a", attributes_version=9)])])
    with pytest.raises(HistoryError, match="fact"):
        model(store)


def test_a_stream_without_a_beginning_shows_nothing() -> None:
    """A log that was written without rules may hold one."""
    live = taken_in([event("MemoryTagged", "a", {"added": ["x"]})], [created("b", links=[["about", "a"]])])
    assert rows(live, "SELECT id, kind, stored FROM memories ORDER BY key") == [
        ("a", "", "erased"),
        ("b", "fact", "active"),
    ]
    assert rows(live, "SELECT * FROM tags") == []


def test_text_that_sqlite_cannot_hold() -> None:
    """Lone surrogates are replaced, in every place."""
    bad = "x\ud800y"
    fields = {
        "title": bad,
        "content": bad,
        "tags": [bad],
        "attributes": {"statement": bad},
        "external_ids": [[bad, bad]],
    }
    live = taken_in([created("a", **fields)])
    assert rows(live, "SELECT title, content FROM memories") == [("x?y", "x?y")]


def test_numbers_beyond_what_sqlite_holds() -> None:
    """Reads beyond counting are cut, and those of what is not there are passed over."""
    at = "2026-01-01T00:00:00.000000Z"
    reads = event("MemoriesAccessed", "$accesses", {"reads": [["a", 2**70, at], ["b", 1, at]]})
    live = taken_in([created("a", confidence=7)], [reads])
    assert rows(live, "SELECT confidence FROM memories") == [(7.0,)]
    assert rows(live, "SELECT key, count FROM accesses") == [(1, 2**31)]


def test_an_episode_with_strange_times() -> None:
    """Only what can be read becomes an instant."""
    live = taken_in([created("a", kind="event", attributes={"start_at": 7, "end_at": "soon"})])
    assert rows(live, "SELECT happened_from, happened_to FROM memories") == [(None, None)]


@pytest.fixture
def space() -> Iterator[MemorySpace]:
    with MemorySpace.in_memory(clock=FrozenClock(datetime(2026, 3, 1, tzinfo=UTC))) as made:
        yield made


def test_same_title_in_the_same_minute(space: MemorySpace) -> None:
    """Titles and what may be made of them are never a constraint."""
    ann = space.session(user("ann"))
    for _ in range(3):
        ann.remember(Person(full_name="Alice Ng"), title="Alice", on_duplicate="create", similar=False)
    with space._engine.host.reading() as tx:
        assert tx.execute("SELECT count(*) FROM view_people WHERE title = 'Alice'").fetchone() == (3,)


@given(title=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=200))
def test_any_title_projects(title: str) -> None:
    """Blank ones are refused by the rules; all others have a row and a text."""
    with MemorySpace.in_memory() as space:
        ann = space.session(user("ann"))
        if not title.strip():
            return
        receipt = ann.remember({"kind": "fact", "statement": "x"}, title=title)
        assert ann.get(receipt).title == title.strip()
        assert space._engine.read_model.check() == []
