"""Every constant of the model, in one frozen value that an application can replace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from math import isfinite
from typing import Any, TypeVar

from attrs import Attribute, field, fields, frozen

from engram_core.errors import InvalidAttributesError, Problem
from engram_core.vocab import ActorKind

__all__ = [
    "ActorWeights",
    "Decay",
    "ImportancePolicy",
    "Limits",
    "Policy",
    "RecallPolicy",
    "RetentionPolicy",
    "ReviewPolicy",
    "number_problem",
    "whole_problem",
]

_UNIT = {"unit": True}
_ABOVE_0 = {"above_0": True}
_UNIT_ABOVE_0 = {**_UNIT, **_ABOVE_0}


def _checked(owner: str, instance: Any, problems: Iterable[Problem] = ()) -> None:
    """Raises one error for what was found already, and for all numbers that do not fit their field."""
    found = list(problems)
    for attribute in fields(type(instance)):
        value = getattr(instance, attribute.name)
        problem = _number_field_problem(attribute, value)
        if problem:
            found.append(Problem(attribute.name, problem))
    if found:
        raise InvalidAttributesError(owner, found)


def _number_field_problem(attribute: Attribute[Any], value: object) -> str | None:
    sort = str(attribute.type)
    if sort not in {"float", "int", "float | None"} or (value is None and sort == "float | None"):
        return None
    problem = number_problem(value, low=0.0, high=1.0 if attribute.metadata.get("unit") else None)
    if problem is None and sort == "int" and not isinstance(value, int):
        return "must be a whole number"
    if problem is None and not value and attribute.metadata.get("above_0"):
        return "must be above 0"
    return problem


def number_problem(value: object, *, low: float | None = None, high: float | None = None) -> str | None:
    """What keeps a value from being a finite number within the bounds; a boolean is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"must be a number, not {type(value).__name__}"
    if isinstance(value, float) and not isfinite(value):
        return "must be finite"
    if (low is None or low <= value) and (high is None or value <= high):
        return None
    if low is not None and high is not None:
        return f"must lie in [{low:g}, {high:g}]"
    return f"must be at least {low:g}" if low is not None else f"must be at most {high:g}"


def whole_problem(value: object, *, low: int, high: int | None = None) -> str | None:
    """What keeps a value from being a whole number within the bounds; a boolean is none."""
    if isinstance(value, int) and not number_problem(value, low=low, high=high):
        return None
    return (
        f"must be a whole number, {low:,} to {high:,}" if high is not None else f"must be a whole number from {low:,}"
    )


@frozen(kw_only=True)
class ActorWeights:
    """What the word of one sort of actor weighs.

    Attributes:
        prior: Confidence of what he states, in [0, 1].
        confirm: Weight of his confirmation, in (0, 1].
        contradict: Weight of his contradiction, in (0, 1].
    """

    prior: float = field(metadata=_UNIT)
    confirm: float = field(metadata=_UNIT_ABOVE_0)
    contradict: float = field(metadata=_UNIT_ABOVE_0)

    def __attrs_post_init__(self) -> None:
        _checked("actor weights", self)


@frozen(kw_only=True)
class Decay:
    """How fast memories of one kind fade.

    Attributes:
        half_life_days: Days after which effective confidence and recency have halved; above 0.
        stale_below: Effective confidence strictly below which a memory is stale, in [0, 1].
        ephemeral_days: Days that an ephemeral memory is kept; above 0.
        base_importance: Importance before evidence, links and disputes are counted, in [0, 1].
    """

    half_life_days: float = field(metadata=_ABOVE_0)
    stale_below: float = field(metadata=_UNIT)
    ephemeral_days: float = field(default=7.0, metadata=_ABOVE_0)
    base_importance: float = field(default=0.5, metadata=_UNIT)

    def __attrs_post_init__(self) -> None:
        _checked("decay", self)


