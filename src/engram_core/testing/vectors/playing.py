"""Plays vectors into a store, asks the space over it, and tells what is answered otherwise."""

from __future__ import annotations

import json
import unittest
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from typing import Any
from uuid import UUID

from engram_core.chain import chain_link, genesis
from engram_core.ports import Clock, EraserStore, EventStore, Expect, NewEvent, Recorded, StreamAppend
from engram_core.space import MemorySpace
from engram_core.testing.building import whole_log
from engram_core.testing.clocks import FrozenClock
from engram_core.testing.differences import difference
from engram_core.testing.report import Report
from engram_core.testing.vectors.files import VECTORS, Vector
from engram_core.testing.vectors.telling import ASKS, alike
from engram_core.values import Actor, from_micros
from engram_core.view import View
from engram_core.vocab import ActorKind

__all__ = ["certify_vectors", "check_vector"]


def certify_vectors(make_store: Callable[[Clock], EventStore], *, only: Collection[str] = ()) -> Report:
    """Checks all vectors on new stores of this factory; those that need more than the store can do are skipped.

    Args:
        make_store: Gives a new, empty store that reads a clock.
        only: Names of vectors; by default all.
    """
    passed: list[str] = []
    failed: dict[str, str] = {}
    skipped: dict[str, str] = {}
    for name in sorted(only) or VECTORS:
        try:
            check_vector(VECTORS[name], make_store)
        except unittest.SkipTest as reason:
            skipped[name] = str(reason)
        except Exception as error:  # noqa: BLE001 -- it is what the report tells
            failed[name] = f"{type(error).__name__}: {error}"
        else:
            passed.append(name)
    return Report(tuple(passed), failed, skipped)


def check_vector(vector: Vector, make_store: Callable[[Clock], EventStore]) -> None:
    """Plays a vector into a new store, and compares the log and every answer.

    Args:
        vector: One of `VECTORS`, or one's own.
        make_store: Gives a new, empty store that reads a clock.

    Raises: AssertionError with what was expected and what came; unittest.SkipTest when the store cannot erase.
    """
    stages = sorted({len(vector.steps), *(question["after"] for question in vector.questions)})
    for stage in stages:
        clock = FrozenClock()
        with closing(make_store(clock)) as store:
            if vector.erases and not isinstance(store, EraserStore):
                raise unittest.SkipTest("the store has no erase(): it is not an EraserStore")
            for step in vector.steps[:stage]:
                _take(store, clock, step)
            if stage == len(vector.steps):
                _check_log(vector, whole_log(store))
            _ask(vector, store, clock, [question for question in vector.questions if question["after"] == stage])


def _ask(vector: Vector, store: EventStore, clock: FrozenClock, questions: Sequence[Mapping[str, Any]]) -> None:
    with MemorySpace.over(store, clock=clock) as space:
        for question in questions:
            answer = _answer(space, clock, question)
            if not alike(question["answer"], answer):
                asked = json.dumps({key: value for key, value in question.items() if key != "answer"})
                headline = f"{vector.name}: {asked}"
                raise AssertionError(difference(headline, _shown(question["answer"]), _shown(answer)))


def _take(store: EventStore, clock: FrozenClock, step: Mapping[str, Any]) -> None:
    if "erase" in step:
        assert isinstance(store, EraserStore)
        store.erase(step["erase"]["owner"], step["erase"]["marker"])
        return
    clock.set(from_micros(step["append"]["at"]))
    store.append([_entry(entry) for entry in step["append"]["entries"]])


def _entry(raw: Mapping[str, Any]) -> StreamAppend:
    expected = Expect(raw["expected"]) if isinstance(raw["expected"], str) else raw["expected"]
    events = tuple(NewEvent(**{**event, "commitment": bytes.fromhex(event["commitment"])}) for event in raw["events"])
    return StreamAppend(raw["stream"], expected, events)


def _check_log(vector: Vector, log: tuple[Recorded, ...]) -> None:
    found = [(e.position, e.stream, e.version, e.id, e.recorded_at) for e in log]
    if list(vector.log) != found:
        raise AssertionError(difference(f"{vector.name}: the log", map(repr, vector.log), map(repr, found)))
    if any(vector.payloads[event.id] != event.data for event in log):
        raise AssertionError(f"{vector.name}: a payload is not what it should be")
    link = genesis(UUID(vector.store_id))
    commit: list[Recorded] = []
    for event in log:
        commit.append(event)
        if event.link is not None:
            link, commit = chain_link(link, commit), []
    if link.hex() != vector.link:
        raise AssertionError(
            f"{vector.name}: the chain ends in {link.hex()}, not in {vector.link}: an envelope differs"
        )


def _answer(space: MemorySpace, clock: FrozenClock, question: Mapping[str, Any]) -> Any:
    clock.set(datetime.fromisoformat(question["at"]))
    kind, _, id = question["as"].partition(":")
    view: View = space.session(Actor(ActorKind(kind), id), record=False)
    times = {name: datetime.fromisoformat(question[name]) for name in ("known_at", "valid_at") if name in question}
    if times:
        view = view.as_of(**times)
    return ASKS[question["ask"]](view, *question.get("args", ()), **question.get("options", {}))


def _shown(answer: Any) -> list[str]:
    return json.dumps(answer, ensure_ascii=False, indent=1).splitlines()
