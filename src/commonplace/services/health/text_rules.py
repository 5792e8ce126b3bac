"""What a page's bytes show by patterns alone: invisible characters, text that addresses an agent, secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from commonplace.domain.documents import Severity


class TextFinding(NamedTuple):
    """One thing that a rule found in a text. The message never repeats a secret."""

    offset: int
    """Bytes."""
    rule: str
    severity: Severity
    message: str


MAX_FINDINGS = 20
"""Findings of one rule in one page."""
_NAMES = {
    "\u200b": "zero-width space",
    "\u2060": "word joiner",
    "\u00ad": "soft hyphen",
    "\ufeff": "byte order mark inside the text",
}
_MAYBE_INVISIBLE = re.compile(rb"\xe2\x80[\x8b\x8e\x8f\xaa-\xae]|\xe2\x81[\xa0-\xa9]|\xef\xbb\xbf|\xf3\xa0[\x80\x81]")
"""UTF-8 of zero-width spaces, marks and overrides of direction, inner byte order marks, and tag characters."""
_TO_AGENTS = re.compile(
    rb"(?i)\b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+)?(?:of\s+)?(?:the\s+|your\s+)?(?:previous|prior|earlier|above)\s+"
    rb"(?:instructions?|prompts?|messages?|rules)"
    rb"|\bdo\s+not\s+(?:tell|inform|mention\s+(?:this|it)\s+to)\s+the\s+user\b"
    rb"|<\s*/?\s*(?:system|assistant)\s*>"
    rb"|\byou\s+are\s+(?:now\s+)?(?:an?\s+)?(?:AI|LLM|language\s+model|assistant|agent)\b"
    rb"|<!--[^>]{0,200}\b(?:AI|LLM|assistant|agent)s?\b[^>]{0,200}\b(?:must|should|please|send|run|call)\b"
)
_SECRETS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("a private key", re.compile(rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----")),
    ("an AWS access key", re.compile(rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a GitHub token", re.compile(rb"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})")),
    ("a Slack token", re.compile(rb"\bxox[abprs]-[A-Za-z0-9-]{20,}")),
    ("a Google API key", re.compile(rb"\bAIza[0-9A-Za-z_-]{35}\b")),
    ("an API key", re.compile(rb"\bsk-(?:[a-z]+-)?[A-Za-z0-9_-]{32,}")),
    (
        "a password",
        re.compile(rb"(?i)\b(?:password|passwd|secret|api[_-]?key|token)[ \t]*[:=][ \t]*[\"'][^\"'\s<>{}$]{12,}[\"']"),
    ),
)


def text_findings(raw: bytes) -> Iterator[TextFinding]:
    """What the rules find in a page's bytes, rule by rule."""
    yield from _invisible(raw)
    for number, found in enumerate(_TO_AGENTS.finditer(raw)):
        if number == MAX_FINDINGS:
            break
        shown = " ".join(found[0].decode("utf-8", "replace").split())[:60]
        message = f"The text {shown!r} addresses an agent. Remove it, or quote it as what it is."
        yield TextFinding(found.start(), "addresses_agent", Severity.WARNING, message)
    for name, pattern in _SECRETS:
        for number, found in enumerate(pattern.finditer(raw)):
            if number == MAX_FINDINGS:
                break
            message = f"This looks like {name}. Revoke it, then take it out of the page and of the history."
            yield TextFinding(found.start(), "secret", Severity.ERROR, message)


def _invisible(raw: bytes) -> Iterator[TextFinding]:
    """Characters that show nothing and change what is read; joiners that scripts and emoji need are none."""
    known: set[int] = set()
    for found in _MAYBE_INVISIBLE.finditer(raw):
        if found.start() == 0 or len(known) == MAX_FINDINGS:  # a byte order mark at the beginning is one
            continue
        line = raw.count(b"\n", 0, found.start())
        if line in known:
            continue
        known.add(line)
        letter = raw[found.start() : found.start() + 4].decode("utf-8", "ignore")[:1]
        name = _NAMES.get(letter, f"U+{ord(letter):04X}" if letter else "a code point")
        message = f"An invisible character ({name}) stands in this line. Remove it: readers do not see what it changes."
        yield TextFinding(found.start(), "invisible_character", Severity.WARNING, message)
