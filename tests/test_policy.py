"""The policy: its defaults are the model's, its numbers are checked, and each of them is read from there."""

from __future__ import annotations

import ast
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, fields, has

import engram_core.policy
from engram_core.commands import AddEvidence, Command, Confirm, Contradict, Remember
from engram_core.decider import Context
from engram_core.errors import EngramError, InvalidAttributesError
from engram_core.events import RecordedEvent
from engram_core.kinds import KINDS
from engram_core.lifecycle import decay_of, expires_at, stale_at
from engram_core.memory import Known, MemoryState, memory_decider
from engram_core.policy import (
    ActorWeights,
    Decay,
    ImportancePolicy,
    Limits,
    Policy,
    RecallPolicy,
    RetentionPolicy,
    ReviewPolicy,
    number_problem,
    whole_problem,
)
from engram_core.retention import Signals, importance_score, is_pruning_candidate, retention_score
from engram_core.values import Actor, EvidenceRef, ephemeral
from engram_core.vocab import ActorKind, Kind

NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)
DEFAULT = Policy()
SOURCE = Path(engram_core.policy.__file__).parent

WAITING = frozenset({"review.low_confidence", "review.expiring_days", "review.min_name"})
"""Constants whose readers, the review queue and the comparison of names, are yet to come."""


# -- the constants, by path --------------------------------------------------------------------------------


def paths(value: Any, before: str = "") -> Iterator[str]:
    """Every constant of a policy: "retention.recency", "actors.user.prior", "decay.fact.half_life_days"."""
    items = (
        value.items()
        if isinstance(value, dict)
        else ((a.name, getattr(value, a.name)) for a in fields(type(value)))
        if has(type(value))
        else None
    )
    if items is None:
        yield before
        return
    for name, inner in items:
        yield from paths(inner, f"{before}.{name}" if before else name)


def changed(value: Any, path: str) -> Any:
    """The same policy with another value for one constant."""
    name, _, rest = path.partition(".")
    inner = value[name] if isinstance(value, dict) else getattr(value, name)
    if rest:
        new = changed(inner, rest)
    elif isinstance(inner, frozenset):
        new = inner | {"fact"}
    elif inner is None:
        new = 30.0
    else:
        new = inner + 1 if isinstance(inner, int) else inner / 2
    return {**value, name: new} if isinstance(value, dict) else evolve(value, **{name: new})


PATHS = sorted(paths(DEFAULT))


# -- what shows that a constant is read --------------------------------------------------------------------


def told(policy: Policy, *acts: tuple[str, Callable[[str], Command], timedelta], kind: str = "fact") -> MemoryState:
    """The memory after some actors did something, each at an age; the first one remembers it."""
    decider = memory_decider(KINDS)
    known: Known = decider.initial
    raw = {"statement": "x"} if kind == "fact" else {}
    first = Remember(memory_id="m", kind=kind, attributes=raw, attributes_version=1, lifetime=ephemeral())
    who = acts[0][0]
    for position, (actor_kind, command, age) in enumerate(((who, lambda _: first, timedelta(0)), *acts[1:]), start=1):
        actor = Actor(actor_kind, f"{actor_kind}-{position if position == 1 else 2}")
        at = NOW + age
        ctx = Context(now=at, occurred_at=at, actor=actor, policy=policy, limits=Limits(), kinds=KINDS)
        for change in decider.decide(command("m"), known, ctx):
            version = known.memories["m"].revision + 1 if "m" in known.memories else 1
            recorded = RecordedEvent(
                change.event, position, change.stream, version, f"e{position}-{version}", type(change.event).__name__,
                1, change.owner, "b", None, at, at, actor.kind, actor,
            )  # fmt: skip
            known = decider.evolve(known, recorded)
    return known.memories["m"]


def first(who: str) -> tuple[str, Any, timedelta]:
    """The act of remembering, by an actor of a kind."""
    return (who, None, timedelta(0))


HOUR = timedelta(hours=1)
CONFIRM: Any = Confirm
SEEN = EvidenceRef("uri", "https://example.org")


def belief(policy: Policy, who: str, *acts: tuple[str, Any, timedelta]) -> float:
    """Stored confidence after some acts."""
    return told(policy, first(who), *acts).confidence.confidence


