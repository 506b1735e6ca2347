"""When two memories are the same: fingerprints, normal forms of names; and who owns what is said of two at once."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from engram_core.kinds import KindRegistry
from engram_core.values import Link, Visibility
from engram_core.vocab import Relation

__all__ = ["fingerprint", "normal_name", "normal_tag", "pair_of", "pair_owner", "word_set"]

_BLANKS: Final = re.compile(r"\s+")
_WORD: Final = re.compile(r"[^\W_]+")
_PAIR: Final = "$pair/"
_IDENTITY: Final = (Relation.ABOUT, Relation.INVOLVES, Relation.OWNED_BY)


def normal_tag(tag: str) -> str:
    """NFC, trimmed, case-folded; blanks inside are kept."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", tag).strip().casefold())


def normal_name(name: str) -> str:
    """NFKC, case-folded, trimmed, blanks run together: how names and aliases are compared."""
    return _BLANKS.sub(" ", _folded(name)).strip()


def word_set(texts: Iterable[str]) -> frozenset[str]:
    """The words of texts, NFKC and case-folded: what the overlap of two memories is measured on."""
    return frozenset(word for text in texts for word in _WORD.findall(_folded(text)))


def _folded(text: str) -> str:
    """NFKC and case-folded; folding may take letters apart that NFKC writes as one, so it comes first, too."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def pair_owner(memory_id: str, other: str) -> str:
    """The owner of words about two memories at once: they go as soon as one of the two is erased."""
    return f"{_PAIR}{memory_id}/{other}"


def pair_of(owner: str) -> tuple[str, str] | None:
    """The two memories to which a payload belongs; None when it has one owner."""
    if not owner.startswith(_PAIR):
        return None
    memory_id, _, other = owner.removeprefix(_PAIR).partition("/")
    return memory_id, other


def fingerprint(
    kinds: KindRegistry,
    *,
    kind: str,
    attributes: Mapping[str, Any],
    title: str | None,
    content: str,
    links: Iterable[Link],
    visibility: Visibility,
) -> str | None:
    """A digest that two memories share iff they say the same to the same audience.

    Args:
        kinds: Tells which kinds are entities, and their label field.
        kind, attributes, title, content, links, visibility: Of the memory; `attributes` is the raw payload.

    Returns: 64 hexadecimal digits; None for an entity of which no more than its name is known, since two people may
        bear one name.
    Source: model §8. Texts are NFC with runs of blanks as one; case counts.
    """
    edges = sorted([(link.relation.value, link.target) for link in links if link.relation in _IDENTITY])
    spec = kinds.spec(kind)
    given = {key: value for key, value in attributes.items() if value is not None and value not in ([], ())}
    if spec.entity and set(given) <= set(spec.label_fields) and not content.strip() and not edges and title is None:
        return None
    named = "null" if title is None else _quoted(title)
    said = f"{_quoted(kind)},{named},{_quoted(content) if content else _NOTHING},{_canonical(given)}"
    targets = ",".join([f'["{relation}",{_quoted(target)}]' for relation, target in edges])
    audience = [visibility.kind.value, *sorted([str(actor) for actor in visibility.actors])]
    return sha256(f"[1,{said},[{targets}],{_canonical(audience)}]".encode()).hexdigest()


_NOTHING: Final = '""'


def _quoted(value: str) -> str:
    text = " ".join((value if value.isascii() else unicodedata.normalize("NFC", value)).split())
    if "\\" in text or '"' in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


_name: Final = lru_cache(maxsize=1_024)(_quoted)
"""As `_quoted`, for the names of fields, of which there are few."""


def _canonical(value: Any) -> str:
    """Canonical JSON: sorted keys, no blanks outside of strings, and within them the normal form."""
    sort = type(value)
    if sort is str:
        return _quoted(value)
    if sort is list or sort is tuple:
        return f"[{','.join([_canonical(item) for item in value])}]"
    if sort is dict:
        pairs = [(_name(str(key)), value[key]) for key in sorted(value)]
        listed = [f"{key}:{_quoted(item) if type(item) is str else _canonical(item)}" for key, item in pairs]
        return "{" + ",".join(listed) + "}"
    if value is None:
        return "null"
    if sort is bool:
        return "true" if value else "false"
    return repr(float(value))
