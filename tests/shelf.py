"""A read model filled by hand: texts with sessions, links, audiences and a past, without events or rules."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from engram_core.policy import RecallPolicy
from engram_core.projections import schema, texts
from engram_core.projections.lanes import VisibleTexts
from engram_core.recall import Ranked, Scope, Signals, ranked

SHARED, PRIVATE, RESTRICTED = range(3)
_COLUMNS = [name for name, _ in schema.MEMORY_COLUMNS]
_DEFAULTS: dict[str, Any] = {
    name: 0 if kind.startswith(("INTEGER", "REAL")) else ""
    for name, kind in schema.MEMORY_COLUMNS
    if "NOT NULL" in kind
}
_AUDIENCE = (
    "({row}.lane = 0 OR ({row}.lane = 2 AND EXISTS (SELECT 1 FROM json_each({row}.audience) WHERE value = :viewer)))"
)


class Shelf:
    """Puts memories into a read model, changes and ends them, and asks."""

    def __init__(self, path: str = ":memory:", policy: RecallPolicy | None = None) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.policy = policy or RecallPolicy()
        self.position = 0
        for statement in (*schema.create_statements(), *texts.create_statements()):
            self.connection.execute(statement)

    def put(
        self,
        text: str,
        *,
        content: str = "",
        kind: str = "fact",
        session: str | None = None,
        about: Sequence[int] = (),
        lane: int = SHARED,
        audience: Sequence[str] = (),
        names: Sequence[str] = (),
        tags: Sequence[str] = (),
        **columns: Any,
    ) -> int:
        """A new memory; returns its key."""
        self.position += 1
        key = self.position
        listed = json.dumps(sorted(audience)) if lane == RESTRICTED else None
        row = {
            **_DEFAULTS,
            "key": key,
            "id": f"m{key:06d}",
            "kind": kind,
            "stored": "active",
            "lane": lane,
            "audience": listed,
            "session": session,
            "confidence": 0.9,
            "from_position": key,
            **columns,
        }
        marks = ", ".join("?" * len(_COLUMNS))
        self.connection.execute(f"INSERT INTO memories VALUES ({marks})", [row.get(name) for name in _COLUMNS])
        texts.write_texts(self.connection, [self._text(key, text, content, tags, lane, listed, names)], fresh=True)
        for target in about:
            self.connection.execute(
                "INSERT INTO links (source, relation, target, began, from_position) VALUES (?, 'about', ?, ?, ?)",
                (key, target, key, key),
            )
        return key

    def change(
        self, key: int, text: str, *, lane: int = SHARED, audience: Sequence[str] = (), names: Sequence[str] = ()
    ) -> None:
        """Another text, or another audience."""
        self.position += 1
        listed = json.dumps(sorted(audience)) if lane == RESTRICTED else None
        self._turn(key, {"lane": lane, "audience": listed})
        texts.write_texts(self.connection, [self._text(key, text, "", (), lane, listed, names)])

    def delete(self, key: int) -> None:
        """Gone from the present."""
        self.position += 1
        self._turn(key, {"stored": "deleted"})
        texts.end_texts(self.connection, [(key, self.position)])

    def ask(
        self,
        question: str,
        *,
        viewer: str | None = None,
        known: int | None = None,
        limit: int = 10,
        where: str = "m.kind = 'fact'",
    ) -> list[Ranked]:
        """What a viewer is answered; None sees all."""
        parameters = {"viewer": viewer, "known": known}
        audience = "1" if viewer is None else _AUDIENCE.format(row="m")
        tables = ["memories m"] if known is None else ["memories m", "past_memories m"]
        times = {
            "memories m": "m.from_position <= :known",
            "past_memories m": ":known >= m.from_position AND :known < m.to_position",
        }

        def admit(keys: Sequence[int]) -> list[Any]:
            found = []
            for table in tables:
                then = "1" if known is None else times[table]
                found += self.connection.execute(
                    f"SELECT m.key, m.id, m.confidence FROM json_each(:keys) j CROSS JOIN {table} ON m.key = j.value"
                    f" WHERE {where} AND m.stored = 'active' AND {then} AND {audience}",
                    {**parameters, "keys": json.dumps(keys)},
                ).fetchall()
            return found

        scope = Scope(
            admit=admit,
            weigh=lambda row: Signals(0.5, 0.45, row[2], stale=False),
            parameters=parameters,
            **self._eyes(viewer, known),
        )
        return ranked(self.connection, question, scope, self.policy, limit=limit)

    def visible(self, viewer: str | None, known: int | None) -> VisibleTexts:
        """The texts as a viewer counts them."""
        return VisibleTexts(self.connection, parameters={"viewer": viewer}, **self._eyes(viewer, known))

    def _eyes(self, viewer: str | None, known: int | None) -> dict[str, Any]:
        return {
            "readable": "" if viewer is None else _AUDIENCE,
            "still": "" if viewer is None else "{row}.stored = 'active' AND " + _AUDIENCE,
            "position": known,
        }

    def keys(self, question: str, **how: Any) -> list[int]:
        """The keys of the hits."""
        return [hit.key for hit in self.ask(question, **how)]

    def _turn(self, key: int, columns: dict[str, Any]) -> None:
        listed = ", ".join(_COLUMNS)
        self.connection.execute(
            f"INSERT INTO past_memories ({listed}, to_position) SELECT {listed}, ? FROM memories WHERE key = ?",
            (self.position, key),
        )
        settings = ", ".join(f"{name} = ?" for name in columns)
        self.connection.execute(
            f"UPDATE memories SET {settings}, from_position = ? WHERE key = ?", (*columns.values(), self.position, key)
        )

    def _text(
        self,
        key: int,
        text: str,
        content: str,
        tags: Sequence[str],
        lane: int,
        audience: str | None,
        names: Sequence[str],
    ) -> texts.Text:
        terms = texts.text_terms(title=None, fields=[text], content=content, tags=tags)
        return texts.Text(key, self.position, lane, terms, audience, texts.name_phrases(names))
