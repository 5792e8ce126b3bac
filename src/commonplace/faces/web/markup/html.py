"""Conversion of parser events to HTML in one pass; the HTML of links is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import quote

from commonplace.domain.markdown.structure import ATTRIBUTE_LINE, body_tags, heading_attributes
from commonplace.faces.web.markup.blocks import Callout, Footnotes, callout_open
from commonplace.faces.web.markup.code import code_html
from commonplace.faces.web.markup.parser import Event, LinkKey, Parsed, html_links, link_key
from commonplace.faces.web.markup.sanitizer import CHECK_EVENTS, TASK_ATTRIBUTE, TASK_MARK, Budget
from commonplace.faces.web.messages import ENGLISH_WORDS, MessageCatalogue

Events = Iterator[tuple[Event, int, int]]
_LAYOUT_QUOTE = re.compile(rb"[ \t]*>[ \t]*\[!div[^\]\r\n]*\][ \t]*")
"""The first line of a block quote of docfx that only names a style."""
_CALLOUT = re.compile(rb"[ \t]*>[ \t]*\[!([A-Za-z][\w -]{0,30})\]([+-]?)[ \t]*")
_SIMPLE = {
    "Emphasis": "em",
    "Strong": "strong",
    "Strikethrough": "del",
    "Superscript": "sup",
    "Subscript": "sub",
    "Item": "li",
}
_ALIGNED = {"Left": ' class="left"', "Center": ' class="center"', "Right": ' class="right"'}


@dataclass(frozen=True, slots=True)
class LinkHtml:
    """The HTML of a link."""

    open: str
    """The start tag."""
    embed: Callable[[str, str], str] | None = None
    """Returns the HTML of an image or embed, given its label and title; None for other links."""
    label: str | None = None
    """Text that replaces the label as written; None to keep the label."""
    url: str = ""
    """The URL on this server of the document or file; "" for other links."""
    close: str = "</a>"
    """The end tag."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The page's context for rendering one piece."""

    link: Callable[[LinkKey], LinkHtml]
    anchors: Mapping[int, str]
    """Anchors of headings, by the byte offset of the heading's line; a heading without an anchor gets no id."""
    footnotes: Footnotes
    budget: Budget = field(default_factory=Budget)
    offset: int = -1
    """Byte offset of the source in its document, so that a task's box names its place; -1 if boxes name none."""
    words: MessageCatalogue = ENGLISH_WORDS
    """The words of the page."""


