"""Values that fit no argument, arguments that fit, and a space with something in it for every verb."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import engram_core
from engram_core import (
    KINDS,
    Actor,
    ApprovalPolicy,
    AsyncMemorySpace,
    EngramError,
    EvidenceRef,
    Fact,
    Hits,
    KindRegistry,
    MemorySpace,
    Person,
    Validity,
    assistant,
    filters,
    private,
    standard,
    user,
)
from engram_core.filters import FILTERS
from engram_core.kinds import Attributes
from engram_core.packs import outcomes
from engram_core.policy import ActorWeights, Decay, ImportancePolicy, RecallPolicy, RetentionPolicy, ReviewPolicy
from engram_core.recorder import Recorder
from engram_core.stores import InMemoryStore
from engram_core.vocab import ActorKind

LONG = "x" * 100_000
MOST = 5_000
"""Characters that the text of an error has at most, whatever it speaks of."""

NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)


class Nothing:
    """An object that is nothing the door knows; its class may be called."""

    def __init__(self, *_: object) -> None: ...


class Reading:
    """A projection that keeps nothing."""

    name, version = "reading", 1

    def setup(self, tx: object) -> None: ...

    def apply(self, tx: object, events: object) -> None: ...

    def teardown(self, tx: object) -> None: ...


class Strange(str):
    """A text that is of another class."""

    __slots__ = ()


SCALARS: Mapping[str, object] = {
    "None": None,
    "True": True,
    "False": False,
    "0": 0,
    "5": 5,
    "-1": -1,
    "huge": 10**400,
    "1.5": 1.5,
    "nan": math.nan,
    "-inf": -math.inf,
    "decimal": Decimal(1),
    "empty": "",
    "blank": " \t",
    "nul": "a\0b",
    "surrogate": "\ud800",
    "escape": "\x1b[31m",
    "dollar": "$1",
    "long": LONG,
    "strange": Strange("word"),
    "bytes": b"x",
    "list": [],
    "tuple": (),
    "set": set(),
    "dict": {},
    "object": Nothing(),
    "class": Nothing,
    "kind class": Fact,
    "call": lambda *_, **__: None,
    "naive": datetime(2026, 3, 5),
    "last instant": datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))),
    "first instant": datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
    "instant": NOW,
    "wrong enum": ActorKind.USER,
    "actor": user("ann"),
    "iterator": iter(()),
}

INSIDE = ("None", "True", "5", "nan", "surrogate", "long", "list", "object", "naive", "first instant", "kind class")
"""Those that are tried inside of collections, too."""


def wrapped() -> Iterator[tuple[str, object]]:
    """Each value by itself, and inside the collections that arguments are."""
    yield from SCALARS.items()
    for name in INSIDE:
        value = SCALARS[name]
        yield f"[{name}]", [value]
        yield f"[[{name}, {name}]]", [[value, value]]
        yield f"(about, {name})", ("about", value)
        yield f"{{kind: {name}}}", {"kind": value}
        yield f"{{statement: {name}}}", {"kind": "fact", "statement": value}
        if value.__hash__ is not None:
            yield f"{{{name}: [a]}}", {value: ["a"]}
            yield f"{{{name}: a}}", {value: "a"}


VALUES = dict(wrapped())


_NUMBERS = itertools.count()


def new_path() -> Path:
    """The name of a file that does not exist, in the test's folder."""
    return Path(f"{next(_NUMBERS)}.db")


class Room:
    """A space with something in it for every verb."""

    def __init__(self, actor: Actor, *, in_file: bool = False) -> None:
        self.space = MemorySpace.open(new_path()) if in_file else MemorySpace.in_memory()
        self.ann = ann = self.space.session(user("ann"))
        self.session = self.space.session(actor)
        self.tea = ann.remember(Fact("oolong"), tags=["drink"]).memory_id
        self.coffee = ann.remember(Fact("coffee")).memory_id
        self.bob = ann.remember(Person("Bob Hill")).memory_id
        self.robert = ann.remember(Person("Robert Hill")).memory_id
        self.gone = ann.remember(Fact("gone")).memory_id
        ann.archive(self.gone)
        self.merged = ann.remember(Person("Bobby Hill")).memory_id
        ann.merge(self.bob, self.merged)
        self.batch = ann.pin(self.tea).batch_id
        self.undone = ann.pin(self.coffee).batch_id
        ann.undo(self.undone)
        ann.contradict(self.tea, by=self.coffee)
        bot = self.space.session(assistant("claude"))
        self.proposal = bot.remember(Fact("proposed")).proposal_id
        self.length = self.space.position

    def close(self) -> None:
        """Proves that the log reads, and that the read model fits it."""
        report = self.space.maintenance(user("ann")).verify()
        assert () == report.problems
        self.space.close()


