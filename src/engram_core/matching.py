"""How well a text's terms match a question's: BM25 over what the viewer may read, pairs of words, the best passage."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

from engram_core.analysis import Question
from engram_core.policy import RecallPolicy
from engram_core.projections.lanes import VisibleTexts

__all__ = ["Weights", "match_parts", "named_entities", "weights"]

_MANY_NAMED: Final = 32  # a question that names more entities than this names none


class Weights(NamedTuple):
    """How heavy each term is, rarest first, in how many texts it stands, and what a text's length costs it.

    Attributes:
        terms: The weight of each term that the viewer's texts hold.
        frequency: In how many of them each term stands.
        saturation: How soon a term that is repeated adds no more.
        brevity, per_term: What `norm` is made of.
    """

    terms: dict[str, float]
    frequency: dict[str, int]
    saturation: float
    brevity: float
    per_term: float

    def norm(self, length: float) -> float:
        """What a text of so many terms needs for half of the most that a term can add."""
        return self.brevity + self.per_term * length

    def match(self, term: str, count: int, norm: float) -> float:
        """What a term adds to a text that holds it so often (BM25)."""
        return self.terms[term] * count * (self.saturation + 1.0) / (count + norm)


def weights(texts: VisibleTexts, asked: Question, policy: RecallPolicy) -> Weights:
    """The terms that the viewer's texts hold; of a long question the rarest."""
    frequency = texts.frequencies(asked.terms)
    rarest = sorted((count, at, term) for at, (term, count) in enumerate(frequency.items()) if count)[: policy.terms]
    mean = texts.length / texts.count if texts.length else 1.0
    return Weights(
        terms={term: math.log(1.0 + (texts.count - count + 0.5) / (count + 0.5)) for count, _, term in rarest},
        frequency=frequency,
        saturation=policy.saturation,
        brevity=policy.saturation * (1.0 - policy.length),
        per_term=policy.saturation * policy.length / mean,
    )


def named_entities(texts: VisibleTexts, asked: Question) -> dict[int, float]:
    """The entities that the question names, each with the share of its name that was said.

    "Alice Ng" means her and no other Alice; "Alice" means every Alice, but only by half.
    """
    said: dict[tuple[int, int], list[str]] = {}
    sizes: dict[tuple[int, int], int] = {}
    for term, key, phrase, size in texts.named(asked.terms):
        said.setdefault((key, phrase), []).append(term)
        sizes[key, phrase] = size
    most: dict[str, int] = {}
    for words in said.values():
        for term in words:
            most[term] = max(most.get(term, 0), len(words))
    entities: dict[int, float] = {}
    for name, words in said.items():
        if any(len(words) == most[term] for term in words):
            entities[name[0]] = max(entities.get(name[0], 0.0), len(words) / sizes[name])
    return entities if len(entities) <= _MANY_NAMED else {}


def match_parts(terms: str, asked: Question, weighed: Weights, policy: RecallPolicy) -> list[tuple[str, float]]:
    """What the text itself adds: each term, words side by side, and the best passage."""
    spaced = f" {terms} ".replace(" ", "  ").replace("\n", " \n ")
    counts = {term: count for term in weighed.terms if (count := spaced.count(f" {term} "))}
    norm = weighed.norm(terms.count(" ") + terms.count("\n") + 1)
    parts = [(f'"{term}"', weighed.match(term, count, norm)) for term, count in counts.items()]
    if len(counts) > 1 and policy.pair:
        side_by_side = sum(
            (weighed.terms[one] + weighed.terms[other]) / 2.0
            for one, other in asked.pairs
            if one in counts and other in counts and f" {one}  {other} " in spaced
        )
        if side_by_side:
            parts.append(("pairs", policy.pair * side_by_side))
    if counts and policy.passage:
        passage = max(
            sum(weighed.match(term, count, policy.saturation) for term, count in said.items())
            for said in _counted(spaced, counts)
        )
        parts.append(("passage", policy.passage * passage))
    return parts


def _counted(spaced: str, counts: dict[str, int]) -> Iterable[dict[str, int]]:
    """How often each term of a text stands in each of its passages."""
    if "\n" not in spaced:
        return [counts]
    return [{term: count for term in counts if (count := line.count(f" {term} "))} for line in spaced.split("\n")]
