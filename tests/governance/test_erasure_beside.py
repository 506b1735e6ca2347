"""Erasure and what was said of two memories at once: the words go with either, the decisions stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engram_core.kinds import Fact
from engram_core.values import EvidenceRef
from tests.governance.rooms import Room, everything, room
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
    types = [event["type"] for report in (first, second) for event in report.certificate["erased"][0]["events"]]
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
