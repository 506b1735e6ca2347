"""Random histories of a space, and its tables made again in the most naive way."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from engram_core import (
    Contact,
    Episode,
    EvidenceRef,
    Fact,
    MemorySpace,
    Person,
    Preference,
    Project,
    Relationship,
    assistant,
    ephemeral,
    private,
    restricted,
    shared,
    until,
    user,
)
from engram_core.errors import ConcurrencyError, NotFoundError, RejectedError
from engram_core.folding import fold
from engram_core.projections import schema, texts
from engram_core.projections.indexing import text_of
from engram_core.projections.replay import commits_of
from engram_core.projections.rows import is_bare, is_memory_stream
from engram_core.state import MemoryState
from engram_core.stores.in_memory import InMemoryStore
from engram_core.stores.sqlite import SqliteStore
from engram_core.testing import FrozenClock, SequentialIds
from engram_core.values import to_micros

Step = tuple[str, int, int, int]

VERBS = (
    "remember remember remember remember tag tag link link unlink edit update confirm contradict resolve distinct"
    " evidence pin weigh hide show narrow window lifetime supersede merge unmerge archive restore delete erase undo"
    " redo batch read propose approve reject wait"
).split()

histories = st.lists(
    st.tuples(st.sampled_from(VERBS), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=30,
)

WORDS = ("tea", "Tee trinken", "C++ & café", "日本語のメモ", "a_b.c", "two  blanks", "x", "Ng's", '"quoted"', "é")


class PlainStore:
    """A log with nothing but the methods of an `EventStore`."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @property
    def store_id(self) -> Any:
        return self.inner.store_id

    def append(self, batch: Any) -> Any:
        return self.inner.append(batch)

    def read_stream(self, stream: str, **bounds: Any) -> Any:
        return self.inner.read_stream(stream, **bounds)

    def read(self, **bounds: Any) -> Any:
        return self.inner.read(**bounds)

    def head(self) -> int:
        return self.inner.head()

    def close(self) -> None:
        self.inner.close()


