"""What does not jitter: statements, commits, rows, bytes and the steps of SQLite's machine, for every command and read.

Whether something grows with the space is asked of two spaces, one of them four times as large: SQLite counts the steps
of its machine, and they are the same in every run.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from engram_core import Fact, MemorySpace, user
from tests.counting import BEGAN, Counted, draft

_SMALL, _LARGE = 400, 1_600
_SLACK: Final = 1.3  # a B-tree gets a level deeper now and then, and a read takes what more there is for its page
_FEW: Final = 600  # steps that nobody can call growth

_BIG: Final = (
    "|".join(
        f"{past}{name}"
        for past in ("", "past_")
        for name in ("memories", "links", "tags", "texts", "supersessions", "settled")
    )
    + "|events|batches|reads|accesses|names|scores|drafts|alike"
)

_OF_FEW: Final = "memories_(?:gone|fallen|doubted|owners)|alike_shared"
"""Indexes of what is rare, whatever there is of everything else."""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counted]:
    """The smaller space."""
    counted = Counted(tmp_path_factory.mktemp("small") / "brain.db", _SMALL)
    yield counted
    counted.space.close()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counted]:
    """The larger space."""
    counted = Counted(tmp_path_factory.mktemp("large") / "brain.db", _LARGE)
    yield counted
    counted.space.close()


Action = Callable[[Counted], object]

_DAY: Final = (BEGAN, BEGAN + timedelta(days=1))

FLAT: Final[dict[str, Action]] = {
    "get": lambda c: c.ann.get(c.ids[21]),
    "find": lambda c: c.ann.find(limit=20),
    "find descending": lambda c: c.ann.find(limit=20, descending=True),
    "find by update": lambda c: c.ann.find(limit=20, order="updated_at", descending=True),
    "find by id": lambda c: c.ann.find(limit=20, order="id"),
    "find a kind": lambda c: c.ann.find(kind="fact", limit=20),
    "find a rare tag": lambda c: c.ann.find(tags=["rare"], limit=20),
    "find no such tag": lambda c: c.ann.find(tags=["nobody bears this"], limit=20),
    "find one of rare tags": lambda c: c.ann.find(any_tags=["rare", "none"], limit=20),
    "find what is about somebody": lambda c: c.ann.find(about=c.people[0], limit=20),
    "find what is linked": lambda c: c.ann.find(linked=("derived_from", c.ids[6])),
    "find what happened on a day": lambda c: c.ann.find(occurred=_DAY, limit=20),
    "find what was created in a stretch": lambda c: c.ann.find(created=_DAY, limit=20),
    "find the next page": lambda c: c.ann.find(limit=20, after=c.ann.find(limit=20).next),
    "count a rare tag": lambda c: c.ann.count(tags=["rare"]),
    "timeline": lambda c: c.ann.timeline(*_DAY, limit=20),
    "neighbours": lambda c: c.ann.neighbours(c.ids[21]),
    "neighbours of a person": lambda c: c.ann.neighbours(c.people[5]),
    "path": lambda c: c.ann.path(c.ids[21], c.people[21 % len(c.people)]),
    "subgraph": lambda c: c.ann.subgraph([c.ids[21]]),
    "history": lambda c: c.ann.history(c.ids[21]),
    "why": lambda c: c.ann.why(c.ids[21]),
    "explain": lambda c: c.ann.explain(c.ids[21]),
    "scores": lambda c: c.ann.scores(c.ids[21]),
    "accesses": lambda c: c.ann.accesses(c.ids[21]),
    "proposals": lambda c: c.ann.proposals(),
    "recall": lambda c: c.ann.recall("what about unique21?"),
    "recall with filters": lambda c: c.ann.recall("unique21", kind="fact", tags=["topic0"]),
    "search": lambda c: c.ann.search("kind:fact unique21"),
    "review page": lambda c: c.ann.reviews(limit=20),
    "review page as an assistant": lambda c: c.bot.reviews(limit=20),
    "find as an assistant": lambda c: c.bot.find(kind="fact", limit=20),
    "get as an assistant": lambda c: c.bot.get(c.ids[21]),
    "recall as an assistant": lambda c: c.bot.recall("what about unique21?"),
    "neighbours as an assistant": lambda c: c.bot.neighbours(c.ids[21]),
}
"""Reads whose cost must not depend on how much else there is."""

PAST: Final[dict[str, Action]] = {
    name: FLAT[name]
    for name in (
        "get", "find", "find a kind", "find a rare tag", "find what is about somebody", "neighbours", "history", "why",
        "timeline", "get as an assistant", "find as an assistant", "neighbours as an assistant",
    )
}  # fmt: skip
"""The same of a past view."""

LINEAR: Final[dict[str, Action]] = {
    "find by confidence": lambda c: c.ann.find(limit=20, order="confidence"),
    "find by importance": lambda c: c.ann.find(limit=20, order="importance"),
    "find by title": lambda c: c.ann.find(limit=20, order="title"),
    "find what is archived": lambda c: c.ann.find(limit=20, status="archived"),
    "find a tag": lambda c: c.ann.find(tags=["topic0"], limit=20),
    "count": lambda c: c.ann.count(),
    "tags": lambda c: c.ann.tags(),
    "stats": lambda c: c.ann.stats(),
}
"""Reads that look at everything; twice as much may cost twice as much, and no more."""


class _Then:
    """The space as it was halfway."""

    def __init__(self, counted: Counted) -> None:
        self.ann = counted.ann.as_of(known_at=counted.halfway)
        self.bot = counted.bot.as_of(known_at=counted.halfway)
        self.people, self.ids = counted.people, counted.ids


@pytest.mark.parametrize("name", FLAT)
def test_reads_cost_the_same_in_a_larger_space(name: str, small: Counted, large: Counted) -> None:
    """A read takes as many steps of SQLite's machine in a space that is four times as large."""
    read = FLAT[name]
    few, many = (counted.steps(lambda: read(counted)) for counted in (small, large))  # noqa: B023
    assert many <= few * _SLACK + _FEW, (few, many)


