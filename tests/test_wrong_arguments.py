"""Whatever is given for an argument of the door: an error of ours or an answer, and a space that goes on working."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from engram_core import Actor, AsyncMemorySpace, Maintenance, MemorySpace, Session, View, assistant, user
from engram_core.verbs import Verbs
from tests.wrong_values import (
    FUNCTIONS,
    NOW,
    SCALARS,
    USUALLY,
    USUALLY_THERE,
    VALUES,
    Call,
    Room,
    fitting,
    methods,
    places,
    refusal,
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is taken for a path leads into a folder of the test."""
    monkeypatch.chdir(tmp_path)


def held(name: str, find: Callable[[Room], Callable[..., Any]], actor: Actor, values: Mapping[str, object]) -> None:
    """Calls a method with every value in every place."""
    if actor.is_user or name not in USERS_ONLY:
        room = Room(actor, in_file=name == "backup")
        Call(name, find(room), functools.partial(fitting, name, room=room)).run()
        room.close()
    room = Room(actor, in_file=name == "backup")
    found = []
    for place in places(find(room)):
        for label, value in values.items():
            try:
                call = Call(name, find(room), functools.partial(fitting, name, room=room), place, value)
                problem = refusal(call, label)
                if problem:
                    found.append(problem)
                if problem or room.space.position != room.length:
                    room.close()
                    room = Room(actor, in_file=name == "backup")
            except Exception as error:  # noqa: BLE001
                found.append(f"{name}({place}={label}) left: {type(error).__name__}: {str(error)[:200]}")
                room = Room(actor, in_file=name == "backup")
    assert len(room.ann.find(status=None)) >= 5
    room.close()
    assert [] == found


USERS_ONLY = {
    "approve", "contradict", "erase", "erase_subject", "export_subject", "rebase", "redo", "reject", "set_visibility",
    "undo", "withdraw",
}  # fmt: skip
"""What an assistant may not do with what is in the room."""


@pytest.mark.parametrize("name", methods(Session))
def test_the_sessions_of_users(name: str) -> None:
    """Every method refuses what it does not take, and what it takes can be read again."""
    held(name, lambda room: getattr(room.session, name), user("ann"), VALUES)


@pytest.mark.parametrize("name", methods(Verbs))
def test_the_sessions_of_assistants(name: str) -> None:
    """What a draft takes can be read again, too."""
    held(name, lambda room: getattr(room.session, name), assistant("claude"), SCALARS)


@pytest.mark.parametrize("name", methods(Verbs))
def test_the_verbs_of_a_block(name: str) -> None:
    """A block whose verb was refused takes others, or none; what it wrote can be read again."""

    def find(room: Room) -> Callable[..., Any]:
        with room.session.batch() as block:
            verb = getattr(block, name)

        @functools.wraps(verb)
        def call(*args: Any, **options: Any) -> None:
            with room.session.batch() as block:
                getattr(block, name)(*args, **options)

        return call

    held(name, find, user("ann"), SCALARS)


@pytest.mark.parametrize("name", methods(View))
def test_the_past(name: str) -> None:
    """A pinned view refuses as a session does."""
    held(name, lambda room: getattr(room.session.at(NOW), name), user("ann"), SCALARS)


@pytest.mark.parametrize("name", methods(Maintenance))
def test_upkeep(name: str) -> None:
    """Every pass refuses what it does not take."""
    held(name, lambda room: getattr(room.space.maintenance(user("ann")), name), user("ann"), VALUES)


@pytest.mark.parametrize("name", sorted(set(methods(MemorySpace)) - {"close"}))
def test_spaces(name: str) -> None:
    """No option, store or path makes a space that does not work."""
    held(name, lambda room: getattr(room.space, name), user("ann"), VALUES)


@pytest.mark.parametrize("name", ["in_memory", "open", "over"])
def test_spaces_for_asyncio(name: str) -> None:
    """They refuse what `MemorySpace` refuses."""
    held(name, lambda room: getattr(AsyncMemorySpace, name), user("ann"), SCALARS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_values(name: str) -> None:
    """Whatever can be called without a space refuses what it does not take, too."""
    call = FUNCTIONS[name]
    call = functools.wraps(call)(lambda *args, **options: FUNCTIONS[name](*args, **options))
    usual = lambda parameter: USUALLY_THERE.get((name, parameter), USUALLY.get(parameter))
    Call(name, call, usual).run()
    found = [
        problem
        for place in places(call)
        for label, value in VALUES.items()
        if (problem := refusal(Call(name, call, usual, place, value), label))
    ]
    assert [] == found