@dataclass(slots=True)
class HtmlWriter:
    """Writes the HTML of one parsed piece."""

    parsed: Parsed
    scope: Scope
    base: int
    """Byte offset of the piece in the source; -1 if headings get no ids, and boxes no place."""
    out: list[str] = field(default_factory=list[str])
    _quotes: list[Callout | None] = field(default_factory=list["Callout | None"])
    _links: list[str] = field(default_factory=list[str])
    """End tags of the links around what is written."""
    _align: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    _cell: int = 0
    _head: bool = False
    _skip_to: int = 0
    _anchor: str = ""
    _heading_at: int = -1
    """Number of pieces before the text of a heading that ends with attributes; -1 for a heading without them."""
    _outer: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])
    """Name of each open footnote, and the output before it."""
    _counted: int = 0
    """Number of parts of the output whose size was counted."""

    def run(self) -> str:
        """The HTML, not yet sanitized.

        Raises:
            OverBudgetError: the page is over a limit.
            Stopped: the client has disconnected.
        """
        events = iter(self.parsed.events)
        for number, (event, start, end) in enumerate(events, 1):
            if not number % CHECK_EVENTS:
                self._count()
            if isinstance(event, str):
                self._break(event)
            elif "Text" in event:
                self._text(event["Text"], start, end)
            elif "Start" in event:
                self._start(event["Start"], start, end, events)
            elif "End" in event:
                self._end(event["End"])
            else:
                self._leaf(event, start)
        self._count()
        return "".join(self.out)

    def _count(self) -> None:
        """Count the size of the output."""
        self.scope.budget.take(html=sum(map(len, self.out[self._counted :])))
        self._counted = len(self.out)

    def _text(self, text: str, start: int, end: int) -> None:
        if start < self._skip_to:  # inside the marker of a callout
            text = self.parsed.source[self._skip_to : end].decode("utf-8", "replace") if end > self._skip_to else ""
            start = self._skip_to
        before = self.parsed.source[max(0, start - _BEFORE) : start].decode("utf-8", "replace")
        self.out.append(text_html(text, links=not self._links, before=before))

    def _leaf(self, event: dict[str, Any], start: int) -> None:
        ((name, value),) = event.items()
        match name:
            case "Code":
                self.out.append(f"<code>{escape(value, quote=False)}</code>")
            case "Html" | "InlineHtml":
                self.out.append(self._html(value))
            case "InlineMath":
                self.out.append(f'<code class="math-inline">{escape(value, quote=False)}</code>')
            case "DisplayMath":
                self.out.append(f'<div class="math-block"><code>{escape(value.strip(), quote=False)}</code></div>')
            case "FootnoteReference":
                self.out.append(self.scope.footnotes.reference(value))
            case "TaskListMarker":
                state = ("checked ", "Done") if value else ("", "To do")
                label = self.scope.words.text(state[1])
                own = self.scope.offset >= 0 and self.base >= 0
                mark = f'{TASK_ATTRIBUTE}="{TASK_MARK}{self.scope.offset + self.base + start + 1}" ' if own else ""
                self.out.append(f'<input type="checkbox" disabled {state[0]}{mark}aria-label="{label}"> ')
            case _:
                pass

    def _html(self, value: str) -> str:
        """HTML of the page, in which links to documents and files have the URLs of this server."""
        html = value.encode("utf-8", "replace")
        parts: list[bytes] = []
        at = 0
        for key, link in html_links(html):
            if url := self.scope.link(key).url:
                start = link.target_span.start
                parts += [html[at:start], escape(url).encode()]
                at = start + len(link.raw.encode())
        return b"".join([*parts, html[at:]]).decode()

    def _break(self, name: str) -> None:
        callout = self._quotes[-1] if self._quotes else None
        if callout and callout.in_title and callout.titled and name != "Rule":
            self._end_title(callout)
            self.out.append("<p>")
            return
        self.out.append({"SoftBreak": "\n", "HardBreak": "<br>\n", "Rule": "<hr>\n"}.get(name, ""))

    def _start(self, tag: str | dict[str, Any], start: int, end: int, events: Events) -> None:
        if isinstance(tag, str):
            self._start_plain(tag)
            return
        ((name, data),) = tag.items()
        match name:
            case "Link":
                self._link(data, start, end, events)
            case "Image":
                self._image(data, events)
            case "Heading":
                self._heading(data, start, end)
            case "CodeBlock":
                self._code(data, events)
            case "BlockQuote":
                self._quote(start)
            case "List":
                self.out.append("<ul>\n" if data is None else f'<ol start="{data}">\n' if data != 1 else "<ol>\n")
            case "Table":
                self._align.append(data)
                label = self.scope.words.text("Table")
                self.out.append(f'<div class="table-scroll" tabindex="0" role="group" aria-label="{label}"><table>\n')
            case "FootnoteDefinition":
                self._count()
                self._outer.append((str(data), self.out))
                self.out, self._counted = [], 0
            case _:
                pass

    def _start_plain(self, name: str) -> None:
        callout = self._quotes[-1] if self._quotes else None
        if name == "Paragraph":
            if callout and callout.in_title:
                callout.titled = True
            else:
                self.out.append("<p>")
        elif name in _SIMPLE:
            self._leave_title(name)
            self.out.append(f"<{_SIMPLE[name]}>")
        elif name == "TableHead":
            self._head, self._cell = True, 0
            self.out.append("<thead><tr>")
        elif name == "TableRow":
            self._cell = 0
            self.out.append("<tr>")
        elif name == "TableCell":
            align = self._align[-1]
            kind = align[self._cell] if self._cell < len(align) else "None"
            self._cell += 1
            self.out.append(f"<{'th' if self._head else 'td'}{_ALIGNED.get(kind, '')}>")

    def _end(self, tag: str | dict[str, Any]) -> None:
        name = tag if isinstance(tag, str) else next(iter(tag))
        if name in _SIMPLE:
            self.out.append(f"</{_SIMPLE[name]}>")
            return
        match name:
            case "Paragraph":
                self._end_paragraph()
            case "Link":
                self.out.append(self._links.pop())
            case "Heading":
                self._end_heading(tag["Heading"] if isinstance(tag, dict) else "H6")
            case "BlockQuote":
                self._end_quote()
            case "List":
                self.out.append("</ol>\n" if isinstance(tag, dict) and tag["List"] else "</ul>\n")
            case "FootnoteDefinition":
                self._end_footnote()
            case _:
                self._end_table(name)

    def _end_table(self, name: str) -> None:
        if name == "TableCell":
            self.out.append("</th>" if self._head else "</td>")
        elif name == "TableHead":
            self._head = False
            self.out.append("</tr></thead>\n")
        elif name == "TableRow":
            self.out.append("</tr>\n")
        elif name == "Table":
            self._align.pop()
            self.out.append("</table></div>\n")

    def _end_footnote(self) -> None:
        self._count()
        html = "".join(self.out)
        name, self.out = self._outer.pop()
        self._counted = len(self.out)
        self.scope.footnotes.define(name, html)

    def _heading(self, data: dict[str, Any], start: int, end: int) -> None:
        source = self.parsed.source
        line = start
        while line and source[line - 1 : line] == b" ":
            line -= 1
        anchor = self.scope.anchors.get(self.base + line, "") if self.base >= 0 and not self._quotes else ""
        if attributes := ATTRIBUTE_LINE.match(source, end):
            self._skip_to = attributes.end()
        self._anchor = anchor
        level = data["level"].lower()
        self.out.append(f'<{level} id="{escape(anchor)}">' if anchor else f"<{level}>")
        self._heading_at = len(self.out) if heading_attributes(source, start, end)[1] else -1

    def _end_heading(self, level: str) -> None:
        if self._heading_at >= 0:
            self.out[self._heading_at :] = ["".join(self.out[self._heading_at :]).rpartition("{")[0].rstrip()]
            self._heading_at = -1
        if self._anchor:
            href = quote(self._anchor)
            label = self.scope.words.text("Link to this section")
            self.out.append(f' <a class="anchor" href="#{href}" aria-label="{label}">#</a>')
        self.out.append(f"</{level.lower()}>\n")

    def _quote(self, start: int) -> None:
        match = _CALLOUT.match(self.parsed.source, start)
        if not match:
            if layout := _LAYOUT_QUOTE.match(self.parsed.source, start):
                self._skip_to = layout.end()
            self._quotes.append(None)
            self.out.append("<blockquote>\n")
            return
        self._skip_to = match.end()
        opening, callout = callout_open(match[1].decode("ascii", "replace"), match[2].decode(), self.scope.words)
        self._quotes.append(callout)
        self.out.append(opening)
        callout.title_at = len(self.out)

    def _end_paragraph(self) -> None:
        callout = self._quotes[-1] if self._quotes else None
        if callout and callout.in_title:
            self._end_title(callout)
        else:
            self.out.append("</p>\n")

    def _end_title(self, callout: Callout) -> None:
        callout.in_title = False
        if not "".join(self.out[callout.title_at :]).strip():
            self.out.append(callout.label)
        self.out.append(callout.body)

    def _leave_title(self, name: str) -> None:
        """Close the title of a callout that begins with a list and thus has no title paragraph."""
        callout = self._quotes[-1] if self._quotes else None
        if callout and callout.in_title and not callout.titled and name == "Item":
            self._end_title(callout)

    def _end_quote(self) -> None:
        callout = self._quotes.pop()
        if callout is None:
            self.out.append("</blockquote>\n")
            return
        if callout.in_title:
            self._end_title(callout)
        self.out.append(callout.close)

    def _link(self, data: dict[str, Any], start: int, end: int, events: Events) -> None:
        shown = self.scope.link(link_key(data, self.parsed.source[start:end], image=False))
        self.out.append(shown.open)
        if shown.label is None:
            self._links.append(shown.close)
            return
        for _ in _texts(events, "Link"):
            pass
        self.out.append(f"{text_html(shown.label, links=False)}{shown.close}")

    def _image(self, data: dict[str, Any], events: Events) -> None:
        label = "".join(_texts(events, "Image"))
        piped = isinstance(data["link_type"], str) or data["link_type"]["WikiLink"]["has_pothole"]
        shown = self.scope.link(link_key(data, b"", image=True))
        title = str(data["title"])
        html = shown.embed(label if piped else "", title) if shown.embed else ""
        text = escape(label or title or str(data["dest_url"]), quote=False)
        if self._links and not html.startswith("<img"):
            html = text  # an image that is itself a link would end the link around it
        self.out.append(html or f"{shown.open}{text}{shown.close}")

    def _code(self, data: str | dict[str, str], events: Events) -> None:
        code = "".join(_texts(events, "CodeBlock"))
        self.out.append(code_html(code, data["Fenced"] if isinstance(data, dict) else ""))


