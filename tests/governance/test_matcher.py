"""The matcher of entities on pairs that are labelled by what is publicly known of them; it proposes, people decide.

`docs/how-to/merging.md` publishes these figures.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from engram_core.commands import Merge
from engram_core.kinds import Asset, Contact, Location, Organization, Person
from engram_core.kinds.fields import Attributes
from engram_core.session import Session
from tests.governance.rooms import room

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "how-to" / "merging.md"

FOUND = {
    "recorded alias": 1.0,
    "case, blanks, forms of letters": 1.0,
    "shared contact": 1.0,
    "two of one name": 1.0,
    "one contact of two": 1.0,
}
"""The share of each sort that is proposed; of every other sort, nothing is."""


class Pair(NamedTuple):
    """Two entities, and whether they are one thing."""

    same: bool
    sort: str
    one: str
    other: str


@cache
def pairs() -> tuple[Pair, ...]:
    """The table."""
    lines = (HERE / "names.tsv").read_text("utf-8").splitlines()[2:]
    fields = [line.split("\t") for line in lines]
    return tuple(Pair({"same": True, "different": False}[label], sort, *sides) for label, sort, *sides in fields)


def remember(session: Session, side: str) -> str:
    """Writes one side as an application would: an entity, and contacts that it owns."""
    kind, names, *contacts = (part.strip() for part in side.split(";"))
    name, *aliases = (part.strip() for part in names.split("|"))
    entity: Attributes
    match kind:
        case "person":
            entity = Person(full_name=name, aliases=tuple(aliases))
        case "organization":
            entity = Organization(name=name, aliases=tuple(aliases))
        case "location":
            entity = Location(name=name, aliases=tuple(aliases))
        case _:
            entity = Asset(asset_type="other", name=name, aliases=tuple(aliases))
    id = session.remember(entity, similar=False).memory_id
    assert id is not None
    for contact in contacts:
        channel, value = contact.split("~")
        session.remember(Contact(channel=channel, value=value), links=[("owned_by", id)], similar=False)
    return id


@cache
def proposed() -> dict[Pair, bool]:
    """What the nightly pass makes of each pair, in a space of its own; the review queue agrees."""
    answers = {}
    for pair in pairs():
        r = room()
        ids = {remember(r.ann, pair.one), remember(r.ann, pair.other)}
        suggested = {frozenset((row.memory_id, row.other_id)) for row in r.ann.reviews(reason="duplicate")}
        report = r.nightly.propose_merges()
        drafts = [draft.command for receipt in report.receipts for draft in r.ann.proposal(receipt).drafts]
        asked = {id for draft in drafts if isinstance(draft, Merge) for id in (draft.memory_id, draft.source)}
        assert asked in (set(), ids)
        assert suggested == ({frozenset(ids)} if asked else set()), pair
        answers[pair] = bool(asked)
    return answers


class Rates(NamedTuple):
    """How often the matcher is right."""

    precision: float
    recall: float
    wrong: float


def rates() -> Rates:
    told = Counter((pair.same, found) for pair, found in proposed().items())
    hits, false = told[True, True], told[False, True]
    return Rates(hits / (hits + false), hits / (hits + told[True, False]), false / (false + told[False, False]))


def test_the_table_is_worth_its_figures() -> None:
    """At least two hundred pairs, a hundred of each label, none twice, and several of every sort."""
    assert len(pairs()) == len(set(pairs())) >= 200
    labels = Counter(pair.same for pair in pairs())
    assert min(labels.values()) >= 100
    assert min(Counter((pair.sort, pair.same) for pair in pairs()).values()) >= 3
    assert len({pair.sort for pair in pairs()}) == len({(pair.sort, pair.same) for pair in pairs()})


@pytest.mark.parametrize("sort", sorted({pair.sort for pair in pairs()}))
def test_each_sort_is_found_or_not(sort: str) -> None:
    """A shared name, alias or contact is found in any writing; nicknames, translations and likeness tell it nothing."""
    answers = [found for pair, found in proposed().items() if pair.sort == sort]
    assert FOUND.get(sort, 0.0) == sum(answers) / len(answers)


def test_precision_and_recall_hold_a_floor() -> None:
    """What is proposed is mostly right; what is missed needs an alias or a contact on record."""
    found = rates()
    assert found.precision >= 0.72
    assert found.recall >= 0.43
    assert found.wrong <= 0.23


def published() -> Iterator[tuple[str, int, int]]:
    """The table of the page: sort, how many pairs, how many of them are proposed."""
    for sort, count, found in re.findall(
        r"^\| ([a-z, ]+) \| (\d+) \| (\d+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    ):
        yield sort, int(count), int(found)


def test_the_page_tells_the_figures() -> None:
    """Those of each sort, and the three of the whole, to the hundredth."""
    counts = Counter(pair.sort for pair in pairs())
    hits = Counter(pair.sort for pair, found in proposed().items() if found)
    assert sorted((sort, count, hits[sort]) for sort, count in counts.items()) == sorted(published())
    text = PAGE.read_text("utf-8")
    for name, figure in zip(Rates._fields, rates(), strict=True):
        assert f"{name if name != 'wrong' else 'wrong proposals'} {figure:.2f}" in text
