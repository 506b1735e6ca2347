"""The small frozen values that every floor shares: who, when, on what grounds, for whom, for how long."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from typing import Final, Literal, TypeAlias

from attrs import field, frozen

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.vocab import ActorKind, EvidenceType, LifetimeKind, Relation, VisibilityKind

__all__ = [
    "ALWAYS",
    "EPOCH",
    "SHARED",
    "STANDARD",
    "UNSET",
    "Actor",
    "DateLike",
    "EvidenceRef",
    "Lifetime",
    "Link",
    "PartialDate",
    "Period",
    "Provenance",
    "Unset",
    "Validity",
    "Visibility",
    "assistant",
    "canonical_id",
    "checked_flag",
    "checked_instant",
    "ephemeral",
    "from_micros",
    "importer",
    "instant_problem",
    "instant_text",
    "permanent",
    "plugin",
    "private",
    "restricted",
    "shared",
    "standard",
    "system",
    "text_problem",
    "to_micros",
    "until",
    "user",
]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class Unset(Enum):
    """The type of `UNSET`: "not mentioned", where None means "clear it"."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> Literal[False]:
        return False


UNSET: Final = Unset.UNSET


# -- instants ---------------------------------------------------------------------------------------


def instant_problem(value: object) -> str | None:
    """What keeps a value from being an aware instant; None if nothing does."""
    if not isinstance(value, datetime):
        return f"must be an aware datetime, not {type(value).__name__}"
    if value.tzinfo is None or value.utcoffset() is None:
        return "is naive: give it a time zone, for instance tzinfo=UTC"
    try:
        value.astimezone(UTC)
    except (OverflowError, ValueError):
        return "lies outside the years 1 to 9999 in UTC"
    return None


def checked_instant(value: object, name: str, subject: str = "instant") -> datetime:
    """The instant in UTC, or an InvalidAttributesError that names the field."""
    problem = instant_problem(value)
    if problem is not None:
        raise InvalidAttributesError(subject, [Problem(name, problem)])
    assert isinstance(value, datetime)
    return value.astimezone(UTC)


def checked_flag(value: object, name: str, subject: str) -> bool:
    """The truth value as it is given; what merely counts as one is refused, since it may be a mistake.

    Raises: InvalidAttributesError that names the argument.
    """
    if isinstance(value, bool):
        return value
    raise InvalidAttributesError(subject, [Problem(name, f"must be True or False, not {type(value).__name__}")])


def to_micros(instant: datetime) -> int:
    """Microseconds since 1970-01-01 UTC of an aware instant; exact."""
    delta = instant - EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_micros(micros: int) -> datetime:
    """The aware UTC instant of microseconds since 1970-01-01 UTC; the inverse of `to_micros`."""
    return EPOCH + timedelta(0, 0, micros)


def instant_text(instant: datetime) -> str:
    """ISO 8601 in UTC with six digits and Z, so that text order is time order."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


# -- text -------------------------------------------------------------------------------------------


def text_problem(value: object, *, at_most: int | None = None, blank: bool = True) -> str | None:
    """What keeps a value from being storable text; None if nothing does.

    NUL and lone surrogates are refused, since no store and no exchange format carries them faithfully.
    """
    if not isinstance(value, str):
        return f"must be text, not {type(value).__name__}"
    if "\0" in value:
        return "contains NUL"
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return "contains a lone surrogate"
    if not blank and not value.strip():
        return "must not be blank"
    if at_most is not None and len(value) > at_most:
        return f"has {len(value):,} characters; at most {at_most:,} are allowed"
    return None


_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def canonical_id(id: str) -> str:
    """A UUID in the usual form, whatever its case; other text as it is."""
    return id.lower() if not id.islower() and _UUID.fullmatch(id) else id


# -- actors -----------------------------------------------------------------------------------------


@frozen(order=True, init=False)
class Actor:
    """Who acts. Two actors are the same iff kind and id are equal, to the letter.

    Args:
        kind: An `ActorKind` or its value.
        id: A name that the application chooses; not blank, at most 200 characters.
    """

    kind: ActorKind
    id: str

    def __init__(self, kind: ActorKind | str, id: str) -> None:
        problems = []
        try:
            kind = ActorKind(kind)
        except ValueError:
            problems.append(Problem("kind", f"{kind!r} is none of {', '.join(ActorKind)}"))
        problem = text_problem(id, at_most=200, blank=False)
        if problem:
            problems.append(Problem("id", problem))
        if problems:
            raise InvalidAttributesError("actor", problems)
        self.__attrs_init__(ActorKind(kind), id)

    @property
    def is_user(self) -> bool:
        """True for a person, who alone approves and erases."""
        return self.kind is ActorKind.USER

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


def user(id: str) -> Actor:
    """A person; sees and may do everything in the space."""
    return Actor(ActorKind.USER, id)


def assistant(id: str) -> Actor:
    """A model or agent that speaks for itself; sees what is shared with it, and proposes."""
    return Actor(ActorKind.ASSISTANT, id)


def system(id: str) -> Actor:
    """The application's own machinery, such as a nightly pass."""
    return Actor(ActorKind.SYSTEM, id)


