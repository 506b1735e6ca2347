"""An embedder without a model: texts are near that share words."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Literal

from engram_core.analysis import question
from engram_core.errors import InvalidAttributesError, Problem

__all__ = ["FakeEmbedder"]


class FakeEmbedder:
    """An `Embedder` for tests: each word is a direction drawn from its hash, each text the sum of its words.

    Args:
        name: Of the model that it stands for.
        dimension: Length of the vectors.
        synonyms: Words that mean the same: word to the word that stands for it.

    Attributes:
        encoded: Every text that it was given, in order.
        failure: An exception that is raised instead; None: it works.
    """

    def __init__(self, name: str = "fake", dimension: int = 64, *, synonyms: dict[str, str] | None = None) -> None:
        if dimension < 1:
            raise InvalidAttributesError("embedder", [Problem("dimension", "must be above 0")])
        self.name = name
        self.dimension = dimension
        self.encoded: list[str] = []
        self.failure: Exception | None = None
        self._synonyms = {_first(word): _first(other) for word, other in (synonyms or {}).items()}

    def encode(self, texts: Sequence[str], purpose: Literal["passage", "query"]) -> list[list[float]]:
        """One vector for each text; the purpose makes no difference."""
        if self.failure is not None:
            raise self.failure
        self.encoded += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        words = [self._synonyms.get(word, word) for word in question(text).terms]
        directions = [self._direction(word) for word in words]
        return [sum(figures) for figures in zip(*directions, strict=True)] if directions else [0.0] * self.dimension

    def _direction(self, word: str) -> list[float]:
        rng = random.Random(hashlib.sha256(word.encode("utf-8", "replace")).digest())
        return [rng.gauss(0.0, 1.0) for _ in range(self.dimension)]


def _first(word: str) -> str:
    terms = question(word).terms
    return terms[0] if terms else word
