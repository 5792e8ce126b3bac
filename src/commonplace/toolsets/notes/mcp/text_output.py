"""Text answers within a token budget that state their size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json
from commonplace.domain.tokens import QUARTERS, beginning, size_of, tokens_of

MAX_ANSWER_TOKENS = 50_000
"""Tokens of one answer at the most, whatever the caller allows: clients refuse messages of megabytes."""
MAX_OUTLINE_SHARE = 0.5
"""The part of a budget that an outline may take."""
MIN_CUT = 20
"""Quarters of a token below which a line is not cut to fit."""
ELLIPSIS = 8
"""Quarters of a token of the mark of a cut, and of rounding."""
MIN_TEXT = 200
"""Quarters of a token of text that a budget in an error has room for."""
ROUND_TOKENS = 50
"""A budget in an error is a multiple of this."""
TRAILER = 56
"""Quarters of a token reserved for the last line: the size, and a first sentence."""


_LINES = re.compile(r"\s*(\d{1,9})(?:\+(\d{1,9}))?\s*(?:-\s*(\d{1,9})?\s*)?")


@dataclass(frozen=True, slots=True)
class LineRange:
    """A range of lines, counted from 1."""

    first: int
    last: int
    skipped: int = 0
    """Number of characters of the first line that are left out."""

    def text_of(self, lines: Sequence[str]) -> str:
        """The text of the range.

        Args:
            lines: All lines, without their ends.
        """
        first, *others = lines[self.first - 1 : self.last]
        return "\n".join([first[self.skipped :], *others])


def line_range(reference: str, count: int) -> LineRange:
    """Parse an argument `lines`: `7`, `10-40`, `10-`, or `10+200-40` from behind the first 200 characters of line 10.

    Raises:
        InvalidInputError: it is no range of the lines from 1 to `count`.
    """
    match = _LINES.fullmatch(reference)
    first = int(match[1]) if match else 0
    last = min(int(match[3] or count), count) if match and "-" in reference else first
    if match is None or not 1 <= first <= last <= count:
        raise InvalidInputError(
            f"Invalid argument lines: {reference[:40]!r} of {count} lines.",
            kind="argument",
            hint="Give a range such as '10-40', counted from 1.",
        )
    return LineRange(first, last, int(match[2] or 0))


class NoRoomError(InvalidInputError):
    """The budget of an answer has no room for any text."""


class BoundedAnswer:
    """An answer that is filled line by line within a budget.

    Args:
        max_tokens: The budget of the whole answer, including its last line.
        at: The past moment that the answer describes; "" for now.
    """

    def __init__(self, max_tokens: int, at: str = "") -> None:
        self._at = at
        self.max_tokens = max_tokens
        self._room = QUARTERS * min(max_tokens, MAX_ANSWER_TOKENS)
        self._lines: list[str] = []
        self._used = 0
        self._reserved = TRAILER
        self.cut = False
        """Whether text was omitted for lack of room."""

    @property
    def room(self) -> int:
        """Quarters of a token left for further lines including their line ends."""
        return max(0, self._room - self._used - self._reserved - 1)

    def following(self, tool: str, **arguments: Json) -> str:
        """The next useful call, for the same moment."""
        return next_call(tool, **arguments, **({"at": self._at} if self._at else {}))

    def reserve(self, text: str) -> None:
        """Reserve room for a line that is added at the end."""
        self._reserved += size_of(text) + 1

    def release(self) -> None:
        """Release the room that `reserve` reserved."""
        self._reserved = TRAILER
        self.cut = False

    def add(self, line: str) -> bool:
        """Add a line if it fits; return whether it was added."""
        size = size_of(line)
        if self.cut or size > self.room:
            self.cut = True
            return False
        self._lines.append(line)
        self._used += size + 1
        return True

    def add_shortened(self, line: str) -> bool:
        """Add a line, truncated to the remaining room; return whether it was added."""
        room = self.room
        if size_of(line) <= room:
            return self.add(line)
        return room > ELLIPSIS and self.add(f"{beginning(line, room - ELLIPSIS)}…")

    def add_all(self, lines: Iterable[str]) -> int:
        """Add lines until one does not fit; return the number of added lines."""
        added = 0
        for line in lines:
            if not self.add(line):
                break
            added += 1
        return added

    def text(self, *last: str) -> str:
        """The text of the answer: the lines, each of the last sentences that fits, and the size."""
        self._reserved = TRAILER
        sentences: list[str] = []
        for sentence in last:
            if sentence and (size := size_of(sentence)) + 1 <= self.room:
                sentences.append(sentence)
                self._used += size + 1
        body = "\n".join([*self._lines, *sentences])
        size = tokens_of(body) + 4
        return f"{body}\n({size} tokens)" if body else f"({size} tokens)"


@dataclass(frozen=True, slots=True)
class ShownLines:
    """The lines of a text that an answer has."""

    last: int
    """Number of the last line, whole or cut."""
    whole: int
    """Number of the last whole line."""
    shown: int = 0
    """Number of characters of the last line up to where it was cut; 0 if it was not."""
    note: str = ""
    """A sentence about a line that was cut; "" if none was."""

    def rest(self, last: int | str) -> str:
        """The argument `lines` for the rest up to a line."""
        return f"{self.last}+{self.shown}-{last}" if self.shown else f"{self.last + 1}-{last}"


def add_lines(answer: BoundedAnswer, text: str, first: int, skipped: int = 0) -> ShownLines:
    """Add as many lines as fit, at least a part of the first one, so that a call for the rest never begins there again.

    Args:
        answer: The answer; what follows the lines is reserved.
        text: The lines.
        first: The number of the first line.
        skipped: Number of characters of the first line that are not in the text.

    Raises:
        NoRoomError: not even a part of the first line has room.
    """
    lines: list[str] = []
    room = answer.room
    for line in text.split("\n"):
        size = size_of(line) + 1
        if size > room:
            break
        lines.append(line)
        room -= size
    if lines and answer.add("\n".join(lines)):
        last = first - 1 + len(lines)
        return ShownLines(last, 0 if skipped and len(lines) == 1 else last)
    line = text.partition("\n")[0]
    size = skipped + len(line)
    reserved = size_of(f"Line {first} is cut: characters {size}-{size} of {size}. ")
    room = answer.room - reserved - ELLIPSIS
    part = beginning(line, room)
    if room < MIN_CUT or not answer.add(f"{part}…"):
        raise no_room(answer, reserved)
    end = skipped + len(part)
    return ShownLines(first, first - 1, end, f"Line {first} is cut: characters {skipped + 1}-{end} of {size}. ")


def no_room(answer: BoundedAnswer, needed: int) -> NoRoomError:
    """The error of a budget that is too small, with one that suffices.

    Args:
        answer: The answer.
        needed: Quarters of a token of everything that has to be in it beside its text.
    """
    least = -(-(needed + TRAILER + MIN_TEXT) // (QUARTERS * ROUND_TOKENS)) * ROUND_TOKENS
    return NoRoomError(
        f"max_tokens={answer.max_tokens} leaves no room for any text of the answer.",
        kind="argument",
        hint=f"Give max_tokens={max(least, answer.max_tokens + ROUND_TOKENS)} or more.",
    )


def next_call(tool: str, **arguments: Json) -> str:
    """A line with the next useful call and its arguments."""
    return f"Next: {tool} {json.dumps(arguments, ensure_ascii=False)}"


def line_of(text: str, limit: int) -> str:
    """A text as one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def add_outline(document: Document, sections: Sequence[Section], answer: BoundedAnswer) -> None:
    """The headings, as deep as half of the room allows, each with its lines and the tokens below it."""
    source = document.encoded
    room = int(MAX_OUTLINE_SHARE * answer.room)
    lines: list[str] = []
    for depth in sorted({section.level for section in sections}):
        deeper = [_outline_line(source, section) for section in sections if section.level <= depth]
        if len(lines) > 1 and sum(size_of(line) + 1 for line in deeper) > room:
            break
        lines = deeper
    used = 0
    for number, line in enumerate(lines):
        used += size_of(line) + 1
        if used > room:
            answer.add(f"… and {len(lines) - number} more headings")
            break
        answer.add(line)


def _outline_line(source: bytes, section: Section) -> str:
    first = source.count(b"\n", 0, section.start) + 1
    last = max(first, source.count(b"\n", 0, section.tree_end))
    size = tokens_of(source[section.start : section.tree_end].decode("utf-8", "replace"))
    return f"{'  ' * (section.level - 1)}- {line_of(section.heading, 90)} {first}-{last} ({size})"
