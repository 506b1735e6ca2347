"""A ready `Redactor`: keys, tokens and passwords out of every text, found by the patterns of detect-secrets.

Needs the extra `secrets`. Only patterns are used: nothing is looked up anywhere, and nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module, metadata
from typing import Any, Final

from engram_core.errors import RejectedError
from engram_core.ports import Redaction

__all__ = ["SecretsRedactor"]

_PLUGINS: Final = (
    ("artifactory", "ArtifactoryDetector"),
    ("aws", "AWSKeyDetector"),
    ("azure_storage_key", "AzureStorageKeyDetector"),
    ("basic_auth", "BasicAuthDetector"),
    ("discord", "DiscordBotTokenDetector"),
    ("github_token", "GitHubTokenDetector"),
    ("jwt", "JwtTokenDetector"),
    ("mailchimp", "MailchimpDetector"),
    ("npm", "NpmDetector"),
    ("sendgrid", "SendGridDetector"),
    ("slack", "SlackDetector"),
    ("square_oauth", "SquareOAuthDetector"),
    ("stripe", "StripeDetector"),
    ("twilio", "TwilioKeyDetector"),
)
_KEYWORDS: Final = ("keyword", "KeywordDetector")
# A key is a block of lines, of which the library knows the first one.
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)


class SecretsRedactor:
    """Replaces what looks like a secret by a mark. Give it to a space: `MemorySpace.open(path, redactor=…)`.

    Args:
        mark: What stands in the place of a secret.
        keywords: Look for assignments, too, such as `password = "…"`.

    Attributes:
        name: The library and its version, for the provenance of what was redacted.

    Raises: RejectedError when the extra `secrets` is not installed.
    """

    def __init__(self, *, mark: str = "[secret removed]", keywords: bool = True) -> None:
        try:
            detectors = [_detector(*plugin) for plugin in _PLUGINS]
            self._keywords = _detector(*_KEYWORDS) if keywords else None
        except ImportError as error:
            raise RejectedError(
                "the secrets redactor needs detect-secrets",
                code="extra_missing",
                hint="install engram-core-memory[secrets]",
            ) from error
        self._patterns = (_PRIVATE_KEY, *(pattern for detector in detectors for pattern in detector.denylist))
        self._mark = mark
        self.name = _version()

    def redact(self, text: str) -> Redaction:
        """The text without its secrets, and how many there were."""
        parts: list[str] = []
        end = removed = 0
        for start, stop in _joined(self._spans(text)):
            parts += [text[end:start], self._mark]
            end, removed = stop, removed + 1
        return Redaction("".join([*parts, text[end:]]), removed)

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        for pattern in self._patterns:
            for match in pattern.finditer(text):
                groups = [number for number, found in enumerate(match.groups(), 1) if found]
                # A group at the beginning is the token's prefix; one further on is the secret within its setting.
                if not groups or match.start(groups[0]) == match.start():
                    yield match.span()
                else:
                    yield from (match.span(number) for number in groups)
        if self._keywords is not None:
            for line in text.splitlines():
                for secret in self._keywords.analyze_string(line):
                    yield from (found.span() for found in re.finditer(re.escape(secret), text))


def _joined(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans in order, those that overlap or touch as one."""
    current: tuple[int, int] | None = None
    for start, stop in sorted(span for span in spans if span[0] < span[1]):
        if current is None or start > current[1]:
            if current is not None:
                yield current
            current = (start, stop)
        else:
            current = (current[0], max(current[1], stop))
    if current is not None:
        yield current


def _detector(module: str, name: str) -> Any:
    return getattr(import_module(f"detect_secrets.plugins.{module}"), name)()


def _version() -> str:
    for distribution in ("bc-detect-secrets", "detect-secrets"):
        try:
            return f"{distribution}/{metadata.version(distribution)}"
        except metadata.PackageNotFoundError:
            continue
    return "detect-secrets"