def earliest(policy: Policy) -> bool:
    """Whether something may be said to happen four minutes from now."""
    ctx = Context(
        now=NOW, occurred_at=NOW + timedelta(minutes=4), actor=Actor("user", "a"), policy=policy, limits=Limits(),
        kinds=KINDS,
    )  # fmt: skip
    command = Remember(memory_id="m", kind="fact", attributes={"statement": "x"}, attributes_version=1)
    try:
        memory_decider(KINDS).decide(command, Known(), ctx)
    except EngramError:
        return False
    return True


SIGNALS = Signals(
    created_at=NOW - timedelta(days=40),
    recorded_at=NOW - timedelta(days=20),
    last_access_at=NOW - timedelta(days=30),
    confidence=0.5,
    accesses=5,
    neighbours=3,
    user_weight=0.5,
)
NOTED = evolve(SIGNALS, user_weight=None, evidences=9, links=9)
FADED = Signals(
    created_at=NOW - timedelta(days=4_000), recorded_at=NOW - timedelta(days=7), confidence=0.5, user_weight=1.0
)


def proof(path: str) -> Callable[[Policy], Any] | None:
    """An observation that another value of this constant must change."""
    group, _, name = path.partition(".")
    who, _, weight = name.partition(".")
    match group, weight or name:
        case "actors", "prior":
            return lambda p: belief(p, who)
        case "actors", "confirm":
            return lambda p: belief(p, "assistant", (who, CONFIRM, HOUR))
        case "actors", "contradict":
            return lambda p: belief(p, "importer", (who, Contradict, HOUR))
        case "corroboration", _:
            return lambda p: belief(p, "user", ("user", lambda m: AddEvidence(m, SEEN, corroborates=True), HOUR))
        case "confidence_cap", _:
            often = [("assistant", CONFIRM, timedelta(days=n)) for n in range(1, 9)]
            return lambda p: belief(p, "assistant", *often)
        case "confidence_floor", _:
            disputes = [
                ("assistant", lambda m, n=n: Contradict(m, evidence=EvidenceRef("uri", f"x:{n}")), HOUR)
                for n in range(5)
            ]
            return lambda p: belief(p, "user", *disputes)
        case "repeat_hours", _:
            twice = [("assistant", CONFIRM, HOUR), ("assistant", CONFIRM, 14 * HOUR)]
            return lambda p: belief(p, "importer", *twice)
        case "future_minutes", _:
            return earliest
        case "decay", "half_life_days" | "stale_below":
            return lambda p: stale_at(told(p, first("user")), decay_of(who, p, KINDS))
        case "decay", "ephemeral_days":
            return lambda p: expires_at(told(p, first("user")), decay_of(who, p, KINDS))
        case "decay", "base_importance":
            return lambda p: importance_score(evolve(NOTED, evidences=0, links=0), p, decay_of(who, p, KINDS))
        case "retention", "newborn_days":
            return lambda p: is_pruning_candidate(FADED, NOW, p, DEFAULT.decay["event"])
        case "retention", "threshold":
            old = evolve(FADED, recorded_at=NOW - timedelta(days=99))
            return lambda p: is_pruning_candidate(old, NOW, p, DEFAULT.decay["event"])
        case "retention", _:
            return lambda p: retention_score(SIGNALS, NOW, p, DEFAULT.decay["fact"])
        case "importance", "disputed":
            disputed = evolve(NOTED, evidences=0, links=0, is_disputed=True)
            return lambda p: importance_score(disputed, p, DEFAULT.decay["fact"])
        case "importance", "per_evidence" | "max_evidence":
            return lambda p: importance_score(evolve(NOTED, links=0), p, DEFAULT.decay["event"])
        case "importance", _:
            return lambda p: importance_score(evolve(NOTED, evidences=0), p, DEFAULT.decay["event"])
    return None


@pytest.mark.parametrize("path", PATHS)
def test_every_constant_is_read_from_the_policy(path: str) -> None:
    """Another value of it changes what is decided or scored; what SQL reads is read by name, at least."""
    seen = proof(path)
    if seen is not None:
        assert seen(DEFAULT) != seen(changed(DEFAULT, path))
    elif path not in WAITING and (SOURCE / "__init__.py").exists():
        assert path.rpartition(".")[2] in read_names()


