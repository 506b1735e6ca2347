"""The one statement agrees with the formulas, memory by memory."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import isclose
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_core import Fact, MemorySpace, Person, Policy, Relationship, user
from engram_core.lifecycle import decay_of, is_expired
from engram_core.policy import ImportancePolicy, RetentionPolicy
from engram_core.retention import Signals, importance_score, recency, retention_score
from engram_core.state import MemoryState
from engram_core.stores.in_memory import InMemoryStore
from engram_core.vocab import Relation, StoredStatus
from tests.projections.histories import Driver, Naive, histories

LIVE = (StoredStatus.ACTIVE, StoredStatus.ARCHIVED)

PLAIN = Policy()
ODD = Policy(
    retention=RetentionPolicy(
        recency=0.3, frequency=0.3, centrality=0.2, confidence=0.1, user_weight=0.1, full_frequency=7, full_centrality=3
    ),
    importance=ImportancePolicy(per_evidence=0.02, max_evidence=1, per_link=0.03, max_links=2, disputed=0.07),
)
FADING = attrs.evolve(PLAIN, retention=attrs.evolve(PLAIN.retention, access_half_life_days=5.0))


class Graph:
    """Who is near whom, in plain Python."""

    def __init__(self, states: dict[str, MemoryState], now: datetime, policy: Policy, kinds: Any) -> None:
        self.states = states
        self.now = now
        self.expired = {
            id for id, s in states.items() if s.kind and is_expired(s, now, decay_of(s.kind, policy, kinds))
        }

    def live(self, id: str) -> bool:
        return id in self.states and self.states[id].lifecycle.stored in LIVE

    def place(self, id: str) -> str:
        seen = {id}
        while (
            self.live(id) and (survivor := self.states[id].lifecycle.merged_into) is not None and survivor not in seen
        ):
            seen.add(survivor)
            id = survivor
        return id

    def recallable(self, id: str) -> bool:
        s = self.states[id]
        superseded = any(at <= self.now and self.live(by) for by, at in s.lifecycle.superseded)
        return s.lifecycle.stored is StoredStatus.ACTIVE and id not in self.expired and not superseded

    def neighbours(self) -> dict[str, set[str]]:
        pairs: list[tuple[str, str]] = []
        for id, s in self.states.items():
            far = {Relation.CONTRADICTS, Relation.SUPERSEDES}
            pairs += [(id, link.target) for link in s.edges.links if link.relation not in far]
            if s.kind == "relationship" and s.lifecycle.stored is StoredStatus.ACTIVE and id not in self.expired:
                pairs.append((s.attributes.raw["subject_id"], s.attributes.raw["object_id"]))
        found: dict[str, set[str]] = {}
        for one, other in ((self.place(a), self.place(b)) for a, b in pairs if a in self.states and b in self.states):
            if one != other:
                found.setdefault(one, set()).add(other)
                found.setdefault(other, set()).add(one)
        return {id: {other for other in near if self.live(other)} for id, near in found.items()}

    def links(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for id, s in self.states.items():
            for link in s.edges.links:
                if link.target in self.states:
                    found[id] = found.get(id, 0) + self.live(link.target)
                    found[link.target] = found.get(link.target, 0) + self.live(id)
        return found

    def disputed(self) -> set[str]:
        found: set[str] = set()
        for id, s in self.states.items():
            for link, began in s.edges.links.items():
                if link.relation is not Relation.CONTRADICTS:
                    continue
                other = self.states[link.target]
                ended = [s.edges.resolved.get(other.id), other.edges.resolved.get(id)]
                if (
                    self.recallable(id)
                    and self.recallable(other.id)
                    and max(s.confidence.user_confirmed, other.confidence.user_confirmed) <= began
                    and not any(how is not None and how.position >= began for how in ended)
                ):
                    found |= {id, other.id}
        return found


def expected(driver: Driver, policy: Policy, now: datetime) -> dict[int, tuple[float, float, int]]:
    """Importance, retention and degree of every live memory, by the formulas."""
    naive = Naive(driver)
    for _ in naive.commits():
        pass
    kinds = driver.model.rows.kinds
    graph = Graph(naive.states, now, policy, kinds)
    near, links, disputed = graph.neighbours(), graph.links(), graph.disputed()
    used: dict[str, list[tuple[int, datetime]]] = {}
    for event in driver.space.events():
        for id, count, at in getattr(event.event, "reads", ()):
            used.setdefault(id, []).append((count, at))
    found = {}
    for id, s in naive.states.items():
        if not graph.live(id) or not s.kind:
            continue
        reads = used.get(id, [])
        last = max((at for _, at in reads), default=None)
        half = policy.retention.access_half_life_days
        accesses = sum(count if half is None else count * recency(at, last, half) for count, at in reads if last)
        signals = Signals(
            created_at=s.origin.created_at,
            recorded_at=s.origin.recorded_at,
            confidence=s.confidence.confidence,
            last_confirmed_at=s.confidence.last_confirmed_at,
            last_access_at=last,
            accesses=accesses,
            neighbours=len(near.get(id, ())),
            evidences=len({(item.ref.type, item.ref.value) for item in s.evidence}),
            links=links.get(id, 0),
            is_disputed=id in disputed,
            is_pinned=s.importance.pinned,
            user_weight=s.importance.user_weight,
        )
        decay = decay_of(s.kind, policy, kinds)
        found[s.origin.position] = (
            importance_score(signals, policy, decay),
            retention_score(signals, now, policy, decay),
            signals.neighbours,
        )
    return found


@pytest.mark.parametrize("policy", [PLAIN, ODD, FADING], ids=["plain", "odd", "fading"])
@given(steps=histories, days=st.integers(0, 400))
@settings(max_examples=25)
def test_the_statement_is_the_formulas(policy: Policy, steps: Any, days: int) -> None:
    """To 1e-12, for every memory that is there and no other."""
    driver = Driver(InMemoryStore(), policy=policy)
    driver.run([("remember", n, n, n) for n in range(10)] + steps)
    driver.space.flush()
    now = driver.clock.now() + timedelta(days=days)
    wanted = expected(driver, policy, now)
    with driver.engine.host.transaction() as tx:
        assert driver.model.recompute_scores(tx, now) == len(wanted)
        rows = tx.execute("SELECT key, importance, retention, degree FROM scores").fetchall()
    assert {row[0] for row in rows} == set(wanted)
    for key, importance, retention, degree in rows:
        assert isclose(importance, wanted[key][0], abs_tol=1e-12)
        assert isclose(retention, wanted[key][1], abs_tol=1e-12)
        assert degree == wanted[key][2]


def test_recomputing_writes_no_event() -> None:
    """Scores are derived; computing them again changes nothing else."""
    with MemorySpace.in_memory() as space:
        ann = space.session(user("ann"))
        alice, bob = (ann.remember(Person(full_name=name, roles=("x",))) for name in ("Alice", "Bob"))
        ann.remember(Relationship(subject_id=alice.memory_id, predicate="knows", object_id=bob.memory_id))
        ann.remember(Fact(statement="x"), links=[("about", alice)])
        head = space.position
        keeper = space.maintenance(user("ann"))
        assert keeper.recompute_scores() == keeper.recompute_scores() == 4
        assert space.position == head
        with space._engine.host.reading() as tx:
            degrees = tx.execute("SELECT degree FROM scores ORDER BY key").fetchall()
        assert degrees == [(2,), (1,), (0,), (1,)]
