"""JSON as it is stored: the text that the standard library writes, whichever way it is made."""

from __future__ import annotations

import json
from json import encoder
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_core.compact import compact_json

TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("ascii", [True, False])
@given(tree=TREES)
def test_it_is_what_the_standard_library_writes(ascii: bool, tree: Any) -> None:
    """Byte for byte, in the shortest form."""
    assert json.dumps(tree, ensure_ascii=ascii, separators=(",", ":"), allow_nan=False) == compact_json(ascii=ascii)(
        tree
    )


@pytest.mark.parametrize("accelerated", [True, False])
def test_what_has_no_form_is_refused(accelerated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN and infinity unless they are asked for, and objects always, with and without the accelerator."""
    if not accelerated:
        monkeypatch.setattr(encoder, "c_make_encoder", None)
    write = compact_json(ascii=False)
    assert '{"a":[1,2.5,"ü",null,true]}' == write({"a": (1, 2.5, "ü", None, True)})
    for number in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match="Out of range"):
            write([number])
    with pytest.raises(TypeError):
        write({"a": object()})
    assert "[NaN]" == compact_json(ascii=True, nan=True)([float("nan")])
