"""How broken stores and projections are listed: by name, with the obligation that each breaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from engram_core.ports import EventStore, Projection
from engram_core.testing.zoo.ledgers import VIEWER, Board, ledger_after

__all__ = ["BrokenProjection", "BrokenStore", "breaks", "listed", "listed_projections", "spoils"]


class BrokenStore:
    """A store with one fault; call it for a new one.

    Attributes:
        name: Its name in `BROKEN_STORES`.
        obligation: What a store must do, and this one does not.
        options: What `certify` must know about it besides: how its log is opened again, or shared, or given a clock.
    """

    __slots__ = ("_make", "name", "obligation", "options")

    def __init__(
        self,
        name: str,
        obligation: str,
        make: Callable[[], EventStore],
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self.obligation = obligation
        self.options = options
        self._make = make

    def __call__(self) -> EventStore:
        """A new, empty store with the fault."""
        return self._make()

    def __repr__(self) -> str:
        return f"<broken store {self.name}: breaks '{self.obligation}'>"


def breaks(obligation: str) -> Callable[[type[Any]], type[Any]]:
    """Marks a class as a broken store; its name in the list is the class's, in lower case."""

    def mark(kind: type[Any]) -> type[Any]:
        kind.__doc__ = f"Breaks: {obligation}."
        return kind

    return mark


def listed(*kinds: type[Any]) -> dict[str, BrokenStore]:
    """Marked classes by their names. One may say how its log is opened again or shared, as `certify` asks it."""
    found: dict[str, BrokenStore] = {}
    for kind in kinds:
        name = _name_of(kind)
        obligation = (kind.__doc__ or "").removeprefix("Breaks: ").removesuffix(".")
        ways = {"make_store_with_clock": "with_clock", "reopen": "reopen", "another": "another"}
        options = {option: getattr(kind, way) for option, way in ways.items() if hasattr(kind, way)}
        found[name] = BrokenStore(name, obligation, kind, MappingProxyType(options))
    return found


class BrokenProjection:
    """A projection with one fault; call it for a new instance.

    Attributes:
        name: Its name in `BROKEN_PROJECTIONS`.
        obligation: What a projection must do, and this one does not.
        found_by: The test of the contract that says so.
        options: What `certify_projection` must know about it besides.
    """

    __slots__ = ("_make", "found_by", "name", "obligation", "options")

    def __init__(self, name: str, obligation: str, found_by: str, make: type[Any]) -> None:
        self.name = name
        self.obligation = obligation
        self.found_by = found_by
        serves = {"viewer": VIEWER, "shown": make.shown} if issubclass(make, Board) else {"expected": ledger_after}
        self.options: Mapping[str, Any] = MappingProxyType(serves)
        self._make = make

    def __call__(self) -> Projection:
        """A new instance with the fault."""
        made: Projection = self._make()
        return made

    def __repr__(self) -> str:
        return f"<broken projection {self.name}: breaks '{self.obligation}'>"


def spoils(obligation: str, found_by: str) -> Callable[[type[Any]], type[Any]]:
    """Marks a class as a broken projection, which this test of the contract finds."""

    def mark(kind: type[Any]) -> type[Any]:
        kind.__doc__ = f"Breaks: {obligation}."
        kind.broken = BrokenProjection(_name_of(kind), obligation, f"test_{found_by}", kind)
        return kind

    return mark


def listed_projections(*kinds: type[Any]) -> dict[str, BrokenProjection]:
    """Marked classes by their names."""
    return {kind.broken.name: kind.broken for kind in kinds}


def _name_of(kind: type[Any]) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__)[1:]
