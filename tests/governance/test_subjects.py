"""Subject requests: the plan of an erasure is what a naive reading of the space says, and takes nothing else."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from typing import Any

import pytest
from attrs import frozen

from engram_core.drafts import Draft
from engram_core.errors import ForbiddenError, NotFoundError
from engram_core.kinds import Contact, Episode, Fact, Person, Preference, Relationship
from engram_core.session import Session
from engram_core.values import assistant, private
from tests.governance.rooms import ANY, START, Room, room


@frozen
class Made:
    """One memory of the generated space, as whoever made it knows it."""

    id: str
    kind: str
    about: frozenset[str] = frozenset()
    owner: str | None = None
    ends: frozenset[str] = frozenset()
    grounds: frozenset[str] = frozenset()
    other: frozenset[str] = frozenset()


def generated(session: Session, people: int, memories: int, seed: int = 3) -> list[Made]:
    """Persons, and memories about one, two or none of them, contacts, relationships and conclusions."""
    picks = random.Random(seed)
    made: list[Made] = []
    drafts: list[Draft] = []

    def add(attributes: Any, links: Iterable[tuple[str, str]] = (), **known: Any) -> None:
        id = f"00000000-0000-7000-8000-{len(made):012x}"
        made.append(Made(id, type(attributes).__name__, **known))
        visibility = {"visibility": private()} if picks.random() < 0.1 else {}
        drafts.append(Draft(attributes, links=list(links), id=id, on_duplicate="create", **visibility))

    for n in range(people):
        add(Person(f"Person Number {n}"))
    persons = [m.id for m in made]
    while len(made) < memories:
        n, who = len(made), picks.choice(persons)
        match picks.randrange(7):
            case 0:
                add(Contact("email", f"{n}@x.org"), [("owned_by", who)], owner=who)
            case 1:
                other = picks.choice([p for p in persons if p != who])
                add(Relationship(subject_id=who, predicate="knows", object_id=other), ends=frozenset({who, other}))
            case 2:
                both = frozenset(picks.sample(persons, 2))
                add(Fact(f"of two: {n}"), [("about", p) for p in sorted(both)], about=both)
            case 3:
                add(Episode(occurred_at=START), [("involves", who)], other=frozenset({who}))
            case 4:
                grounds = frozenset(m.id for m in picks.sample(made, picks.choice((1, 2))))
                about = frozenset({who}) if picks.random() < 0.3 else frozenset()
                links = [*(("derived_from", g) for g in sorted(grounds)), *(("about", p) for p in about)]
                add(Fact(f"concluded: {n}"), links, grounds=grounds, about=about)
            case 5:
                add(Fact(f"of nobody: {n}"))
            case _:
                add(Preference("likes", target=f"thing {n}"), [("about", who)], about=frozenset({who}))
    session.remember_many(drafts, batch=2_000)
    return made


def naive(made: list[Made], subject: str) -> tuple[set[str], set[str]]:
    """What goes, and what is shared: by the definition, read over the list again and again until nothing changes."""
    going = {subject}
    going |= {m.id for m in made if m.owner == subject or subject in m.ends}
    while True:
        new = {
            m.id
            for m in made
            if m.id not in going and m.about <= going and ((m.about and subject in m.about) or m.grounds & going)
        }
        if not new:
            break
        going |= new
    shared = {m.id for m in made if m.id not in going and (subject in m.about | m.other | m.ends or m.grounds & going)}
    return going, shared


def answers(session: Session, made: list[Made], without: set[str]) -> str:
    """What a session is answered about the memories that stay, as text."""
    told = []
    for m in session.find_all(status=ANY, order="id"):
        if m.id not in without:
            links = sorted((str(link.relation), link.target) for link in m.links if link.target not in without)
            told.append((m.id, m.attributes, m.content, m.tags, m.confidence, m.status, m.visibility, links))
    return repr(told)


def check(r: Room, people: int, memories: int, subjects: int) -> None:
    made = generated(r.ann, people, memories)
    erased: set[str] = set()
    for subject in random.Random(5).sample([m.id for m in made[:people]], subjects):
        left = [m for m in made if m.id not in erased]
        going, shared = naive(left, subject)
        before = answers(r.ann, made, set()), r.space.position, r.space.anchor()
        rehearsed = r.ann.erase_subject(subject, dry_run=True)
        assert before == (answers(r.ann, made, set()), r.space.position, r.space.anchor())
        assert (going, shared) == (set(rehearsed.memory_ids), set(rehearsed.shared))
        staying = answers(r.ann, made, going), answers(r.bot, made, going)
        report = r.ann.erase_subject(subject)
        assert (rehearsed.memory_ids, rehearsed.counts, rehearsed.events, rehearsed.shared) == (
            report.memory_ids,
            report.counts,
            report.events,
            report.shared,
        )
        assert len(going) == len(report.memory_ids) == sum(report.counts.values())
        assert staying == (answers(r.ann, made, going), answers(r.bot, made, going))
        for id in going:
            with pytest.raises(NotFoundError):
                r.ann.get(id)
        erased |= going
    assert not r.nightly.verify().problems


@pytest.fixture
def r() -> Room:
    return room()


def test_the_plan_is_the_naive_one(r: Room) -> None:
    """On a generated space: who goes, what is shared, real counts, a rehearsal without effect, others unharmed."""
    check(r, people=25, memories=500, subjects=4)


@pytest.mark.slow
def test_the_plan_is_the_naive_one_at_full_size(r: Room) -> None:
    """500 persons, 10,000 memories."""
    check(r, people=500, memories=10_000, subjects=5)


def test_what_was_merged_in_goes_too(r: Room) -> None:
    """All names of the subject, with what hangs on each of them."""
    a, b, c = (r.ann.remember(Person(name)) for name in ("Alice Ng", "A. Ng", "Ali Ng"))
    phone = r.ann.remember(Contact("phone", "1"), links=[("owned_by", c)])
    fact = r.ann.remember(Fact("she sings"), links=[("about", b), ("about", a)])
    other = r.ann.remember(Person("Bob Ode"))
    r.ann.merge(b, c)
    r.ann.merge(a, b)
    report = r.ann.erase_subject(a)
    assert {"entity": 3, "contacts": 1, "about": 1} == report.counts
    assert {m.memory_id for m in (a, b, c, phone, fact)} == set(report.memory_ids)
    assert [other.memory_id] == [m.id for m in r.ann.find_all(status=ANY)]


def test_what_is_deleted_or_archived_goes_too(r: Room) -> None:
    """Whatever its status: the text is still there."""
    alice = r.ann.remember(Person("Alice Ng"))
    deleted, archived, undone = (r.ann.remember(Fact(t), links=[("about", alice)]) for t in ("a", "b", "c"))
    r.ann.delete(deleted)
    r.ann.archive(archived)
    r.ann.undo(undone)
    assert {"entity": 1, "about": 3} == r.ann.erase_subject(alice).counts


def test_drafts_about_the_subject_go_too(r: Room) -> None:
    """What was only ever proposed, open or rejected, if it concerns nobody else."""
    alice, bob = r.ann.remember(Person("Alice Ng")), r.ann.remember(Person("Bob Ode"))
    asked = [
        r.bot.remember(Fact("she sings"), links=[("about", alice)]),
        r.bot.remember(Contact("phone", "1"), links=[("owned_by", alice)]),
        r.bot.remember(Relationship(subject_id=alice.memory_id, predicate="knows", object_id=bob.memory_id)),
    ]
    asked.append(r.bot.remember(Fact("so she is loud"), links=[("derived_from", asked[0])]))
    both = r.bot.remember(Fact("they sing"), links=[("about", alice), ("about", bob)])
    r.ann.reject(asked[0])
    report = r.ann.erase_subject(alice)
    assert {"entity": 1, "drafts": 4} == report.counts
    assert {alice.memory_id, *(m.memory_id for m in asked)} == set(report.memory_ids)
    assert [both.proposal_id] == [p.id for p in r.ann.proposals()]
    assert not r.nightly.verify().problems


def test_an_export_holds_what_an_erasure_would_take(r: Room) -> None:
    """Present fields, history and drafts of each memory, as JSON; for users alone."""
    alice, bob = r.ann.remember(Person("Alice Ng")), r.ann.remember(Person("Bob Ode"))
    fact = r.ann.remember(Fact("she sings"), links=[("about", alice)], tags=("music",))
    r.ann.edit(fact, content="Loudly.")
    both = r.ann.remember(Fact("they sing"), links=[("about", alice), ("about", bob)])
    waiting = r.bot.remember(Fact("she hums"), links=[("about", alice)])
    export = json.loads(r.ann.export_subject(alice).to_json())
    assert (alice.memory_id, [both.memory_id]) == (export["subject_id"], export["shared"])
    found = {m["id"]: m for m in export["memories"]}
    assert {alice.memory_id, fact.memory_id} == set(found)
    assert ("Loudly.", ["music"], ["MemoryCreated", "MemoryEdited"]) == (
        found[fact.memory_id]["content"],
        found[fact.memory_id]["tags"],
        [e["type"] for e in found[fact.memory_id]["history"]],
    )
    (draft,) = export["drafts"]
    assert (waiting.proposal_id, "open") == (draft["proposal_id"], draft["status"])
    assert "she hums" in json.dumps(draft)
    with pytest.raises(ForbiddenError):
        r.space.session(assistant("claude")).export_subject(alice)


def test_a_subject_that_is_not_there_is_not_found(r: Room) -> None:
    """Nor one that was erased."""
    alice = r.ann.remember(Person("Alice Ng"))
    r.ann.erase_subject(alice)
    for verb in (r.ann.erase_subject, r.ann.export_subject):
        for id in (alice, "00000000-0000-7000-8000-000000000000"):
            with pytest.raises(NotFoundError):
                verb(id)