def importer(id: str) -> Actor:
    """An import from another system."""
    return Actor(ActorKind.IMPORTER, id)


def plugin(id: str) -> Actor:
    """An extension of the application."""
    return Actor(ActorKind.PLUGIN, id)


# -- dates with their own precision -----------------------------------------------------------------

_PARTIAL: Final = re.compile(r"(\d{4})(?:-(\d{2}))?", re.ASCII)


@frozen
class PartialDate:
    """A year or a month, no more precise than it was said: `PartialDate("2024")`, `PartialDate("2024-03")`.

    Attributes:
        text: The ISO form, "YYYY" or "YYYY-MM".
    """

    text: str

    def __attrs_post_init__(self) -> None:
        problem = text_problem(self.text)
        if problem is None:
            match = _PARTIAL.fullmatch(self.text)
            if match is None or int(match[1]) < 1 or not 1 <= int(match[2] or 1) <= 12:
                problem = 'is not of the form "2024" or "2024-03"'
        if problem is not None:
            raise InvalidAttributesError("partial date", [Problem("text", problem)])

    @property
    def first(self) -> date:
        """The first day that it may mean."""
        year, month = int(self.text[:4]), int(self.text[5:] or 1)
        return date(year, month, 1)

    @property
    def last(self) -> date:
        """The last day that it may mean."""
        year, month = int(self.text[:4]), int(self.text[5:] or 12)
        return date(year, month, monthrange(year, month)[1])

    def __str__(self) -> str:
        return self.text


DateLike: TypeAlias = date | PartialDate
"""A calendar day, or a month or year where no more is known."""


@frozen(init=False)
class Period:
    """A half-open stretch of time [start, end), both aware and in UTC; `start` < `end`."""

    start: datetime
    end: datetime

    def __init__(self, start: datetime, end: datetime) -> None:
        start = checked_instant(start, "start", "period")
        end = checked_instant(end, "end", "period")
        if end <= start:
            raise InvalidAttributesError("period", [Problem("end", "must be later than start")])
        self.__attrs_init__(start, end)

    def __contains__(self, instant: object) -> bool:
        return instant_problem(instant) is None and self.start <= instant < self.end  # type: ignore[operator]


# -- provenance and evidence ------------------------------------------------------------------------


@frozen(kw_only=True)
class Provenance:
    """Where a memory came from.

    Attributes:
        actor: Who wrote it.
        on_behalf_of: Who drafted it, when another merged the draft.
        session_id: The session in which it was written.
        client: The program through which it was written.
        source_ref: A file, commit, message or address of origin.
        redactions: How many secrets a redactor removed before storage.
        redactor: Name and version of that redactor.
    """

    actor: Actor
    on_behalf_of: Actor | None = None
    session_id: str | None = None
    client: str | None = None
    source_ref: str | None = None
    redactions: int = 0
    redactor: str | None = None


@frozen(init=False)
class EvidenceRef:
    """What supports a memory.

    Args:
        type: An `EvidenceType` or its value: quote, uri, conversation, document, observation.
        value: The quote, address or reference; not blank, at most 2,000 characters.
        note: What it shows; at most 2,000 characters.

    Raises: InvalidAttributesError.
    """

    type: EvidenceType
    value: str
    note: str | None = None

    def __init__(self, type: EvidenceType | str, value: str, note: str | None = None) -> None:
        problems = []
        try:
            type = EvidenceType(type)
        except ValueError:
            problems.append(Problem("type", f"{type!r} is none of {', '.join(EvidenceType)}"))
        if problem := text_problem(value, blank=False):
            problems.append(Problem("value", problem))
        if note is not None and (problem := text_problem(note)):
            problems.append(Problem("note", problem))
        if problems:
            raise InvalidAttributesError("evidence", problems)
        self.__attrs_init__(EvidenceType(type), value.strip(), note)


