"""The lines of a document that begin a section: ATX headings of any level outside of code fences.

A line scanner whose only state is the open fence, so that a text has the same sections in any place. A fence that
begins on the line of a list item ends with the item, as in CommonMark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from commonplace.toolsets.cascade.rules.values import Attributes

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_FENCE = re.compile(r"( {0,3}(?:(?:[-*+]|\d{1,9}[.)]) {1,4})*)(`{3,}(?=[^`]*\Z)|~{3,})")
_BRACES = re.compile(r"\{([^{}]*)\}\s*\Z")
_ATTRIBUTE = re.compile(r"""([\w:][\w:.-]*)=(?:"([^"]*)"|'([^']*)'|([^\s"']*))""")
_KEY = re.compile(r"""#(?:"([^"]*)"|(\S+(?:\s+[^\s=."'#][^\s="'#]*(?=\s|\Z))*))""")


@dataclass(frozen=True, slots=True)
class Fence:
    """An open code fence."""

    mark: str
    """The characters of the opening fence; at least as many close it."""
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
    braces = _BRACES.search(heading)
    if braces:
        named = _KEY.match(braces[1].strip())
        if named:
            return " ".join((named[1] or named[2] or "").lower().split())
        heading = heading[: braces.start()] or heading
    return " ".join(heading.lower().split())


def heading_attributes(heading: str) -> Attributes:
    """The attributes in the braces at the end of a heading's text."""
    braces = _BRACES.search(heading)
    found = {name: a or b or c for name, a, b, c in _ATTRIBUTE.findall(braces[1])} if braces else {}
    return Attributes(updated=found.get("updated") or None, override=found.get("override") or None)


def with_key(line: str, key: str) -> str:
    """A heading's line with this key in place of any other."""
    bare = _unclosed(line)
    braces = _BRACES.search(bare)
    rest = _KEY.sub("", braces[1].strip(), count=1).strip() if braces else ""
    start = (bare[: braces.start()] if braces else bare).rstrip() or line.strip()
    shown = f'#"{key}"' if re.search(r"\s", key) else f"#{key}"
    return f"{start} {{{shown}{' ' if rest else ''}{rest}}}"


def _unclosed(heading: str) -> str:
    """A heading's text without the closing `##`."""
    text = heading.strip(" \t")
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if bare[-1:] in {"", " ", "\t"} else text
