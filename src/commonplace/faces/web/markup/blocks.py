"""Block syntax that the parser does not support: the containers of site generators, and multi-line comments.

Splits a text into pieces. Known are admonitions (MkDocs, Docusaurus, VitePress, Starlight, MyST), tabs (MkDocs, docfx,
JSX, MyST, VitePress's code groups), docfx's versions, pivots, pictures and includes, and the directives of MyST.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from textwrap import dedent

from commonplace.domain.markdown.link_syntax import DOCFX_DIRECTIVE, directive_attributes
from commonplace.faces.web.messages import ENGLISH_WORDS, MessageCatalogue

_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})")
_INDENTED_ADMONITION = re.compile(rb'(?:!!!|\?\?\?\+?) ?([\w-]{1,30})(?: +"([^"\r\n]*)")?\s*$')
_FENCED_ADMONITION = re.compile(
    rb"(:{3,}) ?(?:\{([A-Za-z][\w-]{0,30})\} ?([^\r\n]*)|"
    rb"([A-Za-z][\w-]{0,30})(?:\[([^\]\r\n]*)\]| +([^{\r\n]*))?[ \t]*(?:\{.*\})?)\s*$"
)
_INDENTED_TAB = re.compile(rb'===[!+]? "([^"\r\n]*)"\s*$')
_HEADING_TAB = re.compile(rb"#{1,6} \[([^\]\r\n]*)\]\(#tab/[^)\r\n]*\)\s*$")
_RULE = re.compile(rb" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,})$")
_JSX_TABS = re.compile(rb"[ \t]*<Tabs(?:\s[^>]*)?>\s*$")
_JSX_TABS_END = re.compile(rb"[ \t]*</Tabs>\s*$")
_JSX_TAB = re.compile(rb"[ \t]*<TabItem(\s[^>]*)>")
_JSX_TAB_END = b"</TabItem>"
_JSX_LABEL = re.compile(rb"""\b(label|value)=["']([^"'\r\n]*)["']""")
_VERSION = re.compile(rb"""::: ?(?:moniker range|zone pivot)=["']([^"'\r\n]{0,200})["']\s*$""")
_VERSION_END = re.compile(rb"::: ?(?:moniker|zone)-end\s*$")
_INCLUDE = re.compile(
    rb"^([ \t]*)\[!INCLUDE ?(\[[^\]\r\n]*\]\([^)\r\n]+)\)\]([ \t]*)\r?$", re.IGNORECASE | re.MULTILINE
)
_MYST = re.compile(rb"(`{3,}|~{3,}|:{3,})\{([\w:-]{1,40})\}[ \t]*([^\r\n]*)$")
_MYST_OPTION = re.compile(rb":([\w-]+):[ \t]*(.*)$")
_CODE_GROUP = re.compile(rb"(:{3,}) ?code-group\s*$")
_CODE_TITLE = re.compile(rb"\[([^\]\r\n]+)\]")
_COMMENT = re.compile(rb"\s*%%\s*$")
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
_MYST_CODE = frozenset({"code", "code-block", "sourcecode", "code-cell"})
_BEGINNINGS = (
    b"!!!",
    b"???",
    b":::",
    b'=== "',
    b'===! "',
    b'===+ "',
    b"#tab/",
    b"<Tabs",
    b"```{",
    b"~~~{",
    b"[!INCLUDE",
    b"[!include",
)
"""Beginnings of everything that this module reads, except comments."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of lines, or a container."""

    text: bytes
    """Markdown; for a container, its content."""
    start: int
    """Byte offset of `text` in the whole; -1 if it was dedented or rewritten."""
    kind: str = ""
    """`version`, `tabs`, `tab`, or the type of an admonition; "" for other lines."""
    title: str = ""
    """Title; for `version` its range as written."""
    fold: str = ""
    """"-" for a folded admonition, "+" for a foldable one, "" for any other."""
    head: int = -1
    """Byte offset of the heading that names a tab; -1 for any other piece."""
    parts: tuple[Piece, ...] = ()
    """The pieces of `tabs`."""

    def moved(self, by: int) -> Piece:
        """The piece in a text that begins `by` bytes later; -1 for a text whose place is unknown."""
        start, head = (at + by if min(at, by) >= 0 else -1 for at in (self.start, self.head))
        return replace(self, start=start, head=head, parts=tuple(part.moved(by) for part in self.parts))


