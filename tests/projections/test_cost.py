"""What may not grow: statements of a command, rows that are looked through, the price of many reads."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engram_core import KINDS, Draft, EvidenceRef, Fact, MemorySpace, Person, Preference, user
from engram_core.projections import schema, views
from engram_core.projections.accesses import AccessBuffer
from engram_core.projections.host import open_host, prepare_connection
from engram_core.projections.rows import Commit
from engram_core.stores.in_memory import InMemoryStore

BIG = ("memories", "links", "tags", "past_memories", "past_links", "past_tags", "reads", "texts", "supersessions")


@pytest.fixture
def space(tmp_path: Path) -> Iterator[MemorySpace]:
    with MemorySpace.open(tmp_path / "a.db", durability="normal") as made:
        yield made


def statements(space: MemorySpace) -> list[str]:
    """Every statement that the writing connection runs from now on."""
    seen: list[str] = []
    with space._engine.host.transaction() as tx:
        tx.set_trace_callback(seen.append)
    seen.clear()
    return seen


def test_statements_of_a_commit_are_bounded(space: MemorySpace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is a row; but projecting a commit looks things up once, whatever the number of its memories."""
    ann = space.session(user("ann"), record=False)
    about = ann.remember(Person(full_name="Alice Ng"))
    seen: list[str] = []
    model = space._engine.read_model
    real = model.apply

    def apply(tx: sqlite3.Connection, commit: Commit) -> None:
        seen.clear()
        tx.set_trace_callback(seen.append)
        real(tx, commit)
        tx.set_trace_callback(None)

    monkeypatch.setattr(model, "apply", apply)
    looked = {}
    for size in (1, 200):
        drafts = [Draft(Fact(statement=f"{size} {n}"), links=[("about", about)], tags=("x",)) for n in range(size)]
        ann.remember_many(drafts, batch=1_000)
        looked[size] = sum(s.startswith("SELECT") for s in seen)
        written = [s for s in seen if s.startswith(("INSERT", "UPDATE", "DELETE"))]
        # the row, an edge, a tag, a batch, a text and its terms
        assert len(written) <= 6 * size + 6
    assert looked[200] == looked[1] <= 6
    ann.confirm(about)
    written = [s for s in seen if s.startswith(("INSERT", "UPDATE", "DELETE"))]
    assert len(written) <= 5
    assert not [s for s in written if "text" in s.split("(")[0] or "names" in s.split("(")[0]]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM memories WHERE id = 'x'",
        "SELECT * FROM memories WHERE kind = 'fact' ORDER BY created_at, id LIMIT 20",
        "SELECT * FROM memories ORDER BY created_at DESC, id DESC LIMIT 20",
        "SELECT * FROM memories ORDER BY updated_at, id LIMIT 20",
        "SELECT * FROM memories WHERE fingerprint = 'x'",
        "SELECT * FROM memories WHERE expires_at <= 5",
        "SELECT * FROM memories WHERE session = 's'",
        "SELECT * FROM memories WHERE merged_into = 'x'",
        "SELECT * FROM memories WHERE happened_from >= 5",
        "SELECT * FROM links WHERE source = 1",
        "SELECT * FROM links WHERE target = 1 AND relation = 'about'",
        "SELECT * FROM tags WHERE tag = 'x'",
        "SELECT * FROM tags WHERE key = 1",
        "SELECT * FROM supersessions WHERE old = 1 OR new = 1",
        "SELECT * FROM external_ids WHERE system = 'v' AND external = '1'",
        "SELECT * FROM reads WHERE key = 1",
        "SELECT * FROM view_projects WHERE status = 'active' ORDER BY created_at, id LIMIT 20",
        "SELECT * FROM view_contacts WHERE channel = 'email' AND value = 'x'",
        "SELECT * FROM view_relationships WHERE subject_id = 'x'",
        "SELECT * FROM view_preferences WHERE target = 'tea'",
    ],
)
def test_hot_reads_scan_no_big_table(space: MemorySpace, sql: str) -> None:
    """Each has an index that serves it."""
    with space._engine.host.reading() as tx:
        plan = [row[3] for row in tx.execute(f"EXPLAIN QUERY PLAN {sql}")]
    scans = [step for step in plan if step.startswith("SCAN") and " USING " not in step]
    assert not [step for step in scans if step.split()[1] in BIG], plan


@pytest.mark.parametrize("table", ["memories", "links", "tags"])
def test_past_reads_of_one_memory_scan_nothing(space: MemorySpace, table: str) -> None:
    """The filter goes through the common table expressions down to the indexes."""
    column = {"memories": "id", "links": "source", "tags": "key"}[table]
    with space._engine.host.reading() as tx:
        sql = f"EXPLAIN QUERY PLAN WITH {schema.as_of_tables('5')} SELECT * FROM {table} WHERE {column} = 1"
        plan = [row[3] for row in tx.execute(sql)]
    assert not [step for step in plan if step.startswith("SCAN") and step.split()[1] != "CONSTANT"], plan


