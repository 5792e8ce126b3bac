"""Block syntax that the parser does not support: admonitions and multi-line comments. Splits a text into pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from textwrap import dedent

_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})")
_INDENTED_ADMONITION = re.compile(rb'(?:!!!|\?\?\?\+?) ?([\w-]{1,30})(?: +"([^"\r\n]*)")?\s*$')
_FENCED_ADMONITION = re.compile(
    rb"(:{3,}) ?([A-Za-z][\w-]{0,30})(?:\[([^\]\r\n]*)\]| +([^{\r\n]*))?[ \t]*(?:\{.*\})?\s*$"
)
_ADMONITIONS = frozenset(
    [
        "note",
        "abstract",
        "info",
        "tip",
        "success",
        "question",
        "warning",
        "failure",
        "danger",
        "bug",
        "example",
        "quote",
        "important",
        "caution",
        "seealso",
        "hint",
        "attention",
        "error",
        "todo",
        "details",
    ]
)
_COMMENT = b"%%"


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of lines, or an admonition."""

    text: bytes
    """Markdown; for an admonition, its content."""
    start: int
    """Byte offset in the text; -1 for the content of an admonition, which is dedented."""
    admonition: str = ""
    """Type of the admonition; "" for other lines."""
    title: str = ""
    fold: str = ""


def pieces(text: bytes) -> Iterator[Piece]:
    """The pieces of a text in order. A text without admonitions and comments is a single piece."""
    if b"!!!" not in text and b"???" not in text and b":::" not in text and b"\n%%" not in text[:2] + text:
        yield Piece(text, 0)
        return
    yield from _Splitter(text).run()


@dataclass(slots=True)
class _Splitter:
    text: bytes
    lines: list[bytes] = field(init=False)
    plain_from: int = 0
    at: int = 0
    offset: int = 0
    unclosed: set[bytes] = field(default_factory=set[bytes])
    """Closing lines known to be missing from the rest of the text, so that each is searched for only once."""

    def __post_init__(self) -> None:
        self.lines = self.text.splitlines(keepends=True)

    def run(self) -> Iterator[Piece]:
        fence = b""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            marker = _FENCE.match(line)
            if fence:
                fence = (
                    b"" if marker and line.strip().startswith(fence) and not line.strip().strip(fence[:1]) else fence
                )
            elif marker:
                fence = marker[1]
            else:
                found = self._special(line)
                if found is not None:
                    piece, count = found
                    yield from self._plain()
                    if piece:
                        yield piece
                    self._skip(count)
                    self.plain_from = self.offset
                    continue
            self._skip(1)
        yield from self._plain()

    def _plain(self) -> Iterator[Piece]:
        if self.offset > self.plain_from:
            yield Piece(self.text[self.plain_from : self.offset], self.plain_from)

    def _skip(self, count: int) -> None:
        self.offset += sum(map(len, self.lines[self.at : self.at + count]))
        self.at += count

    def _special(self, line: bytes) -> tuple[Piece | None, int] | None:
        """The piece that starts at this line, and its number of lines; None for a plain line.

        The piece is None for a comment.
        """
        if line.strip() == _COMMENT:
            end = self._closing(_COMMENT)
            return (None, end - self.at + 1) if end > 0 else None
        indented = _INDENTED_ADMONITION.match(line)
        if indented:
            return self._indented(line, indented)
        fenced = _FENCED_ADMONITION.match(line)
        return self._fenced(fenced) if fenced else None

    def _closing(self, line: bytes) -> int:
        """The number of the next line that equals `line`; -1 if there is none."""
        if line in self.unclosed:
            return -1
        end = next((n for n in range(self.at + 1, len(self.lines)) if self.lines[n].strip() == line), -1)
        if end < 0:
            self.unclosed.add(line)
        return end

    def _indented(self, line: bytes, found: re.Match[bytes]) -> tuple[Piece, int]:
        end = self.at + 1
        while end < len(self.lines) and (not self.lines[end].strip() or self.lines[end].startswith((b"    ", b"\t"))):
            end += 1
        inside = dedent(b"".join(self.lines[self.at + 1 : end]).decode("utf-8", "replace")).encode()
        title = (found[2] or b"").decode("utf-8", "replace")
        fold = "+" if line.startswith(b"???+") else "-" if line.startswith(b"???") else ""
        return Piece(inside, -1, _text(found[1]), title, fold), end - self.at

    def _fenced(self, found: re.Match[bytes]) -> tuple[Piece, int] | None:
        kind = _text(found[2])
        if kind not in _ADMONITIONS:
            return None
        end = self._closing(found[1])
        if end < 0:
            return None
        inside = b"".join(self.lines[self.at + 1 : end])
        title = (found[3] or found[4] or b"").decode("utf-8", "replace").strip()
        return Piece(inside, -1, kind, title, "-" if kind == "details" else ""), end - self.at + 1


