"""The clock and the ids of an application, checked where they answer: what they give goes into the log."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from attrs import frozen

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.ports import Clock, IdSource
from engram_core.values import instant_problem, text_problem

__all__ = ["CheckedClock", "CheckedIds"]


@frozen
class CheckedClock:
    """A clock that shows aware instants, or says what is wrong with the one behind it."""

    clock: Clock

    def now(self) -> datetime:
        """The present, as the clock behind it shows it."""
        try:
            found: object = self.clock.now()
        except Exception as error:
            raise _wrong("clock", f"now() raised {error!r}") from error
        if problem := instant_problem(found):
            raise _wrong("clock", f"what now() gave {problem}")
        assert isinstance(found, datetime)
        return found


@frozen
class CheckedIds:
    """A source of ids that can be stored, or an error that says what is wrong with the one behind it."""

    ids: IdSource

    def __call__(self) -> str:
        """An id."""
        try:
            found: object = self.ids()
        except Exception as error:
            raise _wrong("ids", f"raised {error!r}") from error
        if isinstance(found, UUID):
            return str(found)
        problem = text_problem(found, at_most=200, blank=False)
        if problem or str(found).startswith("$"):
            raise _wrong("ids", f"gave what is no id: it {problem or 'begins with $'}")
        return str(found)


def _wrong(name: str, problem: str) -> InvalidAttributesError:
    return InvalidAttributesError("space", [Problem(name, problem)])
