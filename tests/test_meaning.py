"""The semantic half: what it adds, when it is believed, and that no vector outlives its text."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from engram_core.meaning import Meaning
from engram_core.projections import vectors
from engram_core.projections.lanes import VisibleTexts
from engram_core.projections.nearness import ExactIndex, Listed, Near
from engram_core.recall import Ranked, Scope, Signals, ranked
from tests.shelf import PRIVATE, RESTRICTED, SHARED, Shelf

# a toy model: words of one line mean the same
SENSES = ("car automobile vehicle", "doctor physician surgeon", "tea beverage drink", "boat ship vessel")


def sense(text: str) -> list[float]:
    """One figure a line, and a little of everything so that no vector is empty."""
    words = text.lower().split()
    return [0.05 + sum(word in line.split() for word in words) for line in SENSES]


def noise(text: str) -> list[float]:
    """A model that knows nothing."""
    rng = random.Random(hashlib.sha256(text.encode()).digest())
    return [rng.gauss(0, 1) for _ in range(64)]


class Library(Shelf):
    """A shelf whose texts have vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.said: dict[int, str] = {}
        self.embedder = vectors.start_embedder(self.connection, "toy", len(SENSES), "")

    def put(self, text: str, **how: Any) -> int:
        key = super().put(text, **how)
        self.said[key] = text
        return key

    def encode(self, model: Any) -> None:
        """Gives vectors to what waits for one."""
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES ('position', ?)", (self.position,))
        self.embedder = vectors.start_embedder(self.connection, model.__name__, len(model("")), "")
        found = {
            version: [model(self.said[version.key])] for version in vectors.waiting(self.connection, self.embedder)
        }
        vectors.put_vectors(self.connection, self.embedder, found)
        vectors.done_with(self.connection, self.embedder, self.position)

    def near(self, question: str, model: Any, texts: VisibleTexts) -> Near:
        """How near texts are to a question."""
        return ExactIndex(model.__name__, 100.0).near(texts, vectors.unit(model(question)))

    def meant(self, question: str, model: Any, *, viewer: str | None = None, known: int | None = None) -> list[Ranked]:
        """What is answered with the question's vector."""

        def admit(keys: Sequence[int]) -> list[Any]:
            marks = ", ".join(map(str, keys))
            return self.connection.execute(
                f"SELECT key, id FROM memories WHERE stored = 'active' AND key IN ({marks})"
                + ("" if viewer is None else " AND lane = 0")
            ).fetchall()

        scope = Scope(
            admit=admit,
            weigh=lambda row: Signals(0.0, 0.0, 0.0, stale=False),
            readable="" if viewer is None else "({row}.lane = 0)",
            still="" if viewer is None else "({row}.lane = 0)",
            position=known,
        )
        near = partial(self.near, question, model)
        return ranked(self.connection, question, scope, self.policy, near=near)


@pytest.fixture
def library() -> Library:
    library = Library()
    for number in range(12):
        library.put(f"{('garden', 'harbour', 'kitchen')[number % 3]} note {number}")
    return library


def test_what_shares_no_word_is_found_by_its_meaning(library: Library) -> None:
    """A model that knows synonyms finds what words cannot."""
    wanted = library.put("the physician called")
    library.encode(sense)
    hits = library.meant("doctor", sense)
    assert wanted == hits[0].key
    assert {"meaning"} == {name for name, value in hits[0].parts if value}
    assert [] == library.keys("doctor")


def test_words_and_meaning_add_up(library: Library) -> None:
    """Both halves are parts of the score, which is their sum."""
    both = library.put("the doctor called")
    other = library.put("the physician called")
    library.encode(sense)
    hits = library.meant("doctor", sense)
    assert [both, other] == [hit.key for hit in hits[:2]]
    assert all(hit.score == sum(dict(hit.parts).values()) for hit in hits)