def pieces(text: bytes) -> Iterator[Piece]:
    """The pieces of a text in order. A text without containers and comments is a single piece."""
    if b"\n%%" not in text[:2] + text and not any(beginning in text for beginning in _BEGINNINGS):
        yield Piece(text, 0)
        return
    yield from _Splitter(text).run()


@dataclass(slots=True)
class _Splitter:
    text: bytes
    lines: list[bytes] = field(init=False)
    offsets: list[int] = field(init=False)
    """Byte offset of each line, and of the end."""
    in_code: list[bool] = field(default_factory=list[bool])
    """Whether each line is in a fenced code block or ends it."""
    at: int = 0
    unclosed: set[bytes] = field(default_factory=set[bytes])
    """Patterns of closing lines known to be missing from the rest, so that each is searched for only once."""

    def __post_init__(self) -> None:
        self.lines = self.text.splitlines(keepends=True)
        self.offsets = [0]
        fence = b""
        for number, line in enumerate(self.lines):
            if not fence:
                self.lines[number] = _as_markdown(line)
            self.offsets.append(self.offsets[-1] + len(line))
            self.in_code.append(bool(fence))
            marker = _FENCE.match(line)
            if marker and (not fence or _ends(line, fence)):
                fence = b"" if fence else marker[1]
        self.text = b"".join(self.lines)

    def run(self) -> Iterator[Piece]:
        plain_from = 0
        while self.at < len(self.lines):
            container = None if self.in_code[self.at] else self._container(self.lines[self.at])
            if container is None:
                self.at += 1
                continue
            piece, end = container
            yield from self._plain(plain_from, self.at)
            if piece:
                yield piece
            self.at = plain_from = end
        yield from self._plain(plain_from, self.at)

    def _plain(self, first: int, end: int) -> Iterator[Piece]:
        if end > first:
            yield Piece(self._inside(first, end), self.offsets[first])

    def _inside(self, first: int, end: int) -> bytes:
        return self.text[self.offsets[first] : self.offsets[end]]

    def _container(self, line: bytes) -> tuple[Piece | None, int] | None:
        """The piece that starts at this line, and the number of the line after it; None for a plain line.

        The piece is None for lines that show nothing, such as a comment.
        """
        if line.lstrip()[:1] not in _FIRST_LETTERS:
            return None
        for pattern, read in _READERS:
            if match := pattern.match(line):
                return read(self, match)
        return None

    def _closing(
        self, ending: re.Pattern[bytes], beginning: re.Pattern[bytes] | None = None, *, is_fence: bool = False
    ) -> int:
        """The number of the line that ends a container; -1 if there is none.

        Args:
            ending: Matches a line that ends one.
            beginning: Matches a line that begins a nested one; None if they are not nested.
            is_fence: Whether a fence of code ends it; anything else does not end inside code.
        """
        if ending.pattern in self.unclosed:
            return -1
        depth = 1
        for number in range(self.at + 1, len(self.lines)):
            if self.in_code[number] and not is_fence:
                continue
            if ending.match(self.lines[number]):
                depth -= 1
                if not depth:
                    return number
            elif beginning and beginning.match(self.lines[number]):
                depth += 1
        self.unclosed.add(ending.pattern)
        return -1

    def comment(self, _: re.Match[bytes]) -> tuple[None, int] | None:
        end = self._closing(_COMMENT)
        return (None, end + 1) if end > 0 else None

    def indented(self, match: re.Match[bytes]) -> tuple[Piece, int]:
        inside, end = self._indented_lines(self.at)
        mark = match[0][:4]
        fold = "+" if mark == b"???+" else "-" if mark[:3] == b"???" else ""
        return Piece(inside, -1, _text(match[1]).lower(), _text(match[2]), fold), end

    def _indented_lines(self, head: int) -> tuple[bytes, int]:
        """The dedented lines below the line `head`, and the number of the line after them."""
        end = head + 1
        while end < len(self.lines) and (not self.lines[end].strip() or self.lines[end].startswith((b"    ", b"\t"))):
            end += 1
        return _dedented(self._inside(head + 1, end)), end

    def indented_tabs(self, _: re.Match[bytes]) -> tuple[Piece, int]:
        tabs: list[Piece] = []
        end = self.at
        while end < len(self.lines) and (match := _INDENTED_TAB.match(self.lines[end])):
            inside, end = self._indented_lines(end)
            tabs.append(Piece(inside, -1, "tab", _text(match[1])))
        return Piece(b"", -1, "tabs", parts=tuple(tabs)), end

    def heading_tabs(self, _: re.Match[bytes]) -> tuple[Piece, int]:
        heads = [self.at]
        end = self.at + 1
        while end < len(self.lines) and (self.in_code[end] or not _RULE.match(self.lines[end].rstrip())):
            if not self.in_code[end] and _HEADING_TAB.match(self.lines[end]):
                heads.append(end)
            end += 1
        tabs = [self._heading_tab(head, below) for head, below in zip(heads, [*heads[1:], end], strict=True)]
        return Piece(b"", -1, "tabs", parts=tuple(tabs)), min(end + 1, len(self.lines))

    def _heading_tab(self, head: int, end: int) -> Piece:
        match = _HEADING_TAB.match(self.lines[head])
        title, offset = _text(match[1] if match else b""), self.offsets[head]
        return Piece(self._inside(head + 1, end), self.offsets[head + 1], "tab", title, head=offset)

    def jsx_tabs(self, _: re.Match[bytes]) -> tuple[Piece, int] | None:
        end = self._closing(_JSX_TABS_END, _JSX_TABS)
        tabs: list[Piece] = []
        depth, start, title = 0, 0, ""
        for number in range(self.at + 1, end):
            line = self.lines[number]
            if match := _JSX_TAB.match(line):
                depth += 1
                if depth == 1:
                    start, title = self.offsets[number] + match.end(), _jsx_title(match[1])
            elif not depth and line.strip():
                return None  # text that no tab would show
            if line.rstrip().endswith(_JSX_TAB_END):
                depth -= 1
                if not depth:
                    tabs.append(Piece(self._jsx_text(start, number), -1, "tab", title))
        return (Piece(b"", -1, "tabs", parts=tuple(tabs)), end + 1) if tabs and not depth else None

    def _jsx_text(self, start: int, last: int) -> bytes:
        """The text of a tab from a place in its first line to the end tag in its last one."""
        first, _, others = (
            self.text[start : self.offsets[last + 1]].rstrip().removesuffix(_JSX_TAB_END).partition(b"\n")
        )
        return first.lstrip() + b"\n" + _dedented(others)

    def version(self, match: re.Match[bytes]) -> tuple[Piece, int] | None:
        end = self._closing(_VERSION_END, _VERSION)
        if end < 0:
            return None
        first = self.at + 1
        return Piece(self._inside(first, end), self.offsets[first], "version", _text(match[1])), end + 1

    def fenced(self, match: re.Match[bytes]) -> tuple[Piece, int] | None:
        kind = _text(match[2] or match[4]).lower()
        end = self._closing(_same_line(match[1])) if kind in _ADMONITIONS else -1
        if end < 0:
            return None
        first = self.at + 1
        title = _text(match[3] or match[5] or match[6]).strip()
        return Piece(self._inside(first, end), self.offsets[first], kind, title, "-" * (kind == "details")), end + 1

    def code_group(self, match: re.Match[bytes]) -> tuple[Piece, int] | None:
        end = self._closing(_same_line(match[1]))
        tabs: list[Piece] = []
        head = 0
        for number in range(self.at + 1, end):
            if not self.in_code[number]:
                head = number
            elif not self.in_code[number + 1]:
                title = _CODE_TITLE.search(self.lines[head])
                inside = self._inside(head, number + 1)
                tabs.append(Piece(inside, self.offsets[head], "tab", _text(title[1] if title else b"Code")))
        return (Piece(b"", -1, "tabs", parts=tuple(tabs)), end + 1) if tabs else None

    def myst(self, match: re.Match[bytes]) -> tuple[Piece | None, int] | None:
        """A directive of MyST: an admonition, code, tabs or a picture; a table of contents is the navigation's."""
        name = _text(match[2]).lower()
        end = self._closing(_same_line(match[1]), is_fence=match[1][:1] != b":")
        if end < 0:
            return None
        options, first = self._myst_options(end)
        content = Piece(self._inside(first, end), self.offsets[first])
        title = _text(match[3]).strip()
        piece = _myst_piece(name, title, options, content)
        return (piece, end + 1) if piece or name == "toctree" else None

    def _myst_options(self, end: int) -> tuple[dict[bytes, bytes], int]:
        """The options below the first line of a directive, and the number of the line after them."""
        options: dict[bytes, bytes] = {}
        first = self.at + 1
        while first < end and (option := _MYST_OPTION.match(self.lines[first].rstrip())):
            options[option[1]] = option[2]
            first += 1
        return options, first


