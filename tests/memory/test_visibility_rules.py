"""Who may hide what from whom. Source: model §2 and §9."""

from __future__ import annotations

from typing import Any

import pytest

from engram_core.commands import Remember, SetVisibility
from engram_core.events import MemoryArchived, MemoryErased, MemoryVisibilityChanged
from engram_core.kinds import Fact
from engram_core.policy import Limits
from engram_core.testing import Scenario, memory_created
from engram_core.values import Actor, Visibility, assistant, importer, plugin, private, restricted, shared, system, user
from engram_core.vocab import ArchiveReason, StoredStatus

ANN, BOT, OTHER = user("ann"), assistant("bot"), assistant("other")
FACT = memory_created(Fact("The sky is blue."))


def remembering(visibility: Visibility) -> Remember:
    """A new fact for an audience."""
    return Remember(
        memory_id="n", kind="fact", attributes={"statement": "x"}, attributes_version=1, visibility=visibility
    )


@pytest.mark.parametrize("by", [ANN, system("nightly")], ids=str)
@pytest.mark.parametrize("visibility", [private(), restricted(BOT), restricted(ANN)])
def test_users_and_the_system_may_hide(by: Actor, visibility: Visibility) -> None:
    """They see it all the same."""
    scenario = Scenario[Any, Any]().given(FACT)
    scenario.when(SetVisibility("a", visibility), by=by).then(MemoryVisibilityChanged(visibility))
    assert scenario.when(remembering(visibility), by=by).events


@pytest.mark.parametrize("by", [BOT, importer("bot"), plugin("bot")], ids=str)
def test_others_hide_nothing_from_themselves(by: Actor) -> None:
    """Neither by a change nor at creation; a restriction must list exactly the one who sets it."""
    scenario = Scenario[Any, Any]().given(FACT)
    for hidden in (private(), restricted(OTHER), restricted(user("bot"))):
        scenario.when(SetVisibility("a", hidden), by=by).then_rejected("forbidden")
        scenario.when(remembering(hidden), by=by).then_rejected("forbidden")
    assert scenario.when(SetVisibility("a", restricted(by, OTHER)), by=by).events
    assert scenario.when(remembering(restricted(by)), by=by).events


def test_the_same_audience_is_no_change() -> None:
    """In whatever order it is listed."""
    scenario = Scenario[Any, Any]().given(memory_created(Fact("x"), visibility=restricted(BOT, OTHER)))
    scenario.when(SetVisibility("a", restricted(OTHER, BOT))).then_nothing()


def test_a_restriction_is_limited() -> None:
    """It lists at most so many actors."""
    scenario = Scenario[Any, Any](limits=Limits(restricted_actors=1)).given(FACT)
    scenario.when(SetVisibility("a", restricted(BOT, OTHER))).then_rejected("invalid_attributes", naming="visibility")
    scenario.when(remembering(restricted(BOT, OTHER))).then_rejected("invalid_attributes", naming="visibility")


def test_an_archived_memory_can_be_hidden() -> None:
    """Visibility is not part of the narrative."""
    scenario = Scenario[Any, Any]().given(FACT, MemoryArchived(ArchiveReason.OBSOLETE))
    scenario.when(SetVisibility("a", shared())).then_nothing()
    scenario.when(SetVisibility("a", private())).then(MemoryVisibilityChanged(private()))


def test_what_was_erased_is_nobodys_to_see() -> None:
    """Whoever could not see it before does not learn that it was there; for whom it was shared, no longer counts."""
    erased = Scenario[Any, Any]().given(memory_created(Fact("x"), visibility=restricted(BOT)), MemoryErased(()))
    erased.then_state(visibility=private(), lifecycle__stored=StoredStatus.ERASED)
