"""The library `eventsourcing` over its own SQLite recorder: aggregates of one to a thousand events."""

import time

from eventsourcing.application import Application  # type: ignore[import-not-found]
from eventsourcing.domain import Aggregate, event  # type: ignore[import-not-found]
from timing import given, median, told  # type: ignore[import-not-found]


class Note(Aggregate):  # type: ignore[misc]
    """A memory as this library would have it."""

    @event("Created")  # type: ignore[untyped-decorator]
    def __init__(self, text: str, about: str) -> None:
        self.text = text
        self.about = about

    @event("Edited")  # type: ignore[untyped-decorator]
    def edit(self, text: str) -> None:
        """Says it otherwise."""
        self.text = text


def main() -> None:
    asked, folder = given()
    settings = {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(folder / "notes.db")}
    app = Application(env=settings)
    figures = {}

    def ten(text: str) -> None:
        note = Note(text, "somebody")
        for number in range(9):
            note.edit(f"{text} {number}")
        app.save(note)

    figures["append 1"] = median(lambda text: app.save(Note(text, "somebody")), asked["texts"][:500])
    figures["append 10"] = median(ten, asked["spare"][:100])
    for name, count in (("load 10", 10), ("load 100", 100), ("load 1,000", 1_000)):
        note = Note(asked["texts"][0], "somebody")
        for number in range(count - 1):
            note.edit(f"version {number}")
        app.save(note)
        figures[name] = median(lambda _: app.repository.get(note.id), range(max(5, 1_000 // count)))  # noqa: B023
    started, start, count = time.process_time(), 1, 0
    while page := app.recorder.select_notifications(start, 1_000):
        for notification in page:
            app.mapper.to_domain_event(notification)
        count, start = count + len(page), page[-1].id + 1
    figures["read log"] = (time.process_time() - started) / count * 1e6
    told(figures)


if __name__ == "__main__":
    main()