def _texts(events: Events, until: str) -> Iterator[str]:
    """The texts up to the end of an element. Consumes the end event, too."""
    depth = 1
    for event, _, _ in events:
        if isinstance(event, str):
            yield " "
        elif "Text" in event or "Code" in event:
            yield event.get("Text") or event.get("Code") or ""
        elif "Start" in event:
            depth += isinstance(event["Start"], dict) and until in event["Start"]
        elif event.get("End") == until:
            depth -= 1
            if not depth:
                return


# Elements for images, sound, video and other files in a page's text.


IMAGES = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
    "avif": "image/avif", "bmp": "image/bmp", "svg": "image/svg+xml", "ico": "image/x-icon",
}  # fmt: skip
AUDIO = {
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "m4a": "audio/mp4",
    "flac": "audio/flac",
    "opus": "audio/ogg",
}
VIDEO = {"mp4": "video/mp4", "webm": "video/webm", "ogv": "video/ogg", "mov": "video/mp4", "m4v": "video/mp4"}
PDF = {"pdf": "application/pdf"}
SHOWN_TYPES = {**IMAGES, **AUDIO, **VIDEO, **PDF}
"""Media types, by suffix, of files that browsers display; all other files are downloads."""
_SIZE = re.compile(r"\s*(\d{1,4})(?:x(\d{1,4}))?\s*")


