"""What went wrong in earlier systems, held against both stores: none of it happens here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engram_core import (
    Contact,
    EvidenceRef,
    Fact,
    HistoryError,
    InvalidAttributesError,
    MemorySpace,
    NotFoundError,
    Person,
    Preference,
    Project,
    Skill,
    assistant,
    private,
    system,
    user,
)
from engram_core.filters import ge
from engram_core.kinds import KINDS
from engram_core.testing import FrozenClock
from engram_core.vocab import Polarity

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["in_memory", "file"])
def space(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemorySpace]:
    clock = FrozenClock(START)
    opened = (
        MemorySpace.in_memory(clock=clock)
        if request.param == "in_memory"
        else MemorySpace.open(tmp_path / "memory.db", clock=clock, durability="normal")
    )
    with opened:
        yield opened


def test_any_title_projects_however_often_it_is_given(space: MemorySpace) -> None:
    """Two memories of one title in one minute, and titles that make no slug at all, are all there."""
    ann = space.session(user("ann"))
    titles = [
        "Notes",
        "Notes",
        "???",
        "///",
        "日本語",
        "a" * 200,
        "é",
        "e\u0301",
        "../..",
        "'; DROP TABLE memories; --",
    ]
    ids = [ann.remember(Fact(f"text {n}"), title=title).memory_id for n, title in enumerate(titles)]
    assert titles == [ann.get(id).title for id in ids]
    assert space.maintenance(system("test")).verify().ok


def test_ten_thousand_recalls_leave_a_memory_as_quick_to_change_as_before(space: MemorySpace) -> None:
    """Reads write nothing until a flush, which writes one event; the memory's own stream does not grow."""
    ann = space.session(user("ann"))
    tea = ann.remember(Fact("oolong tea"))
    before = space.position
    for _ in range(10_000):
        ann.get(tea)
    assert before == space.position
    assert "changed" == ann.confirm(tea).status
    written = list(space.events(after=before))
    assert ["MemoryConfirmed", "MemoriesAccessed"] == [event.type for event in written]
    assert 2 == ann.get(tea).revision
    assert 10_000 == ann.accesses(tea).count


WRONG: list[tuple[str, str, Callable[[], Any]]] = [
    ("wrong enum", "polarity", lambda: Preference(polarity="adores")),
    ("out of range", "strength", lambda: Preference(polarity="likes", strength=1.5)),
    ("NaN", "strength", lambda: Preference(polarity="likes", strength=float("nan"))),
    ("boolean as number", "strength", lambda: Preference(polarity="likes", strength=True)),
    ("naive time", "last_used_at", lambda: Skill(name="x", last_used_at=datetime(2026, 1, 1))),
    ("blank", "statement", lambda: Fact(" ")),
    ("unknown field", "bogus", lambda: KINDS.structure("fact", {"statement": "x", "bogus": 1})),
    ("wrong type", "statement", lambda: KINDS.structure("fact", {"statement": 7})),
    ("number as text", "strength", lambda: KINDS.structure("preference", {"polarity": "likes", "strength": "1"})),
]


