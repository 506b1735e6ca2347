"""Undo and redo: whatever a batch did comes back exactly, or is refused with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core.errors import ConflictError, ForbiddenError, IllegalTransitionError, NotFoundError, RejectedError
from engram_core.kinds import Fact, Goal, Person, Relationship
from engram_core.log import Log
from engram_core.values import assistant, until
from engram_core.verbs import Draft
from tests.governance.acts import ACTS, world
from tests.governance.rooms import Room, everything, room


@pytest.fixture
def r() -> Room:
    return room()


def seen(r: Room) -> tuple[Any, ...]:
    """What a user and an assistant observe, and where every proposal stands."""
    return everything(r.ann), everything(r.bot)


@pytest.mark.parametrize("name", ACTS)
def test_undo_and_redo_are_identities(r: Room, name: str) -> None:
    """For every verb: undo brings back all that can be observed, redo what was after; and again, and again."""
    w = world(r)
    if name == "approve":
        with r.bot.proposal("something else") as p:
            p.tag(w["tea"], "waits")
    before = seen(r)
    receipt = ACTS[name](r, w)
    assert receipt.batch_id is not None
    after = seen(r)
    assert before != after
    for _ in range(3):
        r.clock.move(seconds=1)
        undone = r.ann.undo(receipt)
        assert "changed" == undone.status
        assert before == seen(r)
        r.ann.redo(receipt)
        assert after == seen(r)
    assert not r.nightly.verify().problems


@pytest.mark.parametrize("name", ACTS)
def test_an_undo_can_itself_be_undone(r: Room, name: str) -> None:
    """Undoing the undo is redoing; there is one switch for each batch."""
    w = world(r)
    before = seen(r)
    receipt = ACTS[name](r, w)
    after = seen(r)
    undone = r.ann.undo(receipt)
    back = r.ann.undo(undone)
    assert after == seen(r)
    with pytest.raises(IllegalTransitionError):
        r.ann.redo(receipt)
    r.ann.undo(back)
    assert before == seen(r)


def test_batches_are_undone_one_after_the_other(r: Room) -> None:
    """Each in turn, back to the beginning and forward again, although later ones touched the same fields."""
    memory = r.ann.remember(Fact("x"), content="0")
    batches = [memory, *(r.ann.edit(memory, content=str(n)) for n in (1, 2, 3))]
    for n in (3, 2, 1):
        with pytest.raises(ConflictError) as later:
            r.ann.undo(batches[n - 1])
        assert batches[n].batch_id == later.value.fields["blocking_batch"]
        r.ann.undo(batches[n])
        assert str(n - 1) == r.ann.get(memory).content
    r.ann.undo(batches[0])
    with pytest.raises(NotFoundError):
        r.ann.get(memory)
    with pytest.raises(RejectedError):
        r.ann.redo(batches[1])
    r.ann.redo(batches[0])
    with pytest.raises(ConflictError) as earlier:
        r.ann.redo(batches[2])
    assert batches[1].batch_id == earlier.value.fields["blocking_batch"]
    for n in (1, 2, 3):
        r.ann.redo(batches[n])
        assert str(n) == r.ann.get(memory).content


def test_another_field_does_not_stand_in_the_way(r: Room) -> None:
    """Only a later touch of one of the same field groups blocks."""
    memory = r.ann.remember(Fact("x"))
    edited = r.ann.edit(memory, content="new")
    r.ann.tag(memory, "t")
    r.ann.confirm(memory)
    r.ann.undo(edited)
    assert ("", ("t",)) == (r.ann.get(memory).content, r.ann.get(memory).tags)


@pytest.mark.parametrize("need", ["derived_from", "supersedes", "merge", "subject", "object"])
def test_a_beginning_that_others_need_is_not_taken_back(r: Room, need: str) -> None:
    """As long as something later rests on it, links to it, or was merged into it."""
    begun = r.ann.remember(Person("Alice Ng"))
    if need == "merge":
        later = r.ann.merge(begun, r.ann.remember(Person("Alice N.")))
    elif need == "supersedes":
        later = r.ann.supersede(r.ann.remember(Fact("Alice")), begun)
    elif need in ("subject", "object"):
        ends = [str(begun.memory_id), str(r.ann.remember(Person("Bob")).memory_id)]
        ends = ends if need == "subject" else ends[::-1]
        later = r.ann.remember(Relationship(subject_id=ends[0], predicate="knows", object_id=ends[1]))
    else:
        later = r.ann.remember(Fact("y"), links=[("derived_from", begun)])
    with pytest.raises(ConflictError, match="needed by"):
        r.ann.undo(begun)
    r.ann.undo(later)
    r.ann.undo(begun)
    with pytest.raises(NotFoundError):
        r.ann.get(begun)


def test_a_withdrawn_memory_is_seen_by_nobody(r: Room) -> None:
    """Not by get, find, recall, counts, links or tags; its id stays taken; a link to it is refused."""
    gone = r.ann.remember(Fact("wombats are square"), tags=("odd",))
    r.ann.undo(gone)
    for session in (r.ann, r.bot):
        with pytest.raises(NotFoundError):
            session.get(gone)
        assert (0, {}, []) == (session.count(), dict(session.tags()), list(session.recall("wombats")))
    for verb in (r.ann.confirm, r.ann.delete, r.ann.restore, r.ann.pin):
        with pytest.raises(IllegalTransitionError):
            verb(gone)
    with pytest.raises(ConflictError):
        r.ann.remember(Fact("y"), links=[("about", gone)])
    with pytest.raises(ConflictError):
        r.ann.remember(Fact("y"), id=gone.memory_id)
    assert "created" == r.ann.remember(Fact("wombats are square"), tags=("odd",)).status


def test_tombstones_and_erasures_are_not_undone(r: Room) -> None:
    """Nor is anything else on a memory that is deleted or erased."""
    for end in (r.ann.delete, r.ann.erase):
        memory = r.ann.remember(Fact("x"), on_duplicate="create")
        edited = r.ann.edit(memory, content="new")
        ended = end(memory)
        batches = [memory, edited] + ([ended] if hasattr(ended, "batch_id") else [ended.certificate["batch_id"]])
        for batch in batches:
            with pytest.raises(IllegalTransitionError):
                r.ann.undo(batch)
    assert r.nightly.verify().ok


def test_a_contradictions_undo_restores_confidence_exactly(r: Room) -> None:
    """Bit by bit, whatever stood there, and takes the edge away."""
    ground = r.ann.remember(Fact("ground"))
    for confidence in (0.1 + 0.2, 1 / 3, 0.95, 1.0, 5e-324):
        memory = r.ann.remember(Fact(f"doubted {confidence}"), confidence=confidence)
        disputed = r.ann.contradict(memory, by=ground)
        assert r.ann.get(memory).flags.disputed
        r.ann.undo(disputed)
        found = r.ann.get(memory)
        assert (confidence, False, ()) == (found.confidence, found.flags.disputed, found.links)
        assert 0 == len(r.ann.neighbours(memory))


def test_undo_of_an_approval_sets_the_proposal_to_undone(r: Room) -> None:
    """And redo to merged again; it is not open any more, and may be asked for anew."""
    receipt = r.bot.remember(Fact("x"))
    merged = r.ann.approve(receipt)
    r.ann.undo(merged)
    assert ("undone", 0) == (r.ann.proposal(receipt).status, len(r.ann.proposals()))
    with pytest.raises(IllegalTransitionError):
        r.ann.approve(receipt)
    r.ann.redo(merged)
    assert "merged" == r.ann.proposal(receipt).status
    assert 1 == r.ann.count()


def test_an_approval_that_changed_nothing_is_undone_once(r: Room) -> None:
    """Also when all drafts turned out to be there already."""
    receipt = r.bot.remember(Fact("x"))
    r.ann.remember(Fact("x"))
    merged = r.ann.approve(receipt)
    r.ann.undo(merged)
    with pytest.raises(IllegalTransitionError):
        r.ann.undo(merged)
    r.ann.redo(merged)
    assert "merged" == r.ann.proposal(receipt).status


def test_only_users_undo(r: Room) -> None:
    """Not even an assistant its own."""
    receipt = r.bot.remember(Fact("x"))
    merged = r.ann.approve(receipt)
    for session in (r.bot, r.space.session(assistant("other"))):
        for verb in (session.undo, session.redo):
            with pytest.raises(ForbiddenError):
                verb(merged)


def test_what_is_no_batch_is_not_undone(r: Room) -> None:
    """Unknown ids, proposals, and what was done or undone already are refused, and nothing is written."""
    receipt = r.ann.remember(Fact("x"))
    waiting = r.bot.tag(receipt, "t")
    before = r.space.position
    for batch, error in (
        ("00000000-0000-7000-8000-000000000000", NotFoundError),
        (waiting, IllegalTransitionError),
        (r.ann.tag(receipt), RejectedError),
    ):
        with pytest.raises(error):
            r.ann.undo(batch)
    with pytest.raises(IllegalTransitionError):
        r.ann.redo(receipt)
    assert before == r.space.position


def test_what_comes_back_must_still_fit(r: Room) -> None:
    """An edge that would close a circle by now is not restored."""
    one = r.ann.remember(Goal("one", status="active"))
    two = r.ann.remember(Goal("two", status="active"), links=[("part_of", one)])
    cut = r.ann.unlink(two, "part_of", one)
    r.ann.link(one, "part_of", two)
    with pytest.raises(ConflictError, match="circle"):
        r.ann.undo(cut)


def test_an_expiry_is_undone_like_anything_else(r: Room) -> None:
    """The sweep is a batch; what it archived is expired again, and will be swept again."""
    memory = r.ann.remember(Fact("x"), lifetime=until(r.clock.now().replace(year=2027)))
    r.clock.move(days=400)
    swept = r.nightly.expire()
    assert "archived" == r.ann.get(memory).status
    r.ann.undo(swept.receipts[0])
    assert "expired" == r.ann.get(memory).status
    assert 1 == len(r.nightly.expire())


def test_the_cost_does_not_grow_with_the_log(r: Room) -> None:
    """Undo reads the streams that the batch touched, and nothing else of the log."""
    memory = r.ann.remember(Fact("x"))
    edited = r.ann.edit(memory, content="new")
    for n in range(300):
        r.ann.remember(Fact(f"other {n}"), similar=False)
    store = r.space._engine.store
    read = 0
    real_stream, real = store.read_stream, store.read

    def counted(method: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal read
            found = method(*args, **kwargs)
            read += len(found)
            return found

        return call

    store.read_stream, store.read = counted(real_stream), counted(real)  # type: ignore[method-assign]
    r.ann.undo(edited)
    assert read < 200


@settings(max_examples=25)
@given(st.data())
def test_any_history_is_undone_backwards(data: st.DataObject) -> None:
    """Batches of any verbs, undone in reverse, lead back through every observable state, and redone, forward."""
    r = room()
    w = world(r)
    states, receipts = [everything(r.ann)], []
    for name in data.draw(st.lists(st.sampled_from(sorted(ACTS)), min_size=1, max_size=5)):
        try:
            receipt = ACTS[name](r, w)
        except (RejectedError, NotFoundError):
            continue
        if receipt.batch_id is not None:
            receipts.append(receipt)
            states.append(everything(r.ann))
    for receipt, before in zip(reversed(receipts), reversed(states[:-1]), strict=True):
        r.ann.undo(receipt)
        assert before == everything(r.ann)
    for receipt, after in zip(receipts, states[1:], strict=True):
        r.ann.redo(receipt)
        assert after == everything(r.ann)
    assert not r.nightly.verify().problems


def test_undo_reads_no_more_of_a_longer_log() -> None:
    """It reads its own batch, and of its memories what came before: the same in a space ten times as large."""
    counts = []
    for size in (80, 400):
        r = room()
        r.ann.remember_many([Draft(Fact(f"number {n}")) for n in range(size)])
        with r.ann.batch() as b:
            for n in range(10):
                b.remember(Fact(f"new {n}"))
        for n in range(size):
            r.ann.remember(Fact(f"later {n}"))
        tagged = r.ann.tag(b.receipts[0], "t")
        store: Any = r.space._engine.store
        read: list[int] = []
        for name in ("read", "read_stream"):
            kept = getattr(store, name)

            def counted(*args: Any, kept: Any = kept, read: list[int] = read, **options: Any) -> Any:
                found = kept(*args, **options)
                read.append(len(found))
                return found

            setattr(store, name, counted)
        r.ann.undo(tagged)
        r.ann.undo(b.receipt)
        counts.append((len(read), sum(read)))
    assert counts[0] == counts[1]


def test_what_was_said_anew_is_not_redone_beside_it(r: Room) -> None:
    """A beginning is not put forward again while an exact duplicate stands that came, or came back, since."""
    first = r.ann.remember(Fact("it rains"))
    r.ann.undo(first)
    second = r.ann.remember(Fact("it rains"))
    assert "created" == second.status
    with pytest.raises(ConflictError, match="exactly the same") as caught:
        r.ann.redo(first)
    assert second.memory_id == caught.value.fields["other_id"]
    r.ann.undo(second)
    r.ann.redo(first)
    with pytest.raises(ConflictError, match="exactly the same"):
        r.ann.redo(second)
    forced = r.ann.remember(Fact("it rains"), on_duplicate="create")
    for _ in range(2):
        r.ann.undo(forced)
        r.ann.redo(forced)
    with r.ann.batch() as b:
        b.remember(Fact("it pours"))
        b.remember(Fact("it pours"), on_duplicate="create")
    r.ann.undo(b.receipt)
    r.ann.redo(b.receipt)
    assert 4 == r.ann.count()


def test_a_batch_that_nothing_followed_is_undone_from_its_own_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens the space anew reads the batch, and of its memories those alone to which something happened."""
    read: list[str] = []
    stream = Log.stream

    def counted(log: Log, name: str, **options: Any) -> Any:
        read.append(name)
        return stream(log, name, **options)

    monkeypatch.setattr(Log, "stream", counted)
    r = room(tmp_path / "brain.db")
    made = r.ann.remember_many([Draft(Fact(f"number {n}"), tags=["a"]) for n in range(30)], batch=100).receipts
    ids = [str(receipt.memory_id) for receipt in made]
    with r.ann.batch() as b:
        for id in ids[:20]:
            b.tag(id, "b")

    def reopened() -> Room:
        r.space.close()
        read.clear()
        return room(tmp_path / "brain.db", clock=r.clock)

    r = reopened()
    with pytest.raises(ConflictError, match="undo that batch first"):
        r.ann.undo(made[0].batch_id)
    assert set(read) <= set(ids[:20])
    r.ann.undo(b.batch_id)
    assert {("a",)} == {r.ann.get(id).tags for id in ids}
    fresh = r.ann.remember_many([Draft(Fact(f"new {n}")) for n in range(30)], batch=100).receipts[0]
    r = reopened()
    r.ann.undo(fresh.batch_id)
    assert [] == read
    assert 30 == r.ann.count()
    r.ann.redo(fresh.batch_id)
    assert 60 == r.ann.count()
    assert not r.nightly.verify().problems
    r.space.close()
