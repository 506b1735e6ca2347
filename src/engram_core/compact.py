"""JSON as it is stored: without a blank, and the same text each time."""

from __future__ import annotations

import json
from collections.abc import Callable
from json import encoder
from typing import Any

__all__ = ["compact_json"]


def compact_json(*, ascii: bool, nan: bool = False) -> Callable[[Any], str]:
    """A writer of JSON that is made once and used often.

    Args:
        ascii: Whether all beyond ASCII is escaped.
        nan: Whether NaN and infinity are written, for which JSON has no form.

    Returns: Writes a tree of dicts, lists, tuples, text and numbers; raises ValueError or TypeError for what
        has no form.
    """
    maker = getattr(encoder, "c_make_encoder", None)
    if maker is None:  # an interpreter without the accelerator
        return json.JSONEncoder(ensure_ascii=ascii, separators=(",", ":"), allow_nan=nan).encode
    quote = encoder.encode_basestring_ascii if ascii else encoder.encode_basestring
    # `JSONEncoder.encode` makes this anew for each text, which takes longer than to write a short one.
    write = maker(None, _no_form, quote, None, ":", ",", False, False, nan)
    return lambda value: "".join(write(value, 0))


def _no_form(value: object) -> Any:
    raise TypeError(f"{type(value).__name__} has no form in JSON")
