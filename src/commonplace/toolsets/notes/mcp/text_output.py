"""Text answers that keep within a number of tokens and say their size."""

from __future__ import annotations

import json
from collections.abc import Iterable

from commonplace.domain.json import Json

CHARACTERS_PER_TOKEN = 4
"""Characters that count as one token."""
MAX_ANSWER_TOKENS = 50_000
"""Tokens of one answer at the most, whatever the caller allows: clients refuse messages of megabytes."""
TRAILER = 56
"""Characters kept for the last line: the size, and a first sentence beside it."""


def tokens_of(text: str) -> int:
    """The size of a text in tokens, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


class BoundedAnswer:
    """An answer that is filled line by line while there is room.

    Args:
        max_tokens: The budget of the whole answer, its last line included.
        at: The moment of the past that it is about; "" for now.
    """

    def __init__(self, max_tokens: int, at: str = "") -> None:
        self._at = at
        self._room = CHARACTERS_PER_TOKEN * min(max_tokens, MAX_ANSWER_TOKENS)
        self._lines: list[str] = []
        self._used = 0
        self._reserved = TRAILER
        self.cut = False
        """Whether something was left out for want of room."""

    @property
    def room(self) -> int:
        """Characters that are left for further lines, each with its line end."""
        return max(0, self._room - self._used - self._reserved - 1)

    def following(self, tool: str, **arguments: Json) -> str:
        """The next useful call at the same moment."""
        return next_call(tool, **arguments, **({"at": self._at} if self._at else {}))

    def reserve(self, text: str) -> None:
        """Keep room for a line that is added at the end."""
        self._reserved += len(text) + 1

    def release(self) -> None:
        """Give back the room that was kept with `reserve`."""
        self._reserved = TRAILER
        self.cut = False

    def add(self, line: str) -> bool:
        """Add a line if there is room for it, and return whether there was."""
        if self.cut or len(line) > self.room:
            self.cut = True
            return False
        self._lines.append(line)
        self._used += len(line) + 1
        return True

    def add_shortened(self, line: str) -> bool:
        """Add a line, cut to the room that is left."""
        room = self.room
        return self.add(line) if len(line) <= room else self.add(f"{line[: max(0, room - 1)]}…") if room > 1 else False

    def add_all(self, lines: Iterable[str]) -> int:
        """Add lines until one has no room, and return how many were added."""
        added = 0
        for line in lines:
            if not self.add(line):
                break
            added += 1
        return added

    def text(self, *last: str) -> str:
        """The answer with these sentences, as far as there is room for each, and its size at the end."""
        self._reserved = TRAILER
        kept: list[str] = []
        for sentence in last:
            if sentence and len(sentence) + 1 <= self.room:
                kept.append(sentence)
                self._used += len(sentence) + 1
        body = "\n".join([*self._lines, *kept])
        size = tokens_of(body) + 4
        return f"{body}\n({size} tokens)" if body else f"({size} tokens)"


def next_call(tool: str, **arguments: Json) -> str:
    """The next useful call, with its arguments filled in."""
    return f"Next: {tool} {json.dumps(arguments, ensure_ascii=False)}"


def line_of(text: str, limit: int) -> str:
    """A text as one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
