"""A memory to be, as a caller gives it: attributes and options become a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from attrs import evolve as replaced
from attrs import frozen

from engram_core.arguments import lifetime_of, link_of, listed, number_of, pairs_of, uuid_of, visibility_of
from engram_core.commands import Remember
from engram_core.core import Request
from engram_core.errors import InvalidAttributesError, Problem
from engram_core.kinds import KindRegistry, KindSpec
from engram_core.kinds.fields import Attributes
from engram_core.values import SHARED, STANDARD, EvidenceRef, Period, Validity

__all__ = ["Draft", "remembering"]

T = TypeVar("T")


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
        if not options.keys() <= _OPTIONS:
            problem = [Problem(name, "is no option of remember") for name in sorted(options.keys() - _OPTIONS)]
            raise InvalidAttributesError("draft", problem, hint=f"options are {', '.join(sorted(_OPTIONS))}")
        self.__attrs_init__(attributes, options)


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
    request = _request(draft.attributes, kinds, new_id, **draft.options)
    return request if similar is None or similar is request.similar else replaced(request, similar=similar)


def _request(
    attributes: Any,
    kinds: KindRegistry,
    new_id: Callable[[], str],
    *,
    content: Any = "",
    title: Any = None,
    tags: Any = (),
    links: Any = (),
    evidence: Any = (),
    confidence: Any = None,
    pinned: Any = False,
    user_weight: Any = None,
    lifetime: Any = STANDARD,
    visibility: Any = SHARED,
    validity: Any = None,
    external_ids: Any = (),
    source_ref: Any = None,
    occurred_at: Any = None,
    id: Any = None,
    on_duplicate: Any = "return",
    similar: Any = True,
) -> Request:
    """The request, from whatever a caller gave; the options are those of a draft."""
    problems: list[Problem] = []
    spec, raw = _spec_and_payload(attributes, kinds)
    links = listed(links, "links", problems)
    if on_duplicate not in _ON_DUPLICATE:
        problems.append(Problem("on_duplicate", 'must be "return", "confirm" or "create"'))
    lifetime = _told(lifetime_of, lifetime, problems)
    visibility = _told(visibility_of, visibility, problems)
    if not isinstance(similar, bool):
        problems.append(Problem("similar", f"must be True or False, not {type(similar).__name__}"))
    if isinstance(validity, Period):
        validity = Validity(validity.start, validity.end)
    elif validity is not None and not isinstance(validity, Validity):
        problems.append(Problem("validity", "must be a Validity or a Period"))
    own_id = None
    if id is not None and (own_id := uuid_of(id)) is None:
        problems.append(Problem("id", f"{id!r} is not a UUID"))
    tags = listed(tags, "tags", problems)
    external_ids = pairs_of(external_ids, problems)
    evidence = listed((evidence,) if isinstance(evidence, EvidenceRef) else evidence, "evidence", problems)
    if problems:
        raise InvalidAttributesError(spec.kind, problems)
    command = Remember(
        memory_id=own_id or new_id(),
        own_id=own_id is not None,
        kind=spec.kind,
        attributes=raw,
        attributes_version=spec.version,
        title=title,
        content=content,
        tags=tags,
        links=tuple([link_of(pair) for pair in links]),
        evidence=evidence,
        confidence=number_of(confidence),
        pinned=pinned,
        user_weight=number_of(user_weight),
        lifetime=lifetime,
        visibility=visibility,
        validity=validity,
        external_ids=external_ids,
        source_ref=source_ref,
        on_duplicate=on_duplicate,
    )
    return Request(command=command, occurred_at=occurred_at, similar=similar)


_OPTIONS: Final = frozenset(_request.__kwdefaults__ or ())
_ON_DUPLICATE: Final = ("return", "confirm", "create")


def _told(read: Callable[[object], T], given: object, problems: list[Problem]) -> T | None:
    """A value as it is read; what cannot be read becomes a problem."""
    try:
        return read(given)
    except InvalidAttributesError as error:
        problems += error.problems
        return None


def _spec_and_payload(given: Any, kinds: KindRegistry) -> tuple[KindSpec, Mapping[str, Any]]:
    """What is known of the kind, and the raw payload of an attributes object, or of a mapping with "kind"."""
    if isinstance(given, Attributes):
        return kinds.spec(given), kinds.unstructure(given)
    if isinstance(given, Mapping):
        if not isinstance(given.get("kind"), str):
            problem = Problem("kind", 'is missing: give {"kind": "fact", …} or an object such as Fact("…")')
            raise InvalidAttributesError("attributes", [problem])
        raw = {name: value for name, value in given.items() if name != "kind"}
        typed = kinds.structure(given["kind"], raw)
        return kinds.spec(typed), kinds.unstructure(typed)
    if isinstance(given, Draft):
        wrong = "is a Draft; give what the draft holds"
    elif isinstance(given, type):
        wrong = f"is the class {given.__name__}; give an object of it"
    else:
        wrong = f'must be an object such as Fact("…") or {{"kind": "fact", …}}, not {type(given).__name__}'
    raise InvalidAttributesError("attributes", [Problem("attributes", wrong)])
