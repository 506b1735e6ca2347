"""A command_id is answered with what its own command wrote, and never with what another one did."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import fields
from hypothesis import given, settings

from engram_core.answering import check_answers
from engram_core.commands import COMMANDS, Archive, Edit, Remember
from engram_core.errors import ConflictError
from engram_core.events import MemoriesAccessed, MemoryDeleted, MemoryEdited, RecordedEvent
from engram_core.receipts import PossibleConflict, Receipt
from engram_core.testing import recorded_event, strategies
from engram_core.vocab import ReceiptStatus
from tests.test_memory import BEGUN, RULES, answer


@given(strategies.commands(), BEGUN, strategies.contexts())
@settings(max_examples=150)
def test_whatever_a_command_writes_answers_it(command: Any, history: tuple[RecordedEvent, ...], context: Any) -> None:
    """So no retry is ever refused: every command has events that tell of it among those that it may write."""
    changes = answer(command, RULES.fold(history), context) or ()
    if changes:
        check_answers([recorded_event(change.event, stream=change.stream) for change in changes], [command])


@pytest.mark.parametrize("cls", COMMANDS, ids=lambda cls: cls.__name__)
def test_what_nothing_wrote_answers_nothing(cls: type[Any]) -> None:
    """Of every command, so that none is forgotten."""
    with pytest.raises(ConflictError, match="another command"):
        check_answers([recorded_event(MemoriesAccessed(()), stream="$accesses")], [object.__new__(cls)])


def test_another_command_is_refused() -> None:
    """Of another sort, or on another memory."""
    written = [recorded_event(MemoryEdited(content="x"), stream="a")]
    check_answers(written, [Edit("a", content="x")])
    new = Remember(memory_id="a", kind="fact", attributes={"statement": "x"}, attributes_version=1)
    for other in (Archive("a"), Edit("b", content="x"), new):
        with pytest.raises(ConflictError, match="another command"):
            check_answers(written, [other])


def test_a_receipt_of_a_batch_is_the_same_but_for_the_batch() -> None:
    """Whatever else a receipt says, now or one day, is kept."""
    conflict = PossibleConflict(memory_id="m", reason="title")
    told: dict[str, Any] = {
        "status": ReceiptStatus.CREATED,
        "memory_id": "m",
        "proposal_id": "p",
        "batch_id": "",
        "events": (MemoryDeleted(),),
        "possible_conflicts": (conflict,),
        "redactions": 2,
        "notice": "n",
    }
    assert told.keys() == {attribute.name for attribute in fields(Receipt)}
    assert Receipt(**{**told, "batch_id": "b"}) == Receipt(**told).of_batch("b")
