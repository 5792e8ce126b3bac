"""Reads a body in storage format into tokens that know their bytes."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from commonplace.toolsets.pages.confluence.elements import (
    MARKUP,
    Element,
    check_well_formed,
    elements_of,
    parameters_of,
    plain,
    plain_text,
)
from commonplace.toolsets.pages.confluence.tokens import MARKS, PANELS, PLACEHOLDER, Token, pair, tidied

MAX_DEPTH = 120
"""Depth of elements down to which a body is shown; deeper ones are one placeholder."""
_PIECE = re.compile(rb"&[^;\s<&]{1,40};|[ \t\r\n]+|[^&\s]+|[\s\S]")
_BLOCK_TAGS = frozenset(
    {
        *("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "hr", "pre", "div", "details"),
        *("table", "thead", "tbody", "tfoot", "tr", "td", "th", "colgroup", "col"),
        *("ac:layout", "ac:layout-section", "ac:layout-cell", "ac:task-list"),
        *("ac:structured-macro", "ac:macro", "ac:adf-extension"),
    }
)
_NO_LINE = _BLOCK_TAGS - {"ac:structured-macro", "ac:macro", "ac:adf-extension"}
"""Elements that stand in no line of Markdown; macros do, as placeholders."""
_PAGE_URL = re.compile(
    r"(?:[^#?]*/spaces/[^/]+/pages/|[^#?]*/pages/viewpage\.action\?pageId=)(\d+)(?:/[^#?]*)?(#[^?]*)?"
)
_TEXT_MACROS = {"status", "anchor", "jira", "emoji"}


def as_name(text: str) -> str:
    """A name of the site as part of a marker, which it can neither end nor leave."""
    return re.sub(r"[^\w.:-]+|-{2,}", "-", text)


class PageLinks(Protocol):
    """Targets of the links of one page, as they are written in Markdown."""

    def page(self, space: str, title: str) -> str | None:
        """Relative path of the page with a title; None if it is not in the folder."""
        ...

    def page_with_id(self, identifier: str) -> str | None:
        """Relative path of the page with an id; None if it is not in the folder."""
        ...

    def attachment(self, name: str) -> str:
        """Relative path of an attachment of the page."""
        ...

    def person(self, account: str) -> str:
        """Name of a person; the account if it is unknown."""
        ...


def read_storage(body: bytes, links: PageLinks) -> list[Token]:
    """The tokens of a body.

    Raises:
        MalformedBodyError: the body is not well-formed.
    """
    check_well_formed(body)
    reader = StorageReader(body, links)
    reader.flow(elements_of(body), 0)
    tokens = tidied(reader.tokens)
    pair(tokens)
    return tokens


class StorageReader:
    """Walks the tree of a body and collects its tokens."""

    def __init__(self, body: bytes, links: PageLinks) -> None:
        self.body = body
        self.links = links
        self.tokens: list[Token] = []

    # Blocks.

    def flow(self, parent: Element, depth: int) -> None:
        """Blocks in an element; text between them counts as paragraphs without a tag."""
        run: list[Element] = []
        at = start = parent.inside
        for child in parent.children:
            if child.tag in _BLOCK_TAGS and not self._is_inline_macro(child):
                self._paragraph(start, child.start, run, depth)
                run = []
                self._block(child, depth + 1)
                start = child.end
            elif child.tag == "ac:image" and not run and not self._has_text(start, child.start):
                after = self._next_text(parent, child)
                if after:
                    run.append(child)
                else:
                    self._leaf_image(child, block=True)
                    start = child.end
            else:
                run.append(child)
            at = child.end
        self._paragraph(start, max(at, parent.close), run, depth)

    def _next_text(self, parent: Element, child: Element) -> bool:
        """Whether a line of text goes on after an element."""
        following = parent.children[parent.children.index(child) + 1 :]
        end = following[0].start if following else parent.close
        if self._has_text(child.end, end):
            return True
        return bool(following) and following[0].tag not in _BLOCK_TAGS | {"ac:image"}

    def _has_text(self, start: int, end: int) -> bool:
        return bool(plain_text(self.body[start:end]).strip(" \t\r\n"))

    def _is_inline_macro(self, element: Element) -> bool:
        return element.tag in {"ac:structured-macro", "ac:macro"} and element.attributes.get("ac:name") in _TEXT_MACROS

    def _paragraph(self, start: int, end: int, run: list[Element], depth: int) -> None:
        """A line of text that has no tag of its own."""
        if any(child.tag != "br" for child in run) or self._has_text(start, end):
            mark = len(self.tokens)
            opening = Token("open", "p", start=start, end=start)
            self.tokens.append(opening)
            self._inline(start, end, run, depth)
            closing = Token("close", "p", start=end, end=end)
            self.tokens.append(closing)
            inner = [token for token in self.tokens[mark:] if token.start < token.end]
            if inner:
                opening.start = opening.end = inner[0].start
                closing.start = closing.end = inner[-1].end

    def _block(self, element: Element, depth: int) -> None:
        if depth > MAX_DEPTH:
            self._macro_leaf(element, "deep", "nested too deep to be shown", block=True)
            return
        handlers: dict[str, Callable[[Element, int], None]] = {
            "hr": lambda block, _: self._leaf(block, "rule", block=True),
            "p": self._text_block,
            "pre": self._pre,
            "table": self._table,
            "ac:task-list": self._tasks,
            "ac:structured-macro": self._macro,
            "ac:macro": self._macro,
            "ac:layout": lambda block, deep: self._container(block, "layout", deep),
            "ac:layout-section": lambda block, deep: self._container(
                block, "section", deep, (block.attributes.get("ac:type", ""),)
            ),
            "ac:layout-cell": lambda block, deep: self._container(block, "cell", deep),
            "blockquote": lambda block, deep: self._container(block, "quote", deep),
            "ul": lambda block, deep: self._list(block, "ul", deep),
            "ol": lambda block, deep: self._list(block, "ol", deep),
        }
        if re.fullmatch("h[1-6]", element.tag):
            self._paired(element, "heading", (element.tag[1],), lambda: self._inside(element, depth))
        elif element.tag in handlers:
            handlers[element.tag](element, depth)
        else:
            self._macro_leaf(element, element.tag, "", block=True)

    def _text_block(self, element: Element, depth: int) -> None:
        breaks = all(child.tag == "br" for child in element.children)
        if breaks and not self._has_text(element.inside, element.close):
            return  # an empty paragraph is kept between its neighbours
        if any(child.tag in _NO_LINE for child in element.children):
            self._macro_leaf(element, "p", "", block=True)
        else:
            self._paired(element, "p", (), lambda: self._inside(element, depth))

    def _pre(self, element: Element, _: int) -> None:
        if element.children:
            self._macro_leaf(element, "pre", "", block=True)
        else:
            self._leaf(element, "pre", (plain(self.body, element).strip("\n"),), block=True)

    def _container(self, element: Element, name: str, depth: int, value: tuple[str, ...] = ()) -> None:
        if name == "quote" and not element.children and not self._has_text(element.inside, element.close):
            return
        self._paired(element, name, value, lambda: self.flow(element, depth))

    def _list(self, element: Element, name: str, depth: int) -> None:
        items = element.children
        if not items or any(item.tag != "li" for item in items) or self._text_between(element):
            self._macro_leaf(element, element.tag, "", block=True)
            return
        begin = element.attributes.get("start", "1") if name == "ol" else ""
        self._paired(element, name, (begin,) if begin else (), lambda: self._items(items, depth))

    def _items(self, items: Sequence[Element], depth: int) -> None:
        for item in items:
            self._paired(item, "li", (), lambda item=item: self.flow(item, depth + 1))

    def _text_between(self, element: Element) -> bool:
        at = element.inside
        for child in element.children:
            if self._has_text(at, child.start):
                return True
            at = child.end
        return self._has_text(at, element.close)

    def _table(self, element: Element, depth: int) -> None:
        rows = _rows_of(element)
        if rows:
            self._paired(element, "table", (), lambda: self._rows(rows, depth))
        else:
            self._macro_leaf(element, "table", "", block=True)

    def _rows(self, rows: Sequence[Element], depth: int) -> None:
        for row in rows:
            self._paired(row, "tr", (), lambda row=row: self._cells(row, depth))

    def _cells(self, row: Element, depth: int) -> None:
        for cell in row.children:
            attributes = cell.attributes
            spans = tuple(f'{name}="{attributes[name]}"' for name in ("colspan", "rowspan") if name in attributes)
            spans = tuple(span for span in spans if not span.endswith('="1"'))
            self._paired(cell, cell.tag, (), lambda cell=cell: self.flow(cell, depth + 2), key=" ".join(spans))

    def _tasks(self, element: Element, depth: int) -> None:
        tasks = element.children
        if not tasks or any(task.tag != "ac:task" or task.child("ac:task-body") is None for task in tasks):
            self._macro_leaf(element, "tasks", "", block=True)
            return
        self._paired(element, "tasks", (), lambda: self._each_task(tasks, depth))

    def _each_task(self, tasks: Sequence[Element], depth: int) -> None:
        for task in tasks:
            body, status = task.child("ac:task-body"), task.child("ac:task-status")
            if body is None:
                continue
            state = plain(self.body, status).strip() if status else "incomplete"
            shell = Element("ac:task", task.start, body.inside, body.close, task.end)
            value = ("x" if state == "complete" else " ",)
            self._paired(shell, "task", value, lambda body=body: self.flow(body, depth + 1))

    def _macro(self, element: Element, depth: int) -> None:
        name = element.attributes.get("ac:name", "")
        parameters = parameters_of(self.body, element)
        rich, text = element.child("ac:rich-text-body"), element.child("ac:plain-text-body")
        title = parameters["title"][0] if "title" in parameters else ""
        if name in {"code", "noformat"} and text is not None:
            language = parameters["language"][0].strip() if "language" in parameters else ""
            value = (plain(self.body, text), language, title, "1" if name == "noformat" else "")
            self._leaf(element, "code", value, block=True)
        elif rich is not None and name:
            self._rich_macro(element, rich, title, depth)
        else:
            self._macro_leaf(element, name or element.tag, macro_label(self.body, element), block=True)

    def _rich_macro(self, element: Element, rich: Element, title: str, depth: int) -> None:
        """A macro around blocks: a panel, what unfolds, or any other, named by itself and its head's digest."""
        name = element.attributes["ac:name"]
        kind, value, key = "rich", tuple[str, ...](), f"{as_name(name)}/{self._digest(element.start, rich.inside)}"
        if name in PANELS or name == "expand":
            kind, value, key = ("panel", (title,), name) if name in PANELS else ("expand", (title,), "")
        shell = Element(element.tag, element.start, rich.inside, rich.close, element.end)
        self._paired(shell, kind, value, lambda: self.flow(rich, depth + 1), key=key)

    # Lines of text.

    def _inside(self, element: Element, depth: int) -> None:
        self._inline(element.inside, element.close, element.children, depth)

    def _inline(self, start: int, end: int, children: Sequence[Element], depth: int) -> None:
        at = start
        for child in children:
            self._text(at, child.start)
            self._inline_element(child, depth + 1)
            at = child.end
        self._text(at, end)

    def _inline_element(self, element: Element, depth: int) -> None:
        tag, attributes = element.tag, element.attributes
        if depth > MAX_DEPTH or self._holds_block(element):
            self._macro_leaf(element, tag, plain(self.body, element))
        elif tag in MARKS:
            self._mark(element, depth)
        elif tag == "a" and "href" in attributes:
            self._paired(element, "link", (), lambda: self._inside(element, depth), key=self._href(attributes["href"]))
        elif tag == "ac:inline-comment-marker":
            key = as_name(attributes.get("ac:ref", ""))
            self._paired(element, "comment", (), lambda: self._inside(element, depth), key=key)
        elif tag == "ac:link":
            self._link(element, depth)
        else:
            self._inline_leaf(element)

    def _inline_leaf(self, element: Element) -> None:
        tag, attributes = element.tag, element.attributes
        digest = self._digest(element.start, element.end)
        if tag == "br":
            self._leaf(element, "break")
        elif tag == "ac:image":
            self._leaf_image(element)
        elif tag == "time":
            self._leaf(element, "date", (attributes.get("datetime", ""),), key=digest)
        elif self._is_inline_macro(element) and attributes.get("ac:name") == "status":
            parameters = parameters_of(self.body, element)
            label = parameters["title"][0] if "title" in parameters else ""
            self._leaf(element, "status", (" ".join(label.split()),), key=digest)
        elif tag in {"ac:emoticon", "ac:structured-macro", "ac:macro"}:
            name = "emoji" if tag == "ac:emoticon" else attributes.get("ac:name", "macro")
            self._macro_leaf(element, name, macro_label(self.body, element))
        else:
            self._macro_leaf(element, tag, plain(self.body, element))

    def _mark(self, element: Element, depth: int) -> None:
        attributes = element.attributes
        if element.tag == "code" and not element.children and not attributes:
            self._leaf(element, "code_text", key=" ".join(plain(self.body, element).split()))
            return
        key = " ".join(f'{name}="{html.escape(value)}"' for name, value in attributes.items() if name != "class")
        self._paired(element, MARKS[element.tag], (), lambda: self._inside(element, depth), key=key)

    def _holds_block(self, element: Element) -> bool:
        """Whether a mark or a link spans blocks, which a line of Markdown cannot."""
        if element.tag not in MARKS and element.tag not in {"a", "ac:inline-comment-marker"}:
            return False
        return any(child.tag in _NO_LINE for child in element.children)

    def _link(self, element: Element, depth: int) -> None:
        target = self._target(element)
        if target is None:
            user = element.child("ri:user")
            if user is not None:
                account = user.attributes.get("ri:account-id") or user.attributes.get("ri:userkey", "")
                self._macro_leaf(element, "mention", f"@{self.links.person(account)}")
            else:
                self._macro_leaf(element, "link", plain(self.body, element))
            return
        href, title = target
        body, text = element.child("ac:link-body"), element.child("ac:plain-text-link-body")
        if body is not None:
            shell = Element("ac:link", element.start, body.inside, body.close, element.end)
            self._paired(shell, "link", (), lambda: self._inside(body, depth), key=href)
        elif text is not None and self.body[text.inside : text.close].startswith(b"<![CDATA["):
            inside, close = text.inside + 9, text.close - 3
            if b"<![CDATA[" in self.body[inside:close]:
                self._macro_leaf(element, "link", plain(self.body, text))
                return
            shell = Element("ac:link", element.start, inside, close, element.end)
            self._paired(shell, "link", (), lambda: self._raw_text(inside, close), key=href)
            self._set_form("cdata")
        elif text is None:
            shell = Element("ac:link", element.start, element.close, element.close, element.end)
            self._paired(shell, "link", (), lambda: self._virtual(title or href, element.close), key=href)
            self._set_form("virtual")
        else:
            self._macro_leaf(element, "link", plain(self.body, text))

    def _set_form(self, form: str) -> None:
        depth = 0
        for token in reversed(self.tokens):
            depth += {"close": 1, "open": -1}.get(token.kind, 0)
            token.form = "cdata" if form == "cdata" else "virtual"
            if depth == 0:
                return

    def _target(self, element: Element) -> tuple[str, str] | None:
        """Target of a link of Confluence in the folder, and what it shows without a text of its own."""
        anchor = element.attributes.get("ac:anchor", "")
        fragment = anchor and f"#{anchor.replace(' ', '-')}"
        page, attachment = element.child("ri:page"), element.child("ri:attachment")
        if page is not None:
            title = page.attributes.get("ri:content-title", "")
            path = self.links.page(page.attributes.get("ri:space-key", ""), title)
            return f"{path or self._unknown_page(element)}{fragment}", title
        if attachment is not None and not attachment.children:
            name = attachment.attributes.get("ri:filename", "")
            return self.links.attachment(name), name
        if entity := element.child("ri:content-entity"):
            path = self.links.page_with_id(entity.attributes.get("ri:content-id", ""))
            return (path + fragment, path) if path else None
        return (fragment, anchor) if anchor and not element.names_resource else None

    def _unknown_page(self, element: Element) -> str:
        return f"{PLACEHOLDER}page/{self._digest(element.start, element.inside)}"

    def _href(self, href: str) -> str:
        match = _PAGE_URL.fullmatch(href)
        path = self.links.page_with_id(match[1]) if match else None
        return path + (match[2] or "") if match and path else href

    def _leaf_image(self, element: Element, *, block: bool = False) -> None:
        attachment, url = element.child("ri:attachment"), element.child("ri:url")
        alt = element.attributes.get("ac:alt") or element.attributes.get("ac:title") or ""
        if attachment is not None and not attachment.children:
            key = self.links.attachment(attachment.attributes.get("ri:filename", ""))
        elif url is not None:
            key = url.attributes.get("ri:value", "")
        else:
            self._macro_leaf(element, "image", alt, block=block)
            return
        self._leaf(element, "image", (" ".join(alt.split()),), key=key, block=block)

    def _text(self, start: int, end: int) -> None:
        at = start
        for match in MARKUP.finditer(self.body, start, end):
            self._words(at, match.start())
            if match[0].startswith(b"<![CDATA["):
                self._raw_text(match.start() + 9, match.end() - 3)
            at = match.end()
        self._words(at, end)

    def _words(self, start: int, end: int) -> None:
        for first, last, text in _runs(self.body, start, end):
            self._word(first, last, text)

    def _raw_text(self, start: int, end: int) -> None:
        for match in re.finditer(rb"[ \t\r\n]+|[^ \t\r\n]+", self.body[start:end]):
            self._word(start + match.start(), start + match.end(), match[0].decode())
            self.tokens[-1].form = "cdata"

    def _virtual(self, text: str, at: int) -> None:
        for piece in re.findall(r"\s+|\S+", text.strip()):
            self._word(at, at, piece)

    def _word(self, start: int, end: int, text: str) -> None:
        if text[0] in " \t\r\n":
            self.tokens.append(Token("space", "", start=start, end=end))
        elif self.tokens and self.tokens[-1].kind == "word" and self.tokens[-1].end == start and start != end:
            self.tokens[-1].key += text
            self.tokens[-1].end = end
        else:
            self.tokens.append(Token("word", "", text, start=start, end=end))

    # Tokens.

    def _paired(
        self, element: Element, name: str, value: tuple[str, ...], content: Callable[[], None], *, key: str = ""
    ) -> None:
        self.tokens.append(Token("open", name, key, value, element.start, element.inside))
        content()
        self.tokens.append(Token("close", name, key, (), element.close, element.end))

    def _leaf(
        self, element: Element, name: str, value: tuple[str, ...] = (), *, key: str = "", block: bool = False
    ) -> None:
        self.tokens.append(Token("leaf", name, key, value, element.start, element.end, block=block))

    def _macro_leaf(self, element: Element, name: str, label: str, *, block: bool = False) -> None:
        digest = self._digest(element.start, element.end, block=block)
        shown = " ".join(label.split())
        self._leaf(element, "macro", (shown[:300] or name,), key=f"{name.replace(':', '-')}/{digest}", block=block)

    def _digest(self, start: int, end: int, *, block: bool = False) -> str:
        return hashlib.sha256(self.body[start:end] + (b"\0" if block else b"")).hexdigest()[:8]