class Driver:
    """Takes steps in a space; what its rules refuse is no step."""

    def __init__(self, store: Any, *, first_id: int = 1, **options: Any) -> None:
        self.clock = FrozenClock(datetime(2026, 3, 1, tzinfo=UTC), step=timedelta(seconds=1))
        self.space = MemorySpace.over(store, clock=self.clock, ids=SequentialIds(first_id), **options)
        self.engine = self.space._engine
        self.model = self.engine.read_model
        self.ann = self.space.session(user("ann"), session_id="s-1", client="test")
        self.bot = self.space.session(assistant("bot"))
        self.ids: list[str] = []
        self.batches: list[str] = []
        self.proposals: list[str] = []

    def run(self, steps: list[Step]) -> None:
        for step in steps:
            self.take(*step)

    def take(self, verb: str, a: int, b: int, c: int) -> None:
        with suppress(RejectedError, NotFoundError, ConcurrencyError):
            receipt = getattr(self, f"do_{verb}")(a, b, c)
            if receipt is None:
                return
            if receipt.memory_id is not None and receipt.memory_id not in self.ids and receipt.proposal_id is None:
                self.ids.append(receipt.memory_id)
            if receipt.batch_id is not None:
                self.batches.append(receipt.batch_id)
            if receipt.proposal_id is not None:
                self.proposals.append(receipt.proposal_id)

    def m(self, n: int) -> str:
        return self.ids[n % len(self.ids)] if self.ids else "00000000-0000-7000-8000-00000000ffff"

    def person(self, n: int) -> str:
        """One of the people, or whatever there is."""
        people = [id for id in self.ids if (state := self.engine.state_of(id)) is not None and state.kind == "person"]
        return people[n % len(people)] if people else self.m(n)

    def draft(self, a: int, b: int) -> Any:
        word = WORDS[b]
        return (
            lambda: Fact(statement=f"{word} {a}"),
            lambda: Person(full_name=f"{word} Ng", aliases=(f"N{b}",)),
            lambda: Preference(polarity="likes" if b % 2 else "dislikes", target="tea", strength=b / 10),
            lambda: Project(name=word, status="active" if b % 2 else "done", target_date="2027-03"),
            lambda: Episode(start_at=datetime(2026, 1, 1 + b, tzinfo=UTC), outcome=word),
            lambda: Contact(channel="email", value=f"n{b}@x.org", preferred=bool(b % 2)),
            lambda: Relationship(subject_id=self.m(a), predicate="knows", object_id=self.m(b)),
            lambda: Person(full_name="Alice Ng"),
            lambda: Fact(statement="same"),
            lambda: Fact(statement=word),
        )[a]()

    def do_remember(self, a: int, b: int, c: int) -> Any:
        audience = (shared(), private(), restricted(assistant("bot")))[c % 3 if c < 4 else 0]
        life = {7: {"lifetime": ephemeral()}, 8: {"lifetime": until(datetime(2026, 4, 1, tzinfo=UTC))}}.get(c, {})
        return self.ann.remember(
            self.draft(a, b),
            content=WORDS[c] if b > 4 else "",
            title=WORDS[a] if c == 9 else None,
            tags=(WORDS[b], "common") if c % 2 else (),
            links=[("about", self.m(c))] if self.ids and b % 2 else [],
            evidence=[EvidenceRef("quote", WORDS[c])] if b == 3 else [],
            external_ids=[("v", str(b))] if c == 5 else [],
            visibility=audience,
            **life,
        )

    def do_tag(self, a: int, b: int, c: int) -> Any:
        return self.ann.tag(self.m(a), WORDS[b]) if c < 6 else self.ann.untag(self.m(a), WORDS[b], "common")

    def do_link(self, a: int, b: int, c: int) -> Any:
        return self.ann.link(self.m(a), ("about", "relates_to", "derived_from", "located_in")[c % 4], self.m(b))

    def do_unlink(self, a: int, b: int, c: int) -> Any:
        return self.ann.unlink(self.m(a), ("about", "relates_to", "derived_from", "contradicts")[c % 4], self.m(b))

    def do_edit(self, a: int, b: int, c: int) -> Any:
        return self.ann.edit(self.m(a), content=WORDS[b], title=None if c % 2 else WORDS[c])

    def do_update(self, a: int, b: int, c: int) -> Any:
        return self.ann.update(
            self.m(a), [{"statement": WORDS[b]}, {"aliases": [WORDS[b]]}, {"status": "paused"}][c % 3]
        )

    def do_confirm(self, a: int, b: int, c: int) -> Any:
        return self.ann.confirm(self.m(a), evidence=EvidenceRef("uri", WORDS[b]) if c % 2 else None)

    def do_contradict(self, a: int, b: int, c: int) -> Any:
        return self.ann.contradict(self.m(a), by=self.m(b)) if c < 7 else self.ann.contradict(self.m(a), note="no")

    def do_resolve(self, a: int, b: int, c: int) -> Any:
        return self.ann.resolve(self.m(a), self.m(b), keep=self.m(a) if c % 2 else "both")

    def do_distinct(self, a: int, b: int, c: int) -> Any:
        return self.ann.mark_distinct(self.m(a), self.m(b))

    def do_evidence(self, a: int, b: int, c: int) -> Any:
        return self.ann.add_evidence(self.m(a), EvidenceRef("quote", WORDS[b]), corroborates=bool(c % 2))

    def do_pin(self, a: int, b: int, c: int) -> Any:
        return self.ann.pin(self.m(a)) if c % 2 else self.ann.unpin(self.m(a))

    def do_weigh(self, a: int, b: int, c: int) -> Any:
        return self.ann.weigh(self.m(a), b / 9 if c % 3 else None)

    def do_hide(self, a: int, b: int, c: int) -> Any:
        return self.ann.set_visibility(self.m(a), private())

    def do_show(self, a: int, b: int, c: int) -> Any:
        return self.ann.set_visibility(self.m(a), shared())

    def do_narrow(self, a: int, b: int, c: int) -> Any:
        return self.ann.set_visibility(self.m(a), restricted(assistant("bot"), assistant(f"b{c}")))

    def do_window(self, a: int, b: int, c: int) -> Any:
        return self.ann.set_validity(self.m(a), valid_from=datetime(2025, 1, 1 + b, tzinfo=UTC))

    def do_lifetime(self, a: int, b: int, c: int) -> Any:
        return self.ann.set_lifetime(self.m(a), ephemeral() if c % 2 else until(datetime(2026, 5, 1 + b, tzinfo=UTC)))

    def do_supersede(self, a: int, b: int, c: int) -> Any:
        return self.ann.supersede(self.m(a), self.m(b) if c < 6 else Fact(statement=f"newer {b}"))

    def do_merge(self, a: int, b: int, c: int) -> Any:
        return self.ann.merge(self.person(a), self.person(b))

    def do_unmerge(self, a: int, b: int, c: int) -> Any:
        return self.ann.unmerge(self.person(a))

    def do_archive(self, a: int, b: int, c: int) -> Any:
        return self.ann.archive(self.m(a), because="wrong" if c % 2 else "obsolete")

    def do_restore(self, a: int, b: int, c: int) -> Any:
        return self.ann.restore(self.m(a))

    def do_delete(self, a: int, b: int, c: int) -> Any:
        return self.ann.delete(self.m(a)) if c < 4 else None

    def do_erase(self, a: int, b: int, c: int) -> Any:
        if c < 4 and not isinstance(self.engine.store, PlainStore):
            self.ann.erase(self.m(a))

    def do_undo(self, a: int, b: int, c: int) -> Any:
        return self.ann.undo(self.batches[-1 - a % len(self.batches)]) if self.batches else None

    def do_redo(self, a: int, b: int, c: int) -> Any:
        return self.ann.redo(self.batches[-1 - a % len(self.batches)]) if self.batches else None

    def do_batch(self, a: int, b: int, c: int) -> Any:
        with self.ann.batch() as batch:
            batch.tag(self.m(a), WORDS[b])
            batch.confirm(self.m(c))
            batch.tag(self.m(a), "late")

    def do_read(self, a: int, b: int, c: int) -> Any:
        (self.ann if c % 2 else self.bot).get(self.m(a))
        self.ann.recall(WORDS[b])

    def do_propose(self, a: int, b: int, c: int) -> Any:
        return self.bot.remember(self.draft(a, b)) if c < 5 else self.bot.tag(self.m(a), WORDS[b])

    def do_approve(self, a: int, b: int, c: int) -> Any:
        return self.ann.approve(self.proposals[-1 - a % len(self.proposals)]) if self.proposals else None

    def do_reject(self, a: int, b: int, c: int) -> Any:
        return self.ann.reject(self.proposals[-1 - a % len(self.proposals)]) if self.proposals else None

    def do_wait(self, a: int, b: int, c: int) -> Any:
        self.clock.move(days=a * 10)


