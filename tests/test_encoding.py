"""Recall by meaning through the door: when texts are encoded, what a failing model costs, who sees what, and when."""

from __future__ import annotations

import random
import threading
from array import array
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from operator import mul
from pathlib import Path
from typing import Any

import pytest

from engram_core import (
    Fact,
    InvalidAttributesError,
    MemorySpace,
    Person,
    ProjectionError,
    Session,
    assistant,
    private,
    restricted,
    shared,
    user,
)
from engram_core.projections.encoding import passages
from engram_core.projections.lanes import VisibleTexts
from engram_core.projections.nearness import Listed, Near
from engram_core.projections.vectors import SCALE
from engram_core.results.listings import Hits
from engram_core.testing import FakeEmbedder, FrozenClock, SequentialIds

SYNONYMS = {"doctor": "physician", "car": "automobile"}
Opener = Callable[..., MemorySpace]


@pytest.fixture(params=["in memory", "in a file"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens a space with an embedder; in a file, the same one each time."""

    def opener(embedder: Any = None, **options: Any) -> MemorySpace:
        if request.param == "in memory":
            return MemorySpace.in_memory(embedder=embedder, **options)
        return MemorySpace.open(tmp_path / "space.db", embedder=embedder, **options)

    return opener


@pytest.fixture
def model() -> FakeEmbedder:
    return FakeEmbedder(synonyms=SYNONYMS)


def filled(space: MemorySpace) -> Session:
    """A user's session in a space with some notes."""
    ann = space.session(user("ann"), record=False)
    ann.remember_many([Fact(f"the {word} is {state}") for word in "garden harbour kitchen".split() for state in STATES])
    return ann


STATES = ("open", "closed", "green", "small", "old")


def told(hits: Hits) -> list[Any]:
    return [(hit.id, hit.score, dict(hit.explanation)) for hit in hits]


def vectors_in(space: MemorySpace, where: str = "1") -> int:
    with space._engine.host.reading() as tx:
        found: int = tx.execute(f"SELECT count(*) FROM vectors WHERE {where}").fetchone()[0]
    return found


def test_what_shares_no_word_is_found_by_its_meaning(opened: Opener, model: FakeEmbedder) -> None:
    """Recall, search and their explanations know the model."""
    with opened(model) as space:
        ann = filled(space)
        wanted = ann.remember(Fact("the physician called")).memory_id
        for hits in (ann.recall("doctor"), ann.search("doctor kind:fact")):
            assert wanted == hits[0].id
            assert "" == hits.notice
            assert hits[0].score == sum(hits[0].explanation.values())
            assert hits[0].explanation["meaning"] > 0


def test_writes_do_not_wait_for_the_model(opened: Opener, model: FakeEmbedder) -> None:
    """Texts are encoded at flush or at the next question, each version once, and never at close."""
    with opened(model) as space:
        ann = filled(space)
        assert [] == model.encoded
        space.flush()
        assert 15 == len(model.encoded)
        space.flush()
        ann.recall("harbour")
        assert ["harbour"] == model.encoded[15:]
        ann.remember(Fact("the last one"))
    assert "the last one" not in model.encoded


def test_a_failing_model_loses_no_write(opened: Opener, model: FakeEmbedder) -> None:
    """Recall falls back on words and says so; flush says so loudly; both go on when the model is back."""
    with opened(model) as space:
        ann = filled(space)
        wanted = ann.remember(Fact("the physician called the harbour")).memory_id
        model.failure = TimeoutError("no answer")
        hits = ann.recall("harbour")
        assert 6 == len(hits)
        assert "no answer" in hits.notice
        assert 0 == len(ann.recall("doctor"))
        with pytest.raises(ProjectionError, match="no answer") as caught:
            space.flush()
        assert "embedder_failed" == caught.value.code
        model.failure = None
        assert wanted == ann.recall("doctor")[0].id
        assert "" == ann.recall("doctor").notice


@pytest.mark.parametrize("wrong", ["few", "short", "nan", "numbers", "nothing"])
def test_what_is_no_vector_is_refused(opened: Opener, model: FakeEmbedder, wrong: str) -> None:
    """One vector of finite figures for each text, of the dimension that was named; nothing else is stored."""
    given: dict[str, Callable[[Sequence[str]], Any]] = {
        "few": lambda texts: [[1.0] * 64] * (len(texts) + 1),
        "short": lambda texts: [[1.0]] * len(texts),
        "nan": lambda texts: [[float("nan")] * 64] * len(texts),
        "numbers": lambda texts: [1.0] * len(texts),
        "nothing": lambda texts: [],
    }
    with opened(model) as space:
        ann = filled(space)
        model.encode = lambda texts, purpose: given[wrong](texts)  # type: ignore[method-assign]
        for act in (space.flush, lambda: ann.recall("harbour")):
            with pytest.raises(InvalidAttributesError, match="64 finite figures"):
                act()
        assert 0 == vectors_in(space)
        assert 15 == ann.count()


@pytest.mark.parametrize(
    "embedder",
    [
        object(),
        type("E", (), {"name": "x", "dimension": 0, "encode": print}),
        type("E", (), {"name": "", "dimension": 3}),
        type("E", (), {"name": "x", "dimension": 3, "encode": print, "index": object()}),
    ],
)
def test_what_is_no_embedder_is_refused(embedder: Any) -> None:
    """Name, dimension and encode are asked for at the door."""
    with pytest.raises(InvalidAttributesError, match="embedder"):
        MemorySpace.in_memory(embedder=embedder)


def test_a_model_may_not_bear_the_name_of_another(tmp_path: Path) -> None:
    """Another dimension under the same name is refused when the space is opened, and nothing is lost."""
    path = tmp_path / "space.db"
    with MemorySpace.open(path, embedder=FakeEmbedder("one", 64)) as space:
        filled(space)
        space.flush()
    with pytest.raises(InvalidAttributesError, match="another model needs another name"):
        MemorySpace.open(path, embedder=FakeEmbedder("one", 32))
    again = FakeEmbedder("one", 64)
    with MemorySpace.open(path, embedder=again) as space:
        space.flush()
        assert [] == again.encoded


def test_another_model_starts_anew_and_rebuild_drops_the_old(tmp_path: Path) -> None:
    """Vectors of two names are never compared; both stay until the read model is rebuilt with one of them."""
    path = tmp_path / "space.db"
    for name, dimension in (("one", 64), ("two", 32)):
        model = FakeEmbedder(name, dimension)
        with MemorySpace.open(path, embedder=model) as space:
            if name == "one":
                filled(space)
            space.flush()
            assert 15 == len(model.encoded)
            if name == "two":
                assert 30 == vectors_in(space)
                space.maintenance(user("ann")).rebuild()
                assert 15 == vectors_in(space)
                space.flush()
                assert 15 == len(model.encoded)


def test_without_a_model_its_vectors_lie_still(tmp_path: Path) -> None:
    """A space that is opened without an embedder recalls by words, and erases vectors none the less."""
    path, model = tmp_path / "space.db", FakeEmbedder(synonyms=SYNONYMS)
    with MemorySpace.open(path, embedder=model) as space:
        ann = filled(space)
        wanted = ann.remember(Fact("the physician called")).memory_id
        space.flush()
    with MemorySpace.open(path) as space:
        ann = space.session(user("ann"))
        assert 0 == len(ann.recall("doctor"))
        ann.erase(wanted)
        assert 15 == vectors_in(space)
    with MemorySpace.open(path, embedder=model) as space:
        assert wanted not in [hit.id for hit in space.session(user("ann")).recall("doctor")]


def test_a_space_for_reading_compares_what_is_there(tmp_path: Path) -> None:
    """What has no vector is found by its words, and recall says so."""
    path, model = tmp_path / "space.db", FakeEmbedder(synonyms=SYNONYMS)
    with MemorySpace.open(path, embedder=model) as space:
        ann = filled(space)
        wanted = ann.remember(Fact("the physician called")).memory_id
        space.flush()
        ann.remember(Fact("an automobile stands there"))
    with MemorySpace.open(path, embedder=model, read_only=True) as space:
        bob = space.session(user("bob"))
        hits = bob.recall("doctor")
        assert wanted == hits[0].id
        assert "not all texts" in hits.notice
        assert "an automobile stands there" == bob.recall("automobile stands")[0].memory.display_title


def test_erasing_takes_all_vectors(opened: Opener, model: FakeEmbedder) -> None:
    """Of an erased memory none is left, of its past neither; a survivor is encoded without what it had absorbed."""
    with opened(model) as space:
        ann = filled(space)
        gone = ann.remember(Person("Robert Secret"), content="a physician", tags=["medic"]).memory_id
        kept = ann.remember(Person("Bob"), content="a teacher").memory_id
        ann.merge(kept, gone)
        space.flush()
        before = len(model.encoded)
        ann.erase(gone)
        space.flush()
        again = model.encoded[before:]
        assert again
        assert not any("Secret" in text or "medic" in text for text in again)
        with space._engine.host.reading() as tx:
            (key,) = tx.execute("SELECT key FROM memories WHERE id = ?", (gone,)).fetchone()
        assert 0 == vectors_in(space, f"key = {key}")


def test_a_text_erased_while_the_model_has_it_leaves_no_vector(opened: Opener, model: FakeEmbedder) -> None:
    """The model is asked outside of every transaction; what it gives is stored for texts that are still the same."""
    with opened(model) as space:
        ann = filled(space)
        gone = ann.remember(Fact("a secret")).memory_id
        changed = ann.remember(Fact("an old text")).memory_id
        encode, calls = model.encode, []

        def slow(texts: Sequence[str], purpose: Any) -> list[list[float]]:
            if not calls:
                ann.erase(gone)
                ann.update(changed, statement="a new text")
            calls.append(list(texts))
            return encode(texts, purpose)

        model.encode = slow  # type: ignore[method-assign]
        space.flush()
        assert ["a new text"] == calls[1]
        assert 17 == vectors_in(space)


def test_many_threads_encode_each_text_once(opened: Opener, model: FakeEmbedder) -> None:
    """While one encodes, the others wait, and all get the same answer."""
    with opened(model, clock=FrozenClock()) as space:
        filled(space)
        answers: list[Any] = []

        def ask() -> None:
            answers.append(told(space.session(user("ann"), record=False).recall("old harbour")))

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [answers[0]] * 6 == answers
        assert 15 + 6 == len(model.encoded)


# -- who, and when -----------------------------------------------------------------------------------------------------

WORDS = "doctor physician car automobile tea harbour garden lamp river stone cloud paper".split()


def history(space: MemorySpace, clock: FrozenClock, seed: int, *, hidden: bool = True) -> list[datetime]:
    """Many random writes, some hidden from the assistant; without the hidden ones all else is the same."""
    rng = random.Random(seed)
    sessions = [space.session(user("ann"), session_id=f"s{number}", record=False) for number in range(3)]
    known: list[tuple[str, bool]] = []
    instants = []
    for number in range(40):
        clock.move(timedelta(hours=1))
        session, text = rng.choice(sessions), " ".join(rng.choices(WORDS, k=rng.randrange(2, 7)))
        secret, act, at, tag = rng.random() < 0.3, rng.random(), rng.randrange(1000), rng.choice(WORDS)
        mine = [id for id, is_secret in known if is_secret == secret]
        visible = rng.choice((private(), restricted(assistant("other")))) if secret else None
        if act < 0.6 or not mine:
            id = f"00000000-0000-7000-8000-{number:012d}"
            known.append((id, secret))
            if hidden or not secret:
                session.remember(
                    Fact(text),
                    id=id,
                    on_duplicate="create",
                    similar=False,
                    **({"visibility": visible} if visible else {}),
                )
        else:
            id = mine[at % len(mine)]
            if act >= 0.95:
                known.remove((id, secret))
            if secret and not hidden:
                pass
            elif act < 0.85:
                session.update(id, statement=text)
            elif act < 0.95:
                session.tag(id, tag)
            else:
                session.archive(id)
        if number % 5 == 4:
            instants.append(clock.now())
            space.flush()
    return instants


QUESTIONS = ("the doctor and a car", "tea at the harbour", "physician", "cloud paper stone")


@pytest.mark.parametrize("seed", range(6))
def test_hidden_texts_change_no_answer(seed: int) -> None:
    """The mean, spread and top of cosines are those of visible texts alone, now and then."""
    answers = []
    for hidden in (True, False):
        clock = FrozenClock(datetime(2026, 1, 1, tzinfo=UTC))
        with MemorySpace.in_memory(embedder=FakeEmbedder(synonyms=SYNONYMS), clock=clock) as space:
            instants = history(space, clock, seed, hidden=hidden)
            bot = space.session(assistant("claude"), record=False)
            views = [bot, *(bot.as_of(known_at=instant) for instant in instants)]
            answers.append([told(view.recall(question)) for view in views for question in QUESTIONS])
    assert answers[1] == answers[0]


@pytest.mark.parametrize("seed", range(6))
def test_a_past_view_answers_what_was_answered_then(seed: int) -> None:
    """The versions of then are compared, even those that were never encoded while they held."""
    clock = FrozenClock(datetime(2026, 1, 1, tzinfo=UTC))
    model = FakeEmbedder(synonyms=SYNONYMS)
    then: dict[datetime, list[Any]] = {}
    with MemorySpace.in_memory(clock=clock, embedder=model) as space:
        original = space.flush

        def noted() -> None:
            original()
            ann = space.session(user("ann"), record=False)
            then[clock.now()] = [told(ann.recall(question)) for question in QUESTIONS]

        space.flush = noted  # type: ignore[method-assign]
        history(space, clock, seed)
        late = MemorySpace.over(space._engine.store, clock=clock, embedder=FakeEmbedder(synonyms=SYNONYMS))
        for reader in (space, late):
            ann = reader.session(user("ann"), record=False)
            assert then
            for instant, answers in then.items():
                view = ann.as_of(known_at=instant)
                assert answers == [told(view.recall(question)) for question in QUESTIONS]


def test_answers_survive_a_rebuild_and_a_reopening(tmp_path: Path) -> None:
    """For user and assistant, now and then, with a model and without."""
    for model in (None, FakeEmbedder(synonyms=SYNONYMS)):
        clock = FrozenClock(datetime(2026, 1, 1, tzinfo=UTC))
        path = tmp_path / f"{model is None}.db"
        answers = []

        def asked(space: MemorySpace) -> list[Any]:
            views: list[Any] = []
            for actor in (user("ann"), assistant("claude")):
                session = space.session(actor, record=False)
                views += [session, session.as_of(known_at=datetime(2026, 1, 1, 20, tzinfo=UTC))]
            return [told(view.recall(question)) for view in views for question in QUESTIONS]

        with MemorySpace.open(path, clock=clock, embedder=model) as space:
            history(space, clock, 3)
            answers.append(asked(space))
            space.maintenance(user("ann")).rebuild()
            answers.append(asked(space))
            space.session(user("ann")).remember(Fact("unrelated"))
            space.maintenance(user("ann")).rebuild()
        with MemorySpace.open(path, clock=clock, embedder=model) as space:
            ann = space.session(user("ann"))
            ann.undo(ann.history(ann.find(order="created_at", descending=True, limit=1)[0])[-1].batch_id)
            answers.append(asked(space))
        with MemorySpace.in_memory(
            clock=(other := FrozenClock(datetime(2026, 1, 1, tzinfo=UTC))), embedder=model
        ) as space:
            history(space, other, 3)
            answers.append(asked(space))
            space.maintenance(user("ann")).rebuild()
            answers.append(asked(space))
        assert all(answers[0])
        assert [answers[0]] * 5 == answers


def test_filters_apply_before_the_limit(model: FakeEmbedder) -> None:
    """The only memory of a kind is found by its meaning behind hundreds that are nearer."""
    with MemorySpace.in_memory(embedder=model, ids=SequentialIds()) as space:
        ann = space.session(user("ann"))
        ann.remember_many([Fact(f"physician {number}") for number in range(400)])
        ann.remember_many([Fact(f"garden {number}") for number in range(400)])
        wanted = ann.remember(Person("Eve"), content="She is a physician at the harbour").memory_id
        assert [wanted] == [hit.id for hit in ann.recall("doctor", kind="person")]


def test_long_texts_are_put_to_a_model_in_passages() -> None:
    """Passages end at a line's end, else at a blank; what another text contains is left out."""
    assert ("one\ntwo",) == passages("one", "two", "one")
    assert ("a longer one",) == passages("longer", "a longer one")
    assert ("",) == passages("", " ")
    lines = "\n".join(f"{number} " + "word " * 50 for number in range(9))
    cut = passages(lines)
    assert [2, 2, 2, 2, 1] == [len(part.splitlines()) for part in cut]
    assert "".join(lines.split()) == "".join("".join(cut).split())
    assert ("x" * 600, "x" * 400) == passages("x" * 1_000)


def test_no_statement_walks_through_the_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version's vectors are found by its position, never by a range that the planner derives; new texts by theirs."""
    pytest.importorskip("numpy")
    seen: list[str] = []
    with MemorySpace.in_memory(embedder=FakeEmbedder()) as space:
        ann = filled(space)
        space.flush()
        ann.edit(ann.find(limit=1)[0], content="changed")
        with space._engine.host.reading() as tx:
            tx.set_trace_callback(seen.append)
        ann.recall("harbour")
        ann.as_of(known_at=datetime(2100, 1, 1, tzinfo=UTC)).recall("harbour")
        monkeypatch.setattr("engram_core.projections.nearness._numpy", lambda: None)
        ann.recall("harbour")
        with space._engine.host.reading() as tx:
            tx.set_trace_callback(None)
            plans = {
                (one, row[3]) for one in seen if "vectors v" in one for row in tx.execute(f"EXPLAIN QUERY PLAN {one}")
            }
    assert plans
    ranges = [plan for plan in plans if "SEARCH v" in plan[1] and "from_position=?" not in plan[1]]
    assert [] == ranges
    assert not any(step.startswith("SCAN v") for _, step in plans)


class Proposing:
    """An index of an application that proposes every memory it was ever told of, and asks which may be read."""

    def __init__(self) -> None:
        self.asked = 0

    def near(self, texts: VisibleTexts, asked: array[int]) -> Near:
        self.asked += 1
        held: dict[tuple[int, int], list[memoryview]] = {}
        for key, position, blob in texts.connection.execute("SELECT key, from_position, vector FROM vectors"):
            held.setdefault((key, position), []).append(memoryview(blob).cast("h"))
        versions = texts.began({key for key, _ in held})
        return Listed(
            {
                key: max(sum(map(mul, figures, asked)) for figures in held[key, position]) * 100_000 // SCALE**2
                for key, position in versions.items()
                if (key, position) in held
            }
        )


@pytest.mark.parametrize("seed", range(6))
def test_an_index_of_ones_own_answers_as_far_as_the_viewer_may_read(seed: int) -> None:
    """With every vector proposed it gives what the exact comparison gives: for each viewer, now and then."""
    told_by: list[list[Any]] = []
    for own in (None, Proposing()):
        model = FakeEmbedder(dimension=64)
        model.index = own  # type: ignore[attr-defined]
        clock = FrozenClock(datetime(2026, 1, 1, tzinfo=UTC))
        with MemorySpace.in_memory(embedder=model, clock=clock, ids=SequentialIds()) as space:
            ann, rng = space.session(user("ann"), record=False), random.Random(seed)
            for number in range(30):
                clock.move(days=1)
                visibility = rng.choice((shared(), private(), restricted(assistant("bot"))))
                made = ann.remember(Fact(" ".join(rng.choices(WORDS, k=3)) + f" {number}"), visibility=visibility)
                if number % 3 == 0:
                    ann.edit(made, content=" ".join(rng.choices(WORDS, k=4)))
                elif number % 7 == 0:
                    ann.delete(made)
            answers = []
            for actor in (user("ann"), assistant("bot"), assistant("other")):
                session = space.session(actor, record=False)
                for view in (session, session.as_of(known_at=datetime(2026, 1, 20, tzinfo=UTC))):
                    answers += [told(view.recall(word)) for word in WORDS[:4]]
            told_by.append(answers)
    assert own is not None
    assert own.asked > 20
    assert told_by[0] == told_by[1]
