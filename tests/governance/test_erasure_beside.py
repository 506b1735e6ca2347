"""Erasure and what was said of two memories at once: the words go with either, the decisions stay."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engram_core.kinds import Fact, Person
from engram_core.space import MemorySpace
from engram_core.stores import InMemoryStore
from engram_core.testing import FrozenClock
from engram_core.values import EvidenceRef, private, shared
from tests.governance.rooms import START, Room, beside, everything, room
from tests.governance.test_erasure import Secret, found_in


@pytest.fixture
def r(tmp_path: Path) -> Iterator[Room]:
    found = room(tmp_path / "brain.db")
    yield found
    found.space.close()


def resolve(r: Room, one: Any, two: Any, s: Secret) -> None:
    r.ann.contradict(one, by=two)
    r.ann.resolve(one, two, keep=two, note=s())


def contradict(r: Room, one: Any, two: Any, s: Secret) -> None:
    r.ann.contradict(one, by=two, note=s(), evidence=EvidenceRef("quote", s(), note=s()))


def merged_contradiction(r: Room, one: Any, two: Any, s: Secret) -> None:
    r.ann.approve(r.bot.contradict(one, by=two, note=s(), evidence=EvidenceRef("quote", s())))


def rejected_contradiction(r: Room, one: Any, two: Any, s: Secret) -> None:
    r.ann.reject(r.bot.contradict(one, by=two, note=s()), note=s())


def rejected_resolution(r: Room, one: Any, two: Any, s: Secret) -> None:
    r.ann.reject(r.bot.resolve(one, two, keep="both", note=s()), note=s())


def partial_rejections(r: Room, one: Any, two: Any, s: Secret) -> None:
    with r.bot.proposal(s(), rationale=s(), evidence=EvidenceRef("quote", s())) as p:
        p.tag(one, "a")
        p.tag(two, "b")
        p.tag(one, "c")
    r.ann.reject(p.receipt, only=[1, 2], note=s())
    r.ann.reject(p.receipt, only=[3], note=s())


def open_proposal(r: Room, one: Any, two: Any, s: Secret) -> None:
    with r.bot.proposal(s(), rationale=s(), evidence=EvidenceRef("quote", s())) as p:
        p.link(one, "relates_to", two)


def merged_proposal(r: Room, one: Any, two: Any, s: Secret) -> None:
    with r.bot.proposal(s(), rationale=s()) as p:
        p.remember(Fact("a third one"), links=[("derived_from", one), ("derived_from", two)])
    r.ann.approve(p.receipt)


def undone(r: Room, one: Any, two: Any, s: Secret) -> None:
    r.ann.undo(r.ann.contradict(one, by=two, note=s()))


SAID: list[Callable[[Room, Any, Any, Secret], None]] = [
    resolve,
    contradict,
    merged_contradiction,
    rejected_contradiction,
    rejected_resolution,
    partial_rejections,
    open_proposal,
    merged_proposal,
    undone,
]


@pytest.mark.parametrize("gone", [0, 1], ids=["first", "second"])
@pytest.mark.parametrize("say", SAID, ids=lambda say: say.__name__)
def test_words_go_with_either(r: Room, tmp_path: Path, say: Any, gone: int) -> None:
    """No window of them is left, whichever is erased; the memory that stays is believed as before."""
    s = Secret()
    pair = [r.ann.remember(Fact("one thing")), r.ann.remember(Fact("another thing"))]
    say(r, *pair, s)
    assert set(s.used) == set().union(*found_in(tmp_path, s.used).values())
    stays = pair[1 - gone]
    before = r.ann.get(stays)
    planned = r.ann.erase(pair[gone], dry_run=True)
    assert s.used
    assert set(s.used) == set().union(*found_in(tmp_path, s.used).values())
    report = r.ann.erase(pair[gone])
    assert planned.events == report.events
    assert {} == found_in(tmp_path, s.used)
    after = r.ann.get(stays)
    assert (before.confidence, before.status, before.tags) == (after.confidence, after.status, after.tags)
    assert r.nightly.verify().ok
    shown = everything(r.ann)
    r.nightly.rebuild()
    assert shown == everything(r.ann)
    assert {} == found_in(tmp_path, s.used)


@pytest.mark.parametrize("gone", [0, 1], ids=["first", "second"])
@pytest.mark.parametrize("say", SAID, ids=lambda say: say.__name__)
def test_they_go_from_the_tables_of_others_too(say: Any, gone: int) -> None:
    """A space with tables of its own over the same log shows no more than the one in which the memory was erased."""
    store = InMemoryStore(clock=FrozenClock(START))
    r, other = (beside(MemorySpace.over(store)) for _ in range(2))
    pair = [r.ann.remember(Fact("one thing")), r.ann.remember(Fact("another thing"), tags=("kept",))]
    say(r, *pair, Secret())
    assert str(pair[gone].memory_id) == other.ann.get(pair[gone]).id
    r.ann.erase(pair[gone])
    assert everything(r.ann) == everything(other.ann)
    for proposal in r.ann.proposals(status=None):
        assert proposal == other.ann.proposal(proposal.id)
    assert () == other.nightly.verify().problems
    other.ann.remember(Fact("a thing more"))
    assert () == r.nightly.verify().problems


def test_decisions_are_told_without_their_words(r: Room) -> None:
    """Which drafts were rejected, and by whom, is known after the erasure of one of the memories."""
    one, two = r.ann.remember(Fact("one")), r.ann.remember(Fact("two"))
    with r.bot.proposal("both") as p:
        p.tag(one, "a")
        p.tag(two, "b")
        p.tag(one, "c")
    r.ann.reject(p.receipt, only=[1, 2], note="neither")
    before = r.ann.proposal(p.receipt)
    assert ("neither", ["rejected", "rejected", "open"]) == (before.note, [str(d.status) for d in before.drafts])
    r.ann.erase(two)
    after = r.ann.proposal(p.receipt)
    assert ("", "open", "") == (after.note, after.status, after.title)
    assert ["rejected", "rejected", "open"] == [str(d.status) for d in after.drafts]
    r.ann.approve(p.receipt)
    assert ("merged", ("c",)) == (r.ann.proposal(p.receipt).status, r.ann.get(one).tags)
    assert r.nightly.verify().ok


def test_a_second_erasure_counts_nothing_twice(r: Room) -> None:
    """What went with the first of two memories is not among what the second one takes."""
    one, two = r.ann.remember(Fact("one")), r.ann.remember(Fact("two"))
    with r.bot.proposal("both") as p:
        p.tag(one, "a")
        p.tag(two, "b")
    r.ann.reject(p.receipt, note="neither")
    r.ann.contradict(one, by=two, note="no")
    first = r.ann.erase(one)
    second = r.ann.erase(two)
    told: list[Any] = [first.certificate, second.certificate]
    types = [event["type"] for certificate in told for event in certificate["erased"][0]["events"]]
    assert first.events + second.events == len(types)
    once = ("ProposalOpened", "MemoryNoted")
    assert [1, 1] == [types.count(name) for name in once]
    assert 2 == types.count("DraftAdded")


def test_a_note_is_in_the_history_of_the_disputed_memory(r: Room) -> None:
    """What was said when it was disputed can be read there, and is undone with the dispute."""
    one, two = r.ann.remember(Fact("one")), r.ann.remember(Fact("two"))
    said = r.ann.contradict(one, by=two, note="ask Bob")
    assert ["ask Bob"] == [row.details.get("note") for row in r.ann.history(one) if row.type == "MemoryNoted"]
    before = r.ann.get(one).confidence
    r.ann.undo(said)
    assert before < r.ann.get(one).confidence
    r.ann.redo(said)
    assert before == r.ann.get(one).confidence


class Scattering:
    """A model whose vectors are different in every byte for different texts, and are kept as they are."""

    name, dimension = "scattering/1", 48

    def encode(self, texts: Sequence[str], purpose: str) -> list[list[float]]:
        return [[random.Random(f"{text}{n}").uniform(-1, 1) for n in range(self.dimension)] for text in texts]


def blobs(path: Path, id: str) -> list[bytes]:
    """The vectors that are stored of a memory."""
    with closing(sqlite3.connect(path)) as connection:
        sql = "SELECT vector FROM vectors WHERE key = (SELECT key FROM memories WHERE id = ?)"
        return [row[0] for row in connection.execute(sql, (id,))]


def left_of(folder: Path, vectors: list[bytes]) -> set[str]:
    """The files that hold any 10-byte window of a vector."""
    windows = {vector[at : at + 10] for vector in vectors for at in range(len(vector) - 9)}
    return {
        path.name
        for path in folder.rglob("*")
        if path.is_file()
        for content in [path.read_bytes()]
        if any(content[at : at + 10] in windows for at in range(len(content) - 9))
    }


@pytest.mark.parametrize("hidden", [False, True], ids=["shared", "private"])
def test_vectors_of_every_version_are_gone(tmp_path: Path, *, hidden: bool) -> None:
    """What a model made of present and past texts, in the file and in its write-ahead log; others' vectors stay."""
    path = tmp_path / "brain.db"
    r = room(path, embedder=Scattering())
    other = r.ann.remember(Fact("harmless"), content="quite harmless " * 80)
    secret = r.ann.remember(Fact("secret"), visibility=private() if hidden else shared())
    assert secret.memory_id is not None
    assert other.memory_id is not None
    r.space.flush()
    for text in ("more of it", "and more " * 200):
        r.ann.edit(secret, content=text)
        r.space.flush()
    source = r.ann.remember(Person("Ben B", notes="of the secret"))
    survivor = r.ann.remember(Person("Ann A"))
    r.ann.merge(survivor, source)
    r.space.flush()
    made = [blob for id in (secret.memory_id, source.memory_id) for blob in blobs(path, str(id))]
    assert len(made) > 4
    assert left_of(tmp_path, made)
    assert {"brain.db-wal"} & {file.name for file in tmp_path.iterdir()}
    kept = blobs(path, other.memory_id)
    for memory in (secret, source):
        assert r.ann.erase(memory).scrubbed
    assert [] == blobs(path, secret.memory_id)
    assert set() == left_of(tmp_path, made)
    assert kept == blobs(path, other.memory_id)
    r.space.flush()
    r.nightly.rebuild()
    assert r.nightly.verify().ok
    r.space.close()
    assert set() == left_of(tmp_path, made)
