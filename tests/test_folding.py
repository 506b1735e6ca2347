"""What each event changes in a state, field by field: one line a case.

The lines are in golden/folding.txt, where they can be read as a whole. After a change of the fold that is meant, the
file is made anew, from the root of the repository, and the difference read:

    PYTHONPATH=src:. python -m tests.test_folding
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

import attrs
import pytest

from engram_core.events import (
    ContradictionResolved,
    ErasedPayload,
    MarkedDistinct,
    MemoriesAccessed,
    MemoryAbsorbed,
    MemoryArchived,
    MemoryAttributesUpdated,
    MemoryConfirmed,
    MemoryContradicted,
    MemoryDeleted,
    MemoryEdited,
    MemoryErased,
    MemoryEvidenceAdded,
    MemoryImportanceAdjusted,
    MemoryLifetimeChanged,
    MemoryLinked,
    MemoryMerged,
    MemoryMergedInto,
    MemoryNoted,
    MemoryRestored,
    MemoryReverted,
    MemorySuperseded,
    MemoryTagged,
    MemoryUnlinked,
    MemoryUnmerged,
    MemoryValidityChanged,
    MemoryVisibilityChanged,
    ProposalWithdrawn,
)
from engram_core.folding import evolve, fold
from engram_core.kinds import Person
from engram_core.state import MemoryState, Text
from engram_core.testing import Scenario, happened, memory_created
from engram_core.testing.scenario import START
from engram_core.values import (
    Actor,
    EvidenceRef,
    Link,
    Validity,
    assistant,
    ephemeral,
    permanent,
    private,
    restricted,
    user,
)
from engram_core.vocab import ArchiveReason, FieldGroup, Relation
from tests.golden_lines import GoldenLines

GOLDEN = GoldenLines("folding.txt")
ANN, BOT = user("ann"), assistant("bot")
DAY = timedelta(days=1)
QUOTE = EvidenceRef("quote", "q")

BEGUN = happened(
    memory_created(
        Person(full_name="Ann", notes="n"),
        title="T",
        content="c",
        tags=("x",),
        links=(Link(Relation.ABOUT, "b"),),
        evidence=(QUOTE,),
        confidence=0.5,
        pinned=True,
        user_weight=0.5,
        lifetime=ephemeral(),
        visibility=restricted(BOT),
        validity=Validity(START - DAY),
        external_ids=(("s", "1"),),
        source_ref="r",
    ),
    by=BOT,
)
FULL = (
    BEGUN,
    happened(MemoryConfirmed(0.1, 1.0, True), by=ANN, at=DAY),
    happened(MemoryContradicted(0.1, 0.0, "d"), by=BOT, at=DAY),
    happened(ContradictionResolved("d", "both")),
    happened(MarkedDistinct("e")),
    happened(MemorySuperseded("f", START)),
    happened(MemoryMerged("g")),
    happened(MemoryAbsorbed("g", ("G",), ("t",), ())),
    happened(MemoryAbsorbed("h", ("H",), ("u",), ("g",))),
)
"""A memory that has something in every field."""

CASES: dict[str, Any] = {
    "nothing": None,
    "edited": MemoryEdited("U", "d"),
    "edited, title": MemoryEdited(title=None),
    "edited, content": MemoryEdited(content="d"),
    "edited, redacted": MemoryEdited(content="d", redactions=1),
    "updated": MemoryAttributesUpdated({"full_name": "Anna", "notes": None}, 1),
    "updated, capped": MemoryAttributesUpdated({"notes": "m"}, 1, 0.2, 1),
    "updated, not capped": MemoryAttributesUpdated({"notes": "m"}, 1, 0.9),
    "updated, newer": MemoryAttributesUpdated({"notes": "m"}, 3),
    "confirmed": happened(MemoryConfirmed(0.5, 1.0, True), by=ANN, at=2 * DAY),
    "confirmed, backdated": happened(MemoryConfirmed(0.5, 1.0, True), by=ANN, at=-DAY),
    "confirmed, not vouched": happened(MemoryConfirmed(0.5, 0.6, False), by=BOT, at=2 * DAY),
    "confirmed, for another": happened(MemoryConfirmed(0.5, 1.0, True), by=ANN, on_behalf_of=BOT, at=2 * DAY),
    "contradicted": happened(MemoryContradicted(0.5, 0.0), by=ANN, at=2 * DAY),
    "contradicted, floor": happened(MemoryContradicted(0.9, 0.4, None, QUOTE), by=BOT),
    "contradicted, by a memory": happened(MemoryContradicted(0.5, 0.0, "i"), by=ANN, on_behalf_of=BOT),
    "contradicted, again": happened(MemoryContradicted(0.5, 0.0, "d"), by=BOT),
    "evidence": happened(MemoryEvidenceAdded(EvidenceRef("uri", "u")), by=ANN, at=2 * DAY),
    "evidence, corroborating": happened(
        MemoryEvidenceAdded(QUOTE, 0.5, 0.9, True), by=ANN, on_behalf_of=BOT, at=2 * DAY
    ),
    "evidence, corroborating weakly": happened(MemoryEvidenceAdded(QUOTE, 0.5, 0.6, False), by=BOT, at=2 * DAY),
    "linked": MemoryLinked(Relation.ABOUT, "j"),
    "linked, again": MemoryLinked(Relation.ABOUT, "b"),
    "unlinked": MemoryUnlinked(Relation.ABOUT, "b"),
    "unlinked, what is not": MemoryUnlinked(Relation.ABOUT, "j"),
    "tagged": MemoryTagged(("y", "z", "y"), ("x", "w")),
    "tagged, again": MemoryTagged(("x",)),
    "weighed": MemoryImportanceAdjusted(False, None),
    "weighed, pin alone": MemoryImportanceAdjusted(pinned=False),
    "weighed, weight alone": MemoryImportanceAdjusted(user_weight=1.0),
    "hidden": MemoryVisibilityChanged(private()),
    "kept": MemoryLifetimeChanged(permanent()),
    "bounded": MemoryValidityChanged(Validity(None, START)),
    "superseded": MemorySuperseded("k", START + DAY),
    "superseded, again": MemorySuperseded("f", START + DAY),
    "archived": MemoryArchived(ArchiveReason.OBSOLETE),
    "restored": MemoryRestored(),
    "restored, with a lifetime": MemoryRestored(permanent()),
    "deleted": MemoryDeleted(),
    "erased": MemoryErased(("e1",)),
    "erased, shared": MemoryErased(("e1",), shared=True, merged_into="s"),
    "merged": MemoryMerged("l"),
    "merged, again": MemoryMerged("g"),
    "absorbed": MemoryAbsorbed("l", ("L",), ("v",), ("g",)),
    "merged into": MemoryMergedInto("m"),
    "unmerged": MemoryUnmerged("g", "a"),
    "unmerged, it": MemoryUnmerged("a", "m"),
    "reverted": MemoryReverted("e1", {FieldGroup.TEXT: Text("V", "v"), FieldGroup.TAGS: ("w",)}, ("h",)),
    "resolved": ContradictionResolved("n", "a"),
    "distinct": MarkedDistinct("o"),
    "noted": MemoryNoted("p", "words"),
    "accessed": MemoriesAccessed(()),
    "of a proposal": ProposalWithdrawn(),
    "erased payload": ErasedPayload("MemoryEdited"),
    "late": happened(MemoryTagged(("y",)), at=3 * DAY),
}
BEGINNINGS = {
    "begun": memory_created(Person(full_name="A"), redactions=1, redactor="z 1"),
    "begun, by nobody known": ErasedPayload("MemoryCreated"),
    "begun, without a beginning": MemoryTagged(("x",)),
    "begun, for another": happened(
        memory_created(Person(full_name="A"), evidence=(QUOTE,)), by=ANN, on_behalf_of=BOT, session_id="s"
    ),
}
AFTER = {
    "archived as a merged one, then restored": (MemoryMergedInto("m"), MemoryRestored()),
    "archived as a merged one, then deleted": (MemoryMergedInto("m"), MemoryDeleted()),
    "archived as a merged one, then archived": (MemoryMergedInto("m"), MemoryArchived(ArchiveReason.WRONG)),
    "archived as a merged one, then superseded": (MemoryMergedInto("m"), MemorySuperseded("k", START + DAY)),
    "superseded from before it began": (
        MemoryValidityChanged(Validity(START + DAY)),
        MemorySuperseded("k", START + DAY),
    ),
    "superseded without a beginning": (MemoryValidityChanged(Validity()), MemorySuperseded("k", START + DAY)),
    "redacted, then not": (MemoryEdited("U", redactions=1), MemoryEdited("V")),
    "updated to a newer schema, then by an older one": (
        MemoryAttributesUpdated({"notes": "m"}, 3),
        MemoryAttributesUpdated({"notes": "o"}, 2),
    ),
}


def shown(value: Any) -> str:
    """A value in short: enums by value, actors by name, instants as days since the start."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Actor):
        return str(value)
    if isinstance(value, datetime):
        return f"day {(value - START) / DAY:g}"
    if attrs.has(type(value)):
        return f"{type(value).__name__}({', '.join(shown(getattr(value, a.name)) for a in attrs.fields(type(value)))})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{shown(key)}: {shown(item)}' for key, item in value.items())}}}"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(shown, value)))}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


