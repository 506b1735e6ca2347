"""The library in one page: remember, ask, correct, keep from others, look back."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from engram_core import Fact, MemorySpace, NotFoundError, Person, Preference, assistant, private, user


def main(argv: Sequence[str] | None = None) -> int:
    """Builds a small memory in a file, asks it, and opens it again; takes no arguments."""
    assert not argv, "quickstart takes no arguments"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "brain.db"
        with MemorySpace.open(file) as space:
            ann = space.session(user("ann"))
            bot = space.session(assistant("claude"), session_id="s-42")

            alice = ann.remember(Person(full_name="Alice Ng", aliases=("Ali",)))
            tea = ann.remember(
                Preference(polarity="likes", target="oolong", context="drinks"),
                content="Alice likes oolong tea.",
                links=[("about", alice)],
            )
            assert alice.status == tea.status == "created"

            hits = bot.recall("what does Alice drink?")
            for hit in hits:
                print(f"{hit.score:.2f}  {hit.memory.display_title}")
            assert tea.memory_id in {hit.memory.id for hit in hits}

            party = ann.remember(
                Fact(statement="Alice gets a surprise party"), links=[("about", alice)], visibility=private()
            )
            assert (1, 0) == (ann.count(kind="fact"), bot.count(kind="fact"))
            try:
                bot.get(party)
            except NotFoundError as error:
                print(f"The assistant asks for the party: {error}")
            else:
                raise AssertionError("a private memory was shown to an assistant")

            ann.confirm(tea)
            assert round(ann.get(tea).confidence, 3) == 0.995

            old = ann.remember(Fact(statement="Alice lives in Bergen"), links=[("about", alice)])
            new = ann.supersede(old, Fact(statement="Alice lives in Oslo"))
            assert ann.get(old).status == "superseded"
            assert new.status == "created"

        with MemorySpace.open(file) as space:
            ann = space.session(user("ann"))
            statements = sorted(memory.attributes.statement for memory in ann.find(kind="fact"))
            print("After reopening:", "; ".join(statements))
            assert ["Alice gets a surprise party", "Alice lives in Oslo"] == statements
            assert ann.get(tea).attributes.target == "oolong"
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
