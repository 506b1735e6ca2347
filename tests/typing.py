"""What a type checker sees of the door. Checked by mypy and never run: what were wrong would not check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any, assert_type

from engram_core import (
    KINDS,
    Actor,
    ApprovalPolicy,
    AsyncMemorySpace,
    Clock,
    Draft,
    Embedder,
    Episode,
    EvidenceRef,
    Fact,
    Hit,
    Hits,
    IdSource,
    KindRegistry,
    Limits,
    Memory,
    MemorySpace,
    Page,
    PartialDate,
    Period,
    Person,
    Policy,
    Preference,
    Project,
    Projection,
    Proposal,
    Receipt,
    Redactor,
    Relationship,
    Session,
    Validity,
    View,
    assistant,
    following,
    private,
    restricted,
    until,
    user,
    when,
)
from engram_core.filters import Operator, ge, one_of
from engram_core.maintenance import Maintenance, MaintenanceReport
from engram_core.ports import EventStore, Redaction
from engram_core.receipts import PossibleConflict
from engram_core.recorder import Preview, Recorder
from engram_core.results import Diff, HistoryRow, Neighbour, Path, ReviewRow, Scores, Subgraph, Why
from engram_core.stores import InMemoryStore, SqliteStore
from engram_core.vocab import Polarity, ReceiptStatus, Status

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def spaces(store: EventStore) -> None:
    """A space is its own context manager, and takes its options by name."""
    with MemorySpace.open("brain.db", create=False, durability="normal", policy=Policy(), limits=Limits()) as space:
        assert_type(space, MemorySpace)
        assert_type(space.position, int)
    MemorySpace.in_memory(approval=ApprovalPolicy.of({assistant("claude"): {"create"}, "importer": ["create"]}))
    MemorySpace.over(store)
    with MemorySpace.open("brain.db", durability="some"):  # type: ignore[arg-type]
        pass


def words_will_do() -> None:
    """Vocabularies are taken as strings, and come back as enums; lists are taken where tuples are kept."""
    assert_type(Preference("likes", target="oolong").polarity, Polarity)
    assert_type(Person("Alice Ng", aliases=["Ali"]).aliases, tuple[str, ...])
    Project("Greenhouse", "active", target_date="2026-09")
    assert_type(Project("Greenhouse", "active", target_date=date(2026, 9, 1)).target_date, date | PartialDate | None)
    EvidenceRef("quote", "Oolong, please.")
    assert_type(Actor("user", "ann"), Actor)
    Relationship(subject_id="a", predicate="knows", object_id="b", since=PartialDate("2024"))
    Fact(1)  # type: ignore[arg-type]
    Person()  # type: ignore[call-arg]


def time() -> None:
    """Dates become periods, which lifetimes and filters take."""
    period = when("2026-03", zone="UTC", now=NOW)
    assert_type(period, Period)
    until(period)
    until(NOW)
    Validity(NOW, None)


def writing(ann: Session) -> None:
    """Every verb gives a receipt; a receipt names a memory wherever one is asked for."""
    alice = ann.remember(Person("Alice Ng"), tags=["friend"], visibility=restricted(assistant("claude")))
    assert_type(alice, Receipt)
    assert_type(alice.status, ReceiptStatus)
    assert_type(alice.memory_id, str | None)
    assert_type(alice.possible_conflicts, tuple[PossibleConflict, ...])
    tea = ann.remember({"kind": "fact", "statement": "tea"}, links=[("about", alice)], visibility=private())
    assert_type(ann.edit(tea, content="Tea.", expected_revision=1), Receipt)
    assert_type(ann.update(tea, statement="Tea"), Receipt)
    assert_type(ann.supersede(tea, Fact("coffee")), Receipt)
    assert_type(ann.undo(tea), Receipt)
    ann.remember_many([Draft(Fact("a"), tags=["x"]), Fact("b")], progress=lambda seen: None)
    ann.tag(tea, 1)  # type: ignore[arg-type]
    with ann.batch() as batch:
        assert_type(batch, Recorder)
        assert_type(batch.tag(tea, "hot"), Receipt)
    with ann.proposal("Title", rationale="Because.") as drafts:
        assert_type(drafts, Recorder)
    assert_type(ann.proposal(drafts.receipt), Proposal)
    with ann.preview() as preview:
        assert_type(preview, Preview)


def reading(view: View, m: Receipt) -> None:
    """The class that is asked for types the attributes; without one they are anything."""
    person = view.get(m, kind=Person)
    assert_type(person, Memory[Person])
    assert_type(person.attributes.full_name, str)
    assert_type(person.status, Status)
    assert_type(person.last_confirmed_at, datetime | None)
    assert_type(person.source.actor, Actor)
    person.attributes.statement  # type: ignore[attr-defined] # noqa: B018
    assert_type(view.get("an-id"), Memory[Any])
    page = view.find(kind="project", where={"status": one_of("active", "idea"), "target_date": ge("2026")})
    assert_type(page, Page[Memory[Any]])
    assert_type(page.next, str | None)
    assert_type(page[0], Memory[Any])
    assert_type(view.count(about=person), int)
    assert_type(ge(0.5), Operator)


def asking(view: View, m: Memory[Episode]) -> None:
    """Answers are values with fields."""
    hits = view.recall("tea", limit=3, kind="fact")
    assert_type(hits, Hits)
    assert_type(hits[0], Hit)
    assert_type(hits[:2], tuple[Hit, ...])
    assert_type(hits.as_text(max_chars=100), str)
    assert_type(view.search("kind:person"), Hits)
    assert_type(view.neighbours(m, relation="about"), tuple[Neighbour, ...])
    assert_type(view.path(m, m), Path)
    assert_type(view.subgraph([m]), Subgraph)
    assert_type(view.history(m), tuple[HistoryRow, ...])
    assert_type(view.why(m), Why)
    assert_type(view.scores(m), Scores)
    assert_type(view.reviews(), Page[ReviewRow])
    assert_type(view.tags(), dict[str, int])
    past = view.as_of(known_at=NOW, valid_at=NOW)
    assert_type(past, View)
    assert_type(past.diff(view), Diff)
    past.remember(Fact("late"))  # type: ignore[attr-defined]


def upkeep(space: MemorySpace) -> None:
    """Passes give reports."""
    maintenance = space.maintenance(user("ann"))
    assert_type(maintenance, Maintenance)
    assert_type(maintenance.expire(), MaintenanceReport)
    assert_type(maintenance.verify(anchor=space.anchor()).ok, bool)


class OneClock:
    """Shows one instant."""

    def now(self) -> datetime:
        """That instant."""
        return NOW


class NoModel:
    """Knows nothing of meaning."""

    name = "none"
    dimension = 1

    def encode(self, texts: Sequence[str], purpose: str) -> list[list[float]]:
        """Zeros."""
        return [[0.0] for _ in texts]


class NoSecrets:
    """Finds none."""

    name = "none"

    def redact(self, text: str) -> Redaction:
        """The text as it is."""
        return Redaction(text, 0)


def ports(projection: Projection) -> None:
    """What has the methods is the port; no base class is needed."""
    clock: Clock = OneClock()
    embedder: Embedder = NoModel()
    redactor: Redactor = NoSecrets()
    ids: IdSource = lambda: "00000000-0000-7000-8000-000000000001"
    stores: tuple[EventStore, ...] = (InMemoryStore(), SqliteStore("brain.db"))
    kinds: KindRegistry = KINDS
    wrapped = following(projection, on_error="park")
    make: Callable[..., MemorySpace] = MemorySpace.in_memory
    make(clock=clock, embedder=embedder, redactor=redactor, ids=ids, kinds=kinds, projections=[wrapped])
    MemorySpace.over(stores[0])


async def waiting() -> None:
    """The space for asyncio is made by awaiting it, or entered while it opens."""
    async with AsyncMemorySpace.open("brain.db") as opened:
        assert_type(opened, AsyncMemorySpace)
    async with await AsyncMemorySpace.open("brain.db") as space:
        assert_type(space, AsyncMemorySpace)
        assert_type(await space.position(), int)
        async for event in space.events():
            assert_type(event.position, int)