@frozen(kw_only=True)
class RetentionPolicy:
    """Weights of the retention score and the rules of pruning. Source: memory model, section 7.

    Attributes:
        recency, frequency, centrality, confidence, user_weight: Weights of the five terms, each in [0, 1].
        full_frequency: Accesses at which the frequency term reaches 1.
        full_centrality: Distinct live neighbours at which the centrality term reaches 1.
        access_half_life_days: Days after which an access counts half; None: accesses do not fade.
        threshold: Score strictly below which a memory is a pruning candidate.
        newborn_days: Days after recording during which nothing is a candidate.
    """

    recency: float = field(default=0.35, metadata=_UNIT)
    frequency: float = field(default=0.20, metadata=_UNIT)
    centrality: float = field(default=0.15, metadata=_UNIT)
    confidence: float = field(default=0.20, metadata=_UNIT)
    user_weight: float = field(default=0.10, metadata=_UNIT)
    full_frequency: int = field(default=100, metadata=_ABOVE_0)
    full_centrality: int = field(default=10, metadata=_ABOVE_0)
    access_half_life_days: float | None = field(default=None, metadata=_ABOVE_0)
    threshold: float = field(default=0.15, metadata=_UNIT)
    newborn_days: float = 14.0

    def __attrs_post_init__(self) -> None:
        _checked("retention policy", self)


@frozen(kw_only=True)
class ImportancePolicy:
    """What is added to a kind's base importance.

    Attributes:
        per_evidence, max_evidence: Share for each evidence, and how many count.
        per_link, max_links: Share for each link, and how many count.
        disputed: Share while a contradiction is open.
    """

    per_evidence: float = field(default=0.10, metadata=_UNIT)
    max_evidence: int = 3
    per_link: float = field(default=0.05, metadata=_UNIT)
    max_links: int = 4
    disputed: float = field(default=0.15, metadata=_UNIT)

    def __attrs_post_init__(self) -> None:
        _checked("importance policy", self)


@frozen(kw_only=True)
class ReviewPolicy:
    """When something enters the review queue, and what counts as alike.

    Attributes:
        low_confidence: Stored confidence strictly below which a disputed memory is queued.
        expiring_days: Days before an expiry at which it is announced.
        similar: Word overlap (Jaccard) from which two memories are reported as alike.
        similar_reported: How many are reported at most.
        min_name: Characters below which a name or alias is not compared.
    """

    low_confidence: float = field(default=0.60, metadata=_UNIT)
    expiring_days: float = 7.0
    similar: float = field(default=0.6, metadata=_UNIT)
    similar_reported: int = 5
    min_name: int = 3

    def __attrs_post_init__(self) -> None:
        _checked("review policy", self)


@frozen(kw_only=True)
class RecallPolicy:
    """How a question ranks memories. The defaults were measured; `docs/explanation/recall.md` says on what.

    Attributes:
        saturation: How slowly repeating a term stops counting (the k1 of BM25), above 0.
        length: How much a long text must say to weigh as much as a short one (the b of BM25), in [0, 1].
        passage: Share of the score of a text's best passage, added to that of the whole.
        pair: Share of two terms' weights that is added when they stand side by side as in the question.
        context: Share that a memory gains from the score of its neighbour in the same session; a neighbour
            d steps away counts context^d. In [0, 1].
        reach: Steps in a session that context reaches.
        named: Share added when the question names the entity that a memory is linked to.
        dated: Share added when the question names the date of a memory: when its episode happened, else when it began.
        lexical, semantic: Weights of the two halves where an embedder is given.
        freshness, importance, confidence: Weights of the terms beside the match, each in [0, 1].
        stale: What a stale memory loses, in [0, 1].
        fresh_half_life_days: Days after which freshness has halved; above 0.
        postings: Matches read to choose candidates; the words beyond, the commonest, only rank them.
        depth: Candidates whose texts are looked into.
        terms: Terms of a question that count; of a longer one the rarest.
        vector_megabytes: Memory that comparing vectors may take; where it does not suffice, they are read from the
            tables at each question.
    """

    saturation: float = 0.9
    length: float = field(default=0.6, metadata=_UNIT)
    passage: float = 0.5
    pair: float = 0.3
    context: float = field(default=0.5, metadata=_UNIT)
    reach: int = 2
    named: float = 0.6
    dated: float = 0.6
    lexical: float = field(default=0.75, metadata=_UNIT)
    semantic: float = field(default=0.25, metadata=_UNIT)
    freshness: float = field(default=0.02, metadata=_UNIT)
    importance: float = field(default=0.02, metadata=_UNIT)
    confidence: float = field(default=0.02, metadata=_UNIT)
    stale: float = field(default=0.02, metadata=_UNIT)
    fresh_half_life_days: float = 30.0
    postings: int = 8_000
    depth: int = 24
    terms: int = 64
    vector_megabytes: float = 512.0

    def __attrs_post_init__(self) -> None:
        _checked("recall policy", self)
        needed = ("saturation", "fresh_half_life_days", "postings", "depth", "terms")
        if not all(getattr(self, name) for name in needed):
            raise InvalidAttributesError("recall policy", [Problem(", ".join(needed), "must be above 0")])


