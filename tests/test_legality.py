"""One table says what is legal when, and what it touches; rules, folds and the diagram agree with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from engram_core.commands import (
    COMMANDS,
    AddEvidence,
    AddLink,
    AdjustImportance,
    Archive,
    Confirm,
    Contradict,
    Delete,
    Edit,
    MarkDistinct,
    Merge,
    Remember,
    RemoveLink,
    Resolve,
    Restore,
    SetLifetime,
    SetValidity,
    SetVisibility,
    Supersede,
    Tag,
    Unmerge,
    UpdateAttributes,
)
from engram_core.decider import Context
from engram_core.errors import EngramError
from engram_core.events import (
    EVENTS,
    Event,
    MemoryArchived,
    MemoryDeleted,
    MemoryErased,
    MemoryMergedInto,
    MemoryReverted,
    RecordedEvent,
)
from engram_core.folding import evolve
from engram_core.kinds import KINDS, Person
from engram_core.legality import LEGAL
from engram_core.memory import memory_decider
from engram_core.state import Life, MemoryState
from engram_core.testing import Scenario, happened, memory_created, strategies
from engram_core.testing.scenario import START
from engram_core.touching import TOUCHES, groups_touched
from engram_core.values import EvidenceRef, Link, permanent, private
from engram_core.vocab import ArchiveReason, FieldGroup, Relation, StoredStatus

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "lifecycle.md"
QUOTE = EvidenceRef("quote", "x")

COMMAND: dict[type[Any], Any] = {
    Edit: Edit("a", content="new"),
    UpdateAttributes: UpdateAttributes("a", {"notes": "new"}),
    AddEvidence: AddEvidence("a", QUOTE),
    Confirm: Confirm("a"),
    Contradict: Contradict("a", by="b"),
    AdjustImportance: AdjustImportance("a", pinned=True),
    Tag: Tag("a", ("new",)),
    AddLink: AddLink("a", Relation.ABOUT, "b"),
    RemoveLink: RemoveLink("a", Relation.RELATES_TO, "b"),
    SetVisibility: SetVisibility("a", private()),
    SetLifetime: SetLifetime("a", permanent()),
    SetValidity: SetValidity("a", START),
    Supersede: Supersede("a", "b", START + timedelta(days=1)),
    Merge: Merge("a", "b"),
    Unmerge: Unmerge("a"),
    MarkDistinct: MarkDistinct("a", "b"),
    Resolve: Resolve("a", "b", "both"),
    Archive: Archive("a"),
    Restore: Restore("a"),
    Delete: Delete("a"),
}
"""One of each that changes something wherever it is legal, unless all is so already."""

ENDED: dict[StoredStatus, list[Event]] = {
    StoredStatus.ACTIVE: [],
    StoredStatus.ARCHIVED: [MemoryArchived(ArchiveReason.OBSOLETE)],
    StoredStatus.DELETED: [MemoryDeleted()],
    StoredStatus.WITHDRAWN: [MemoryReverted("e1", {FieldGroup.LIFECYCLE: Life(StoredStatus.WITHDRAWN)})],
    StoredStatus.ERASED: [MemoryErased(())],
}

IS_SO_ALREADY = {(Archive, StoredStatus.ARCHIVED), (Restore, StoredStatus.ACTIVE)}


def standing(status: StoredStatus, command: type[Any]) -> Scenario[Any, Any]:
    """Two persons, the first in that stored status."""
    ended = [MemoryMergedInto("b")] if command is Unmerge and status is StoredStatus.ARCHIVED else ENDED[status]
    linked = (Link(Relation.RELATES_TO, "b"),)
    return Scenario[Any, Any]().given(
        happened(memory_created(Person(full_name="B")), "b"),
        memory_created(Person(full_name="A"), links=linked),
        *ended,
    )


def test_the_table_is_complete() -> None:
    """Every command has a row, and this test an example of each."""
    assert set(COMMANDS) == set(LEGAL)
    assert set(COMMANDS) - {Remember} == set(COMMAND)


@pytest.mark.parametrize("status", StoredStatus)
@pytest.mark.parametrize("command", COMMAND, ids=lambda cls: cls.__name__)
def test_the_rules_follow_the_table(command: type[Any], status: StoredStatus) -> None:
    """Every command in every stored status: legal iff the table says so, and ending where it says."""
    row = LEGAL[command]
    outcome = standing(status, command).when(COMMAND[command])
    if status not in row.stored:
        outcome.then_rejected("illegal_transition", naming=command.__name__)
    elif (command, status) in IS_SO_ALREADY:
        outcome.then_nothing()
    else:
        assert outcome.events
        outcome.then_state("a", lifecycle__stored=row.ends_in or status)


def test_a_memory_begins_once() -> None:
    """There is no row in which an existing one could begin again."""
    assert frozenset() == LEGAL[Remember].stored
    new = Remember(memory_id="a", kind="fact", attributes={"statement": "x"}, attributes_version=1)
    for status in StoredStatus:
        standing(status, Remember).when(new).then_rejected("conflict")


def test_every_event_of_a_memory_says_what_it_touches() -> None:
    """All but undo, which says so itself, and what stands in other streams."""
    elsewhere = {cls for cls in EVENTS if not cls.__name__.startswith("Memory") or cls.__name__ == "MemoriesAccessed"}
    own = {cls for cls in EVENTS if cls.__name__ in ("ContradictionResolved", "MarkedDistinct")}
    assert (set(EVENTS) - elsewhere - {MemoryReverted}) | own == set(TOUCHES)


# -- what is touched -----------------------------------------------------------------------------------

RULES = memory_decider(KINDS)


def touched(changes: Any, own: str) -> tuple[frozenset[FieldGroup], frozenset[FieldGroup]]:
    """The groups that changes touch on the named memory, and on others."""
    mine, others = [
        frozenset().union(*(groups_touched(c.event, c.stream) for c in changes if (c.stream == own) is is_own))
        for is_own in (True, False)
    ]
    return mine, others


@settings(max_examples=120)
@given(strategies.histories(begun=True, max_size=4), strategies.commands(), strategies.contexts())
def test_decided_events_touch_what_the_table_says(
    history: tuple[RecordedEvent, ...], command: Any, context: Context
) -> None:
    """No more, on the memory that is named and on the other one."""
    try:
        changes = RULES.decide(command, RULES.fold(history), context)
    except EngramError:
        return
    row = LEGAL[type(command)]
    mine, others = touched(changes, command.memory_id)
    assert mine <= row.groups | row.also
    assert others <= row.other


@pytest.mark.parametrize("command", COMMAND, ids=lambda cls: cls.__name__)
def test_each_command_touches_its_groups(command: type[Any]) -> None:
    """The groups of a revision check are groups that its events touch."""
    row = LEGAL[command]
    status = StoredStatus.ACTIVE if command is not Restore else StoredStatus.ARCHIVED
    if command is Unmerge:
        status = StoredStatus.ARCHIVED
    mine, _ = touched(standing(status, command).when(COMMAND[command]).changes, "a")
    assert row.groups == mine


def differing(before: MemoryState, after: MemoryState) -> Iterator[FieldGroup]:
    """The groups whose value is another one; what a merge gave belongs to attributes and tags."""
    for group in FieldGroup:
        if before.group(group) != after.group(group):
            yield group
    if before.absorbed != after.absorbed:
        yield FieldGroup.ATTRIBUTES


@settings(max_examples=120)
@given(strategies.histories(streams=["a"], begun=True, max_size=6))
def test_a_fold_changes_only_what_the_event_touches(history: tuple[RecordedEvent, ...]) -> None:
    """Whatever the events, in whatever order; and the state remembers which revision touched which group."""
    state: MemoryState | None = None
    for recorded in history:
        after = evolve(state, recorded, upcast=KINDS.upcast)
        assert after is not None
        told = groups_touched(recorded.event, recorded.stream)
        if state is not None:
            assert set(differing(state, after)) <= told

        assert after.last_touched(told) == (recorded.version if told else 0)
        state = after


# -- the diagram ---------------------------------------------------------------------------------------


def diagram() -> str:
    """The state machine as Mermaid draws it, from the table."""
    lines = ["stateDiagram-v2", "    [*] --> active: Remember"]
    lines += [
        f"    {status} --> {row.ends_in}: {command.__name__}"
        for command, row in LEGAL.items()
        for status in StoredStatus
        if status in row.stored and row.ends_in not in (None, status)
    ]
    lines += [f"    {status} --> erased: erase" for status in StoredStatus if status is not StoredStatus.ERASED]
    lines += ["    active --> withdrawn: undo", "    withdrawn --> active: redo"]
    return "\n".join(lines)


def table() -> str:
    """The table as a page shows it."""
    lines = [
        "| command | on stored | touches | perhaps also | on the other memory |",
        "| --- | --- | --- | --- | --- |",
    ]
    for command, row in LEGAL.items():
        stored = ", ".join(s for s in StoredStatus if s in row.stored) or "none yet"
        cells = [_listed(row.groups), _listed(row.also), _listed(row.other)]
        lines.append(f"| {command.__name__} | {stored} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _listed(groups: frozenset[FieldGroup]) -> str:
    return "all" if groups == set(FieldGroup) else ", ".join(g for g in FieldGroup if g in groups)


@pytest.mark.parametrize("part", [diagram, table], ids=["diagram", "table"])
def test_the_page_is_current(part: Any) -> None:
    """What docs/explanation/lifecycle.md shows is drawn from the table; the failure shows what to put there."""
    assert part() in PAGE.read_text("utf-8"), part()