@frozen(order=True)
class Link:
    """An outgoing edge: the relation in its canonical direction, and the id of the target."""

    relation: Relation
    target: str


# -- lifetime ---------------------------------------------------------------------------------------


@frozen
class Lifetime:
    """How long to keep a memory. Made by `permanent()`, `standard()`, `until(…)`, `ephemeral()`."""

    kind: LifetimeKind
    expires_at: datetime | None = None

    def __attrs_post_init__(self) -> None:
        if (self.kind is LifetimeKind.UNTIL) != (self.expires_at is not None):
            raise InvalidAttributesError(
                "lifetime", [Problem("expires_at", 'belongs to the lifetime "until", and to no other')]
            )


_PERMANENT: Final = Lifetime(LifetimeKind.PERMANENT)
STANDARD: Final = Lifetime(LifetimeKind.STANDARD)
_EPHEMERAL: Final = Lifetime(LifetimeKind.EPHEMERAL)


def permanent() -> Lifetime:
    """Keep for ever: never expires, is never pruned."""
    return _PERMANENT


def standard() -> Lifetime:
    """Subject to decay; may one day be proposed for pruning. The default."""
    return STANDARD


def ephemeral() -> Lifetime:
    """Session-scoped: expires after the kind's short horizon."""
    return _EPHEMERAL


def until(instant: datetime | Period) -> Lifetime:
    """Keep until an aware instant, or until a `Period` ends; expired from that instant on."""
    if isinstance(instant, Period):
        instant = instant.end
    return Lifetime(LifetimeKind.UNTIL, checked_instant(instant, "until", "lifetime"))


# -- visibility -------------------------------------------------------------------------------------


@frozen
class Visibility:
    """Who may see a memory. Made by `shared()`, `private()`, `restricted(…)`."""

    kind: VisibilityKind
    actors: frozenset[Actor] = field(default=frozenset())

    def __attrs_post_init__(self) -> None:
        if (self.kind is VisibilityKind.RESTRICTED) != bool(self.actors):
            raise InvalidAttributesError(
                "visibility", [Problem("actors", "must be one or more for a restriction, and none otherwise")]
            )


SHARED: Final = Visibility(VisibilityKind.SHARED)
_PRIVATE: Final = Visibility(VisibilityKind.PRIVATE)


def shared() -> Visibility:
    """Everybody in the space may see it. The default."""
    return SHARED


def private() -> Visibility:
    """Users alone may see it."""
    return _PRIVATE


def restricted(*actors: Actor | Iterable[Actor]) -> Visibility:
    """Users and the listed actors may see it."""
    listed: set[Actor] = set()
    for given in actors:
        several = isinstance(given, Iterable) and not isinstance(given, type)
        for actor in given if several else (given,):  # type: ignore[union-attr] # only an actor is no iterable
            if not isinstance(actor, Actor):
                problem = f'must be actors, such as assistant("claude"), not {type(actor).__name__}'
                raise InvalidAttributesError("visibility", [Problem("actors", problem)])
            listed.add(actor)
    return Visibility(VisibilityKind.RESTRICTED, frozenset(listed))


# -- validity ---------------------------------------------------------------------------------------


@frozen(init=False)
class Validity:
    """When a memory is true: the half-open window [valid_from, valid_to); None leaves a side open."""

    valid_from: datetime | None = None
    valid_to: datetime | None = None

    def __init__(self, valid_from: datetime | None = None, valid_to: datetime | None = None) -> None:
        if valid_from is not None:
            valid_from = checked_instant(valid_from, "valid_from", "validity")
        if valid_to is not None:
            valid_to = checked_instant(valid_to, "valid_to", "validity")
        if valid_from is not None and valid_to is not None and valid_to <= valid_from:
            raise InvalidAttributesError("validity", [Problem("valid_to", "must be later than valid_from")])
        self.__attrs_init__(valid_from, valid_to)

    def holds_at(self, instant: datetime) -> bool:
        """True when the window contains the instant, which must be aware."""
        instant = checked_instant(instant, "instant", "validity")
        return (self.valid_from is None or self.valid_from <= instant) and (
            self.valid_to is None or instant < self.valid_to
        )


ALWAYS: Final = Validity()
"""The window that is open on both sides."""
