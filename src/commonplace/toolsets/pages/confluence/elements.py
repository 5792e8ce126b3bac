"""The elements of a body with their bytes.

The scanner takes bytes as they are; expat of the standard library judges whether they are well-formed. Nothing is
fetched and no entity is expanded: a body has no document type, and names of characters are looked up in a table.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from html.entities import html5
from xml.parsers import expat

MARKUP = re.compile(
    rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|</([^\s>]+)\s*>"
    rb"|<([A-Za-z_][^\s/>]*)((?:[^>\"']|\"[^\"]*\"|'[^']*')*?)(/?)>",
    re.DOTALL,
)
"""Comment, CDATA section, instruction, end tag (1: name), or start tag (2: name, 3: attributes, 4: whether empty)."""
ATTRIBUTE = re.compile(r"([^\s=]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_WRAPPER = (
    b'<x xmlns:ac="http://atlassian.com/content" xmlns:ri="http://atlassian.com/resource/identifier" '
    b'xmlns:at="http://atlassian.com/template">'
)


class MalformedBodyError(ValueError):
    """A body is not well-formed; the message has the line and the column."""


@dataclass(slots=True, eq=False)
class Element:
    """An element with its bytes: the open tag, the content and the close tag."""

    tag: str
    start: int
    inside: int = 0
    close: int = 0
    end: int = 0
    raw_attributes: str = ""
    children: list[Element] = field(default_factory=list["Element"])

    @property
    def attributes(self) -> dict[str, str]:
        """Attributes with their characters resolved."""
        pairs = ATTRIBUTE.findall(self.raw_attributes)
        return {name: html.unescape(double or single) for name, double, single in pairs}

    def child(self, tag: str) -> Element | None:
        """The first child with a tag."""
        return next((child for child in self.children if child.tag == tag), None)

    @property
    def names_resource(self) -> bool:
        """Whether a child names something that a link can lead to."""
        return any(child.tag.startswith("ri:") for child in self.children)


def _no_external(*_: object) -> int:
    return 1  # go on without it


def check_well_formed(body: bytes) -> None:
    """Raise MalformedBodyError unless a body is well-formed and each name of a character is known."""
    parser = expat.ParserCreate(namespace_separator=None)
    parser.UseForeignDTD(True)
    unknown: list[str] = []

    def skipped(name: str, is_parameter: bool) -> None:
        if not is_parameter and f"{name};" not in html5:
            unknown.append(name)

    parser.SkippedEntityHandler = skipped
    parser.ExternalEntityRefHandler = _no_external
    try:
        parser.Parse(b"<!DOCTYPE x>" + _WRAPPER + body + b"</x>", True)
    except expat.ExpatError as error:
        raise MalformedBodyError(f"line {error.lineno}: {expat.ErrorString(error.code)}") from None
    if unknown:
        raise MalformedBodyError(f"the character &{unknown[0]}; is unknown")


def elements_of(body: bytes) -> Element:
    """The tree of a well-formed body, as the element around it."""
    root = Element("", 0, 0, len(body), len(body))
    stack = [root]
    for match in MARKUP.finditer(body):
        if match[2] is not None:
            element = Element(
                match[2].decode(), match.start(), match.end(), match.end(), match.end(), match[3].decode()
            )
            stack[-1].children.append(element)
            if not match[4]:
                stack.append(element)
        elif match[1] is not None:
            if len(stack) == 1 or stack[-1].tag != match[1].decode():
                raise MalformedBodyError(f"</{match[1].decode()}> closes nothing")
            stack[-1].close, stack[-1].end = match.start(), match.end()
            stack.pop()
    if len(stack) > 1:
        raise MalformedBodyError(f"<{stack[-1].tag}> is not closed")
    return root


def parameters_of(body: bytes, macro: Element) -> dict[str, tuple[str, Element]]:
    """Parameters of a macro: text and element by name."""
    return {
        child.attributes.get("ac:name", ""): (plain(body, child), child)
        for child in macro.children
        if child.tag == "ac:parameter"
    }


def plain(body: bytes, element: Element) -> str:
    """The text in an element, CDATA included, tags left out."""
    return plain_text(body[element.inside : element.close])


def plain_text(markup: bytes) -> str:
    """The text in markup, CDATA included, tags left out."""
    pieces: list[str] = []
    at = 0
    for match in MARKUP.finditer(markup):
        pieces.append(html.unescape(markup[at : match.start()].decode()))
        if match[0].startswith(b"<![CDATA["):
            pieces.append(match[0][9:-3].decode())
        at = match.end()
    return "".join([*pieces, html.unescape(markup[at:].decode())])
