"""The same question has one answer: however often it is asked, wherever the space lies, whatever is done in between."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engram_core import Fact, MemorySpace, Person, Preference, assistant, private, restricted, user
from engram_core.results import Page
from engram_core.testing import FakeEmbedder, FrozenClock
from engram_core.testing.steps import BOT, START, named
from engram_core.view import View
from tests.everything import ORDERS, QUESTIONS, everything, laid_open

ANN = user("ann")
WORDS = "oolong tea Oslo harbour lantern violin Alice Al narrative secret more".split()


class Ids:
    """Ids one after the other."""

    def __init__(self) -> None:
        self.drawn = 0

    def __call__(self) -> str:
        self.drawn += 1
        return named(0x10000 + self.drawn)


def lived(space: MemorySpace, clock: FrozenClock) -> list[str]:
    """Some months of remembering, changing, hiding, disputing, proposing; gives ids of memories."""
    rng = random.Random(11)
    ann, bot = space.session(ANN, session_id="s1", record=False), space.session(BOT, record=False)
    alice = ann.remember(Person(full_name="Alice Ng", aliases=("Al",)), tags=["a"])
    ids = [str(alice.memory_id)]
    for number in range(40):
        clock.move(timedelta(hours=7))
        said = " ".join(rng.choices(WORDS, k=rng.randint(2, 9)))
        visibility = rng.choice((None, None, None, private(), restricted(BOT), restricted(assistant("other"))))
        made = ann.remember(
            Fact(statement=said) if number % 4 else Preference(polarity="likes", target=said, strength=0.5),
            content=said * (number % 3),
            links=[("about", alice)] if number % 2 else [],
            tags=rng.choice(([], ["a"], ["b", "two words"])),
            on_duplicate="create",
            **({} if visibility is None else {"visibility": visibility}),
        )
        ids.append(str(made.memory_id))
        if number % 5 == 3:
            ann.edit(ids[-2], content="more tea")
        if number % 7 == 3:
            ann.contradict(ids[-1], by=ids[-3])
        if number % 11 == 3:
            bot.remember(Fact(statement=f"proposed {said}"))
            ann.archive(ids[-4])
    ann.delete(ids[5])
    ann.supersede(ids[9], Fact(statement="oolong instead"))
    return [ids[0], ids[5], ids[9], ids[-1]]


def told_by(space: MemorySpace, ids: list[str]) -> dict[str, Any]:
    """All answers to a user, and to an assistant about the past."""
    views = {
        "user": space.session(ANN, record=False),
        "assistant then": space.session(BOT, record=False).as_of(known_at=START + timedelta(days=6)),
    }
    return {f"{who}: {asked}": answer for who, view in views.items() for asked, answer in everything(view, ids)}


def test_every_answer_is_the_same_wherever_the_space_lies(tmp_path: Path) -> None:
    """In memory, in a file, opened again, built anew, and opened from a backup."""
    clock = FrozenClock(START)
    with MemorySpace.in_memory(clock=clock, ids=Ids()) as space:
        ids = lived(space, clock)
        expected = told_by(space, ids)
    clock = FrozenClock(START)
    with MemorySpace.open(tmp_path / "space.db", clock=clock, ids=Ids()) as space:
        assert ids == lived(space, clock)
        assert expected == told_by(space, ids)
        space.maintenance(ANN).backup(tmp_path / "copy.db")
        space.maintenance(ANN).rebuild()
        assert expected == told_by(space, ids)
    for name in ("space.db", "copy.db"):
        with MemorySpace.open(tmp_path / name, clock=clock) as space:
            assert expected == told_by(space, ids)


@pytest.mark.parametrize("embedder", [None, FakeEmbedder(dimension=32)], ids=["words", "meaning"])
def test_an_answer_does_not_change_by_asking(embedder: FakeEmbedder | None) -> None:
    """A hundred times, whatever else is recalled, read and recorded in between."""
    clock = FrozenClock(START)
    with MemorySpace.in_memory(clock=clock, ids=Ids(), embedder=embedder) as space:
        ids = lived(space, clock)
        space.flush()
        for actor in (ANN, BOT):
            session = space.session(actor)
            expected = [laid_open(session.recall(question)) for question in QUESTIONS]
            for number in range(100):
                session.get(ids[0])
                session.recall(WORDS[number % len(WORDS)], limit=3)
                session.search(f"tag:a {WORDS[number % 3]}")
                if number % 20 == 0:
                    space.flush()
                assert expected[number % len(expected)] == laid_open(session.recall(QUESTIONS[number % len(expected)]))
            assert session.accesses(ids[0]).count > 50


@pytest.mark.parametrize("embedder", [None, FakeEmbedder(dimension=32)], ids=["words", "meaning"])
def test_every_explanation_adds_up(embedder: FakeEmbedder | None) -> None:
    """By words and by meaning, in the present and in the past, for users and others, in recall and in search."""
    clock = FrozenClock(START)
    with MemorySpace.in_memory(clock=clock, ids=Ids(), embedder=embedder) as space:
        lived(space, clock)
        parts: Counter[str] = Counter()
        for actor in (ANN, BOT):
            session = space.session(actor, record=False)
            later, past = session.at(clock.now() + timedelta(days=900)), session.as_of(known_at=START + timedelta(5))
            for view in (session, later, past, session.as_of(valid_at=START)):
                for question in QUESTIONS:
                    for hit in (*view.recall(question, status=None, limit=50), *view.search(question)):
                        assert hit.score == sum(hit.explanation.values())
                        assert hit.explanation == view.explain(hit).recall
                        parts.update(hit.explanation.keys())
        wanted = {"pairs", "passage", "session", "named", "dated", "freshness", "importance", "confidence", "stale"}
        assert wanted | ({"meaning"} if embedder else set()) <= parts.keys()


def pages(call: Callable[..., Page[Any]], between: Callable[[], object], **options: Any) -> Iterator[Any]:
    """What a listing holds, page by page, with something happening before each further page."""
    after: str | None = None
    while True:
        page = call(after=after, **options)
        yield from page
        if page.next is None:
            return
        after = page.next
        between()


@pytest.mark.parametrize("actor", [ANN, BOT], ids=["user", "assistant"])
@pytest.mark.parametrize("order", [*ORDERS, "timeline", "reviews", "proposals"])
@pytest.mark.parametrize("limit", [1, 3])
def test_pages_neither_repeat_nor_skip_while_others_write(order: str, limit: int, actor: Any) -> None:
    """What was there before and is left alone comes exactly once, whatever is begun, changed or ended meanwhile."""
    clock = FrozenClock(START)
    with MemorySpace.in_memory(clock=clock, ids=Ids()) as space:
        lived(space, clock)
        view: View = space.session(actor, record=False)
        ann, rng = space.session(ANN, record=False), random.Random(f"{order} {limit}")
        calls: dict[str, tuple[Callable[..., Page[Any]], dict[str, Any]]] = {
            "timeline": (view.timeline, {"start": START - timedelta(9), "end": START + timedelta(99)}),
            "reviews": (view.reviews, {}),
            "proposals": (view.proposals, {"status": "open"}),
        }
        call, options = calls.get(order, (view.find, {"order": order, "descending": rng.random() < 0.5}))
        before = [_named(row) for row in pages(call, lambda: None, limit=limit, **options)]
        assert len(before) == len(set(before)) > 3
        spare = [str(m.id) for m in ann.find_all()][::3]
        touched: set[str] = set()

        def happen() -> None:
            if len(touched) > 60:
                return
            clock.move(timedelta(seconds=1))
            act = rng.choice(("remember", "remember", "edit", "archive", "delete", "pin"))
            if act == "remember" or not spare:
                made = ann.remember(Fact(statement=f"{rng.choice(WORDS)} {rng.random()}"), similar=False)
                touched.add(str(made.memory_id))
                return
            m = spare.pop()
            touched.update((m, *(str(n.memory.id) for n in ann.neighbours(m) if act != "edit")))
            if act == "edit":
                ann.edit(m, title=f"{rng.random()}")
            elif act == "pin":
                ann.pin(m)
            else:
                getattr(ann, act)(m)

        met = [_named(row) for row in pages(call, happen, limit=limit, **options)]
        alone = [row for row in before if not touched & set(row)]
        assert alone == [row for row in met if row in set(alone)]
        assert {row for row, times in Counter(met).items() if times > 1} <= {row for row in met if touched & set(row)}
        assert alone


def _named(row: Any) -> tuple[str, ...]:
    """What names a row of a listing."""
    if hasattr(row, "reason"):
        return tuple(map(str, (row.reason, row.memory_id, row.other_id, row.proposal_id)))
    return (str(row.id),)
