"""The twelve kinds of memory: frozen classes whose constructors refuse what does not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import cast
from uuid import UUID

from attrs import field, frozen

from engram_core.kinds.fields import Attributes, within
from engram_core.values import DateLike, PartialDate
from engram_core.vocab import (
    AssetType,
    Channel,
    GoalStatus,
    Horizon,
    LocationType,
    OrgType,
    Polarity,
    Proficiency,
    ProjectStatus,
)

__all__ = [
    "Asset",
    "Contact",
    "Episode",
    "Fact",
    "Goal",
    "Location",
    "Organization",
    "Person",
    "Preference",
    "Project",
    "Relationship",
    "Skill",
]

# These change nothing: they tell type checkers what a constructor takes beside the field's type; `Attributes`
# converts. Checkers read the parameter of a named function, and nothing more general.


def _polarity(value: Polarity | str) -> Polarity:
    return cast("Polarity", value)


def _org_type(value: OrgType | str | None) -> OrgType | None:
    return cast("OrgType | None", value)


def _project_status(value: ProjectStatus | str) -> ProjectStatus:
    return cast("ProjectStatus", value)


def _proficiency(value: Proficiency | str | None) -> Proficiency | None:
    return cast("Proficiency | None", value)


def _goal_status(value: GoalStatus | str) -> GoalStatus:
    return cast("GoalStatus", value)


def _horizon(value: Horizon | str | None) -> Horizon | None:
    return cast("Horizon | None", value)


def _channel(value: Channel | str) -> Channel:
    return cast("Channel", value)


def _location_type(value: LocationType | str | None) -> LocationType | None:
    return cast("LocationType | None", value)


def _asset_type(value: AssetType | str) -> AssetType:
    return cast("AssetType", value)


def _names(value: Iterable[str]) -> tuple[str, ...]:
    return cast("tuple[str, ...]", value)


def _day(value: DateLike | str | None) -> DateLike | None:
    return cast("DateLike | None", value)


def _id(value: str | UUID) -> str:
    return str(value) if isinstance(value, UUID) else value


@frozen
class Fact(Attributes):
    """An atomic assertion. What it concerns is said by `about` edges."""

    statement: str


@frozen
class Preference(Attributes):
    """What somebody likes, dislikes, wants, avoids or prefers.

    Attributes:
        polarity: How he stands to the target.
        strength: How strongly, in [0, 1].
        context: Where it holds, such as "food"; preferences of different contexts coexist.
        target: What is liked.
    """

    polarity: Polarity = field(converter=_polarity)
    strength: float | None = field(default=None, metadata=within(0, 1))
    context: str | None = None
    target: str | None = None


@frozen
class Person(Attributes):
    """A human being. Where he works is a `works_at` edge; how he is reached are contacts `owned_by` him."""

    full_name: str
    aliases: tuple[str, ...] = field(default=(), converter=_names)
    roles: tuple[str, ...] = field(default=(), converter=_names)
    notes: str | None = None


@frozen
class Organization(Attributes):
    """A company, team, community or institution."""

    name: str
    aliases: tuple[str, ...] = field(default=(), converter=_names)
    org_type: OrgType | None = field(default=None, converter=_org_type)
    url: str | None = None


@frozen
class Project(Attributes):
    """An undertaking. Its participants are `involves` edges.

    Attributes:
        name: What it is called.
        status: Where it stands.
        summary: What it is.
        target_date: When it is to be done, no more precise than it was said.
    """

    name: str
    status: ProjectStatus = field(converter=_project_status)
    summary: str | None = None
    target_date: date | PartialDate | None = field(default=None, converter=_day)


@frozen
class Skill(Attributes):
    """An ability. What shows it is evidence on the memory."""

    name: str
    proficiency: Proficiency | None = field(default=None, converter=_proficiency)
    last_used_at: datetime | None = None


@frozen
class Goal(Attributes):
    """An intended outcome. A goal within another is a `part_of` edge.

    Attributes:
        statement: What is to be reached.
        status: Where it stands.
        horizon: How far away it lies.
        target_date: By when, no more precise than it was said.
    """

    statement: str
    status: GoalStatus = field(converter=_goal_status)
    horizon: Horizon | None = field(default=None, converter=_horizon)
    target_date: date | PartialDate | None = field(default=None, converter=_day)


@frozen
class Contact(Attributes):
    """A way to reach somebody, who is the target of its one `owned_by` edge.

    Attributes:
        channel: By what.
        value: The address, number or handle.
        label: A word for it, such as "work".
        preferred: True for the way he would rather be reached.
    """

    channel: Channel = field(converter=_channel)
    value: str
    label: str | None = None
    preferred: bool | None = None


@frozen
class Episode(Attributes):
    """Something that happened, at an instant or over a stretch; the class of the kind `event`.

    Attributes:
        occurred_at: The instant at which it happened; required unless `start_at` is given.
        start_at: The instant at which it began.
        end_at: The instant at which it ended; not before it began.
        outcome: What came of it.
    """

    occurred_at: datetime | None = None
    start_at: datetime | None = None
    end_at: datetime | None = None
    outcome: str | None = None

    def _joint_problems(self, bad: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        if bad.keys() & {"occurred_at", "start_at", "end_at"}:
            return
        began = self.start_at or self.occurred_at
        if began is None:
            yield "occurred_at", "is required, or start_at in its place"
        elif self.end_at is not None and self.end_at < began:
            yield "end_at", f"must not be earlier than {'start_at' if self.start_at else 'occurred_at'}"


@frozen
class Location(Attributes):
    """A place. Latitude and longitude are degrees, given both or not at all."""

    name: str
    aliases: tuple[str, ...] = field(default=(), converter=_names)
    address: str | None = None
    latitude: float | None = field(default=None, metadata=within(-90, 90))
    longitude: float | None = field(default=None, metadata=within(-180, 180))
    location_type: LocationType | None = field(default=None, converter=_location_type)

    def _joint_problems(self, bad: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        if (self.latitude is None) != (self.longitude is None):
            absent, given = ("latitude", "longitude") if self.latitude is None else ("longitude", "latitude")
            yield absent, f"is required where {given} is given"


@frozen
class Asset(Attributes):
    """A thing that is owned or used: a file, a document, a device, an account, a domain, a repository.

    Attributes:
        asset_type: What sort of thing.
        name: What it is called.
        aliases: What else it is called.
        uri: Where it is.
        identifier: Its serial number, account name or the like.
        notes: Anything else.
    """

    asset_type: AssetType = field(converter=_asset_type)
    name: str | None = None
    aliases: tuple[str, ...] = field(default=(), converter=_names)
    uri: str | None = None
    identifier: str | None = None
    notes: str | None = None


@frozen
class Relationship(Attributes):
    """A connection that needs confidence, evidence or dates of its own: subject, predicate, object.

    Attributes:
        subject_id: Id of the memory of whom it is said.
        predicate: What connects them, such as "manages".
        object_id: Id of the other memory.
        since: From when, no more precise than it was said.
        until: Until when; not surely earlier than `since`.
    """

    subject_id: str = field(converter=_id)
    predicate: str
    object_id: str = field(converter=_id)
    since: date | PartialDate | None = field(default=None, converter=_day)
    until: date | PartialDate | None = field(default=None, converter=_day)

    def _joint_problems(self, bad: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        if not bad.keys() & {"subject_id", "object_id"} and self.subject_id == self.object_id:
            yield "object_id", "must not be the subject itself"
        if not bad.keys() & {"since", "until"} and self.since is not None and self.until is not None:
            first = self.since.first if isinstance(self.since, PartialDate) else self.since
            last = self.until.last if isinstance(self.until, PartialDate) else self.until
            if last < first:
                yield "until", "must not be earlier than since"
