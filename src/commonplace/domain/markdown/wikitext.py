"""Tiddlers of TiddlyWiki: the fields above their text, and the text as Markdown of the same length.

Read are headings, lists, links `[[label|Title]]` and code; all else, such as macros, widgets and transclusions, is
plain text. A word in CamelCase is no link.

Sources: `parseFields` and the deserializer of `.tid` files in
https://github.com/TiddlyWiki/TiddlyWiki5/blob/0606f71d/boot/boot.js, `parseStringArray` there, and the rules for
headings, lists and links in https://github.com/TiddlyWiki/TiddlyWiki5/tree/0606f71d/core/modules/parsers/wikiparser/rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from urllib.parse import unquote

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Frontmatter, Link, LinkKind, Span
from commonplace.domain.frontmatter import read_any_frontmatter
from commonplace.domain.json import Json
from commonplace.domain.markdown.structure import HeadingEvent, Structure, scan

TIDDLER_SUFFIX = ".tid"
META_SUFFIX = ".meta"
"""Suffix after the whole name of a file whose fields are in a file of their own."""
_END_OF_FIELDS = re.compile(rb"\r?\n\r?\n")
_TAG = re.compile(r"(?:^|(?<=\s))(?:\[\[(.*?)\]\](?=\s|$)|(\S+))")
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(?:(\d\d)(?:\d{3})?)?")
WIKITEXT_TYPE, MARKDOWN_TYPE = "text/vnd.tiddlywiki", "text/x-markdown"
_WIKITEXT_TYPES = frozenset({"", WIKITEXT_TYPE})

_FENCE = re.compile(
    rb"(?m)^```[\w-]*\r?\n(?s:.*?)(?:^```[ \t]*\r?$|\Z)"
    rb"|^ {1,3}```[\w-]*\r?\n(?s:.*?)(?:^ {0,3}```[ \t]*\r?$|\Z)"
)
_OPENING = re.compile(rb"\A( +)(```[\w-]*)")
"""An indented beginning of code, which in Markdown might end with the list around it."""
_INNER_FENCE = re.compile(rb"(?m)^( {1,3})```(?=[ \t]*\r?\n)")
"""A line of code that in Markdown would be the end of the code."""
_CODE_INDENT = 4
_HEADING = re.compile(rb"(?m)^(!{1,6})(?:\.\S+(?=[ \t]))?[ \t]*(?=[^\s!])([^\r\n]*)")
_MARK = re.compile(
    rb"(?m)^(?:[ \t]*(?:`{3,}|~{3,})|(!{1,6})(?=[ \t])|!{1,6}|([*#]+)(?=[ \t])|#+|(?:-{3,}|=+)(?=[ \t]*\r?$)"
    rb"|[ \t]{4,}(?=\S)|[ \t]*\t(?=\S))"
)
_LINK = re.compile(rb"\[\[([^\[\]\n|]*)\|(?=[^\[\]\n|]+\]\])|\[\[(?=[a-zA-Z][a-zA-Z0-9+.-]*://)")
_QUOTED = rb'(?s:""".{0,4000}?""")|(?<=[\s=:])"[^"]{0,4000}"|(?<=[\s=:])\'[^\']{0,4000}\''
_CALL = re.compile(
    rb"(?P<code>``[^`]{1,1000}``|`[^`]{1,1000}`)"
    rb"|<<(?![<\s>])(?:" + _QUOTED + rb"|(?!<<)[^>]|>(?!>)){0,4000}+>>"
    rb"|\{\{\{(?:(?!\{\{\{)[^}]|\}(?!\}\})){0,4000}+\}\}\}"
    rb"|<\$(?:" + _QUOTED + rb"|<<[^<>]{0,4000}>>|\{\{\{(?:(?!\{\{\{)[^}]){0,4000}\}\}\}|[^<>]){0,4000}+>"
)
"""Inline code, or a call of a macro, a filter or a widget, in which `[[` begins no link.