BY_NAME: Mapping[str, Callable[[Room], object]] = {
    "m": lambda r: r.tea,
    "ms": lambda r: [r.tea],
    "a": lambda r: r.tea,
    "b": lambda r: r.coffee,
    "keep": lambda r: r.tea,
    "old": lambda r: r.tea,
    "new": lambda r: Fact("new"),
    "source": lambda r: r.tea,
    "relation": lambda r: "about",
    "target": lambda r: r.bob,
    "p": lambda r: r.proposal,
    "title": lambda r: "a title",
    "batch": lambda r: r.batch,
    "attributes": lambda r: Fact("another"),
    "items": lambda r: [Fact("another")],
    "evidence": lambda r: EvidenceRef("quote", "q"),
    "weight": lambda r: 0.5,
    "visibility": lambda r: private(),
    "lifetime": lambda r: standard(),
    "query": lambda r: "oolong",
    "text": lambda r: "oolong",
    "start": lambda r: NOW,
    "end": lambda r: NOW + timedelta(days=1),
    "now": lambda r: NOW,
    "other": lambda r: r.session,
    "actor": lambda r: user("ann"),
    "path": lambda r: new_path(),
    "store": lambda r: InMemoryStore(),
}
"""What is given for an argument that has no default, unless `SPECIAL` has better."""

SPECIAL: Mapping[tuple[str, str], Callable[[Room], object]] = {
    ("restore", "m"): lambda r: r.gone,
    ("unmerge", "source"): lambda r: r.merged,
    ("merge", "survivor"): lambda r: r.bob,
    ("merge", "source"): lambda r: r.robert,
    ("mark_distinct", "a"): lambda r: r.bob,
    ("mark_distinct", "b"): lambda r: r.robert,
    ("redo", "batch"): lambda r: r.undone,
    ("as_of", "known_at"): lambda r: NOW,
    ("quarantine", "session_id"): lambda r: "s",
}
MANY: Mapping[str, tuple[str, ...]] = {
    "filters": (*FILTERS, "nonsense"),
    "options": (
        "policy", "approval", "kinds", "limits", "clock", "ids", "embedder", "redactor", "projections", "nonsense",
    ),
}  # fmt: skip
"""What keyword arguments there are where a signature does not say."""


def methods(owner: type) -> list[str]:
    """The public methods of a class."""
    found = inspect.getmembers(owner, callable)
    return sorted(name for name, method in found if not name.startswith("_") and not inspect.isclass(method))


def fitting(name: str, parameter: str, room: Room) -> object:
    """A value that fits an argument."""
    made = SPECIAL.get((name, parameter)) or BY_NAME.get(parameter)
    assert made is not None, f"say in BY_NAME or SPECIAL what fits {name}({parameter})"
    return made(room)


LISTED: Mapping[str, list[object]] = {"restricted": [assistant("claude")]}
"""What is given for `*arguments` of which there must be one."""


class Call:
    """One call with one argument that may be wrong.

    Attributes:
        name, call: What is called.
        usual: Gives for the name of an argument a value that fits.
        place, value: The argument that is tried, and with what.
    """

    def __init__(
        self,
        name: str,
        call: Callable[..., Any],
        usual: Callable[[str], object],
        place: str = "",
        value: object = None,
    ) -> None:
        self.name, self.call, self.usual, self.place, self.value = name, call, usual, place, value

    def run(self) -> Any:
        """Calls it; what is lazy is read to its end."""
        positional: list[object] = []
        named: dict[str, object] = {}
        for parameter in inspect.signature(self.call).parameters.values():
            name = parameter.name
            wrong = self.place == name
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional += [self.value] if wrong else LISTED.get(self.name, [])
            elif parameter.kind is parameter.VAR_KEYWORD:
                prefix, _, keyword = self.place.partition("=")
                if prefix == name:
                    named[keyword] = self.value
            elif wrong or parameter.default is parameter.empty or (self.name, name) in {*SPECIAL, *USUALLY_THERE}:
                value = self.value if wrong else self.usual(name)
                if parameter.kind is parameter.POSITIONAL_ONLY:
                    positional.append(value)
                else:
                    named[name] = value
            elif parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(parameter.default)
        answer = self.call(*positional, **named)
        if inspect.isawaitable(answer):
            return asyncio.run(awaited(answer))
        if isinstance(answer, Recorder):
            with answer as block:
                block.remember(Fact("in a block"))
        return list(answer) if isinstance(answer, Iterator) else answer


async def awaited(answer: Any) -> Any:
    """The answer; a space is closed again."""
    found = await answer
    if isinstance(found, AsyncMemorySpace):
        await found.close()
    return found


def places(call: Callable[..., Any]) -> Iterator[str]:
    """The arguments of a callable."""
    for parameter in inspect.signature(call).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            yield from (f"{parameter.name}={name}" for name in MANY.get(parameter.name, ("statement",)))
        else:
            yield parameter.name


