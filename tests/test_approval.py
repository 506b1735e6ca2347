"""Who may change what without asking. Source: model §7."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from attrs import fields
from hypothesis import given

from engram_core.approval import ApprovalPolicy, Permission, needed
from engram_core.commands import (
    COMMANDS,
    AddEvidence,
    AddLink,
    AdjustImportance,
    Archive,
    Confirm,
    Contradict,
    Delete,
    Edit,
    MarkDistinct,
    Merge,
    Remember,
    RemoveLink,
    Resolve,
    Restore,
    SetLifetime,
    SetValidity,
    SetVisibility,
    Supersede,
    Tag,
    Unmerge,
    UpdateAttributes,
)
from engram_core.errors import InvalidAttributesError
from engram_core.events import MemoryConfirmed, MemoryErased
from engram_core.kinds import Fact
from engram_core.state import MemoryState
from engram_core.testing import Scenario, happened, memory_created, strategies
from engram_core.values import (
    Actor,
    EvidenceRef,
    Link,
    Validity,
    assistant,
    ephemeral,
    importer,
    permanent,
    plugin,
    private,
    restricted,
    standard,
    system,
    user,
)
from engram_core.vocab import ActorKind, Relation

ANN, BOT, OTHER = user("ann"), assistant("bot"), assistant("other")
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
QUOTE = EvidenceRef("quote", "x")
TRUSTING = ApprovalPolicy.trust_assistants()


def remembering(**fields: Any) -> Remember:
    """A new fact."""
    usual = {"memory_id": "n", "kind": "fact", "attributes": {"statement": "x"}, "attributes_version": 1}
    return Remember(**{**usual, **fields})


def memory(by: Actor = ANN, *events: Any, on_behalf_of: Actor | None = None) -> MemoryState:
    """A fact that somebody created."""
    begun = happened(memory_created(Fact("x")), by=by, on_behalf_of=on_behalf_of)
    found: MemoryState = Scenario[Any, Any]().given(begun, *events).state.memories["a"]
    return found


@given(strategies.commands(), strategies.actors())
def test_by_default_everything_but_users_waits(command: Any, actor: Actor) -> None:
    """Users write directly, whatever the policy; nobody else changes anything without asking."""
    assert actor.is_user == ApprovalPolicy.review_all().allows(actor, command, memory(actor))
    assert ApprovalPolicy.review_all() == ApprovalPolicy()


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        (AddEvidence("a", QUOTE, corroborates=True), True),
        (AddLink("a", Relation.ABOUT, "b"), True),
        (Tag("a", ("x",)), True),
        (Confirm("a"), True),
        (Confirm("a", QUOTE), True),
        (Edit("a", content="x"), False),
        (UpdateAttributes("a", {"statement": "x"}), False),
        (Tag("a", (), ("x",)), False),
        (Contradict("a"), False),
        (AddLink("a", Relation.SUPERSEDES, "b"), False),
        (AddLink("a", Relation.CONTRADICTS, "b"), False),
        (RemoveLink("a", Relation.ABOUT, "b"), False),
        (AdjustImportance("a", pinned=True), False),
        (SetLifetime("a", standard()), False),
        (SetValidity("a"), False),
        (SetVisibility("a", private()), False),
        (Supersede("a", "b"), False),
        (Merge("a", "b"), False),
        (Unmerge("a"), False),
        (Archive("a"), False),
        (Restore("a"), False),
        (Resolve("a", "b", "both"), False),
        (Delete("a"), False),
    ],
    ids=repr,
)
def test_trusted_assistants_add_to_what_users_said(command: Any, *, allowed: bool) -> None:
    """They support, link, tag and confirm; they change, hide, replace and dispute nothing of it."""
    assert allowed == TRUSTING.allows(BOT, command, memory(ANN))
    for stranger in (importer("bot"), plugin("bot"), system("bot")):
        assert not TRUSTING.allows(stranger, command, memory(ANN))


@pytest.mark.parametrize("command", [Edit("a", content="x"), UpdateAttributes("a", {}), Tag("a", (), ("x",))], ids=repr)
def test_trusted_assistants_edit_what_they_created(command: Any) -> None:
    """Also what a user merged for them; not what another assistant created, nor what has no author any more."""
    assert TRUSTING.allows(BOT, command, memory(BOT))
    assert TRUSTING.allows(BOT, command, memory(ANN, on_behalf_of=BOT))
    assert not TRUSTING.allows(BOT, command, memory(OTHER))
    assert not TRUSTING.allows(BOT, command, memory(BOT, MemoryErased(())))
    assert not TRUSTING.allows(BOT, Archive("a"), memory(BOT))


def test_trusted_assistants_dispute_what_no_user_asserted() -> None:
    """By writing it or by vouching for it."""
    assert TRUSTING.allows(BOT, Contradict("a"), memory(OTHER))
    assert not TRUSTING.allows(BOT, Contradict("a"), memory(OTHER, happened(MemoryConfirmed(0.9, 1.0, True), by=ANN)))
    assert not TRUSTING.allows(BOT, Contradict("a"), memory(OTHER, MemoryErased(())))


def test_trusted_assistants_create() -> None:
    """With links; but a creation that replaces or disputes something is more than one."""
    assert TRUSTING.allows(BOT, remembering(links=(Link(Relation.ABOUT, "b"),)), None)
    assert TRUSTING.allows(BOT, remembering(on_duplicate="confirm", evidence=(QUOTE,)), None)
    for relation in (Relation.SUPERSEDES, Relation.CONTRADICTS):
        assert not TRUSTING.allows(BOT, remembering(links=(Link(relation, "b"),)), None)


AS_COMMANDS: dict[str, Any] = {
    "confidence": (0.9, None),
    "evidence": ((QUOTE,), AddEvidence("n", QUOTE)),
    "lifetime": (permanent(), SetLifetime("n", permanent())),
    "links": ((Link(Relation.ABOUT, "b"),), AddLink("n", Relation.ABOUT, "b")),
    "on_duplicate": ("confirm", Confirm("n")),
    "pinned": (True, AdjustImportance("n", pinned=True)),
    "tags": (("x",), Tag("n", ("x",))),
    "user_weight": (1.0, AdjustImportance("n", user_weight=1.0)),
    "validity": (Validity(NEW_YEAR), SetValidity("n", valid_from=NEW_YEAR)),
    "visibility": (private(), SetVisibility("n", private())),
}
BEGINNING = {
    "memory_id", "own_id", "kind", "attributes", "attributes_version", "title", "content", "external_ids",
    "source_ref", "redactions", "redactor",
}  # fmt: skip


def test_every_part_of_a_beginning_is_judged() -> None:
    """Each is either what creating means, or needs what the command of its own would need."""
    assert {field.name for field in fields(Remember)} == BEGINNING | set(AS_COMMANDS)


@pytest.mark.parametrize("name", AS_COMMANDS)
def test_nothing_slips_through_in_a_creation(name: str) -> None:
    """What would wait as a command of its own waits when it comes along with a creation, too."""
    value, alone = AS_COMMANDS[name]
    begun = remembering(**{name: value})
    allowed = alone is not None and TRUSTING.allows(BOT, alone, memory(BOT))
    assert allowed == TRUSTING.allows(BOT, begun, None)
    assert alone is None or needed(begun) == {"create"} | needed(alone)


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (remembering(), {"create"}),
        (remembering(on_duplicate="confirm"), {"create", "confirm"}),
        (remembering(on_duplicate="confirm", evidence=(QUOTE,)), {"create", "confirm", "evidence"}),
        (remembering(links=(Link(Relation.SUPERSEDES, "b"),)), {"create", "supersede"}),
        (remembering(links=(Link(Relation.ABOUT, "b"),)), {"create", "link"}),
        (remembering(evidence=(QUOTE,)), {"create", "evidence"}),
        (remembering(tags=("x",)), {"create", "tag"}),
        (remembering(confidence=0.0), {"create", "confidence"}),
        (remembering(pinned=True), {"create", "importance"}),
        (remembering(user_weight=0.0), {"create", "importance"}),
        (remembering(lifetime=ephemeral()), {"create", "lifetime"}),
        (remembering(visibility=restricted(BOT)), {"create", "visibility"}),
        (remembering(validity=Validity(None, NEW_YEAR)), {"create", "validity"}),
        (Edit("a", content="x"), {"edit"}),
        (UpdateAttributes("a", {"statement": "x"}), {"edit"}),
        (AddEvidence("a", QUOTE), {"evidence"}),
        (Confirm("a"), {"confirm"}),
        (Confirm("a", QUOTE), {"confirm", "evidence"}),
        (Contradict("a"), {"contradict"}),
        (AddLink("a", Relation.ABOUT, "b"), {"link"}),
        (AddLink("a", Relation.SUPERSEDES, "b"), {"supersede"}),
        (AddLink("a", Relation.CONTRADICTS, "b"), {"contradict"}),
        (RemoveLink("a", Relation.ABOUT, "b"), {"unlink"}),
        (Tag("a"), {"tag"}),
        (Tag("a", ("x",)), {"tag"}),
        (Tag("a", (), ("y",)), {"untag"}),
        (Tag("a", ("x",), ("y",)), {"tag", "untag"}),
        (AdjustImportance("a", pinned=True), {"importance"}),
        (SetLifetime("a", standard()), {"lifetime"}),
        (SetValidity("a"), {"validity"}),
        (SetVisibility("a", private()), {"visibility"}),
        (Supersede("a", "b"), {"supersede"}),
        (Merge("a", "b"), {"merge"}),
        (Unmerge("a"), {"merge"}),
        (MarkDistinct("a", "b"), {"merge"}),
        (Resolve("a", "b", "both"), {"resolve"}),
        (Archive("a"), {"archive"}),
        (Restore("a"), {"restore"}),
        (Restore("a", standard()), {"restore", "lifetime"}),
    ],
    ids=lambda value: repr(sorted(value) if isinstance(value, set) else value),
)
def test_a_command_needs_a_permission_for_each_thing_it_does(command: Any, wanted: set[str]) -> None:
    """All of them, or it waits."""
    assert wanted == needed(command)
    for missing in wanted:
        assert not ApprovalPolicy.of({BOT: wanted - {missing}}).allows(BOT, command, memory(ANN))
    assert ApprovalPolicy.of({BOT: wanted}).allows(BOT, command, memory(ANN))


def test_grants_are_for_an_actor_or_a_kind() -> None:
    """By the letter; what both get adds up."""
    policy = ApprovalPolicy.of({"assistant": ["tag"], importer("vcard"): "create", BOT: [Permission.ARCHIVE]})
    assert policy.allows(BOT, Tag("a", ("x",)), memory())
    assert policy.allows(BOT, Archive("a"), memory())
    assert not policy.allows(OTHER, Archive("a"), memory())
    assert policy.allows(importer("vcard"), remembering(), None)
    assert not policy.allows(importer("vCard"), remembering(), None)


@pytest.mark.parametrize("actor", [actor for actor in ActorKind if actor is not ActorKind.USER])
def test_deletion_is_never_automated(actor: ActorKind) -> None:
    """No grant makes it so, not even one that was built by hand."""
    with pytest.raises(InvalidAttributesError, match="never automated"):
        ApprovalPolicy.of({actor: ["delete"]})
    by_hand = ApprovalPolicy({actor: frozenset(Permission)})
    assert not by_hand.allows(Actor(actor, "x"), Delete("a"), memory())


def test_wrong_grants_are_refused_all_at_once() -> None:
    """Unknown kinds and permissions are named."""
    with pytest.raises(InvalidAttributesError) as caught:
        ApprovalPolicy.of({"robot": ["tag"], BOT: ["fly", "tag"]})
    assert ["robot", str(BOT)] == [problem.field for problem in caught.value.problems]


@given(strategies.commands())
def test_every_command_needs_something(command: Any) -> None:
    """There is nothing that nobody has to be allowed."""
    assert needed(command)
    assert type(command) in COMMANDS
