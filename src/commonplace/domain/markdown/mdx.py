"""Removes syntax that is not Markdown before parsing: JSX in MDX, reference shortcodes of Hugo, marks of wikitext.

The result has the same length in bytes as the source, so that offsets are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Frontmatter
from commonplace.domain.markdown.wikitext import TIDDLER_SUFFIX, as_markdown, is_wikitext, read_fields

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


def readable_source(address: Address, source: bytes, fields: Frontmatter | None = None) -> ReadableSource:
    """The source with blanks in place of other syntax; a tiddler's as Markdown.

    Args:
        address: The document.
        source: Its text, whole or below its fields.
        fields: The fields of a tiddler, if they are known.
    """
    if address.path.lower().endswith(TIDDLER_SUFFIX):
        return ReadableSource(as_markdown(source) if is_wikitext(fields or read_fields(source)) else source)
    if address.path.lower().endswith(".mdx"):
        return ReadableSource(*without_jsx(source))
    text = source
    if b"{{" in text or b"{%" in text:
        text = _REFERENCE.sub(_only_target, _LIQUID.sub(_only_target, _with_code_fences(text)))
    return ReadableSource(text)


def _only_target(match: re.Match[bytes]) -> bytes:
    """Replace `{{< ref "page.md" >}}` by `page.md` between blanks."""
    group = match.lastindex or 0
    if not group:
        return b" " * len(match[0])
    before, after = match.start(group) - match.start(), match.end() - match.end(group)
    return b" " * before + match[group] + b" " * after


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


# MDX: blanks the parts of a text that are not Markdown, so that a Markdown parser reads the rest.
#
# Blanked are ESM statements (`import`, `export`), JSX tags and comments in braces. The children of an element and the
# texts of the attributes in `TEXT_ATTRIBUTES` remain. A text's length in bytes is preserved, so that offsets in the
# blanked text are valid for the original text.
#
# MDX has no indented code, and children are usually indented like their tags. Blanks in front of an indented child
# become line ends, because a Markdown parser would take the child for code.


MAX_TAG_BYTES = 8_000
"""Maximum length of a tag; a longer one is text."""
MAX_STATEMENT_LINES = 2_000
"""Maximum number of lines of an ESM statement."""
TEXT_ATTRIBUTES = (b"title", b"label", b"alt", b"description", b"summary")
"""Attributes whose values are texts for readers."""

_LINE = re.compile(rb"[^\n]*(?:\n|\Z)")
_FENCE = re.compile(rb"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})")
_STATEMENT = re.compile(rb"(?:import|export)(?:[ \t{*]|\r?$)")
_TAG_START = re.compile(rb"<(/?)(?:([A-Za-z_$][\w$.-]*(?::[A-Za-z_$][\w$.-]*)?)(?=[\s/>{])|(?=>))")
_TOKEN = re.compile(rb"\\.|`+|\{/\*|<(?=[/>A-Za-z_$])", re.DOTALL)
_PIECE = re.compile(rb"\"[^\"]*\"|'[^']*'|[{}<>]|/>")
_ATTRIBUTE = re.compile(rb"(?<![\w-])(?:" + b"|".join(TEXT_ATTRIBUTES) + rb")=(?:\"([^\"<>{}`]*)\"|'([^'<>{}`]*)')")
_BLOCK_START = re.compile(rb"[ \t]*(?:#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|>|`{3}|~{3})")
_HTML_TAG = re.compile(rb"<[a-z][a-z0-9]*[\s/>]")
"""The beginning of an HTML element, whose name has no capitals, unlike that of a component."""
_AFTER_HEADING = re.compile(rb"[ \t]*(?:#{1,6}[ \t]|-{3,}[ \t]*\r?$|`{3}|~{3})")
"""A line after which an indented line is code in Markdown, without a blank line between."""
_VOID = frozenset({b"br", b"hr", b"img", b"input", b"meta", b"link", b"source", b"wbr", b"col"})
_NOT_LINE_END = re.compile(rb"[^\r\n]")
_CODE_COLUMNS = 4
"""Minimum indentation in columns of an indented code block in Markdown."""


@dataclass(frozen=True, slots=True)
class _Tag:
    start: int
    end: int
    nesting: int
    """1 for an opening tag, -1 for a closing tag, 0 for a self-closing tag or a comment."""


def without_jsx(source: bytes) -> tuple[bytes, Sequence[tuple[int, int]]]:
    """The text with blanks in place of all parts that are not Markdown, and the ranges of blanked HTML tags.

    Takes time linear in the length.
    """
    lines = [match.span() for match in _LINE.finditer(source) if match.end() > match.start()]
    code, statements = _code_and_statements(source, lines)
    tags = list(_tags(source, code, statements))
    blanked = bytearray(source)
    for start, end in statements:
        blanked[start:end] = _blanks(source, start, end)
    for tag in tags:
        blanked[tag.start : tag.end] = _tag_text(source, tag)
    _outdent(blanked, lines, code, tags)
    return bytes(blanked), [(tag.start, tag.end) for tag in tags if _HTML_TAG.match(source, tag.start)]


def _blanks(source: bytes, start: int, end: int) -> bytes:
    return _NOT_LINE_END.sub(b" ", source[start:end])


def _tag_text(source: bytes, tag: _Tag) -> bytes:
    """Blanks of the tag's length, with the values of text attributes in their places."""
    blanked = bytearray(_blanks(source, tag.start, tag.end))
    for match in _ATTRIBUTE.finditer(source, tag.start, tag.end):
        start, end = match.span(1) if match[1] is not None else match.span(2)
        blanked[start - tag.start : end - tag.start] = source[start:end]
    return bytes(blanked)


