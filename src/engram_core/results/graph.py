"""Results of walking the graph: neighbours, paths, and parts of it that can be drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from attrs import frozen

from engram_core.results.memory import Memory

__all__ = ["Direction", "Edge", "Neighbour", "Path", "Subgraph"]

Direction: TypeAlias = Literal["out", "in", "both"]
"""Along an edge, against it, or (for relations that read the same from either end) neither."""


@frozen
class Neighbour:
    """A memory that was reached.

    Attributes:
        memory: The memory.
        relation: The relation of the last edge, in its canonical direction; the predicate of a relationship.
        direction: "out" when that edge was walked along, "in" when against, "both" when it is symmetric.
        depth: How many edges lie between; 1 is next to the start.
        via: Id of the memory before it on the way.
        relationship_id: Id of the relationship that was walked like an edge; None for an edge.
    """

    memory: Memory[Any]
    relation: str
    direction: Direction
    depth: int
    via: str
    relationship_id: str | None = None


@frozen
class Path:
    """A shortest way between two memories; false when there is none.

    Attributes:
        memories: From the one to the other, both included.
        steps: One for each edge: the memory that it leads to, and how.
    """

    memories: tuple[Memory[Any], ...] = ()
    steps: tuple[Neighbour, ...] = ()

    def __iter__(self) -> Iterator[Memory[Any]]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)


@frozen(order=True)
class Edge:
    """An edge of a subgraph, in its canonical direction; `relationship_id` names a relationship walked like one."""

    source: str
    relation: str
    target: str
    relationship_id: str | None = None


@frozen
class Subgraph:
    """A part of the graph: memories, and all edges between them that the viewer may see."""

    memories: tuple[Memory[Any], ...] = ()
    edges: tuple[Edge, ...] = ()

    def __iter__(self) -> Iterator[Memory[Any]]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)

    def to_mermaid(self) -> str:
        """The subgraph as a Mermaid flowchart."""
        names = self._names()
        lines = ["graph LR"]
        lines += [f'    {names[memory.id]}["{_mermaid(memory.display_title)}"]' for memory in self.memories]
        lines += [
            f'    {names[edge.source]} -->|"{_mermaid(edge.relation)}"| {names[edge.target]}' for edge in self.edges
        ]
        return "\n".join(lines) + "\n"

    def to_dot(self) -> str:
        """The subgraph in the language of Graphviz."""
        names = self._names()
        lines = ["digraph memories {", "    rankdir=LR;"]
        lines += [f"    {names[memory.id]} [label={_dot(memory.display_title)}];" for memory in self.memories]
        lines += [
            f"    {names[edge.source]} -> {names[edge.target]} [label={_dot(edge.relation)}];" for edge in self.edges
        ]
        return "\n".join([*lines, "}"]) + "\n"

    def _names(self) -> dict[str, str]:
        return {memory.id: f"m{number}" for number, memory in enumerate(self.memories, start=1)}


def _mermaid(text: str) -> str:
    """Text inside quotes, with what Mermaid would read as markup written as entities."""
    escaped = " ".join(text.split())
    for sign, name in (("#", "35"), ("&", "amp"), ('"', "quot"), ("<", "lt"), (">", "gt"), ("`", "96")):
        escaped = escaped.replace(sign, f"\0{name};")
    return escaped.replace("\0", "#")


def _dot(text: str) -> str:
    flat = " ".join(text.split())
    return '"' + flat.replace("\\", "\\\\").replace('"', '\\"') + '"'
