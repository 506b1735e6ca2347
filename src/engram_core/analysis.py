"""Text to terms: what of a memory is put into the text index, and what of a question is looked up there.

Both sides go through one function, so whatever it does to a word it does to both.
A term is a word's stem, a number, a pair of CJK or Thai letters, an emoji, or a name that lives by its signs,
as `c++`, `.net` and `#42` do. It holds neither blanks nor quotes.
A document is its terms in order, one passage a line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from attrs import frozen

from engram_core.stems import stem

__all__ = ["STOP_WORDS", "Question", "document", "folded", "forget", "holds_words", "question", "terms"]

_ASKING = """
    a about after again all also am an and any are as at be because been before being both but by
    can cannot could did do does doing done don't down during each ever few for from further get got
    had has have having he her here hers herself him himself his how i if in into is it its itself
    just let like me more most my myself no nor not now of off on once one only or other our ours
    ourselves out over own please same she should so some such tell than that the their theirs them
    themselves then there these they this those through to too under until up upon us very was we
    were what when where which while who whom whose why will with would you your yours yourself
    yourselves i'm i've i'd i'll he's she's it's that's what's who's where's how's there's let's
    we're we've we'd we'll you're you've you'd you'll they're they've they'd they'll isn't aren't
    wasn't weren't haven't hasn't hadn't doesn't didn't can't couldn't won't wouldn't shouldn't
