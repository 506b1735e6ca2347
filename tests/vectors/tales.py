"""The histories of the conformance vectors, told from the door, with the questions that are asked about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from engram_core import (
    Asset,
    Contact,
    Episode,
    EvidenceRef,
    Fact,
    Goal,
    Location,
    Organization,
    PartialDate,
    Person,
    Preference,
    Project,
    Relationship,
    Skill,
    assistant,
    ephemeral,
    importer,
    permanent,
    private,
    restricted,
    system,
    until,
    user,
)
from engram_core.values import Validity

if TYPE_CHECKING:
    from tests.vectors.making import Teller

START: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY: Final = timedelta(days=1)
ANN: Final = user("ann")
BOT: Final = assistant("bot")
OTHER: Final = assistant("other")


def kinds(t: Teller) -> None:
    """One memory of each of the twelve kinds, found by kind, by field and by tag."""
    alice = t.new(Person(full_name="Alice Ng", aliases=("Ali",), roles=("engineer",)), tags=("People",))
    works = t.new(Organization(name="Harbour Works", org_type="company", url="https://harbour.example"))
    oslo = t.new(Location(name="Oslo", latitude=59.9, longitude=10.75, location_type="city"))
    t.new(Fact("Water boils at 100 degrees."), content="At sea level.", tags=("physics", " Water "))
    t.new(Preference(polarity="likes", target="oolong", strength=0.8), links=[("about", alice)], tags=("drinks",))
    t.new(Project(name="Boat", status="active", summary="A sloop", target_date=PartialDate("2026-06")))
    t.new(Skill(name="Rowing", proficiency="expert", last_used_at=START - 3 * DAY))
    t.new(Goal(statement="Sail round the island", status="active", horizon="long"))
    t.new(Contact(channel="email", value="ali@example.org", preferred=True), links=[("owned_by", alice)])
    t.new(Episode(start_at=START - 2 * DAY, end_at=START - DAY, outcome="The mast broke"), links=[("involves", alice)])
    t.new(Asset(asset_type="document", name="Plan of the sloop", uri="file:///sloop.pdf"), links=[("owned_by", works)])
    t.new(Relationship(subject_id=alice, predicate="lives in", object_id=oslo, since=PartialDate("2024")))
    t.clock.move(days=1)
    t.states()
    for kind in ("person", "event", "contact"):
        t.ask("find", kind=kind)
    t.ask("find", kind=["fact", "goal"], order="created_at")
    t.ask("find", where={"status": "active"})
    t.ask("find", tags=["people"])
    t.ask("find", tags=["water", "physics"])
    t.ask("find", about=alice)
    t.ask("find", limit=5)
    t.ask("count", kind="location")
    t.ask("tags")
    t.ask("stats")
    t.ask("timeline", "2025-12-30T00:00:00+00:00", "2026-01-02T00:00:00+00:00")


def belief(t: Teller) -> None:
    """Confidence as it is raised, lowered and faded, by users, assistants and importers."""
    ann, bot = t.session(ANN), t.session(BOT)
    sure = t.new(Fact("The ferry leaves at noon."))
    given = t.new(Fact("The bridge is closed."), confidence=0.4)
    heard = bot.remember(Fact("The ferry is red."))
    t.ids.append(str(ann.approve(heard).memory_id or heard.memory_id))
    brought = t.session(importer("list")).remember(Fact("The ferry has two decks."))
    ann.approve(brought)
    t.ids.append(str(brought.memory_id))
    person = bot.remember(Person(full_name="The Captain"))
    ann.approve(person)
    t.ids.append(str(person.memory_id))
    t.clock.move(days=1)
    ann.confirm(sure)
    ann.approve(bot.confirm(heard.memory_id))
    ann.add_evidence(heard.memory_id, EvidenceRef("observation", "seen at the pier"), corroborates=True)
    ann.add_evidence(heard.memory_id, EvidenceRef("quote", "it is red"))
    t.clock.move(days=1)
    ann.contradict(given, evidence=EvidenceRef("quote", "it is open"), note="seen")
    ann.contradict(sure, note="late again")
    wrong = t.new(Fact("The ferry is blue."))
    ann.contradict(heard.memory_id, by=wrong)
    ann.pin(given)
    ann.weigh(sure, 0.25)
    t.states()
    t.states(at=START + 365 * DAY)
    for id in t.ids:
        t.ask("why", id)
        t.ask("history", id)
        t.ask("scores", id, at=START + 400 * DAY)
    t.ask("count", status="stale", at=START + 365 * DAY)
    t.ask("count", status="stale", at=START + 731 * DAY)
    t.ask("reviews", at=START + 3 * DAY)


def lives(t: Teller) -> None:
    """Archived, restored, superseded, expired, deleted, undone: what each is at which time."""
    ann = t.session(ANN)
    plan = t.new(Fact("We meet on Monday."), validity=Validity(START - 10 * DAY))
    newer = t.new(Fact("We meet on Tuesday."))
    ann.supersede(plan, newer, effective_at=START)
    aside = t.new(Fact("The old key."))
    ann.archive(aside, because="obsolete", note="new lock")
    back = t.new(Fact("The other key."))
    ann.archive(back, because="wrong")
    t.clock.move(days=1)
    ann.restore(back)
    t.new(Fact("Buy milk."), lifetime=ephemeral())
    t.new(Fact("The code is 1234."), lifetime=until(START + 3 * DAY))
    t.new(Fact("The blood group is A."), lifetime=permanent())
    gone = t.new(Fact("Nobody knows."))
    ann.delete(gone)
    undone = ann.remember(Fact("A slip."), similar=False)
    t.ids.append(str(undone.memory_id))
    ann.undo(undone)
    edited = t.new(Fact("The door is green."), tags=("door",))
    change = ann.update(edited, statement="The door is blue.")
    ann.undo(change)
    ann.redo(change)
    for days in (1, 4, 30):
        t.states(at=START + days * DAY)
        t.ask("find", at=START + days * DAY)
        t.ask("stats", at=START + days * DAY)
    t.ask("find", status=["archived"])
    t.ask("find", status=["superseded"])
    t.ask("find", at=START + 2 * DAY, valid_at=START - DAY)
    for id in (plan, newer, edited):
        t.ask("history", id)
    t.clock.set(START + 30 * DAY)
    t.space.maintenance(system("nightly")).expire()
    t.ask("find", status=["archived"])
    t.ask("reviews")


def graph(t: Teller) -> None:
    """Edges and relationships walked; two people who are one, merged and parted again."""
    ann = t.session(ANN)
    alice = t.new(Person(full_name="Alice Ng", aliases=("Ali",)), tags=("a",))
    twin = t.new(Person(full_name="A. Ng"), tags=("b",), evidence=[EvidenceRef("uri", "https://ng.example")])
    works = t.new(Organization(name="Harbour Works"))
    town = t.new(Location(name="Harbour"))
    land = t.new(Location(name="Island"), links=[])
    ann.link(alice, "works_at", works)
    ann.link(works, "located_in", town)
    ann.link(town, "part_of", land)
    note = t.new(Fact("She likes tea."), links=[("about", twin)])
    t.new(Relationship(subject_id=alice, predicate="knows", object_id=twin))
    lone = t.new(Fact("Alone."))
    t.clock.move(days=1)
    t.ask("neighbours", alice)
    t.ask("neighbours", twin)
    merged = ann.merge(alice, twin)
    t.states()
    t.ask("neighbours", alice)
    t.ask("neighbours", alice, depth=3)
    t.ask("neighbours", land, direction="in")
    t.ask("path", note, land)
    t.ask("path", lone, land)
    t.ask("find", about=alice)
    t.ask("history", alice)
    t.clock.move(days=1)
    ann.unmerge(twin)
    t.states()
    t.ask("neighbours", twin)
    assert merged.batch_id is not None


def audience(t: Teller) -> None:
    """Private and restricted memories, as users and two assistants find them."""
    ann = t.session(ANN)
    alice = t.new(Person(full_name="Alice Ng"), tags=("people",))
    t.new(Fact("The prize is a boat."), visibility=private(), links=[("about", alice)], tags=("prize",))
    t.new(Fact("The prize is a surprise."), visibility=restricted(BOT), tags=("prize",))
    t.new(Fact("The prize is on Sunday."), tags=("prize", "date"), links=[("about", alice)])
    later = t.new(Fact("The prize was a boat last year."), tags=("prize",))
    t.clock.move(days=1)
    ann.set_visibility(later, private())
    for viewer in (ANN, BOT, OTHER):
        t.states(by=viewer)
        t.ask("find", by=viewer)
        t.ask("count", tags=["prize"], by=viewer)
        t.ask("tags", by=viewer)
        t.ask("stats", by=viewer)
        t.ask("neighbours", alice, by=viewer)
        t.ask("recall", "what is the prize?", by=viewer)
        t.ask("find", by=viewer, known_at=START + timedelta(hours=1))


def proposals(t: Teller) -> None:
    """What assistants ask for: merged, rejected, withdrawn, open, undone."""
    ann, bot, other = t.session(ANN), t.session(BOT), t.session(OTHER)
    boat = t.new(Project(name="Boat", status="idea"))
    first = bot.remember(Fact("The boat leaks."), links=[("about", t.new(Organization(name="Yard")))])
    t.ids.append(str(first.memory_id))
    second = bot.tag(boat, "harbour")
    third = other.edit(boat, content="Of iron.")
    t.clock.move(days=1)
    ann.approve(first)
    ann.reject(second, note="it lies ashore")
    other.withdraw(third)
    fourth = other.update(boat, status="active")
    t.clock.move(days=1)
    ann.undo(ann.approve(fourth))
    bot.add_evidence(boat, EvidenceRef("quote", "she floats"))
    t.states()
    for viewer in (ANN, BOT, OTHER):
        t.ask("proposals", by=viewer)
        t.ask("proposals", by=viewer, status=None)
        t.ask("history", boat, by=viewer)
    t.ask("reviews")


def erasure(t: Teller) -> None:
    """A memory is erased: what it said is nowhere, what leans on it stays."""
    ann = t.session(ANN)
    alice = t.new(Person(full_name="Alice Ng"))
    secret = t.new(Fact("The key is under the flowerpot."), content="The third one.", links=[("about", alice)])
    t.new(Fact("The house is locked."), links=[("derived_from", secret)])
    ann.tag(secret, "keys")
    t.clock.move(days=1)
    ann.erase(secret)
    t.clock.move(days=1)
    t.new(Fact("There is a new key."))
    t.states()
    t.ask("find")
    t.ask("find", known_at=START + timedelta(hours=1))
    t.ask("recall", "where is the key? under the flowerpot")
    t.ask("neighbours", alice)
    t.ask("tags")
    t.ask("stats")


def times(t: Teller) -> None:
    """What was known when, and what was held true for when."""
    ann = t.session(ANN)
    office = t.new(Fact("The office is in Oslo."), validity=Validity(START - 100 * DAY))
    t.clock.move(days=10)
    moved = t.new(Fact("The office is in Bergen."))
    ann.supersede(office, moved, effective_at=START + 5 * DAY)
    t.clock.move(days=10)
    t.new(Fact("The office has a garden."), validity=Validity(START + 50 * DAY, START + 90 * DAY))
    ann.edit(moved, content="At the harbour.")
    t.clock.move(days=80)
    ann.archive(moved, because="obsolete")
    for known in (None, 1, 11, 25):
        for valid in (None, 0, 7, 60, 95):
            given = {} if known is None else {"known_at": START + known * DAY}
            given |= {} if valid is None else {"valid_at": START + valid * DAY}
            t.ask("find", **given)
    t.ask("get", moved, known_at=START + 11 * DAY)
    t.ask("history", moved)
    t.ask("timeline", "2026-01-05T00:00:00+00:00", "2026-01-15T00:00:00+00:00")


def recall(t: Teller) -> None:
    """Questions ranked, in several scripts, with the terms of every score."""
    alice = t.new(Person(full_name="Alice Ng", aliases=("Ali",)))
    t.new(
        Preference(polarity="likes", target="oolong", context="drinks"),
        content="Alice likes oolong tea.",
        links=[("about", alice)],
    )
    t.new(Fact("Oolong comes from Fujian."), tags=("tea",))
    t.new(Fact("The teapot is broken."), content="It fell from the shelf in March.")
    t.new(Fact("Alice moved to Oslo."), links=[("about", alice)])
    t.new(Fact("東京で会いましょう。"))
    t.new(Fact("Das Straßenfest ist im Mai."))
    t.new(Fact("Use C++ and snake_case in engine.cpp."))
    t.new(Fact("Version 3.11.7 is installed."), confidence=0.3)
    t.new(Episode(occurred_at=START - 40 * DAY, outcome="Dinner with Alice in Bergen"), links=[("involves", alice)])
    t.clock.move(days=3)
    for text in (
        "what does Alice drink?",
        "oolong tea",
        "teapot",
        "Ali",
        "東京",
        "strassenfest mai",
        "C++ snake_case",
        "3.11.7",
        '"broken teapot" OR (',
        "dinner in November 2025",
        "nothing of the kind",
        "",
    ):
        t.ask("recall", text)
    t.ask("recall", "Alice", limit=2)
    t.ask("recall", "Alice", kind="fact")
    t.ask("recall", "oolong", at=START + 500 * DAY)


TALES: Final[Mapping[str, Callable[[Teller], None]]] = {
    "audience": audience,
    "belief": belief,
    "erasure": erasure,
    "graph": graph,
    "kinds": kinds,
    "lives": lives,
    "proposals": proposals,
    "recall": recall,
    "times": times,
}