SIMPLE: Mapping[str, Callable[[object], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "datetime": lambda value: isinstance(value, datetime),
    "None": lambda value: value is None,
}


CALLED = {"progress"}
"""What is given there is called; what it raises is the application's own."""


def fits(value: object, annotation: object) -> bool:
    """Whether a value fits an annotation, as far as that is simple; a boolean is no number."""
    parts = str(annotation).split(" | ")
    return any(part not in SIMPLE or SIMPLE[part](value) for part in parts)


def refusal(call: Call, label: str) -> str | None:
    """What is wrong with how a wrong value was taken."""
    case = f"{call.name}({call.place}={label})"
    parameter = inspect.signature(call.call).parameters[call.place.partition("=")[0]]
    try:
        answer = call.run()
    except EngramError as error:
        text = f"{error}"
        if len(text) > MOST:
            return f"{case}: the error has {len(text):,} characters"
        try:
            text.encode()
        except UnicodeEncodeError:
            return f"{case}: the error cannot be printed"
        return None
    except Exception as error:  # noqa: BLE001 # to list them all
        if call.place in CALLED and callable(call.value):
            return None
        return f"{case}: {type(error).__name__}: {str(error)[:200]}"
    if isinstance(answer, MemorySpace):
        answer.close()
    if "=" not in call.place and not call.name.startswith("filters.") and not fits(call.value, parameter.annotation):
        return f"{case} was taken, as {parameter.annotation}"
    return None


MADE_INSIDE = {
    "AsyncMemorySpace", "Hit", "Hits", "Maintenance", "Memory", "MemorySpace", "Page", "Proposal", "Receipt", "Session",
    "View",
}  # fmt: skip
"""Classes of which the library makes the objects: nobody gives them arguments."""


def is_kind(found: object) -> bool:
    """Whether something is the class of a kind."""
    return inspect.isclass(found) and issubclass(found, Attributes)


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Whatever can be called without a space, by its name."""
    for name in engram_core.__all__:
        found = getattr(engram_core, name)
        if inspect.isclass(found):
            inside = name in MADE_INSIDE or issubclass(found, Exception) or getattr(found, "_is_protocol", False)
            if not inside:
                yield name, found
        elif callable(found):
            yield name, found
    yield from ((f"filters.{name}", getattr(filters, name)) for name in filters.__all__ if name.islower())
    yield from ((name, getattr(outcomes, name)) for name in outcomes.__all__ if is_kind(getattr(outcomes, name)))
    for cls in (ActorWeights, Decay, ImportancePolicy, RecallPolicy, RetentionPolicy, ReviewPolicy):
        yield f"policy.{cls.__name__}", cls
    yield "ApprovalPolicy.of", ApprovalPolicy.of
    yield "Hits.as_text", Hits().as_text
    yield "Validity.holds_at", Validity().holds_at
    yield from ((f"KindRegistry.{name}", getattr(KINDS, name)) for name in methods(KindRegistry))


FUNCTIONS = dict(callables())
USUALLY: Mapping[str, object] = {
    "id": "ann",
    "kind": "user",
    "attributes": Fact("x"),
    "type": "quote",
    "value": "x",
    "statement": "x",
    "status": "active",
    "name": "x",
    "text": "2024",
    "start": NOW,
    "end": NOW + timedelta(days=1),
    "full_name": "x",
    "polarity": "likes",
    "asset_type": "file",
    "channel": "email",
    "subject_id": "s",
    "predicate": "knows",
    "object_id": "o",
    "instant": NOW,
    "specs": tuple(KINDS),
    "actors": assistant("claude"),
    "raw": {"statement": "x"},
    "changes": {},
    "version": 1,
    "source": "person",
    "relation": "about",
    "target": "fact",
    "grants": {},
    "m": "x",
    "decided_at": "2024",
    "quantity": "x",
    "unit": "x",
    "method": "x",
    "cadence": "x",
    "result": "success",
    "rationale": "x",
    "prior": 0.5,
    "confirm": 0.5,
    "contradict": 0.5,
    "half_life_days": 1.0,
    "stale_below": 0.5,
    "label_fields": ("statement",),
    "view": "view_facts",
    "projection": Reading(),
    "scope": "x",
    "occurred_at": NOW,
}
"""What is given for an argument without a default, where there is no space."""
USUALLY_THERE: Mapping[tuple[str, str], object] = {
    **{(f"KindRegistry.{name}", "kind"): "fact" for name in methods(KindRegistry)},
    ("KindSpec", "kind"): "fact",
    ("KindSpec", "attributes"): Fact,
    ("Estimate", "value"): 1.0,
    ("restricted", "actors"): assistant("claude"),
    ("Episode", "occurred_at"): NOW,
    ("KindRegistry.with_kinds", "specs"): outcomes.OUTCOMES[0],
}
