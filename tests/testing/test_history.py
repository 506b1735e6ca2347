"""The history checker finds what it is there to find."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from engram_core.errors import ConcurrencyError, DuplicateEvent
from engram_core.ports import Appended, EventStore, Recorded, StreamAppend
from engram_core.stores import InMemoryStore
from engram_core.testing import History, appending, problems_of, whole_log


class Lossy(InMemoryStore):
    """Loses the answer of an append after it was written, or before."""

    when = ""

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        when, self.when = self.when, ""
        if when == "before":
            raise OSError("lost")
        answer = super().append(batch)
        if when == "after":
            raise OSError("lost")
        return answer


def recorded() -> tuple[History, list[Recorded]]:
    """A good history of some calls, and its log."""
    history, store = History(), Lossy()
    ann, bob = history.watch(store, "ann"), history.watch(store, "bob")
    ann.append([appending("a", "1", "2", expected=0)])
    bob.append([appending("a", "3", expected=2), StreamAppend("b", 0)])
    with pytest.raises(ConcurrencyError):
        ann.append([appending("a", "refused", expected=1)])
    assert 3 == bob.head()
    bob.append([appending("a", "3", expected=2), StreamAppend("b", 0)])
    ann.read()
    ann.read_stream("a", after=1, limit=1, backwards=True)
    for when in ("before", "after"):
        store.when = when
        with pytest.raises(OSError, match="lost"):
            ann.append([appending("b", f"lost {when}", f"lost {when} 2")])
    return history, list(whole_log(store))


def test_a_good_history_has_no_problems() -> None:
    """Retries, refusals and lost answers are no problems in themselves."""
    history, log = recorded()
    assert () == problems_of(history, log)
    assert ["1", "2", "3", "lost after", "lost after 2"] == [event.id for event in log]
    assert {"ok", "fail", "unknown"} == {call.outcome for call in history.calls}


def lose(log: list[Recorded]) -> None:
    del log[1]


def double(log: list[Recorded]) -> None:
    log.append(log[0]._replace(position=6, version=4))


def swap(log: list[Recorded]) -> None:
    log[0], log[1] = log[1]._replace(position=1, version=1), log[0]._replace(position=2, version=2)


def alter(log: list[Recorded]) -> None:
    log[0] = log[0]._replace(data="{}")


def invent(log: list[Recorded]) -> None:
    log.append(log[-1]._replace(position=6, version=3, id="nobody's"))


def admit(log: list[Recorded]) -> None:
    log.append(log[2]._replace(position=6, version=4, id="refused"))


def tear(log: list[Recorded]) -> None:
    del log[4]


def turn_back(log: list[Recorded]) -> None:
    log[3] = log[3]._replace(recorded_at=1)


def misnumber(log: list[Recorded]) -> None:
    log[3] = log[3]._replace(version=2)


@pytest.mark.parametrize(
    ("harm", "complaint"),
    [
        (lose, "is lost"),
        (double, "2 times"),
        (swap, "was acknowledged as"),
        (alter, "was acknowledged as"),
        (invent, "nobody appended it"),
        (admit, "though it was refused"),
        (tear, "a part of what"),
        (turn_back, "time falls"),
        (misnumber, "has version 2 of b, not 1"),
    ],
)
def test_harm_to_the_log_is_found(harm: object, complaint: str) -> None:
    """A log that lost, doubled, moved, altered, invented or tore something is told apart from a good one."""
    history, log = recorded()
    harm(log)  # type: ignore[operator]
    assert any(complaint in problem for problem in problems_of(history, log)), problems_of(history, log)


class Deaf(InMemoryStore):
    """Takes every version for the right one, and shows a head and pages that are behind."""

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        return super().append([entry._replace(expected=len(self.read_stream(entry.stream))) for entry in batch])


class Late(InMemoryStore):
    """Hides the last event from readers."""

    def head(self) -> int:
        return max(0, super().head() - 1)

    def read(self, *, after: int = 0, upto: int | None = None, limit: int = 1_000) -> tuple[Recorded, ...]:
        return super().read(after=after, upto=upto, limit=limit)[:-1]


def checked(store: EventStore) -> tuple[str, ...]:
    history = History()
    watched = history.watch(store, "ann")
    watched.append([appending("a", "1", expected=0)])
    with suppress(ConcurrencyError):
        watched.append([appending("a", "2", expected=7)])
    watched.head()
    watched.read()
    log = store.read_stream("a")
    return problems_of(history, log)


def test_wrong_answers_are_found() -> None:
    """A success against its expectation, an old head and a short read are found."""
    assert ["ann expected a at 7, and appended at 1"] == list(checked(Deaf()))
    head, page = checked(Late())
    assert "is not between 1 and 1" in head
    assert "no part of the log" in page
    assert () == checked(InMemoryStore())


def test_refusals_are_noted_and_passed_on() -> None:
    """The watched store raises what the store raised."""
    watched = History().watch(InMemoryStore(), "ann")
    watched.append([appending("a", "1")])
    with pytest.raises(DuplicateEvent):
        watched.append([appending("b", "1")])
    watched.close()


def test_histories_are_kept_in_files(tmp_path: Path) -> None:
    """Files of several processes are read together; a line cut short is the call that got no answer."""
    store = InMemoryStore()
    for who in ("ann", "bob"):
        history = History(tmp_path / who)
        history.watch(store, who).append([appending(who, f"{who} 1")])
        history.close()
    with (tmp_path / "bob").open("rb+") as file:
        file.truncate((tmp_path / "bob").stat().st_size - 3)
    calls = History.load(tmp_path / "ann", tmp_path / "bob")
    assert ["ok", "unknown"] == [call.outcome for call in calls]
    assert () == problems_of(calls, whole_log(store))
