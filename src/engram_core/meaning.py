"""How much nearness in meaning says.

A model gives only figures: how near is near differs from model to model, and a bad model is near at random.
So a cosine counts by how far it stands out among all the viewer's texts, and all of them count by how far those stand
out that the words chose. Where a model puts the best matches of the words no nearer than any other text, it is not
believed; where there are no words to compare with, it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from engram_core.projections.nearness import Near

__all__ = ["Meaning"]

_FEW: Final = 8  # fewer texts than this have no spread to speak of
_BELIEF: Final = 2.5  # a model is believed in full from 0.4 standard deviations above chance


class Meaning:
    """What the cosines between a question and the texts that a viewer may read have to say."""

    def __init__(self, near: Near) -> None:
        self._near = near

    @property
    def count(self) -> int:
        """How many texts have a cosine."""
        return self._near.count

    def nearest(self, count: int) -> list[int]:
        """The keys of the nearest texts."""
        return self._near.nearest(count)

    def shares(self, keys: Iterable[int]) -> dict[int, float]:
        """How far texts stand out towards the nearest one, in [0, 1]; 0 for what is no nearer than the mean.

        Squared, because middling nearness says little, and much of it is lent to neighbours.
        """
        mean, most = self._near.mean, self._near.top - self._near.mean
        if most <= 0:
            return {}
        return {key: max(0.0, (value - mean) / most) ** 2 for key, value in self._near.of(keys).items()}

    def trust(self, keys: Sequence[int]) -> float:
        """How far to believe the model, in [0, 1].

        Args:
            keys: The best matches of the words; none: there is nothing to doubt it by.
        """
        known = list(self._near.of(keys).values())
        if not known or self._near.count < _FEW or not self._near.spread:
            return 1.0
        standing = (math.fsum(known) / len(known) - self._near.mean) / self._near.spread
        # by chance alone the mean of so many standings strays by this much
        stray = math.sqrt((self._near.count - len(known)) / (self._near.count - 1) / len(known))
        return min(1.0, max(0.0, _BELIEF * (standing - stray)))
