"""The semantic half: what it adds, when it is believed, and that no vector outlives its text."""

from __future__ import annotations

import builtins
import hashlib
import random
from collections.abc import Sequence
from typing import Any

import pytest

from engram_core.errors import InvalidAttributesError
from engram_core.meaning import Meaning
from engram_core.projections import vectors
from engram_core.projections.lanes import VisibleTexts
from engram_core.recall import Ranked, Scope, Signals, ranked
from tests.shelf import PRIVATE, SHARED, Shelf

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

    def encode(self, model: Any) -> None:
        """Gives a vector to what waits for one."""
        waiting = vectors.without_vector(self.connection, 1_000)
        texts = {key: self.said[key] for key, _ in waiting}
        vectors.put_vectors(self.connection, [(key, position, model(texts[key])) for key, position in waiting])

    def __init__(self) -> None:
        super().__init__()
        self.said: dict[int, str] = {}
        for statement in vectors.create_vector_statements():
            self.connection.execute(statement)

    def put(self, text: str, **how: Any) -> int:
        key = super().put(text, **how)
        self.said[key] = text
        return key

    def meant(self, question: str, model: Any, *, viewer: str | None = None, known: int | None = None) -> list[Ranked]:
        """What is answered with the question's vector."""
        seen: dict[str, Any] = {}

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
            parameters=seen,
        )
        return ranked(self.connection, question, scope, self.policy, vector=model(question))


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
    assert key not in {hit.key for hit in library.meant("doctor", sense)[:1]}
    assert [(key, library.position)] == vectors.without_vector(library.connection, 10)


def test_a_past_view_uses_the_vectors_of_then(library: Library) -> None:
    """The version that held at a position is compared, not the present one."""
    key = library.put("the physician called")
    library.encode(sense)
    then = library.position
    library.change(key, "the ship called")
    library.said[key] = "the ship called"
    library.encode(sense)
    past = VisibleTexts(library.connection, position=then)
    present = VisibleTexts(library.connection)
    assert vectors.cosines(past, sense("doctor"))[key] > 0.9
    assert vectors.cosines(present, sense("doctor"))[key] < 0.2


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


def test_another_embedder_starts_anew(library: Library) -> None:
    """Vectors of two models are never compared."""
    assert vectors.vectors_of(library.connection) is None
    vectors.forget_vectors(library.connection, "toy", 4)
    library.encode(sense)
    assert ("toy", 4) == vectors.vectors_of(library.connection)
    vectors.forget_vectors(library.connection, "noise", 64)
    assert 12 == len(vectors.without_vector(library.connection, 100))


class _Toy:
    name = "toy"
    dimension = len(SENSES)
    sizes: Sequence[int] = ()

    def encode(self, texts: Sequence[str], purpose: str) -> list[list[float]]:
        assert "passage" == purpose
        self.sizes = (*self.sizes, len(texts))
        return [sense(text) for text in texts]


def test_what_waits_is_encoded_in_batches(library: Library) -> None:
    """Each text once; nothing is left to do the second time."""
    toy = _Toy()

    def said(keys: Sequence[int]) -> dict[int, str]:
        return {key: library.said[key] for key in keys}

    assert 12 == vectors.encode_waiting(library.connection, toy, said, batch=5)
    assert (5, 5, 2) == toy.sizes
    assert 0 == vectors.encode_waiting(library.connection, toy, said)
    toy.name = "toy 2"
    assert 12 == vectors.encode_waiting(library.connection, toy, said)


def test_an_embedder_that_gives_other_vectors_is_refused(library: Library) -> None:
    """One vector of the named dimension for each text, or nothing is stored."""
    toy = _Toy()
    toy.dimension = 7
    with pytest.raises(InvalidAttributesError):
        vectors.encode_waiting(library.connection, toy, lambda keys: dict.fromkeys(keys, "tea"))
    assert 12 == len(vectors.without_vector(library.connection, 100))


def test_vectors_of_another_length_are_left_out(library: Library) -> None:
    """A question of other dimensions finds none to compare with."""
    library.encode(sense)
    assert {} == vectors.cosines(VisibleTexts(library.connection), [1.0, 0.0])


def test_plain_python_and_numpy_agree(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fallback gives the same cosines."""
    pytest.importorskip("numpy")
    library.encode(noise)
    texts = VisibleTexts(library.connection)
    fast = vectors.cosines(texts, noise("question"))
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "numpy":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    slow = vectors.cosines(texts, noise("question"))
    assert fast.keys() == slow.keys()
    assert all(abs(fast[key] - slow[key]) < 2e-5 for key in fast)


def test_shares_are_measured_from_the_mean_to_the_top() -> None:
    """The nearest has 1, the mean and less have 0."""
    meaning = Meaning({1: 0.9, 2: 0.5, 3: 0.1})
    assert 1.0 == meaning.share(1)
    assert 0.0 == meaning.share(2) == meaning.share(3) == meaning.share(99)
    assert [1, 2] == meaning.nearest(2)


def test_trust_grows_with_agreement() -> None:
    """A model is believed where the words' best matches stand out in it."""
    cosines = {key: key / 100 for key in range(100)}
    meaning = Meaning(cosines)
    assert 0.0 == meaning.trust(range(10))
    assert 0.0 == meaning.trust(range(45, 55))
    assert meaning.trust(range(90, 100)) > 0.8
    assert 1.0 == meaning.trust([])
    assert 0.0 == Meaning({}).share(1)
