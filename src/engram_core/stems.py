"""English word stems: the one place that knows how an inflected word shrinks to its family's form.

The rules follow the published description of the Snowball "English" algorithm: a suffix is only taken where
enough of a word stands before it, and "enough" is a region that begins behind a step from vowel to consonant.
Words are lower-case ASCII letters; whatever else arrives is returned as it came.
"""

from __future__ import annotations

import re

__all__ = ["stem"]

_VOWELS = frozenset("aeiouy")
_REGION = re.compile(r"[aeiouy][^aeiouy]")
_PREFIXED = re.compile(r"gener|commun|arsen|past|univers|later|emerg|organ|inter")
_HAS_VOWEL = re.compile(r"[aeiouy]")
_SHORT_END = re.compile(r"(?:[^aeiouy][aeiouy][^aeiouywxY]|^[aeiouy][^aeiouy]|^past)$")
_DOUBLES = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
_LI_BEFORE = frozenset("cdeghkmnrt")

_FIXED = {
    "skis": "ski",
    "skies": "sky",
    "sky": "sky",
    "idly": "idl",
    "gently": "gentl",
    "ugly": "ugli",
    "early": "earli",
    "only": "onli",
    "singly": "singl",
    "news": "news",
    "howe": "howe",
    "atlas": "atlas",
    "cosmos": "cosmos",
    "bias": "bias",
    "andes": "andes",
}
_KEPT = frozenset(("inning", "outing", "canning", "herring", "earring", "evening", "proceed", "exceed", "succeed"))

# suffix -> replacement, tried longest first; the suffix must lie in r1
_STEP2 = {
    "ization": "ize",
    "ational": "ate",
    "fulness": "ful",
    "ousness": "ous",
    "iveness": "ive",
    "tional": "tion",
    "biliti": "ble",
    "lessli": "less",
    "entli": "ent",
    "ation": "ate",
    "alism": "al",
    "aliti": "al",
    "ousli": "ous",
    "iviti": "ive",
    "fulli": "ful",
    "ogist": "og",
    "enci": "ence",
    "anci": "ance",
    "abli": "able",
    "izer": "ize",
    "ator": "ate",
    "alli": "al",
    "bli": "ble",
}
_STEP3 = {
    "ational": "ate",
    "tional": "tion",
    "alize": "al",
    "icate": "ic",
    "iciti": "ic",
    "ical": "ic",
    "ness": "",
    "ful": "",
}
# suffixes that fall away when they lie in r2
_STEP4 = (
    *("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize"),
    *("ion", "al", "er", "ic"),
)
# Most words end in none of these: their last two letters tell.
_ENDS2 = frozenset(suffix[-2:] for suffix in (*_STEP2, "ogi", "li"))
_ENDS3 = frozenset(suffix[-2:] for suffix in (*_STEP3, "ative"))
_ENDS4 = {end: tuple(suffix for suffix in _STEP4 if suffix[-2:] == end) for end in {one[-2:] for one in _STEP4}}


def stem(word: str) -> str:
    """The family form of a lower-case English word: `connections` and `connected` both give `connect`.

    Args:
        word: One word without blanks.

    Returns: The stem; the word itself when it is shorter than three letters or not plain a to z.
    Raises: Nothing.
    Source: the published description of the Snowball English stemmer.
    """
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    if word in _FIXED:
        return _FIXED[word]
    if "y" in word:
        word = _mark_consonant_y(word)
    r1, r2 = _regions(word)
    if word[-1] in "sd":
        word = _plural(word)
    if word.lower() in _KEPT:
        return word.lower()
    if word[-1] in "dgyY":
        word = _past_and_progressive(word, r1)
        if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:
            word = word[:-1] + "i"
    if r1 < len(word):
        if word[-2:] in _ENDS2:
            word = _derivational(word, r1)
        if word[-2:] in _ENDS3:
            word = _shortened(word, r1, r2)
        if word[-2:] in _ENDS4:
            word = _residual(word, r2)
        if word[-1] in "el":
            word = _final(word, r1, r2)
    return word.lower()


def _mark_consonant_y(word: str) -> str:
    """A y that stands for a consonant becomes Y: at the start, and behind a vowel."""
    out: list[str] = []
    for at, letter in enumerate(word):
        out.append("Y" if letter == "y" and (at == 0 or out[at - 1] in _VOWELS) else letter)
    return "".join(out)


def _regions(word: str) -> tuple[int, int]:
    """Where r1 and r2 begin: behind the first vowel-consonant step, and behind the next one in r1."""
    prefixed = _PREFIXED.match(word) if word[0] in "gcapuleoi" else None
    if prefixed:
        r1 = prefixed.end()
    else:
        step = _REGION.search(word)
        r1 = step.end() if step else len(word)
    step = _REGION.search(word, r1)
    return r1, step.end() if step else len(word)


def _plural(word: str) -> str:
    if word[-1] != "s" and not word.endswith("ied"):
        return word
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ies", "ied")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith(("us", "ss")):
        return word
    if word[-1] == "s" and _HAS_VOWEL.search(word, 0, len(word) - 2):
        return word[:-1]
    return word


def _past_and_progressive(word: str, r1: int) -> str:
    for suffix in ("eedly", "eed"):
        if word.endswith(suffix):
            return word[: len(word) - len(suffix) + 2] if len(word) - len(suffix) >= r1 else word
    for suffix in ("ingly", "edly", "ing", "ed"):
        if word.endswith(suffix):
            base = word[: len(word) - len(suffix)]
            if suffix == "ing" and len(base) == 2 and base[1] in "yY" and base[0] not in _VOWELS:
                return base[0] + "ie"  # dying, lying, tying
            if not _HAS_VOWEL.search(base):
                return word
            return _repaired(base, r1)
    return word


def _repaired(base: str, r1: int) -> str:
    """What is left of a word behind -ed or -ing, made a word again: hop from hopp, hope from hop."""
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if base.endswith(_DOUBLES):
        return base if len(base) == 3 and base[0] in "aeo" else base[:-1]
    if len(base) <= r1 and _SHORT_END.search(base):
        return base + "e"
    return base


def _derivational(word: str, r1: int) -> str:
    for size in (7, 6, 5, 4, 3):
        suffix = word[-size:]
        if len(word) >= size and suffix in _STEP2:
            if len(word) - size >= r1:
                return word[: len(word) - size] + _STEP2[suffix]
            return word
    if word.endswith("ogi") and len(word) - 3 >= r1 and word[-4:-3] == "l":
        return word[:-1]
    if word.endswith("li") and len(word) - 2 >= r1 and word[-3:-2] in _LI_BEFORE:
        return word[:-2]
    return word


def _shortened(word: str, r1: int, r2: int) -> str:
    if word.endswith("ative"):
        return word[:-5] if len(word) - 5 >= r2 else word
    for size in (7, 6, 5, 4, 3):
        suffix = word[-size:]
        if len(word) >= size and suffix in _STEP3:
            return word[: len(word) - size] + _STEP3[suffix] if len(word) - size >= r1 else word
    return word


def _residual(word: str, r2: int) -> str:
    for suffix in _ENDS4[word[-2:]]:
        if word.endswith(suffix):
            at = len(word) - len(suffix)
            if at < r2 or (suffix == "ion" and word[at - 1] not in "st"):
                return word
            return word[:at]
    return word


def _final(word: str, r1: int, r2: int) -> str:
    if word.endswith("e"):
        at = len(word) - 1
        if at >= r2 or (at >= r1 and not _SHORT_END.search(word[:-1])):
            return word[:-1]
    elif word.endswith("ll") and len(word) - 1 >= r2:
        return word[:-1]
    return word