def _code_and_statements(
    source: bytes, lines: Sequence[tuple[int, int]]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The ranges of fenced code, fences included, and of ESM statements."""
    code: list[tuple[int, int]] = []
    statements: list[tuple[int, int]] = []
    after_blank, at = True, 0
    while at < len(lines):
        start, end = lines[at]
        fence = _FENCE.match(source, start, end)
        last = at
        if fence:
            last = _fence_end(source, lines, at, fence[1])
            code.append((start, lines[last][1]))
        elif after_blank and _STATEMENT.match(source, start, end):
            last = _statement_end(source, lines, at)
            statements.append((start, lines[last][1]))
        else:
            after_blank = not source[start:end].strip()
        at = last + 1
    return code, statements


def _fence_end(source: bytes, lines: Sequence[tuple[int, int]], first: int, fence: bytes) -> int:
    """The line of the closing fence; the last line if there is none."""
    for number in range(first + 1, len(lines)):
        text = source[slice(*lines[number])].strip().lstrip(b"> \t")
        if text.startswith(fence) and not text.strip(fence[:1]):
            return number
    return len(lines) - 1


def _statement_end(source: bytes, lines: Sequence[tuple[int, int]], first: int) -> int:
    """The last line before a blank line at which no brace is open."""
    depth = 0
    for number in range(first, min(len(lines), first + MAX_STATEMENT_LINES)):
        text = source[slice(*lines[number])]
        if not text.strip() and depth <= 0:
            return number - 1
        depth += sum(map(text.count, (b"{", b"(", b"["))) - sum(map(text.count, (b"}", b")", b"]")))
    return min(len(lines), first + MAX_STATEMENT_LINES) - 1 if depth <= 0 else first


def _tags(source: bytes, code: Sequence[tuple[int, int]], statements: Sequence[tuple[int, int]]) -> Iterator[_Tag]:
    """The tags and comments of a text, outside of code and statements."""
    at = 0
    # A budget of bytes for unsuccessful searches, so that crafted texts take linear time. Without budget, all is text.
    patience = [4 * len(source) + MAX_TAG_BYTES]
    for start, end in (*sorted([*code, *statements]), (len(source), len(source))):
        yield from _tags_between(source, at, start, patience)
        at = max(at, end)


def _tags_between(source: bytes, at: int, end: int, patience: list[int]) -> Iterator[_Tag]:
    while match := _TOKEN.search(source, at, end):
        token, start, at = match[0], match.start(), match.end()
        if token[:1] == b"`":
            at = _code_span_end(source, token, at, end, patience)
        elif token in (b"<", b"{/*"):
            parse = _tag_at if token == b"<" else _comment_at
            tag = parse(source, start, end, patience)
            if tag:
                at = tag.end
                yield tag


def _code_span_end(source: bytes, run: bytes, at: int, end: int, patience: list[int]) -> int:
    """The offset after the run of backticks that closes a code span; `at` if none does in the paragraph."""
    if patience[0] < 0:
        return at
    stop = source.find(b"\n\n", at, end)
    for match in re.compile(rb"`+").finditer(source, at, stop if stop >= 0 else end):
        if match[0] == run:
            return match.end()
    patience[0] -= (stop if stop >= 0 else end) - at
    return at


def _comment_at(source: bytes, start: int, end: int, patience: list[int]) -> _Tag | None:
    close = source.find(b"*/}", start, end) if patience[0] >= 0 else -1
    if close < 0:
        patience[0] -= end - start
        return None
    return _Tag(start, close + 3, 0)


def _tag_at(source: bytes, start: int, end: int, patience: list[int]) -> _Tag | None:
    opening = _TAG_START.match(source, start, end)
    if not opening or patience[0] < 0:
        return None
    depth, limit = 0, min(end, start + MAX_TAG_BYTES)
    for piece in _PIECE.finditer(source, opening.end(), limit):
        token = piece[0]
        if token in b"{}":
            depth += 1 if token == b"{" else -1
        elif depth == 0 and token in (b">", b"/>"):
            closed = token == b"/>" or (opening[2] or b"").lower() in _VOID
            return _Tag(start, piece.end(), -1 if opening[1] else 0 if closed else 1)
        elif depth == 0 and token == b"<":
            break
    patience[0] -= limit - start
    return None


def _outdent(
    blanked: bytearray, lines: Sequence[tuple[int, int]], code: Sequence[tuple[int, int]], tags: Sequence[_Tag]
) -> None:
    """Turn indentation into line ends where a block begins: of children of elements, and behind a line's first tags."""
    coded = dict(code)
    waiting = iter([*tags, _Tag(len(blanked) + 1, 0, 0)])
    tag, depth, base, block, code_end = next(waiting), 0, 0, True, 0
    for start, end in lines:
        while tag.start < start:
            depth, tag = max(depth + tag.nesting, 0), next(waiting)
            base = 0 if depth == 0 else base
        text = bytes(blanked[start:end])
        code_end = coded.get(start, code_end)
        if not text.strip():
            block = True
            continue
        indent = len(text) - len(text.lstrip(b" \t"))
        if tag.start < start + indent:  # the line begins with a tag, in whose place are blanks
            if _deep(text[:indent]) and block:
                blanked[tag.start : start + indent] = b"\n" * (start + indent - tag.start)
            block = False
            continue
        if (depth and start >= code_end) or start in coded:
            base = indent if block and not 0 < base <= indent else base
        fence = start in coded or end == code_end
        if depth and _deep(text[:base]) and indent >= base and (block or fence or _BLOCK_START.match(text)):
            blanked[start : start + base] = b"\n" * base
        block = bool(_AFTER_HEADING.match(text))


def _deep(indentation: bytes) -> bool:
    return len(indentation.expandtabs(_CODE_COLUMNS)) >= _CODE_COLUMNS
