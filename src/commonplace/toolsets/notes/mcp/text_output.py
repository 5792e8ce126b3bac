"""Text answers within a token budget that state their size."""

from __future__ import annotations

import json
from collections.abc import Iterable

from commonplace.domain.json import Json

CHARACTERS_PER_TOKEN = 4
"""Number of characters that count as one token."""
MAX_ANSWER_TOKENS = 50_000
"""Maximum number of tokens in one answer, whatever the caller allows: clients refuse messages of megabytes."""
TRAILER = 56
"""Number of characters reserved for the last line: the size, and a first sentence."""


def tokens_of(text: str) -> int:
    """The size of a text in tokens, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


class BoundedAnswer:
    """An answer that is filled line by line within a budget.

    Args:
        max_tokens: The budget of the whole answer, including its last line.
        at: The past moment that the answer describes; "" for now.
    """

    def __init__(self, max_tokens: int, at: str = "") -> None:
        self._at = at
        self._room = CHARACTERS_PER_TOKEN * min(max_tokens, MAX_ANSWER_TOKENS)
        self._lines: list[str] = []
        self._used = 0
        self._reserved = TRAILER
        self.cut = False
        """Whether text was omitted for lack of room."""

    @property
    def room(self) -> int:
        """Number of characters left for further lines including their line ends."""
        return max(0, self._room - self._used - self._reserved - 1)

    def following(self, tool: str, **arguments: Json) -> str:
        """The next useful call, for the same moment."""
        return next_call(tool, **arguments, **({"at": self._at} if self._at else {}))

    def reserve(self, text: str) -> None:
        """Reserve room for a line that is added at the end."""
        self._reserved += len(text) + 1

    def release(self) -> None:
        """Release the room that `reserve` reserved."""
        self._reserved = TRAILER
        self.cut = False

    def add(self, line: str) -> bool:
        """Add a line if it fits; return whether it was added."""
        if self.cut or len(line) > self.room:
            self.cut = True
            return False
        self._lines.append(line)
        self._used += len(line) + 1
        return True

    def add_shortened(self, line: str) -> bool:
        """Add a line, truncated to the remaining room; return whether it was added."""
        room = self.room
        return self.add(line) if len(line) <= room else self.add(f"{line[: max(0, room - 1)]}…") if room > 1 else False

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
        kept: list[str] = []
        for sentence in last:
            if sentence and len(sentence) + 1 <= self.room:
                kept.append(sentence)
                self._used += len(sentence) + 1
        body = "\n".join([*self._lines, *kept])
        size = tokens_of(body) + 4
        return f"{body}\n({size} tokens)" if body else f"({size} tokens)"


def next_call(tool: str, **arguments: Json) -> str:
    """A line with the next useful call and its arguments."""
    return f"Next: {tool} {json.dumps(arguments, ensure_ascii=False)}"


def line_of(text: str, limit: int) -> str:
    """A text as one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
