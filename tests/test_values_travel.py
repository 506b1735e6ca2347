"""Whatever the door answers can be pickled, copied and compared: to a worker process and back it stays what it is."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from engram_core import (
    KINDS,
    ApprovalPolicy,
    Draft,
    Fact,
    Limits,
    MemorySpace,
    Person,
    Policy,
    assistant,
    restricted,
    user,
    when,
)
from engram_core.filters import ge
from engram_core.packs.outcomes import with_outcomes
from engram_core.testing import FrozenClock, SequentialIds


def answers() -> Iterator[tuple[str, Any]]:
    """What every read and write of a small space answers, by name."""
    clock = FrozenClock()
    with MemorySpace.in_memory(clock=clock, ids=SequentialIds()) as space:
        ann = space.session(user("ann"), session_id="s")
        alice = ann.remember(Person("Alice Ng"))
        tea = ann.remember(Fact("oolong"), tags=["drink"], links=[("about", alice)])
        clock.move(days=1)
        ann.contradict(tea, by=ann.remember(Fact("not oolong")))
        proposed = space.session(assistant("claude")).remember(Fact("proposed"))
        now = clock.now()
        hits = ann.recall("oolong")
        with ann.preview() as preview:
            preview.pin(tea)
        yield from {
            "receipt": tea,
            "get": ann.get(tea),
            "find": ann.find(),
            "recall": hits,
            "hit": hits[0],
            "search": ann.search("kind:fact"),
            "neighbours": ann.neighbours(tea),
            "path": ann.path(tea, alice),
            "subgraph": ann.subgraph(tea),
            "history": ann.history(tea),
            "why": ann.why(tea),
            "explain": ann.explain(hits[0]),
            "scores": ann.scores(tea),
            "accesses": ann.accesses(tea),
            "stats": ann.stats(),
            "tags": ann.tags(),
            "timeline": ann.timeline(now - timedelta(days=2), now + timedelta(days=1)),
            "diff": ann.diff(ann.as_of(known_at=now - timedelta(days=1))),
            "reviews": ann.reviews(),
            "proposals": ann.proposals(),
            "proposal": ann.proposal(proposed),
            "remember_many": ann.remember_many([Fact("z")]),
            "preview": preview.reviews,
            "quarantine": ann.quarantine(session_id="s"),
            "erase": ann.erase(tea, dry_run=True),
            "export_subject": ann.export_subject(alice),
            "anchor": space.anchor(),
            "events": tuple(space.events()),
            "expire": space.maintenance(user("ann")).expire(),
            "report": space.maintenance(user("ann")).report(),
            "verify": space.maintenance(user("ann")).verify(),
            "Policy": Policy(),
            "Limits": Limits(),
            "KINDS": KINDS,
            "kinds of one's own": with_outcomes(KINDS),
            "ApprovalPolicy": ApprovalPolicy.trust_assistants(),
            "Draft": Draft(Fact("x"), tags=["y"]),
            "Operator": ge(1),
            "Period": when("2024"),
            "Visibility": restricted(assistant("claude")),
            "attributes": Person("Alice", aliases=("Ali",)),
        }.items()


ANSWERS = dict(answers())


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_survive_pickle_and_copy(name: str) -> None:
    """What comes back is equal, of the same class and reads the same; the space need not be open."""
    given = ANSWERS[name]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(given, protocol))
        assert (type(given), given, sorted(repr(given))) == (type(again), again, sorted(repr(again)))
    for again in (copy.copy(given), copy.deepcopy(given)):
        assert (given, sorted(repr(given))) == (again, sorted(repr(again)))


def test_memories_can_be_put_into_sets() -> None:
    """Two readings of one revision are one member."""
    memory = ANSWERS["get"]
    assert 1 == len({memory, pickle.loads(pickle.dumps(memory))})


def test_a_mark_is_shown_once() -> None:
    """A stale memory is not called stale twice."""
    assert repr(ANSWERS["why"].memory).count("stale") <= 1
