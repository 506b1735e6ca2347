"""Recall where words are not parted by blanks: messages in three scripts, made up of random words."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from engram_core import Fact, MemorySpace, user

SCRIPTS = {
    "chinese": [chr(letter) for letter in range(0x4E00, 0x4E00 + 600)],
    "japanese": [chr(letter) for letter in (*range(0x3042, 0x3094), *range(0x30A2, 0x30F0), *range(0x5B50, 0x5BA0))],
    "thai": [chr(letter) for letter in (*range(0x0E01, 0x0E2F), *range(0x0E40, 0x0E45))],
}


def pairs(text: str) -> Counter[str]:
    return Counter(text[at : at + 2] for at in range(len(text) - 1))


def naive(question: str, messages: list[str]) -> list[int]:
    """The ten messages that share most pairs of letters."""
    asked = pairs(question)
    shared = [(-sum((pairs(message) & asked).values()), number) for number, message in enumerate(messages)]
    return [number for _, number in sorted(shared)[:10]]


@pytest.mark.parametrize("script", SCRIPTS)
def test_messages_without_blanks_are_found(script: str) -> None:
    """At least as often as by counting common pairs, and nearly always; common words around do not matter."""
    rng = random.Random(script)
    letters = SCRIPTS[script]
    lexicon = ["".join(rng.choices(letters, k=rng.choice((2, 2, 3, 4)))) for _ in range(500)]
    common = lexicon[:8]
    messages, asked = [], []
    for _ in range(300):
        words = [rng.choice(common) if rng.random() < 0.4 else rng.choice(lexicon) for _ in range(rng.randrange(6, 16))]
        messages.append("".join(words))
        said = rng.sample([word for word in words if word not in common] or words, k=1)
        asked.append("".join([rng.choice(common), *said, rng.choice(common), *rng.sample(words, k=2), "吗"]))
    with MemorySpace.in_memory() as space:
        ann = space.session(user("ann"), record=False)
        report = ann.remember_many([Fact(message) for message in messages])
        numbers = {receipt.memory_id: number for number, receipt in enumerate(report.receipts)}
        found = sum(at in [numbers[hit.id] for hit in ann.recall(asked[at])] for at in range(300))
    assert found >= sum(at in naive(asked[at], messages) for at in range(300))
    assert found >= 270
