"""A memory to be, as a caller gives it: attributes and options become a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from engram_core.arguments import lifetime_of, link_of, listed, number_of, pairs_of, uuid_of, visibility_of
from engram_core.commands import Remember
from engram_core.core import Request
from engram_core.errors import InvalidAttributesError, Problem
from engram_core.kinds import KindRegistry
from engram_core.values import SHARED, STANDARD, EvidenceRef, Period, Validity

__all__ = ["Draft", "remembering"]


@frozen(init=False)
class Draft:
    """A memory to be: attributes and the same options as `Session.remember`, for `remember_many` and `supersede`.

    Args:
        attributes: A kind's object, or a mapping with "kind".
        options: Those of `Session.remember`, by name.
    """

    attributes: Any
    options: Mapping[str, Any]

    def __init__(self, attributes: Any, **options: Any) -> None:
        unknown = sorted(set(options) - _OPTIONS)
        if unknown:
            problem = [Problem(name, "is no option of remember") for name in unknown]
            raise InvalidAttributesError("draft", problem, hint=f"options are {', '.join(sorted(_OPTIONS))}")
        self.__attrs_init__(attributes, options)


_OPTIONS = frozenset(
    [
        "content",
        "title",
        "tags",
        "links",
        "evidence",
        "confidence",
        "pinned",
        "user_weight",
        "lifetime",
        "visibility",
        "validity",
        "external_ids",
        "source_ref",
        "occurred_at",
        "id",
        "on_duplicate",
        "similar",
    ]
)


def remembering(
    draft: Draft, kinds: KindRegistry, new_id: Callable[[], str], *, similar: bool | None = None
) -> Request:
    """The request of one new memory.

    Args:
        draft: What it is to hold.
        kinds: The kinds that there are.
        new_id: Gives it an id, unless the draft has one.
        similar: Whether to look for what it may repeat; by default the draft says so.

    Returns: The request, not yet judged by the rules.
    Raises: InvalidAttributesError with every argument that is none.
    """
    given = draft.options
    problems: list[Problem] = []
    kind, raw = _kind_and_payload(draft.attributes, kinds)
    evidence = given.get("evidence", ())
    links = listed(given.get("links", ()), "links", problems)
    on_duplicate = given.get("on_duplicate", "return")
    if on_duplicate not in ("return", "confirm", "create"):
        problems.append(Problem("on_duplicate", 'must be "return", "confirm" or "create"'))
    told: dict[str, Any] = {}
    for name, read in (("lifetime", lifetime_of), ("visibility", visibility_of)):
        if name in given:
            try:
                told[name] = read(given[name])
            except InvalidAttributesError as error:
                problems += error.problems
    if not isinstance(given.get("similar", True), bool):
        problems.append(Problem("similar", f"must be True or False, not {type(given['similar']).__name__}"))
    validity = given.get("validity")
    if isinstance(validity, Period):
        validity = Validity(validity.start, validity.end)
    elif validity is not None and not isinstance(validity, Validity):
        problems.append(Problem("validity", "must be a Validity or a Period"))
    id = given.get("id")
    if id is not None and (id := uuid_of(id)) is None:
        problems.append(Problem("id", f"{given['id']!r} is not a UUID"))
    tags = listed(given.get("tags", ()), "tags", problems)
    pairs = pairs_of(given.get("external_ids", ()), problems)
    refs = listed((evidence,) if isinstance(evidence, EvidenceRef) else evidence, "evidence", problems)
    occurred_at = given.get("occurred_at")
    if problems:
        raise InvalidAttributesError(kind, problems)
    command = Remember(
        memory_id=id or new_id(),
        own_id=id is not None,
        kind=kind,
        attributes=raw,
        attributes_version=kinds.spec(kind).version,
        title=given.get("title"),
        content=given.get("content", ""),
        tags=tags,
        links=tuple(link_of(pair) for pair in links),
        evidence=refs,
        confidence=number_of(given.get("confidence")),
        pinned=given.get("pinned", False),
        user_weight=number_of(given.get("user_weight")),
        lifetime=told.get("lifetime", STANDARD),
        visibility=told.get("visibility", SHARED),
        validity=validity,
        external_ids=pairs,
        source_ref=given.get("source_ref"),
        on_duplicate=on_duplicate,
    )
    wanted_similar = given.get("similar", True) if similar is None else similar
    return Request(command=command, occurred_at=occurred_at, similar=wanted_similar)


def _kind_and_payload(given: Any, kinds: KindRegistry) -> tuple[str, Mapping[str, Any]]:
    """Kind and raw payload of an attributes object, or of a mapping with "kind"."""
    if isinstance(given, Mapping):
        if not isinstance(given.get("kind"), str):
            problem = Problem("kind", 'is missing: give {"kind": "fact", …} or an object such as Fact("…")')
            raise InvalidAttributesError("attributes", [problem])
        raw = {name: value for name, value in given.items() if name != "kind"}
        typed = kinds.structure(given["kind"], raw)
    elif isinstance(given, Draft):
        raise InvalidAttributesError("attributes", [Problem("attributes", "is a Draft; give what the draft holds")])
    elif isinstance(given, type):
        problem = Problem("attributes", f"is the class {given.__name__}; give an object of it")
        raise InvalidAttributesError("attributes", [problem])
    else:
        kinds.spec(given)
        typed = given
    return kinds.spec(typed).kind, kinds.unstructure(typed)
