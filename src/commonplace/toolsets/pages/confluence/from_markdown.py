"""Reads Markdown that a person may have edited into the tokens of a body, tables shown as HTML among it."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Collection, Mapping
from typing import Any, cast

from pyromark import Markdown, Options

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.markdown.structure import bounded
from commonplace.toolsets.pages.confluence.elements import (
    ATTRIBUTE,
    Element,
    MalformedBodyError,
    check_well_formed,
    elements_of,
    plain,
)
from commonplace.toolsets.pages.confluence.storage import StorageReader
from commonplace.toolsets.pages.confluence.tokens import (
    MARKS,
    PANELS,
    PLACEHOLDER,
    Token,
    pair,
    text_of,
    tidied,
    with_block_leaves,
    words,
)


def read_view(view: bytes) -> list[Token]:
    """The tokens of a table that `to_markdown` wrote as HTML; no token has a place.

    Raises:
        MalformedBodyError: the table has an element that no page can have.
    """
    reader = _ViewReader(view)
    reader.flow(elements_of(view), 0)
    tokens = tidied(reader.tokens)
    pair(tokens)
    tokens = with_block_leaves(tokens, {(token.name, token.key) for token in tokens if token.block})
    for token in tokens:
        token.start = token.end = -1
        token.form = ""
    return tokens


class _NoLinks:
    """Links of a view: they are written as they are."""

    def page(self, space: str, title: str) -> str | None:  # noqa: ARG002
        return None

    def page_with_id(self, identifier: str) -> str | None:  # noqa: ARG002
        return None

    def attachment(self, name: str) -> str:
        return name

    def person(self, account: str) -> str:
        return account


class _ViewReader(StorageReader):
    """Reads HTML as `to_markdown` writes it."""

    def __init__(self, view: bytes) -> None:
        super().__init__(view, _NoLinks())

    def _block(self, element: Element, depth: int) -> None:
        attributes = element.attributes
        title = (attributes.get("title", ""),)
        if element.tag == "blockquote" and "data-panel" in attributes:
            self._paired(element, "panel", title, lambda: self.flow(element, depth), key=attributes["data-panel"])
        elif element.tag == "div":
            part = attributes.get("data-part", "")
            name, key = (
                (part, "") if part in {"layout", "section", "cell"} else ("rich", attributes.get("data-macro", ""))
            )
            self._paired(element, name, title if name == "section" else (), lambda: self.flow(element, depth), key=key)
        elif element.tag == "details":
            self._paired(element, "expand", title, lambda: self.flow(element, depth))
        elif element.tag == "ul" and "data-tasks" in attributes:
            self._paired(element, "tasks", (), lambda: self._view_tasks(element, depth))
        elif element.tag == "pre":
            self._view_code(element)
        else:
            super()._block(element, depth)

    def _view_tasks(self, element: Element, depth: int) -> None:
        for task in element.children:
            value = (task.attributes.get("data-task", " "),)
            self._paired(task, "task", value, lambda task=task: self.flow(task, depth))

    def _view_code(self, element: Element) -> None:
        attributes = element.attributes
        kind, text = attributes.get("data-kind", "code"), plain(self.body, element)
        if kind == "pre":
            self._leaf(element, "pre", (text,), block=True)
        else:
            value = (text, attributes.get("lang", ""), attributes.get("title", ""), "1" if kind == "noformat" else "")
            self._leaf(element, "code", value, block=True)

    def _inline_element(self, element: Element, depth: int) -> None:
        attributes = element.attributes
        href = attributes.get("href", "")
        name, _, key = href.removeprefix(PLACEHOLDER).partition("/")
        block = "data-block" in attributes
        if element.tag == "img":
            self._leaf(element, "image", (attributes.get("alt", ""),), key=attributes.get("src", ""), block=block)
        elif element.tag == "span" and "data-comment" in attributes:
            self._paired(element, "comment", (), lambda: self._inside(element, depth), key=attributes["data-comment"])
        elif element.tag == "a" and href.startswith(PLACEHOLDER) and name != "page":
            label = (" ".join(plain(self.body, element).split()),)
            leaf, key = (name, key) if name in {"status", "date"} else ("macro", f"{name}/{key}")
            self._leaf(element, leaf, label, key=key, block=block)
        elif element.tag in MARKS or element.tag in {"a", "br"}:
            super()._inline_element(element, depth)
        else:
            raise MalformedBodyError(f"<{element.tag}> is unknown")


_PARSER = Markdown(options=Options.ENABLE_TABLES | Options.ENABLE_STRIKETHROUGH | Options.ENABLE_TASKLISTS)
_CALLOUT = re.compile(r"\[!(\w+)\]\s*(.*)", re.DOTALL)
_MACRO_OF = {word: name for name, word in PANELS.items()} | {"INFO": "info", "IMPORTANT": "note"}
_DETAILS = re.compile(r"<details(?: open)?>\s*(?:<summary>(.*?)</summary>)?\s*", re.DOTALL)
_BOUNDARY = re.compile(r"<!-- (/?)(layout|section|cell|macro)(?: (\S*))? -->\s*")
_TAG = re.compile(r"<(/?)([a-z]+)((?:\s[^>]*)?)>")
_INFO = re.compile(r'(\S*)(?:\s+title="([^"]*)")?\s*')
_MARK_EVENTS = {"Emphasis": "em", "Strong": "strong", "Strikethrough": "del"}


class EditError(InvalidInputError):
    """An edit that cannot be stored; the message names the line."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"Line {line}: {reason}", kind="page")
        self.line = line


