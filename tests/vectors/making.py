"""Makes the conformance vectors anew, from the door: `python -m tests.vectors.making` writes the files.

What a space gives to its store is noted on the way. All that is drawn by lot elsewhere counts here, so that the same
library makes the same bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import UUID

import engram_core.testing.vectors
from engram_core import MemorySpace
from engram_core.ports import Appended, Expect, NewEvent, Recorded, StreamAppend
from engram_core.stores import InMemoryStore
from engram_core.testing import FrozenClock, SequentialIds, whole_log
from engram_core.testing.vectors import ASKS
from engram_core.testing.vectors.files import FORMAT
from engram_core.values import Actor, instant_text, to_micros
from tests.vectors.tales import ANN, START, TALES

FOLDER = Path(engram_core.testing.vectors.__file__).parent
STORE_ID = UUID("00000000-0000-7000-8000-0000000000ff")


class NotingStore:
    """A store in memory that notes what it is given."""

    def __init__(self, clock: FrozenClock) -> None:
        self._inner = InMemoryStore(clock=clock, store_id=STORE_ID)
        self._clock = clock
        self.steps: list[dict[str, Any]] = []

    @property
    def store_id(self) -> UUID:
        return self._inner.store_id

    def append(self, batch: Sequence[StreamAppend]) -> Appended:
        answer = self._inner.append(batch)
        if answer.events and not answer.duplicate:
            entries = [
                {
                    "stream": entry.stream,
                    "expected": entry.expected.value if isinstance(entry.expected, Expect) else entry.expected,
                    "events": [_given(event) for event in entry.events],
                }
                for entry in batch
            ]
            self.steps.append({"append": {"at": to_micros(self._clock.now()), "entries": entries}})
        return answer

    def erase(self, owner: str, marker: str) -> tuple[Recorded, ...]:
        found = self._inner.erase(owner, marker)
        if found:
            self.steps.append({"erase": {"owner": owner, "marker": marker}})
        return found

    def scrub(self) -> bool:
        return self._inner.scrub()

    def transaction(self) -> AbstractContextManager[None]:
        return self._inner.transaction()

    def read_stream(self, stream: str, **bounds: Any) -> tuple[Recorded, ...]:
        return self._inner.read_stream(stream, **bounds)

    def read(self, **bounds: Any) -> tuple[Recorded, ...]:
        return self._inner.read(**bounds)

    def head(self) -> int:
        return self._inner.head()

    def close(self) -> None:
        pass  # it is read once more


def _given(event: NewEvent) -> dict[str, Any]:
    raw = {**event._asdict(), "commitment": event.commitment.hex()}
    return {name: value for name, value in raw.items() if value is not None}


class Teller:
    """What a tale has at hand: a space, its clock, and questions."""

    def __init__(self, space: MemorySpace, clock: FrozenClock, steps: list[dict[str, Any]]) -> None:
        self.space = space
        self.steps = steps
        self.clock = clock
        self.ids: list[str] = []
        self.questions: list[dict[str, Any]] = []

    def session(self, actor: Actor, **given: Any) -> Any:
        """An actor's session, whose reads are not recorded."""
        return self.space.session(actor, record=False, **given)

    def new(self, attributes: Any, *, by: Actor = ANN, **options: Any) -> str:
        """Somebody remembers something; gives its id."""
        receipt = self.session(by).remember(attributes, similar=False, **options)
        self.ids.append(str(receipt.memory_id))
        return self.ids[-1]

    def ask(
        self,
        ask: str,
        *args: Any,
        by: Actor = ANN,
        at: datetime | None = None,
        known_at: datetime | None = None,
        valid_at: datetime | None = None,
        **options: Any,
    ) -> Any:
        """Asks now or at another time, and notes question and answer."""
        now = at or self.clock.now()
        times = {name: value for name, value in (("known_at", known_at), ("valid_at", valid_at)) if value is not None}
        before = self.clock.now()
        self.clock.set(now)
        view = self.session(by)
        answer = ASKS[ask](view.as_of(**times) if times else view, *args, **options)
        self.clock.set(before)
        who = f"{by.kind.value}:{by.id}"
        question: dict[str, Any] = {"after": len(self.steps), "as": who, "at": instant_text(now)}
        question |= {name: instant_text(value) for name, value in times.items()}
        question |= {"ask": ask} | ({"args": list(args)} if args else {}) | ({"options": options} if options else {})
        self.questions.append({**question, "answer": answer})
        return answer

    def states(self, by: Actor = ANN, at: datetime | None = None) -> None:
        """Asks for every memory that was made."""
        for id in self.ids:
            self.ask("get", id, by=by, at=at)


def made(name: str) -> dict[str, Any]:
    """One vector."""
    tale: Callable[[Teller], None] = TALES[name]
    clock = FrozenClock(START)
    store = NotingStore(clock)
    salts = count(1)
    salted = mock.patch("engram_core.log.secrets.token_urlsafe", side_effect=lambda _: f"salt {next(salts)}")
    with salted, MemorySpace.over(store, clock=clock, ids=SequentialIds()) as space:
        teller = Teller(space, clock, store.steps)
        tale(teller)
        log = whole_log(store)
    return {
        "format": FORMAT,
        "about": " ".join((tale.__doc__ or "").split()),
        "store_id": str(STORE_ID),
        "steps": store.steps,
        "log": [[e.position, e.stream, e.version, e.id, e.recorded_at] for e in log],
        "link": (log[-1].link or b"").hex(),
        "questions": teller.questions,
    }


def as_text(vector: dict[str, Any]) -> str:
    """A vector as its file holds it: a line for each step, each row and each question."""
    parts = []
    for key, value in vector.items():
        if isinstance(value, list):
            lines = ",\n".join(f"  {json.dumps(item, ensure_ascii=False)}" for item in value)
            parts.append(f' "{key}": [\n{lines}\n ]')
        else:
            parts.append(f' "{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> int:
    """Writes all files."""
    for name in TALES:
        (FOLDER / f"{name}.json").write_text(as_text(made(name)), "utf-8")
        print(f"{name}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
