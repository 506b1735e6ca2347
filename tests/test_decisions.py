"""What each command changes, as events: one line a case.

The lines are in golden/decisions.txt, where they can be read as a whole. After a change of rules that is meant, the
file is made anew, from the root of the repository, and the difference read:

    PYTHONPATH=src:. python -m tests.test_decisions
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from engram_core.commands import (
    AddEvidence,
    AddLink,
    AdjustImportance,
    Archive,
    Confirm,
    Contradict,
    Delete,
    Edit,
    MarkDistinct,
    Merge,
    RemoveLink,
    Resolve,
    Restore,
    SetLifetime,
    SetValidity,
    SetVisibility,
    Supersede,
    Tag,
    Unmerge,
    UpdateAttributes,
)
from engram_core.decider import Change
from engram_core.events import (
    ContradictionResolved,
    MarkedDistinct,
    MemoryAbsorbed,
    MemoryArchived,
    MemoryConfirmed,
    MemoryContradicted,
    MemoryDeleted,
    MemoryEvidenceAdded,
    MemoryImportanceAdjusted,
    MemoryLinked,
    MemoryMerged,
    MemoryMergedInto,
    MemorySuperseded,
    MemoryTagged,
)
from engram_core.kinds import KINDS, Contact, Episode, Fact, Person
from engram_core.policy import Limits
from engram_core.testing import encoded, happened, memory_created, recorded_event
from engram_core.testing.scenario import ANN, START
from engram_core.values import (
    UNSET,
    EvidenceRef,
    Link,
    Validity,
    assistant,
    ephemeral,
    importer,
    permanent,
    plugin,
    private,
    restricted,
    standard,
    system,
    until,
)
from engram_core.vocab import ArchiveReason, Relation
from tests.golden_lines import GoldenLines
from tests.memory.decided import BEFORE, BOT, LATER, after, asked, remembering

GOLDEN = GoldenLines("decisions.txt")
QUOTE, URI = EvidenceRef("quote", "q", "because"), EvidenceRef("uri", "u")
QUOTED = MemoryEvidenceAdded(EvidenceRef("quote", "q"))
SOMETHING = Fact("z")
HOUR = timedelta(hours=1)
OLD = after("fact", MemoryArchived(ArchiveReason.OBSOLETE))
TAGGED = after("fact", MemoryTagged(("x", "y")))
KNOWN = after("fact", QUOTED)
CONFIRMED, DISPUTED = MemoryConfirmed(0.1, 1.0, True), MemoryContradicted(0.1, 0.0)


def begun(id: str, of: Any = SOMETHING, *, by: Any = ANN, **fields: Any) -> Any:
    """One more memory."""
    return happened(memory_created(of, **fields), id, by=by)


CONTENT = {
    "edit a title": asked(Edit("fact", title=" T ")),
    "edit a content": asked(Edit("fact", content="c", redactions=2)),
    "edit both": asked(Edit("fact", title="T", content="c")),
    "edit nothing": asked(Edit("fact", title=None, content="")),
    "take a title away": asked(Edit("titled", title=None), begun("titled", title="T", content="c")),
    "edit what is as it was": asked(Edit("titled", title="T", content="d"), begun("titled", title="T", content="c")),
    "update": asked(UpdateAttributes("ann", {"full_name": "Anne", "aliases": ["An"], "notes": None}, redactions=1)),
    "update nothing": asked(UpdateAttributes("ann", {"full_name": "Ann", "notes": None})),
    "update by an assistant": asked(UpdateAttributes("ann", {"notes": "n"}), by=BOT),
    "update by an assistant what is no surer": asked(
        UpdateAttributes("unsure", {"statement": "n"}), begun("unsure", confidence=0.1), by=BOT
    ),
    "clear": asked(UpdateAttributes("noted", {"notes": None}), begun("noted", Person("A", notes="n"))),
    "tag": asked(Tag("fact", (" X ", "z", "z"), ("y", "w")), TAGGED),
    "tag and untag the same": asked(Tag("fact", ("x",), ("x",)), TAGGED),
    "tag what is tagged": asked(Tag("fact", ("x", "y")), TAGGED),
    "tag up to the limit": asked(Tag("fact", ("z",)), TAGGED, limits=Limits(tags=3)),
    "untag beyond the limit": asked(Tag("fact", (), ("x",)), TAGGED, limits=Limits(tags=1)),
    "tag for an untagged one": asked(Tag("fact", ("z",), ("x",)), TAGGED, limits=Limits(tags=2)),
    "pin": asked(AdjustImportance("fact", pinned=True)),
    "pin what is pinned": asked(AdjustImportance("fact", pinned=True), after("fact", MemoryImportanceAdjusted(True))),
    "unpin what is not pinned": asked(AdjustImportance("fact", pinned=False)),
    "weigh": asked(AdjustImportance("fact", user_weight=1)),
    "weigh and pin": asked(AdjustImportance("fact", pinned=True, user_weight=0)),
    "weigh as before": asked(
        AdjustImportance("fact", user_weight=0.5), after("fact", MemoryImportanceAdjusted(UNSET, 0.5))
    ),
    "take a weight away": asked(
        AdjustImportance("fact", user_weight=None), after("fact", MemoryImportanceAdjusted(UNSET, 0.5))
    ),
    "hide": asked(SetVisibility("fact", private())),
    "hide what is hidden": asked(SetVisibility("hidden", private())),
    "restrict to oneself": asked(SetVisibility("fact", restricted(BOT)), by=BOT),
    "set a lifetime": asked(SetLifetime("fact", permanent())),
    "set the same lifetime": asked(SetLifetime("fact", standard())),
    "set a beginning": asked(SetValidity("fact", valid_from=START)),
    "set an end": asked(SetValidity("new", valid_to=LATER + HOUR)),
    "open a window": asked(SetValidity("new", valid_from=None)),
    "set the same window": asked(SetValidity("new", valid_from=LATER)),
    "archive": asked(Archive("fact", ArchiveReason.WRONG, "so it is")),
    "archive again": asked(Archive("fact", ArchiveReason.WRONG), OLD),
    "restore": asked(Restore("fact"), OLD),
    "restore with a lifetime": asked(Restore("fact", permanent()), OLD),
    "restore with the same lifetime": asked(Restore("fact", standard()), OLD),
    "restore what is there": asked(Restore("fact")),
    "restore what is there with a lifetime": asked(Restore("fact", permanent())),
    "restore what has ended": asked(Restore("brief", standard()), begun("brief", lifetime=until(BEFORE))),
    "restore what was brief": asked(
        Restore("brief", standard()), begun("brief", lifetime=ephemeral()), now=START + timedelta(days=99)
    ),
    "delete": asked(Delete("fact", "no more")),
}

BELIEF = {
    "evidence": asked(AddEvidence("fact", QUOTE)),
    "evidence that corroborates": asked(AddEvidence("fact", QUOTE, corroborates=True)),
    "evidence that corroborates again": asked(AddEvidence("fact", QUOTE, corroborates=True), KNOWN),
    "other evidence that corroborates": asked(AddEvidence("fact", URI, corroborates=True), KNOWN),
    "evidence of an assistant": asked(AddEvidence("fact", QUOTE, corroborates=True), by=BOT),
    "evidence of an importer": asked(AddEvidence("fact", QUOTE, corroborates=True), by=importer("i")),
    "evidence up to the limit": asked(AddEvidence("fact", URI), KNOWN, limits=Limits(evidences=2)),
    "confirm": asked(Confirm("fact")),
    "confirm by evidence": asked(Confirm("fact", QUOTE)),
    "confirm by evidence that is known": asked(Confirm("fact", QUOTE), KNOWN),
    "confirm as an assistant": asked(Confirm("fact"), by=BOT),
    "confirm by evidence as an assistant": asked(Confirm("fact", QUOTE), by=BOT),
    "confirm by evidence as a plugin": asked(Confirm("fact", QUOTE), by=plugin("p")),
    "confirm by known evidence as a plugin": asked(Confirm("fact", QUOTE), KNOWN, by=plugin("p")),
    "confirm again": asked(Confirm("fact"), after("fact", CONFIRMED)),
    "confirm again by evidence": asked(Confirm("fact", QUOTE), after("fact", CONFIRMED)),
    "confirm again by known evidence": asked(Confirm("fact", QUOTE), after("fact", CONFIRMED), KNOWN),
    "confirm again later": asked(
        Confirm("fact"), after("fact", CONFIRMED), now=START + 24 * HOUR, occurred_at=START + 24 * HOUR
    ),
    "confirm again a little earlier": asked(
        Confirm("fact"), after("fact", CONFIRMED), now=START + 24 * HOUR, occurred_at=START + 23.9 * HOUR
    ),
    "confirm what was disputed since": asked(Confirm("fact"), after("fact", CONFIRMED), after("fact", DISPUTED)),
    "confirm as an assistant what was disputed since": asked(
        Confirm("fact"), after("fact", CONFIRMED, by=BOT), after("fact", DISPUTED), by=BOT
    ),
    "dispute": asked(Contradict("fact")),
    "dispute as an assistant": asked(Contradict("fact"), by=BOT),
    "dispute by evidence and in words": asked(Contradict("fact", evidence=QUOTE, note="no")),
    "dispute by a memory": asked(Contradict("fact", by="other")),
    "dispute by a memory in words": asked(Contradict("fact", by="other", evidence=QUOTE, note="no")),
    "dispute by a memory that disputes": asked(
        Contradict("fact", by="other"), after("other", MemoryLinked(Relation.CONTRADICTS, "fact"))
    ),
    "dispute again": asked(Contradict("fact"), after("fact", DISPUTED)),
    "dispute again by something else": asked(Contradict("fact", evidence=QUOTE), after("fact", DISPUTED)),
    "dispute again what was confirmed since": asked(
        Contradict("fact"), after("fact", DISPUTED), after("fact", CONFIRMED)
    ),
    "dispute again as an assistant what was confirmed since": asked(
        Contradict("fact"), after("fact", DISPUTED, by=BOT), after("fact", CONFIRMED), by=BOT
    ),
    "resolve for one": asked(Resolve("fact", "other", "fact", "it is so")),
    "resolve for the other": asked(Resolve("fact", "other", "other")),
    "resolve for both": asked(Resolve("fact", "other", "both", "as well")),
    "resolve what is archived": asked(Resolve("fact", "other", "other"), OLD),
    "resolve again": asked(Resolve("fact", "other", "both"), after("fact", ContradictionResolved("other", "both"))),
    "resolve again from the other side": asked(
        Resolve("other", "fact", "both"), after("fact", ContradictionResolved("other", "both"))
    ),
    "resolve again otherwise": asked(
        Resolve("fact", "other", "fact"), after("fact", ContradictionResolved("other", "both"))
    ),
    "resolve again as it was before": asked(
        Resolve("fact", "other", "both"),
        after("fact", ContradictionResolved("other", "both")),
        after("other", ContradictionResolved("fact", "other")),
    ),
    "resolve again as it was at last": asked(
        Resolve("fact", "other", "both"),
        after("fact", ContradictionResolved("other", "other")),
        after("other", ContradictionResolved("fact", "both")),
    ),
    "resolve again after a dispute": asked(
        Resolve("fact", "other", "both"),
        after("fact", ContradictionResolved("other", "both")),
        after("other", DISPUTED),
    ),
    "resolve again after a new edge": asked(
        Resolve("fact", "other", "both"),
        after("fact", ContradictionResolved("other", "both")),
        after("other", MemoryLinked(Relation.CONTRADICTS, "fact")),
    ),
    "distinct": asked(MarkDistinct("ann", "anna")),
    "distinct again": asked(MarkDistinct("ann", "anna"), after("ann", MarkedDistinct("anna"))),
    "distinct again from the other side": asked(MarkDistinct("ann", "anna"), after("anna", MarkedDistinct("ann"))),
}

ENDED = begun("ended", validity=Validity(None, START))
SUPPLANTED = after("fact", MemorySuperseded("other", START))
RICH = begun("rich", Person("Ann", aliases=("Annie", "Nan")), tags=("a", "b"))

JOINING = {
    "supersede": asked(Supersede("fact", "other")),
    "supersede from": asked(Supersede("fact", "other", BEFORE)),
    "supersede by what begins later": asked(Supersede("fact", "new")),
    "supersede what begins later": asked(Supersede("new", "later"), begun("later", validity=Validity(LATER + HOUR))),
    "supersede by what is over": asked(Supersede("fact", "ended"), ENDED),
    "supersede by what was over before": asked(
        Supersede("fact", "ended"), begun("ended", validity=Validity(None, BEFORE))
    ),
    "supersede what has a window": asked(Supersede("past", "other"), begun("past", validity=Validity(BEFORE, START))),
    "supersede again": asked(Supersede("fact", "other"), SUPPLANTED),
    "supersede by a third": asked(Supersede("fact", "new"), SUPPLANTED),
    "supersede where the edge is": asked(
        Supersede("fact", "other"), after("other", MemoryLinked(Relation.SUPERSEDES, "fact"))
    ),
    "supersede by a link": asked(AddLink("other", Relation.SUPERSEDES, "fact")),
    "merge": asked(Merge("ann", "rich"), RICH, after("ann", MemoryTagged(("b",)))),
    "merge what absorbed": asked(
        Merge("ann", "rich"),
        RICH,
        after("rich", MemoryMerged("third")),
        after("rich", MemoryAbsorbed("third", ("Third",), ("t",), ("fourth",))),
        after("rich", MemoryMerged("silent")),
    ),
    "merge again": asked(Merge("ann", "anna"), after("anna", MemoryMergedInto("ann"))),
    "unmerge": asked(Unmerge("anna"), after("ann", MemoryMerged("anna")), after("anna", MemoryMergedInto("ann"))),
    "unmerge what gave nothing": asked(Unmerge("anna"), after("anna", MemoryMergedInto("ann"))),
    "unmerge from what was merged on": asked(
        Unmerge("anna"),
        after("ann", MemoryMerged("anna")),
        after("anna", MemoryMergedInto("ann")),
        RICH,
        after("rich", MemoryMerged("ann")),
        after("rich", MemoryMerged("anna")),
        after("ann", MemoryMergedInto("rich")),
    ),
    "unmerge in a circle": asked(
        Unmerge("anna"), after("anna", MemoryMergedInto("ann")), after("ann", MemoryMergedInto("anna"))
    ),
    "unmerge below a circle": asked(
        Unmerge("anna"),
        after("anna", MemoryMergedInto("ann")),
        RICH,
        after("rich", MemoryMerged("anna")),
        after("ann", MemoryMergedInto("rich")),
        after("rich", MemoryMergedInto("ann")),
    ),
    "link": asked(AddLink("fact", Relation.ABOUT, "ann")),
    "link for sure": asked(
        AddLink("fact", Relation.ABOUT, "ann", ensure=True), after("fact", MemoryLinked(Relation.ABOUT, "ann"))
    ),
    "link for sure both ways": asked(
        AddLink("ann", Relation.RELATES_TO, "fact", ensure=True),
        after("fact", MemoryLinked(Relation.RELATES_TO, "ann")),
    ),
    "link back": asked(AddLink("ann", Relation.ABOUT, "fact"), after("fact", MemoryLinked(Relation.ABOUT, "ann"))),
    "link up to the limit": asked(
        AddLink("fact", Relation.ABOUT, "anna"),
        after("fact", MemoryLinked(Relation.ABOUT, "ann")),
        limits=Limits(links=2),
    ),
    "link a part": asked(AddLink("moon", Relation.PART_OF, "mars")),
    "link a second owner after the first": asked(
        AddLink("mail", Relation.OWNED_BY, "anna"),
        after("mail", MemoryLinked(Relation.OWNED_BY, "ann")),
        after("ann", MemoryDeleted()),
    ),
    "unlink": asked(RemoveLink("fact", Relation.ABOUT, "ann"), after("fact", MemoryLinked(Relation.ABOUT, "ann"))),
    "unlink what is not linked": asked(RemoveLink("fact", Relation.ABOUT, "ann")),
    "unlink from the other side": asked(
        RemoveLink("ann", Relation.RELATES_TO, "fact"), after("fact", MemoryLinked(Relation.RELATES_TO, "ann"))
    ),
    "unlink from nobody": asked(
        RemoveLink("fact", Relation.ABOUT, "nobody"), after("fact", MemoryLinked(Relation.ABOUT, "nobody"))
    ),
    "unlink from nobody as an assistant": asked(
        RemoveLink("fact", Relation.ABOUT, "nobody"), after("fact", MemoryLinked(Relation.ABOUT, "nobody")), by=BOT
    ),
}

BEGINNING = {
    "remember": asked(remembering()),
    "remember as an assistant": asked(remembering(), by=BOT),
    "remember as the system": asked(remembering(own_id=True), by=system("s")),
    "remember everything": asked(
        remembering(
            title=" T ",
            content="c",
            tags=("X", "x "),
            links=(Link(Relation.ABOUT, "ann"), Link(Relation.ABOUT, "ann"), Link(Relation.ABOUT, "anna")),
            evidence=(QUOTE, EvidenceRef("quote", "q"), URI),
            confidence=1,
            pinned=True,
            user_weight=0,
            lifetime=permanent(),
            visibility=restricted(BOT),
            validity=Validity(BEFORE, LATER),
            external_ids=(("s", "1"), ("s", "1")),
            source_ref="r",
            redactions=3,
            redactor="z 1",
        )
    ),
    "remember what supersedes": asked(remembering(links=(Link(Relation.SUPERSEDES, "fact"),))),
    "remember what supersedes two": asked(
        remembering(links=(Link(Relation.SUPERSEDES, "fact"), Link(Relation.SUPERSEDES, "other")))
    ),
    "remember what supersedes from": asked(
        remembering(links=(Link(Relation.SUPERSEDES, "fact"),), validity=Validity(BEFORE, LATER))
    ),
    "remember an episode": asked(
        remembering(kind="event", attributes=KINDS.unstructure(Episode(start_at=BEFORE, end_at=LATER)))
    ),
    "remember a contact": asked(
        remembering(
            kind="contact",
            attributes=KINDS.unstructure(Contact(channel="email", value="c@d")),
            links=(Link(Relation.OWNED_BY, "ann"),),
        )
    ),
    "remember for an assistant": asked(remembering(visibility=restricted(assistant("bot"))), by=BOT),
    "remember as late as may be": asked(remembering(), occurred_at=START + timedelta(minutes=5)),
}

CASES = {**CONTENT, **BELIEF, **JOINING, **BEGINNING}


def shown(change: Change) -> str:
    """A change in a line: the stream, whose payload it is, and the event as the log would hold it."""
    owner = "" if change.owner == change.stream else f" (of {change.owner})"
    payload = json.loads(encoded(recorded_event(change.event)).data)["v"]
    return f"{change.stream}{owner}: {type(change.event).__name__} {json.dumps(payload)}"


def told(name: str) -> str:
    """What is decided in a case, in one line."""
    return "; ".join(map(shown, CASES[name]())) or "nothing"


@pytest.mark.parametrize("name", CASES)
def test_a_command_becomes_events(name: str) -> None:
    """These, in this order, owned by these; or nothing where nothing is to change."""
    assert GOLDEN.read()[name] == told(name)


def test_every_line_has_a_case() -> None:
    """None is left of what is no more decided."""
    assert list(CASES) == list(GOLDEN.read())


if __name__ == "__main__":
    GOLDEN.write(CASES, told)
