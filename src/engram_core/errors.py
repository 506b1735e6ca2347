"""Every error of the library, sorted by who must act: the caller, the clock, the upgrade, the operator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

__all__ = [
    "CheckpointAhead",
    "ConcurrencyError",
    "ConflictError",
    "DuplicateEvent",
    "EngramError",
    "ForbiddenError",
    "ForeignCheckpoint",
    "HistoryError",
    "IllegalTransitionError",
    "InvalidAttributesError",
    "NotFoundError",
    "Problem",
    "ProjectionError",
    "RejectedError",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
]


_LONGEST: Final = 4_000
_LONGEST_PROBLEM: Final = 400


def _shown(text: str, longest: int) -> str:
    """A text as an error shows it: what was given may be long or unprintable, and its middle matters least."""
    if len(text) > longest:
        head = longest // 3
        text = f"{text[:head]} … {text[head - longest :]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


class EngramError(Exception):
    """Root of all errors of this library. What a message quotes is cut, and escaped where it cannot be printed.

    Attributes:
        code: A stable, machine-readable name of the case.
        hint: What the reader can do about it; may be empty.
        fields: The facts of the case, by name.
        retry: True when the same call may succeed later without any change.
    """

    code: str = "engram"
    retry: ClassVar[bool] = False

    def __init__(self, message: str, *, code: str | None = None, hint: str = "", **fields: object) -> None:
        message = _shown(message, _LONGEST)
        super().__init__(message if not hint else f"{message} ({hint})")
        self.message = message
        self.code = code or type(self).code
        self.hint = hint
        self.fields: Mapping[str, object] = fields

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuilt, (type(self), self.args, self.__dict__.copy()))


def _rebuilt(cls: type[EngramError], args: tuple[object, ...], state: dict[str, object]) -> EngramError:
    """An unpickled error; its constructor, which takes keywords, is not called."""
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


class RejectedError(EngramError):
    """The rules of the model say no; nothing was written. The caller must ask for something else."""

    code = "rejected"


class Problem:
    """One thing that is wrong with an input: which field, what is wrong, what would be right."""

    __slots__ = ("field", "problem")

    def __init__(self, field: str, problem: str) -> None:
        self.field = _shown(field, _LONGEST_PROBLEM)
        self.problem = _shown(problem, _LONGEST_PROBLEM)

    def __repr__(self) -> str:
        return f"Problem({self.field!r}, {self.problem!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and (self.field, self.problem) == (other.field, other.problem)

    def __hash__(self) -> int:
        return hash((self.field, self.problem))


class InvalidAttributesError(RejectedError, ValueError):
    """A value does not fit its field; `problems` lists every one that was found, not only the first."""

    code = "invalid_attributes"

    def __init__(self, subject: str, problems: Iterable[Problem | tuple[str, str]], *, hint: str = "") -> None:
        listed = tuple(p if isinstance(p, Problem) else Problem(*p) for p in problems)
        text = "; ".join(f"{p.field}: {p.problem}" for p in listed)
        named = text if {p.field for p in listed} == {subject} else f"{subject}: {text}"
        super().__init__(named, hint=hint, subject=subject, problems=listed)
        self.subject = subject
        self.problems = listed


class IllegalTransitionError(RejectedError):
    """The memory is in a state in which this command is not allowed."""

    code = "illegal_transition"


class ForbiddenError(RejectedError):
    """This actor may not do this, whoever asks for him."""

    code = "forbidden"


class ConflictError(RejectedError):
    """The command contradicts what is already there: a second edge, a taken id, a cycle, a second owner."""

    code = "conflict"


class NotFoundError(EngramError, LookupError):
    """There is nothing of that id that this actor may see; absent and hidden are the same."""

    code = "not_found"


class ConcurrencyError(EngramError):
    """Somebody else wrote first. Reload, look, and try again.

    Attributes:
        stream: The stream whose version was not the expected one.
        expected: The version (or expectation) that the caller named.
        actual: The version that was found.
    """

    code = "concurrency"
    retry = True

    def __init__(self, stream: str, expected: object, actual: object, *, hint: str = "") -> None:
        super().__init__(
            f"{stream} was expected at {expected}, but is at {actual}",
            hint=hint or "reload it and decide again",
            stream=stream,
            expected=expected,
            actual=actual,
        )
        self.stream = stream
        self.expected = expected
        self.actual = actual


class HistoryError(EngramError):
    """The log holds something that this version cannot read: an unknown type or a newer schema."""

    code = "history"


class ProjectionError(EngramError):
    """An application's projection raised; with an inline one, nothing was written."""

    code = "projection"


class StoreError(EngramError):
    """The storage failed; the operator must act. The first cause is kept as `__cause__`."""

    code = "store"


class StoreBusy(StoreError):
    """Another writer held the store for longer than the timeout; the same call may succeed later."""

    code = "store_busy"
    retry = True


class StoreFull(StoreError):
    """There is no room left on the disk or in the quota; nothing was written."""

    code = "store_full"


class StoreCorrupt(StoreError):
    """The file is damaged, or is not what it should be; it is left as it was found."""

    code = "store_corrupt"


class StoreReadOnly(StoreError):
    """The store was opened for reading, or its file may not be written."""

    code = "store_read_only"


class DuplicateEvent(StoreError):
    """An event id is stored already, with other bytes or in another place; nothing was written."""

    code = "duplicate_event"


class CheckpointAhead(StoreError):
    """A checkpoint lies beyond the head: the log was restored from an older copy. Rebuild the projection."""

    code = "checkpoint_ahead"


class ForeignCheckpoint(StoreError):
    """A checkpoint belongs to another store. Rebuild the projection."""

    code = "foreign_checkpoint"
