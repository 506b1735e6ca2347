"""LangGraph's SqliteStore: JSON under keys, searched by equality and never by words."""

import sqlite3

from langgraph.store.base import PutOp  # type: ignore[import-not-found]
from langgraph.store.sqlite import SqliteStore  # type: ignore[import-not-found]
from timing import given, median, told  # type: ignore[import-not-found]


def main() -> None:
    asked, folder = given()
    connection = sqlite3.connect(folder / "store.db", isolation_level=None, check_same_thread=False)
    store = SqliteStore(connection)
    store.setup()
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    place = ("memories",)
    texts = asked["texts"]

    def many(start: int) -> None:
        part = texts[start : start + 1_000]
        store.batch([PutOp(place, f"note {start + at}", {"text": text}) for at, text in enumerate(part)])

    figures = {"add many": median(many, range(0, len(texts), 1_000)) / min(1_000, len(texts))}
    figures["add one"] = median(
        lambda given: store.put(place, f"new {given[0]}", {"text": given[1]}), enumerate(asked["spare"])
    )
    figures["get"] = median(lambda number: store.get(place, f"note {number}"), range(min(500, len(texts))))
    told(figures)


if __name__ == "__main__":
    main()
