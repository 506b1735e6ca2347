"""What a reviewer reads of the difference between two states."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from engram_core.differing import differences
from engram_core.events import (
    Event,
    MemoryArchived,
    MemoryAttributesUpdated,
    MemoryConfirmed,
    MemoryEdited,
    MemoryEvidenceAdded,
    MemoryImportanceAdjusted,
    MemoryLifetimeChanged,
    MemoryLinked,
    MemoryTagged,
    MemoryUnlinked,
    MemoryValidityChanged,
    MemoryVisibilityChanged,
)
from engram_core.folding import fold
from engram_core.kinds import Person
from engram_core.testing import Scenario, memory_created
from engram_core.testing.scenario import START
from engram_core.values import EvidenceRef, Link, Validity, permanent, private
from engram_core.vocab import ArchiveReason, Relation

BEGUN = memory_created(
    Person(full_name="Ann", notes="kind"), title="T", content="c", tags=("x",), links=(Link(Relation.ABOUT, "b"),)
)


def told(*events: Event) -> tuple[str, ...]:
    """What sets a person apart from himself after some events."""
    history = Scenario[Any, Any]().given(BEGUN, *events).history
    before, after = fold(history[:1]), fold(history)
    assert before is not None
    assert after is not None
    return differences(before, after)


def test_each_field_that_differs_has_a_phrase() -> None:
    """In a fixed order, with the old and the new value; what came and what went bears a sign."""
    assert (
        "title: T -> None",
        "content: c -> d",
        "full_name: Ann -> Anna",
        "notes: kind -> None",
        "roles: None -> ['nurse']",
        "confidence: 0.95 -> 0.96",
        "pinned: False -> True",
        "user_weight: None -> 0.5",
        "status: active -> archived",
        "visibility: shared -> private",
        "lifetime: standard -> permanent",
        f"valid_from: None -> {START}",
        f"valid_to: None -> {START + timedelta(days=1)}",
        "tags: +y",
        "tags: -x",
        "links: +Link(relation=<Relation.ABOUT: 'about'>, target='d')",
        "links: -Link(relation=<Relation.ABOUT: 'about'>, target='b')",
        "evidence: +EvidenceRef(type=<EvidenceType.QUOTE: 'quote'>, value='q', note=None)",
    ) == told(
        MemoryEdited(title=None, content="d"),
        MemoryAttributesUpdated({"full_name": "Anna", "notes": None, "roles": ["nurse"]}, 1),
        MemoryConfirmed(0.2, 1.0, False),
        MemoryImportanceAdjusted(True, 0.5),
        MemoryVisibilityChanged(private()),
        MemoryLifetimeChanged(permanent()),
        MemoryValidityChanged(Validity(START, START + timedelta(days=1))),
        MemoryTagged(("y",), ("x",)),
        MemoryLinked(Relation.ABOUT, "d"),
        MemoryUnlinked(Relation.ABOUT, "b"),
        MemoryEvidenceAdded(EvidenceRef("quote", "q")),
        MemoryArchived(ArchiveReason.OBSOLETE),
    )


def test_what_is_the_same_is_not_told() -> None:
    """Nor what differs by less than a reader cares for."""
    assert () == told()
    assert () == told(MemoryConfirmed(0.0005, 1.0, False))


def test_long_values_are_cut() -> None:
    """To 200 characters, the last of them a sign that more follows."""
    assert (f"content: c -> {'d' * 200}",) == told(MemoryEdited(content="d" * 200))
    assert (f"content: c -> {'d' * 199}…",) == told(MemoryEdited(content="d" * 201))
