"""Inline syntax that the parser does not support: highlights, comments, tags, bare URLs and block ids."""

from __future__ import annotations

import re
from html import escape
from urllib.parse import quote

from commonplace.domain.markdown.tags import body_tags

_SPECIAL = re.compile(
    r"(?P<url>\bhttps?://[^\s<>\"'`]++)"
    r"|==(?P<mark>[^=\s](?>[^=\n]*))=="
    r"|(?P<comment>%%[^%\n]*+%%)"
    r"|(?P<block>(?:(?<=\s)|^)\^[A-Za-z0-9-]++\s*$)"
    r"|(?:(?<=[\s(|>*])|^)#(?P<tag>[^\s!-,.:-@\[-^`{-~]++)"
)
_TRAILING = ".,;:!?*_~'\""


def text_html(text: str, *, links: bool) -> str:
    """A run of text as HTML.

    Args:
        text: Text without markup.
        links: Whether URLs and tags become links; False inside a link.
    """
    if "#" not in text and "==" not in text and "://" not in text and "%%" not in text and "^" not in text:
        return escape(text, quote=False)
    parts: list[str] = []
    at = 0
    for found in _SPECIAL.finditer(text):
        html, end = _special(found, links=links)
        parts += [escape(text[at : found.start()], quote=False), html]
        at = end
    return "".join([*parts, escape(text[at:], quote=False)])


def tag_link(tag: str) -> str:
    """A tag as a link to the list of its pages."""
    return f'<a class="tag" href="/tags/{quote(tag, safe="/")}">#{escape(tag)}</a>'


def _special(found: re.Match[str], *, links: bool) -> tuple[str, int]:
    """The HTML of a match, and the offset after it."""
    whole = found[0]
    if found["mark"]:
        return f"<mark>{escape(found['mark'], quote=False)}</mark>", found.end()
    if found["comment"]:
        return "", found.end()
    if found["block"]:
        return f'<span class="block-id" id="{whole.strip()}"></span>', found.end()
    if not links:
        return escape(whole, quote=False), found.end()
    return _url(whole, found.start()) if found["url"] else _tag(whole, found.start())


def _url(written: str, start: int) -> tuple[str, int]:
    url = written.rstrip(_TRAILING)
    while url.endswith(")") and url.count("(") < url.count(")"):
        url = url[:-1].rstrip(_TRAILING)
    return f'<a class="external" href="{escape(url)}">{escape(url, quote=False)}</a>', start + len(url)


def _tag(written: str, start: int) -> tuple[str, int]:
    """A tag as a link, parsed by the same rules as in the index; plain text if it is not a tag."""
    tag = next(body_tags(written.encode(), (), tuple), "")
    if not tag:
        return escape(written, quote=False), start + len(written)
    return tag_link(tag), start + 1 + len(tag)
