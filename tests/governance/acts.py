"""Every write verb once, over the same small world: a table for whatever must hold for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from engram_core.kinds import Contact, Fact, Goal, Person, Preference
from engram_core.receipts import Receipt
from engram_core.values import EvidenceRef, assistant, ephemeral, permanent, private, restricted
from tests.governance.rooms import Room


def world(r: Room) -> dict[str, str]:
    """People, what is said about them, a merge, a dispute, a supersession, and something in the archive."""
    ann = r.ann
    made: dict[str, Receipt] = {}
    made["alice"] = ann.remember(Person("Alice Ng", aliases=("Ali",)), tags=("friend",))
    made["ally"] = ann.remember(Person("Ally Ng", aliases=("Al", "Ali")), tags=("colleague",))
    made["bob"] = ann.remember(Person("Bob Ode"))
    made["robert"] = ann.remember(Person("Robert Ode"), tags=("old",))
    made["phone"] = ann.remember(Contact("phone", "+47 1"), links=[("owned_by", made["alice"])])
    made["tea"] = ann.remember(Preference("likes", target="tea", context="drinks"), links=[("about", made["alice"])])
    made["oslo"] = ann.remember(Fact("Alice lives in Oslo"), title="Home", content="Since May.", confidence=0.7)
    made["bergen"] = ann.remember(Fact("Alice lives in Bergen"), links=[("about", made["ally"])])
    made["guess"] = ann.remember(Fact("She likes the sea"), links=[("derived_from", made["bergen"])])
    made["goal"] = ann.remember(Goal("Move", status="active"))
    made["step"] = ann.remember(Goal("Pack", status="active"), links=[("part_of", made["goal"])])
    made["past"] = ann.remember(Fact("It rained"))
    made["brief"] = ann.remember(Fact("Parked at gate 4"), lifetime=ephemeral())
    made["secret"] = ann.remember(Fact("A surprise"), visibility=private())
    ann.merge(made["bob"], made["robert"])
    ann.contradict(made["oslo"], by=made["bergen"])
    ann.archive(made["past"])
    return {name: str(receipt.memory_id) for name, receipt in made.items()}


Act = Callable[[Room, Mapping[str, str]], Any]


def _batch(r: Room, w: Mapping[str, str]) -> Receipt:
    with r.ann.batch() as b:
        new = b.remember(Fact("from a batch"), links=[("about", w["alice"])])
        b.tag(new, "t")
        b.tag(w["oslo"], "t")
        b.confirm(w["guess"])
        b.merge(w["alice"], w["ally"])
        b.supersede(w["oslo"], new)
    return b.receipt


def _approved(r: Room, w: Mapping[str, str]) -> Receipt:
    with r.bot.proposal("several") as p:
        new = p.remember(Fact("from a proposal"), links=[("derived_from", w["oslo"])])
        p.confirm(w["oslo"])
        p.contradict(w["tea"], by=new)
        p.archive(w["brief"])
    return r.ann.approve(p.receipt, confirm=True)


ACTS: dict[str, Act] = {
    "remember": lambda r, w: r.ann.remember(Fact("new"), links=[("about", w["alice"]), ("derived_from", w["oslo"])]),
    "remember superseding": lambda r, w: r.ann.remember(Fact("newer"), links=[("supersedes", w["oslo"])]),
    "remember again, confirming": lambda r, w: r.ann.remember(
        Fact("She likes the sea"),
        links=[("derived_from", w["bergen"])],
        on_duplicate="confirm",
        evidence=EvidenceRef("quote", "again"),
    ),
    "edit": lambda r, w: r.ann.edit(w["oslo"], title=None, content="Since June."),
    "update": lambda r, w: r.ann.update(w["alice"], full_name="Alice Nguyen", roles=("cook",)),
    "update by another": lambda r, w: r.ann.approve(r.bot.update(w["oslo"], statement="Alice lived in Oslo")),
    "tag": lambda r, w: r.ann.tag(w["oslo"], "x", "y"),
    "untag": lambda r, w: r.ann.untag(w["alice"], "friend"),
    "link": lambda r, w: r.ann.link(w["tea"], "relates_to", w["oslo"]),
    "ensure_link": lambda r, w: r.ann.ensure_link(w["guess"], "about", w["alice"]),
    "unlink": lambda r, w: r.ann.unlink(w["phone"], "owned_by", w["alice"]),
    "unlink a symmetric edge": lambda r, w: r.ann.unlink(w["bergen"], "contradicts", w["oslo"]),
    "add_evidence": lambda r, w: r.ann.add_evidence(w["oslo"], EvidenceRef("uri", "https://x"), corroborates=True),
    "confirm": lambda r, w: r.ann.confirm(w["oslo"], evidence=EvidenceRef("quote", "yes")),
    "contradict by a memory": lambda r, w: r.ann.contradict(w["tea"], by=w["oslo"], note="no"),
    "contradict by evidence": lambda r, w: r.ann.contradict(w["bergen"], evidence=EvidenceRef("quote", "no")),
    "contradict by one's word": lambda r, w: r.ann.contradict(w["bergen"]),
    "pin": lambda r, w: r.ann.pin(w["brief"]),
    "weigh": lambda r, w: r.ann.weigh(w["tea"], 0.9),
    "set_visibility": lambda r, w: r.ann.set_visibility(w["oslo"], private()),
    "set_visibility wider": lambda r, w: r.ann.set_visibility(w["secret"], restricted(assistant("claude"))),
    "set_lifetime": lambda r, w: r.ann.set_lifetime(w["brief"], permanent()),
    "set_validity": lambda r, w: r.ann.set_validity(w["oslo"], valid_from=r.clock.now() - timedelta(days=9)),
    "supersede": lambda r, w: r.ann.supersede(w["oslo"], Fact("Alice lives in Rome")),
    "supersede by what is there": lambda r, w: r.ann.supersede(w["bergen"], w["oslo"]),
    "merge": lambda r, w: r.ann.merge(w["alice"], w["ally"]),
    "merge on": lambda r, w: r.ann.merge(w["alice"], w["bob"]),
    "unmerge": lambda r, w: r.ann.unmerge(w["robert"]),
    "mark_distinct": lambda r, w: r.ann.mark_distinct(w["alice"], w["ally"]),
    "resolve for one": lambda r, w: r.ann.resolve(w["oslo"], w["bergen"], keep=w["oslo"], note="moved"),
    "resolve for both": lambda r, w: r.ann.resolve(w["bergen"], w["oslo"], keep="both"),
    "archive": lambda r, w: r.ann.archive(w["bergen"], because="wrong"),
    "restore": lambda r, w: r.ann.restore(w["past"]),
    "batch": _batch,
    "approve": _approved,
}
"""What can be undone, by name."""