_READERS: Sequence[
    tuple[re.Pattern[bytes], Callable[[_Splitter, re.Match[bytes]], tuple[Piece | None, int] | None]]
] = (
    (_COMMENT, _Splitter.comment),
    (_INDENTED_ADMONITION, _Splitter.indented),
    (_INDENTED_TAB, _Splitter.indented_tabs),
    (_HEADING_TAB, _Splitter.heading_tabs),
    (_JSX_TABS, _Splitter.jsx_tabs),
    (_VERSION, _Splitter.version),
    (_CODE_GROUP, _Splitter.code_group),
    (_MYST, _Splitter.myst),
    (_FENCED_ADMONITION, _Splitter.fenced),
)
"""Patterns of first lines, each with the method that reads the container; the first that matches is taken."""
_FIRST_LETTERS = frozenset(bytes([letter]) for letter in b"%!?=#<:[`~")
"""Beginnings of the lines that a reader may match, without blanks before them."""


def _as_markdown(line: bytes) -> bytes:
    """A line of docfx as Markdown of the same length: a picture, a link to code of another file, or an include.

    A line that only arranges the page becomes blank. Any other line stays.
    """
    if directive := DOCFX_DIRECTIVE.match(line):
        values = directive_attributes(directive)
        source, is_picture = values.get("source", ""), directive[1] == b"image"
        label = re.sub(r"[\[\]\\]", " ", values.get("alt-text", "") if is_picture else source)
        link = f"{'!' * is_picture}[{label}](<{source}>".encode() if source else b""
        start = len(line) - len(line.lstrip())
        end = len(line.rstrip())
        if not link:
            return line[:start] + b" " * (end - start) + line[end:]
        return line[:start] + link + b" " * (end - start - len(link) - 1) + b")" + line[end:]
    if include := _INCLUDE.match(line):
        spare = include.end(3) - include.start(3) + include.start(2) - include.end(1)
        return include[1] + b"!" + include[2] + b" " * spare + b")" + line[include.end(3) :]
    return line


