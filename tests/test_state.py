"""The state of a memory follows from its events, whatever they are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core.errors import HistoryError
from engram_core.events import (
    ErasedPayload,
    Event,
    MemoriesAccessed,
    MemoryAbsorbed,
    MemoryAttributesUpdated,
    MemoryConfirmed,
    MemoryContradicted,
    MemoryEdited,
    MemoryErased,
    MemoryMerged,
    MemoryReverted,
    MemoryTagged,
    MemoryUnmerged,
    RecordedEvent,
    UnknownEvent,
)
from engram_core.folding import dispute_key, evolve, fold, is_own_word
from engram_core.kinds import KINDS, Fact, Person
from engram_core.state import Absorbed, MemoryState, Text
from engram_core.testing import Scenario, happened, memory_created, strategies
from engram_core.testing.scenario import START
from engram_core.values import EvidenceRef, Link, assistant, private, restricted, user
from engram_core.vocab import FieldGroup, Relation, StoredStatus

ANN, BOT = user("ann"), assistant("bot")
FACT = memory_created(Fact("x"))


def state(*events: Event | Any, upcast: Any = None) -> MemoryState:
    """What the events make of one memory."""
    found = fold(Scenario[Any, Any]().given(*events).history, upcast=upcast)
    assert found is not None
    return found


def any_history(**given: Any) -> Any:
    """Histories of one stream."""
    return strategies.histories(streams=["a"], **given)


# -- totality ------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(any_history(max_size=8), st.data())
def test_any_events_in_any_order_fold(history: tuple[RecordedEvent, ...], data: st.DataObject) -> None:
    """Nothing raises; folding in one go, in two, and one by one gives the same."""
    cut = data.draw(st.integers(0, len(history)))
    whole = fold(history, upcast=KINDS.upcast)
    assert whole == fold(history[cut:], fold(history[:cut], upcast=KINDS.upcast), upcast=KINDS.upcast)
    stepped: MemoryState | None = None
    for recorded in history:
        before = stepped
        copied = None if before is None else fold((), before)
        stepped = evolve(stepped, recorded, upcast=KINDS.upcast)
        assert before == copied
    assert whole == stepped


@given(any_history(max_size=6))
def test_the_revision_is_the_last_version(history: tuple[RecordedEvent, ...]) -> None:
    """It only rises, and never beyond what was touched."""
    found = fold(history)
    if found is None:
        assert () == history
        return
    assert (len(history), history[-1].position) == (found.revision, found.position)
    assert all(1 <= version <= found.revision for version in found.touched.values())


@given(any_history(max_size=6, begun=True))
def test_belief_stays_within_its_bounds(history: tuple[RecordedEvent, ...]) -> None:
    """Whatever the weights, caps and floors in the events."""
    found = fold(history)
    assert found is not None
    assert 0.0 <= found.confidence.confidence <= 1.0


def test_no_events_make_no_memory() -> None:
    """There is nothing to tell of."""
    assert fold(()) is None


@pytest.mark.parametrize("event", [ErasedPayload("MemoryEdited"), UnknownEvent("Later", 1, "{}"), MemoriesAccessed(())])
def test_what_says_nothing_changes_nothing(event: Event) -> None:
    """But the revision, which counts events."""
    before, after = state(FACT), state(FACT, event)
    assert (1, 2) == (before.revision, after.revision)
    assert [before.group(group) for group in FieldGroup] == [after.group(group) for group in FieldGroup]
    assert before.touched == after.touched


# -- a beginning ---------------------------------------------------------------------------------------


def test_a_memory_begins_with_all_that_was_said() -> None:
    """And remembers who said it, for whom, and when."""
    begun = memory_created(
        Person(full_name="A"),
        title="T",
        content="c",
        tags=("x",),
        links=(Link(Relation.ABOUT, "b"),),
        evidence=(EvidenceRef("quote", "q"),),
        visibility=private(),
        external_ids=(("s", "1"),),
        source_ref="r",
        redactions=2,
        redactor="z 1",
    )
    found = state(happened(begun, by=ANN, on_behalf_of=BOT, session_id="s"))
    source = found.origin.source
    assert source is not None
    assert (ANN, BOT, "s", "r", 2, "z 1") == (
        source.actor,
        source.on_behalf_of,
        source.session_id,
        source.source_ref,
        source.redactions,
        source.redactor,
    )
    assert [(BOT, START)] == [(item.actor, item.at) for item in found.evidence]
    assert {Link(Relation.ABOUT, "b"): 1} == found.edges.links
    assert (("s", "1"),) == found.external_ids
    assert found.redacted
    assert dict.fromkeys(FieldGroup, 1) == found.touched


def test_the_last_change_has_a_date() -> None:
    """The latest occurrence; a backdated change moves it not back."""
    edited = happened(MemoryEdited(content="x"), at=timedelta(days=2))
    late = happened(MemoryEdited(content="y"), at=timedelta(days=1))
    assert START + timedelta(days=2) == state(FACT, edited, late).updated_at


def test_an_edit_changes_what_it_names() -> None:
    """A title alone leaves the content, a content alone the title; None takes the title away."""
    begun = memory_created(Fact("x"), title="T", content="c")
    assert Text("U", "c") == state(begun, MemoryEdited(title="U")).text
    assert Text("T", "d") == state(begun, MemoryEdited(content="d")).text
    assert Text(None, "c") == state(begun, MemoryEdited(title=None)).text


@pytest.mark.parametrize(
    "change", [MemoryEdited, partial(MemoryAttributesUpdated, {"a": 1}, 1)], ids=["edit", "update"]
)
def test_what_was_redacted_stays_so(change: Any) -> None:
    """From the first change in which something was; one in which nothing was is none."""
    assert [False, True, True] == [
        state(*events).redacted
        for events in (
            (FACT, change(redactions=0)),
            (FACT, change(redactions=1)),
            (FACT, change(redactions=1), change(redactions=0)),
        )
    ]
    assert not state(FACT).redacted


# -- attributes ----------------------------------------------------------------------------------------


def _upcast(kind: str, raw: Mapping[str, Any], version: int) -> Mapping[str, Any]:
    return {"text": raw["statement"]} if (kind, version) == ("fact", 1) else raw


def test_an_older_payload_is_brought_up_whole_before_a_newer_change() -> None:
    """Fields that the change does not name are in the new form, too."""
    found = state(FACT, MemoryAttributesUpdated({"mood": "good"}, 2), upcast=_upcast)
    assert (2, {"text": "x", "mood": "good"}) == (found.attributes.version, found.attributes.raw)
    *_, last = Scenario[Any, Any]().given(FACT, MemoryAttributesUpdated({"mood": "good"}, 2)).history
    assert found == evolve(state(FACT), last, upcast=_upcast)


def test_a_change_of_the_same_version_is_sparse() -> None:
    """None takes a field away."""
    found = state(FACT, MemoryAttributesUpdated({"a": 1, "b": 2}, 1), MemoryAttributesUpdated({"a": None}, 1))
    assert {"statement": "x", "b": 2} == found.attributes.raw


def test_a_payload_that_cannot_be_brought_up_does_not_stop_a_fold() -> None:
    """It is refused by whoever reads the attributes."""

    def fails(kind: str, raw: Mapping[str, Any], version: int) -> Mapping[str, Any]:
        raise HistoryError("no way")

    found = state(FACT, MemoryAttributesUpdated({"a": 1}, 2), upcast=fails)
    assert (2, {"statement": "x", "a": 1}) == (found.attributes.version, found.attributes.raw)
    unknown = memory_created(Fact("x"), kind="dream")
    assert "dream" == state(unknown, MemoryAttributesUpdated({"a": 1}, 2), upcast=KINDS.upcast).kind


# -- what others gave ----------------------------------------------------------------------------------


def test_what_was_absorbed_is_kept_apart() -> None:
    """By source, so that each can be taken back whole; own tags come first, each once."""
    found = state(
        memory_created(Fact("x"), tags=("x",)),
        MemoryMerged("b"),
        MemoryAbsorbed("b", ("B",), ("x", "y")),
        MemoryMerged("c"),
        MemoryAbsorbed("c", ("C", "B"), ("y", "z")),
    )
    assert (("x", "y", "z"), ("B", "C")) == (found.all_tags, found.absorbed_aliases)
    apart = fold(
        Scenario[Any, Any]()
        .given(FACT, MemoryMerged("b"), MemoryAbsorbed("b", (), ("y",)), MemoryUnmerged("b", "a"))
        .history
    )
    assert apart is not None
    assert {} == apart.absorbed


def test_an_erased_gift_leaves_the_name_of_its_giver() -> None:
    """The ids of a merge stay; the text that the source owned is gone."""
    found = state(FACT, MemoryMerged("b"), ErasedPayload("MemoryAbsorbed"))
    assert {"b": Absorbed()} == found.absorbed


# -- undo ----------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(strategies.groups())
def test_a_reversal_sets_whole_groups(groups: dict[FieldGroup, Any]) -> None:
    """To exactly what was written down; all others stay."""
    before, after = state(FACT), state(FACT, MemoryReverted("e1", groups))
    for group in FieldGroup:
        assert groups.get(group, before.group(group)) == after.group(group)
        assert (2 if group in groups else 1) == after.touched[group]


def test_a_reversal_separates() -> None:
    """What a merge gave goes, of the sources that are named."""
    found = state(FACT, MemoryMerged("b"), MemoryMerged("c"), MemoryReverted("x", {}, ("b",)))
    assert ["c"] == list(found.absorbed)
    assert 4 == found.touched[FieldGroup.TAGS]


# -- erasure -------------------------------------------------------------------------------------------


@given(any_history(max_size=6, begun=True))
def test_after_erasure_nothing_is_left(history: tuple[RecordedEvent, ...]) -> None:
    """Whatever it held; and a replay in which its payloads are markers gives the same."""
    erased = MemoryErased(("e1",))
    last = history[-1]._replace(event=erased, version=len(history) + 1, position=len(history) + 1)
    live = fold((*history, last))
    replayed = fold((*(r._replace(event=ErasedPayload(r.type), actor=None) for r in history), last))
    assert live is not None
    assert replayed is not None
    for group in FieldGroup:
        assert live.group(group) == replayed.group(group)
    assert ("", (), {}, None) == (live.kind, live.external_ids, live.absorbed, live.origin.source)
    assert (StoredStatus.ERASED, Text(), private()) == (live.lifecycle.stored, live.text, live.visibility)
    assert (live.revision, live.position) == (replayed.revision, replayed.position)


def test_a_stream_without_a_beginning_is_nobodys_to_see() -> None:
    """Its audience is not known, so it has none."""
    assert private() == state(ErasedPayload("MemoryCreated")).visibility
    assert restricted(BOT) != state(MemoryTagged(("x",))).visibility


def test_what_nobody_is_known_to_have_done() -> None:
    """As a foreign log may hold it: it has no source, it counts, and it is nobody's voice."""
    told = Scenario[Any, Any]().given(FACT, MemoryConfirmed(0.5, 1.0, True), MemoryContradicted(0.5, 0.0)).history
    found = fold(recorded._replace(actor=None) for recorded in told)
    assert found is not None
    assert found.origin.source is None
    assert {} == found.confidence.confirmed
    assert frozenset() == found.confidence.disputes
    assert (0, 3) == (found.confidence.user_confirmed, found.confidence.disputed)
    assert START == found.confidence.last_confirmed_at


# -- voices --------------------------------------------------------------------------------------------


def test_who_confirmed_is_the_drafter_of_a_draft() -> None:
    """Whoever merged it did not vouch by that."""
    found = state(FACT, happened(MemoryConfirmed(0.4, 0.9, False), by=ANN, on_behalf_of=BOT))
    assert {BOT: START} == found.confidence.confirmed
    assert 0 == found.confidence.user_confirmed
    assert 2 == state(FACT, happened(MemoryConfirmed(0.9, 1.0, True), by=ANN)).confidence.user_confirmed


def test_grounds_have_names() -> None:
    """A memory, evidence whatever its note, or one's word."""
    assert "memory:b" == dispute_key("b", EvidenceRef("quote", "x"))
    assert dispute_key(None, EvidenceRef("quote", "x")) == dispute_key(None, EvidenceRef("quote", "x", "note"))
    assert "word" == dispute_key(None, None)
    grounds = dispute_key("b", None), dispute_key(None, EvidenceRef("quote", "memory:")), dispute_key(None, None)
    assert [False, True, True] == list(map(is_own_word, grounds))
