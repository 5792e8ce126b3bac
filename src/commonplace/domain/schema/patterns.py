"""Regular expressions of a `kb.yaml`: only those that match in reasonable time are used."""

from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d*,?\d*\}|.", re.DOTALL)
"""An escape, a class of characters, a count, or one character."""


@lru_cache(maxsize=256)
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str] | None:
    """The expression; None if it is invalid, or repeats a group that itself repeats (`(a+)+`).

    Matching the latter can take time exponential in the text. https://en.wikipedia.org/wiki/ReDoS
    """
    if _repeats_repetition(pattern):
        return None
    try:
        return re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError):
        return None


def _repeats_repetition(pattern: str) -> bool:
    repeats = [False]
    """For each open group, whether it contains a repetition of unknown length."""
    closed = False
    """Whether the token before closed a group that contains one."""
    for token in _TOKEN.findall(pattern):
        repetition = token in {"*", "+"} or (token.startswith("{") and token.endswith(",}"))
        counted = token.startswith("{") and len(token) > 1
        if closed and (repetition or counted):
            return True
        closed = False
        if token == "(":  # noqa: S105 - a parenthesis
            repeats.append(False)
        elif token == ")" and len(repeats) > 1:  # noqa: S105 - a parenthesis
            closed = repeats.pop()
            repeats[-1] |= closed
        else:
            repeats[-1] |= repetition
    return False