def test_a_model_that_knows_nothing_is_not_believed(library: Library) -> None:
    """Where words find much and the model disagrees at random, the words' order stands."""
    rng = random.Random(5)
    for _ in range(200):
        library.put(" ".join(rng.choices("tea lamp door river stone cloud paper music glass bread".split(), k=6)))
    library.encode(noise)
    for question in ("tea and bread", "river stone", "music paper glass", "cloud door lamp"):
        words = [hit.key for hit in library.ask(question)]
        meant = [hit.key for hit in library.meant(question, noise)]
        assert len(set(words) & set(meant)) >= 8


def test_a_changed_text_has_no_vector_until_it_is_encoded_again(library: Library) -> None:
    """A vector is never stale: it belongs to one version of a text."""
    key = library.put("the physician called")
    library.encode(sense)
    library.change(key, "the kitchen is closed")
    library.connection.execute("UPDATE meta SET value = ? WHERE name = 'position'", (library.position,))
    assert key not in {hit.key for hit in library.meant("doctor", sense)[:1]}
    embedder = vectors.stored(library.connection, "sense")
    assert embedder is not None
    assert [(key, library.position)] == vectors.waiting(library.connection, embedder)


def test_a_past_view_uses_the_vectors_of_then(library: Library) -> None:
    """The version that held at a position is compared, not the present one."""
    key = library.put("the physician called")
    library.encode(sense)
    then = library.position
    library.change(key, "the ship called")
    library.said[key] = "the ship called"
    library.encode(sense)
    past = library.near("doctor", sense, VisibleTexts(library.connection, position=then))
    present = library.near("doctor", sense, VisibleTexts(library.connection))
    assert past.of([key])[key] > 0.9
    assert present.of([key])[key] < 0.2


def test_hidden_vectors_change_no_answer() -> None:
    """Mean, spread and top are those of visible texts alone."""
    full, bare = Library(), Library()
    for number in range(40):
        text = f"{SENSES[number % 4].split()[number % 3]} story {number}"
        hidden = number % 3 == 0
        for library in (full, bare):
            if library is full or not hidden:
                library.put(text, lane=PRIVATE if hidden else SHARED)
    for library in (full, bare):
        library.encode(sense)
    seen, alone = full.meant("doctor ship", sense, viewer="a"), bare.meant("doctor ship", sense, viewer="a")
    assert [hit.parts for hit in alone] == [hit.parts for hit in seen]


def test_erasing_takes_the_vectors(library: Library) -> None:
    """No version's vector is left."""
    key = library.put("the physician called")
    library.encode(sense)
    vectors.erase_vectors(library.connection, [key])
    assert [] == library.connection.execute("SELECT * FROM vectors WHERE key = ?", (key,)).fetchall()


def test_what_another_embedder_made_is_not_compared(library: Library) -> None:
    """Each has vectors of its own, and those of others go when they are asked to."""
    library.encode(sense)
    library.encode(noise)
    texts = VisibleTexts(library.connection)
    assert 12 == library.near("doctor", sense, texts).count == library.near("doctor", noise, texts).count
    vectors.forget_others(library.connection, "noise")
    assert 0 == library.near("doctor", sense, texts).count
    assert 12 == library.near("doctor", noise, texts).count


def test_vectors_of_other_readings_are_thrown_away(library: Library) -> None:
    """Another rule for what a model reads, or another dimension, starts anew."""
    library.encode(sense)
    assert [] == vectors.waiting(library.connection, library.embedder)
    anew = vectors.start_embedder(library.connection, "sense", len(SENSES), "another rule")
    assert 12 == len(vectors.waiting(library.connection, anew))
    assert 0 == library.near("doctor", sense, VisibleTexts(library.connection)).count


def test_vectors_of_another_length_are_left_out(library: Library) -> None:
    """A question of other dimensions finds none to compare with."""
    library.encode(sense)
    near = ExactIndex("sense", 100.0).near(VisibleTexts(library.connection), vectors.unit([1.0, 0.0]))
    assert 0 == near.count


