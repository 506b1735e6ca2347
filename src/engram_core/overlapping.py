"""Which texts share most of a new one's words: read by the rarest of them, and by no more than that takes.

Two texts of which one has n words are alike by a share t only if they have t·n words in common: whatever lacks more
than the n − t·n rest is not. So only what holds one of the n − t·n + 1 rarest words can be alike, and each word that is
looked up after those leaves fewer. Words are looked up by a term that stands for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush, nsmallest
from math import ceil
from typing import Final, NamedTuple

from engram_core.analysis import terms
from engram_core.identity import word_set
from engram_core.projections.lanes import VisibleTexts

__all__ = ["POSTINGS", "Sharing", "sharing"]

POSTINGS: Final = 25_000
"""Matches of the rarest words that are read for one new text at most."""

_ENOUGH: Final = 50  # so few texts are sooner looked at than told apart by another word
_SAMPLE: Final = 64  # matches by which it is judged how many there are
_MISJUDGED: Final = 4
_NEAR: Final = 1e-9  # figures of policies are no whole fractions


class Sharing(NamedTuple):
    """Memories whose texts may share enough words with a new one.

    Attributes:
        keys: Those that may share the most first, each with how many words that are at most.
        missed: How many words others may share that were not found, since all those words are too common.
    """

    keys: list[tuple[int, int]]
    missed: int


def sharing(visible: VisibleTexts, texts: Sequence[str], words: frozenset[str], share: float, *, most: int) -> Sharing:
    """What may share so many of a text's words that it is alike.

    Args:
        visible: The texts that the viewer may read.
        texts: The new text.
        words: Its words.
        share: Of all words of two texts, how many they must have in common to be alike.
        most: How many are wanted at most.
    """
    options = _options(texts)
    spare = len(words) - ceil(share * len(words) - _NEAR)  # so many words may be missing
    listed = dict.fromkeys(term for among in options.values() for term in among)
    judged = visible.estimates(list(listed), _SAMPLE)
    weight = Counter(min(among, key=lambda term: (judged[term], term)) for among in options.values())
    waiting = [(judged[term], term) for term in weight]
    heapify(waiting)
    held: Counter[str] = Counter()
    passed, left = 0, POSTINGS
    while waiting:
        count, term = heappop(waiting)
        narrowing = passed > spare
        if narrowing and len(held) <= _ENOUGH:
            break
        if count > left and (left <= 0 or visible.seems_common(term, _SAMPLE, left)):
            break
        bound = min(left, _MISJUDGED * max(count, _SAMPLE))
        found = visible.holders(term, bound + 1) if count else []
        left -= len(found)
        if len(found) > bound:
            heappush(waiting, (_MISJUDGED * len(found), term))  # more than it seemed: later, if at all
            continue
        stands = weight[term]
        if narrowing:
            found = list(held.keys() & found)
        if stands == 1:
            held.update(found)
        else:
            held.update(dict.fromkeys(found, stands))
        passed += stands
        if passed > spare:
            held = Counter({key: shared for key, shared in held.items() if passed - shared <= spare})
    rest = len(words) - passed
    best = _most(held, most)
    return Sharing([(key, rest + shared) for key, shared in best], rest if passed <= spare else 0)


def _most(held: Counter[str], most: int) -> list[tuple[int, int]]:
    """Those with the highest figures, the oldest of equals first; nothing is sorted that is not among them."""
    best: list[tuple[int, int]] = []
    for level in sorted(set(held.values()), reverse=True):
        keys = [int(key) for key, shared in held.items() if shared == level]
        best += [(key, level) for key in nsmallest(most - len(best), keys)]
        if len(best) >= most:
            break
    return best


def _options(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For each word the terms of which any can stand for it; words without a term are left out.

    A run without blanks becomes terms as a whole. Its word's own terms stand for the word where they are among them,
    else all of the run's do.
    """
    found: dict[str, tuple[str, ...]] = {}
    for run in dict.fromkeys(run for text in texts for run in text.split()):
        held, words = tuple(dict.fromkeys(terms(run))), word_set((run,))
        if not held:
            continue
        for word in words:
            own = held if len(words) == len(held) == 1 else tuple(t for t in dict.fromkeys(terms(word)) if t in held)
            known = found.get(word)
            if known is None or len(own or held) < len(known):
                found[word] = own or held
    return found
