"""How much nearness in meaning says about a question: measured against all texts, believed as far as words agree.

A model's cosines are only figures: how near is near differs from model to model, and a bad model is near at random.
So a cosine counts by how far it stands out among all the viewer's texts, and all of them count by how far those stand
out that the words chose. Where a model puts the best matches of the words no nearer than any other text, it is not
believed; where there are no words to compare with, it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from typing import Final

__all__ = ["Meaning"]

_FEW: Final = 8  # fewer texts than this have no spread to speak of


class Meaning:
    """The cosines between a question and the texts that a viewer may read.

    Args:
        cosines: By key of the memory.
    """

    def __init__(self, cosines: Mapping[int, float]) -> None:
        self._cosines = cosines
        values = list(cosines.values())
        self._mean = math.fsum(values) / len(values) if values else 0.0
        self._spread = (
            math.sqrt(math.fsum((value - self._mean) ** 2 for value in values) / len(values)) if values else 0
        )
        self._top = max(values, default=0.0)

    def nearest(self, count: int) -> list[int]:
        """The keys of the nearest texts."""
        return nsmallest(count, self._cosines, key=lambda key: (-self._cosines[key], -key))

    def share(self, key: int) -> float:
        """How far a text stands out towards the nearest one, in [0, 1]; 0 for what is no nearer than the mean."""
        above, most = self._cosines.get(key, self._mean) - self._mean, self._top - self._mean
        return max(0.0, above / most) if most > 0 else 0.0

    def trust(self, keys: Iterable[int]) -> float:
        """How far to believe the model, in [0, 1].

        Args:
            keys: The best matches of the words; none: there is nothing to doubt it by.
        """
        known = [self._cosines[key] for key in keys if key in self._cosines]
        if not known or len(self._cosines) < _FEW or not self._spread:
            return 1.0
        standing = (math.fsum(known) / len(known) - self._mean) / self._spread
        # by chance alone the mean of n standings strays by about 1 / sqrt(n)
        stray = 2.0 / math.sqrt(len(known))
        return min(1.0, max(0.0, standing - stray))
