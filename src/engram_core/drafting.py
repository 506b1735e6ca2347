"""The checks on what a new or changed memory may hold: lengths, counts, numbers, instants. All problems at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any

from engram_core.audience import may_see
from engram_core.commands import Remember
from engram_core.decider import Context
from engram_core.errors import ForbiddenError, InvalidAttributesError, Problem
from engram_core.events import MemoryCreated
from engram_core.identity import normal_tag
from engram_core.kinds import KindSpec
from engram_core.policy import Limits, number_problem
from engram_core.values import ALWAYS, DateLike, EvidenceRef, PartialDate, Validity, Visibility, text_problem

__all__ = [
    "attribute_problems",
    "check_evidence",
    "check_visibility",
    "checked_creation",
    "checked_note",
    "checked_tags",
    "checked_text",
    "default_validity",
]

_USUAL = (Limits().statement, Limits().text, Limits().aliases)


def checked_creation(command: Remember, ctx: Context) -> MemoryCreated:
    """The event of a new memory, with every value in its normal form.

    Raises: InvalidAttributesError with all problems; ForbiddenError when a non-user hides it from himself.
    """
    limits, spec = ctx.limits, ctx.kinds.spec(command.kind)
    problems: list[Problem] = []
    title = _title(command.title, limits, problems)
    if problem := text_problem(command.content, at_most=limits.content):
        problems.append(Problem("content", problem))
    problems += attribute_problems(spec, command.attributes, limits)
    tags = _tags(command.tags, limits, problems) if command.tags else ()
    links = tuple(dict.fromkeys(command.links))
    _count("links", links, limits.links, problems)
    for relation, least in spec.requires.items():
        if sum(link.relation is relation for link in links) < least:
            problems.append(Problem("links", f'a {command.kind} needs at least {least} edge "{relation}"'))
    if command.evidence:
        _evidence(command.evidence, limits, problems)
    if command.confidence is not None and (problem := number_problem(command.confidence, low=0.0, high=1.0)):
        problems.append(Problem("confidence", problem))
    if command.user_weight is not None and (problem := number_problem(command.user_weight, low=0.0, high=1.0)):
        problems.append(Problem("user_weight", problem))
    if not isinstance(command.pinned, bool):
        problems.append(Problem("pinned", "must be True or False"))
    if command.source_ref is not None and (problem := text_problem(command.source_ref, at_most=limits.source_ref)):
        problems.append(Problem("source_ref", problem))
    if command.external_ids:
        _external_ids(command.external_ids, limits, problems)
    if ctx.occurred_at > ctx.now + timedelta(minutes=ctx.policy.future_minutes):
        problems.append(Problem("occurred_at", f"lies in the future: {ctx.occurred_at.isoformat()}"))
    if problems:
        raise InvalidAttributesError(command.kind, problems)
    check_visibility(command.visibility, ctx)
    prior = ctx.policy.weights(ctx.actor.kind).prior
    return MemoryCreated(
        kind=command.kind,
        attributes=command.attributes,
        attributes_version=command.attributes_version,
        title=title,
        content=command.content,
        tags=tags,
        links=links,
        evidence=_once(command.evidence) if command.evidence else (),
        confidence=prior if command.confidence is None else float(command.confidence),
        pinned=command.pinned,
        user_weight=None if command.user_weight is None else float(command.user_weight),
        lifetime=command.lifetime,
        visibility=command.visibility,
        validity=command.validity or default_validity(command.kind, command.attributes, ctx),
        external_ids=tuple(dict.fromkeys(command.external_ids)),
        source_ref=command.source_ref,
        redactions=command.redactions,
        redactor=command.redactor,
    )


def attribute_problems(spec: KindSpec, given: Mapping[str, Any], limits: Limits) -> list[Problem]:
    """What of some attributes exceeds the limits of a space; those that every constructor knows are checked already.

    Args:
        spec: Of the kind.
        given: Attributes as JSON holds them; what is absent is not judged.
        limits: Of the space.
    """
    if (limits.statement, limits.text, limits.aliases) == _USUAL:
        return []
    problems: list[Problem] = []
    for rule in spec.rules:
        value = given.get(rule.name)
        if rule.sort == "text" and value is not None:
            most = limits.statement if rule.is_required else limits.text
            if problem := text_problem(value, at_most=most):
                problems.append(Problem(rule.name, problem))
        elif rule.sort == "texts" and value:
            _count(rule.name, tuple(value), limits.aliases, problems)
            wrong = [found for text in value if (found := text_problem(text, at_most=limits.statement))]
            problems += [Problem(rule.name, found) for found in wrong[:1]]
    return problems


def check_visibility(visibility: Visibility, ctx: Context) -> None:
    """Refuses an audience that is too long, or that hides a memory from the non-user who sets it."""
    if len(visibility.actors) > ctx.limits.restricted_actors:
        problem = f"lists {len(visibility.actors):,} actors; at most {ctx.limits.restricted_actors:,} are allowed"
        raise InvalidAttributesError("memory", [Problem("visibility", problem)])
    if not may_see(ctx.actor, visibility):
        raise ForbiddenError("only users may hide a memory from its author", hint="use restricted(…) and list yourself")


def default_validity(kind: str, attributes: Any, ctx: Context) -> Validity:
    """The window that a relationship's since/until or an episode's start/end imply; open otherwise."""
    if kind not in ("relationship", "event"):
        return ALWAYS
    typed: Any = ctx.kinds.structure(kind, attributes)
    if kind == "relationship":
        start, end = _day(typed.since, last=False), _day(typed.until, last=True)
    else:
        start, end = typed.start_at or typed.occurred_at, typed.end_at
    if start is not None and end is not None and end <= start:
        end = None
    return Validity(start, end)


def _day(value: DateLike | None, *, last: bool) -> datetime | None:
    """Midnight UTC before the first day that is meant, or after the last."""
    if value is None:
        return None
    day = (value.last if last else value.first) if isinstance(value, PartialDate) else value
    midnight = datetime.combine(day, time(), UTC)
    if not last:
        return midnight
    try:
        return midnight + timedelta(days=1)
    except OverflowError:
        return None


def checked_text(title: str | None, content: str, limits: Limits) -> tuple[str | None, str]:
    """Title and content in their normal form, or an error with all problems."""
    problems: list[Problem] = []
    title = _title(title, limits, problems)
    if problem := text_problem(content, at_most=limits.content):
        problems.append(Problem("content", problem))
    if problems:
        raise InvalidAttributesError("memory", problems)
    return title, content


def checked_tags(tags: Iterable[str], limits: Limits, *, count: bool = True) -> tuple[str, ...]:
    """Tags in their normal form, each once; with `count`, not more than a memory may have."""
    problems: list[Problem] = []
    normal = _tags(tags, limits, problems, count=count)
    if problems:
        raise InvalidAttributesError("memory", problems)
    return normal


def checked_note(note: str, limits: Limits) -> str:
    """A note as it is, or an error."""
    if problem := text_problem(note, at_most=limits.note):
        raise InvalidAttributesError("memory", [Problem("note", problem)])
    return note


def check_evidence(evidence: Iterable[EvidenceRef], limits: Limits) -> None:
    """Raises an error with all problems of some evidence."""
    problems: list[Problem] = []
    _evidence(tuple(evidence), limits, problems)
    if problems:
        raise InvalidAttributesError("memory", problems)


def _title(title: str | None, limits: Limits, problems: list[Problem]) -> str | None:
    if title is None:
        return None
    if problem := text_problem(title, blank=False):
        problems.append(Problem("title", problem))
        return None
    title = title.strip()
    if problem := text_problem(title, at_most=limits.title):
        problems.append(Problem("title", problem))
    return title


def _tags(tags: Iterable[str], limits: Limits, problems: list[Problem], *, count: bool = True) -> tuple[str, ...]:
    normal: list[str] = []
    for tag in tags:
        problem = text_problem(tag, blank=False)
        if problem is None:
            tag = normal_tag(tag)
            problem = text_problem(tag, at_most=limits.tag)
        if problem:
            problems.append(Problem("tags", f"{tag!r}: {problem}"))
        normal.append(tag)
    unique = tuple(dict.fromkeys(normal)) if not problems else ()
    if count:
        _count("tags", unique, limits.tags, problems)
    return unique


def _count(name: str, items: tuple[object, ...], at_most: int, problems: list[Problem]) -> None:
    if len(items) > at_most:
        problems.append(Problem(name, f"has {len(items):,} entries; at most {at_most:,} are allowed"))


def _evidence(evidence: tuple[EvidenceRef, ...], limits: Limits, problems: list[Problem]) -> None:
    _count("evidence", evidence, limits.evidences, problems)
    for ref in evidence:
        if not isinstance(ref, EvidenceRef):
            problems.append(Problem("evidence", f"must be EvidenceRef, not {type(ref).__name__}"))
            continue
        if problem := text_problem(ref.value, at_most=limits.evidence):
            problems.append(Problem("evidence", problem))
        if ref.note is not None and (problem := text_problem(ref.note, at_most=limits.note)):
            problems.append(Problem("evidence", f"note {problem}"))


def _once(evidence: Iterable[EvidenceRef]) -> tuple[EvidenceRef, ...]:
    """Each reference once, whatever its note."""
    first: dict[tuple[str, str], EvidenceRef] = {}
    for ref in evidence:
        first.setdefault((ref.type, ref.value), ref)
    return tuple(first.values())


def _external_ids(ids: tuple[tuple[str, str], ...], limits: Limits, problems: list[Problem]) -> None:
    _count("external_ids", ids, limits.external_ids, problems)
    for system, id in ids:
        found = [(part, text_problem(part, at_most=500, blank=False)) for part in (system, id)]
        problems += [Problem("external_ids", f"{part!r}: {problem}") for part, problem in found if problem]
