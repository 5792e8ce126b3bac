"""The lines of a document that begin a section: ATX headings of any level outside code fences.

The open fence is the scanner's only state, so a text has the same sections wherever it is placed. A fence that begins
on the line of a list item ends with the item, as in CommonMark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from commonplace.toolsets.cascade.rules.values import Attributes

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_FENCE = re.compile(r"( {0,3}(?:(?:[-*+]|\d{1,9}[.)]) {1,4})*)(`{3,}(?=[^`]*\Z)|~{3,})")
_BRACES = re.compile(r"\{([^{}]*)\}")
_TOKEN = re.compile(
    r"""([\w:][\w:.-]*)=(?:"([^"]*)"|'([^']*)'|([^\s"']*))"""
    r"""|\#(?:"([^"]*)"|([^\s"]+(?:\s+[^\s=."'\#][^\s="'\#]*(?=\s|\Z))*))"""
    r"""|\S+"""
)
"""Groups 1 to 4: an attribute. Groups 5 and 6: a key. No group: a class or word, which layers ignore."""
_EQUALS = re.compile(r"\s*=\s*")
_OWN_ATTRIBUTES = frozenset({"override", "updated"})


@dataclass(frozen=True, slots=True)
class Fence:
    """An open code fence."""

    mark: str
    """The characters of the opening fence. The closing fence needs at least as many."""
    column: int
    """Column of the text of the list item around the fence; 0 outside of lists."""

    def closing(self) -> str:
        """The line that closes the fence."""
        return " " * self.column + self.mark

    def after(self, line: str) -> tuple[Fence | None, bool]:
        """The fence that is open after a line (None if closed), and whether the line belongs to this fence."""
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        if self.column and bare.strip() and indent < self.column:
            return None, False
        run = bare.rstrip(" \t")
        closes = indent <= self.column + 3 and len(run) >= len(self.mark) and run == self.mark[0] * len(run)
        return (None, True) if closes else (self, True)


@dataclass(frozen=True, slots=True)
class ScannedLine:
    """A line with its classification."""

    text: str
    heading: str | None
    """The heading's text without markers; None for any other line."""
    fence: Fence | None
    """The fence that is open after the line."""


def scan_lines(text: str) -> Iterator[ScannedLine]:
    r"""The lines of a text whose line ends are `\n`, in order."""
    fence: Fence | None = None
    for line in text.split("\n"):
        if fence:
            fence, inside = fence.after(line)
            if inside:
                yield ScannedLine(line, None, fence)
                continue
        opening = _FENCE.match(line)
        if opening:
            prefix = opening[1]
            fence = Fence(opening[2], len(prefix) if prefix.strip() else 0)
            yield ScannedLine(line, None, fence)
            continue
        found = _HEADING.fullmatch(line)
        yield ScannedLine(line, _unclosed(found[2] or "") if found else None, None)


def heading_key(heading: str) -> str:
    """The key of a heading's text: `{#key}` in lower case, else the words in lower case without the braces."""
    braces = _read_braces(heading)
    if braces.key:
        return " ".join(braces.key.lower().split())
    return " ".join((braces.outside(heading) or heading).lower().split())


def heading_attributes(heading: str) -> Attributes:
    """The attributes in the braces of a heading's text, in any order."""
    found = _read_braces(heading).values
    return Attributes(updated=found.get("updated") or None, override=found.get("override") or None)


def shown_heading(line: str) -> tuple[int, str]:
    """Level and text of a heading's line, without markers, key and attributes; level 0 for any other line."""
    found = _HEADING.fullmatch(line)
    if found is None:
        return 0, line.strip()
    text = _unclosed(found[2] or "")
    return len(found[1]), _read_braces(text).outside(text) or text


def with_key(line: str, key: str) -> str:
    """A heading's line with this key in place of any other."""
    bare = _unclosed(line)
    braces = _read_braces(bare)
    rest = " ".join(braces.others)
    start = braces.outside(bare) or line.strip()
    shown = f'#"{key}"' if re.search(r"\s", key) else f"#{key}"
    return f"{start} {{{shown}{' ' if rest else ''}{rest}}}"


@dataclass(frozen=True, slots=True)
class _Braces:
    """The `{...}` of a heading that contains its attributes."""

    start: int = 0
    end: int = 0
    key: str = ""
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    """Attributes by name in lower case. If a name occurs several times, the first counts."""
    others: tuple[str, ...] = ()
    """All tokens except the key, as written."""

    def outside(self, heading: str) -> str:
        """The heading without the braces."""
        return f"{heading[: self.start].rstrip()} {heading[self.end :].lstrip()}".strip()


def _read_braces(heading: str) -> _Braces:
    """The last braces in a heading that name a key or an attribute of layers, else the braces at its end.

    Words may follow braces that suppress a section, so the position of braces does not decide whether text is hidden.
    """
    read = [_read_tokens(found) for found in _BRACES.finditer(heading)]
    for braces in reversed(read):
        if braces.key or not _OWN_ATTRIBUTES.isdisjoint(braces.values):
            return braces
    return read[-1] if read and not heading[read[-1].end :].strip() else _Braces()


def _read_tokens(braces: re.Match[str]) -> _Braces:
    key = ""
    values: dict[str, str] = {}
    others: list[str] = []
    for token in _TOKEN.finditer(_EQUALS.sub("=", braces[1])):
        named = token[5] or token[6]
        if named and not key:
            key = named
            continue
        others.append(token[0])
        if token[1]:
            values.setdefault(token[1].lower(), token[2] or token[3] or token[4] or "")
    return _Braces(braces.start(), braces.end(), key, values, tuple(others))


def _unclosed(heading: str) -> str:
    """A heading's text without the closing `##`."""
    text = heading.strip(" \t")
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if bare[-1:] in {"", " ", "\t"} else text