@pytest.mark.parametrize("name", PAST)
def test_past_views_cost_the_same_in_a_larger_space(name: str, small: Counted, large: Counted) -> None:
    """So does a read of what was known halfway."""
    read = PAST[name]
    few, many = (counted.steps(lambda: read(_Then(counted))) for counted in (small, large))  # type: ignore[arg-type]  # noqa: B023
    assert many <= few * _SLACK + _FEW, (few, many)


@pytest.mark.parametrize("name", LINEAR)
def test_figures_of_everything_are_linear(name: str, small: Counted, large: Counted) -> None:
    """What looks at everything takes at most four times as many steps for four times as much."""
    read = LINEAR[name]
    few, many = (counted.steps(lambda: read(counted)) for counted in (small, large))  # noqa: B023
    assert many <= few * _LARGE / _SMALL * _SLACK, (few, many)


@pytest.mark.parametrize("name", FLAT)
def test_hot_reads_scan_no_table(name: str, large: Counted) -> None:
    """No statement of a hot read scans a table that grows, unless along an index whose order it wants."""
    read = FLAT[name]
    scans = []
    for statement in large.said(lambda: read(large)):
        if statement.lstrip("( ").upper().startswith(("SELECT", "WITH")):
            steps = _plan(large.path, statement)
            sorts = any("TEMP B-TREE FOR ORDER BY" in step for step in steps)
            scans += [f"{step} in {statement}" for step in steps if _is_scan(step, statement, sorts=sorts)]
    assert [] == scans


def _plan(path: Path, statement: str) -> list[str]:
    from engram_core.projections.host import prepare_connection

    connection = sqlite3.connect(path)
    try:
        prepare_connection(connection)
        return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
    finally:
        connection.close()


def _is_scan(step: str, statement: str, *, sorts: bool) -> bool:
    """True for a scan of a big table: by its own name, or by an alias that the statement gives it."""
    found = re.match(r"SCAN (?:main\.)?(\w+)(.*)", step)
    if not found or "VIRTUAL TABLE" in step:
        return False
    name, how = found.groups()
    is_big = bool(re.fullmatch(_BIG, name) or re.search(rf"\b(?:{_BIG})\s+(?:AS\s+)?{name}\b", statement))
    in_order = "USING" in how and "INDEX" in how and not sorts
    return is_big and not in_order and not re.search(rf"INDEX (?:{_OF_FEW})\b", how)


def test_that_a_scan_is_found(large: Counted) -> None:
    """A statement that does scan is found out, so that the tests above can fail."""
    statement = "SELECT m.id FROM memories m WHERE m.content = 'x'"
    assert [True] == [_is_scan(step, statement, sorts=False) for step in _plan(large.path, statement)]


# -- writing ------------------------------------------------------------------------------------------


def _remember(counted: Counted, id: str) -> object:
    fact = Fact(statement=f"a new thing about somebody, beside {id}")
    return counted.ann.remember(fact, links=[("about", counted.people[5])], similar=False)


