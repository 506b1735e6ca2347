"""A proposal as its events leave it. Source: model §7."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_core.commands import AddLink, Contradict, MarkDistinct, Merge, Remember, Resolve, Supersede, Tag
from engram_core.errors import ForbiddenError, IllegalTransitionError, InvalidAttributesError
from engram_core.events import (
    DraftAdded,
    ErasedPayload,
    Event,
    ProposalMerged,
    ProposalOpened,
    ProposalRebased,
    ProposalRejected,
    ProposalUndone,
    ProposalWithdrawn,
    RecordedEvent,
)
from engram_core.identity import pair_owner
from engram_core.proposal import (
    Proposal,
    check_decision,
    draft_owner,
    fold_proposal,
    is_proposal_stream,
    memory_of,
    named,
    proposal_stream,
    usual_title,
    words_owner,
)
from engram_core.testing import recorded_event, strategies
from engram_core.testing.scenario import START
from engram_core.values import EvidenceRef, Link, assistant, user
from engram_core.vocab import ProposalStatus, Relation

S = ProposalStatus
ANN, BOT = user("ann"), assistant("bot")
OPENED = ProposalOpened("title", "because")


def draft(number: int, memory_id: str = "a") -> DraftAdded:
    """A draft that tags a memory."""
    return DraftAdded(number, Tag(memory_id, ("x",)), memory_id, 1, START)


def told(*events: Event, owner: str | None = None) -> tuple[RecordedEvent, ...]:
    """The events in the stream of one proposal; what is about drafts is owned by their memory."""
    stream = proposal_stream("p")
    return tuple(
        recorded_event(event, stream=stream, version=n, position=n, by=BOT if n <= 3 else ANN)._replace(
            owner=owner or "a"
        )
        for n, event in enumerate(events, start=1)
    )


def proposal(*events: Event) -> Proposal:
    """The proposal after its opening, two drafts and some more events."""
    found = fold_proposal(told(OPENED, draft(1), draft(2, "b"), *events))
    assert found is not None
    return found


def standing(state: Proposal) -> tuple[str, list[str]]:
    """The status of the whole, and of each draft."""
    return state.status.value, [d.status.value for d in state.drafts]


def test_it_begins_with_what_its_author_said() -> None:
    """Title, reason and drafts, in order, by number."""
    state = proposal()
    assert ("p", BOT, "title", "because", None) == (
        state.id,
        state.author,
        state.title,
        state.rationale,
        state.batch_id,
    )
    assert [1, 2] == [d.number for d in state.open_drafts()]
    assert [("a", 1), ("b", 1)] == [(d.memory_id, d.base_revision) for d in state.drafts]
    assert state.draft(2) is state.drafts[1]
    assert state.draft(9) is None
    assert "on a at revision 1, open: Tag(added=('x',))" in repr(state.drafts[0])


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((), ("open", ["open", "open"])),
        ((ProposalMerged((1, 2)),), ("merged", ["merged", "merged"])),
        ((ProposalMerged((1,)),), ("open", ["merged", "open"])),
        ((ProposalMerged((1,)), ProposalRejected((2,))), ("merged", ["merged", "rejected"])),
        ((ProposalRejected((1,)),), ("open", ["rejected", "open"])),
        ((ProposalRejected(),), ("rejected", ["rejected", "rejected"])),
        ((ProposalRejected((1,)), ProposalMerged((2,))), ("merged", ["rejected", "merged"])),
        ((ProposalWithdrawn(),), ("withdrawn", ["withdrawn", "withdrawn"])),
        ((ProposalMerged((1, 2)), ProposalUndone("x", (1, 2))), ("undone", ["undone", "undone"])),
        (
            (ProposalMerged((1, 2)), ProposalUndone("x", (1, 2)), ProposalUndone("x", (1, 2), redo=True)),
            ("merged", ["merged", "merged"]),
        ),
        (
            (ProposalMerged((1,)), ProposalMerged((2,)), ProposalUndone("x", (1,))),
            ("merged", ["undone", "merged"]),
        ),
        ((ProposalMerged((1,)), ProposalUndone("x", (1,))), ("open", ["undone", "open"])),
        (
            (ProposalRejected((1,)), ProposalMerged((2,)), ProposalUndone("x", (2,))),
            ("undone", ["rejected", "undone"]),
        ),
    ],
    ids=repr,
)
def test_what_becomes_of_it(events: tuple[Event, ...], expected: tuple[str, list[str]]) -> None:
    """It is open as long as a draft is, merged if one was; undo turns the drafts of its batch alone."""
    assert expected == standing(proposal(*events))


def test_it_tells_through_what_it_was_asked() -> None:
    """Session and client of its first event, and who asks, also where that one's author is erased."""
    first, *rest = told(OPENED, draft(1))
    state = fold_proposal([first._replace(session_id="s", client="c"), *rest])
    assert state is not None
    assert ("s", "c", BOT.kind, START) == (state.session_id, state.client, state.author_kind, state.opened_at)
    erased = fold_proposal([first._replace(event=ErasedPayload("ProposalOpened"), actor=None), *rest])
    assert erased is not None
    assert (BOT, "", "") == (erased.author, erased.title, erased.rationale)


