"""Code in a Markdown text: spans, fenced blocks and indented blocks, which are shown as they stand.

Fences and spans are found by their marks. Whether an indented line is code depends on the lists around it, so a text
with such a line is given to the parser.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from pyromark import Markdown

from commonplace.domain.markdown.structure import OPTIONS, bounded, events_with_range

MAX_SPAN_CHARS = 1_000
"""Maximum number of characters of a code span that is found by its marks."""
_PARSER = Markdown(options=OPTIONS)
_INDENTED = re.compile(r"\n[ \t>]*\n([ \t>]+)(?=[^\s>])")
"""The indentation of a line after an empty line."""
_RUN = re.compile(r"`+|~{3,}")
_BLANK_LINE = re.compile(r"\n[ \t>]*\n")
_LEAD = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,9}")
"""The marks of quotes and lists before a fence in its line."""
_CLOSING = {
    "`": re.compile(r"^[ \t>]*(`{3,})[ \t]*$", re.MULTILINE),
    "~": re.compile(r"^[ \t>]*(~{3,})[ \t]*$", re.MULTILINE),
}
_QUOTED = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
MIN_FENCE = 3


class CodePiece(NamedTuple):
    """A part of a text that belongs to code: a code span, text of a code block, or a mark around it."""

    start: int
    """Offset in characters."""
    end: int
    text: str
    """The code as it is shown; "" for a fence, an indentation, or another mark of a code block."""


def code_pieces(text: str) -> list[CodePiece]:
    """The code of a Markdown text without frontmatter, in order. Text between the pieces is no code."""
    if any("    " in indent or "\t" in indent for indent in _INDENTED.findall(f"\n\n{text}")):
        return list(_parsed(text))
    return list(_marked(text)) if "`" in text or "~~~" in text else []


def _marked(text: str) -> Iterator[CodePiece]:
    """Fenced blocks and spans."""
    starts: dict[int, list[int]] = {}
    """Offsets of the runs of backticks by their length."""
    for run in _RUN.finditer(text):
        if run[0][0] == "`":
            starts.setdefault(len(run[0]), []).append(run.start())
    at = 0
    while run := _RUN.search(text, at):
        at = run.end()
        if fence := _fence(text, run):
            yield from fence
            at = fence[-1].end
        elif run[0][0] == "`":
            span = _span(text, run, starts)
            if span:
                yield span
                at = span.end


def _fence(text: str, run: re.Match[str]) -> list[CodePiece]:
    """The pieces of the fenced block that a run of signs opens; empty if it opens none."""
    line = text.rfind("\n", 0, run.start()) + 1
    block = text.find("\n", run.end()) + 1 or len(text)
    if len(run[0]) < MIN_FENCE or not _LEAD.fullmatch(text, line, run.start()) or "`" in text[run.end() : block]:
        return []
    closings = _CLOSING[run[0][0]].finditer(text, block)
    closing = next((match for match in closings if len(match[1]) >= len(run[0])), None)
    end, behind = closing.span() if closing else (len(text), len(text))
    code = text[block:end]
    shown = _QUOTED.sub("", code) if ">" in text[line : run.start()] else code
    pieces = [CodePiece(run.start(), block, ""), CodePiece(block, end, shown), CodePiece(end, behind, "")]
    return pieces if shown else [CodePiece(run.start(), behind, "")]


def _span(text: str, run: re.Match[str], starts: Mapping[int, list[int]]) -> CodePiece | None:
    """The code span that a run of backticks opens; None if it opens none."""
    escaped = run.start() > 0 and text[run.start() - 1] == "\\"
    start, size = run.start() + escaped, len(run[0]) - escaped
    same = starts.get(size, ())
    number = bisect_left(same, run.end())
    if not size or number == len(same):
        return None
    end = same[number]
    if end - run.end() > MAX_SPAN_CHARS or _BLANK_LINE.search(text, run.end(), end):
        return None
    row = text[text.rfind("\n", 0, start) + 1 : start].lstrip(" \t>")
    code = text[run.end() : end]
    return CodePiece(start, end + size, code.replace("\\|", "|") if row.startswith("|") else code)


def _parsed(text: str) -> Iterator[CodePiece]:
    """All code, by the parser."""
    source = text.encode("utf-8", "replace")
    place = _character_offsets(source)
    events = cast("Iterator[tuple[Any, dict[str, int]]]", events_with_range(_PARSER, bounded(source.decode())))
    behind = -1
    """Offset behind the last piece of the open code block; -1 outside of one."""
    for event, span in events:
        start, end = span["start"], span["end"]
        if "Code" in event:
            yield CodePiece(place(start), place(end), event["Code"])
        elif "Start" in event and "CodeBlock" in event["Start"]:
            behind = start
        elif behind >= 0 and "Text" in event:
            yield CodePiece(place(behind), place(start), "")
            yield CodePiece(place(start), place(end), event["Text"])
            behind = end
        elif behind >= 0 and "End" in event:
            yield CodePiece(place(behind), place(end), "")
            behind = -1


def _character_offsets(source: bytes) -> Callable[[int], int]:
    """A function that converts byte offsets, which must not decrease, to offsets in characters."""
    if source.isascii():
        return lambda offset: offset
    at = characters = 0

    def place(offset: int) -> int:
        nonlocal at, characters
        if offset > at:
            characters += len(source[at:offset].decode("utf-8", "replace"))
            at = offset
        return characters

    return place
