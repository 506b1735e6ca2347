"""The review queue after lives at random: what it begins at leaves nothing out, for nobody, at no time."""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from engram_core.errors import EngramError
from engram_core.kinds import Contact, Fact, Organization, Person
from engram_core.reads import waiting
from engram_core.values import assistant, ephemeral, private, restricted, user
from engram_core.view import View
from tests.governance.plain_queue import whole_queue
from tests.governance.rooms import Room, room

_NAMES = ("Alice Ng", "ALICE  NG", "Bob", "Bo", "Čapek", "Ali")
_NUMBERS = ("+47 1", "+47  1", "+47 2")


class Lives:
    """Does this and that in a space, the same for a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.room: Room = room()
        self.ids: list[str] = []
        self.batches: list[Any] = []
        self.instants: list[Any] = []

    def step(self) -> None:
        """One command of somebody, which may be refused."""
        r, rng = self.room, self.rng
        who = r.ann if rng.random() < 0.85 else r.bot
        with suppress(EngramError):
            receipt = self._command(who)
            if receipt is not None:
                self.batches.append(receipt)
                if receipt.memory_id is not None and receipt.memory_id not in self.ids:
                    self.ids.append(receipt.memory_id)
        if rng.random() < 0.2:
            r.clock.move(days=rng.choice((0.1, 0.1, 2, 2, 5, 30, 400)))
        elif rng.random() < 0.2:
            self.instants.append(r.clock.now())
            r.clock.move(seconds=1)

    def _command(self, who: Any) -> Any:
        rng = self.rng
        a, b = (rng.choice(self.ids) if self.ids else "" for _ in range(2))
        verbs = {
            "remember": 10, "entity": 6, "contact": 5, "link": 5, "doubt": 5, "contradict": 4, "resolve": 1,
            "confirm": 3, "archive": 2, "restore": 2, "delete": 3, "supersede": 3, "merge": 3, "unmerge": 1,
            "distinct": 1, "visibility": 2, "weigh": 2, "pin": 1, "rename": 2, "undo": 4, "redo": 2, "erase": 1,
            "lifetime": 4, "approve": 1, "unlink": 2, "validity": 1, "lapse": 2, "hand on": 2,
        }  # fmt: skip
        visibility = rng.choice((None, None, None, private(), restricted(assistant("claude"), user("ann"))))
        given = {} if visibility is None else {"visibility": visibility}
        match rng.choices(list(verbs), weights=list(verbs.values()))[0]:
            case "remember":
                relation = rng.choice(("derived_from", "derived_from", "about", "relates_to"))
                links = [(relation, a)] if a and rng.random() < 0.6 else ()
                if rng.random() < 0.3:
                    given["lifetime"] = ephemeral()
                text = f"number {rng.randrange(10**6)}"
                return who.remember(Fact(text), links=links, confidence=rng.choice((0.3, 0.5, 0.7)), **given)
            case "entity":
                kind = rng.choice((Person, Person, Organization))
                aliases = tuple(rng.sample(_NAMES, rng.randint(0, 2)))
                return who.remember(kind(rng.choice(_NAMES), aliases=aliases), on_duplicate="create", **given)
            case "contact":
                links = [("owned_by", a)] if rng.random() < 0.8 else ()
                channel = rng.choice(("phone", "phone", "email"))
                return who.remember(Contact(channel, rng.choice(_NUMBERS)), links=links, on_duplicate="create", **given)
            case "link":
                return who.link(a, rng.choice(("derived_from", "owned_by", "about")), b)
            case "unlink":
                return who.unlink(a, rng.choice(("derived_from", "owned_by", "about")), b)
            case "doubt":
                return who.contradict(a, note=rng.choice(("really?", "no")))
            case "contradict":
                return who.contradict(a, by=b)
            case "resolve":
                return who.resolve(a, b, keep=rng.choice((a, "both")))
            case "confirm":
                return who.confirm(a)
            case "archive":
                return who.archive(a, because=rng.choice(("wrong", "obsolete")))
            case "restore":
                return who.restore(a)
            case "delete":
                return who.delete(a)
            case "supersede":
                return who.supersede(a, Fact(f"instead {rng.randrange(10**6)}"))
            case "lapse":
                who.delete(who.supersede(a, Fact(f"instead {rng.randrange(10**6)}")))
                return None
            case "hand on":  # a contact, to another, while its owner is away
                contact = who.remember(Contact("email", rng.choice(_NUMBERS)), links=[("owned_by", a)])
                away = who.delete(a)
                who.link(contact, "owned_by", b)
                return who.undo(away)
            case "merge":
                return who.merge(a, b)
            case "unmerge":
                return who.unmerge(a)
            case "distinct":
                return who.mark_distinct(a, b)
            case "visibility":
                return who.set_visibility(a, visibility or private())
            case "weigh":
                return who.weigh(a, rng.choice((0.0, 0.4, 0.9)))
            case "pin":
                return who.pin(a)
            case "rename":
                return who.update(a, full_name=rng.choice(_NAMES))
            case "lifetime":
                return who.set_lifetime(a, ephemeral())
            case "validity":
                return who.set_validity(a, valid_from=self.room.clock.now() + timedelta(days=rng.choice((-30, 20))))
            case "undo":
                return who.undo(rng.choice(self.batches[-8:])) if self.batches else None
            case "redo":
                return who.redo(rng.choice(self.batches[-8:])) if self.batches else None
            case "approve":
                waiting = who.proposals()
                return who.approve(waiting[0]) if waiting.items else None
            case _:
                who.erase(a)
                return None

    def views(self) -> list[View]:
        """Of a person and an assistant: now, later, at a valid time, and in the past."""
        r, now = self.room, self.room.clock.now()
        found: list[View] = []
        for session in (r.ann, r.bot):
            found += [session, session.at(now + timedelta(days=900)), session.as_of(valid_at=now - timedelta(days=20))]
            for instant in self.rng.sample(self.instants, min(3, len(self.instants))):
                found.append(session.as_of(known_at=instant))
        return found


def _agrees(view: View) -> int:
    with view._snapshot() as snapshot:
        expected = whole_queue(snapshot)
    assert expected == list(view.reviews(limit=1_000))
    rows: list[Any] = []
    after = None
    while True:
        page = view.reviews(limit=3, after=after)
        rows += page
        if (after := page.next) is None:
            break
    assert expected == rows
    return len(expected)


@pytest.mark.parametrize("seed", range(8))
def test_the_queue_is_what_looking_through_everything_gives(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole and in pages, for a person and an assistant, now, later, in the past and at a valid time.

    What else begins at what is gone, the count of links, is right as well.
    """
    if seed % 3:  # else from whichever is less, which is mostly the same in a small space
        monkeypatch.setattr(waiting, "_is_more", lambda *_: True)
    lives, found = Lives(seed), 0
    for number in range(180):
        lives.step()
        if number % 20 == 19:
            found += sum(map(_agrees, lives.views()))
            for session in (lives.room.ann, lives.room.bot):
                shown = {memory.id: memory for memory in session.find_all(status=None)}
                links = [link for memory in shown.values() for link in memory.links if link.target in shown]
                assert len(links) == session.stats().links
    assert found > 100
    assert not lives.room.nightly.verify().problems
