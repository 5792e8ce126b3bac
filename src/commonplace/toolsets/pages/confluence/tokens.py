"""The one form in which a storage body and its Markdown are compared: a flat stream of tokens."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["open", "close", "word", "space", "leaf"]

MARKS: Mapping[str, str] = {
    "strong": "strong",
    "b": "strong",
    "em": "em",
    "i": "em",
    "del": "del",
    "s": "del",
    "u": "u",
    "sub": "sub",
    "sup": "sup",
    "small": "small",
    "ins": "ins",
    "mark": "mark",
    "code": "code",
    "span": "span",
}
"""Token name by tag of an inline element."""

INLINE = frozenset({*MARKS.values(), "link", "comment"})
"""Names of the paired tokens that stand in a line of text."""
PLACEHOLDER = "confluence:"
"""Scheme of the links that stand for what Markdown cannot say."""
PANELS: Mapping[str, str] = {"info": "NOTE", "tip": "TIP", "note": "WARNING", "warning": "CAUTION", "panel": "PANEL"}
"""Word of the callout by name of the macro."""


@dataclass(slots=True, eq=False)
class Token:
    """One piece of a page: a word, a space, the start or end of an element, or an element that is one piece.

    `key` decides which tokens of two streams may be the same; `value` is what a person can change of such a token.
    """

    kind: Kind
    name: str
    key: str = ""
    """The part that never changes: a link's target, the digest of a macro, the attributes of a mark."""
    value: tuple[str, ...] = ()
    """The part that can be edited: the level of a heading, the text of code, the state of a task."""
    start: int = -1
    """First byte in the base; -1 for a token of Markdown."""
    end: int = -1
    partner: Token | None = None
    """The other end of an open or close."""
    line: int = 0
    """Line in the Markdown, from 1."""
    form: Literal["", "cdata", "virtual"] = ""
    """Storage of the text inside a link: as a CDATA section, or nowhere because it is the page's title."""
    block: bool = False
    """Whether a leaf stands among paragraphs instead of in a line of text."""

    @property
    def identity(self) -> tuple[str, str, str]:
        """The part by which tokens are aligned."""
        return self.kind, self.name, self.key

    @property
    def whole(self) -> tuple[str, str, str, tuple[str, ...]]:
        """The token without its place."""
        return self.kind, self.name, self.key, self.value

    @property
    def is_identity(self) -> bool:
        """Whether the token carries something that Markdown cannot say, so that removing it is a loss."""
        if self.kind == "leaf":
            return self.name in {"macro", "status", "date"}
        return self.kind == "open" and self.name in {"comment", "layout", "section", "cell", "rich"}


@dataclass(slots=True)
class Block:
    """The tokens of one block at the top of a page."""

    tokens: list[Token] = field(default_factory=list[Token])
    opaque: bool = False
    """Whether its Markdown cannot be edited, because it does not read as what it shows."""
    markdown: str = ""
    line: int = 0

    @property
    def content(self) -> tuple[object, ...]:
        """The block without places, for comparison."""
        return tuple(token.whole for token in self.tokens)


def pair(tokens: Iterable[Token]) -> None:
    """Connect each open token with its close.

    Raises:
        ValueError: the tokens are not nested.
    """
    stack: list[Token] = []
    for token in tokens:
        if token.kind == "open":
            stack.append(token)
        elif token.kind == "close":
            if not stack or stack[-1].name != token.name:
                raise ValueError(f"line {token.line}: the end of {token.name} has no start")
            token.partner = stack.pop()
            token.partner.partner = token
            token.key = token.partner.key
    if stack:
        raise ValueError(f"line {stack[-1].line}: {stack[-1].name} is never closed")


def blocks_of(tokens: Sequence[Token]) -> Iterator[Block]:
    """Split a stream into its top-level blocks."""
    depth, current = 0, Block()
    for token in tokens:
        if not current.tokens:
            current.line = token.line
        current.tokens.append(token)
        depth += {"open": 1, "close": -1}.get(token.kind, 0)
        if depth == 0:
            yield current
            current = Block()


_PIECES = re.compile(r"[ \t\r\n]+|[^ \t\r\n]+")


def words(text: str, line: int = 0) -> list[Token]:
    """The words and spaces of plain text; a no-break space is part of a word."""
    return [
        Token("space", "") if piece[0] in " \t\r\n" else Token("word", "", piece, line=line)
        for piece in _PIECES.findall(text)
    ]


def text_of(tokens: Iterable[Token]) -> str:
    """The plain text of tokens, words and spaces alone."""
    return "".join(" " if token.kind == "space" else token.key for token in tokens if token.kind in {"word", "space"})


def tidied(tokens: Sequence[Token]) -> list[Token]:
    """The same tokens with spaces as HTML shows them: none at the edges of a block or beside a break, never two."""
    result: list[Token] = []
    for token in tokens:
        if token.kind == "space" and (not result or not _takes_space(result[-1], after=True)):
            continue
        if not _takes_space(token, after=False) and token.kind != "space":
            while result and result[-1].kind == "space":
                result.pop()
        result.append(token)
    return result


def _takes_space(token: Token, *, after: bool) -> bool:
    """Whether a space may stand beside a token."""
    if token.kind == "space":
        return not after
    if token.kind in {"open", "close"}:
        return token.name in INLINE
    return token.name != "break" and not token.block


def with_block_leaves(tokens: list[Token], block_leaves: Collection[tuple[str, str]]) -> list[Token]:
    """Take the paragraph away around placeholders that are blocks of their own."""
    result: list[Token] = []
    for token in tokens:
        result.append(token)
        if token.name == "p" and token.kind == "close" and len(result) >= 3:  # noqa: PLR2004 - start, leaf and end
            leaf = result[-2]
            if result[-3] is token.partner and leaf.kind == "leaf" and (leaf.name, leaf.key) in block_leaves:
                leaf.block = True
                result[-3:] = [leaf]
    return result
