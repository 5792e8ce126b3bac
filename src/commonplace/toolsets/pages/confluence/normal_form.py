"""The form in which two storage bodies are compared: Confluence rewrites what it stores, and means the same."""

from __future__ import annotations

import html
import re

from commonplace.toolsets.pages.confluence.elements import ATTRIBUTE, MARKUP

_GIVEN_BY_SITE = frozenset(
    {"ac:macro-id", "ac:local-id", "local-id", "ac:schema-version", "data-layout", "ri:version-at-save"}
)
"""Attributes that the site adds or renews when it stores a body."""


def normal_form(body: bytes) -> str:
    """A body with sorted attributes, resolved characters and plain white space, without what the site adds itself."""
    pieces: list[str] = []
    at = 0
    for match in MARKUP.finditer(body):
        pieces.append(_text(body[at : match.start()].decode("utf-8", "replace")))
        at = match.end()
        if match[2] is not None:
            attributes = {
                name: html.unescape(double or single)
                for name, double, single in ATTRIBUTE.findall(match[3].decode("utf-8", "replace"))
                if name not in _GIVEN_BY_SITE
            }
            shown = "".join(f" {name}={value!r}" for name, value in sorted(attributes.items()))
            pieces.append(f"<{match[2].decode()}{shown}>" + (f"</{match[2].decode()}>" if match[4] else ""))
        elif match[1] is not None:
            pieces.append(f"</{match[1].decode()}>")
        elif match[0].startswith(b"<![CDATA["):
            pieces.append(match[0][9:-3].decode("utf-8", "replace"))
    pieces.append(_text(body[at:].decode("utf-8", "replace")))
    shown = "".join(pieces)
    return re.sub(r"\s+(?=<)|(?<=>)\s+", " ", shown).strip()


def _text(markup: str) -> str:
    return re.sub(r"[ \t\r\n]+", " ", html.unescape(markup))
