"""One rule says who may see what."""

from __future__ import annotations

import pytest
from hypothesis import given

from engram_core.audience import includes, may_see, sees_all
from engram_core.testing import strategies
from engram_core.values import Actor, Visibility, assistant, importer, plugin, private, restricted, shared, system, user

BOT = assistant("bot")


@pytest.mark.parametrize("actor", [user("ann"), system("nightly")], ids=str)
def test_users_and_the_system_see_all(actor: Actor) -> None:
    """Also what is restricted to others."""
    assert sees_all(actor)
    assert all(may_see(actor, v) for v in (shared(), private(), restricted(BOT)))


@pytest.mark.parametrize("actor", [BOT, importer("bot"), plugin("bot")], ids=str)
def test_others_see_what_is_shared_or_lists_them(actor: Actor) -> None:
    """Never what is private."""
    assert not sees_all(actor)
    expected = [True, False, True, False]
    listed = [shared(), private(), restricted(actor, user("ann")), restricted(assistant("other"))]
    assert expected == [may_see(actor, v) for v in listed]


@pytest.mark.parametrize("other", [assistant("Bot"), assistant("bot2"), assistant("b"), plugin("bot"), user("bot:x")])
def test_an_actor_is_one_to_the_letter(other: Actor) -> None:
    """Kind and id must both be equal; nothing is a part of anything."""
    assert sees_all(other) == may_see(other, restricted(BOT))


@given(strategies.visibilities(), strategies.visibilities(), strategies.actors())
def test_an_audience_that_includes_another_lets_its_members_see(
    wider: Visibility, narrower: Visibility, actor: Actor
) -> None:
    """Nobody who sees the narrower one is kept from the wider one."""
    if includes(wider, narrower) and may_see(actor, narrower):
        assert may_see(actor, wider)


@given(strategies.visibilities(), strategies.visibilities())
def test_inclusion_fails_only_where_somebody_is_left_out(wider: Visibility, narrower: Visibility) -> None:
    """There is somebody who would see the one and not the other."""
    if not includes(wider, narrower):
        somebody = {*narrower.actors, assistant("somebody whom nobody listed")}
        assert any(may_see(actor, narrower) and not may_see(actor, wider) for actor in somebody)


def test_a_restriction_to_users_is_private() -> None:
    """They see everything anyway."""
    users = restricted(user("ann"))
    assert includes(private(), users)
    assert includes(users, private())
    assert not includes(users, restricted(BOT))
