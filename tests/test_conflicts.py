"""Which preferences cannot both hold. Source: model §8."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from engram_core.conflicts import INCOMPATIBLE, incompatible, taste_key
from engram_core.vocab import Polarity

P = Polarity
AGAINST = {
    (P.LIKES, P.DISLIKES),
    (P.LIKES, P.AVOIDS),
    (P.WANTS, P.DISLIKES),
    (P.WANTS, P.AVOIDS),
    (P.PREFERS, P.DISLIKES),
    (P.PREFERS, P.AVOIDS),
}
TEA = {"polarity": "likes", "target": "Tea", "context": "Drinks"}
ANN = frozenset({"ann"})


@pytest.mark.parametrize(("one", "other"), list(product(Polarity, repeat=2)))
def test_the_table_is_written(one: Polarity, other: Polarity) -> None:
    """Exactly these pairs exclude each other, in both directions, by word or member."""
    expected = (one, other) in AGAINST or (other, one) in AGAINST
    assert expected == incompatible(one, other) == incompatible(other.value, one.value)


def test_nothing_excludes_itself() -> None:
    """Pairs have two members."""
    assert {2} == {len(pair) for pair in INCOMPATIBLE}


@pytest.mark.parametrize(
    "other", [{"target": " tea "}, {"context": "DRINKS"}, {"polarity": "avoids"}, {"strength": 0.1}]
)
def test_the_same_taste(other: dict[str, Any]) -> None:
    """Target and context are compared as names are; polarity is what is compared."""
    assert taste_key(TEA, ANN) == taste_key({**TEA, **other}, ANN)


@pytest.mark.parametrize("other", [{"target": "Coffee"}, {"context": "Colours"}])
def test_another_taste(other: dict[str, Any]) -> None:
    """Another target or context, or other holders."""
    assert taste_key(TEA, ANN) != taste_key({**TEA, **other}, ANN)
    assert taste_key(TEA, ANN) != taste_key(TEA, frozenset({"bob"}))
    assert taste_key(TEA, frozenset("ab")) == taste_key(TEA, frozenset("ba"))


@pytest.mark.parametrize("missing", ["target", "context"])
def test_absent_never_equals(missing: str) -> None:
    """A preference without target or context is compared with none."""
    assert taste_key({**TEA, missing: None}, ANN) is None
    assert taste_key({k: v for k, v in TEA.items() if k != missing}, ANN) is None
