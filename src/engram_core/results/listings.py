"""Results that hold several memories: pages of a listing, hits of a question, figures of one memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Generic, TypeVar, overload

from attrs import field, frozen

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.policy import whole_problem
from engram_core.results.memory import Memory

__all__ = ["Hit", "Hits", "Page", "Scores"]

T = TypeVar("T")
_FEW: Final = 400


@frozen
class Page(Generic[T]):
    """Part of a listing, in order; false when it is empty.

    Attributes:
        items: What it holds.
        next: What `after=` takes to read on; None on the last page.
    """

    items: tuple[T, ...] = ()
    next: str | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[T, ...]: ...
    def __getitem__(self, place: int | slice) -> T | tuple[T, ...]:
        return self.items[place]


@frozen
class Hit:
    """A memory that answers a question.

    Attributes:
        memory: The memory.
        score: How well it answers; comparable within one answer.
        explanation: The terms of the score by name, in order; they add up to it.
        disputed_by: Other sides of open contradictions that the viewer may see.
    """

    memory: Memory[Any]
    score: float
    explanation: Mapping[str, float] = field(factory=dict)
    disputed_by: tuple[Memory[Any], ...] = ()

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id


@frozen
class Hits:
    """Hits, best first; false when there are none.

    Attributes:
        items: The hits.
        notice: What must be known of the answer: which words were too common to find anything by; where the space has
            an embedder, why it had no say, or not on every text. Empty when all is well.
    """

    items: tuple[Hit, ...] = ()
    notice: str = ""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.items[place]

    def as_text(self, *, max_chars: int = 4_000) -> str:
        """A block for a prompt: one entry a hit, with kind, id, status and disputes.

        Args:
            max_chars: Characters that it has at most, 0 or more; whole entries that do not fit are left out.

        Raises: InvalidAttributesError.
        """
        if problem := whole_problem(max_chars, low=0):
            raise InvalidAttributesError("as_text", [Problem("max_chars", problem)])
        lines: list[str] = []
        used = 0
        for hit in self.items:
            entry = _entry(hit)
            if used + len(entry) + bool(lines) > max_chars:
                if not lines and max_chars > 0:
                    lines.append(entry[: max_chars - 1] + "…")
                break
            used += len(entry) + bool(lines)
            lines.append(entry)
        return "\n".join(lines)


def _entry(hit: Hit) -> str:
    memory = hit.memory
    marks = [str(memory.status), *sorted(memory.flags - {str(memory.status)})]
    said = _said(memory)
    entry = f"- [{memory.kind} {memory.id}; {', '.join(marks)}] {said}"
    for other in hit.disputed_by:
        entry += f"\n  disputed by [{other.kind} {other.id}; {other.status}] {_said(other)}"
    return entry


def _said(memory: Memory[Any]) -> str:
    """Title and content in one line."""
    title, content = " ".join(memory.display_title.split()), " ".join(memory.content.split())
    if len(content) > _FEW:
        content = content[: _FEW - 1] + "…"
    return content if content.startswith(title) else f"{title}: {content}" if content else title


@frozen(kw_only=True)
class Scores:
    """The figures of one memory, as its viewer may know them; each in [0, 1].

    Attributes:
        importance: How much it matters.
        retention: How much it has earned its keep.
        effective_confidence: Confidence as it has faded.
        terms: The terms of retention by name, each already weighted; they add up to it.
        is_pruning_candidate: Whether the nightly pass may propose to archive it.
    """

    importance: float
    retention: float
    effective_confidence: float
    terms: Mapping[str, float] = field(factory=dict)
    is_pruning_candidate: bool = False