def test_many_reads_slow_no_command(space: MemorySpace) -> None:
    """Ten thousand reads of one memory leave one row for a flush, and its commands as they were."""
    ann = space.session(user("ann"))
    tea = ann.remember(Preference(polarity="likes", target="tea"))
    for _ in range(10_000):
        space._engine.accesses.record(user("ann"), None, (str(tea.memory_id),), datetime(2026, 3, 1, tzinfo=UTC))
    seen = statements(space)
    ann.confirm(tea)
    assert len(seen) < 60
    with space._engine.host.reading() as tx:
        assert tx.execute("SELECT count FROM accesses").fetchone()[0] >= 10_000
        assert tx.execute("SELECT count(*) FROM reads").fetchone() == (1,)
        assert tx.execute("SELECT revision FROM memories").fetchone() == (2,)


# -- the buffer -------------------------------------------------------------------------------------

AT = datetime(2026, 3, 1, tzinfo=UTC)


def test_the_buffer_groups_and_empties() -> None:
    """By actor and session, in the order of the first read."""
    buffer = AccessBuffer()
    assert not buffer
    buffer.record(user("ann"), "s", ("a", "b", "a"), AT)
    buffer.record(user("bob"), None, ("a",), AT)
    assert len(buffer) == 3
    drained = buffer.drain()
    assert [(r.actor, r.session_id, r.reads) for r in drained] == [
        (user("ann"), "s", (("a", 2, AT), ("b", 1, AT))),
        (user("bob"), None, (("a", 1, AT),)),
    ]
    assert not buffer
    assert buffer.drain() == ()
    buffer.restore(drained)
    buffer.record(user("bob"), None, ("a",), AT)
    assert len(buffer) == 3
    assert buffer.drain()[1].reads == (("a", 2, AT),)


def test_the_buffer_is_bounded() -> None:
    """What is known is still counted; what is new finds no room, and is counted as that."""
    buffer = AccessBuffer(capacity=2)
    buffer.record(user("ann"), None, ("a", "b", "c", "a"), AT)
    assert len(buffer) == 2
    assert buffer.dropped == 1
    assert buffer.drain()[0].reads == (("a", 2, AT), ("b", 1, AT))


# -- views ------------------------------------------------------------------------------------------


def test_every_kind_has_a_view(space: MemorySpace) -> None:
    """With its attributes as typed columns, and evidence beside it; what is deleted is not in it."""
    ann = space.session(user("ann"))
    alice = ann.remember(Person(full_name="Alice Ng", aliases=("Ali",)), evidence=[EvidenceRef("quote", "q", "n")])
    gone = ann.remember(Person(full_name="Bob"))
    ann.delete(gone)
    with space._engine.host.reading() as tx:
        for spec in KINDS:
            columns = {row[1] for row in tx.execute(f"PRAGMA table_info({spec.view})")}
            assert {"id", "title", "confidence", *spec.columns} <= columns
        assert tx.execute("SELECT id, full_name, aliases FROM view_people").fetchall() == [
            (alice.memory_id, "Alice Ng", '["Ali"]')
        ]
        evidence = tx.execute("SELECT memory_id, number, type, value, note, actor FROM view_evidence").fetchall()
    assert evidence == [(alice.memory_id, 1, "quote", "q", "n", "user:ann")]


def test_indexes_repeat_the_views() -> None:
    """SQLite takes an index on an expression only for the very same expression."""
    made = " ".join(views.create_statements(KINDS))
    for spec in KINDS:
        for name in spec.hot_fields:
            assert views.attribute_sql(spec.columns[name]) in made


# -- hosts ------------------------------------------------------------------------------------------


def test_functions_that_a_build_lacks() -> None:
    """They are registered, and agree with those of SQLite."""

    class Poor(sqlite3.Connection):
        def execute(self, sql: str, *given: object) -> sqlite3.Cursor:  # type: ignore[override]
            if re.match(r"SELECT (pow|ln|log2)\(1", sql):
                raise sqlite3.OperationalError("no such function")
            return super().execute(sql, *given)  # type: ignore[arg-type]

    connection = sqlite3.connect(":memory:", factory=Poor)
    prepare_connection(connection)
    sql = "SELECT pow(2.0, -1.0), ln(0), log2(8.0), pow(NULL, 2), ln(NULL), log2(-1)"
    assert connection.execute(sql).fetchone() == (0.5, None, 3.0, None, None, None)
    connection.close()


def test_a_replica_nests_reads_and_no_transactions() -> None:
    """A read within a transaction sees it; a transaction within a read is a mistake that would never end."""
    host = open_host(InMemoryStore())
    with host.transaction() as tx:
        tx.execute("CREATE TABLE t (x)")
        with host.reading() as reading:
            assert reading.execute("SELECT count(*) FROM t").fetchone() == (0,)
        with pytest.raises(RuntimeError, match="nest"), host.transaction():
            pass
    with host.reading(), pytest.raises(RuntimeError, match="nest"), host.transaction():
        pass
    with suppress(KeyError), host.transaction() as tx:
        tx.execute("INSERT INTO t VALUES (1)")
        raise KeyError
    with host.reading() as tx:
        assert tx.execute("SELECT count(*) FROM t").fetchone() == (0,)
    host.close()