def _rows_of(table: Element) -> Sequence[Element]:
    """The rows of a table; () if it has other parts, or a row without cells."""
    rows: list[Element] = []
    for child in table.children:
        if child.tag in {"thead", "tbody", "tfoot"}:
            rows += child.children
        elif child.tag != "colgroup":
            rows.append(child)
    is_table = all(row.tag == "tr" and row.children for row in rows)
    return rows if is_table and all(cell.tag in {"td", "th"} for row in rows for cell in row.children) else ()


def macro_label(body: bytes, element: Element) -> str:
    """Text of a macro's placeholder: an emoji, else the name and the parameters."""
    attributes = element.attributes
    if element.tag == "ac:emoticon":
        shown = attributes.get("ac:emoji-fallback") or attributes.get("ac:emoji-shortname")
        return shown or f":{attributes.get('ac:name', 'emoji')}:"
    name = attributes.get("ac:name", element.tag)
    parameters = [
        f"{key}={' '.join(text.split())}" if key else " ".join(text.split())
        for key, (text, _) in parameters_of(body, element).items()
    ]
    return f"{name}: {', '.join(parameters)}" if parameters else name


def _runs(body: bytes, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    for match in _PIECE.finditer(body, start, end):
        raw = match[0]
        yield match.start(), match.end(), html.unescape(raw.decode()) if raw.startswith(b"&") else raw.decode()
