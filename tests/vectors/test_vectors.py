"""The vectors are what the library does, agree with a plain reading, and find stores that do otherwise."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from engram_core.ports import Appended, Clock, EventStore, Recorded
from engram_core.stores import InMemoryStore, SqliteStore
from engram_core.testing import VECTORS, certify_vectors, check_vector
from engram_core.testing.vectors import ASKS, alike
from engram_core.testing.vectors.files import Vector
from examples.store_in_a_file import FileStore
from tests.projections.histories import PlainStore
from tests.vectors import making, plain
from tests.vectors.tales import TALES

NAMES = sorted(TALES)


def raw(name: str) -> dict[str, Any]:
    """The file of a vector."""
    found: dict[str, Any] = json.loads((files("engram_core.testing.vectors") / f"{name}.json").read_text("utf-8"))
    return found


def test_every_tale_has_a_file() -> None:
    """And every file has a tale."""
    assert NAMES == list(VECTORS)
    assert len(NAMES) == len(VECTORS)
    assert set(ASKS) == {question["ask"] for vector in VECTORS.values() for question in vector.questions}


@pytest.mark.parametrize("name", NAMES)
def test_the_files_are_what_is_done(name: str) -> None:
    """If this fails, a stored history is answered otherwise than before: make the files anew, and say so to readers."""
    again = making.made(name)
    assert raw(name)["steps"] == again["steps"], "run python -m tests.vectors.making"
    assert raw(name) | {"questions": None} == again | {"questions": None}
    for was, now in zip(raw(name)["questions"], again["questions"], strict=True):
        assert {**was, "answer": None} == {**json.loads(json.dumps(now)), "answer": None}
        assert alike(was["answer"], json.loads(json.dumps(now["answer"]))), (was, now)


@pytest.mark.parametrize("name", NAMES)
def test_a_plain_reading_agrees(name: str) -> None:
    """The standard library alone makes the same chain, the same states and the same refusals of the file."""
    vector = raw(name)
    events = plain.events_of(vector)
    assert vector["link"] == plain.link_of(vector)
    assert vector["log"] == [[e["position"], e["stream"], e["version"], e["id"], e["recorded_at"]] for e in events]
    compared = 0
    for question in vector["questions"]:
        if question["ask"] != "get" or "known_at" in question:
            continue
        so_far = plain.events_of(vector, question["after"])
        own = [event for event in so_far if event["stream"] == question["args"][0]]
        state = plain.state_of(own)
        if state is None:
            continue
        expected = plain.shown(state, question["as"], plain.micros(question["at"]))
        compared += 1
        answer = question["answer"]
        if "refused" in answer or "refused" in expected:
            assert expected == answer
            continue
        if question["as"].startswith("user"):
            edges = [(link["relation"], link["target"]) for link in answer["links"]]
            assert expected["links"] == sorted(edges)
        if answer["status"] in {"active", "stale"}:
            assert expected["is_stale"] == (answer["status"] == "stale")
        evidence = [[given["type"], given["value"], given["note"]] for given in answer["evidence"]]
        assert expected["evidence"] == evidence
        for field in set(expected) - {"links", "is_stale", "evidence"}:
            assert alike(expected[field], sorted(answer[field]) if field == "tags" else answer[field]), field
    assert compared or name in {"recall", "times"}


@pytest.mark.parametrize("name", ["audience", "kinds"])
def test_plain_listings_agree(name: str) -> None:
    """So do listings, counts, tags and importance, for each viewer: what he may not see counts nowhere."""
    compared: Counter[str] = Counter()
    for question in raw(name)["questions"]:
        options, viewer, answer = question.get("options", {}), question["as"], question["answer"]
        states = plain.states_of(plain.events_of(raw(name), question["after"]))
        assert states is not None
        if {"known_at", "valid_at"} & set(question) or set(options) - {"kind", "tags"}:
            continue
        match question["ask"]:
            case "find":
                assert {"ids": plain.find(states, viewer, **options), "more": False} == answer
            case "count":
                assert len(plain.find(states, viewer, **options)) == answer
            case "tags":
                assert plain.tags(states, viewer) == answer
            case "get" if "id" in answer:
                assert alike(plain.importance(states, answer["id"], viewer), answer["importance"])
            case _:
                continue
        compared[question["ask"]] += 1
    assert {"find", "count", "tags", "get"} == set(compared)


def stores(tmp_path: Path) -> dict[str, Callable[[Clock], EventStore]]:
    """A factory for each sort of store."""
    numbers = iter(range(1_000))
    return {
        "memory": lambda clock: InMemoryStore(clock=clock),
        "sqlite": lambda clock: SqliteStore(tmp_path / f"{next(numbers)}.db", clock=clock, durability="normal"),
        "file": lambda clock: FileStore(tmp_path / str(next(numbers)), clock=clock),
    }


@pytest.mark.parametrize("sort", ["memory", "sqlite", "file"])
def test_stores_are_certified(sort: str, tmp_path: Path) -> None:
    """The library's own stores, and one of somebody's own, answer every question."""
    report = certify_vectors(stores(tmp_path)[sort])
    assert ({}, {}, tuple(NAMES)) == (report.failed, report.skipped, report.passed), str(report)


def test_what_a_store_cannot_do_is_skipped() -> None:
    """A store that cannot erase is told so."""
    report = certify_vectors(lambda clock: PlainStore(InMemoryStore(clock=clock)), only=["erasure", "times"])
    assert ["times"] == list(report.passed)
    assert "not an EraserStore" in report.skipped["erasure"]


class Forgetful(InMemoryStore):
    """Loses the end of every long text."""

    def append(self, batch: Any) -> Appended:
        cut = [
            entry._replace(
                events=[e._replace(occurred_at=e.occurred_at // 1_000_000 * 1_000_000 + 1) for e in entry.events]
            )
            for entry in batch
        ]
        return super().append(cut)


class Unordered(InMemoryStore):
    """Puts the events of a commit in another order."""

    def append(self, batch: Any) -> Appended:
        return super().append(list(reversed(batch)))


class Hasty(InMemoryStore):
    """Goes by a clock of its own."""

    def __init__(self, *, clock: Clock) -> None:
        super().__init__()


class Deaf(InMemoryStore):
    """Keeps what it was told to erase."""

    def erase(self, owner: str, marker: str) -> tuple[Recorded, ...]:
        return ()


@pytest.mark.parametrize(
    ("cls", "name", "complaint"),
    [
        (Forgetful, "times", "an envelope differs"),
        (Unordered, "proposals", "the log"),
        (Hasty, "times", "the log"),
        (Deaf, "erasure", "a payload"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_wrong_stores_are_found(cls: Any, name: str, complaint: str) -> None:
    """A store that alters, reorders, dates or keeps what it should not answers otherwise somewhere."""
    report = certify_vectors(lambda clock: cls(clock=clock), only=[name])
    assert complaint in report.failed[name], report


def test_another_answer_is_shown() -> None:
    """What was expected and what came stand one below the other."""
    vector = VECTORS["kinds"]
    first = {**vector.questions[0], "answer": {**vector.questions[0]["answer"], "title": "Another"}}
    with pytest.raises(AssertionError) as caught:
        check_vector(evolve(vector, questions=(first,)), lambda clock: InMemoryStore(clock=clock))
    assert '-  "title": "Another",' in str(caught.value)
    assert '+  "title": null,' in str(caught.value)


def test_unknown_vectors_are_refused() -> None:
    """By name, and by the version of their form."""
    with pytest.raises(KeyError):
        VECTORS["nothing"]
    with pytest.raises(ValueError, match="form 2"):
        Vector.of("later", {**raw("kinds"), "format": 2})


def test_answers_are_compared_by_what_they_say() -> None:
    """The last digits of a figure do not count; a flag is no figure, and nothing is missing."""
    assert alike({"a": [0.1 + 0.2, 1]}, {"a": [0.3, 1.0]})
    assert not alike(1, True)
    assert not alike([1], [1, 2])
    assert not alike({"a": 1}, {"a": 1, "b": None})
    assert not alike("1", 1)
    assert not alike(1, "1")