def read_names() -> set[str]:
    """Every attribute that the library reads, outside the policy itself."""
    return {
        node.attr
        for file in SOURCE.rglob("*.py")
        if file.name != "policy.py"
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
    }


@pytest.mark.parametrize("path", PATHS)
def test_every_constant_is_in_the_digest(path: str) -> None:
    """Scores of another policy are never taken for one's own."""
    assert DEFAULT.digest() != changed(DEFAULT, path).digest()
    assert DEFAULT.digest() == Policy().digest()


# -- defaults ------------------------------------------------------------------------------------------


def test_every_kind_fades() -> None:
    """The twelve have their decay in the policy."""
    assert sorted(Kind) == list(DEFAULT.decay)


@pytest.mark.parametrize(
    ("kinds", "half_life", "stale_below", "ephemeral"),
    [
        ("person organization location", 730, 0.30, 14),
        ("preference skill fact", 365, 0.35, 7),
        ("goal project asset relationship contact", 180, 0.40, 7),
        ("event", 30, 0.50, 2),
    ],
)
def test_the_table_of_decay(kinds: str, half_life: float, stale_below: float, ephemeral: float) -> None:
    """Half-life, threshold and horizon by kind, as the model has them."""
    for kind in kinds.split():
        decay = DEFAULT.decay[kind]
        assert (half_life, stale_below, ephemeral) == (decay.half_life_days, decay.stale_below, decay.ephemeral_days)


@pytest.mark.parametrize(
    ("base", "kinds"),
    [
        (0.60, "person"),
        (0.55, "organization preference goal project"),
        (0.50, "skill relationship contact"),
        (0.45, "location fact asset"),
        (0.30, "event"),
    ],
)
def test_the_table_of_importance(base: float, kinds: str) -> None:
    """The base by kind, as the model has it."""
    assert {base} == {DEFAULT.decay[kind].base_importance for kind in kinds.split()}


def test_weights_by_actor() -> None:
    """A user's word weighs most, and all others' the same."""
    assert (0.90, 0.80) == (DEFAULT.weights(ActorKind.USER).confirm, DEFAULT.weights(ActorKind.USER).contradict)
    others = [DEFAULT.weights(kind) for kind in ActorKind if kind is not ActorKind.USER]
    assert {(0.40, 0.40)} == {(weights.confirm, weights.contradict) for weights in others}


def test_retention_weights_add_up() -> None:
    """So the score lies in [0, 1]."""
    r = DEFAULT.retention
    assert 1.0 == pytest.approx(r.recency + r.frequency + r.centrality + r.confidence + r.user_weight)


# -- replacing -------------------------------------------------------------------------------------------


def test_what_is_not_named_keeps_its_default() -> None:
    """An application names what it wants to be different."""
    shy = ActorWeights(prior=0.3, confirm=0.1, contradict=0.1)
    slow = Decay(half_life_days=999, stale_below=0.1)
    policy = Policy(actors={ActorKind.PLUGIN: shy}, decay={"fact": slow, "recipe": slow}, active_exempt={"goal"})
    assert (shy, DEFAULT.actors["user"]) == (policy.weights(ActorKind.PLUGIN), policy.actors["user"])
    assert (slow, slow, DEFAULT.decay["event"]) == (policy.decay["fact"], policy.decay["recipe"], policy.decay["event"])
    assert frozenset({"goal"}) == policy.active_exempt


def test_whole_numbers_have_bounds() -> None:
    """Those within are none of a problem; a boolean and a fraction are no whole numbers."""
    assert [None, None, None] == [whole_problem(1, low=1), whole_problem(2, low=1, high=2), whole_problem(9, low=1)]
    assert {"must be a whole number from 1,000"} == {whole_problem(value, low=1_000) for value in (999, True, 1e3, "x")}
    assert {"must be a whole number, 1 to 1,000"} == {whole_problem(n, low=1, high=1_000) for n in (0, 1_001, None)}


def test_processes_agree_on_the_digest() -> None:
    """Whatever order the names in a set have there."""
    code = "from engram_core import Policy; print(Policy(active_exempt=frozenset('abcdefgh')).digest())"
    source = str(Path(engram_core.policy.__file__).parents[1])
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": source, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in "1234"
    }
    assert {Policy(active_exempt=frozenset("abcdefgh")).digest()} == found


