"""Which structured statements cannot both hold: the written table of polarities, and when a dispute is open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from engram_core.identity import normal_name
from engram_core.vocab import Polarity

__all__ = ["INCOMPATIBLE", "incompatible", "taste_key"]

_P = Polarity

INCOMPATIBLE: Final[frozenset[frozenset[Polarity]]] = frozenset(
    {
        frozenset({_P.LIKES, _P.DISLIKES}),
        frozenset({_P.LIKES, _P.AVOIDS}),
        frozenset({_P.WANTS, _P.DISLIKES}),
        frozenset({_P.WANTS, _P.AVOIDS}),
        frozenset({_P.PREFERS, _P.DISLIKES}),
        frozenset({_P.PREFERS, _P.AVOIDS}),
    }
)
"""Pairs of polarities that nobody holds at once towards one target in one context. All other pairs coexist."""


def incompatible(one: Polarity | str, other: Polarity | str) -> bool:
    """True when two polarities towards the same target cannot both hold."""
    return frozenset({Polarity(one), Polarity(other)}) in INCOMPATIBLE


def taste_key(attributes: Mapping[str, Any], holders: frozenset[Any]) -> tuple[Any, ...] | None:
    """What two preferences must share to be compared; None for one that is never compared.

    Args:
        attributes: The raw payload of a preference.
        holders: Whom it is about.

    Returns: Holders, target and context; None without a target or a context, since absent never equals.
    Source: model §8.
    """
    target, context = attributes.get("target"), attributes.get("context")
    if not target or not context:
        return None
    return (tuple(sorted(holders)), normal_name(str(target)), normal_name(str(context)))
