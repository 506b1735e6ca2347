"""The vectors that come with the library, read when they are asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, Final

from attrs import frozen

__all__ = ["FORMAT", "VECTORS", "Vector"]

FORMAT: Final = 1
"""The version of the form that the files have."""


@frozen(kw_only=True)
class Vector:
    """A history with its questions, as JSON values.

    Attributes:
        name: The file's name, without its ending.
        about: What it is to show.
        store_id: Of the log whose hash chain ends in `link`.
        steps: What the store is given: an append, or an erasure.
        log: How the log stands afterwards: position, stream, version, id and instant of recording of each event.
        link: The end of the hash chain, in hexadecimal.
        questions: Who asks what, after how many steps, when, and the answer.
    """

    name: str
    about: str
    store_id: str
    steps: tuple[Mapping[str, Any], ...]
    log: tuple[tuple[Any, ...], ...]
    link: str
    questions: tuple[Mapping[str, Any], ...]

    @property
    def erases(self) -> bool:
        """Whether the store must be one that can erase."""
        return any("erase" in step for step in self.steps)

    @property
    def payloads(self) -> Mapping[str, str]:
        """What each event holds at the end, by its id: what was appended, or the marker of its erasure."""
        found: dict[str, str] = {}
        owners: dict[str, str] = {}
        for step in self.steps:
            if "erase" in step:
                gone = [id for id, owner in owners.items() if owner == step["erase"]["owner"]]
                found |= dict.fromkeys(gone, step["erase"]["marker"])
                continue
            events = [event for entry in step["append"]["entries"] for event in entry["events"]]
            found |= {event["id"]: event["data"] for event in events}
            owners |= {event["id"]: event["owner"] for event in events}
        return found

    @classmethod
    def of(cls, name: str, raw: Mapping[str, Any]) -> Vector:
        """A vector from its JSON.

        Raises: ValueError for another version of the form.
        """
        if raw["format"] != FORMAT:
            raise ValueError(f"the vector {name} has the form {raw['format']}, and this is {FORMAT}")
        return cls(
            name=name,
            about=raw["about"],
            store_id=raw["store_id"],
            steps=tuple(raw["steps"]),
            log=tuple(tuple(row) for row in raw["log"]),
            link=raw["link"],
            questions=tuple(raw["questions"]),
        )


class _Shipped(Mapping[str, Vector]):
    """The files of this folder by name."""

    def __getitem__(self, name: str) -> Vector:
        file = files(__package__) / f"{name}.json"
        if not name.isidentifier() or not file.is_file():
            raise KeyError(name)
        return Vector.of(name, json.loads(file.read_text("utf-8")))

    def __iter__(self) -> Iterator[str]:
        names = [file.name for file in files(__package__).iterdir()]
        return iter(sorted(name.removesuffix(".json") for name in names if name.endswith(".json")))

    def __len__(self) -> int:
        return sum(1 for _ in self)


VECTORS: Final[Mapping[str, Vector]] = _Shipped()
"""The vectors that come with the library, by name."""