def read_markdown(text: str, block_leaves: Collection[tuple[str, str]]) -> list[Token]:
    """The tokens of a page's Markdown.

    Args:
        text: The Markdown without frontmatter and title.
        block_leaves: Name and key of the placeholders and images that stand among paragraphs in the base.

    Raises:
        EditError: the text has something that no page can have.
    """
    reader = _Reader(text)
    tokens = tidied(reader.read())
    try:
        pair(tokens)
    except ValueError as error:
        line, _, reason = str(error).removeprefix("line ").partition(": ")
        raise EditError(int(line) if line.isdigit() else 1, f"{reason}.") from None
    return with_block_leaves(tokens, block_leaves)


class _Reader:
    """Turns the events of the parser into tokens."""

    def __init__(self, text: str) -> None:
        self._text = bounded(text)
        self._raw = self._text.encode()
        self._starts = [0, *(match.end() for match in re.finditer(b"\n", self._raw))]
        self._line = 1
        self.tokens: list[Token] = []
        self._buffer = ""
        self._open_line = False  # whether a paragraph or a heading is open
        self._links: list[tuple[str, str, int]] = []
        self._code: tuple[str, int] | None = None
        self._html: str | None = None
        self._callout: int | None = None  # index of the quote whose first line may name a panel
        self._head = False
        self._lists: list[Token] = []

    def read(self) -> list[Token]:
        """The tokens of the whole text."""
        events = cast("Any", _PARSER.events_with_range(self._text))
        for event, where in events:
            self._line = bisect_right(self._starts, where["start"])
            if isinstance(event, str):
                self._sign(event)
            else:
                name, value = next(iter(event.items()))
                self._event(name, value)
        self._end_line()
        return self.tokens

    def _sign(self, event: str) -> None:
        if event == "SoftBreak":
            self._end_callout()
            self._buffer += " "
        elif event == "HardBreak":
            self._flush()
            self._end_callout()
            self._in_line()
            self._add("leaf", "break")
        elif event == "Rule":
            self._end_line()
            self._add("leaf", "rule").block = True

    def _event(self, name: str, value: Any) -> None:  # noqa: ANN401 - the parser's own
        if name == "Start":
            kind, detail = (value, None) if isinstance(value, str) else next(iter(value.items()))
            self._start(kind, detail)
        elif name == "End":
            self._end(value if isinstance(value, str) else next(iter(value)))
        elif name == "Html":
            self._html = f"{self._html or ''}{value}"
        else:
            texts = {"Text": self._text_event, "Code": self._code_text, "InlineHtml": self._inline_html}
            texts.get(name, self._task)(value)

    def _text_event(self, text: str) -> None:
        if self._code is not None:
            self._code = (self._code[0] + text, self._code[1])
        elif self._html is not None:
            self._html += text
        else:
            self._in_line()
            self._buffer += text

    def _code_text(self, text: str) -> None:
        self._flush()
        self._in_line()
        self._add("leaf", "code_text", " ".join(text.split()))

    # Blocks.

    def _start(self, kind: str, detail: Any) -> None:  # noqa: ANN401 - the parser's own
        if kind in _MARK_EVENTS:
            self._flush()
            self._in_line()
            self._add("open", _MARK_EVENTS[kind])
        elif kind in {"Link", "Image"}:
            self._flush()
            self._in_line()
            self._links.append((kind, detail["dest_url"], len(self.tokens)))
        else:
            self._end_line()
            self._start_block(kind, detail)

    def _start_block(self, kind: str, detail: Any) -> None:  # noqa: ANN401 - the parser's own
        if kind == "Paragraph":
            self._in_line()
        elif kind == "Heading":
            self._add("open", "heading", value=(str(detail["level"])[-1],))
            self._open_line = True
        elif kind == "List":
            numbered = ("ol", (str(detail),)) if detail is not None else ("ul", ())
            self._lists.append(self._add("open", numbered[0], value=numbered[1]))
        elif kind == "CodeBlock":
            self._code = ("", self._line)
            self._info = cast("dict[str, str]", detail)["Fenced"] if isinstance(detail, dict) else ""
        elif kind == "HtmlBlock":
            self._html = ""
        elif kind == "BlockQuote":
            self._add("open", "quote")
            self._callout = len(self.tokens) - 1
        else:
            self._start_part(kind)

    def _start_part(self, kind: str) -> None:
        """An item of a list, or a part of a table; other blocks begin nothing."""
        if kind in {"Item", "TableRow", "TableHead", "TableCell", "Table"}:
            self._head = kind == "TableHead" or (self._head and kind == "TableCell")
            names = {"Item": "li", "TableCell": "th" if self._head else "td", "Table": "table"}
            self._add("open", names.get(kind, "tr"))

    def _end(self, kind: str) -> None:
        if kind in _MARK_EVENTS:
            self._flush()
            self._add("close", _MARK_EVENTS[kind])
        elif kind in {"Link", "Image"}:
            self._end_link()
        elif kind == "Heading":
            self._flush()
            self._open_line = False
            self._add("close", "heading")
        elif kind == "CodeBlock":
            self._end_code()
        elif kind == "HtmlBlock":
            text, self._html = self._html or "", None
            self._html_block(text)
        else:
            self._end_line()
            self._end_block(kind)

    def _end_block(self, kind: str) -> None:
        if kind == "List":
            self._add("close", self._lists.pop().name)
        elif kind == "Item":
            task = self._lists[-1].name == "tasks"
            if task and self._opened_item().name != "task":
                raise EditError(self._line, "a list of tasks has an item without a box: write `- [ ]` before it.")
            self._add("close", "task" if task else "li")
        elif kind == "BlockQuote":
            self._callout = None
            self._add("close", self._opened_quote())
        elif kind in {"TableRow", "TableHead", "TableCell", "Table"}:
            name = {"TableCell": "th" if self._head else "td", "Table": "table"}.get(kind, "tr")
            self._add("close", name)
            self._head = self._head and kind == "TableCell"

    def _opened_item(self) -> Token:
        depth = 0
        for token in reversed(self.tokens):
            if token.name in {"li", "task"}:
                depth += 1 if token.kind == "close" else -1
                if depth < 0:
                    return token
        raise EditError(self._line, "an item stands in no list.")

    def _opened_quote(self) -> str:
        depth = 0
        for token in reversed(self.tokens):
            if token.name in {"quote", "panel"}:
                depth += 1 if token.kind == "close" else -1
                if depth < 0:
                    return token.name
        return "quote"

    def _task(self, done: bool) -> None:
        item = next(token for token in reversed(self.tokens) if token.kind == "open" and token.name == "li")
        if self._lists[-1].name == "ul":
            index = self.tokens.index(self._lists[-1])
            if any(token.name == "li" and token is not item for token in self._direct(index)):
                raise EditError(self._line, "a list of tasks has an item without a box: write `- [ ]` before it.")
            self._lists[-1].name = "tasks"
        elif self._lists[-1].name == "ol":
            raise EditError(self._line, "tasks cannot be numbered: write `- [ ]`.")
        item.name, item.value = "task", ("x" if done else " ",)

    def _direct(self, index: int) -> list[Token]:
        """The items that a list has so far."""
        depth, items = 0, list[Token]()
        for token in self.tokens[index + 1 :]:
            if token.kind == "open":
                if depth == 0:
                    items.append(token)
                depth += 1
            elif token.kind == "close":
                depth -= 1
        return items

    def _end_code(self) -> None:
        text, line = self._code or ("", 1)
        self._code = None
        match = _INFO.match(self._info)
        language, title = (match[1], html.unescape(match[2] or "")) if match else ("", "")
        if language == "pre":
            token = self._add("leaf", "pre", value=(text.removesuffix("\n"),))
        else:
            noformat = "1" if language == "noformat" else ""
            language = "" if noformat or (language == "text" and title) else language
            token = self._add("leaf", "code", value=(text.removesuffix("\n"), language, title, noformat))
        token.block, token.line = True, line

    def _html_block(self, text: str) -> None:
        shown = text.strip()
        while shown:
            taken = self._html_start(shown)
            shown = shown[taken:].lstrip()

    def _html_start(self, text: str) -> int:
        """Read what a block of HTML begins with, and return the number of its characters."""
        if details := _DETAILS.match(text):
            self._add("open", "expand", value=(html.unescape(details[1] or ""),))
            return details.end()
        if boundary := _BOUNDARY.match(text):
            self._boundary(*boundary.groups(default=""))
            return boundary.end()
        if text.startswith("</details>"):
            self._add("close", "expand")
            return len("</details>")
        if comment := re.match(r"<!--.*?-->", text, re.DOTALL):
            if comment[0] != "<!-- -->":
                raise EditError(self._line, "a page cannot keep a comment of HTML.")
            return comment.end()
        if text.startswith("<table") and "</table>" in text:
            # Tables in cells lie in the outer one, so that the last end is its end.
            find = text.rfind if text.count("<table") > 1 else text.find
            end = find("</table>") + len("</table>")
            self._table(text[:end])
            return end
        raise EditError(self._line, f"a page cannot keep this HTML: {text.split(chr(10), maxsplit=1)[0][:60]}")

    def _boundary(self, end: str, name: str, detail: str) -> None:
        if end:
            self._add("close", "rich" if name == "macro" else name)
        elif name == "macro":
            self._add("open", "rich", detail)
        else:
            self._add("open", name, value=(detail,) if name == "section" else ())

    def _table(self, text: str) -> None:
        try:
            check_well_formed(text.encode())
            tokens = read_view(text.encode())
        except MalformedBodyError as error:
            raise EditError(self._line, f"the table is not well-formed: {error}.") from None
        for token in tokens:
            token.line = self._line
        self.tokens.extend(tokens)

    # Lines of text.

    def _inline_html(self, tag: str) -> None:
        self._flush()
        match = _TAG.fullmatch(tag) or re.fullmatch(r"<()(br)()\s*/?>", tag)
        if match is None or (match[2] not in MARKS and match[2] != "br"):
            raise EditError(self._line, f"a page cannot keep this HTML: {tag[:60]}")
        end, name, attributes = match.groups()
        self._in_line()
        if name == "br":
            self._add("leaf", "break")
        elif name == "code" and self._code_tag(end=bool(end), plain=not attributes.strip()):
            return
        elif end:
            self._add("close", self._opened_mark(MARKS[name]))
        else:
            self._add_mark(MARKS[name], dict(_attributes(attributes)))

    def _code_tag(self, *, end: bool, plain: bool) -> bool:
        """Begin or end code that is written as `<code>`; False if the tag is a mark like others."""
        if not end:
            if plain:
                self._links.append(("code", "", len(self.tokens)))
            return plain
        if not self._links or self._links[-1][0] != "code":
            return False
        _, _, index = self._links.pop()
        inner = self.tokens[index:]
        if all(token.kind in {"word", "space"} for token in inner):
            self.tokens[index:] = [Token("leaf", "code_text", text_of(inner).strip(), line=self._line)]
        else:
            self.tokens.insert(index, Token("open", "code", line=self._line))
            self._add("close", "code")
        return True

    def _add_mark(self, name: str, attributes: Mapping[str, str]) -> None:
        if "data-comment" in attributes:
            self._add("open", "comment", attributes["data-comment"])
        else:
            self._add("open", name, " ".join(f'{key}="{html.escape(text)}"' for key, text in attributes.items()))

    def _opened_mark(self, name: str) -> str:
        """The name of the mark that a `</span>` ends: a comment is a span, too."""
        if name != "span":
            return name
        depth = 0
        for token in reversed(self.tokens):
            if token.name in {"span", "comment"}:
                depth += 1 if token.kind == "close" else -1
                if depth < 0:
                    return token.name
        return name

    def _end_link(self) -> None:
        self._flush()
        kind, target, index = self._links.pop()
        inner = self.tokens[index:]
        label = text_of(tidied(inner)).strip()
        name, _, key = target.removeprefix(PLACEHOLDER).partition("/")
        if kind == "Image":
            self.tokens[index:] = [Token("leaf", "image", target, (label,), line=self._line)]
        elif not target.startswith(PLACEHOLDER) or name == "page":
            self.tokens.insert(index, Token("open", "link", target, line=self._line))
            self._add("close", "link")
        elif name in {"status", "date"}:
            self.tokens[index:] = [Token("leaf", name, key, (label,), line=self._line)]
        else:
            self.tokens[index:] = [Token("leaf", "macro", f"{name}/{key}", (label,), line=self._line)]

    def _in_line(self) -> None:
        if not self._open_line:
            self._open_line = True
            self._add("open", "p")

    def _end_line(self) -> None:
        self._flush()
        self._end_callout()
        if self._open_line:
            self._open_line = False
            self._add("close", "p")

    def _end_callout(self) -> None:
        """Turn a quote whose first line is `[!NOTE] title` into a panel."""
        if self._callout is None or (len(self.tokens) <= self._callout + 1 and not self._buffer):
            return
        self._flush()
        index, self._callout = self._callout, None
        match = _CALLOUT.fullmatch(text_of(self.tokens[index + 2 :]).strip())
        if match and match[1] in _MACRO_OF and self.tokens[index + 1].name == "p":
            opening = self.tokens[index]
            opening.name, opening.key, opening.value = "panel", _MACRO_OF[match[1]], (match[2].strip(),)
            del self.tokens[index + 1 :]
            self._open_line = False

    def _flush(self) -> None:
        text, self._buffer = self._buffer, ""
        if text:
            self.tokens.extend(words(text, self._line))

    def _add(self, kind: Any, name: str, key: str = "", value: tuple[str, ...] = ()) -> Token:  # noqa: ANN401
        token = Token(kind, name, key, value, line=self._line)
        self.tokens.append(token)
        return token


def _attributes(text: str) -> list[tuple[str, str]]:
    return [(name, html.unescape(double or single)) for name, double, single in ATTRIBUTE.findall(text)]
