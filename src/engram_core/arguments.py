"""What a caller may give a verb, checked: references, lists, pairs, the right types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from uuid import UUID

from engram_core.errors import InvalidAttributesError, NotFoundError, Problem
from engram_core.kinds import named_relation
from engram_core.kinds.fields import plain
from engram_core.receipts import Receipt
from engram_core.values import (
    EvidenceRef,
    Lifetime,
    Link,
    Visibility,
    canonical_id,
    ephemeral,
    permanent,
    private,
    shared,
    standard,
    text_problem,
)
from engram_core.vocab import Relation

if TYPE_CHECKING:
    from engram_core.results import Memory

__all__ = [
    "Evidence",
    "MemoryRef",
    "Pairs",
    "check_changes",
    "check_revision",
    "check_type",
    "checked_evidence",
    "lifetime_of",
    "link_of",
    "listed",
    "memory_id",
    "names_memory",
    "number_of",
    "pairs_of",
    "plain_value",
    "relation_named",
    "uuid_of",
    "visibility_of",
]

T = TypeVar("T")

MemoryRef: TypeAlias = "str | UUID | Memory[Any] | Receipt"
"""What names a memory: its id, the memory itself, or the receipt of a write."""

Evidence: TypeAlias = EvidenceRef | Iterable[EvidenceRef]
Pairs: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]]


def memory_id(m: MemoryRef, name: str = "memory") -> str:
    """The id that a reference stands for.

    Raises: InvalidAttributesError for anything that names no memory.
    """
    found: object = m
    if isinstance(m, Receipt):
        found = m.memory_id
    elif not isinstance(m, str | UUID):
        found = getattr(m, "id", None)
    if isinstance(found, UUID):
        return str(found)
    if not isinstance(found, str) or not found:
        problem = f"must be an id, a Memory or a Receipt, not {type(m).__name__}"
        raise InvalidAttributesError(name, [Problem(name, problem)])
    if found.startswith("$") or text_problem(found):
        raise NotFoundError(f"there is no memory {found}", memory_id=found)
    return canonical_id(found)


def relation_named(name: Relation | str) -> Relation:
    """The relation of a new edge, by its canonical name.

    Raises: InvalidAttributesError for an unknown name, and for an inverse, which is only a way of asking.
    """
    try:
        relation, backwards = named_relation(str(name))
    except KeyError:
        listed = ", ".join(Relation)
        raise InvalidAttributesError("link", [Problem("relation", f"{name!r} is none of {listed}")]) from None
    if backwards:
        problem = f'"{name}" is read backwards: link the other memory by "{relation}" to this one'
        raise InvalidAttributesError("link", [Problem("relation", problem)])
    return relation


def names_memory(given: object) -> bool:
    """True for what stands for a memory that exists, rather than for one to be."""
    return isinstance(given, str | UUID | Receipt) or hasattr(given, "revision")


def plain_value(value: Any) -> Any:
    """A value as JSON holds it, lists item by item."""
    return [plain_value(item) for item in value] if isinstance(value, list | tuple) else plain(value)


def listed(given: Any, name: str, problems: list[Problem]) -> tuple[Any, ...]:
    """A list of whatever kind as a tuple; what is none becomes a problem."""
    if type(given) is tuple:
        return given
    if isinstance(given, str | bytes | Mapping):
        problems.append(Problem(name, f"must be a list, not {type(given).__name__}"))
        return ()
    try:
        return tuple(given)
    except TypeError:
        problems.append(Problem(name, f"must be a list, not {type(given).__name__}"))
        return ()


def link_of(pair: Any) -> Link:
    """An edge of a memory to be, from a pair of a relation and a memory."""
    if isinstance(pair, Link):
        return pair
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise InvalidAttributesError("link", [Problem("links", "must be pairs of a relation and a memory")])
    return Link(relation_named(pair[0]), memory_id(pair[1], "links"))


def pairs_of(given: Any, problems: list[Problem]) -> tuple[tuple[str, str], ...]:
    """External ids as pairs of a system and an id; what is none becomes a problem."""
    items = tuple(given.items()) if isinstance(given, Mapping) else listed(given, "external_ids", problems)
    if any(isinstance(item, str) or not isinstance(item, Sequence) or len(item) != 2 for item in items):
        problems.append(Problem("external_ids", "must be pairs of a system and an id"))
        return ()
    wrong = [found for pair in items for text in pair if (found := text_problem(text, blank=False))]
    if wrong:
        problems.append(Problem("external_ids", wrong[0]))
        return ()
    return tuple((system, id) for system, id in items)


def number_of(value: Any) -> Any:
    """A whole number as the log gives it back; what is none stays, and is judged by the rules."""
    return float(value) if type(value) is int and abs(value) <= 1 else value


def uuid_of(id: object) -> str | None:
    """An id as it is written, or None for what is no UUID."""
    try:
        return str(id if isinstance(id, UUID) else UUID(str(id)))
    except ValueError:
        return None


def checked_evidence(given: object) -> EvidenceRef:
    """Evidence, or an error that names what was given."""
    check_type(given, EvidenceRef, "evidence")
    assert isinstance(given, EvidenceRef)
    return given


def visibility_of(given: object) -> Visibility:
    """Who may see something, from a value or from the word for one that needs no more.

    Raises: InvalidAttributesError that names what there is.
    """
    return _value_of(given, Visibility, _VISIBILITIES, "visibility", "shared(), private() or restricted(…)")


def lifetime_of(given: object) -> Lifetime:
    """How long to keep something, from a value or from the word for one that needs no more.

    Raises: InvalidAttributesError that names what there is.
    """
    return _value_of(given, Lifetime, _LIFETIMES, "lifetime", "permanent(), standard(), until(…) or ephemeral()")


_VISIBILITIES = {each.kind.value: each for each in (shared(), private())}
_LIFETIMES = {each.kind.value: each for each in (permanent(), standard(), ephemeral())}


def _value_of(given: object, cls: type[T], words: Mapping[str, T], name: str, choice: str) -> T:
    if isinstance(given, cls):
        return given
    if isinstance(given, str) and given in words:
        return words[given]
    shown = repr(str(given)) if isinstance(given, str) else type(given).__name__
    raise InvalidAttributesError(name, [Problem(name, f"must be {choice}, not {shown}")])


def check_type(given: object, wanted: type, name: str) -> None:
    """Refuses what is not of a type.

    Raises: InvalidAttributesError that names the argument.
    """
    if not isinstance(given, wanted):
        problem = f"must be {wanted.__name__}, not {type(given).__name__}"
        raise InvalidAttributesError(name, [Problem(name, problem)])


def check_changes(given: object) -> None:
    """Refuses what is no mapping of the names of fields."""
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(name, str) for name in given)):
        problem = f"must be a mapping of fields to values, not {type(given).__name__}"
        raise InvalidAttributesError("update", [Problem("changes", problem)])


def check_revision(given: object) -> None:
    """Refuses what can be no revision."""
    if given is not None and (isinstance(given, bool) or not isinstance(given, int)):
        problem = f"must be the revision of a memory, a whole number, not {type(given).__name__}"
        raise InvalidAttributesError("command", [Problem("expected_revision", problem)])
