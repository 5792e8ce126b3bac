"""Removes syntax that is not Markdown before parsing: JSX in MDX, reference shortcodes of Hugo.

The result has the same length in bytes as the source, so that offsets are equal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from commonplace.domain.addresses import Address
from commonplace.domain.markdown.mdx import without_jsx

_REFERENCE = re.compile(rb"\{\{[<%][ \t]*(?:rel)?ref[ \t]+(?:path=)?([\"'`])([^\"'`\s]+)\1[^{}\n]*?[%>]\}\}")
_IN_LINK = rb"(?<=\]\()|(?<=\]:[ ])|(?<=\]:)|(?<=[\"'=])"
_LIQUID = re.compile(
    rb"(?:"
    + _IN_LINK
    + rb""")(?:
        \{%-?[ \t]*(?:link|post_url)[ \t]+([^\s%{}|]++)[ \t]*-?%\}(?:\#[^\s)"'>]*+)?
        |\{\{-?[ \t]*["']([^"'\s{}]*+)["'][ \t]*\|[ \t]*(?:relative|absolute)_url[ \t]*-?\}\}(?:\#[^\s)"'>]*+)?
        |\{\{-?[ \t]*site\.(?:baseurl|url)[ \t]*-?\}\}(?=/)
    )""",
    re.VERBOSE,
)
"""Jekyll's text in place of a link's destination: a tag, a text with a filter, or the site's address before it.

A fragment behind the tag is blanked, too, because a destination has no blanks inside.
"""
_SHORTCODE = re.compile(
    rb"(?:\{\{[<%][ \t]*(/?)[ \t]*([\w./-]++)[^{}\n]*?[%>]\}\}"
    rb"|\{%-?[ \t]*(end)?(highlight)\b[^{}\n]*?-?%\})"
)
_CODE = re.compile(rb"code|highlight|\Ahl\Z|\A(?:mermaid|katex|math|chroma)\Z", re.IGNORECASE)
"""Names of shortcodes whose text is code."""


class ReadableSource(NamedTuple):
    """A source with blanks in place of syntax that is not Markdown."""

    text: bytes
    """The source itself if all of it is Markdown."""
    tags: Sequence[tuple[int, int]] = ()
    """The ranges of the HTML tags among the blanked parts."""


def readable_source(address: Address, source: bytes) -> ReadableSource:
    """The source with blanks in place of other syntax."""
    if address.path.lower().endswith(".mdx"):
        return ReadableSource(*without_jsx(source))
    text = source
    if b"{{" in text or b"{%" in text:
        text = _REFERENCE.sub(_only_target, _LIQUID.sub(_only_target, _with_code_fences(text)))
    return ReadableSource(text)


def _only_target(found: re.Match[bytes]) -> bytes:
    """Replace `{{< ref "page.md" >}}` by `page.md` between blanks."""
    group = found.lastindex or 0
    if not group:
        return b" " * len(found[0])
    before, after = found.start(group) - found.start(), found.end() - found.end(group)
    return b" " * before + found[group] + b" " * after


def _with_code_fences(source: bytes) -> bytes:
    """The source with the fences of Markdown in place of the shortcodes around code.

    The text between stays, so that it is searched; its brackets and number signs are no links and headings.
    """
    parts: list[bytes] = []
    at = 0
    opening: re.Match[bytes] | None = None
    for tag in _SHORTCODE.finditer(source):
        name, closing = tag[2] or tag[4], bool(tag[1] or tag[3])
        if opening is None and not closing and _CODE.search(name):
            opening = tag
        elif opening is not None and closing and name == (opening[2] or opening[4]):
            if fences := _fences(source, opening, tag):
                parts += [source[at : opening.start()], fences[0], source[opening.end() : tag.start()], fences[1]]
                at = tag.end()
            opening = None
    return b"".join([*parts, source[at:]])


def _fences(source: bytes, opening: re.Match[bytes], closing: re.Match[bytes]) -> tuple[bytes, bytes] | None:
    """The marks of a code block or, within a line, of a code span; None if they would not enclose the text."""
    lengths = len(opening[0]), len(closing[0])
    line = source[source.rfind(b"\n", 0, opening.start()) + 1 : opening.start()]
    inside = source[opening.end() : closing.start()]
    if b"\n" not in inside:
        return (b"``".rjust(lengths[0]), b"``".ljust(lengths[1])) if b"``" not in inside else None
    before = source[source.rfind(b"\n", 0, closing.start()) + 1 : closing.start()]
    if line.strip() or before.strip() or b"~~~~" in inside or inside.partition(b"\n")[0].strip():
        return None
    return b"~~~~".ljust(lengths[0]), b"~~~~".ljust(lengths[1])
