"""What is said when something is refused: the words, the hint, the code and the facts, one line a case.

The lines are in golden/refusals.txt, where they can be read as a whole. After a change of words that is meant, the
file is made anew, from the root of the repository, and the difference read:

    PYTHONPATH=src:. python -m tests.test_refusals
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest
from attrs import evolve

from engram_core.approval import ApprovalPolicy
from engram_core.commands import (
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
    RemoveLink,
    Resolve,
    Restore,
    SetVisibility,
    Supersede,
    Tag,
    Unmerge,
    UpdateAttributes,
)
from engram_core.errors import ConcurrencyError, EngramError
from engram_core.events import (
    DraftAdded,
    MemoryArchived,
    MemoryDeleted,
    MemoryErased,
    MemoryEvidenceAdded,
    MemoryLinked,
    MemoryMergedInto,
    MemorySuperseded,
    ProposalOpened,
    ProposalWithdrawn,
)
from engram_core.kinds import (
    KINDS,
    Column,
    Contact,
    Episode,
    Fact,
    Goal,
    KindRegistry,
    KindSpec,
    Location,
    Person,
    Preference,
    Relationship,
)
from engram_core.packs.outcomes import with_outcomes
from engram_core.policy import (
    ActorWeights,
    Decay,
    ImportancePolicy,
    Limits,
    Policy,
    RecallPolicy,
    RetentionPolicy,
    ReviewPolicy,
)
from engram_core.proposal import check_decision, fold_proposal, proposal_stream
from engram_core.testing import happened, memory_created, recorded_event
from engram_core.testing.scenario import ANN, START
from engram_core.values import (
    Actor,
    EvidenceRef,
    Lifetime,
    Link,
    PartialDate,
    Period,
    Validity,
    Visibility,
    assistant,
    checked_flag,
    checked_instant,
    private,
    restricted,
    until,
    user,
)
from engram_core.vocab import ActorKind, ArchiveReason, LifetimeKind, Relation, VisibilityKind
from tests.golden_lines import GoldenLines
from tests.memory.decided import BEFORE, BOT, LATER, after, asked, remembering

GOLDEN = GoldenLines("refusals.txt")
LONG = "x" * 30_000
QUOTE = EvidenceRef("quote", "q")


def spec(**changes: Any) -> KindSpec:
    """A kind of facts, otherwise."""
    usual = {"kind": "thing", "attributes": Fact, "view": "view_things", "label_fields": ("statement",)}
    return KindSpec(**{**usual, **changes})


def proposed(*events: Any) -> Any:
    """A proposal with two drafts."""
    drafts = [DraftAdded(n, Tag("a", ("x",)), "a", 1, START) for n in (1, 2)]
    return fold_proposal(
        recorded_event(event, stream=proposal_stream("p"), version=n, position=n, by=BOT)
        for n, event in enumerate([ProposalOpened("t", "r"), *drafts, *events], start=1)
    )


def failing(raw: Any) -> Any:
    """An upcaster that raises."""
    raise LookupError("no such thing")


OLD = KINDS.with_kinds(spec(version=2, upcasters={1: failing}, attributes=type("Thing", (Fact,), {})))

VALUES: dict[str, Callable[[], object]] = {
    "actor": lambda: Actor("robot", " "),
    "actor with a long id": lambda: user("x" * 201),
    "instant that is none": lambda: checked_instant(date(2026, 1, 1), "when"),
    "naive instant": lambda: checked_instant(datetime(2026, 1, 1), "when", "question"),
    "instant beyond the calendar": lambda: checked_instant(
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), "when"
    ),
    "flag": lambda: checked_flag(1, "pinned", "question"),
    "partial date": lambda: PartialDate("2024-13"),
    "partial date of no text": lambda: PartialDate(2024),  # type: ignore[arg-type]
    "partial date of the year 0": lambda: PartialDate("0000"),
    "period": lambda: Period(START, START),
    "period of naive ends": lambda: Period(datetime(2026, 1, 1), START),
    "period without an aware end": lambda: Period(START, datetime(2027, 1, 1)),
    "evidence": lambda: EvidenceRef("rumour", " ", 5),  # type: ignore[arg-type]
    "text with a NUL": lambda: EvidenceRef("quote", "a\0b"),
    "text with a surrogate": lambda: EvidenceRef("quote", "a\ud800b"),
    "lifetime without an end": lambda: Lifetime(LifetimeKind.UNTIL),
    "until a naive instant": lambda: until(datetime(2026, 1, 1)),
    "restriction to nobody": lambda: Visibility(VisibilityKind.RESTRICTED),
    "restricted to a name": lambda: restricted(BOT, "claude"),  # type: ignore[arg-type]
    "window": lambda: Validity(START, START),
    "window from a naive instant": lambda: Validity(datetime(2026, 1, 1)),
    "window to a naive instant": lambda: Validity(None, datetime(2026, 1, 1)),
    "window asked for a naive instant": lambda: Validity().holds_at(datetime(2026, 1, 1)),
    "somebody else wrote": lambda: refused(ConcurrencyError("a", 1, 2)),
    "somebody else wrote, with a hint": lambda: refused(ConcurrencyError("a", 1, 2, hint="look")),
}

POLICIES: dict[str, Callable[[], object]] = {
    "weights": lambda: ActorWeights(prior=2.0, confirm=0, contradict="1"),  # type: ignore[arg-type]
    "decay": lambda: Decay(half_life_days=0.0, stale_below=float("nan"), ephemeral_days=-1.0),
    "recall of nothing": lambda: RecallPolicy(depth=0),
    "recall": lambda: RecallPolicy(reach=1.5),  # type: ignore[arg-type]
    "limits": lambda: Limits(title=0, tags=True, depth=1.0),  # type: ignore[arg-type]
    "policy": lambda: Policy(confidence_cap=2.0),
    "policy of unknown actors": lambda: Policy(actors={"robot": 1}),  # type: ignore[dict-item]
    "policy of unknown kinds": lambda: Policy(decay={"fact": 1}),  # type: ignore[dict-item]
    "retention": lambda: RetentionPolicy(full_frequency=0, access_half_life_days=0.0, newborn_days=-1.0),
    "importance": lambda: ImportancePolicy(max_links=1.5),  # type: ignore[arg-type]
    "review": lambda: ReviewPolicy(similar=1.5, min_name=True),
    "policy of no kind of actor": lambda: Policy(actors={"robot": Policy().weights(ActorKind.USER)}),
    "policy of no mappings": lambda: Policy(actors=5, decay={1: 2}),  # type: ignore[arg-type, dict-item]
    "policy of a list": lambda: Policy(actors=["user"]),  # type: ignore[arg-type]
    "policy of other policies": lambda: Policy(
        active_exempt="goal", retention=1, importance=2, review=3, recall=4, corroboration=0.0, repeat_hours=None
    ),  # type: ignore[arg-type]
    "policy that exempts no kinds": lambda: Policy(active_exempt=frozenset({5})),  # type: ignore[arg-type]
    "grants": lambda: ApprovalPolicy.of([]),  # type: ignore[arg-type]
    "grants to nobody": lambda: ApprovalPolicy.of({"robot": ["tag"], BOT: ["fly"], "assistant": "delete"}),
    "grants of one thing": lambda: ApprovalPolicy.of({BOT: 5}),  # type: ignore[dict-item]
    "grants made by hand": lambda: ApprovalPolicy({BOT: frozenset()}, {ActorKind.PLUGIN: []}),  # type: ignore[dict-item]
}

KINDS_AND_FIELDS: dict[str, Callable[[], object]] = {
    "text": lambda: Fact(5),  # type: ignore[arg-type]
    "blank text": lambda: Fact(" "),
    "long text": lambda: Fact(LONG),
    "list of texts": lambda: Person(full_name="A", aliases="Bo"),  # type: ignore[arg-type]
    "long list": lambda: Person(full_name="A", aliases=("x",) * 51),
    "entries of a list": lambda: Person(full_name="A", aliases=("x", " ", 5)),  # type: ignore[arg-type]
    "word": lambda: Preference(polarity="hates", strength=2.0, target="x"),  # type: ignore[arg-type]
    "long word": lambda: Goal(statement="x", status="x" * 41),  # type: ignore[arg-type]
    "word of 40 letters": lambda: Goal(statement="x", status="x" * 40),  # type: ignore[arg-type]
    "kind of 40 letters": lambda: KINDS.spec("d" * 40),
    "attribute of 40 letters": lambda: KINDS.structure("fact", {"statement": "x", "o" * 40: 1}),
    "word of no text": lambda: Goal(statement="x", status=5),  # type: ignore[arg-type]
    "flag of a kind": lambda: Contact(channel="email", value="x", preferred=1),  # type: ignore[arg-type]
    "number": lambda: Location(name="x", latitude=91.0, longitude="0"),  # type: ignore[arg-type]
    "one coordinate": lambda: Location(name="x", latitude=1.0),
    "instant of a kind": lambda: Episode(occurred_at="yesterday"),  # type: ignore[arg-type]
    "day": lambda: Goal(statement="x", status="active", target_date="soon"),  # type: ignore[arg-type]
    "day that is an instant": lambda: Goal(statement="x", status="active", target_date=START),
    "day of no text": lambda: Goal(statement="x", status="active", target_date=5),  # type: ignore[arg-type]
    "nothing of an episode": Episode,
    "ends of an episode": lambda: Episode(start_at=START, end_at=BEFORE),
    "ends of a relationship": lambda: Relationship(
        subject_id="a", predicate="knows", object_id="b", since=date(2026, 1, 2), until=date(2026, 1, 1)
    ),
    "relationship to oneself": lambda: Relationship(subject_id="a", predicate="knows", object_id="a"),
    "wrong ends of an episode": lambda: Episode(start_at=START, end_at="soon"),  # type: ignore[arg-type]
    "wrong start of an episode": lambda: Episode(start_at=5, end_at=START),  # type: ignore[arg-type]
    "wrong occurrence": lambda: Episode(occurred_at=5, start_at=START, end_at=BEFORE),  # type: ignore[arg-type]
    "wrong since": lambda: Relationship("a", "knows", "b", since=5, until=date(2026, 1, 1)),  # type: ignore[arg-type]
    "wrong until": lambda: Relationship("a", "knows", "b", since=date(2026, 1, 1), until=5),  # type: ignore[arg-type]
    "wrong subject": lambda: Relationship(5, "knows", 5),  # type: ignore[arg-type]
    "wrong latitude alone": lambda: Location(name="x", latitude="0"),  # type: ignore[arg-type]
    "longitude alone": lambda: Location(name="x", longitude=1.0),
    "unknown kind": lambda: KINDS.spec("dream"),
    "unknown kind of a long name": lambda: KINDS.spec("d" * 41),
    "unknown class": lambda: KINDS.spec(int),
    "unknown object": lambda: KINDS.spec(5),
    "object of no kind": lambda: KINDS.unstructure(5),  # type: ignore[arg-type]
    "attributes that are no mapping": lambda: KINDS.structure("fact", ["x"]),  # type: ignore[arg-type]
    "attributes that are missing": lambda: KINDS.structure("fact", {}),
    "attributes that are unknown": lambda: KINDS.structure("fact", {"statement": "x", "o" * 41: 1, "y": 2}),
    "attributes that do not fit": lambda: KINDS.structure("fact", {"statement": 1}),
    "older attributes that are no mapping": lambda: KINDS.upcast("fact", 5, 1),  # type: ignore[arg-type]
    "a version to come": lambda: KINDS.structure("fact", {"statement": "x"}, 2),
    "a version that is none": lambda: KINDS.upcast("fact", {"statement": "x"}, 0),
    "an upcaster that fails": lambda: OLD.upcast("thing", {"statement": "x"}, 1),
    "changes that are no mapping": lambda: KINDS.change("fact", {"statement": "x"}, 5),  # type: ignore[arg-type]
    "changes of no mapping": lambda: KINDS.change("fact", 5, {}),  # type: ignore[arg-type]
    "changes that do not fit": lambda: KINDS.change("fact", {"statement": "x"}, {"statement": None}),
    "link of no names": lambda: KINDS.link_problem(1, Relation.ABOUT, "fact"),  # type: ignore[arg-type]
    "link that may not be": lambda: refused(KINDS.link_problem("fact", Relation.WORKS_AT, "person")),
    "link that leads elsewhere": lambda: refused(KINDS.link_problem("person", Relation.WORKS_AT, "fact")),
    "link that leads to neither": lambda: refused(KINDS.link_problem("project", Relation.INVOLVES, "fact")),
    "link of unlike kinds": lambda: refused(KINDS.link_problem("project", Relation.PART_OF, "goal")),
    "registry of others": lambda: KindRegistry([5]),  # type: ignore[arg-type]
    "registry of nothing listed": lambda: KindRegistry(5),  # type: ignore[arg-type]
    "registry of a class": lambda: KindRegistry(Fact),  # type: ignore[arg-type]
    "registry of twins": lambda: KINDS.with_kinds(KINDS.spec("fact")),
    "spec of wrong sorts": lambda: spec(
        attributes=int, view=5, version="1", label_fields=(5,), alias_field=5, decay=5, entity=1, emits=5, upcasters=5
    ),
    "spec of wrong mappings": lambda: spec(upcasters={"1": 5}, requires={1: 1}, columns={"x": 1}),
    "spec of another class": lambda: spec(attributes=Link),
    "spec of unknown relations": lambda: spec(emits={"about", "dreams_of"}),
    "spec of unknown and no relations": lambda: spec(emits=[5]),
    "spec of unknown relations in a frozen set": lambda: spec(emits=frozenset({"dreams_of"})),
    "spec of too many versions": lambda: spec(version=10**9),
    "spec of wrong names": lambda: spec(kind="A b", view="a b", version=0, label_fields=()),
    "spec of unknown fields": lambda: spec(label_fields=("x",), alias_field="y", text_fields=("z",), hot_fields=("h",)),
    "spec of unfit fields": lambda: evolve(
        KINDS.spec("person"), label_fields=("aliases",), alias_field="notes", hot_fields=("aliases",)
    ),
    "spec without upcasters": lambda: spec(version=3),
    "spec with upcasters": lambda: spec(version=1, upcasters={1: failing}),
    "spec of wrong columns": lambda: spec(
        columns={"a b": Column("$.statement", "TEXT"), "c": Column("x", "TEXT"), "d": Column("$.statement", "REAL")}
    ),
    "spec that requires too much": lambda: spec(requires={Relation.WORKS_AT: 1, Relation.ABOUT: 0}),
}

CREATIONS: dict[str, Callable[[], object]] = {
    "everything at once": asked(
        remembering(
            title=" ",
            content=LONG,
            tags=("x" * 51, " "),
            confidence=2,
            user_weight=-1,
            pinned=1,
            source_ref=LONG,
            external_ids=(("s", " "),),
            evidence=(5, EvidenceRef("quote", LONG), EvidenceRef("quote", "q", LONG)),
        )
    ),
    "long title": asked(remembering(title=LONG)),
    "too many": asked(
        remembering(
            tags=tuple(map(str, range(21))),
            links=tuple(Link(Relation.ABOUT, str(n)) for n in range(1_001)),
            evidence=(QUOTE,) * 1_001,
            external_ids=tuple(("s", str(n)) for n in range(21)),
        )
    ),
    "too many tags, one of them wrong": asked(remembering(tags=(" ", *map(str, range(21))))),
    "attributes beyond lower limits": asked(
        remembering(
            kind="person", attributes={"full_name": "A" * 9, "notes": "long", "aliases": ["a", "b" * 9, "c" * 10]}
        ),
        limits=Limits(statement=8, text=3, aliases=1),
    ),
    "long external ids": asked(remembering(external_ids=(("s" * 501, "1"), ("s", "i" * 501)))),
    "from the future": asked(remembering(), occurred_at=LATER),
    "an edge that is required": asked(remembering(kind="estimate", attributes={}), kinds=with_outcomes(KINDS)),
    "hidden from its author": asked(remembering(visibility=private()), by=BOT),
    "restricted to too many": asked(remembering(visibility=restricted(*(assistant(f"a{n}") for n in range(101))))),
    "id of one's own": asked(remembering(own_id=True), by=BOT),
    "id that is taken": asked(remembering(memory_id="fact")),
    "linked to what is not there": asked(remembering(links=(Link(Relation.ABOUT, "nobody"),))),
    "linked to what is deleted": asked(
        remembering(links=(Link(Relation.ABOUT, "ann"),)), after("ann", MemoryDeleted())
    ),
}

CHANGES: dict[str, Callable[[], object]] = {
    "what is not there": asked(Edit("nobody")),
    "long texts": asked(Edit("fact", title=LONG, content=LONG)),
    "wrong tags": asked(Tag("fact", (" ",))),
    "too many tags": asked(Tag("fact", tuple(map(str, range(21))))),
    "changed attributes beyond lower limits": asked(
        UpdateAttributes("fact", {"statement": "much too long"}), limits=Limits(statement=8)
    ),
    "changed attributes": asked(UpdateAttributes("fact", {"statement": 5})),
    "weights of no numbers": asked(AdjustImportance("fact", pinned=1, user_weight="x")),  # type: ignore[arg-type]
    "weights out of bounds": asked(AdjustImportance("fact", user_weight=2)),
    "hiding from oneself": asked(SetVisibility("fact", private()), by=BOT),
    "a long note": asked(Archive("fact", note=LONG)),
    "a long note on a deletion": asked(Delete("fact", note=LONG)),
    "restoring what was merged": asked(Restore("anna"), after("anna", MemoryMergedInto("ann"))),
    "restoring what has ended": asked(
        Restore("fact", until(BEFORE)), after("fact", MemoryArchived(ArchiveReason.OBSOLETE))
    ),
    "what is archived": asked(Edit("fact", title="x"), after("fact", MemoryArchived(ArchiveReason.OBSOLETE))),
    "what is deleted": asked(Edit("fact", title="x"), after("fact", MemoryDeleted())),
    "what is erased": asked(Edit("fact", title="x"), after("fact", MemoryErased(()))),
    "too much evidence": asked(
        AddEvidence("fact", QUOTE),
        after("fact", MemoryEvidenceAdded(EvidenceRef("quote", "p"), None, 1.0, False)),
        limits=Limits(evidences=1),
    ),
    "long evidence": asked(AddEvidence("fact", EvidenceRef("quote", LONG))),
    "long evidence of a confirmation": asked(Confirm("fact", EvidenceRef("quote", LONG))),
    "disputing oneself": asked(Contradict("mine"), happened(memory_created(Fact("z")), "mine", by=BOT), by=BOT),
    "disputing by what is not there": asked(Contradict("fact", by="nobody")),
    "disputing by itself": asked(Contradict("fact", by="fact")),
    "disputing by long evidence": asked(Contradict("fact", evidence=EvidenceRef("quote", LONG))),
    "disputing in long words": asked(Contradict("fact", note=LONG)),
    "resolving by a third": asked(Resolve("fact", "other", "third")),
    "resolving with what is deleted": asked(Resolve("fact", "other", "fact"), after("other", MemoryDeleted())),
    "resolving in long words": asked(Resolve("fact", "other", "both", LONG)),
    "distinct from itself": asked(MarkDistinct("fact", "fact")),
    "distinct from nobody": asked(MarkDistinct("fact", "nobody")),
}

JOINING: dict[str, Callable[[], object]] = {
    "superseded by what is archived": asked(
        Supersede("fact", "other"), after("other", MemoryArchived(ArchiveReason.OBSOLETE))
    ),
    "superseded by what is hidden": asked(Supersede("fact", "hidden")),
    "superseded in a circle": asked(
        Supersede("other", "fact"),
        after("other", MemoryLinked(Relation.SUPERSEDES, "fact")),
        after("fact", MemorySuperseded("other", START)),
    ),
    "superseded too late": asked(
        Supersede("fact", "ended", LATER),
        happened(memory_created(Fact("e"), validity=Validity(None, START)), "ended"),
    ),
    "superseded too early": asked(Supersede("new", "other", START)),
    "superseded by itself": asked(Supersede("fact", "fact")),
    "merging what is archived": asked(Merge("ann", "anna"), after("anna", MemoryArchived(ArchiveReason.OBSOLETE))),
    "merging two kinds": asked(Merge("ann", "acme")),
    "merging what is no entity": asked(Merge("fact", "other")),
    "merging with itself": asked(Merge("ann", "ann")),
    "merging into what is hidden": asked(
        Merge("hid", "ann"), happened(memory_created(Person(full_name="A"), visibility=private()), "hid")
    ),
    "unmerging what was not merged": asked(Unmerge("ann")),
    "unmerging what is archived": asked(Unmerge("ann"), after("ann", MemoryArchived(ArchiveReason.OBSOLETE))),
    "unmerging from what is not known": asked(Unmerge("anna"), after("anna", MemoryMergedInto("nobody"))),
    "linked to itself": asked(AddLink("fact", Relation.ABOUT, "fact")),
    "linked as it may not be": asked(AddLink("fact", Relation.WORKS_AT, "acme")),
    "linked to another kind": asked(AddLink("ann", Relation.WORKS_AT, "fact")),
    "involving what is neither": asked(AddLink("moon", Relation.INVOLVES, "fact")),
    "part of another kind": asked(AddLink("moon", Relation.PART_OF, "acme")),
    "linked twice": asked(AddLink("fact", Relation.ABOUT, "ann"), after("fact", MemoryLinked(Relation.ABOUT, "ann"))),
    "linked in a circle": asked(
        AddLink("moon", Relation.PART_OF, "mars"), after("mars", MemoryLinked(Relation.PART_OF, "moon"))
    ),
    "owned twice": asked(
        AddLink("mail", Relation.OWNED_BY, "anna"), after("mail", MemoryLinked(Relation.OWNED_BY, "ann"))
    ),
    "too many links": asked(
        AddLink("fact", Relation.ABOUT, "anna"),
        after("fact", MemoryLinked(Relation.ABOUT, "ann")),
        limits=Limits(links=1),
    ),
    "an edge of a supersession": asked(
        RemoveLink("fact", Relation.SUPERSEDES, "other"), after("fact", MemoryLinked(Relation.SUPERSEDES, "other"))
    ),
    "an edge to what is deleted": asked(AddLink("fact", Relation.ABOUT, "ann"), after("ann", MemoryDeleted())),
}

PROPOSALS: dict[str, Callable[[], object]] = {
    "decided by an assistant": lambda: check_decision(proposed(), BOT, None),
    "decided before": lambda: check_decision(proposed(ProposalWithdrawn()), ANN, None),
    "decided of none": lambda: check_decision(proposed(), ANN, ()),
    "decided of others": lambda: check_decision(proposed(), ANN, (1, 3)),
    "decided of no numbers": lambda: check_decision(proposed(), ANN, ("1",)),  # type: ignore[arg-type]
    "decided of no list": lambda: check_decision(proposed(), ANN, int),  # type: ignore[arg-type]
}

CASES = {**VALUES, **POLICIES, **KINDS_AND_FIELDS, **CREATIONS, **CHANGES, **JOINING, **PROPOSALS}


def refused(what: object) -> object:
    """Raises what is refused by being answered."""
    raise what if isinstance(what, Exception) else ValueError(what)


def told(name: str) -> str:
    """What is said in a case, in one line."""
    with pytest.raises((EngramError, ValueError)) as caught:
        CASES[name]()
    error = caught.value
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, EngramError):
        facts = {key: value for key, value in error.fields.items() if key != "problems"}
        facts |= {"fields": [p.field for p in error.fields["problems"]]} if "problems" in error.fields else {}
        said = f"{type(error).__name__} {error.code} {facts}: {error}"
    return said.replace("x" * 100, "…").replace("\n", "\\n")


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_says_what_is_wrong_and_where(name: str) -> None:
    """By its class, code and facts for a program, and by its words for a reader."""
    assert GOLDEN.read()[name] == told(name)


def test_every_line_has_a_case() -> None:
    """None is left of what is no more refused."""
    assert list(CASES) == list(GOLDEN.read())


if __name__ == "__main__":
    GOLDEN.write(CASES, told)