# Whoever is given these copies them; making and checking them anew was a quarter of opening a space.
@cache
def _default_actors() -> dict[str, ActorWeights]:
    other = {"confirm": 0.40, "contradict": 0.40}
    return {
        ActorKind.ASSISTANT.value: ActorWeights(prior=0.60, **other),
        ActorKind.IMPORTER.value: ActorWeights(prior=0.70, **other),
        ActorKind.PLUGIN.value: ActorWeights(prior=0.60, **other),
        ActorKind.SYSTEM.value: ActorWeights(prior=0.70, **other),
        ActorKind.USER.value: ActorWeights(prior=0.95, confirm=0.90, contradict=0.80),
    }


@cache
def _default_decay() -> dict[str, Decay]:
    entity = {"half_life_days": 730.0, "stale_below": 0.30, "ephemeral_days": 14.0}
    taste = {"half_life_days": 365.0, "stale_below": 0.35}
    affair = {"half_life_days": 180.0, "stale_below": 0.40}
    return {
        "asset": Decay(**affair, base_importance=0.45),
        "contact": Decay(**affair, base_importance=0.50),
        "event": Decay(half_life_days=30.0, stale_below=0.50, ephemeral_days=2.0, base_importance=0.30),
        "fact": Decay(**taste, base_importance=0.45),
        "goal": Decay(**affair, base_importance=0.55),
        "location": Decay(**entity, base_importance=0.45),
        "organization": Decay(**entity, base_importance=0.55),
        "person": Decay(**entity, base_importance=0.60),
        "preference": Decay(**taste, base_importance=0.55),
        "project": Decay(**affair, base_importance=0.55),
        "relationship": Decay(**affair, base_importance=0.50),
        "skill": Decay(**taste, base_importance=0.50),
    }


_T = TypeVar("_T")


def _over(defaults: Mapping[str, _T], given: Any) -> Any:
    """The defaults with what is given in their place; what is no mapping of texts stays, and is refused later."""
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        return given
    merged = {**defaults, **given}
    return {str(key): merged[key] for key in sorted(merged)}


def _over_actors(given: Mapping[str, ActorWeights]) -> dict[str, ActorWeights]:
    return _over(_default_actors(), given)  # type: ignore[no-any-return]


def _over_decay(given: Mapping[str, Decay]) -> dict[str, Decay]:
    return _over(_default_decay(), given)  # type: ignore[no-any-return]


def _are_names(given: object) -> bool:
    return isinstance(given, list | tuple | set | frozenset) and all(isinstance(name, str) for name in given)


def _kinds(given: Iterable[str]) -> frozenset[str]:
    return frozenset(map(str, given)) if _are_names(given) else given  # type: ignore[return-value] # refused later


def _foreign(place: str, given: object, expected: type) -> Iterator[Problem]:
    """A problem for each value that is not of the expected class."""
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        yield Problem(place, f"must be a mapping of names to {expected.__name__}, not {type(given).__name__}")
        return
    for key, value in given.items():
        if not isinstance(value, expected):
            yield Problem(place, f"{key!r} must be {expected.__name__}, not {type(value).__name__}")


_POLICIES = {
    "retention": RetentionPolicy,
    "importance": ImportancePolicy,
    "review": ReviewPolicy,
    "recall": RecallPolicy,
}


