"""What a converter with friendly defaults would let in is refused, by field."""

from __future__ import annotations

from typing import Any

import cattrs
import pytest

from engram_core import KINDS, InvalidAttributesError, Person


@pytest.mark.parametrize("wrong", [None, 5, 1.5, True, ["Alice"], {"first": "Alice"}], ids=repr)
def test_what_is_no_text_becomes_none(wrong: Any) -> None:
    """cattrs makes a text of it; the registry names the field."""
    assert str(wrong) == cattrs.structure({"full_name": wrong}, Person).full_name
    with pytest.raises(InvalidAttributesError, match="full_name"):
        KINDS.structure("person", {"full_name": wrong})


def test_what_nobody_knows_is_refused() -> None:
    """cattrs leaves it out without a word."""
    raw = {"full_name": "Alice", "shoe_size": 39}
    assert Person("Alice") == cattrs.structure(raw, Person)
    with pytest.raises(InvalidAttributesError, match="shoe_size"):
        KINDS.structure("person", raw)
