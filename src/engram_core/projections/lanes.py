"""The text lanes as one viewer may count them: which texts he sees, how many hold a term, which, and what is near.

A lane is seen whole, row by row, or not at all. Of a lane seen whole the full-text index itself gives the statistics;
at a past position, too: its rows are numbered by the memory's key, which is the position of its beginning, so those of
then are the rows up to a number, less those whose text was changed since. The lane of texts that have ended since is
read row by row beside it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from engram_core.projections.texts import BEGUN_AFTER, LANES, PAST_LANE, SPAN

__all__ = ["VisibleTexts"]

_BY_THEN: Final = "{row}.from_position <= :known"
_UNTIL_THEN: Final = "{row}.from_position <= :known AND {row}.to_position > :known"

_CHANGED: Final = BEGUN_AFTER[1].replace(":after", ":known")
_MANY_CHANGED: Final = 8_192  # from so many on, asking for each match is cheaper than listing them

_MOST_PASSED: Final = 8_192  # texts that are passed over to judge how rare a word is

_LINKING: Final = "'about', 'involves', 'owned_by', 'works_at', 'located_in', 'part_of'"


class _Lane(NamedTuple):
    """One lane as the viewer sees it.

    Attributes:
        name: Its full-text table.
        rows: The table that says which texts it holds.
        joins: What a query over rows `t` of that table joins, to ask for the viewer.
        condition: SQL over these: he may read the text; empty when he reads the whole lane.
        numbers: SQL over the number `{number}` of a match: he may read it; empty for all; None: it takes its row.
    """

    name: str
    rows: str
    joins: str
    condition: str
    numbers: str | None

    def asked(self, number: str) -> tuple[str, str, str]:
        """What a query over matches joins and asks, and the number of a match as in the present."""
        if self.numbers is not None:
            return "", f" AND {self.numbers.format(number=number)}" if self.numbers else "", number
        key, present = ("key", number) if self.rows == "texts" else ("row", f"t.key * 10 + {number} % 10")
        joins = f"CROSS JOIN {self.rows} t ON t.{key} = {number} / 10 {self.joins}"
        return joins, f" AND {self.condition}", present


class VisibleTexts:
    """The texts that one viewer may read at one position.

    Args:
        connection: An open connection to the read model; only read from.
        readable: SQL over columns lane and audience of a row named `{row}`: the viewer may read it; empty when he
            may read all.
        still: For a past view, SQL over a present row `{row}` of `memories`: he may read it today as well.
        position: The known position of a past view; None: the present.
        parameters: Named parameters of `readable` and `still`.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        readable: str = "",
        still: str = "",
        position: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.connection = connection
        self._readable = readable
        self._still = still if position is not None else ""
        self._position = position
        self._parameters = {**(parameters or {}), "known": position}
        self.count = 0
        """How many texts there are."""
        self.length = 0
        """How many terms they hold together."""
        self._lanes = self._present() if position is None else self._past()

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """How many texts hold each of these terms."""
        found = dict.fromkeys(terms, 0)
        listed = json.dumps(terms)
        for lane in self._lanes:
            joins, condition, _ = lane.asked("f.rowid")
            if condition:
                count = f"SELECT count(*) FROM {lane.name} f {joins} WHERE f.terms MATCH"
                sql = f"SELECT j.value, ({count} '\"' || j.value || '\"'{condition}) FROM json_each(:terms) j"
            else:
                sql = (
                    f"SELECT v.term, v.doc FROM json_each(:terms) j CROSS JOIN {lane.name}_terms v ON v.term = j.value"
                )
            for term, held in self.rows(sql, terms=listed):
                found[term] += held
        return found

    def estimates(self, terms: Sequence[str], sample: int) -> dict[str, int]:
        """About how many texts hold each of these terms: exact for fewer than `sample`, else judged by the first.

        To count what holds a common term takes longer than most that could be done with it. Of a lane that is seen in
        part, `sample` stands for all that is more. Of one that is seen whole, what lies between its texts sways the
        judgement, hidden or not: so whatever is told to anybody must not hang on it.
        """
        found = dict.fromkeys(terms, 0)
        for lane in self._lanes:
            joins, condition, _ = lane.asked("f.rowid")
            held = f"SELECT f.rowid AS row FROM {lane.name} f {joins} WHERE f.terms MATCH '\"' || j.value || '\"'"
            sql = (
                f"SELECT j.value, (SELECT count(*) || ' ' || max(row) FROM ({held}{condition} LIMIT :sample))"
                " FROM json_each(:terms) j"
            )
            (end,) = self.connection.execute(f"SELECT coalesce(max(rowid), 0) FROM {lane.name}").fetchone()
            for term, few in self.rows(sql, terms=json.dumps(terms), sample=sample):
                if few is not None:
                    count, last = map(int, few.split())
                    found[term] += max(count, count * end // last) if count == sample and not condition else count
        return found

    def places(self, term: str) -> list[str]:
        """The texts that hold a term, one entry for each time: the memory's key, then one figure for the level."""
        found = []
        for lane in self._lanes:
            joins, condition, number = lane.asked("doc")
            sql = f"SELECT group_concat({number}) FROM {lane.name}_places {joins} WHERE term = :term{condition}"
            found.append(self._one(sql, term=term))
        return ",".join(filter(None, found)).split(",") if any(found) else []

    def holders(self, term: str, most: int) -> list[str]:
        """The keys of the memories whose texts hold a term, once each, as text; so many of each lane at most."""
        found = []
        for lane in self._lanes:
            joins, condition, number = lane.asked("f.rowid")
            held = f"SELECT {number} / 10 AS key FROM {lane.name} f {joins} WHERE f.terms MATCH :match{condition}"
            sql = f"SELECT group_concat(key) FROM ({held} LIMIT :most)"
            found.append(self._one(sql, match=f'"{term}"', most=most))
        return ",".join(filter(None, found)).split(",") if any(found) else []

    def seems_common(self, term: str, sample: int, most: int) -> bool:
        """True when more texts than so many seem to hold a term, judged by what the viewer sees and nothing else.

        As among the texts up to the last of the first `sample` that hold it, so among all of its lane.
        """
        count = 0
        for lane in self._lanes:
            joins, condition, _ = lane.asked("f.rowid")
            held = f"SELECT f.rowid AS row FROM {lane.name} f {joins} WHERE f.terms MATCH :match{condition} LIMIT :most"
            ((few, last),) = self.rows(f"SELECT count(*), max(row) FROM ({held})", match=f'"{term}"', most=sample)
            if few < sample or condition:
                count += few
                continue
            number = LANES.index(lane.name)
            texts = self._one("SELECT sum(texts) FROM text_totals WHERE lane = :lane", lane=number)
            upto = "SELECT 1 FROM texts WHERE lane = :lane AND key <= :key LIMIT :most"
            enough = min(1 + sample * texts // (most + 1), _MOST_PASSED)
            seen = self._one(f"SELECT count(*) FROM ({upto})", lane=number, key=last // 10, most=enough)
            count += sample * texts // seen
        return count > most

    def holding(self, term: str, others: Iterable[str]) -> list[str]:
        """The texts that hold a term and at least one of others, once each."""
        either = " OR ".join(f'"{other}"' for other in others)
        found = []
        for lane in self._lanes:
            joins, condition, number = lane.asked("f.rowid")
            sql = f"SELECT group_concat({number}) FROM {lane.name} f {joins} WHERE f.terms MATCH :match{condition}"
            found.append(self._one(sql, match=f'"{term}" AND ({either})'))
        return ",".join(filter(None, found)).split(",") if any(found) else []

    def terms(self, keys: Sequence[int]) -> dict[int, str]:
        """The terms of these memories' texts."""
        found: dict[int, str] = {}
        for lane in self._lanes:
            sql = (
                "SELECT t.key, f.terms FROM json_each(:keys) j"
                f" CROSS JOIN {lane.rows} t ON t.key = j.value {lane.joins}"
                f" CROSS JOIN {lane.name} f ON f.rowid = t.document WHERE {lane.condition or 1}"
            )
            if lane.name in LANES:
                sql += f" AND t.lane = {LANES.index(lane.name)}"
            found.update(self.rows(sql, keys=json.dumps(keys)))
        return found

    def vectors(self, embedder: int, done: int) -> Iterator[tuple[int, bytes]]:
        """The vectors of the texts: key of the memory, and one vector of its text.

        Args:
            embedder: Whose vectors.
            done: Position up to which all texts have theirs; those of later ones are left out.
        """
        tables = [("texts", _BY_THEN), ("past_texts", _UNTIL_THEN)]
        if self._position is None:
            tables = [("texts", "")]
        for table, when in tables:
            joins, condition = self._asked(when, table)
            yield from self.connection.execute(
                f"SELECT t.key, v.vector FROM {table} t {joins} CROSS JOIN vectors v ON v.embedder = :embedder"
                # the plus keeps SQLite from deriving a range of v from that of t
                f" AND v.from_position = +t.from_position WHERE t.from_position <= :done AND {condition or 1}",
                {**self._parameters, "embedder": embedder, "done": done},
            )

    def began(self, keys: Iterable[int]) -> dict[int, int]:
        """Of these memories, those whose text the viewer may read, with the position at which that text began."""
        found: dict[int, int] = {}
        listed = json.dumps(list(keys))
        for lane in self._lanes:
            sql = (
                f"SELECT t.key, t.from_position FROM json_each(:keys) j CROSS JOIN {lane.rows} t ON t.key = j.value"
                f" {lane.joins} WHERE {lane.condition or 1}"
            )
            if lane.name in LANES:
                sql += f" AND t.lane = {LANES.index(lane.name)}"
            found.update(self.rows(sql, keys=listed))
        return found

    def groups(self, groups: Sequence[tuple[int, str | None]]) -> list[tuple[int, str | None]]:
        """Those pairs of lane and audience whose texts the viewer may read."""
        if not self._readable:
            return list(groups)
        return self.rows(
            "SELECT t.lane, t.audience FROM (SELECT json_extract(value, '$[0]') AS lane,"
            " json_extract(value, '$[1]') AS audience FROM json_each(:groups)) t"
            f" WHERE {self._readable.format(row='t')}",
            groups=json.dumps(groups),
        )

    def later(self, position: int) -> list[int]:
        """The memories whose present text began after a position, and may be read by the viewer."""
        condition = self._readable.format(row="t") if self._readable else "1"
        sql = " UNION ALL ".join(f"SELECT t.key FROM texts t WHERE {when} AND {condition}" for when in BEGUN_AFTER)
        return [key for (key,) in self.rows(sql, after=position)]

    @property
    def head(self) -> int:
        """The last position that the read model holds."""
        found: int = self._one("SELECT value FROM meta WHERE name = 'position'")
        return found

    @property
    def known(self) -> int:
        """The position at which the texts are read."""
        return self.head if self._position is None else self._position

    @property
    def asks_today(self) -> bool:
        """True when what is read must be readable in the present, too."""
        return bool(self._still)

    def named(self, terms: Iterable[str]) -> list[tuple[str, int, int, int]]:
        """Where a term is part of an entity's name: term, the entity's key, number and size of the name."""
        when = "n.to_position IS NULL"
        if self._position is not None:
            when = "n.from_position <= :known AND coalesce(n.to_position > :known, 1)"
        return self.rows(
            "SELECT n.term, n.key, n.phrase, n.size FROM json_each(:terms) j CROSS JOIN names n ON n.term = j.value"
            f" WHERE {when} AND {self._seen('n')}",
            terms=json.dumps(list(terms)),
        )

    def around(self, keys: Sequence[int], reach: int) -> list[tuple[int, list[str], list[str]]]:
        """What was stored in the same session before and after each memory, nearest first, numbered as in `places`."""
        near = (
            "(SELECT group_concat(document) FROM (SELECT {document} AS document FROM main.memories m {joins}"
            " WHERE m.session = o.session AND m.key {side} o.key AND {seen} ORDER BY m.key {order} LIMIT {reach}))"
        )
        shared: dict[str, Any] = {"reach": reach}
        if self._position is None:
            shared["joins"] = "CROSS JOIN texts t ON t.key = m.key"
            shared["document"] = "t.key * 10 + t.document % 10"
            shared["seen"] = self._readable.format(row="t") or "1"
        else:
            shared |= {"joins": "", "document": self._document("m"), "seen": self._seen("m")}
        before = near.format(side="<", order="DESC", **shared)
        after = near.format(side=">", order="ASC", **shared)
        found = self.rows(
            f"SELECT o.key, {before}, {after} FROM json_each(:keys) j CROSS JOIN main.memories o ON o.key = j.value"
            " WHERE o.session IS NOT NULL",
            keys=json.dumps(keys),
        )
        return [
            (
                key,
                sorted(earlier.split(","), key=int, reverse=True) if earlier else [],
                sorted(later.split(","), key=int) if later else [],
            )
            for key, earlier, later in found
        ]

    def with_merged(self, entities: Mapping[int, float]) -> dict[int, float]:
        """Entities with a value each, and those that were merged into them, directly, with the same value."""
        if not entities:
            return {}
        found = dict(entities)
        for source, survivor in self._both(
            "SELECT s.key, m.key FROM json_each(:keys) j CROSS JOIN main.memories m ON m.key = j.value"
            " CROSS JOIN main.{past}memories s ON s.merged_into = m.id",
            "s",
            keys=json.dumps(list(entities)),
        ):
            found[source] = max(found.get(source, 0.0), entities[survivor])
        return found

    def linked(self, keys: Iterable[int], entities: Iterable[int]) -> list[tuple[int, int]]:
        """Which of these memories are linked to which of these entities."""
        return self._both(
            "SELECT l.source, l.target FROM json_each(:keys) j CROSS JOIN main.{past}links l ON l.source = j.value"
            f" WHERE +l.relation IN ({_LINKING}) AND +l.target IN (SELECT value FROM json_each(:entities))",
            "l",
            keys=json.dumps(list(keys)),
            entities=json.dumps(list(entities)),
        )

    def _both(self, sql: str, row: str, **more: Any) -> list[Any]:
        """The rows of a query over a table with a past, as they were at the known position."""
        if self._position is None:
            return self.rows(sql.format(past=""), **more)
        sql = f"{sql} {'AND' if ' WHERE ' in sql else 'WHERE'} "
        present = self.rows(sql.format(past="") + _BY_THEN.format(row=row), **more)
        return present + self.rows(sql.format(past="past_") + _UNTIL_THEN.format(row=row), **more)

    def rows(self, sql: str, **more: Any) -> list[Any]:
        """All rows of a query with the viewer's parameters."""
        return self.connection.execute(sql, {**self._parameters, **more}).fetchall()

    def _one(self, sql: str, **more: Any) -> Any:
        found = self.connection.execute(sql, {**self._parameters, **more}).fetchone()
        return found[0] if found else None

    def _seen(self, row: str) -> str:
        """SQL: the memory whose key stands in a row has a text that the viewer may read."""
        tables = [("texts", _BY_THEN), ("past_texts", _UNTIL_THEN)]
        if self._position is None:
            tables = [("texts", "")]
        found = []
        for table, when in tables:
            joins, condition = self._asked(when, table)
            found.append(f"EXISTS (SELECT 1 FROM {table} t {joins} WHERE t.key = {row}.key AND {condition or 1})")
        return f"({' OR '.join(found)})"

    def _document(self, row: str) -> str:
        """SQL: the number of a visible memory's text."""
        present = f"(SELECT t.key * 10 + t.document % 10 FROM texts t WHERE t.key = {row}.key"
        if self._position is None:
            return f"{present})"
        past = present.replace("FROM texts", "FROM past_texts").replace("(SELECT", "(SELECT", 1)
        return f"coalesce({present} AND {_BY_THEN.format(row='t')}), {past} AND {_UNTIL_THEN.format(row='t')}))"

    def _asked(self, when: str, table: str) -> tuple[str, str]:
        """The joins and the condition under which a row `t` of a table of texts counts.

        A present text has the audience of its memory, which is not gone: only of those that ended it is asked whether
        he may read the memory today.
        """
        conditions = [part.format(row="t") for part in (when, self._readable) if part]
        joins = ""
        if self._still and table == "past_texts":
            joins = "CROSS JOIN main.memories today ON today.key = t.key"
            conditions.append(self._still.format(row="today"))
        return joins, " AND ".join(f"({condition})" for condition in conditions)

    def _present(self) -> list[_Lane]:
        lanes = []
        totals = self.rows("SELECT lane, sum(texts), sum(length) FROM text_totals GROUP BY lane HAVING sum(texts) > 0")
        for number, texts, length in totals:
            if number == 0 or not self._readable:
                lanes.append(_Lane(LANES[number], "texts", "", "", ""))
                self.count += texts
                self.length += length
            elif number == 2:
                lanes += self._restricted("")
        return lanes

    def _past(self) -> list[_Lane]:
        whole = LANES if not self._readable else LANES[:1]
        numbers = self._numbers()
        lanes = [_Lane(name, "texts", "", _BY_THEN.format(row="t"), numbers) for name in whole]
        self._count_whole(len(whole))
        if self._readable:
            lanes += self._restricted(_BY_THEN.format(row="t"))
        past = _Lane(PAST_LANE, "past_texts", *self._asked(_UNTIL_THEN, "past_texts"), None)
        return [*lanes, past] if self._add(past) else lanes

    def _numbers(self) -> str | None:
        """SQL over the number of a match in a lane seen whole: the text held at the known position already."""
        found = self.rows(f"SELECT t.key FROM texts t WHERE {_CHANGED} LIMIT {_MANY_CHANGED}")
        if len(found) == _MANY_CHANGED:
            return None
        numbers = f"{{number}} < {10 * (self.known + 1)}"
        return (
            f"{numbers} AND {{number}} / 10 NOT IN (SELECT t.key FROM texts t WHERE {_CHANGED})" if found else numbers
        )

    def _count_whole(self, lanes: int) -> None:
        """Counts the texts of the first lanes that began by the known position and have not ended."""
        span = self.known // SPAN
        sums = "coalesce(sum(t.length), 0) FROM texts t WHERE t.lane < :lanes"
        for texts, length in self.rows(
            "SELECT coalesce(sum(texts), 0), coalesce(sum(length), 0) FROM text_totals"
            " WHERE lane < :lanes AND span < :span"
            f" UNION ALL SELECT count(*), {sums} AND t.key > :after AND t.key <= :known AND t.from_position <= :known"
            f" UNION ALL SELECT count(*), {sums} AND {BEGUN_AFTER[1]} AND t.from_position <= :known",
            lanes=lanes,
            span=span,
            after=span * SPAN - 1,
        ):
            self.count += texts
            self.length += length

    def _restricted(self, when: str) -> list[_Lane]:
        """The lane of restricted texts, by the audiences to which the viewer belongs; there are few."""
        audiences = self.rows(
            "WITH RECURSIVE audiences (audience) AS ("
            "SELECT min(t.audience) FROM texts t WHERE t.lane > 0 AND t.lane = 2 UNION ALL"
            " SELECT (SELECT min(t.audience) FROM texts t WHERE t.lane > 0 AND t.lane = 2 AND t.audience > a.audience)"
            " FROM audiences a WHERE a.audience IS NOT NULL)"
            " SELECT t.audience FROM (SELECT 2 AS lane, audience FROM audiences WHERE audience IS NOT NULL) t"
            f" WHERE {self._readable.format(row='t')}"
        )
        if not audiences:
            return []
        self._parameters["audiences"] = json.dumps([audience for (audience,) in audiences])
        among = "t.audience IN (SELECT value FROM json_each(:audiences))"
        condition = " AND ".join(filter(None, ("t.lane > 0", "t.lane = 2", among, when)))
        lane = _Lane(LANES[2], "texts", "", condition, None)
        return [lane] if self._add(lane) else []

    def _add(self, lane: _Lane) -> int:
        ((texts, length),) = self.rows(
            f"SELECT count(*), coalesce(sum(t.length), 0) FROM {lane.rows} t {lane.joins} WHERE {lane.condition}"
        )
        self.count += texts
        self.length += length
        return int(texts)
