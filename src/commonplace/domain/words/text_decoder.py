"""Bytes as text, and text as a reader sees it."""

from __future__ import annotations

import codecs
import re
from html import unescape
from typing import NamedTuple

from commonplace.domain.link_brackets import with_marked_brackets, without_marks
from commonplace.domain.words.grams import SPACELESS, has_runs

# Decodes a file of unknown encoding: as UTF-8, and invalid bytes as CP1252.


_FALLBACK = "commonplace-cp1252"
_CP1252 = bytes(range(256)).decode("cp1252", "replace")
"""The character of each byte. Created at import, because a process that has dropped its rights may not load the codec.
"""


def decoded(raw: bytes) -> str:
    """The text of bytes. Never fails.

    A byte that is not part of valid UTF-8 is decoded by CP1252, the encoding of older Windows editors, or becomes
    U+FFFD if CP1252 has no such character. Thus a file with both encodings is read as well as possible.
    """
    return raw.decode("utf-8", _FALLBACK)


def as_utf8(raw: bytes) -> bytes:
    """The bytes of a file if they are UTF-8; otherwise its decoded text as UTF-8, without a byte order mark."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return decoded(raw.removeprefix(codecs.BOM_UTF8)).encode()
    return raw


def _cp1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(_CP1252[byte] for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_FALLBACK, _cp1252)


# Text as it is read on the page: without markup between its words, and with the labels of links in place of links.


_INLINE = "a|abbr|b|cite|code|del|em|font|i|img|ins|kbd|mark|q|s|samp|small|span|strong|sub|sup|tt|u|var"
_BLOCK = (
    "blockquote|body|br|caption|col|colgroup|dd|details|div|dl|dt|figcaption|figure|h[1-6]|hr|iframe|li|ol|p|pre|"
    "section|summary|table|tbody|td|tfoot|th|thead|tr|ul|video"
)
# Every repetition is bounded or cannot match what follows it, so the time is linear in the text. Each alternative
# begins with its sign, so that text between signs is skipped at memory speed. Code is first: it stands as it is.
_SIGN = re.compile(
    r"[`~!\[\]<&%](?:(?<=`)[^`\n]+`(?!`)"
    r"|(?P<fence>(?:(?<=`)``+|(?<=~)~~+)(?=[^`\n]*\n))"
    r"|(?<=`)(?!`)(?:[^`\n]|\n(?![ \t>]*\n)){1,1000}`(?!`)"
    r"|(?<=`)`(?!`)(?:[^`\n]|`(?!`)|\n(?![ \t>]*\n)){1,1000}``(?!`)|(?<=`)`+|(?<=~)~+"
    r"|(?<=!)\[\[(?P<embed>[^\[\]|\n]{0,300}(?:\|[ \t]*(?:\d{1,4}(?:x\d{1,4})?[ \t]*)?)?\]\])"
    r"|(?<=\[)\[(?P<target>[^\[\]|\n]{0,300})(?:\|(?P<label>[^\[\]\n]{0,300}))?\]\]"
    r"|(?<=\[)(?P<note>\^[^\[\]\s]{1,40}\](?!:))"
    r"|(?<=\])(?P<aim>\((?:<[^<>\n]{0,500}>|[^()\s]{0,500}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?)"
    r"(?:[ \t]+(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'))?\)|\[[^\[\]\n]{0,300}\])"
    rf"|(?<=<)(?:(?P<inline>/?(?:{_INLINE})(?:[ /][^<>\n]{{0,300}})?>|!--[^<>]{{0,500}}-->)"
    rf"|(?P<block>/?(?:{_BLOCK})(?:[ /][^<>\n]{{0,300}})?>))"
    r"|(?<=&)(?P<entity>(?:[A-Za-z]{2,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});)"
    r"|(?<=%)(?P<comment>%[^%\n]{1,500}%%))",
    re.IGNORECASE,
)
_MARKS = r"[*_~=`\[\]]+"
_BETWEEN = re.compile(rf"(?<=[{SPACELESS}]){_MARKS}(?=[^\W_])|(?<=[^\W_]){_MARKS}(?=[{SPACELESS}])")
_TAGS = frozenset({"inline", "block", "entity"})
_REMOVED = frozenset({"embed", "note", "aim", "inline", "comment"})


class ReadableText(NamedTuple):
    """A text as it is read."""

    text: str
    hidden: str
    """The removed parts with letters or digits, one a line: targets of links, tags, comments."""


def readable_text(markdown: str, *, tags: bool = True) -> ReadableText:
    """Remove what stands between the words of a Markdown text and is not read.

    Code stands as it is. Signs without letters and digits remain where they do not divide a word; they are no part of
    words.

    Args:
        markdown: The text.
        tags: Whether to remove tags, too; a quotation with tags is probably of code.
    """
    markdown = with_marked_brackets(markdown)
    parts: list[str] = []
    hidden: list[str] = []
    at = copied = 0
    while sign := _SIGN.search(markdown, at):
        at = sign.end()
        kind = sign.lastgroup
        if kind == "fence":
            closing = markdown.find(f"\n{sign[0]}", at)
            at = closing + 1 + len(sign[0]) if closing >= 0 else len(markdown)
        elif kind is not None and (tags or kind not in _TAGS):
            shown, removed = _parts(sign, kind)
            parts += (markdown[copied : sign.start()], shown)
            copied = at
            if removed:
                hidden.append(removed)
    text = "".join((*parts, markdown[copied:])) if parts else markdown
    return ReadableText(join_runs(without_marks(text)), "\n".join(hidden))


def join_runs(text: str) -> str:
    """The text without signs of markup inside words of scripts without blanks: `选择**实时**` as `选择实时`."""
    return _BETWEEN.sub("", text) if has_runs(text) else text


def _parts(sign: re.Match[str], kind: str) -> tuple[str, str]:
    """The text that is shown in place of a sign, and the text that is hidden."""
    if kind in _REMOVED:
        return ("]" if kind == "aim" else ""), sign[0]
    if kind == "block":
        return " ", sign[0]
    if kind == "entity":
        return unescape(sign[0]), ""
    target, label = sign["target"], sign["label"]
    if label and label.strip():
        return label, target
    shown = [part.strip() for part in target.split("#")]
    return " > ".join(part for part in shown if part and not part.startswith("^")), target if "^" in target else ""
