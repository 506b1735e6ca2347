"""The review desk: an assistant proposes what it heard, a person decides in the terminal.

Run it in a terminal and answer yourself; elsewhere the scripted answers are given, and what came of them is asserted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from engram_core import EvidenceRef, Fact, MemorySpace, Person, Preference, assistant, user
from engram_core.errors import ConflictError, EngramError
from engram_core.session import Session

Ask = Callable[[str], str]


class Said(NamedTuple):
    """One line of a conversation, with what the assistant's model made of it."""

    speaker: str
    words: str
    means: tuple[str, dict[str, Any]] | None = None


CONVERSATION: Final = (
    Said("Ann", "Alice moved to Oslo in May.", ("supersede", {"old": "lives", "statement": "Alice lives in Oslo"})),
    Said("Ann", "She has gone off coffee, by the way.", ("taste", {"polarity": "dislikes", "target": "coffee"})),
    Said("Bot", "Oh. And tea?"),
    Said("Ann", "Oolong, always.", ("taste", {"polarity": "likes", "target": "oolong"})),
    Said("Ann", "Her new boss is a Martian.", ("remember", {"statement": "Alice's boss is a Martian"})),
    Said("Ann", "No, wait: she is from Marseille.", ("remember", {"statement": "Alice's boss is from Marseille"})),
)
SCRIPT: Final = ("1 2 3 4 6", "the boss is no Martian", "y", "r", "y", "w")


def propose(bot: Session, known: dict[str, Any]) -> Any:
    """What was heard becomes drafts of one proposal, each with the words it rests on."""
    with bot.proposal("From a conversation with Ann", rationale="Ann told me today.") as p:
        for said in CONVERSATION:
            if said.means is None:
                continue
            verb, given = said.means
            quote = EvidenceRef("quote", said.words, note=said.speaker)
            match verb:
                case "supersede":
                    new = p.remember(Fact(given["statement"]), links=[("about", known["alice"])], evidence=quote)
                    p.supersede(known[given["old"]], new)
                case "taste":
                    taste = Preference(context="drinks", **given)
                    p.remember(taste, links=[("about", known["alice"])], evidence=quote)
                case _:
                    p.remember(Fact(given["statement"]), links=[("about", known["alice"])], evidence=quote)
    return p.receipt


def told(command: Any) -> str:
    """One draft in one line."""
    name = type(command).__name__
    match name:
        case "Remember":
            words = ", ".join(str(value) for value in command.attributes.values())
            because = f"  (“{command.evidence[0].value}”)" if command.evidence else ""
            return f"remember a {command.kind}: {words}{because}"
        case "Supersede":
            return "let it take the place of what was believed"
        case "UpdateAttributes":
            return f"change {command.changes}"
        case _:
            return name.lower()


def decide(ann: Session, proposal: Any, ask: Ask) -> None:
    """Shows one proposal, and does what the person says."""
    print(f"\n{proposal.author} asks: {proposal.title}")
    if proposal.rationale:
        print(f"  because: {proposal.rationale}")
    opened = [draft for draft in proposal.drafts if draft.status == "open"]
    for draft in opened:
        print(f"  {draft.number}. {told(draft.command)}")
    answer = ask("[y]es to all, [n]o, [r]ebase, [w]ithdraw, or the numbers to accept: ").strip().lower()
    try:
        if answer == "y":
            ann.approve(proposal, confirm=True)
        elif answer == "w":
            ann.withdraw(proposal)
        elif answer == "r":
            for moved in ann.rebase(proposal).possible_conflicts:
                print(f"  changed meanwhile: {moved.hint}")
            decide(ann, ann.proposal(proposal), ask)
        elif answer.replace(" ", "").isdigit():
            ann.approve(proposal, only=[int(number) for number in answer.split()], confirm=True)
            if ann.proposal(proposal).status == "open":
                ann.reject(proposal, note=ask("and why not the others? "))
        else:
            ann.reject(proposal, note=ask("why not? "))
    except ConflictError as error:
        print(f"  that cannot be: {error}")
        decide(ann, ann.proposal(proposal), ask)
    except EngramError as error:
        print(f"  {error}")


def answers() -> Ask:
    """The person's, if there is one at a terminal; else the script's."""
    if sys.stdin is not None and sys.stdin.isatty():
        return input
    script: Iterator[str] = iter(SCRIPT)

    def scripted(question: str) -> str:
        answer = next(script)
        print(f"{question}{answer}")
        return answer

    return scripted


def main(argv: Sequence[str] | None = None) -> int:
    """Holds one review; takes no arguments."""
    assert not argv, "review_desk takes no arguments"
    ask = answers()
    with MemorySpace.in_memory() as space:
        ann = space.session(user("ann"))
        bot = space.session(assistant("claude"), session_id="s-42")
        alice = ann.remember(Person("Alice Ng"))
        known = {
            "ann": ann.remember(Person("Ann Ode")),
            "alice": alice,
            "lives": ann.remember(Fact("Alice lives in Bergen"), links=[("about", alice)]),
        }
        first = propose(bot, known)
        second = bot.update(known["ann"], aliases=("Annie",))
        ann.update(known["ann"], roles=("sailor",))
        third = bot.archive(known["alice"], because="obsolete")
        assert (2, 3) == (ann.count(kind="person"), len(ann.proposals()))

        for proposal in list(ann.proposals()):
            decide(ann, ann.proposal(proposal), ask)

        print("\nBelieved now:")
        for memory in ann.find(order="id"):
            print(f"  {memory.display_title}  ({memory.confidence:.2f})")
        if ask is not input:
            check(ann, known, [first, second, third])
    return 0


def check(ann: Session, known: dict[str, Any], asked: list[Any]) -> None:
    """What the scripted answers must have led to."""
    statements = {m.attributes.statement for m in ann.find(kind="fact")}
    assert {"Alice lives in Oslo", "Alice's boss is from Marseille"} == statements
    assert "superseded" == ann.get(known["lives"]).status
    assert ["merged", "merged", "withdrawn"] == [str(ann.proposal(receipt).status) for receipt in asked]
    (rejected,) = [told(d.command) for d in ann.proposal(asked[0]).drafts if d.status == "rejected"]
    assert rejected.startswith("remember a fact: Alice's boss is a Martian")
    assert "the boss is no Martian" == ann.proposal(asked[0]).note
    assert ("sailor",) == ann.get(known["ann"]).attributes.roles
    assert ("Annie",) == ann.get(known["ann"]).attributes.aliases
    assert 0 == len(ann.proposals())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