def test_the_merge_names_its_batch_and_who_decided() -> None:
    """So that from each event one finds the proposal, and back."""
    state = proposal(ProposalMerged((1, 2)))
    assert ("e4", ANN, START) == (state.batch_id, state.decided_by, state.decided_at)


def test_a_rebase_moves_bases_and_nothing_else() -> None:
    """Drafts that it does not name keep theirs."""
    assert [(1, 5), (2, 1)] == [(d.number, d.base_revision) for d in proposal(ProposalRebased(((1, 5),))).drafts]


def test_an_erased_draft_keeps_its_place() -> None:
    """The numbers of the others stay, and it cannot be merged any more."""
    history = told(OPENED, ErasedPayload("DraftAdded"), draft(2, "b"), ProposalMerged((2,)))
    state = fold_proposal(history)
    assert state is not None
    assert ["merged", 1, None] == [state.status.value, state.drafts[0].number, state.drafts[0].command]
    assert [2] == [d.number for d in state.drafts if d.status is S.MERGED]
    assert "<draft 1 on a at revision 0, withdrawn: erased>" == repr(state.drafts[0])


def test_erasing_everything_leaves_a_closed_proposal() -> None:
    """A rejection whose words went with the one memory it was about is still a rejection."""
    history = told(ErasedPayload("ProposalOpened"), ErasedPayload("DraftAdded"), ErasedPayload("ProposalRejected"))
    state = fold_proposal(history)
    assert state is not None
    assert S.OPEN is not state.status
    assert () == state.open_drafts()


def test_an_erased_partial_rejection_leaves_the_other_draft_open() -> None:
    """It was about the erased memory alone."""
    history = told(OPENED, ErasedPayload("DraftAdded"), draft(2, "b"), ErasedPayload("ProposalRejected"))
    state = fold_proposal(history)
    assert state is not None
    assert [2] == [d.number for d in state.open_drafts()]


def test_an_erased_rejection_closes_the_erased_drafts_of_its_memory() -> None:
    """Those of other memories that are erased, too, stay what they are."""
    gone = ErasedPayload("DraftAdded")
    opened, *drafts = told(OPENED, gone, gone, draft(3, "c"))
    of_both = [recorded._replace(owner=owner) for recorded, owner in zip(drafts, "abc", strict=True)]
    rejected = recorded_event(ErasedPayload("ProposalRejected"), stream=proposal_stream("p"), version=5, position=5)
    state = fold_proposal((opened, *of_both, rejected._replace(owner="a")))
    assert state is not None
    assert ("open", ["rejected", "withdrawn", "open"]) == standing(state)


def test_an_erased_rejection_of_several_memories_closes_all() -> None:
    """Where its words were about them all, it was about all drafts that nobody had decided."""
    begun = told(OPENED, draft(1), draft(2, "b"))
    rejected = recorded_event(ErasedPayload("ProposalRejected"), stream=proposal_stream("p"), version=4, position=4)
    state = fold_proposal((*begun, rejected._replace(owner=words_owner("p"))))
    assert state is not None
    assert ("rejected", ["rejected", "rejected"]) == standing(state)


@given(strategies.histories(streams=[proposal_stream("p")]), st.data())
def test_every_history_folds(history: tuple[RecordedEvent, ...], data: st.DataObject) -> None:
    """Any events in any order; and the fold may stop anywhere and go on."""
    cut = data.draw(st.integers(0, len(history)))
    assert fold_proposal(history) == fold_proposal(history[cut:], fold_proposal(history[:cut]))


