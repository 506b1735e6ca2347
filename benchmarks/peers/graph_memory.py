"""The memory `engrama`: nodes of a graph and a full-text index in SQLite, without a model."""

import sqlite3

import sqlite_vec  # type: ignore[import-not-found]
from timing import each, given, median, told  # type: ignore[import-not-found]


class _Plain(sqlite3.Connection):
    def enable_load_extension(self, enable: bool, /) -> None:
        """Without a model it needs no vectors, but it always asks for them, and not every Python can load them."""


if not hasattr(sqlite3.Connection, "enable_load_extension"):
    _connect = sqlite3.connect
    sqlite3.connect = lambda *arguments, **options: _connect(*arguments, factory=_Plain, **options)  # type: ignore[assignment]
    sqlite_vec.load = lambda _: None


def main() -> None:
    from engrama import Engrama  # type: ignore[import-not-found]

    asked, folder = given()
    memory = Engrama(backend="sqlite", db_path=folder / "memory.db")
    memory._store._conn.execute("PRAGMA synchronous=NORMAL")
    figures = {}
    for number, text in enumerate(asked["texts"]):
        memory.remember("Concept", f"note {number}", text)
    figures["add one"] = median(
        lambda given: memory.remember("Concept", f"new {given[0]}", given[1]), enumerate(asked["spare"])
    )
    words = [
        " OR ".join(f'"{word}"' for word in text.rstrip("?").split()[5:] if word not in {"and", "the"})
        for text in asked["questions"]
    ]
    found = each(lambda text: memory.search(text, limit=10), words)
    figures["search p50"], figures["search p99"] = found[len(found) // 2], found[-1]
    told(figures)


if __name__ == "__main__":
    main()
