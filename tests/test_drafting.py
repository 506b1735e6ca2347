"""What a new memory may hold: all problems at once, and values in their normal form. Source: model §2."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given

from engram_core.commands import Remember
from engram_core.drafting import (
    check_evidence,
    checked_creation,
    checked_note,
    checked_tags,
    checked_text,
    default_validity,
)
from engram_core.errors import InvalidAttributesError
from engram_core.kinds import KINDS, Attributes, Episode, Fact, Relationship
from engram_core.packs.outcomes import with_outcomes
from engram_core.policy import Limits
from engram_core.testing import strategies
from engram_core.testing.scenario import START
from engram_core.values import EvidenceRef, Link, PartialDate, Validity
from engram_core.vocab import Relation
from tests.memory.contexts import context_of

NUL, SURROGATE = "a\0b", "a\ud800b"
LIMITS = Limits()


def remembering(**fields: Any) -> Remember:
    """A new fact."""
    usual = {"memory_id": "n", "kind": "fact", "attributes": {"statement": "x"}, "attributes_version": 1}
    return Remember(**{**usual, **fields})


def problems(**fields: Any) -> list[str]:
    """The fields that a creation is refused for."""
    with pytest.raises(InvalidAttributesError) as caught:
        checked_creation(remembering(**fields), context_of())
    return [problem.field for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", " "),
        ("title", "x" * 201),
        ("title", NUL),
        ("title", SURROGATE),
        ("content", "x" * 20_001),
        ("content", NUL),
        ("content", SURROGATE),
        ("content", None),
        ("tags", tuple(str(n) for n in range(21))),
        ("tags", ("x" * 51,)),
        ("tags", (" ",)),
        ("tags", (NUL,)),
        ("tags", (5,)),
        ("links", tuple(Link(Relation.ABOUT, str(n)) for n in range(1_001))),
        ("evidence", ("a quote",)),
        ("evidence", (EvidenceRef("quote", "x" * 2_001),)),
        ("evidence", (EvidenceRef("quote", "x", "y" * 2_001),)),
        ("evidence", (EvidenceRef("quote", "x"),) * 1_001),
        ("confidence", 1.01),
        ("confidence", -0.1),
        ("confidence", float("nan")),
        ("confidence", True),
        ("confidence", "0.5"),
        ("user_weight", float("inf")),
        ("user_weight", False),
        ("pinned", 1),
        ("pinned", "no"),
        ("source_ref", "x" * 2_001),
        ("source_ref", SURROGATE),
        ("external_ids", (("s", " "),)),
        ("external_ids", (("", "1"),)),
        ("external_ids", tuple(("s", str(n)) for n in range(21))),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_does_not_fit_is_refused(field: str, value: Any) -> None:
    """The field is named."""
    assert {field} == set(problems(**{field: value}))


def test_all_problems_come_at_once() -> None:
    """In the order of the fields."""
    wrong: dict[str, Any] = {"title": " ", "content": NUL, "tags": (" ",), "confidence": 2, "pinned": None}
    assert ["title", "content", "tags", "confidence", "pinned"] == problems(**wrong)


def test_at_the_limit_it_fits() -> None:
    """Limits say what is allowed, not what is not."""
    created = checked_creation(
        remembering(
            title="x" * 200,
            content="x" * 20_000,
            tags=tuple(f"{n:050d}" for n in range(20)),
            confidence=1,
            user_weight=0,
        ),
        context_of(),
    )
    assert (20, 1.0, 0.0) == (len(created.tags), created.confidence, created.user_weight)
    assert [float, float] == [type(created.confidence), type(created.user_weight)]


def test_values_are_normal() -> None:
    """Titles are stripped, tags folded and kept once; content is kept as given."""
    created = checked_creation(remembering(title=" T ", content=" c\n", tags=("X", " x", "Ÿ", "ÿ")), context_of())
    assert ("T", " c\n", ("x", "ÿ")) == (created.title, created.content, created.tags)


def test_what_lies_in_the_future_has_not_occurred() -> None:
    """Five minutes are left for clocks that disagree."""
    soon = START + timedelta(minutes=5)
    assert checked_creation(remembering(), context_of(occurred_at=soon))
    with pytest.raises(InvalidAttributesError, match="occurred_at"):
        checked_creation(remembering(), context_of(occurred_at=soon + timedelta(microseconds=1)))
    assert checked_creation(remembering(), context_of(occurred_at=START - timedelta(days=9_999)))


def test_a_kind_may_require_edges() -> None:
    """An estimate rests on something."""
    larger = context_of(kinds=with_outcomes(KINDS))
    estimate: dict[str, Any] = {"kind": "estimate", "attributes": {}}
    with pytest.raises(InvalidAttributesError, match="derived_from"):
        checked_creation(remembering(**estimate), larger)
    links = (Link(Relation.DERIVED_FROM, "a"),)
    assert links == checked_creation(remembering(**estimate, links=links), larger).links


# -- windows -------------------------------------------------------------------------------------------

JAN, FEB = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC)
NEXT = datetime(2025, 1, 1, tzinfo=UTC)


def window(of: Attributes) -> Validity:
    """When it is true, if nobody says."""
    return default_validity(KINDS.spec(of).kind, KINDS.unstructure(of), context_of())


def related(since: Any = None, until: Any = None) -> Relationship:
    """A relationship of that time."""
    return Relationship(subject_id="a", predicate="knows", object_id="b", since=since, until=until)


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (Fact("x"), Validity()),
        (related(), Validity()),
        (related(PartialDate("2024")), Validity(JAN)),
        (related(PartialDate("2024-01"), PartialDate("2024-01")), Validity(JAN, FEB)),
        (related(date(2024, 1, 1), PartialDate("2024")), Validity(JAN, NEXT)),
        (related(None, date(2024, 1, 31)), Validity(None, FEB)),
        (Episode(start_at=JAN, end_at=FEB), Validity(JAN, FEB)),
        (Episode(start_at=JAN), Validity(JAN)),
        (Episode(start_at=JAN, end_at=JAN), Validity(JAN)),
        (Episode(occurred_at=JAN), Validity(JAN)),
        (related(None, date(9999, 12, 31)), Validity()),
    ],
    ids=str,
)
def test_windows_follow_from_what_is_said(of: Attributes, expected: Validity) -> None:
    """A relationship's since and until, whole days, months or years; an episode's start and end."""
    assert expected == window(of)


def test_a_given_window_wins() -> None:
    """Even an open one, which is not the same as none."""
    of = related(PartialDate("2024"))
    fields = {"kind": "relationship", "attributes": KINDS.unstructure(of)}
    assert Validity() == checked_creation(remembering(**fields, validity=Validity()), context_of()).validity
    assert Validity(JAN) == checked_creation(remembering(**fields), context_of()).validity


# -- the small checks ----------------------------------------------------------------------------------


def test_texts_notes_and_evidence() -> None:
    """Each is checked alone by the commands that change it."""
    assert ("T", "c") == checked_text(" T ", "c", LIMITS)
    assert "n" == checked_note("n", LIMITS)
    check_evidence((EvidenceRef("quote", "x"),), LIMITS)
    for call in (
        lambda: checked_text("x" * 201, NUL, LIMITS),
        lambda: checked_note("x" * 2_001, LIMITS),
        lambda: check_evidence((EvidenceRef("quote", "x" * 2_001),), LIMITS),
        lambda: checked_tags([str(n) for n in range(21)], LIMITS),
    ):
        with pytest.raises(InvalidAttributesError):
            call()
    assert 21 == len(checked_tags([str(n) for n in range(21)], LIMITS, count=False))


@given(strategies.command_of(Remember))
def test_what_passes_passes_again(command: Remember) -> None:
    """A checked creation holds normal forms: checking it once more changes nothing."""
    ctx = context_of()
    try:
        created = checked_creation(command, ctx)
    except InvalidAttributesError:
        return
    fields = {name: getattr(created, name) for name in ("title", "content", "tags", "links", "evidence", "confidence")}
    again = Remember(
        memory_id="n",
        kind=created.kind,
        attributes=created.attributes,
        attributes_version=created.attributes_version,
        pinned=created.pinned,
        user_weight=created.user_weight,
        lifetime=created.lifetime,
        visibility=created.visibility,
        validity=created.validity,
        external_ids=created.external_ids,
        source_ref=created.source_ref,
        redactions=created.redactions,
        redactor=created.redactor,
        **fields,
    )
    assert created == checked_creation(again, ctx)
