"""What text becomes in the index, and what a question asks it for."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_core.analysis import STOP_WORDS, document, folded, forget, question, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Alice's tea", ["alic", "tea"]),
        ("C++ and C#", ["c++", "and", "c#"]),
        ("notepad++", ["notepad++", "notepad"]),
        ("word42", ["word42"]),
        ("9x", ["9x"]),
        ("9th", ["9"]),
        ("Xcode++", ["xcode++", "xcode"]),
        (".NET", [".net", "net"]),
        ("node.js", ["nodej", "node", "js"]),
        ("v3.11", ["3.11"]),
        ("Python 3.11.4", ["python", "3.11.4", "3.11"]),
        ("#42", ["#42", "42"]),
        ("snake_case", ["snakecas", "snake", "case"]),
        ("parseHTTPRequest", ["parsehttprequest", "pars", "http", "request"]),
        ("Wi-Fi", ["wifi", "wi", "fi"]),
        ("a.b@example.com", ["abexamplecom", "a", "b", "exampl", "com"]),
        ("/usr/local/bin", ["usrlocalbin", "usr", "local", "bin"]),
        ("C:\\Users\\ann", ["cusersann", "c", "user", "ann"]),
        ("a\\b", ["a", "b"]),
        ("2024-03-05T10", ["2024-03-05", "2024-03", "2024", "3", "5", "t10"]),
        ("10:00", ["10:00", "10", "0"]),
        ("1.2.3.4.5", ["1.2.3.4.5", "1.2", "1.2.3", "1.2.3.4"]),
        ("and/or", ["and", "or"]),
        ("2024-03-05", ["2024-03-05", "2024-03", "2024", "3", "5"]),
        ("1,000", ["1000"]),
        ("3rd", ["3"]),
        ("乌龙茶", ["乌龙", "龙茶", "乌", "龙", "茶"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー", "東", "京"]),
        ("한국어", ["한국", "국어"]),
        ("ไทย", ["ไท", "ทย"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("l'eau", ["eau", "leau"]),
        ("İstanbul'da", ["istanbul", "istanbulda"]),
        ("rock'n'roll", ["roll", "rocknrol"]),
        ("Straße", ["strass"]),
        ("🎉👍🏽", ["🎉", "👍"]),
        ("one...two", ["onetwo", "one", "two"]),
        (".net.", [".net", "net"]),
        ("iPhone", ["iphon", "i", "phone"]),
        ("a b&", ["a", "b"]),
        ("x" * 70, ["x" * 64]),
        ("12:00:00.5", ["12:00:00.5", "12:00", "12:00:00", "12", "0", "5"]),
        ("\ud800abc\x00def", ["abc", "def"]),
        ("??? -- !", []),
    ],
)
def test_a_text_becomes_terms(text: str, expected: list[str]) -> None:
    """Words are stemmed, compounds come whole and in parts, signs that carry meaning stay."""
    assert expected == terms(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CAFÉ", "cafe"),
        ("cafe\u0301", "café"),
        ("ＡＢＣ", "abc"),
        ("ﬁle", "file"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("snake_case", "snakeCase"),
        ("e-mail", "email"),
        ("Wi‑Fi".replace("\u2011", "-"), "wifi"),
        ("v3.11", "3.11"),
        ("don’t", "don't"),
        ("Øre", "ore"),
        ("co\u00adoperate", "cooperate"),
        ("العَرَبِيَّة", "العربية"),
    ],
)
def test_spellings_of_one_word_meet(one: str, other: str) -> None:
    """What is written in two ways shares at least one term."""
    assert set(terms(one)) & set(terms(other))


@pytest.mark.parametrize(("one", "other"), [("C++", "C"), ("C#", "C"), ("F#", "F"), ("3.11", "3.1"), ("#42", "#4")])
def test_names_that_live_by_their_signs_stay_apart(one: str, other: str) -> None:
    """C++ is not C, and version 3.11 is not 3.1."""
    assert not set(question(one).terms) & set(question(other).terms)


def test_a_question_loses_the_words_that_only_ask() -> None:
    """Stop words go, distinct terms stay in order, neighbours become pairs."""
    asked = question("What did Alice's sister say about green tea, and the green door?")
    assert ("alic", "sister", "say", "green", "tea", "door") == asked.terms
    assert ("green", "tea") in asked.pairs
    assert not asked.whole


def test_a_question_names_each_term_once() -> None:
    """Nothing is the neighbour of itself; Han letters are asked for in pairs, and a shout is no acronym."""
    asked = question("green green tea, green tea")
    assert (("green", "tea"), (("green", "tea"), ("tea", "green"))) == (asked.terms, asked.pairs)
    assert (("东京",), ()) == (question("东京").terms, question("东京").pairs)
    assert ("us",) == question("US and us").terms
    assert (("dont",), True) == (question("DON'T").terms, question("DON'T").whole)
    assert ((), (), False) == (question("").terms, question("").pairs, question("").whole)


def test_a_question_of_stop_words_alone_keeps_them() -> None:
    """`The Who` can be asked for."""
    asked = question("to be or not to be")
    assert ("to", "be", "or", "not") == asked.terms
    assert asked.whole


def test_an_acronym_is_no_stop_word() -> None:
    """WHO and IT are names when they are shouted alone."""
    assert "who" in question("who leads the WHO?").terms
    assert "it" not in question("who found it?").terms


@pytest.mark.parametrize("text", ["", " ", "???", "\x00", "\ud800", "()[]{}", "'", '"', "- . @ + _", "\u200d\ufe0f"])
def test_a_question_without_words_asks_nothing(text: str) -> None:
    """Blank and sign-only questions have no terms."""
    assert () == question(text).terms


def test_one_han_letter_is_found_in_a_run() -> None:
    """A one-letter Chinese question finds it within a longer word."""
    assert set(question("茶").terms) <= set(terms("我爱喝乌龙茶"))
    assert "茶" not in question("乌龙茶").terms


def test_an_overlapping_statement_counts_once() -> None:
    """A statement that opens the content adds nothing to the document."""
    content = "Alice moved to Oslo in March and likes it."
    assert document(content) == document("Alice moved to Oslo", content)
    assert document(content) == document(content, content)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("a b", "a b"), "a b"),
        ((" a b ", "a b c", ""), "a b c"),
        (("an art", "an artist an art"), "an artist an art"),
        (("cat", "concat category"), "cat\nconcat categori"),
        (("cat", "concat cat"), "concat cat"),
        (("cat", "cat concat"), "cat concat"),
        (("b c", "a b cd b c d"), "a b cd b c d"),
        (("x", "y", "x"), "x\ny"),
        (("net", "go .net go"), "go .net net go"),
        (("C", "C++"), "c\nc++"),
    ],
)
def test_texts_come_to_one_document(texts: tuple[str, ...], expected: str) -> None:
    """Each adds its terms once, unless they stand side by side in another one, or in an earlier one alike."""
    assert expected == document(*texts)


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        (" ".join(f"n{n}" for n in range(48)) + "\nend", [48, 1]),
        ("\n".join(["one two three"] * 3) + "\n" + "x" * 400, [9, 1]),
        (" ".join(f"n{n}" for n in range(100)) + " " + "x" * 400, [48, 48, 5]),
        (" ".join(f"n{n}" for n in range(49)) + " " + "x " * 400, [48] * 9 + [17]),
        ("one two\n" * 60, [8] * 15),
        ("one\n", [1]),
        ("x y " * 99 + "x y", [200]),
        ("x y " * 100, [48, 48, 48, 48, 8]),
        ("- ? !\n" * 90 + "word", [1]),
    ],
    ids=["48 and one", "three short", "a hundred", "many", "short lines", "one", "short", "long", "signs"],
)
def test_passages_have_their_lengths(text: str, lengths: list[int]) -> None:
    """Some 48 terms of a long line, or short lines together from eight terms on; the rest is one of its own."""
    assert lengths == [len(line.split()) for line in document(text).split("\n")]


@pytest.mark.parametrize(
    ("part", "whole"), [("Ali", "Alice Ng"), ("C", "C++"), ("net", ".NET"), ("an art", "an artist")]
)
def test_what_begins_a_longer_word_stays(part: str, whole: str) -> None:
    """A text whose letters another one holds, but not its words, is indexed: an alias is found."""
    assert set(terms(part)) <= set(document(whole, part).split())


def test_a_long_text_is_indexed_in_passages() -> None:
    """Lines of a long text become passages, short ones join their followers, nothing is lost."""
    rows = [f"row number{n} speaks of a topic that nobody else has raised before" for n in range(40)]
    text = "\n".join(rows)
    found = document(text)
    assert 40 == len(found.split("\n"))
    assert terms(text) == found.split()


def test_an_endless_word_is_cut() -> None:
    """No term is longer than 64 letters, whatever arrives."""
    assert all(len(term) <= 64 for term in terms("x" * 20_000 + " " + "é" * 20_000 + " a" + "_b" * 9_000))


def test_stop_words_are_lower_case() -> None:
    """The list is written as it is compared."""
    assert all(word == word.lower() for word in STOP_WORDS)


@given(st.text(st.characters(), max_size=60))
def test_any_text_has_safe_terms(text: str) -> None:
    """Never an exception, never a blank, a quote, a control sign or a lone surrogate in a term."""
    for term in [*terms(text), *question(text).terms]:
        assert term
        assert not set(term) & set(" \t\n\r\x00\"'")
        term.encode("utf-8")
    assert document(text).split() == terms(text)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_composed_and_decomposed_text_have_equal_terms(text: str) -> None:
    """NFC and NFD of a text cannot be told apart."""
    assert terms(unicodedata.normalize("NFC", text)) == terms(unicodedata.normalize("NFD", text))


@given(st.text(max_size=40))
def test_folding_is_stable(text: str) -> None:
    """Folding a folded text changes nothing more."""
    assert folded(folded(text)) == folded(folded(folded(text)))


def test_what_is_remembered_may_be_forgotten() -> None:
    """The terms of a text are the same before, with and after what is remembered of its words."""
    text = "Harbours, harbouring C++ and e-mail"
    once = document(text)
    assert once == document(text)
    forget()
    assert once == document(text)


@given(st.from_regex(r"[0-9]{1,90}[.,!?;:]{0,2}", fullmatch=True))
def test_a_number_is_found_as_it_is_whatever_stands_behind_it(chunk: str) -> None:
    """As it is found between signs, where it is taken apart by all the rules."""
    forget()
    assert terms(f"({chunk})") == terms(chunk)