def _ends(line: bytes, fence: bytes) -> bool:
    """Whether a line that begins with a fence ends the code that `fence` began."""
    return line.strip().startswith(fence) and not line.strip().strip(fence[:1])


def _same_line(marker: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"\s*" + re.escape(marker) + rb"\s*$")


def _jsx_title(attributes: bytes) -> str:
    names = dict(_JSX_LABEL.findall(attributes))
    return _text(names.get(b"label") or names.get(b"value"))


def _dedented(lines: bytes) -> bytes:
    return dedent(_text(lines)).encode()


def _myst_piece(name: str, title: str, options: dict[bytes, bytes], content: Piece) -> Piece | None:
    """The piece of a directive of MyST; None for one that is shown as code."""
    if name in _ADMONITIONS or name == "admonition":
        fold = "-" if "dropdown" in _text(options.get(b"class")) else ""
        return replace(content, kind=name.replace("admonition", "note"), title=title, fold=fold)
    if name in _MYST_CODE:
        return Piece(_code_fence(title, options, content.text), -1)
    if name == "tab-set":
        tabs = tuple(piece.moved(content.start) for piece in pieces(content.text) if piece.kind == "tab")
        return Piece(b"", content.start, "tabs", parts=tabs)
    if name == "tab-item":
        return replace(content, kind="tab", title=title)
    if name in {"image", "figure"}:
        return Piece(f"![{_text(options.get(b'alt'))}](<{title}>)\n\n".encode() + content.text, -1)
    return None


def _code_fence(language: str, options: dict[bytes, bytes], code: bytes) -> bytes:
    """Code of a MyST directive as a fence, with its options in the info string."""
    marks = "`" * (max(map(len, re.findall(rb"`+", code)), default=0) + 3)
    info = [language]
    if caption := _text(options.get(b"caption") or options.get(b"filename")):
        info.append(f'title="{caption}"')
    if lines := _text(options.get(b"emphasize-lines")).replace(" ", ""):
        info.append(f"{{{lines}}}")
    if b"linenos" in options or b"lineno-start" in options:
        info.append("linenos")
    return f"{marks}{' '.join(info)}\n".encode() + code + f"{marks}\n".encode()