"""
STOP_WORDS = frozenset(_ASKING.split())
"""English words that say how a question is asked, not what it asks for."""

_LONGEST_TERM = 64
_REMEMBERED = 32
_LONGEST_CHUNK = 512  # longer runs without a blank are cut up, so that no single one can grow the index
_PASSAGE_TERMS = 48

_CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3040-\u30ff\u3105-\u312f\u3130-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_UNSPACED = _CJK + "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # and Thai, Lao, Burmese, Khmer
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# marks that only colour a letter (accents, points, joiners) fall away; those that spell a vowel stay
_COLOURS = "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u200c\u200d"
_MARKS = _COLOURS + "\u0900-\u0dff\u0f00-\u0fff"
_EMOJI = "\u231a-\u23ff\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001f3fa\U0001f400-\U0001faff"  # no skin tones

_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")
_COLOUR = re.compile(f"[{_COLOURS}]")
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ð": "d", "ħ": "h", "ŧ": "t"}
)
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\uff07": "'", "\u00ad": None})

_OUTER_LEFT = "\"'([{<*_|,;:!?=-\\&$%^\u00bf\u00a1\u201c\u201e\u00ab"
_OUTER_RIGHT = "\"')]}>*_~|.,;:!?=-/\\&$%^@\u2026\u201d\u00bb"

_SIGNED = re.compile(
    r"(?<![\w.])(?:[a-z]\w*\+{1,2}(?![\w+])|[a-z]#(?!\w)|\.[a-z]{2,12}(?![\w./@-])|#\w+)", re.IGNORECASE
)
_NUMBERED = re.compile(r"(?<![\w.])v?(\d+(?:[.:/-]\d+)+)(?![.:/-]?\d)", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PLAIN_RUN = re.compile(r"[-.@+\w]+", re.ASCII)
_JOINERS = re.compile(r"[-.@+_]+")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ELIDED = re.compile(r"(?<!\w)\w{1,2}'(\w{3,})")
_SLASHED = re.compile(r"[^\w]+|_")
_FIGURES = re.compile(r"\d+|\D")
_JOINER_SIGNS = frozenset("-.@+_")
_SUFFIXED = re.compile(r"(?<!\w)(\w{3,})'\w{2,3}(?!\w)")
_POSSESSIVE = re.compile(r"'(?:s|re|ve|ll|d|m)(?!\w)", re.IGNORECASE)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")


@frozen(kw_only=True)
class Question:
    """What a question asks the text index for.

    `terms` are distinct and in the order of the question; `pairs` are neighbours in it that a memory may
    repeat side by side; `whole` tells that nothing but stop words was left, so that they are the terms.
    """

    terms: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    whole: bool = False


def terms(text: str) -> list[str]:
    """The terms of a text in order, stop words included.

    Args:
        text: Any string; lone surrogates, NUL and unassigned code points separate words like a blank does.

    Returns: Terms, a compound followed by its parts; empty when the text has no word.
    Raises: Nothing.
    """
    return " ".join(_found(text)).split()


def document(*texts: str) -> str:
    """What is indexed for a memory: the terms of its texts, one passage a line.

    A text that another one contains adds nothing, so that a statement which opens the content counts once.

    Args:
        texts: The memory's texts; blank ones are skipped.

    Returns: Terms joined by blanks, passages of about 50 terms or one line of text by line breaks.
    Raises: Nothing.
    """
    lines: list[str] = []
    given = list(filter(None, texts))
    for text in given if len(given) == 1 else _distinct(given):
        if len(text) < 400 and "\n" not in text:
            lines.append(" ".join(_found(text)))
        else:
            lines.extend(_passages(text))
    return "\n".join(filter(None, lines))


def question(text: str) -> Question:
    """What is looked up for a question: its terms without stop words, unless there are no others.

    Args:
        text: Any string.

    Returns: Distinct terms and the pairs of terms that stand side by side in the question.
    Raises: Nothing.
    """
    shouted = text.isupper()
    spoken: list[str] = []
    asked: list[str] = []
    for chunk in text.split():
        acronym = not shouted and len(chunk) > 1 and chunk.isupper()
        for term in _terms(chunk, lone_letters=False).split():
            spoken.append(term)
            if acronym or term not in _STOP_TERMS:
                asked.append(term)
    kept = asked or spoken
    pairs = dict.fromkeys(pairwise(kept))
    return Question(
        terms=tuple(dict.fromkeys(kept)),
        pairs=tuple(pair for pair in pairs if pair[0] != pair[1]),
        whole=not asked and bool(spoken),
    )


def folded(text: str) -> str:
    """A text with compatibility forms, case and accents folded: `ＣＡＦÉ` and `cafe` become equal.

    Args:
        text: Any string.

    Returns: The folded text, composed (NFC) where letters remain that need it.
    Raises: Nothing.
    """
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text).casefold().translate(_LETTERS)
    return unicodedata.normalize("NFC", _COLOUR.sub("", apart))


def _found(text: str) -> list[str]:
    """The terms of each run without blanks that has any."""
    return list(filter(None, map(_chunk, text.split())))


def _distinct(texts: Iterable[str]) -> list[str]:
    stripped = [text.strip() for text in texts]
    return [
        text
        for at, text in enumerate(stripped)
        if text
        and not any(
            (len(text) < len(other) or before < at) and _holds(other, text)
            for before, other in enumerate(stripped)
            if before != at
        )
    ]


def _holds(other: str, text: str) -> bool:
    """Whether all terms of a text stand in the other one; `Ali` is in `Alice`, and yet it is another term."""
    wanted = ""
    at = other.find(text)
    while at >= 0:
        wanted = wanted or f" {' '.join(_found(text))} "
        # Which terms it becomes there is decided by the runs without blanks that it begins and ends in.
        start, end = other.rfind(" ", 0, at) + 1, other.find(" ", at + len(text))
        if wanted in f" {' '.join(_found(other[start : end if end >= 0 else None]))} ":
            return True
        run = other.find(" ", at)
        at = other.find(text, run) if run >= 0 else -1
    return False


def _passages(text: str) -> list[str]:
    lines: list[str] = []
    line: list[str] = []
    for row in text.splitlines():
        ends = row.split()
        if len(ends) <= _PASSAGE_TERMS:
            line += filter(None, map(_chunk, ends))
        else:
            for at in range(0, len(ends), _PASSAGE_TERMS // 4):
                line += filter(None, map(_chunk, ends[at : at + _PASSAGE_TERMS // 4]))
                if len(line) >= _PASSAGE_TERMS:
                    lines.append(" ".join(line))
                    line = []
        if len(line) >= _PASSAGE_TERMS // 6:
            lines.append(" ".join(line))
            line = []
    if line:
        lines.append(" ".join(line))
    return lines


class _Remembered(dict[str, str]):
    """What short runs become; the same ones come again and again, so that looking up is what must be fast.

    When it is full, it begins anew: what is common is soon in it again.
    """

    def __init__(self, make: Callable[[str], str], most: int) -> None:
        self._make = make
        self._most = most

    def __missing__(self, run: str) -> str:
        made = self._make(run)
        if len(run) <= _REMEMBERED:
            if len(self) >= self._most:
                self.clear()
            self[run] = made
        return made


_words = _Remembered(lambda word: stem(word[:_LONGEST_TERM]), 32_768)
_word = _words.__getitem__
"""The one term of a plain lower-case ASCII word."""

_chunks = _Remembered(lambda chunk: _terms(chunk, lone_letters=True), 65_536)
_chunk = _chunks.__getitem__
"""What is indexed of one run without blanks: its terms, joined by blanks."""


def forget() -> None:
    """Forgets what short runs become, as at the start: for those who measure."""
    _words.clear()
    _chunks.clear()


def _terms(chunk: str, *, lone_letters: bool) -> str:
    plain = chunk.rstrip(".,!?;:")
    if plain.isascii() and plain.isalpha() and (plain[1:].islower() or plain.isupper()):
        return _word(plain.lower())
    if plain.isascii() and plain.isalnum() and plain.islower() and plain[0] > "9":  # as `word42` is
        return plain[:_LONGEST_TERM]
    if len(chunk) > _LONGEST_CHUNK:
        cuts = range(0, len(chunk), _LONGEST_CHUNK)
        found = (_terms(chunk[at : at + _LONGEST_CHUNK], lone_letters=lone_letters) for at in cuts)
        return " ".join(filter(None, found))
    if plain.isascii() and plain.isdigit():
        return plain[:_LONGEST_TERM]
    return _compound(chunk, lone_letters)


def _compound(chunk: str, lone_letters: bool) -> str:
    """The terms of a run that is more than a plain word: signs, numbers, compounds, other scripts, emoji."""
    text = chunk if chunk.isascii() else unicodedata.normalize("NFKC", chunk)
    text = text.translate(_QUOTES).lstrip(_OUTER_LEFT).rstrip(_OUTER_RIGHT)
    out = [match.lower() for match in _SIGNED.findall(text)]
    text = _SIGNED.sub(_without_sign, text)
    for number in _NUMBERED.findall(text):
        out.extend(_number_forms(number))
    text = _THOUSANDS.sub("", _NUMBERED.sub(" ", text))
    if "'" in text:
        text = _POSSESSIVE.sub("", text)
        out.extend(_simple(word) for word in (*_ELIDED.findall(text), *_SUFFIXED.findall(text)))
        text = text.replace("'", "")
    if text.count("/") + text.count("\\") > 1:  # a path is one name as well as many
        out.append(_simple(_SLASHED.sub("", text)))
    if text.isascii():
        for run in _PLAIN_RUN.findall(text):
            out.extend(_pieces(run))
    else:
        scripts = _scripts()
        for run in scripts.run.findall(text):
            if scripts.unspaced.match(run):
                out.extend(_pairs(run, scripts.han if lone_letters else None))
            elif scripts.emoji.match(run):
                out.append(run)
            else:
                out.extend(_pieces(run))
    return " ".join(term for term in dict.fromkeys(out) if term and term not in _JOINER_SIGNS)


def _without_sign(match: re.Match[str]) -> str:
    word = match.group().strip("+#.")
    return f" {word} " if len(word) > 1 or word.isdigit() else " "


def _number_forms(number: str) -> list[str]:
    """A version, date or time, what it begins with (3.11 of 3.11.4), and the figures of a date or time."""
    figures = _FIGURES.findall(number)
    forms = [number]
    forms.extend("".join(figures[: 2 * count - 1]) for count in range(2, len(figures) // 2 + 1))
    if figures[1] != ".":
        forms.extend(figure.lstrip("0") or "0" for figure in figures[::2])
    return forms


def _pieces(run: str) -> list[str]:
    """The words of a run of letters and joiners; several are preceded by all of them as one word."""
    words: list[str] = []
    for piece in _JOINERS.split(run):
        if piece.isascii() and not piece.islower() and not piece.isupper():
            words.extend(_HUMPS.findall(piece))  # none for the nothing before or after a joiner
        else:
            words.append(piece)
    if len(words) > 1:
        words.insert(0, "".join(words))
    return [_simple(word) for word in words]


def _simple(word: str) -> str:
    term = folded(word)
    if term.isascii() and term.isalpha():
        return _word(term)
    ordinal = _ORDINAL.fullmatch(term)
    if ordinal:
        return ordinal.group(1)
    return "".join(filter(_spells, term))[:_LONGEST_TERM]


def _spells(letter: str) -> bool:
    return letter.isalnum() or unicodedata.category(letter)[0] == "M"


class _Scripts(NamedTuple):
    """The patterns that only text beyond ASCII needs."""

    run: re.Pattern[str]
    unspaced: re.Pattern[str]
    emoji: re.Pattern[str]
    han: re.Pattern[str]


@cache
def _scripts() -> _Scripts:
    """Their large sets of letters take milliseconds to compile, so that waits until they are needed."""
    run = f"[{_UNSPACED}]+|[{_EMOJI}]|(?:[^\\W{_UNSPACED}]|[-.@+{_MARKS}])+"
    return _Scripts(*map(re.compile, (run, f"[{_UNSPACED}]", f"[{_EMOJI}]", f"[{_HAN}]")))


def _pairs(run: str, han: re.Pattern[str] | None) -> list[str]:
    """Overlapping pairs of letters; for what is indexed each Han letter too, for it can be a whole word."""
    if len(run) == 1:
        return [run]
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return pairs if han is None else pairs + han.findall(run)


_STOP_TERMS = frozenset(term for word in STOP_WORDS for term in _compound(word, False).split())


def holds_words(text: str | None, phrase: str) -> bool:
    """Whether a text holds the words of a phrase, whole and in this order, whatever their case and blanks.

    Args:
        text: The text; None holds nothing.
        phrase: At least one word. Where a script puts no blanks between words, its letters need none around them.
    """
    return text is not None and _phrase(phrase).search(unicodedata.normalize("NFC", text.casefold())) is not None


@lru_cache(maxsize=64)
def _phrase(phrase: str) -> re.Pattern[str]:
    words = unicodedata.normalize("NFC", phrase.casefold()).split()
    begin, end = map(_boundary, (words[0][0], words[-1][-1]))
    return re.compile(begin + r"\s+".join(map(re.escape, words)) + end)


def _boundary(sign: str) -> str:
    """What must stand beside the outer sign of a phrase: the end of its word, in scripts that have such ends."""
    return r"\b" if sign.isalnum() and not _UNSPACED_LETTER.match(sign) else ""
