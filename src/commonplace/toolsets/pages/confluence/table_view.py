"""Reads the HTML in which `to_markdown` shows tables that are more than lines of text."""

from __future__ import annotations

from commonplace.toolsets.pages.confluence.elements import Element, MalformedBodyError, elements_of, plain
from commonplace.toolsets.pages.confluence.storage import StorageReader
from commonplace.toolsets.pages.confluence.tokens import MARKS, PLACEHOLDER, Token, pair, tidied, with_block_leaves


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