def _text(written: bytes | None) -> str:
    return (written or b"").decode("utf-8", "replace")


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


def callout_open(kind: str, fold: str, words: MessageCatalogue) -> tuple[str, Callout]:
    """The opening tags of a callout, and its state.

    Args:
        kind: Type of the callout as written, such as `note` or `Warning`.
        fold: "-" for a folded callout, "+" for a foldable one, "" for a fixed one.
        words: The words of the page.
    """
    name = " ".join(kind.lower().split())
    look = f"callout callout-{_KINDS.get(name, 'note')}"
    label = name.replace("-", " ").capitalize()
    label = words.text(label) if name in _KINDS else escape(label)
    if not fold:
        return f'<div class="{look}"><p class="callout-title">', Callout(
            label, '</p><div class="callout-body">\n', "</div></div>\n"
        )
    state = " open" if fold == "+" else ""
    return f'<details class="{look}"{state}><summary>', Callout(
        label, '</summary><div class="callout-body">\n', "</div></details>\n"
    )


def container_html(piece: Piece, inside: str, words: MessageCatalogue, *, group: str = "", anchor: str = "") -> str:
    """A container with content that is HTML already.

    Args:
        piece: The container.
        inside: HTML of its content.
        words: The words of the page.
        group: Name of the tabs that a tab is part of: one of them is open at a time.
        anchor: The `id` of a tab; "" for none.
    """
    title = escape(piece.title, quote=False)
    if piece.kind == "tabs":
        return f'<div class="tabs">{inside.replace("<details", "<details open", 1)}</div>\n'
    if piece.kind == "tab":
        body = f'<div class="tab-body">\n{inside}</div>'
        named = f' id="{escape(anchor)}"' if anchor else ""
        return f'<details class="tab" name="{group}"{named}><summary>{title}</summary>{body}</details>\n'
    if piece.kind == "version":
        label = escape(version_label(piece.title, words), quote=False)
        span = f'<div class="version" data-range="{escape(piece.title)}"><p class="version-title">{label}</p>\n'
        return f"{span}{inside}</div>\n"
    opening, callout = callout_open(piece.kind, piece.fold, words)
    return f"{opening}{title or callout.label}{callout.body}{inside}{callout.close}"


_BOUNDS = {">=": "{version} and later", "<=": "{version} and earlier", ">": "after {version}", "<": "before {version}"}
_BOUND = re.compile(r"(>=|<=|=|>|<)?\s*([^\s<>=|,]+)")


def version_label(range_of_versions: str, words: MessageCatalogue) -> str:
    """The words for a range of versions of docfx, such as "msvc-150 and later" for `>=msvc-150`."""
    alternatives: list[str] = []
    for alternative in re.split(r"\|\||,", range_of_versions):
        bounds = _BOUND.findall(alternative)
        if [mark for mark, _ in bounds] == [">=", "<="]:
            alternatives.append(words.plain("{first} to {last}", first=bounds[0][1], last=bounds[1][1]))
        else:
            named = [words.plain(_BOUNDS.get(mark, "{version}"), version=name) for mark, name in bounds]
            alternatives.append(", ".join(named))
    return f" {words.plain('or')} ".join(filter(None, alternatives))


# Footnotes: numbered in the order of their first reference, listed at the end.


@dataclass(slots=True)
class Footnotes:
    """The footnotes of one page, or of one document that it embeds."""

    words: MessageCatalogue = ENGLISH_WORDS
    """The words of the page."""
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
        label = self.words.text("Footnote {number}", number=number)
        link = f'<a href="#footnote-{self.scope}{number}" id="{identifier}" aria-label="{label}">{number}</a>'
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
        label = self.words.text("Back to the text")
        back = f' <a class="footnote-back" href="{to}" aria-label="{label}">\u21a9</a>'
        text = self._texts.get(name, "").rstrip()
        text = f"{text[:-4]}{back}</p>" if text.endswith("</p>") else f"{text}{back}"
        return f'<li id="footnote-{self.scope}{number}">{text}</li>\n'
