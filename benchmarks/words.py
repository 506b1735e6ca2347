"""Invented texts whose words are as common and as rare as in a language, the same in every run."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from engram_core.analysis import STOP_WORDS

__all__ = ["invented", "questions_about"]


def invented(size: int, seed: int = 1) -> list[str]:
    """Texts of 20 to 40 words; a few words are very common, most are rare, as in any language."""
    rng = random.Random(seed)
    words = [word for word in sorted(STOP_WORDS) if word.isalpha()]
    rng.shuffle(words)
    known = set(words)
    while len(words) < 40_000:
        syllables = rng.randint(2, 4)
        word = "".join(rng.choice("bcdfghjklmnprstvwz") + rng.choice("aeiou") for _ in range(syllables))
        word += rng.choice(("", "n", "s", "t", "r", "ing", "ed"))
        if word not in known:
            known.add(word)
            words.append(word)
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))
    return [" ".join(rng.choices(words, cum_weights=weights, k=rng.randint(20, 40))) for _ in range(size)]


def questions_about(texts: Sequence[str], count: int = 300, seed: int = 2) -> list[str]:
    """Natural questions after 2 to 5 words of a text, mostly rare ones."""
    rng = random.Random(seed)
    questions = []
    for text in rng.choices(texts, k=count):
        words = [word for word in text.split() if word not in STOP_WORDS]
        asked = rng.sample(words, min(len(words), rng.randint(2, 5)))
        questions.append(f"what did they say about {' and the '.join(asked)}?")
    return questions