def _text(found: bytes) -> str:
    return found.decode("ascii", "replace").lower()


# Callouts and admonitions: the style of each type, and the enclosing elements.


_KINDS = {
    "note": "note", "abstract": "note", "summary": "note", "tldr": "note", "info": "note", "todo": "note",
    "tip": "tip", "hint": "tip", "important": "tip", "success": "tip", "check": "tip", "done": "tip",
    "question": "warning", "help": "warning", "faq": "warning", "warning": "warning", "caution": "warning",
    "attention": "warning", "failure": "danger", "fail": "danger", "missing": "danger", "danger": "danger",
    "error": "danger", "bug": "danger", "example": "note", "quote": "quote", "cite": "quote", "seealso": "note",
}  # fmt: skip
"""The style of each callout type; unknown types look like notes."""


@dataclass(slots=True)
class Callout:
    """State of a callout that is being written."""

    label: str
    """Title for a callout without one."""
    body: str
    """The tags between title and body."""
    close: str
    """The closing tags."""
    in_title: bool = True
    titled: bool = False
    """Whether the first paragraph has begun; its first line is the title."""
    title_at: int = 0
    """Number of output parts before the title."""


def callout_open(kind: str, fold: str = "") -> tuple[str, Callout]:
    """The opening tags of a callout, and its state.

    Args:
        kind: Type of the callout as written, such as `note` or `Warning`.
        fold: "-" for a folded callout, "+" for a foldable one, "" for a fixed one.
    """
    name = " ".join(kind.lower().split())
    look = f"callout callout-{_KINDS.get(name, 'note')}"
    label = escape(name.replace("-", " ").capitalize())
    if not fold:
        return f'<div class="{look}"><p class="callout-title">', Callout(
            label, '</p><div class="callout-body">\n', "</div></div>\n"
        )
    state = " open" if fold == "+" else ""
    return f'<details class="{look}"{state}><summary>', Callout(
        label, '</summary><div class="callout-body">\n', "</div></details>\n"
    )


def admonition_html(kind: str, title: str, inside: str, *, fold: str) -> str:
    """An admonition with content that is HTML already; `fold` as in `callout_open`."""
    opening, callout = callout_open(kind, fold)
    return f"{opening}{escape(title, quote=False) or callout.label}{callout.body}{inside}{callout.close}"


# Footnotes: numbered in the order of their first reference, listed at the end.


@dataclass(slots=True)
class Footnotes:
    """The footnotes of one page, or of one document that it embeds."""

    scope: str = ""
    """Beginning of the ids of an embedded document's footnotes, which differ from those of the page."""
    _numbers: dict[str, int] = field(default_factory=dict[str, int])
    _references: dict[str, int] = field(default_factory=dict[str, int])
    _texts: dict[str, str] = field(default_factory=dict[str, str])

    def reference(self, name: str) -> str:
        """A superscript number that links to the footnote."""
        number = self._numbers.setdefault(name, len(self._numbers) + 1)
        count = self._references[name] = self._references.get(name, 0) + 1
        identifier = f"footnote-ref-{self.scope}{number}" + (f"-{count}" if count > 1 else "")
        link = f'<a href="#footnote-{self.scope}{number}" id="{identifier}" aria-label="Footnote {number}">{number}</a>'
        return f'<sup class="footnote-ref">{link}</sup>'

    def define(self, name: str, html: str) -> None:
        """Set the text of a footnote. Later definitions of the same name are ignored."""
        self._texts.setdefault(name, html)

    def html(self) -> str:
        """The list of footnotes; "" if there are none. Footnotes without references come last."""
        for name in self._texts:
            self._numbers.setdefault(name, len(self._numbers) + 1)
        if not self._texts:
            return ""
        items = [self._item(name, number) for name, number in self._numbers.items()]
        return f'<section class="footnotes"><hr>\n<ol>\n{"".join(items)}</ol></section>\n'

    def _item(self, name: str, number: int) -> str:
        to = f"#footnote-ref-{self.scope}{number}"
        back = f' <a class="footnote-back" href="{to}" aria-label="Back to the text">\u21a9</a>'
        text = self._texts.get(name, "").rstrip()
        text = f"{text[:-4]}{back}</p>" if text.endswith("</p>") else f"{text}{back}"
        return f'<li id="footnote-{self.scope}{number}">{text}</li>\n'
