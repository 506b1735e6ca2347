"""How a broken store is listed: by name, with the obligation that it breaks."""

from __future__ import annotations

from collections.abc import Callable

from engram_core.ports import EventStore
from engram_core.stores.in_memory import InMemoryStore

__all__ = ["BrokenStore", "breaks", "listed"]


class BrokenStore:
    """A store with one fault; call it for a new one.

    Attributes:
        name: Its name in `BROKEN_STORES`.
        obligation: What a store must do, and this one does not.
    """

    __slots__ = ("_make", "name", "obligation")

    def __init__(self, name: str, obligation: str, make: Callable[[], EventStore]) -> None:
        self.name = name
        self.obligation = obligation
        self._make = make

    def __call__(self) -> EventStore:
        """A new, empty store with the fault."""
        return self._make()

    def __repr__(self) -> str:
        return f"<broken store {self.name}: breaks '{self.obligation}'>"


def breaks(obligation: str) -> Callable[[type[InMemoryStore]], type[InMemoryStore]]:
    """Marks a class as a broken store; its name in the list is the class's, in lower case."""

    def mark(kind: type[InMemoryStore]) -> type[InMemoryStore]:
        kind.__doc__ = f"Breaks: {obligation}."
        return kind

    return mark


def listed(*kinds: type[InMemoryStore]) -> dict[str, BrokenStore]:
    """Marked classes by their names."""
    found: dict[str, BrokenStore] = {}
    for kind in kinds:
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__)[1:]
        obligation = (kind.__doc__ or "").removeprefix("Breaks: ").removesuffix(".")
        found[name] = BrokenStore(name, obligation, kind)
    return found