VERBS: Final[dict[str, tuple[Callable[[Counted, str], object], int, int]]] = {
    # the most statements and changed rows of each
    "remember": (_remember, 18, 14),
    "confirm": (lambda c, m: c.ann.confirm(m), 14, 6),
    "pin": (lambda c, m: c.ann.pin(m), 14, 6),
    "weigh": (lambda c, m: c.ann.weigh(m, 0.7), 14, 6),
    "tag": (lambda c, m: c.ann.tag(m, "new"), 28, 26),
    "edit": (lambda c, m: c.ann.edit(m, content=f"said in other words than {m}"), 27, 25),
    "link": (lambda c, m: c.ann.link(m, "relates_to", c.ids[5]), 15, 7),
    "contradict": (lambda c, m: c.ann.contradict(m, by=c.ids[5]), 15, 7),
    "archive": (lambda c, m: c.ann.archive(m), 14, 6),
    "delete": (lambda c, m: c.ann.delete(m), 24, 21),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counted]:
    """A space to write into."""
    counted = Counted(tmp_path_factory.mktemp("written") / "brain.db", _SMALL)
    with closing(sqlite3.connect(counted.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # else it becomes due sooner or later, in some test
    yield counted
    counted.space.close()


@pytest.mark.parametrize("name", VERBS)
def test_a_command_is_one_commit_of_few_statements(name: str, written: Counted) -> None:
    """Every verb begins one transaction, commits once, checkpoints nothing, and changes no more rows than it must."""
    verb, most, rows = VERBS[name]
    id = written.ids[40 + list(VERBS).index(name)]
    changed: list[int] = []
    said = written.said(lambda: changed.append(written.changed(lambda: verb(written, id))))
    counts = {word: sum(one.startswith(word) for one in said) for word in ("BEGIN", "COMMIT", "PRAGMA")}
    assert {"BEGIN": 1, "COMMIT": 1, "PRAGMA": 0} == counts
    assert len(said) <= most, said
    assert changed[0] <= rows


@pytest.mark.parametrize("name", VERBS)
def test_commands_cost_the_same_in_a_larger_space(name: str, small: Counted, large: Counted) -> None:
    """A verb takes as many steps of SQLite's machine in a space that is four times as large.

    Now and then a text index merges its segments within a command; of a few commands, one is without.
    """
    verb, first = VERBS[name][0], 100 + 5 * list(VERBS).index(name)
    few, many = (
        min(counted.steps(lambda: verb(counted, id)) for id in counted.ids[first : first + 5])  # noqa: B023
        for counted in (small, large)
    )
    assert many <= few * _SLACK + _FEW, (few, many)


def test_a_batch_costs_a_few_statements_for_each_memory(written: Counted) -> None:
    """Two hundred memories are one commit, and few statements each."""
    drafts = [draft(number, written.people) for number in range(50_000, 50_200)]
    said = written.said(lambda: written.ann.remember_many(drafts, batch=200))
    assert 1 == said.count("COMMIT")
    assert len(said) <= 10 * len(drafts)


def test_a_confirmation_costs_the_same_after_many_reads(written: Counted) -> None:
    """What was read a thousand times is confirmed by as many statements and rows as what was never read."""
    reader = written.space.session(user("reader"))
    for _ in range(20):
        for _ in range(50):
            reader.get(written.ids[61])
        written.space.flush()
    costs = []
    for id in (written.ids[61], written.ids[62]):
        said = written.said(lambda: costs.append(written.changed(lambda: written.ann.confirm(id))))  # noqa: B023
        costs.append(len(said))
    assert costs[:2] == costs[2:]


def test_a_recall_writes_nothing(written: Counted) -> None:
    """Recall changes no row and takes no write lock; what it read goes into one event, when that is flushed."""
    reader = written.space.session(user("reader"))
    before = written.space.position
    changed: list[int] = []
    said = written.said(lambda: changed.append(written.changed(lambda: reader.recall("what about unique21?"))))
    assert [0] == changed
    assert [] == [one for one in said if one.startswith(("BEGIN IMMEDIATE", "INSERT", "UPDATE", "DELETE"))]
    assert before == written.space.position
    written.space.flush()
    assert before + 1 == written.space.position


def test_undoing_costs_the_same_in_a_longer_log(small: Counted, large: Counted) -> None:
    """A batch is undone by as many steps when four times as much was written before and after it."""
    costs = []
    for counted in (small, large):
        receipt = counted.ann.tag(counted.ids[71], "soon gone")
        for id in counted.ids[200 : 200 + len(counted.ids) // 8]:
            counted.ann.pin(id)
        costs.append(counted.steps(lambda: counted.ann.undo(receipt)))  # noqa: B023
    few, many = costs
    assert many <= few * _SLACK + _FEW, (few, many)


def test_opening_costs_the_same_for_a_larger_file(small: Counted, large: Counted) -> None:
    """A file is opened, and its first question answered, without looking through it."""
    costs = []
    for counted in (small, large):
        counted.space.flush()

        def opened() -> None:
            with MemorySpace.open(counted.path, durability="normal", connect=counted.connect) as space:  # noqa: B023
                space.session(user("ann"), record=False).recall("what about unique21?")

        costs.append(counted.steps(opened))
    few, many = costs
    assert many <= few * _SLACK + _FEW, (few, many)


def test_bytes_of_a_memory(large: Counted) -> None:
    """A memory takes no more room than its log, its row and its text index need."""
    connection = sqlite3.connect(large.path)
    ((pages,), (size,)) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    (memories,) = connection.execute("SELECT count(*) FROM memories").fetchone()
    (texts,) = connection.execute("SELECT sum(length(data)) FROM events").fetchone()
    connection.close()
    assert pages * size / memories <= 2_700
    assert pages * size <= 5.5 * texts