The next beginning of a call ends one without an end, so that each part of a text is read a few times at most.
"""
_ELEMENT = re.compile(rb"</?[a-zA-Z][^<>]*>")
"""A tag of HTML, in which wikitext goes on, while Markdown would not."""
_BRACKETS = str.maketrans("", "", "[]")


def read_fields(raw: bytes, start: int = 0) -> Frontmatter:
    """The fields of a tiddler: lines `name: value` up to the first blank line. They are read and never changed."""
    end = _END_OF_FIELDS.search(raw, start)
    head = raw[start : end.start() if end else len(raw)]
    values = parsed_fields(head.decode("utf-8", "replace"))
    return Frontmatter(values, Span(start, end.end() if end else len(raw)), present=True, is_fields=True)


def parsed_fields(text: str) -> dict[str, Json]:
    """The fields in a text, with tags as a list and times in ISO 8601; `type`, a media type, is `content-type`."""
    values: dict[str, Json] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if not colon or not name or name.startswith("#"):
            continue
        values["content-type" if name == "type" else name] = _value(name, value)
    return values


def _value(name: str, text: str) -> Json:
    if name == "tags":
        return [tag[0] or tag[1] for tag in _TAG.findall(text)]
    time = _TIME.fullmatch(text) if name in {"created", "modified"} else None
    return f"{time[1]}-{time[2]}-{time[3]}T{time[4]}:{time[5]}:{time[6] or '00'}Z" if time else text


def with_fields(address: Address, content: bytes, now: datetime) -> bytes:
    """The content of a new tiddler with the fields that it needs: its times, the title of its file's name, its type.

    A content that begins with fields, and that of any other file, stays as it is. A text is taken for Markdown.
    """
    if not address.path.lower().endswith(TIDDLER_SUFFIX) or "title" in read_fields(content).values:
        return content
    moment = f"{now:%Y%m%d%H%M%S}000"
    kind = MARKDOWN_TYPE if content.strip() else WIKITEXT_TYPE
    fields = {"created": moment, "modified": moment, "title": unquote(address.stem), "type": kind}
    return "".join(f"{name}: {value}\n" for name, value in fields.items()).encode() + b"\n" + content


def with_former_fields(address: Address, content: bytes, former: bytes) -> bytes:
    """The new content of a tiddler, with the fields that it had if it begins with none; of any other file as it is."""
    if not address.path.lower().endswith(TIDDLER_SUFFIX) or "title" in read_fields(content).values:
        return content
    fields = read_fields(former)
    if "title" not in fields.values:
        return content
    head = former[: fields.span.end]
    return head + (b"" if _END_OF_FIELDS.search(head) else b"\n\n") + content


def is_wikitext(fields: Frontmatter) -> bool:
    """Whether the text below some fields is wikitext and not, for example, Markdown."""
    return fields.values.get("content-type", "") in _WIKITEXT_TYPES


def as_markdown(source: bytes) -> bytes:
    """Wikitext as Markdown of the same length: headings, lists and links where they were, code as it is."""
    return b"".join(_code(part) if is_code else _readable(part) for is_code, part in _parts(source))


def _code(text: bytes) -> bytes:
    """A block of code in Markdown's form."""
    if text[:1] == b" ":
        return _OPENING.sub(rb"\2\1", text)
    return _INNER_FENCE.sub(rb"\1'''", text)


def _readable(text: bytes) -> bytes:
    """A text without code in Markdown's form."""
    plain = _CALL.sub(lambda call: call[0] if call["code"] else call[0].replace(b"[[", b"  "), text)
    plain = _ELEMENT.sub(lambda tag: re.sub(rb"[^\r\n]", b" ", tag[0]), plain)
    return _LINK.sub(_link, _MARK.sub(_mark, plain))


def _parts(source: bytes) -> Iterator[tuple[bool, bytes]]:
    """The parts of a text in order, each with whether it is a block of code."""
    at = 0
    for fence in _FENCE.finditer(source):
        yield False, source[at : fence.start()]
        yield True, fence[0]
        at = fence.end()
    yield False, source[at:]


def _mark(match: re.Match[bytes]) -> bytes:
    """The marks at the beginning of a line in Markdown's form. Indented text and other fences are no code."""
    text = match[0]
    if match[1]:
        return b"#" * len(text)
    if match[2]:
        return b"-".ljust(len(text))
    is_deep = text[:1] in b" \t" and len(text) >= _CODE_INDENT
    return b" \n".rjust(len(text), b"\n") if is_deep else b" " * len(text)


def _link(match: re.Match[bytes]) -> bytes:
    """The label of a link in front of its title, so that the title alone is the target; of a URL only the text."""
    return match[1] + b" [[" if match[1] is not None else b"  "


def headings_without_blank(source: bytes, opaque: Iterable[tuple[int, int]]) -> Iterator[HeadingEvent]:
    """The headings `!!Text`, which have no form of the same length in Markdown.

    Args:
        source: The wikitext.
        opaque: Ranges of code and links in it.
    """
    ranges = [(start, end) for start, end in opaque if b"\n" in source[start:end]]
    for match in _HEADING.finditer(source):
        if source[match.end(1) : match.end(1) + 1] in b" \t" or any(a <= match.start() < b for a, b in ranges):
            continue
        text = match[2].decode("utf-8", "replace").translate(_BRACKETS)
        yield HeadingEvent(len(match[1]), match.start(), match.end(), [(match.start(2), text)])


def read_head(address: Address, source: bytes, start: int) -> Frontmatter:
    """The block at the top of a document: the fields of a tiddler, or any other front matter."""
    is_tiddler = address.path.lower().endswith(TIDDLER_SUFFIX)
    return read_fields(source, start) if is_tiddler else read_any_frontmatter(source, start)


def to_tiddler(link: Link) -> Link:
    """A link of a tiddler in Markdown, where `[label](#Title)` leads to a tiddler and not into the page."""
    if link.target or not link.fragment or link.kind is not LinkKind.MARKDOWN:
        return link
    start = link.target_span.end + 1
    span = Span(start, start + len(link.raw.removeprefix("#").encode()))
    return link._replace(kind=LinkKind.WIKI, target=link.fragment, fragment="", target_span=span)


def scan_below(fields: Frontmatter, body: str, written: bytes) -> Structure:
    """The structure of a body, in a tiddler with the headings that only its own text has.

    Args:
        fields: What is above it.
        body: The body as Markdown.
        written: The body as it is in the file.
    """
    structure = scan(body)
    if fields.is_fields and is_wikitext(fields):
        more = headings_without_blank(written, structure.opaque)
        structure.headings = sorted([*structure.headings, *more], key=lambda heading: heading.start)
    return structure