@pytest.mark.parametrize(("field", "make"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_what_does_not_fit_is_refused_by_its_field(field: str, make: Callable[[], Any]) -> None:
    """The error names the field, in the constructor as in the mapping."""
    with pytest.raises(InvalidAttributesError) as caught:
        make()
    assert [field] == [problem.field for problem in caught.value.problems]


def test_a_schema_to_come_is_refused() -> None:
    """Attributes of a later version are not guessed at."""
    with pytest.raises(HistoryError, match="fact"):
        KINDS.structure("fact", {"statement": "x"}, version=99)


def test_enums_and_dates_come_back_typed(space: MemorySpace) -> None:
    """What was stored as text is a member of its vocabulary, or an instant, again."""
    ann = space.session(user("ann"))
    tea = ann.remember(Preference(polarity="likes", target="tea"))
    skill = ann.remember(Skill(name="chess", last_used_at=START))
    assert Polarity.LIKES is ann.get(tea).attributes.polarity
    assert START == ann.get(skill).attributes.last_used_at


def test_a_person_is_found_by_full_name_and_by_alias(space: MemorySpace) -> None:
    """Recall knows people by all of their names."""
    ann = space.session(user("ann"))
    alice = ann.remember(Person(full_name="Alice Ng", aliases=("Lissy",)))
    ann.remember(Person(full_name="Bob Ray"))
    for name in ("Alice Ng", "alice", "Lissy", "LISSY"):
        assert [alice.memory_id] == [hit.memory.id for hit in ann.recall(name, kind="person")]


def test_tags_of_several_words_survive(space: MemorySpace) -> None:
    """A tag with blanks inside is one tag."""
    ann = space.session(user("ann"))
    fact = ann.remember(Fact("x"), tags=["Two Words", "one"])
    assert ("two words", "one") == ann.get(fact).tags
    assert 1 == ann.count(tags=["two words"])
    assert 0 == ann.count(tags=["two"])


def test_filters_on_booleans_and_numbers_match(space: MemorySpace) -> None:
    """True is not 1, and numbers compare as numbers."""
    ann = space.session(user("ann"))
    yes = ann.remember(Contact(channel="email", value="a@b.c", preferred=True))
    ann.remember(Contact(channel="email", value="d@e.f", preferred=False))
    strong = ann.remember(Preference(polarity="likes", target="a", strength=0.9))
    ann.remember(Preference(polarity="likes", target="b", strength=0.1))
    assert [yes.memory_id] == [m.id for m in ann.find(kind="contact", where={"preferred": True})]
    assert [strong.memory_id] == [m.id for m in ann.find(kind="preference", where={"strength": ge(0.5)})]


def test_a_filter_never_shortens_a_page(space: MemorySpace) -> None:
    """Filters apply before the limit, in listings and in recall."""
    ann = space.session(user("ann"))
    for n in range(40):
        ann.remember(Project(name=f"garden {n}", status="active" if n % 4 == 0 else "done"))
    assert 10 == len(ann.find(kind="project", where={"status": "active"}, limit=10))
    assert 10 == len(ann.recall("garden", kind="project", where={"status": "active"}, limit=10))


def test_hidden_and_absent_are_told_alike(space: MemorySpace) -> None:
    """An assistant gets the same words for what is hidden as for what is not there."""
    ann, bot = space.session(user("ann")), space.session(assistant("bot"))
    secret = ann.remember(Fact("the party"), visibility=private()).memory_id
    assert secret is not None
    absent = secret[:-1] + ("0" if secret[-1] != "0" else "1")
    verbs: list[Callable[[str], Any]] = [
        bot.get, bot.history, bot.why, bot.scores, bot.accesses, bot.neighbours, bot.confirm, bot.archive,
        lambda m: bot.tag(m, "x"), lambda m: bot.edit(m, content="x"), lambda m: bot.find(about=m),
        lambda m: bot.remember(Fact("y"), links=[("about", m)]), lambda m: bot.contradict(m, note="no"),
    ]  # fmt: skip

    def told(verb: Callable[[str], Any], id: str) -> str:
        try:
            return repr(verb(id)).replace(id, "…")
        except NotFoundError as error:
            return f"{type(error).__name__} {error}".replace(id, "…")

    for verb in verbs:
        assert told(verb, absent) == told(verb, secret)


def test_what_is_said_about_a_hidden_memory_is_hidden_with_it(space: MemorySpace) -> None:
    """A contradiction by a hidden memory shows its effect, and none of its words."""
    ann, bot = space.session(user("ann")), space.session(assistant("bot"))
    party = ann.remember(Fact("a party on Friday"), visibility=private())
    plan = ann.remember(Fact("nothing on Friday"))
    ann.contradict(plan, by=party, note="NOTE", evidence=EvidenceRef("quote", "QUOTE"))
    told = repr((bot.history(plan), bot.why(plan), bot.get(plan), bot.reviews(), bot.explain(plan)))
    assert [] == [word for word in ("NOTE", "QUOTE", str(party.memory_id)) if word in told]
    assert bot.get(plan).confidence < 0.5
    assert "NOTE" in repr(ann.history(plan))


def test_the_case_of_an_id_does_not_matter(space: MemorySpace) -> None:
    """Reads and writes take a UUID in capitals as the same."""
    ann = space.session(user("ann"))
    id = str(ann.remember(Fact("x")).memory_id)
    assert "changed" == ann.tag(id.upper(), "t").status
    assert id == ann.get(id.upper()).id
