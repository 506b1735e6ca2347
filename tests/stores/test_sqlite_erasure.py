"""Erased text is in no byte of any file; what cannot be scrubbed at once is scrubbed later."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from engram_core.chain import ERASED_MARKER
from engram_core.ports import StreamAppend
from engram_core.stores import SqliteStore
from engram_core.testing import appending, new_event, whole_log

SENTINEL = "Quetzalcoatl-Xylophone-7719-" + "".join(random.Random(5).choices("bcdfghjkmnpqrstvwxz", k=6_000))
WINDOWS = frozenset(SENTINEL[at : at + 6].encode() for at in range(len(SENTINEL) - 5))


def found_in(directory: Path) -> dict[str, int]:
    """How many 6-byte windows of the sentinel are in each file, where there are any."""
    counts = {}
    for path in directory.iterdir():
        content = path.read_bytes()
        here = {content[at : at + 6] for at in range(len(content) - 5)} & WINDOWS
        if here:
            counts[path.name] = len(here)
    return counts


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store with the sentinel in events of one owner, among those of others, old and new, short and long."""
    found = SqliteStore(tmp_path / "log.db", durability="normal", busy_timeout=0.3)
    picks = random.Random(1)
    for number in range(120):
        owner = "secret" if number % 3 == 0 else f"o{number % 11}"
        at, length = picks.randrange(5_000), picks.choice([40, 400, 900])
        text = SENTINEL[at : at + length] if owner == "secret" else "harmless " * (length // 9)
        found.append([StreamAppend(f"s{number % 4}", number // 4, [new_event(f"e{number}", owner=owner, text=text)])])
    found.append([appending("secret", "whole", text=SENTINEL)])
    with found.transaction():
        found.writing().execute("CREATE TABLE mine (id TEXT PRIMARY KEY, text TEXT)")
        found.writing().execute("CREATE INDEX mine_text ON mine (text)")
        for number in picks.sample(range(400), 400):
            at = picks.randrange(5_000)
            found.writing().execute("INSERT INTO mine VALUES (?, ?)", (f"m{number}", SENTINEL[at : at + 90]))
    yield found
    found.close()


def erase(store: SqliteStore) -> None:
    """Erases the owner's payloads, and the other table's text, as a read model would."""
    with store.transaction():
        assert 41 == len(store.erase("secret", ERASED_MARKER))
        store.writing().execute("DELETE FROM mine")


def test_no_window_remains(store: SqliteStore, tmp_path: Path) -> None:
    """Every window is found in the files before, and none after; the rest of the log is as it was."""
    before = whole_log(store)
    assert len(WINDOWS) == max(found_in(tmp_path).values())
    erase(store)
    assert found_in(tmp_path)
    assert store.scrub()
    assert {} == found_in(tmp_path)
    assert [event._replace(data="") for event in before] == [event._replace(data="") for event in whole_log(store)]
    assert [event.data for event in before if event.owner != "secret"] == [
        event.data for event in whole_log(store) if event.owner != "secret"
    ]
    store.append([appending("more", "m")])
    store.close()
    assert {} == found_in(tmp_path)


def test_none_remains_beside_other_connections(store: SqliteStore, tmp_path: Path) -> None:
    """Other stores that have the file open, and read nothing at the moment, do not hinder a scrub."""
    other = SqliteStore(store.path)
    assert 121 == other.head()
    erase(store)
    assert store.scrub()
    assert {} == found_in(tmp_path)
    assert (122,) == other.append([appending("more", "m")]).positions
    assert {} == found_in(tmp_path)
    other.close()


def test_a_reader_puts_it_off(store: SqliteStore, tmp_path: Path) -> None:
    """While a reader holds the old text a scrub says so; when he has gone it succeeds."""
    other = SqliteStore(store.path)
    with other.reading() as connection:
        connection.execute("SELECT count(*) FROM events").fetchone()
        erase(store)
        assert not store.scrub()
        assert found_in(tmp_path)
        assert "secret" in {event.owner for event in whole_log(store)}
    assert store.scrub()
    assert {} == found_in(tmp_path)
    other.close()


@pytest.mark.parametrize("scrubbed", [False, True])
def test_what_was_put_off_is_done_at_the_next_opening(store: SqliteStore, tmp_path: Path, scrubbed: bool) -> None:
    """Whether the scrub was blocked or never asked for, the file remembers; opening it does it."""
    other = SqliteStore(store.path)
    with other.reading() as connection:
        connection.execute("SELECT count(*) FROM events").fetchone()
        erase(store)
        if scrubbed:
            assert not store.scrub()
        store.close()
        again = SqliteStore(store.path, busy_timeout=0.1)  # the reader is still there: no error, and still put off
        assert 121 == again.head()
        again.close()
    assert found_in(tmp_path)
    other.close()
    SqliteStore(store.path).close()
    assert {} == found_in(tmp_path)


def test_a_scrub_does_not_run_within_a_transaction(store: SqliteStore) -> None:
    """It would have to end it."""
    with store.transaction(), pytest.raises(RuntimeError):
        store.scrub()


def test_an_erasure_survives_a_retry(store: SqliteStore, tmp_path: Path) -> None:
    """A late retry of the append that brought the text does not bring it back."""
    erase(store)
    assert store.scrub()
    again = store.append([appending("secret", "whole", text=SENTINEL)])
    assert (True, ERASED_MARKER) == (again.duplicate, again.events[0].data)
    assert {} == found_in(tmp_path)
