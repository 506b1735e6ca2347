"""When two memories say the same, and how tags and names are compared. Source: model §8."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_core.identity import fingerprint, normal_name, normal_tag, pair_of, pair_owner, word_set
from engram_core.kinds import KINDS
from engram_core.testing import strategies
from engram_core.values import Link, assistant, private, restricted, shared
from engram_core.vocab import Relation

R = Relation


def print_of(**fields: Any) -> str | None:
    """The fingerprint of a fact, or of what is said otherwise."""
    usual: dict[str, Any] = {
        "kind": "fact",
        "attributes": {"statement": "The sky is blue."},
        "title": None,
        "content": "",
        "links": (),
        "visibility": shared(),
    }
    return fingerprint(KINDS, **{**usual, **fields})


def test_it_is_a_digest() -> None:
    """64 hexadecimal digits, the same every time."""
    digest = print_of()
    assert digest is not None
    assert 64 == len(digest)
    assert digest == print_of()


@pytest.mark.parametrize(
    "fields",
    [
        {"attributes": {"statement": "The sky is  blue."}},
        {"attributes": {"statement": " The sky\n\tis blue. "}},
        {"links": (Link(R.RELATES_TO, "b"), Link(R.DERIVED_FROM, "c"))},
    ],
    ids=repr,
)
def test_what_does_not_count(fields: dict[str, Any]) -> None:
    """Runs of blanks, and edges that are not part of who it is."""
    assert print_of() == print_of(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"attributes": {"statement": "the sky is blue."}},
        {"attributes": {"statement": "Thesky is blue."}},
        {"title": "Sky"},
        {"content": "Often."},
        {"kind": "goal", "attributes": {"statement": "The sky is blue.", "status": "active"}},
        {"links": (Link(R.ABOUT, "b"),)},
        {"links": (Link(R.INVOLVES, "b"),)},
        {"links": (Link(R.OWNED_BY, "b"),)},
        {"visibility": private()},
        {"visibility": restricted(assistant("bot"))},
    ],
    ids=repr,
)
def test_what_counts(fields: dict[str, Any]) -> None:
    """Case, title, content, kind, identity edges and audience."""
    assert print_of() != print_of(**fields)


def test_composed_and_decomposed_letters_are_one() -> None:
    """NFC, in attributes, title and content; compatibility forms stay apart."""
    for name in ("title", "content"):
        assert print_of(**{name: "Zu\u0308rich"}) == print_of(**{name: "Z\u00fcrich"})
        assert print_of(**{name: "\ufb01n"}) != print_of(**{name: "fin"})
    composed, decomposed = {"statement": "\u00fc"}, {"statement": "u\u0308"}
    assert print_of(attributes=composed) == print_of(attributes=decomposed)


def test_the_order_of_edges_and_listed_actors_does_not_count() -> None:
    """Both are sets."""
    one, other = Link(R.ABOUT, "b"), Link(R.ABOUT, "c")
    assert print_of(links=(one, other)) == print_of(links=(other, one))
    bots = assistant("a"), assistant("b")
    assert print_of(visibility=restricted(*bots)) == print_of(visibility=restricted(*reversed(bots)))


def test_text_does_not_run_into_its_neighbour() -> None:
    """Quotes and backslashes are escaped, so that no text looks like two fields."""
    assert print_of(title='a","b', content="") != print_of(title="a", content="b")
    assert print_of(title='a","b', content="c") != print_of(title="a", content='b","c')
    assert print_of(title="a\\", content="x") != print_of(title="a", content="\\x")


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (1, 1.0, True),
        (0.5, 0.6, False),
        (True, False, False),
        (True, 1, False),
        (None, [], True),
        (None, (), True),
        (["a", None], ["a", "null"], False),
        (["a", "b"], ("a", "b"), True),
        (["a", "b"], ["b", "a"], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": [True]}, {"a": [False]}, False),
        ("x", ["x"], False),
    ],
    ids=repr,
)
def test_values_of_attributes_are_compared_by_what_json_holds(one: Any, other: Any, alike: bool) -> None:
    """Whole numbers equal theirs with a point, order counts in lists alone, and nothing at all is absence."""
    said = [print_of(attributes={"statement": "x", "value": value}) for value in (one, other)]
    assert alike == (said[0] == said[1])


def test_words_about_two_memories_name_both() -> None:
    """Up to the first slash goes the first, whatever signs the second bears; other owners are one memory."""
    assert ("a", "b") == pair_of(pair_owner("a", "b"))
    assert ("a", "b/c") == pair_of(pair_owner("a", "b/c"))
    assert pair_of("a") is None


def test_fingerprints_stay() -> None:
    """They are compared with those of other times."""
    values = {"statement": 'a "b" \\ c', "flag": True, "other": False, "n": [1, 2.5, None], "d": {"b": "x", "a": "y"}}
    found = print_of(
        kind="preference",
        attributes=values,
        title=" T  t ",
        content="c\n",
        links=(Link(R.ABOUT, "b"), Link(R.ABOUT, "a")),
        visibility=restricted(assistant("b"), assistant("a")),
    )
    assert "ab467edf485f60a29ebe360cd4b566466bb3c0a28502fea66836b5473471da15" == found


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("person", {"full_name": "Ann"}),
        ("organization", {"name": "Acme"}),
        ("location", {"name": "Oslo"}),
        ("asset", {"asset_type": "device", "name": "phone"}),
    ],
)
def test_a_name_alone_is_never_a_duplicate(kind: str, attributes: dict[str, Any]) -> None:
    """Two may bear one name; with anything else that is known, they can be compared."""
    said: dict[str, Any] = {"kind": kind, "attributes": attributes}
    assert print_of(**said) is None
    assert print_of(**said, content=" \n") is None
    assert print_of(**{**said, "attributes": {**attributes, "aliases": []}}) is None
    assert print_of(**{**said, "attributes": {**attributes, "notes": "x"}}) is not None
    assert print_of(**said, content="x") is not None
    assert print_of(**said, links=(Link(R.ABOUT, "b"),)) is not None


@given(strategies.raw_attributes(), strategies.texts())
def test_every_payload_has_a_fingerprint(raw: tuple[str, int, dict[str, Any]], content: str) -> None:
    """Of any kind; and it does not depend on the order of fields."""
    kind, _, attributes = raw
    said: dict[str, Any] = {"kind": kind, "content": content}
    turned = dict(reversed(attributes.items()))
    assert print_of(**said, attributes=attributes) == print_of(**said, attributes=turned)


# -- normal forms --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("  Work ", "work"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("two  words", "two  words"),
        ("Zu\u0308rich", "z\u00fcrich"),
        ("\ufb01", "fi"),
    ],
)
def test_tags(given: str, expected: str) -> None:
    """NFC, trimmed, case-folded; inner blanks are kept."""
    assert expected == normal_tag(given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("  Alice   NG ", "alice ng"),
        ("\uff21lice", "alice"),
        ("\u03aa\u0301", normal_name("\u0390")),
        ("\ufb01n", "fin"),
    ],
)
def test_names(given: str, expected: str) -> None:
    """NFKC, case-folded, blanks run together; the same however a letter is put together."""
    assert expected == normal_name(given)


@given(st.text(max_size=30))
def test_normal_forms_are_final(text: str) -> None:
    """Normalizing twice changes nothing more, nor does the form in which a text came."""
    for normal in (normal_tag, normal_name):
        assert normal(text) == normal(normal(text))
        for form in ("NFC", "NFD"):
            assert normal(text) == normal(unicodedata.normalize(form, text))


def test_words_are_compared_without_case_and_signs() -> None:
    """What is between words does not count, nor how often or in which order they come."""
    assert frozenset({"c", "snake", "case", "fin", "naïve"}) == word_set(["C++ snake_case", "ﬁn, NAÏVE! c"])
    assert frozenset() == word_set(["…", ""])
