"""A space with all sorts of history, what it answers, and ways to tamper with its file."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from attrs import frozen

from engram_core.chain import ERASED_MARKER, chain_link, commitment, genesis
from engram_core.errors import EngramError
from engram_core.kinds import Fact
from engram_core.log import Anchor
from engram_core.ports import Recorded
from engram_core.space import MemorySpace
from engram_core.stores.sqlite_schema import rows
from engram_core.testing import FrozenClock
from engram_core.values import assistant, system, user
from tests.governance.acts import ACTS, world
from tests.governance.rooms import START, everything, room

_SKIPPED = {"merge", "merge on", "restore", "unmerge", "supersede by what is there", "batch"}


@frozen
class Specimen:
    """A file that is whole, with what is known of it from elsewhere."""

    path: Path
    now: datetime
    anchor: Anchor
    log: tuple[Recorded, ...]
    answers: dict[str, Any]


def specimen(path: Path) -> Specimen:
    """Makes a file with most kinds of events, erased ones, long ones and proposals in every state."""
    r = room(path)
    known = world(r)
    for name, act in ACTS.items():
        if name not in _SKIPPED:
            r.clock.move(timedelta(hours=1))
            with suppress(EngramError):
                act(r, known)
    r.ann.remember(Fact("the long one"), content="long " * 2_500)
    gone = r.ann.remember(Fact("to be forgotten"), content="quite private")
    r.ann.undo(r.ann.tag(known["goal"], "soon"))
    r.ann.erase(gone)
    r.ann.delete(known["step"])
    r.ann.reject(r.bot.remember(Fact("an idea that is not liked")).proposal_id)
    r.bot.withdraw(r.bot.remember(Fact("an idea that was taken back")).proposal_id)
    r.bot.remember(Fact("an idea that waits"))
    r.space.session(assistant("claude")).recall("Alice Oslo sea")
    r.space.flush()
    r.space.close()
    with closing(raw(path)) as connection:
        log = rows(connection, "ORDER BY position")
    with MemorySpace.open(path, clock=FrozenClock(r.clock.now())) as space:
        assert () == space.maintenance(system("test")).verify().problems
        return Specimen(path, r.clock.now(), space.anchor(), log, answers_of(space))


def answers_of(space: MemorySpace) -> dict[str, Any]:
    """What a user and an assistant are told about everything, now and as of before."""
    found: dict[str, Any] = {}
    for actor in (user("ann"), assistant("claude")):
        now = space.session(actor, record=False)
        middle = START + timedelta(hours=12)
        for name, view in (("now", now), ("then", now.as_of(known_at=middle))):
            told = everything(view, drop=())
            told["history"] = [repr(view.history(id)) for id in told["memories"]]
            told["why"] = [repr(view.why(id)) for id in told["memories"]]
            told["recall"] = [
                (hit.id, hit.score) for question in ("Alice Oslo", "sea tea") for hit in view.recall(question)
            ]
            found[f"{actor} {name}"] = told
    return found


def raw(path: Path) -> sqlite3.Connection:
    """A connection of somebody who is not the store."""
    return sqlite3.connect(path, isolation_level=None)


def verdict(whole: Specimen, path: Path) -> str:
    """What becomes of a file that somebody tampered with: "refused", "reported" or "harmless". Asserts it is one."""
    harmed = path.read_bytes()
    try:
        space = MemorySpace.open(path, clock=FrozenClock(whole.now))
    except EngramError:
        assert harmed == path.read_bytes(), "what is refused is left as it was found"
        return "refused"
    with closing(space):
        report = space.maintenance(system("test")).verify(anchor=whole.anchor)
        # An event that was added with links of its own looks like any other, but nobody has written since.
        if not report.ok or report.anchor != whole.anchor:
            return "reported"
        assert whole.answers == answers_of(space)
        assert whole.log == tuple(event for page in space._engine.log.pages() for event in page)
        for event in whole.log:
            assert (event,) == space._engine.store.read_stream(event.stream, after=event.version - 1, limit=1)
        return "harmless"


def copied(whole: Specimen, path: Path) -> Path:
    """A fresh copy of the file, to be harmed."""
    for side in ("-wal", "-shm"):
        path.with_name(path.name + side).unlink(missing_ok=True)
    shutil.copyfile(whole.path, path)
    return path


# -- rows -------------------------------------------------------------------------------------------


def tamper(path: Path, picks: random.Random) -> str:
    """Tampers with rows as somebody would who knows SQLite, and perhaps this format; gives the name of the deed."""
    with closing(raw(path)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("BEGIN")
        name = picks.choice([*DEEDS])
        DEEDS[name](connection, picks)
        if picks.random() < 0.3:
            name += ", links recomputed"
            recompute(connection)
        connection.execute("COMMIT")
        for _, sql in triggers:
            connection.execute(sql)
    return name


def recompute(connection: sqlite3.Connection) -> None:
    """Gives every commit the link that belongs to what is there now, and the head the last one."""
    (store_id,) = connection.execute("SELECT store_id FROM head").fetchone()
    link, commit = genesis(UUID(store_id)), []
    for event in rows(connection, "ORDER BY position"):
        commit.append(event)
        if event.link is not None:
            link, commit = chain_link(link, commit), []
            connection.execute("UPDATE events SET link = ? WHERE position = ?", (link, event.position))
    connection.execute("UPDATE head SET link = ?", (link,))


def _some(connection: sqlite3.Connection, picks: random.Random, where: str = "1") -> int:
    found = [p for (p,) in connection.execute(f"SELECT position FROM events WHERE {where} ORDER BY position")]
    return picks.choice(found)


def _alter(connection: sqlite3.Connection, picks: random.Random) -> None:
    position = _some(connection, picks)
    column, value = picks.choice(
        [
            ("type", "'MemoryPinned'"),
            ("type", "'MemoryConfirmed'"),
            ("schema_version", "schema_version + 1"),
            ("schema_version", "0"),
            ("id", "'another'"),
            ("stream", "'another'"),
            ("version", "version + 7"),
            ("owner", "'another'"),
            ("occurred_at", "occurred_at - 1"),
            ("occurred_at", "9223372036854775807"),
            ("recorded_at", "recorded_at + 1"),
            ("recorded_at", "-9223372036854775807"),
            ("actor_kind", "'system'"),
            ("actor_kind", "'robot'"),
            ("batch", "'another'"),
            ("causation", "'another'"),
            ("command", "'another'"),
            ("commitment", "x'00'"),
            ("link", "x'00'"),
            ("link", "NULL"),
        ]
    )
    connection.execute(f"UPDATE OR REPLACE events SET {column} = {value} WHERE position = ?", (position,))


def _say_otherwise(connection: sqlite3.Connection, picks: random.Random) -> None:
    """Another payload, with the commitment that fits it: in words, in figures, or in form."""
    position = _some(connection, picks, "data <> '{\"erased\":true}'")
    (data,) = connection.execute("SELECT data FROM events WHERE position = ?", (position,)).fetchone()
    made = picks.choice(
        [
            lambda text: text.replace('"v":{', '"v":{"mood":1,'),
            lambda text: text[: len(text) // 2],
            lambda text: text.replace("Alice", "Mallory").replace("0.", "0.0").replace('"salt":"', '"salt":"x'),
            lambda text: text.replace('"id":"ann"', '"id":"bob"').replace('"salt":"', '"salt":"y'),
            lambda text: ERASED_MARKER,
            lambda text: "",
        ]
    )(data)
    connection.execute("UPDATE events SET data = ? WHERE position = ?", (made, position))
    if picks.random() < 0.6:
        connection.execute("UPDATE events SET commitment = ? WHERE position = ?", (commitment(made), position))


def _remove(connection: sqlite3.Connection, picks: random.Random) -> None:
    connection.execute("DELETE FROM events WHERE position = ?", (_some(connection, picks),))


def _remove_and_close_up(connection: sqlite3.Connection, picks: random.Random) -> None:
    position = _some(connection, picks)
    connection.execute("DELETE FROM events WHERE position = ?", (position,))
    connection.execute("UPDATE events SET position = -position WHERE position > ?", (position,))
    connection.execute("UPDATE events SET position = -position - 1 WHERE position < 0")
    _fit_head(connection)


def _cut_tail(connection: sqlite3.Connection, picks: random.Random) -> None:
    """The last commits, whole, with a head that fits."""
    position = _some(connection, picks, "link IS NOT NULL")
    connection.execute("DELETE FROM events WHERE position > ?", (position - 1,))
    (last,) = connection.execute("SELECT coalesce(max(position), 0) FROM events WHERE link IS NOT NULL").fetchone()
    connection.execute("DELETE FROM events WHERE position > ?", (last,))
    if last:
        _fit_head(connection)


def _swap(connection: sqlite3.Connection, picks: random.Random) -> None:
    one, other = (_some(connection, picks) for _ in range(2))
    column = picks.choice(["data", "data, commitment", "position", "occurred_at", "actor_kind", "type", "link"])
    if column == "position":
        for was, will in ((one, -1), (other, one), (-1, other)):
            connection.execute("UPDATE events SET position = ? WHERE position = ?", (will, was))
        return
    select = f"SELECT {column} FROM events WHERE position = ?"
    marks = ", ".join(f"{name} = ?" for name in column.split(", "))
    values = [connection.execute(select, (position,)).fetchone() for position in (one, other)]
    for position, value in zip((other, one), values, strict=True):
        connection.execute(f"UPDATE events SET {marks} WHERE position = ?", (*value, position))


def _insert(connection: sqlite3.Connection, picks: random.Random) -> None:
    """A copy of an event, as if it had happened again at the end."""
    (last,) = connection.execute("SELECT position FROM head").fetchone()
    connection.execute(
        "INSERT INTO events SELECT ?, stream, 1 + (SELECT max(version) FROM events WHERE stream = e.stream),"
        " 'forged', type, schema_version, owner, data, commitment, occurred_at,"
        " (SELECT max(recorded_at) FROM events), actor_kind, NULL, causation, NULL, x'00' FROM events e"
        " WHERE position = ?",
        (last + 1, _some(connection, picks)),
    )
    _fit_head(connection)


def _move_head(connection: sqlite3.Connection, picks: random.Random) -> None:
    connection.execute(
        "UPDATE head SET "
        + picks.choice(
            [
                "position = position - 1",
                "recorded_at = recorded_at + 1000000",
                "link = x'00'",
                "store_id = '00000000-0000-4000-8000-000000000000'",
            ]
        )
    )


def _fit_head(connection: sqlite3.Connection) -> None:
    connection.execute(
        "UPDATE head SET (position, recorded_at, link) = (SELECT position, recorded_at, coalesce(link, x'') FROM events"
        " ORDER BY position DESC LIMIT 1)"
    )


DEEDS: dict[str, Callable[[sqlite3.Connection, random.Random], None]] = {
    "altered": _alter,
    "reworded": _say_otherwise,
    "removed": _remove,
    "removed and closed up": _remove_and_close_up,
    "cut": _cut_tail,
    "swapped": _swap,
    "inserted": _insert,
    "head moved": _move_head,
}
