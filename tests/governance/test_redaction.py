"""Redaction: secrets are taken out before anything is stored, counted, and named in the provenance."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from engram_core.drafts import Draft
from engram_core.errors import InvalidAttributesError, RejectedError
from engram_core.kinds import Contact, Fact, Person
from engram_core.ports import Redaction, Redactor
from engram_core.redactors import SecretsRedactor
from engram_core.values import EvidenceRef, user
from tests.governance.rooms import Room, room


class Hider:
    """Takes out whatever follows "pw=", the simplest redactor there is."""

    name = "hider/1"

    def redact(self, text: str) -> Redaction:
        return Redaction(*re.subn(r"pw=(?!\*)\S+", "pw=***", text))


@pytest.fixture
def r() -> Room:
    return room(redactor=Hider())


def stored(r: Room) -> str:
    """All payloads of the log."""
    return "\n".join(e.data for e in r.space._engine.store.read(limit=10_000))


def test_a_redactor_is_whatever_has_a_name_and_redacts(r: Room) -> None:
    """The port is a protocol."""
    assert isinstance(Hider(), Redactor)


def test_every_text_of_a_new_memory_is_cleaned(r: Room) -> None:
    """Count in the receipt, count and redactor in the provenance; nothing reaches the log."""
    receipt = r.ann.remember(
        Person("pw=a1", aliases=("pw=a2",), notes="see pw=a3"),
        title="pw=a4",
        content="first pw=a5, then pw=a6",
        tags=("pw=a7",),
        evidence=EvidenceRef("quote", "pw=a8", note="pw=a9"),
        source_ref="pw=a10",
    )
    memory = r.ann.get(receipt)
    assert (10, 10, "hider/1") == (receipt.redactions, memory.source.redactions, memory.source.redactor)
    assert ("pw=***", "first pw=*** then pw=***") == (memory.attributes.full_name, memory.content)
    assert "pw=a" not in stored(r)


def test_every_other_verb_is_cleaned_too(r: Room) -> None:
    """Edits, attributes, tags, evidence, notes, proposals and what is said about them."""
    m, other = r.ann.remember(Fact("x")), r.ann.remember(Fact("y"))
    acts = [
        r.ann.edit(m, content="pw=b1"),
        r.ann.update(m, statement="pw=b2"),
        r.ann.tag(m, "pw=b3"),
        r.ann.add_evidence(m, EvidenceRef("quote", "pw=b4")),
        r.ann.confirm(m, evidence=EvidenceRef("quote", "pw=b5")),
        r.ann.contradict(m, by=other, note="pw=b6"),
        r.ann.resolve(m, other, keep="both", note="pw=b7"),
        r.ann.archive(other, note="pw=b8"),
        r.ann.delete(other, note="pw=b9"),
    ]
    assert [1] * len(acts) == [receipt.redactions for receipt in acts]
    with r.bot.proposal("pw=b10", rationale="pw=b11", evidence=EvidenceRef("quote", "pw=b12")) as p:
        p.remember(Fact("pw=b13"))
    assert 1 == p.receipt.redactions
    r.ann.reject(p.receipt, note="pw=b14")
    r.ann.remember_many([Draft(Fact("pw=b15"))])
    assert "pw=b" not in stored(r)
    assert 15 <= stored(r).count("pw=***")


def test_what_was_redacted_is_never_an_exact_duplicate(r: Room) -> None:
    """Two texts that differ in their secrets alone are two; neither is the one that bears the mark itself."""
    receipts = [r.ann.remember(Fact(f"the key is pw={n}")) for n in (1, 1, 2, "***")]
    assert {"created"} == {str(receipt.status) for receipt in receipts}
    assert 4 == len({receipt.memory_id for receipt in receipts})
    edited = r.ann.remember(Fact("edited"))
    r.ann.update(edited, statement="the code is pw=1")
    same = r.space.session(user("ann")).remember(Fact("the code is pw=***"))
    assert ("created", True) == (same.status, same.memory_id != edited.memory_id)
    r.ann.remember(Fact("no secret"))
    assert "duplicate" == r.ann.remember(Fact("no secret")).status


def test_a_redaction_that_leaves_nothing_is_refused() -> None:
    """What remains must still be what the kind asks for."""

    class Eraser(Hider):
        def redact(self, text: str) -> Redaction:
            return Redaction("", 1) if "pw=" in text else Redaction(text, 0)

    r = room(redactor=Eraser())
    with pytest.raises(InvalidAttributesError):
        r.ann.remember(Fact("pw=1"))
    assert 0 == r.space.position


def test_without_a_redactor_nothing_is_touched() -> None:
    """And nothing is counted."""
    r = room()
    receipt = r.ann.remember(Fact("pw=1"))
    assert (0, 0, None) == (
        receipt.redactions,
        r.ann.get(receipt).source.redactions,
        r.ann.get(receipt).source.redactor,
    )


# -- the ready one ----------------------------------------------------------------------------------

SECRETS = {
    "AWS key": ("my key AKIAIOSFODNN7EXAMPLE is old", "AKIAIOSFODNN7EXAMPLE"),
    "basic auth": ("see https://bob:hunter22@example.org/x", "hunter22"),
    "GitHub": ("use ghp_16C7e42F292c6912E7710c838347Ae178B4a now", "16C7e42F292c6912E7710c838347Ae178B4a"),
    "Slack": ("xoxb-123456789012-123456789012-" + "abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx"),
    "Stripe": ("sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc", "4eC39HqLyjWDarjtT1zdp7dc"),
    "JWT": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_def", "eyJzdWIiOiIxIn0"),
    "assignment": ("password = 'hunter2'", "hunter2"),
    "private key": (
        "before\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\nabcd\n-----END RSA PRIVATE KEY-----\nafter",
        "MIIEpAIB",
    ),
    "half a key": ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNza\n", "b3BlbnNza"),
}
HARMLESS = [
    "Alice likes oolong tea.",
    "The password is on the note in the drawer",
    "She keeps her secret = love of tea",
    "Version 1.2.3 of https://example.org/a?b=c, sha 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
    "mail bob@example.org or call +47 22 22 22 22",
    "",
    "東京 🗼",
]


@pytest.fixture(scope="module")
def ready() -> Any:
    pytest.importorskip("detect_secrets", reason="the extra `secrets` is not installed")
    return SecretsRedactor()


@pytest.mark.parametrize("case", SECRETS)
def test_secrets_are_found(ready: Any, case: str) -> None:
    """What surrounds them stays."""
    text, secret = SECRETS[case]
    cleaned = ready.redact(text)
    assert 1 == cleaned.removed
    assert secret not in cleaned.text
    assert "[secret removed]" in cleaned.text
    assert (text.startswith("before"), text.endswith("after")) == (
        cleaned.text.startswith("before"),
        cleaned.text.endswith("after"),
    )
    assert (cleaned.text, 0) == ready.redact(cleaned.text)


@pytest.mark.parametrize("text", HARMLESS)
def test_the_harmless_stays_as_it_is(ready: Any, text: str) -> None:
    """Prose, addresses, versions and hashes are no secrets."""
    assert (text, 0) == ready.redact(text)


def test_the_ready_one_in_a_space(ready: Any, tmp_path: Path) -> None:
    """A contact with credentials in it is stored without them; its name and version are its provenance."""
    r = room(tmp_path / "brain.db", redactor=ready)
    receipt = r.ann.remember(Contact("other", "https://bob:hunter22@example.org"))
    memory = r.ann.get(receipt)
    assert "https://bob:[secret removed]@example.org" == memory.attributes.value
    assert re.fullmatch(r"(bc-)?detect-secrets/\d+(\.\d+)+", memory.source.redactor or "")
    r.space.close()
    assert b"hunter22" not in (tmp_path / "brain.db").read_bytes()


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library, making the redactor says what to install; importing the module costs nothing."""
    monkeypatch.setitem(sys.modules, "detect_secrets.plugins.artifactory", None)
    with pytest.raises(RejectedError, match="detect-secrets") as missing:
        SecretsRedactor()
    assert "extra_missing" == missing.value.code


def test_the_words_of_an_erasure_are_cleaned(r: Room) -> None:
    """What is said when something is erased stays for good, so that no secret may be in it."""
    r.ann.erase(r.ann.remember(Fact("x")), because="pw=a1", note="since pw=a2 was in it")
    r.ann.erase_subject(r.ann.remember(Person("Cy")), because="pw=a3", note="pw=a4")
    assert "pw=***" in stored(r)
    assert "pw=a" not in stored(r)