def test_a_text_is_as_near_as_its_best_part(library: Library) -> None:
    """Long texts have several vectors."""
    key = library.put("a long story")
    library.encode(noise)
    found = vectors.waiting(library.connection, library.embedder)
    assert [] == found
    version = vectors.Version(key, library.position)
    parts = [noise("one"), noise("two"), noise("three")]
    vectors.put_vectors(library.connection, library.embedder, {version: parts})
    texts = VisibleTexts(library.connection)
    assert [1.0] * 3 == [
        pytest.approx(library.near(word, noise, texts).of([key])[key], abs=0.001) for word in ("one", "two", "three")
    ]


@pytest.mark.parametrize("seed", range(12))
def test_every_way_to_compare_gives_the_same_figures(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix that follows the log, one read anew, tables with numpy and without: equal to the last digit."""
    pytest.importorskip("numpy")
    rng = random.Random(seed)
    library, live = Library(), set[int]()
    following = ExactIndex("noise", 100.0)
    readable = (
        "({row}.lane = 0 OR ({row}.lane = 2 AND EXISTS (SELECT 1 FROM json_each({row}.audience) WHERE value = 'a')))"
    )
    still = "{row}.stored = 'active' AND " + readable
    for _ in range(6):
        for _ in range(rng.randrange(1, 12)):
            key, lane = rng.randrange(1, library.position + 2), rng.choice((SHARED, SHARED, PRIVATE, RESTRICTED))
            audience = rng.choice((["a"], ["a", "b"], ["b"]))
            text = f"note {rng.randrange(1000)}"
            if key not in live or rng.random() < 0.4:
                live.add(library.put(text, lane=lane, audience=audience))
            elif rng.random() < 0.8:
                library.change(key, text, lane=lane, audience=audience)
                library.said[key] = text
            else:
                library.delete(key)
                live.discard(key)
                live.add(library.put("in its place"))
        if rng.random() < 0.8:
            library.encode(noise)
        library.connection.execute("INSERT OR REPLACE INTO meta VALUES ('position', ?)", (library.position,))
        for known in (None, rng.randrange(1, library.position + 1)):
            for viewer in ({}, {"readable": readable, "still": still}):
                texts = VisibleTexts(library.connection, position=known, **viewer)
                asked = vectors.unit(noise(f"question {rng.random()}"))
                ways = [following, ExactIndex("noise", 100.0), ExactIndex("noise", 0.0)]
                seen = [_told(way.near(texts, asked)) for way in ways]
                with monkeypatch.context() as patch:
                    patch.setattr("engram_core.projections.nearness._numpy", lambda: None)
                    seen.append(_told(ExactIndex("noise", 100.0).near(texts, asked)))
                assert [seen[0]] * 4 == seen


def _told(near: Near) -> Any:
    keys = near.nearest(10_000)
    return near.count, near.mean, near.spread, near.top, keys, near.nearest(3), near.of([*keys[::2], 10**6])


def test_a_row_that_does_not_fit_leads_to_the_tables(library: Library) -> None:
    """The matrix is given up where it would take more memory than allowed; answers stay the same."""
    library.encode(noise)
    texts = VisibleTexts(library.connection)
    asked = vectors.unit(noise("question"))
    assert _told(ExactIndex("noise", 100.0).near(texts, asked)) == _told(ExactIndex("noise", 0.001).near(texts, asked))


def test_shares_are_measured_from_the_mean_to_the_top() -> None:
    """The nearest has 1, the mean and less have 0."""
    meaning = Meaning(Listed.of_floats({1: 0.9, 2: 0.5, 3: 0.1}))
    assert {1: 1.0, 2: 0.0, 3: 0.0} == meaning.shares([1, 2, 3, 99])
    assert [1, 2] == meaning.nearest(2)
    assert {} == Meaning(Listed({})).shares([1])


def test_trust_grows_with_agreement() -> None:
    """A model is believed where the words' best matches stand out in it."""
    meaning = Meaning(Listed.of_floats({key: key / 100 for key in range(100)}))
    assert 0.0 == meaning.trust(range(10))
    assert 0.0 == meaning.trust(range(45, 55))
    assert 1.0 == meaning.trust(range(90, 100))
    assert 1.0 == meaning.trust([])
