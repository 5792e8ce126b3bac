"""Pattern rules for a page's bytes: invisible characters, text that addresses an agent, secrets."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple


class TextFinding(NamedTuple):
    """One finding in a text. The message never contains a secret."""

    offset: int
    """Offset in bytes."""
    rule: str
    message: str


MAX_FINDINGS = 20
"""Maximum number of findings of one rule in one page."""
_NAMES = {
    "\u200b": "zero-width space",
    "\u2060": "word joiner",
    "\u00ad": "soft hyphen",
    "\ufeff": "byte order mark inside the text",
}
_MAYBE_INVISIBLE = re.compile(rb"\xe2\x80[\x8b\x8e\x8f\xaa-\xae]|\xe2\x81[\xa0-\xa9]|\xef\xbb\xbf|\xf3\xa0[\x80\x81]")
"""UTF-8 of zero-width spaces, direction marks and overrides, inner byte order marks, and tag characters."""
_BLACK_FLAG = "\U0001f3f4".encode()
_FLAGS = tuple(
    _BLACK_FLAG + "".join(chr(0xE0000 + ord(letter)) for letter in f"{region}\x7f").encode()
    for region in ("gbeng", "gbsct", "gbwls")
)
"""The emoji of England, Scotland and Wales: a flag followed by tag characters that name the region."""
_FLAG_BYTES = len(_FLAGS[0])
_ORDER = (
    rb"\s+(?:all\s+|any\s+)?(?:of\s+)?(?:the\s+|your\s+)?(?:previous|prior|earlier|above)"
    rb"\s+(?:instructions?|prompts?|messages?|rules)"
)
_GITHUB_TOKEN = re.compile(rb"gh(?:[pousr]_[A-Za-z0-9]{36,}|ithub_pat_[A-Za-z0-9_]{40,})")
_WITH_G = re.compile(
    rb"g(?:(?P<token>(?<!\wg)h(?:[pousr]_|ithub_pat_))"
    rb"|(?:(?<=ig)(?<![a-z0-9_]ig)(?P<ignore>nore)|(?<=disreg)(?<![a-z0-9_]disreg)(?P<disregard>ard)"
    rb"|(?<=forg)(?<![a-z0-9_]forg)(?P<forget>et))" + _ORDER + rb")"
)
"""Orders to an agent, and beginnings of GitHub's tokens; one pattern, because each pass over a text is expensive."""
_BEFORE_G = {"ignore": 1, "disregard": 5, "forget": 3}
_TO_AGENTS = tuple(
    re.compile(pattern)
    for pattern in (
        rb"do(?<![a-z0-9_]do)\s+not\s+(?:tell|inform|mention\s+(?:this|it)\s+to)\s+the\s+user\b",
        rb"you(?<![a-z0-9_]you)\s+are\s+(?:now\s+)?(?:an?\s+)?(?:ai|llm|language\s+model|assistant|agent)\b",
        (
            rb"<(?:\s*/?\s*(?:system|assistant)\s*>"
            rb"|!--[^>]{0,200}\b(?:ai|llm|assistant|agent)s?\b[^>]{0,200}\b(?:must|should|please|send|run|call)\b)"
        ),
    )
)
"""Further orders to an agent. All patterns of orders are for lower-case text, and begin with a literal for speed."""
_SECRETS = tuple(
    re.compile(pattern)
    for pattern in (
        (
            rb"A(?:(?<!\wA)(?P<aws>(?:KIA|SIA)[0-9A-Z]{16}\b)|(?<!\wA)(?P<google>Iza[0-9A-Za-z_-]{35}\b)"
            rb"|(?<=PRIVA)(?P<key>TE KEY-----))"
        ),
        rb"x(?<!\wx)(?P<slack>ox[abprs]-[A-Za-z0-9-]{20,})",
        rb"k(?<=sk)(?<!\wsk)(?P<api>-(?:[a-z]+-)?[A-Za-z0-9_-]{32,})",
    )
)
"""Patterns of secrets, for text in its original case. Each group has a name in `_SECRET_NAMES`."""
_SECRET_NAMES = {
    "aws": "an AWS access key",
    "google": "a Google API key",
    "key": "a private key",
    "slack": "a Slack token",
    "api": "an API key",
}
_PRIVATE_KEY = re.compile(rb"-----BEGIN (?:[A-Z]+ )*PRIVA\Z")
_QUOTED = tuple(re.compile(mark + rb"(?<=[:= \t]" + mark + rb")(?=[^\"'\s<>{}$]{12,}[\"'])") for mark in (b'"', b"'"))
"""The quotation mark before a possible password."""
_PASSWORD = re.compile(rb"(?<!\w)(?:pass(?:word|wd)|secret|api[_-]?key|token)[ \t]*[:=][ \t]*\Z")
MAX_BEFORE = 100
"""Number of bytes before a possible secret that are searched for a password's name or a private key's first line."""


def text_findings(raw: bytes) -> Iterator[TextFinding]:
    """The findings in a page's bytes, rule by rule."""
    yield from _invisible(raw)
    lower = raw.lower()
    with_g = list(_WITH_G.finditer(lower))
    orders = ((one.start() - _BEFORE_G[one.lastgroup], one.end()) for one in with_g if one.lastgroup in _BEFORE_G)
    others = (one.span() for pattern in _TO_AGENTS for one in pattern.finditer(lower))
    for start, end in islice(chain(orders, others), MAX_FINDINGS):
        shown = " ".join(raw[start:end].decode("utf-8", "replace").split())[:60]
        message = f"The text {shown!r} addresses an agent. Remove it, or quote it as what it is."
        yield TextFinding(start, "addresses_agent", message)
    tokens = (one.start() for one in with_g if one.lastgroup == "token")
    github = (_secret(at, "a GitHub token") for at in tokens if _GITHUB_TOKEN.match(raw, at))
    yield from islice(chain(_keys(raw), github, _passwords(lower)), MAX_FINDINGS)


def _keys(raw: bytes) -> Iterator[TextFinding]:
    for found in (one for pattern in _SECRETS for one in pattern.finditer(raw)):
        group = found.lastgroup or ""
        start = found.start() - (group == "api")
        if group == "key":
            begin = _PRIVATE_KEY.search(raw, max(0, start - MAX_BEFORE), start + 1)
            if begin is None:
                continue
            start = begin.start()
        yield _secret(start, _SECRET_NAMES[group])


def _passwords(lower: bytes) -> Iterator[TextFinding]:
    for quote in (one.start() for pattern in _QUOTED for one in pattern.finditer(lower)):
        line = max(lower.rfind(b"\n", 0, quote) + 1, quote - MAX_BEFORE)
        named = _PASSWORD.search(lower, line, quote)
        if named:
            yield _secret(named.start(), "a password")


def _secret(offset: int, name: str) -> TextFinding:
    message = f"This looks like {name}. Revoke it, then take it out of the page and of the history."
    return TextFinding(offset, "secret", message)


def _invisible(raw: bytes) -> Iterator[TextFinding]:
    """Invisible characters that change how a text is read; joiners that scripts and emoji need are excluded."""
    known: set[int] = set()
    if raw.isascii():
        return
    for found in _MAYBE_INVISIBLE.finditer(raw):  # an initial byte order mark is no finding
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
        yield TextFinding(found.start(), "invisible_character", message)


def _is_in_flag(raw: bytes, at: int) -> bool:
    """Whether a tag character is part of one of the flags in `_FLAGS`."""
    start = raw.rfind(_BLACK_FLAG, max(0, at - _FLAG_BYTES), at)
    return start >= 0 and raw.startswith(_FLAGS, start)
