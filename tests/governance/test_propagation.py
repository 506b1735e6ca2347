"""What rests on ground that gave way is told, with the way to it, and told no more once the ground holds again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core.errors import ConflictError
from engram_core.kinds import Fact, Person
from engram_core.values import EvidenceRef, private
from tests.governance.rooms import Room, pages, room


@pytest.fixture
def r() -> Room:
    return room()


def chain(r: Room, length: int = 4) -> list[Any]:
    """Facts, each derived from the one before."""
    made = [r.ann.remember(Fact("fact 0"))]
    for n in range(1, length):
        made.append(r.ann.remember(Fact(f"fact {n}"), links=[("derived_from", made[-1])]))
    return made


CAUSES: dict[str, Any] = {
    "superseded": lambda r, m: r.ann.supersede(m, Fact("another")),
    "disputed": lambda r, m: r.ann.contradict(m, by=r.ann.remember(Fact("no"))),
    "disputed by evidence": lambda r, m: r.ann.contradict(m, evidence=EvidenceRef("quote", "no")),
    "wrong": lambda r, m: r.ann.archive(m, because="wrong"),
    "deleted": lambda r, m: r.ann.delete(m),
    "erased": lambda r, m: r.ann.erase(m),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_everything_above_is_undermined(r: Room, cause: str) -> None:
    """Transitively, with the path; flagged in reads and recall, one queue row each; the ground itself is not."""
    facts = chain(r)
    CAUSES[cause](r, facts[1])
    flags = {m.id: m.flags.undermined for m in r.ann.find_all(status=("active", "stale", "superseded", "archived"))}
    assert not flags[facts[0].memory_id]
    assert [True, True] == [flags[m.memory_id] for m in facts[2:]]
    rows = {row.memory_id: row for row in pages(r.ann, "reviews") if str(row.reason) == "undermined"}
    assert {m.memory_id for m in facts[2:]} == set(rows)
    assert tuple(m.memory_id for m in (facts[3], facts[2], facts[1])) == rows[facts[3].memory_id].evidence["path"]
    assert cause.split(maxsplit=1)[0] == rows[facts[3].memory_id].evidence["cause"]
    assert all(hit.memory.flags.undermined for hit in r.ann.recall("fact 3") if hit.memory.id == facts[3].memory_id)


@pytest.mark.parametrize("cause", ["superseded", "disputed", "disputed by evidence", "wrong"])
def test_it_is_taken_back_with_its_cause(r: Room, cause: str) -> None:
    """By an undo, or by what ends the cause."""
    facts = chain(r)
    receipt = CAUSES[cause](r, facts[1])
    r.ann.undo(receipt)
    assert not any(m.flags.undermined for m in r.ann.find_all())
    receipt = CAUSES[cause](r, facts[1])
    if cause == "superseded":
        r.ann.delete(receipt)
    elif cause == "wrong":
        r.ann.restore(facts[1])
    else:
        r.clock.move(days=2)
        r.ann.confirm(facts[1])
    assert not any(m.flags.undermined for m in r.ann.find_all())


def test_other_reasons_to_leave_undermine_nothing(r: Room) -> None:
    """Archived as obsolete, stale, or merged: what was concluded from it still holds."""
    facts = chain(r)
    r.ann.archive(facts[0])
    r.clock.move(days=5_000)
    assert not any(m.flags.undermined for m in r.ann.find_all(status=("active", "stale")))
    one, two = r.ann.remember(Person("Alice Ng")), r.ann.remember(Person("A. Ng"))
    rests = r.ann.remember(Fact("she cooks"), links=[("derived_from", two)])
    r.ann.merge(one, two)
    assert not r.ann.get(rests).flags.undermined
    r.ann.archive(one, because="wrong")
    assert r.ann.get(rests).flags.undermined


def test_hidden_ground_undermines_nothing_for_those_who_do_not_see_it(r: Room) -> None:
    """And is not named to them."""
    ground = r.ann.remember(Fact("ground"), visibility=private())
    rests = r.ann.remember(Fact("conclusion"), links=[("derived_from", ground)])
    for end in (lambda: r.ann.archive(ground, because="wrong"), lambda: r.ann.erase(ground)):
        end()
        assert (True, False) == (r.ann.get(rests).flags.undermined, r.bot.get(rests).flags.undermined)
        assert [] == list(r.bot.reviews())
    open_ground = r.ann.remember(Fact("for all"))
    r.ann.link(rests, "derived_from", open_ground)
    r.ann.erase(open_ground)
    assert r.bot.get(rests).flags.undermined
    assert {"undermined", "dangling_edge"} == {str(row.reason) for row in r.bot.reviews()}
    assert not r.nightly.verify().problems
    r.nightly.rebuild()
    assert not r.nightly.verify().problems


@settings(max_examples=30)
@given(
    st.integers(2, 12).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] > p[1]), max_size=20),
            st.dictionaries(st.integers(0, n - 1), st.sampled_from(sorted(CAUSES)), max_size=4),
        )
    )
)
def test_propagation_equals_its_definition(drawn: tuple[int, set[tuple[int, int]], dict[int, str]]) -> None:
    """On random graphs: undermined is what reaches, along derived_from, something that gave way."""
    count, pairs, causes = drawn
    r = room()
    ids = [r.ann.remember(Fact(f"fact {n}"), similar=False).memory_id for n in range(count)]
    for upper, lower in pairs:
        r.ann.link(ids[upper], "derived_from", ids[lower])
    for n, cause in causes.items():
        CAUSES[cause](r, ids[n])
    expected = set()
    for start in range(count):
        seen: set[int] = set()
        open_ends = [lower for upper, lower in pairs if upper == start]
        while open_ends:
            ground = open_ends.pop()
            if ground in causes:
                expected.add(ids[start])
            elif ground not in seen:
                seen.add(ground)
                open_ends += [lower for upper, lower in pairs if upper == ground]
    found = r.ann.find_all(status=("active", "stale", "superseded", "archived"))
    assert expected - {ids[n] for n, c in causes.items() if c in ("deleted", "erased")} == {
        m.id for m in found if m.flags.undermined
    }


def test_conclusions_do_not_rest_on_themselves(r: Room) -> None:
    """derived_from is acyclic."""
    facts = chain(r)
    with pytest.raises(ConflictError):
        r.ann.link(facts[0], "derived_from", facts[3])
