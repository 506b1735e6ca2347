"""Small histories from the public door, told commit by commit, that hold every type of event there is.

A projection is tried on them. What a commit said when it was written is kept, since an erasure changes what the log
says of it afterwards: who followed the log saw the one, who is built anew sees the other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeAlias

from engram_core.events import RecordedEvent
from engram_core.kinds import Fact, Organization, Person, Preference, Project
from engram_core.space import MemorySpace
from engram_core.testing.clocks import FrozenClock, SequentialIds
from engram_core.values import Actor, EvidenceRef, assistant, ephemeral, private, restricted, shared, user

__all__ = [
    "ERASED_WORDS",
    "GONE_WORDS",
    "HIDDEN_WORDS",
    "Commit",
    "Story",
    "life",
    "lives_with_secrets",
    "turned_private",
    "with_erasure",
    "with_what_is_gone",
    "without",
]

Commit: TypeAlias = tuple[RecordedEvent, ...]
"""The events of one commit, in order."""

_BEGIN: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
_ANN: Final = user("ann")
_BOT: Final = assistant("scribe")

ERASED_WORDS: Final = ("xyloquartz", "vortexplum", "quillhamster", "jazzfjord", "wombatsphinx", "glyphcactus")
"""Words of the erased memory: what it states, narrates, is tagged with, rests on, gave to another, was to become."""

HIDDEN_WORDS: Final = ("zephyrmarrow", "kumquatdwarf", "brinkyodel")
"""Words that the viewer may not read: in a private memory, in one restricted to others, in a draft of somebody."""

GONE_WORDS: Final = ("fjordwaxwing", "gymkhanabolt")
"""Words that only users may look back on: in a deleted memory, and in one whose creation was undone."""


class Story(NamedTuple):
    """A history.

    Attributes:
        told: The commits as they were when they were written.
        final: The same commits as the log tells them at the end.
        before_erasure: How many commits there were before anything was erased.
        hidden_ids: Memories that the viewer may not see at the end.
    """

    told: tuple[Commit, ...]
    final: tuple[Commit, ...]
    before_erasure: int
    hidden_ids: tuple[str, ...] = ()


class _Scribe:
    """A projection that keeps what it is given."""

    name, version = "scribe", 1

    def __init__(self) -> None:
        self.commits: list[Commit] = []

    def setup(self, tx: sqlite3.Connection) -> None:
        """It has no tables."""

    def apply(self, tx: sqlite3.Connection, events: Sequence[RecordedEvent]) -> None:
        """Keeps the events of a commit."""
        self.commits.append(tuple(events))

    def teardown(self, tx: sqlite3.Connection) -> None:
        """It has no tables."""


class _Teller:
    """A space whose memories have names, and a clock that moves on with every step."""

    def __init__(self, space: MemorySpace, clock: FrozenClock) -> None:
        self.space = space
        self.clock = clock
        self.ann = space.session(_ANN, session_id="s-1", record=False)
        self.bot = space.session(_BOT, record=False)

    def new(self, attributes: Any, **options: Any) -> str:
        """Ann remembers something."""
        receipt = self.ann.remember(attributes, similar=False, **options)
        assert receipt.memory_id is not None
        return receipt.memory_id


def _told(tell: Callable[[_Teller], tuple[int, tuple[str, ...]]]) -> Story:
    """The story of what is done; that gives the position after which something is erased, and what is hidden."""
    clock = FrozenClock(_BEGIN, step=timedelta(seconds=1))
    scribe = _Scribe()
    with MemorySpace.in_memory(clock=clock, ids=SequentialIds(), projections=[scribe]) as space:
        position, hidden = tell(_Teller(space, clock))
        space.flush()
        log = space.events()
        final = tuple(tuple(next(log) for _ in commit) for commit in scribe.commits)
    before = sum(1 for commit in scribe.commits if commit[-1].position <= position)
    return Story(tuple(scribe.commits), final, before, hidden)


@cache
def with_erasure() -> Story:
    """A history in which every type of event occurs, and in which a memory with all that it gave is erased."""

    def tell(teller: _Teller) -> tuple[int, tuple[str, ...]]:
        life(teller.space, teller.clock)
        subject, survivor = _to_be_erased(teller)
        position = teller.space.position
        teller.clock.move(days=1)
        teller.ann.erase(subject)
        teller.clock.move(days=1)
        teller.ann.tag(survivor, "afterwards")
        teller.new(Fact("Rain is expected."))
        return position, ()

    return _told(tell)


def life(space: MemorySpace, clock: FrozenClock) -> None:
    """Has users and an assistant do once what can be done, but for erasing; ids come from the space."""
    teller = _Teller(space, clock)
    ann, new = teller.ann, teller.new
    alice = new(Person(full_name="Alice Ng", aliases=("Ali",)), tags=("people",), external_ids=[("vcard", "7")])
    work = new(Organization(name="Harbour Works"), content="Ships and cranes.")
    ann.link(alice, "works_at", work)
    tea = new(Preference(polarity="likes", target="oolong"), content="In the morning.", links=[("about", alice)])
    ann.edit(tea, title="Tea", content="In the morning, strong.")
    ann.update(tea, strength=0.8)
    ann.add_evidence(tea, EvidenceRef("quote", "A pot of oolong, please."), corroborates=True)
    ann.confirm(tea)
    ann.pin(tea)
    ann.weigh(tea, 0.5)
    ann.tag(tea, "drinks", "morning")
    ann.untag(tea, "morning")
    first = new(Fact("The office is in Oslo."), links=[("about", work)])
    second = new(Fact("The office is in Bergen."), links=[("about", work)], visibility=private())
    ann.contradict(first, by=second, note="they moved")
    ann.set_visibility(second, shared())
    ann.resolve(first, second, keep="both", note="there are two")
    third = new(Fact("The office is in Molde."))
    ann.supersede(second, third)
    ann.set_lifetime(first, ephemeral())
    ann.set_validity(first, valid_from=_BEGIN)
    ann.unlink(first, "about", work)
    twin = new(Person(full_name="A. Ng", aliases=("Allie",)), tags=("colleague",))
    namesake = new(Person(full_name="Alice Ngo"))
    ann.mark_distinct(alice, namesake)
    ann.merge(alice, twin)
    ann.unmerge(twin)
    ann.archive(namesake, because="wrong", note="nobody")
    ann.restore(namesake)
    ann.delete(namesake)
    boat = new(Project(name="Boat", status="idea"))
    ann.undo(ann.update(boat, status="active"))
    wood = ann.tag(boat, "wood")
    ann.undo(wood)
    ann.redo(wood)
    with ann.batch() as batch:
        batch.edit(boat, content="Of oak.")
        batch.tag(boat, "oak")
        batch.remember(Fact("Oak is heavy."), similar=False)
    _proposals(teller, boat)
    reader = space.session(_ANN, session_id="s-2")
    reader.get(alice)
    reader.recall("oolong in the morning")
    space.flush()
    clock.move(days=40)
    space.maintenance(user("ann")).expire()


def _proposals(teller: _Teller, boat: str) -> None:
    ann, bot = teller.ann, teller.bot
    with bot.proposal("About the boat", rationale="heard at the harbour") as asked:
        asked.tag(boat, "harbour")
        asked.remember(Fact("The boat leaks."), links=[("about", teller.new(Organization(name="Boat Club")))])
    assert asked.proposal_id is not None
    ann.edit(boat, content="Of oak, and old.")
    bot.rebase(asked.proposal_id)
    merged = ann.approve(asked.proposal_id, confirm=True)
    ann.undo(merged)
    refused = bot.remember(Fact("The boat sank."))
    ann.reject(refused.proposal_id, note="it floats")
    bot.withdraw(bot.edit(boat, content="Of iron."))


def _to_be_erased(teller: _Teller) -> tuple[str, str]:
    """Somebody whose words are spread as far as words can be, and the one who was taken to be the same."""
    states, narrates, tagged, rests, gave, draft = ERASED_WORDS
    ann, bot = teller.ann, teller.bot
    session = teller.space.session(_ANN, session_id=f"session of {states}", record=False)
    survivor = teller.new(Person(full_name="Bob Lund"))
    receipt = session.remember(
        Person(full_name=f"Bob {states}", aliases=(gave,)),
        content=f"He said {narrates}.",
        tags=(tagged,),
        evidence=[EvidenceRef("quote", f"heard of {rests}", rests)],
        external_ids=[("vcard", states)],
        similar=False,
    )
    subject = receipt.memory_id
    assert subject is not None
    session.edit(subject, title=f"Mr {states}", content=f"He said {narrates} twice.")
    session.update(subject, notes=f"once {narrates}")
    session.tag(subject, f"{tagged} too")
    session.contradict(subject, evidence=EvidenceRef("quote", f"not {rests}"), note=f"says {rests}")
    session.undo(session.edit(subject, content=f"Nothing of {narrates}."))
    bot.edit(subject, content=f"He will be {draft}.")
    ann.approve(bot.tag(subject, draft))
    ann.merge(survivor, subject)
    return subject, survivor


@cache
def lives_with_secrets(viewer: Actor) -> Story:
    """A history of which the viewer, whom restrictions list or pass over, may see a part: the rest never concerned him.

    Nothing that he may see names what he may not.
    """
    other = assistant("somebody else")

    def tell(teller: _Teller) -> tuple[int, tuple[str, ...]]:
        ann, new = teller.ann, teller.new
        hidden_text, other_text, draft_text = HIDDEN_WORDS
        alice = new(Person(full_name="Alice Ng"), tags=("people",))
        secret = new(
            Fact(f"The prize is {hidden_text}."),
            content=f"More on {hidden_text}.",
            tags=(hidden_text, "people"),
            links=[("about", alice)],
            visibility=private(),
        )
        tea = new(Preference(polarity="likes", target="oolong"), links=[("about", alice)], tags=("drinks",))
        theirs = new(
            Preference(polarity="likes", target=other_text),
            links=[("about", alice)],
            tags=("drinks",),
            visibility=restricted(other),
        )
        mine = new(Fact("Bring the blue folder."), visibility=restricted(viewer, other))
        ann.confirm(secret)
        ann.confirm(tea)
        ann.edit(secret, title=hidden_text)
        ann.tag(mine, "folders")
        ann.link(theirs, "relates_to", secret)
        ann.undo(ann.tag(theirs, f"{other_text} again"))
        # Whoever the viewer is, the draft is another's.
        asked = teller.space.session(other, record=False).remember(Fact(f"Add {draft_text}."), visibility=shared())
        ann.reject(asked.proposal_id, note=draft_text)
        ann.archive(secret, because="obsolete", note=hidden_text)
        ann.edit(tea, content="In the morning.")
        return teller.space.position, (secret, theirs)

    return _told(tell)


@cache
def turned_private(viewer: Actor) -> Story:
    """A history in which memories that everybody saw were hidden from the viewer, one after an undo of that."""
    other = assistant("somebody else")

    def tell(teller: _Teller) -> tuple[int, tuple[str, ...]]:
        ann, new = teller.ann, teller.new
        first, second, third = HIDDEN_WORDS
        alice = new(Person(full_name="Alice Ng"))
        one = new(Fact(f"The prize is {first}."), tags=(first,), links=[("about", alice)], title=first)
        two = new(Fact(f"It rests on {second}."), content=second, visibility=restricted(viewer))
        three = new(Fact(f"Add {third}."))
        ann.set_visibility(one, private())
        ann.edit(one, content=f"Still {first}.")
        ann.set_visibility(two, restricted(other))
        hidden = ann.set_visibility(three, private())
        ann.undo(hidden)
        ann.redo(hidden)
        return teller.space.position, (one, two, three)

    return _told(tell)


@cache
def with_what_is_gone() -> Story:
    """A history in which one memory was deleted, and the creation of another undone, put forward and undone again."""

    def tell(teller: _Teller) -> tuple[int, tuple[str, ...]]:
        ann, new = teller.ann, teller.new
        first, second = GONE_WORDS
        new(Person(full_name="Alice Ng"))
        one = new(Fact(f"It says {first}."), content=first, tags=(first,))
        ann.edit(one, title=first)
        ann.delete(one)
        begun = ann.remember(Fact(f"A slip: {second}."), tags=(second,), similar=False)
        ann.undo(begun)
        ann.redo(begun)
        ann.undo(begun)
        return teller.space.position, (one, str(begun.memory_id))

    return _told(tell)


def without(story: Story, hidden: Iterable[str]) -> tuple[Commit, ...]:
    """The commits of a story without what happened to hidden memories and to proposals, in positions of their own."""
    gone = set(hidden)
    kept = [
        event
        for commit in story.final
        for event in commit
        if not ({event.stream, event.owner} & gone) and not event.stream.startswith("$")
    ]
    placed = [event._replace(position=position) for position, event in enumerate(kept, 1)]
    return tuple(tuple(commit) for _, commit in groupby(placed, key=lambda event: event.batch_id))