def test_the_order_of_naming_does_not_matter() -> None:
    """Equal policies have one digest, in every process."""
    slow, fast = Decay(half_life_days=9, stale_below=0.1), Decay(half_life_days=1, stale_below=0.1)
    one, other = Policy(decay={"a": slow, "b": fast}), Policy(decay={"b": fast, "a": slow})
    assert (one, one.digest()) == (other, other.digest())
    assert one == pickle.loads(pickle.dumps(one))


# -- what is refused -------------------------------------------------------------------------------------

GROUPS: list[tuple[type[Any], dict[str, Any]]] = [
    (ActorWeights, {"prior": 0.5, "confirm": 0.5, "contradict": 0.5}),
    (Decay, {"half_life_days": 1.0, "stale_below": 0.5}),
    (RetentionPolicy, {}),
    (ImportancePolicy, {}),
    (ReviewPolicy, {}),
    (RecallPolicy, {}),
    (Policy, {}),
]
NUMBERS = [
    (cls, base, a.name)
    for cls, base in GROUPS
    for a in fields(cls)
    if isinstance(getattr(cls(**base), a.name), int | float) or a.name == "access_half_life_days"
]


@pytest.mark.parametrize(("cls", "base", "name"), NUMBERS)
@pytest.mark.parametrize("wrong", [True, float("nan"), float("inf"), -1, -0.1, "0.5", [1]])
def test_a_constant_is_a_finite_number(cls: type[Any], base: dict[str, Any], name: str, wrong: object) -> None:
    """No boolean, no text, nothing below 0; the field is named."""
    with pytest.raises(InvalidAttributesError) as caught:
        cls(**base | {name: wrong})
    assert name in "".join(problem.field for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("cls", "name", "wrong"),
    [
        (ActorWeights, "prior", 1.1),
        (ActorWeights, "confirm", 0),
        (ActorWeights, "contradict", 0.0),
        (Decay, "half_life_days", 0),
        (Decay, "ephemeral_days", 0),
        (Decay, "stale_below", 1.01),
        (Decay, "base_importance", 2),
        (RetentionPolicy, "full_frequency", 0),
        (RetentionPolicy, "full_centrality", 2.5),
        (RetentionPolicy, "access_half_life_days", 0),
        (ImportancePolicy, "max_links", 1.5),
        (ReviewPolicy, "similar", 1.5),
        (Policy, "corroboration", 0),
        (Policy, "confidence_cap", 1.5),
        (Policy, "actors", {"robot": GROUPS[0][0](**GROUPS[0][1])}),
        (Policy, "actors", {"user": 0.5}),
        (Policy, "decay", {"fact": 365}),
    ],
)
def test_bounds_of_a_constant(cls: type[Any], name: str, wrong: object) -> None:
    """Shares lie in [0, 1], weights and half-lives above 0, counts are whole."""
    with pytest.raises(InvalidAttributesError):
        cls(**dict(GROUPS)[cls] | {name: wrong})


def test_all_that_is_wrong_is_listed() -> None:
    """One error for the whole value."""
    with pytest.raises(InvalidAttributesError) as caught:
        ImportancePolicy(per_evidence=2, max_links=-1, disputed="x")  # type: ignore[arg-type]
    assert ["per_evidence", "max_links", "disputed"] == [problem.field for problem in caught.value.problems]


@pytest.mark.parametrize("number", [0, 1, -1, 10**400, -(10**400), 0.5, 1e308])
def test_any_finite_number_can_be_judged(number: float) -> None:
    """However large it is."""
    assert number_problem(number) is None
    assert (number_problem(number, low=0, high=1) is None) == (0 <= number <= 1)
    assert (number_problem(number, low=0) is None) == (number >= 0)
    assert (number_problem(number, high=1) is None) == (number <= 1)


@pytest.mark.parametrize("name", [a.name for a in fields(Limits)])
@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, "1", None])
def test_limits_are_counts(name: str, wrong: Any) -> None:
    """Each is a whole number above 0."""
    with pytest.raises(InvalidAttributesError, match=name):
        Limits(**{name: wrong})
    assert 7 == getattr(Limits(**{name: 7}), name)
