"""English stems against forms that belong together and forms that do not."""

from __future__ import annotations

import pytest

from engram_core.stems import stem


@pytest.mark.parametrize(
    "family",
    [
        ("connect", "connected", "connecting", "connection", "connections"),
        ("hope", "hoped", "hoping", "hopes"),
        ("hop", "hopped", "hopping", "hops"),
        ("die", "dying", "dies", "died"),
        ("happy", "happiness"),
        ("research", "researching", "researches", "researched"),
        ("sky", "skies"),
        ("organize", "organizer", "organization", "organizational"),
        ("general", "generally"),
        ("national", "nationally"),
        ("hopeful", "hopefulness", "hopefully"),
        ("relate", "relational", "relating"),
        ("electrical", "electric", "electricity"),
        ("control", "controlled", "controlling"),
        ("adjust", "adjustment", "adjustable"),
    ],
)
def test_inflected_forms_of_one_word_share_their_stem(family: tuple[str, ...]) -> None:
    """Forms of one word meet in one stem."""
    assert {stem(family[0])} == {stem(word) for word in family}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("new", "news"),
        ("hop", "hope"),
        ("even", "evening"),
        ("out", "outing"),
        ("bias", "bia"),
        ("gene", "general"),
        ("university", "universe"),
        ("organ", "organization"),
    ],
)
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    """Words that merely look alike are not merged."""
    assert stem(one) != stem(other)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("agreed", "agre"),
        ("feed", "feed"),
        ("gas", "gas"),
        ("this", "this"),
        ("caresses", "caress"),
        ("ties", "tie"),
        ("cries", "cri"),
        ("luxuriated", "luxuri"),
        ("sensational", "sensat"),
        ("communism", "communism"),
        ("youthful", "youth"),
        ("saying", "say"),
        ("bluntly", "blunt"),
        ("added", "add"),
        ("eggs", "egg"),
        ("falling", "fall"),
        ("decisive", "decis"),
        ("mythologist", "mytholog"),
        ("replacement", "replac"),
    ],
)
def test_stems_follow_the_published_rules(word: str, expected: str) -> None:
    """Single rules of the algorithm, one example each."""
    assert expected == stem(word)


EDGES = dict(
    pair.split(":")
    for pair in """
    abs:ab added:add addedly:add additionally:addit all:all arsenous:arsenous
    axbility:axbl axbly:axbl axfulness:ax beedly:beed beied:bei beli:beli
    bes:bes blogy:blogi bltional:bltional bly:bli bowe:bow boweed:bowe
    byedly:by bying:bie byingly:by deduplicated:dedupl died:die earringly:ear
    exceed:exceed exitgracefully:exitgrac generalized:general geologies:geolog harnesses:har ied:ie
    inned:in installer:instal isenabled:isen iteratively:iter opinion:opinion rativeness:rativ
    sayysion:sayys timings:time
""".split()
)
"""Words, some of them made up, at the edges of each rule; with the stems that another implementation gives them."""


@pytest.mark.parametrize("word", EDGES)
def test_stems_are_those_of_the_published_algorithm(word: str) -> None:
    """At the edges of its rules, too: a suffix at the very beginning of a region, or just before it."""
    assert EDGES[word] == stem(word)


@pytest.mark.parametrize("word", ["", "a", "is", "café", "42", "c++", "привет", "don't"])
def test_what_is_no_plain_word_comes_back_as_it_was(word: str) -> None:
    """Short words, numbers, signs and other scripts are left alone."""
    assert word == stem(word)