def suffix_of(path: str) -> str:
    """The last suffix in lower case, without its dot; "" if there is none."""
    return path.rpartition("/")[2].partition(".")[2].rpartition(".")[2].lower()


def media_html(url: str, path: str, label: str, title: str) -> str:
    """The element that displays a file.

    Args:
        url: URL of the file.
        path: Path of the file; its suffix determines the element.
        label: Text of the embed: an alternative text, or the size in pixels (`300`, `300x200`).
        title: Title of the link; "" if there is none.
    """
    suffix, name = suffix_of(path), path.rpartition("/")[2]
    size = _SIZE.fullmatch(label)
    shown = escape(label if label and not size else name.rpartition(".")[0])
    titled = f' title="{escape(title)}"' if title else ""
    if suffix in IMAGES:
        width = f' width="{size[1]}"' if size else ""
        height = f' height="{size[2]}"' if size and size[2] else ""
        return f'<img src="{escape(url)}" alt="{shown}"{titled}{width}{height} loading="lazy">'
    if suffix in AUDIO:
        return f'<audio controls preload="metadata" src="{escape(url)}" title="{shown}"></audio>'
    if suffix in VIDEO:
        return f'<video controls preload="metadata" src="{escape(url)}" title="{shown}"></video>'
    kind = "PDF" if suffix in PDF else f"{suffix.upper()} file" if suffix else "File"
    return f'<a class="file-card" href="{escape(url)}"{titled}><b>{escape(name)}</b> <small>{escape(kind)}</small></a>'


# Inline syntax that the parser does not support: highlights, comments, tags, bare URLs and block ids.


_SPECIAL = re.compile(
    r"(?P<url>\bhttps?://[^\s<>\"'`]++)"
    r"|==(?P<mark>[^=\s](?>[^=\n]*))=="
    r"|(?P<comment>%%[^%\n]*+%%)"
    r"|(?P<block>(?:(?<=\s)|^)\^[A-Za-z0-9-]++\s*$)"
    r"|(?:(?<=[\s(|>*])|^)#(?P<tag>[^\s!-,.:-@\[-^`{-~]++)"
)
_BEFORE = 4
"""Number of bytes before a run of text that decide whether it begins with a tag."""
_NO_TAG_AFTER = re.compile(r"(?:[^\s(|>*]|\]\()\Z")
"""A tag follows no word, no escape, and no start of a link's target, which a table's `|` may hide."""
_TRAILING = ".,;:!?*_~'\""


def text_html(text: str, *, links: bool, before: str = "") -> str:
    """A run of text as HTML.

    Args:
        text: Text without markup.
        links: Whether URLs and tags become links; False inside a link.
        before: The last letters of the source before the text.
    """
    if "#" not in text and "==" not in text and "://" not in text and "%%" not in text and "^" not in text:
        return escape(text, quote=False)
    parts: list[str] = []
    at = 0
    for match in _SPECIAL.finditer(text):
        is_plain = match["tag"] and _NO_TAG_AFTER.search(f"{before}{text[: match.start()]}"[-2:])
        html, end = _special(match, links=links and not is_plain)
        parts += [escape(text[at : match.start()], quote=False), html]
        at = end
    return "".join([*parts, escape(text[at:], quote=False)])


def tag_link(tag: str) -> str:
    """A tag as a link to the list of its pages."""
    return f'<a class="tag" href="/tags/{quote(tag, safe="/")}">#{escape(tag)}</a>'


def _special(match: re.Match[str], *, links: bool) -> tuple[str, int]:
    """The HTML of a match, and the offset after it."""
    whole = match[0]
    if match["mark"]:
        return f"<mark>{escape(match['mark'], quote=False)}</mark>", match.end()
    if match["comment"]:
        return "", match.end()
    if match["block"]:
        return f'<span class="block-id" id="{whole.strip()}"></span>', match.end()
    if not links:
        return escape(whole, quote=False), match.end()
    return _url(whole, match.start()) if match["url"] else _tag(whole, match.start())


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