def stores(tmp_path: Path) -> dict[str, Callable[[], Any]]:
    """One store of each sort."""
    return {
        "sqlite": lambda: SqliteStore(tmp_path / "space.db", durability="normal"),
        "memory": InMemoryStore,
        "plain": lambda: PlainStore(InMemoryStore()),
    }


# -- the tables as they are -------------------------------------------------------------------------

PAST = [f"past_{name}" for name in schema.TABLES]
OTHERS = [name for name in schema.OTHER_TABLES if name not in {"meta", "scores"}]


def tables(tx: sqlite3.Connection) -> dict[str, list[Any]]:
    """The content of every table, in an order of its own; rows of past texts are numbered by chance."""
    found: dict[str, list[Any]] = {}
    for name in (*schema.TABLES, *PAST, *OTHERS, "names", "text_totals"):
        found[name] = sorted(tx.execute(f"SELECT * FROM {name}"), key=repr)
    found["meta"] = sorted(tx.execute("SELECT * FROM meta WHERE name <> 'policy'"), key=repr)
    present: list[Any] = []
    for lane in texts.LANES:
        present += tx.execute(
            f"SELECT t.*, f.terms FROM texts t JOIN {lane} f ON f.rowid = t.document WHERE t.lane = ?",
            (texts.LANES.index(lane),),
        )
    found["texts"] = sorted(present, key=repr)
    past = tx.execute(
        "SELECT t.key, t.lane, t.audience, t.length, t.from_position, t.to_position, f.terms FROM past_texts t"
        " JOIN text_past f ON f.rowid = t.document"
    )
    found["past_texts"] = sorted(past, key=repr)
    return found