def parts(state: MemoryState) -> dict[str, str]:
    """The fields of a state, in short; of the groups those that were touched last."""
    touched = (f"{group.value} {version}" for group, version in state.touched.items() if version == state.revision)
    found = {a.name: shown(getattr(state, a.name)) for a in attrs.fields(MemoryState)}
    return {**found, "touched": " ".join(sorted(touched))}


def told(name: str) -> str:
    """The fields that differ after some events; those of a memory that has everything where there are none."""
    if name in BEGINNINGS:
        begun = fold(Scenario[Any, Any]().given(BEGINNINGS[name]).history)
        assert begun is not None
        return "; ".join(f"{field}: {value}" for field, value in parts(begun).items())
    events = AFTER[name] if name in AFTER else () if CASES[name] is None else (CASES[name],)
    history = Scenario[Any, Any]().given(*FULL, *events).history
    before, after = fold(history[: len(FULL)]), fold(history)
    assert before is not None
    assert after is not None
    stepped = before
    for recorded in history[len(FULL) :]:
        stepped = evolve(stepped, recorded) or stepped
    assert after == stepped
    was, is_ = parts(before), parts(after)
    return "; ".join(f"{field}: {value}" for field, value in is_.items() if not events or was[field] != value)


NAMES = [*CASES, *AFTER, *BEGINNINGS]


@pytest.mark.parametrize("name", NAMES)
def test_an_event_changes_these_fields_and_no_others(name: str) -> None:
    """Folded at once or on top of what was folded before."""
    assert GOLDEN.read()[name] == told(name)


def test_every_line_has_a_case() -> None:
    """None is left of what is no more an event."""
    assert NAMES == list(GOLDEN.read())


if __name__ == "__main__":
    GOLDEN.write(NAMES, told)