@frozen(kw_only=True)
class Policy:
    """The tunables of one space. Replace any of them with `attrs.evolve(policy, …)` or at construction.

    Attributes:
        actors: Weights by actor kind; what is not named keeps its default.
        corroboration: Weight of corroborating evidence, in (0, 1].
        confidence_cap: Confidence above which no one but a user lifts a memory, in [0, 1].
        confidence_floor: Confidence below which no one but a user lowers a memory, in [0, 1].
        repeat_hours: Hours within which the same actor's second confirmation needs new evidence.
        future_minutes: Minutes by which an occurrence may lie ahead of its recording.
        decay: Half-life, staleness, horizon and base importance by kind; what is not named keeps its
            default, and a kind beyond the twelve the values of its KindSpec.
        active_exempt: Kinds whose memories are never pruned while their status attribute is "active".
        retention, importance, review, recall: The policies of those names.
    """

    actors: Mapping[str, ActorWeights] = field(factory=_default_actors, converter=_over_actors)
    corroboration: float = field(default=0.20, metadata=_UNIT_ABOVE_0)
    confidence_cap: float = field(default=0.90, metadata=_UNIT)
    confidence_floor: float = field(default=0.40, metadata=_UNIT)
    repeat_hours: float = 24.0
    future_minutes: float = 5.0
    decay: Mapping[str, Decay] = field(factory=_default_decay, converter=_over_decay)
    active_exempt: frozenset[str] = field(default=frozenset({"project", "goal"}), converter=_kinds)
    retention: RetentionPolicy = RetentionPolicy()
    importance: ImportancePolicy = ImportancePolicy()
    review: ReviewPolicy = ReviewPolicy()
    recall: RecallPolicy = RecallPolicy()

    def __attrs_post_init__(self) -> None:
        kinds = frozenset(ActorKind)
        problems = [
            *_foreign("actors", self.actors, ActorWeights),
            *_foreign("decay", self.decay, Decay),
        ]
        if not problems:
            problems += [Problem("actors", f"{key!r} is no kind of actor") for key in self.actors if key not in kinds]
        if not _are_names(self.active_exempt):
            problems.append(Problem("active_exempt", "must be a list of names of kinds"))
        problems += [
            Problem(name, f"must be {expected.__name__}, not {type(getattr(self, name)).__name__}")
            for name, expected in _POLICIES.items()
            if not isinstance(getattr(self, name), expected)
        ]
        _checked("policy", self, problems)

    def weights(self, kind: ActorKind) -> ActorWeights:
        """The weights of one sort of actor."""
        return self.actors[kind]

    def digest(self) -> str:
        """A short name of exactly these values; scores that were computed under another are recomputed."""
        values = {a.name: getattr(self, a.name) for a in fields(type(self))} | {"active_exempt": frozenset()}
        plain = ", ".join(f"{name}={value!r}" for name, value in values.items())
        return sha256(f"Policy({plain}){sorted(self.active_exempt)!r}".encode()).hexdigest()[:16]


@frozen(kw_only=True)
class Limits:
    """How much fits where. Full conversations are not memories, and these limits say so.

    Attributes (characters): title, content, statement (required texts of attributes), text (other texts of
        attributes), tag, evidence, note, source_ref, query.
        The constructors of the kinds know no space: what exceeds the defaults of statement, text and aliases they
        refuse, so that a space may lower these three, and not raise them.
    Attributes (counts): tags, aliases (and other lists of attributes), links, evidences, external_ids,
        restricted_actors, drafts, depth (of a traversal), reached (memories of a traversal), listing.
    """

    title: int = 200
    content: int = 20_000
    statement: int = 2_000
    text: int = 5_000
    tag: int = 50
    evidence: int = 2_000
    note: int = 2_000
    source_ref: int = 2_000
    query: int = 100_000
    tags: int = 20
    aliases: int = 50
    links: int = 1_000
    evidences: int = 1_000
    external_ids: int = 20
    restricted_actors: int = 100
    drafts: int = 1_000
    depth: int = 16
    reached: int = 10_000
    listing: int = 1_000

    def __attrs_post_init__(self) -> None:
        problems = [
            Problem(attribute.name, "must be a whole number above 0")
            for attribute in fields(Limits)
            if isinstance(getattr(self, attribute.name), bool)
            or not isinstance(getattr(self, attribute.name), int)
            or getattr(self, attribute.name) < 1
        ]
        if problems:
            raise InvalidAttributesError("limits", problems)
