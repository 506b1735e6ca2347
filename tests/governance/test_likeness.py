"""What a new memory may repeat: the report is what a comparison with everything gives, or says what it left out."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from engram_core import overlapping
from engram_core.approval import ApprovalPolicy
from engram_core.identity import word_set
from engram_core.kinds import Fact, Preference
from engram_core.values import assistant, private, restricted
from engram_core.verbs import Draft
from tests.governance.rooms import Room, room

_WORDS = tuple(f"{first}{last}" for first in ("ba", "do", "ki", "lu", "me") for last in ("ra", "sto", "tin", "vel"))
_ODD = ("C++", "don't", "3.14", "snake_case", "東京都に住む", "running", "runs", "café", "e-mail", "2024-01-02")


def said(rng: random.Random) -> str:
    """A text of few words, some of which are common, some of which no stem or sign is simple."""
    common = rng.choices(_WORDS, weights=[1 / (n + 1) for n in range(len(_WORDS))], k=rng.randint(1, 12))
    words = common + rng.sample(_ODD, rng.choice((0, 0, 1, 2, 3)))
    rng.shuffle(words)
    return " ".join(words)


def varied(text: str, rng: random.Random) -> str:
    """Nearly the same text."""
    words = text.split()
    for _ in range(rng.randint(0, 3)):
        words[rng.randrange(len(words))] = rng.choice(_WORDS)
    return " ".join(words)


def alike(new: str, others: dict[str, str]) -> list[tuple[str, float]]:
    """Those who share most words with a text, the most first."""
    words = word_set((new,))
    found = []
    for id, text in others.items():
        theirs = word_set((text,))
        overlap = len(words & theirs) / len(words | theirs)
        if overlap >= 0.6:
            found.append((-overlap, id))
    return [(id, -negative) for negative, id in sorted(found)[:5]]


def reported(receipt: Any) -> list[tuple[str, float]]:
    """What a receipt names as similar."""
    return [(c.memory_id, c.overlap) for c in receipt.possible_conflicts if c.reason == "similar"]


def filled(r: Room, rng: random.Random, count: int) -> dict[str, str]:
    """The texts of so many new facts, by id; some are seen by the person alone, others of a kind of their own."""
    texts = [said(rng) for _ in range(count)]
    texts += [varied(rng.choice(texts), rng) for _ in range(count)]
    facts = r.ann.remember_many([Draft(Fact(text), on_duplicate="create") for text in texts])
    r.ann.remember_many([Draft(Preference("likes", target=text), on_duplicate="create") for text in texts[:20]])
    hidden = (private(), restricted(assistant("other")), restricted(assistant("claude")))
    seen_by = [Draft(Fact(text), on_duplicate="create", visibility=rng.choice(hidden)) for text in texts[:40]]
    guarded = r.ann.remember_many(seen_by)
    found = {str(receipt.memory_id): text for receipt, text in zip(facts.receipts, texts, strict=True)}
    return found | {str(receipt.memory_id): text for receipt, text in zip(guarded.receipts, texts, strict=False)}


@pytest.fixture
def trusting() -> Iterator[Room]:
    """A room in which the assistant writes as the person does."""
    r = room(approval=ApprovalPolicy.trust_assistants())
    yield r
    r.space.close()


@pytest.mark.parametrize("seed", range(6))
def test_the_report_is_exact(seed: int, trusting: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks is told of the five most alike of all that he may see, however common their words are."""
    monkeypatch.setattr(overlapping, "_SAMPLE", 2 + seed)  # so that most words are common
    monkeypatch.setattr(overlapping, "_ENOUGH", 5 * seed)
    r, rng = trusting, random.Random(seed)
    texts = filled(r, rng, 70)
    found = 0
    for session in (r.ann, r.bot):
        seen = {memory.id for memory in session.find_all(kind="fact")}
        visible = {id: text for id, text in texts.items() if id in seen}
        for _ in range(40):
            new = varied(rng.choice(list(texts.values())), rng)
            receipt = session.remember(Fact(new), on_duplicate="create")
            assert ("", alike(new, visible)) == (receipt.notice, reported(receipt)), new
            found += len(reported(receipt))
            r.ann.delete(receipt)
    assert found > 100


def test_what_is_left_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its words are too common, the receipt says how much of them those may share that were not looked at."""
    r = room()
    r.ann.remember_many([Draft(Fact(f"the cat sat on mat {n}"), similar=False) for n in range(40)])
    whole = r.ann.remember(Fact("the cat sat on mat 7 again"))
    assert ("", 5) == (whole.notice, len(whole.possible_conflicts))
    monkeypatch.setattr(overlapping, "POSTINGS", 10)
    cut = r.ann.remember(Fact("the cat sat on mat 8 once more"))
    assert "share up to 62 in 100" in cut.notice
    assert ["the cat sat on mat 8"] == [r.ann.get(c.memory_id).attributes.statement for c in cut.possible_conflicts]


def test_what_is_hidden_limits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much the assistant may not see lies between what he sees, his receipt says the same."""
    monkeypatch.setattr(overlapping, "POSTINGS", 150)
    told = []
    for hidden in (0, 300):
        r = room(approval=ApprovalPolicy.trust_assistants())
        r.ann.remember(Fact("Boat!"))
        r.ann.remember_many([Draft(Fact(f"the boat {n}"), similar=False) for n in range(70)])
        r.ann.remember_many([Draft(Fact(f"secret {n}"), similar=False, visibility=private()) for n in range(hidden)])
        r.ann.remember(Fact("a quay"))
        receipt = r.bot.remember(Fact("boat"))
        told.append((receipt.notice, [c.overlap for c in receipt.possible_conflicts]))
        r.space.close()
    assert [("", [1.0])] * 2 == told


def test_a_word_that_is_commoner_than_it_seemed(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it has used up all that may be read, the receipt says so."""
    monkeypatch.setattr(overlapping, "POSTINGS", 150)
    monkeypatch.setattr(overlapping, "_SAMPLE", 2)
    r = room()
    texts = ["boat 0", *(f"quay {n}" for n in range(300)), *(f"boat {n}" for n in range(1, 400))]
    r.ann.remember_many([Draft(Fact(text), similar=False) for text in texts])
    assert "share up to 100 in 100" in r.ann.remember(Fact("boat")).notice
    r.space.close()