def as_of(tx: sqlite3.Connection, position: int) -> dict[str, list[Any]]:
    """What the tables with a past held at a position."""
    found = {}
    for name in (*schema.TABLES, "accesses"):
        sql = f"WITH {schema.as_of_tables()} SELECT * FROM {name}"
        found[name] = sorted(tx.execute(sql, {"known": position}), key=repr)
    return found


# -- the tables as the log makes them ---------------------------------------------------------------


class Naive:
    """Folds a log commit by commit, and makes the present rows whole after each."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.rows = driver.model.rows
        self.states: dict[str, MemoryState] = {}
        self.since: dict[tuple[Any, ...], int] = {}
        self.held: dict[str, dict[Any, Any]] = {}
        self.reads: dict[int, list[int]] = {}

    def commits(self) -> Iterator[tuple[int, dict[str, list[Any]]]]:
        """The position of each commit's end, with the tables as of then."""
        engine = self.driver.engine
        for commit in commits_of(engine.store, 0):
            events = [engine.codec.decode(r) for r in commit]
            for event in events:
                if is_memory_stream(event.stream):
                    state = fold([event], self.states.get(event.stream), upcast=engine.options.kinds.upcast)
                    assert state is not None
                    self.states[event.stream] = state
                for id, count, at in getattr(event.event, "reads", ()):
                    read = self.reads.setdefault(self.states[id].origin.position, [0, 0])
                    read[0] += count
                    read[1] = max(read[1], to_micros(at))
            yield commit[-1].position, self.tables({e.stream for e in events})

    def tables(self, touched: set[str]) -> dict[str, list[Any]]:
        key = {id: state.origin.position for id, state in self.states.items()}
        made: dict[str, dict[Any, Any]] = {name: {} for name in schema.TABLES}
        for id, s in self.states.items():
            made["memories"][key[id]] = self.rows.full(s)
            if is_bare(s):
                continue
            own = key[id]
            for link, began in s.edges.links.items():
                made["links"][own, link.relation.value, key[link.target]] = (began,)
            for tag in s.all_tags:
                made["tags"][tag, own] = ()
            for new, at in s.lifecycle.superseded:
                made["supersessions"][own, key[new]] = (to_micros(at),)
            for other, how in s.edges.resolved.items():
                made["settled"][own, key[other], "resolved"] = (how.keep, how.position)
            for other in s.edges.distinct:
                made["settled"][own, key[other], "distinct"] = (None, None)
        out = {"memories": sorted(made["memories"].values(), key=repr)}
        for name in ("links", "tags", "supersessions", "settled"):
            owner = 1 if name == "tags" else 0
            position = {own: self.states[id].position for id, own in key.items()}
            before = self.held.get(name, {})
            for primary, values in made[name].items():
                if before.get(primary, "absent") != values:
                    self.since[name, *primary] = position[primary[owner]]
            self.held[name] = made[name]
            rows = [(*primary, *values, self.since[name, *primary]) for primary, values in made[name].items()]
            out[name] = sorted(rows, key=repr)
        out["accesses"] = sorted(((k, *read) for k, read in self.reads.items()), key=repr)
        return out

    def texts(self) -> list[Any]:
        """The present texts, without the positions from which they hold."""
        live = [s for s in self.states.values() if not is_bare(s) and s.lifecycle.stored in ("active", "archived")]
        made = [text_of(state, self.rows) for state in live]
        return sorted(((t.key, t.lane, t.audience, t.terms) for t in made), key=repr)