PROPOSAL_EVENTS = [ProposalMerged, ProposalRejected, ProposalWithdrawn, ProposalUndone, ProposalRebased]


@given(st.lists(st.one_of([strategies.event_of(cls) for cls in PROPOSAL_EVENTS]), max_size=6))
def test_it_is_open_iff_a_draft_is(events: list[Any]) -> None:
    """Whatever was decided in whatever order."""
    state = proposal(*events)
    assert (state.status is S.OPEN) == bool(state.open_drafts())


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (Tag("a", ("x",)), "a"),
        (AddLink("a", Relation.ABOUT, "b"), "ab"),
        (Supersede("a", "b"), "ab"),
        (Contradict("a"), "a"),
        (Contradict("a", "b"), "ab"),
        (Merge("a", "b"), "ab"),
        (MarkDistinct("a", "b"), "ab"),
        (Resolve("a", "b", "both"), "ab"),
        (
            Remember(
                memory_id="a",
                kind="fact",
                attributes={},
                attributes_version=1,
                links=(Link(Relation.ABOUT, "b"), Link(Relation.ABOUT, "c")),
            ),
            "abc",
        ),
    ],
    ids=repr,
)
def test_a_command_names_memories(command: Any, expected: str) -> None:
    """The one that it changes or begins, and all others at which it points."""
    assert {*expected} == named(command)


@pytest.mark.parametrize(
    ("command", "owner"),
    [
        (Tag("a", ("x",)), "a"),
        (Contradict("a", "b"), "a"),
        (Contradict("a", None, None, "no"), "a"),
        (Contradict("a", "b", None, "no"), pair_owner("a", "b")),
        (Contradict("a", "b", EvidenceRef("quote", "q")), pair_owner("a", "b")),
        (Resolve("a", "b", "both"), "a"),
        (Resolve("a", "b", "both", "as well"), pair_owner("a", "b")),
    ],
    ids=repr,
)
def test_words_about_two_memories_belong_to_both(command: Any, owner: str) -> None:
    """A draft without such words belongs to the memory that it would change."""
    assert owner == draft_owner(command, "a")
    assert "a" == memory_of(owner)


@pytest.mark.parametrize(
    ("commands", "title"),
    [
        ([Remember(memory_id="a", kind="fact", attributes={}, attributes_version=1)], "Remember a fact"),
        ([Tag("a")], "Tag"),
        ([MarkDistinct("a", "b"), Tag("a"), Tag("b")], "Mark distinct, and 2 more"),
        ([AddLink("a", Relation.ABOUT, "b"), Tag("a")], "Add link, and 1 more"),
    ],
    ids=str,
)
def test_a_proposal_has_a_title_without_words_of_a_memory(commands: list[Any], title: str) -> None:
    """It may outlive what it is about."""
    assert title == usual_title(commands)


# -- deciding ------------------------------------------------------------------------------------------


def test_only_users_decide() -> None:
    """The author may take his own back, nobody else's."""
    with pytest.raises(ForbiddenError):
        check_decision(proposal(), BOT, None)
    with pytest.raises(ForbiddenError):
        check_decision(proposal(), assistant("other"), None, own=True)
    assert 2 == len(check_decision(proposal(), BOT, None, own=True))
    assert 2 == len(check_decision(proposal(), ANN, None))


def test_decisions_name_open_drafts() -> None:
    """Without numbers all that are open; what is not open, and an empty list, are refused."""
    partly = proposal(ProposalMerged((1,)))
    assert [2] == [d.number for d in check_decision(partly, ANN, None)]
    assert [2, 1] == [d.number for d in check_decision(proposal(), ANN, (2, 1, 2))]
    for wrong in ([1], [7], []):
        with pytest.raises(InvalidAttributesError, match="only"):
            check_decision(partly, ANN, wrong)


def test_what_is_closed_is_decided() -> None:
    """The error says as what."""
    with pytest.raises(IllegalTransitionError, match="withdrawn"):
        check_decision(proposal(ProposalWithdrawn()), ANN, None)


def test_streams_of_proposals_are_none_of_memories() -> None:
    """They begin with a sign that no memory's id begins with."""
    assert is_proposal_stream(proposal_stream("p"))
    assert not is_proposal_stream("p")
