"""Walking the graph: directions, names, merges, relationships, bounds, and pictures."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest

from engram_core.errors import InvalidAttributesError, NotFoundError, RejectedError
from engram_core.kinds import Contact, Fact, Organization, Person, Relationship
from engram_core.policy import Limits
from engram_core.receipts import Receipt
from engram_core.results import Neighbour
from engram_core.values import ephemeral, private
from tests.reads.shelves import Desk, desk


def person(d: Desk, name: str, **more: Any) -> str:
    receipt: Receipt = d.ann.remember(Person(full_name=name), **more)
    assert receipt.memory_id is not None
    return receipt.memory_id


def seen(found: tuple[Neighbour, ...]) -> set[tuple[str, str, str, int]]:
    return {(n.memory.display_title, n.relation, n.direction, n.depth) for n in found}


def test_neighbours_by_name_and_direction() -> None:
    """Relations in either direction, inverse names in one, symmetric relations in both."""
    d = desk()
    alice, bob = person(d, "Alice"), person(d, "Bob")
    firm = d.ann.remember(Organization(name="Firm"))
    d.ann.link(alice, "works_at", firm)
    d.ann.link(alice, "relates_to", bob)
    d.ann.remember(Contact(channel="email", value="a@x"), links=[("owned_by", alice)])
    everything = {
        ("Firm", "works_at", "out", 1),
        ("Bob", "relates_to", "both", 1),
        ("a@x", "owned_by", "in", 1),
    }
    assert seen(d.ann.neighbours(alice)) == everything
    assert seen(d.ann.neighbours(alice, direction="out")) == everything - {("a@x", "owned_by", "in", 1)}
    assert seen(d.ann.neighbours(alice, relation="owns")) == {("a@x", "owned_by", "in", 1)}
    assert seen(d.ann.neighbours(alice, relation="owns", direction="in")) == set()
    assert seen(d.ann.neighbours(firm, relation="employs")) == {("Alice", "works_at", "in", 1)}
    assert seen(d.ann.neighbours(bob, relation="relates_to", direction="in")) == {("Alice", "relates_to", "both", 1)}
    assert len(d.ann.neighbours(alice, relation=["owns", "works_at"])) == 2


def test_deeper_neighbours_are_reached_once() -> None:
    """Each memory stands at its least depth, and the start is none of them."""
    d = desk()
    names = [person(d, name) for name in "ABCD"]
    for one, other in pairwise(names):
        d.ann.link(one, "relates_to", other)
    d.ann.link(names[0], "relates_to", names[2])
    assert seen(d.ann.neighbours(names[0], depth=3)) == {
        ("B", "relates_to", "both", 1),
        ("C", "relates_to", "both", 1),
        ("D", "relates_to", "both", 2),
    }


def test_relationships_are_walked_like_edges() -> None:
    """From subject to object and back, by their predicate, as long as they hold."""
    d = desk()
    alice, bob = person(d, "Alice"), person(d, "Bob")
    knows = d.ann.remember(Relationship(subject_id=alice, predicate="knows", object_id=bob))
    (found,) = d.ann.neighbours(alice)
    assert (found.relation, found.direction, found.relationship_id) == ("knows", "out", knows.memory_id)
    assert seen(d.ann.neighbours(bob, relation="relationship")) == {("Alice", "knows", "in", 1)}
    assert d.ann.neighbours(bob, relation="relationship", direction="out") == ()
    assert d.ann.neighbours(alice, relation="about") == ()
    d.ann.archive(knows)
    assert d.ann.neighbours(alice) == ()
    d.ann.remember(Relationship(subject_id=alice, predicate="helps", object_id=bob), lifetime=ephemeral())
    d.clock.move(days=8)
    assert d.ann.neighbours(alice) == ()


def test_merged_memories_are_one_place() -> None:
    """Edges lead to the survivor, through several merges; the source is no neighbour, and is readable itself."""
    d = desk()
    a, b, c = person(d, "A"), person(d, "B"), person(d, "C")
    fact = d.ann.remember(Fact("about a"), links=[("about", a)])
    d.ann.link(a, "relates_to", b)
    d.ann.merge(b, a)
    d.ann.merge(c, b)
    assert seen(d.ann.neighbours(fact)) == {("C", "about", "out", 1)}
    assert seen(d.ann.neighbours(c)) == {("about a", "about", "in", 1)}
    assert d.ann.neighbours(a) == d.ann.neighbours(c)
    assert d.ann.get(a).status == "archived"
    assert d.ann.count(about=c) == d.ann.count(about=a) == 1
    assert d.ann.count(linked=("subject_of", fact)) == 1
    d.ann.unmerge(b)
    assert seen(d.ann.neighbours(fact)) == {("B", "about", "out", 1)}
    d.ann.delete(a)
    assert seen(d.ann.neighbours(fact)) == {("B", "about", "out", 1)}


def test_gone_and_hidden_memories_are_not_passed_through() -> None:
    """What the viewer does not see is neither reached nor a way to anything."""
    d = desk()
    a, c = person(d, "A"), person(d, "C")
    b = person(d, "B", visibility=private())
    d.ann.link(b, "relates_to", a)
    d.ann.link(b, "relates_to", c)
    assert len(d.ann.neighbours(a, depth=2)) == 2
    assert d.bot.neighbours(a, depth=2) == ()
    assert len(d.ann.path(a, c)) == 3
    assert not d.bot.path(a, c)
    assert len(d.bot.subgraph([a, c]).edges) == 0
    d.ann.delete(b)
    assert d.ann.neighbours(a, depth=2) == ()


def test_the_shortest_path_is_found_and_told() -> None:
    """Memories from end to end, and how each step leads on; none is empty and false."""
    d = desk()
    a, b, c, e = (person(d, name) for name in "ABCE")
    d.ann.link(a, "relates_to", b)
    d.ann.link(b, "relates_to", c)
    d.ann.remember(Relationship(subject_id=c, predicate="knows", object_id=a))
    found = d.ann.path(a, c)
    assert [m.id for m in found] == [a, c]
    assert [(step.relation, step.direction) for step in found.steps] == [("knows", "in")]
    assert [m.id for m in d.ann.path(a, a)] == [a]
    assert not d.ann.path(a, e)
    with pytest.raises(NotFoundError):
        d.ann.path(a, "nobody")


def test_walks_are_bounded() -> None:
    """At the bound there is an error that says so, and what can be done."""
    d = desk(limits=Limits(depth=2, reached=5))
    hub = person(d, "Hub")
    for number in range(6):
        d.ann.remember(Fact(f"fact {number}"), links=[("about", hub)])
    with pytest.raises(RejectedError, match="more than 5") as caught:
        d.ann.neighbours(hub)
    assert (caught.value.code, bool(caught.value.hint)) == ("traversal_limit", True)
    assert d.ann.neighbours(hub, relation="relates_to") == ()
    for depth in (0, 3, True, "1"):
        with pytest.raises(InvalidAttributesError, match="depth"):
            d.ann.neighbours(hub, depth=depth)  # type: ignore[arg-type]
    chain = [person(d, f"P{number}") for number in range(5)]
    for one, other in pairwise(chain):
        d.ann.link(one, "relates_to", other)
    with pytest.raises(RejectedError, match="steps"):
        d.ann.path(chain[0], chain[4])


def test_unknown_names_are_refused_with_what_there_is() -> None:
    """A mistyped relation or direction is an error, not an empty answer."""
    d = desk()
    a = person(d, "A")
    with pytest.raises(InvalidAttributesError, match="works_at"):
        d.ann.neighbours(a, relation="work_at")
    with pytest.raises(InvalidAttributesError, match="out"):
        d.ann.neighbours(a, direction="up")
    with pytest.raises(NotFoundError):
        d.ann.neighbours("nobody")
    with pytest.raises(NotFoundError):
        d.ann.subgraph([a, "nobody"])


def test_a_subgraph_can_be_drawn() -> None:
    """Edges once, in canonical direction; labels cannot break out of their quotes."""
    d = desk()
    a = person(d, 'A "the" \\ <b>#1')
    b = person(d, "B")
    d.ann.link(a, "relates_to", b)
    d.ann.remember(Relationship(subject_id=b, predicate="knows", object_id=a))
    graph = d.ann.subgraph(a)
    assert [m.id for m in graph] == sorted([a, b])
    assert {(e.source, e.relation, e.target) for e in graph.edges} == {(a, "relates_to", b), (b, "knows", a)}
    assert graph.to_mermaid().splitlines()[0] == "graph LR"
    assert '["A #quot;the#quot; \\ #lt;b#gt;#35;1"]' in graph.to_mermaid()
    assert 'label="A \\"the\\" \\\\ <b>#1"' in graph.to_dot()
    assert graph.to_dot().count("->") == graph.to_mermaid().count("-->") == 2
    assert len(d.ann.subgraph([a], depth=0)) == 1


HOSTILE = (
    'A"]; end --> B["C',
    "quote ' and \" and `",
    "ends in a backslash \\",
    "two\nlines\r\nand\ttabs\u2028here\u0085there",
    "<script>alert(1)</script>",
    "#quot; &lt; %%{init: {}}%% %% comment",
    "| pipes | and -->|arrows|",
    "]]))}}",
    "\u202eright to left",
    "茶 🎉 é",
    "end",
    "} digraph x { a -> b",
    "\\N \\G \\l",
)


def test_no_title_breaks_out_of_a_drawing() -> None:
    """One line for each memory and edge, whatever their names hold."""
    d = desk()
    ids = [person(d, title, title=title) for title in HOSTILE]
    for one, other in pairwise(ids):
        d.ann.remember(Relationship(subject_id=one, predicate='says "]; \\ |', object_id=other))
    graph = d.ann.subgraph(ids)
    assert len(HOSTILE) == len(graph)
    mermaid, dot = graph.to_mermaid().splitlines(), graph.to_dot().splitlines()
    node = re.compile(r'    m\d+\["[^"<>`]*"\]|    m\d+ -->\|"[^"<>`]*"\| m\d+')
    assert all(node.fullmatch(line) for line in mermaid[1:])
    drawn = re.compile(r'    m\d+(?: -> m\d+)? \[label="(?:[^"\\]|\\.)*"\];')
    assert all(drawn.fullmatch(line) for line in dot[2:-1])
    count = len(graph.memories) + len(graph.edges)
    assert (count, count) == (len(mermaid) - 1, len(dot) - 3)
