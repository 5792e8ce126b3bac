"""What a page's bytes show by patterns alone: invisible characters, text that addresses an agent, secrets."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import chain, islice
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
_BLACK_FLAG = "\U0001f3f4".encode()
_FLAGS = tuple(
    _BLACK_FLAG + "".join(chr(0xE0000 + ord(letter)) for letter in f"{region}\x7f").encode()
    for region in ("gbeng", "gbsct", "gbwls")
)
"""The emoji of England, Scotland and Wales: a flag, and tag characters that name the region."""
_FLAG_BYTES = len(_FLAGS[0])
_TO_AGENTS = tuple(
    re.compile(pattern)
    for pattern in (
        *(
            word + rb"(?<![a-z0-9_]" + word + rb")\s+(?:all\s+|any\s+)?(?:of\s+)?(?:the\s+|your\s+)?"
            rb"(?:previous|prior|earlier|above)\s+(?:instructions?|prompts?|messages?|rules)"
            for word in (b"ignore", b"disregard", b"forget")
        ),
        rb"do(?<![a-z0-9_]do)\s+not\s+(?:tell|inform|mention\s+(?:this|it)\s+to)\s+the\s+user\b",
        rb"<\s*/?\s*(?:system|assistant)\s*>",
        rb"you(?<![a-z0-9_]you)\s+are\s+(?:now\s+)?(?:an?\s+)?(?:ai|llm|language\s+model|assistant|agent)\b",
        rb"<!--[^>]{0,200}\b(?:ai|llm|assistant|agent)s?\b[^>]{0,200}\b(?:must|should|please|send|run|call)\b",
    )
)
"""For text in lower case. Each begins with a literal, for which the engine searches fast."""
_SECRETS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("a private key", re.compile(rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----")),
    ("an AWS access key", re.compile(rb"A(?<!\wA)(?:KIA|SIA)[0-9A-Z]{16}\b")),
    ("a GitHub token", re.compile(rb"gh(?<!\wgh)(?:[pousr]_[A-Za-z0-9]{36,}|ithub_pat_[A-Za-z0-9_]{40,})")),
    ("a Slack token", re.compile(rb"xox(?<!\wxox)[abprs]-[A-Za-z0-9-]{20,}")),
    ("a Google API key", re.compile(rb"AIza(?<!\wAIza)[0-9A-Za-z_-]{35}\b")),
    ("an API key", re.compile(rb"sk-(?<!\wsk-)(?:[a-z]+-)?[A-Za-z0-9_-]{32,}")),
)
_PASSWORDS = tuple(
    re.compile(begin + rb"(?<!\w" + begin + rb")" + end + rb"[ \t]*[:=][ \t]*[\"'][^\"'\s<>{}$]{12,}[\"']")
    for begin, end in ((b"pass", b"(?:word|wd)"), (b"secret", b""), (b"api", b"[_-]?key"), (b"token", b""))
)
"""For text in lower case. Each begins with a literal, too; few patterns, because each reads the whole text."""


def text_findings(raw: bytes) -> Iterator[TextFinding]:
    """What the rules find in a page's bytes, rule by rule."""
    yield from _invisible(raw)
    lower = raw.lower()
    for found in islice((one for pattern in _TO_AGENTS for one in pattern.finditer(lower)), MAX_FINDINGS):
        shown = " ".join(raw[found.start() : found.end()].decode("utf-8", "replace").split())[:60]
        message = f"The text {shown!r} addresses an agent. Remove it, or quote it as what it is."
        yield TextFinding(found.start(), "addresses_agent", Severity.WARNING, message)
    keys = (_secret(found, name) for name, pattern in _SECRETS for found in pattern.finditer(raw))
    passwords = (_secret(found, "a password") for pattern in _PASSWORDS for found in pattern.finditer(lower))
    yield from islice(chain(keys, passwords), MAX_FINDINGS)


def _secret(found: re.Match[bytes], name: str) -> TextFinding:
    message = f"This looks like {name}. Revoke it, then take it out of the page and of the history."
    return TextFinding(found.start(), "secret", Severity.ERROR, message)


def _invisible(raw: bytes) -> Iterator[TextFinding]:
    """Characters that show nothing and change what is read; joiners that scripts and emoji need are none."""
    known: set[int] = set()
    if raw.isascii():
        return
    for found in _MAYBE_INVISIBLE.finditer(raw):  # a byte order mark at the beginning is one, and no finding
        if (
            (found.start() == 0 and found[0] == BOM_UTF8)
            or len(known) == MAX_FINDINGS
            or _is_in_flag(raw, found.start())
        ):
            continue
        line = raw.count(b"\n", 0, found.start())
        if line in known:
            continue
        known.add(line)
        letter = raw[found.start() : found.start() + 4].decode("utf-8", "ignore")[:1]
        name = _NAMES.get(letter, f"U+{ord(letter):04X}" if letter else "a code point")
        message = f"An invisible character ({name}) stands in this line. Remove it: readers do not see what it changes."
        yield TextFinding(found.start(), "invisible_character", Severity.WARNING, message)


def _is_in_flag(raw: bytes, at: int) -> bool:
    """Whether a tag character belongs to one of the flags that are written with them."""
    start = raw.rfind(_BLACK_FLAG, max(0, at - _FLAG_BYTES), at)
    return start >= 0 and raw.startswith(_FLAGS, start)
