"""Regular expressions of a `kb.yaml`, matched with a time limit, because the expressions are untrusted."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Protocol

MAX_SECONDS = 0.5
"""Maximum CPU time of one match in seconds. Ordinary expressions need a thousandth of it."""
MAX_LENGTH = 2_000
"""Maximum length of an expression in characters."""
_BRACE = re.compile(r"\\N\{[^}]*\}|\\.|\{\d+(?:,\d*)?\}|\{,\d*\}|(\{)", re.DOTALL)
"""Captures a brace that does not begin a repetition count: a literal in `re`, but fuzzy matching in `regex`."""


class _Compiled(Protocol):
    """A compiled expression of the package `regex`, which has no type annotations."""

    def fullmatch(self, text: str, /, *, timeout: float) -> object: ...
    def search(self, text: str, /, *, timeout: float) -> object: ...


class Expression:
    """A valid expression. After a match has taken too long, the expression matches everything."""

    def __init__(self, expression: _Compiled) -> None:
        self._expression = expression
        self.too_slow = False
        """Whether a match took too long."""

    def matches(self, text: str) -> bool:
        """Whether the expression matches the whole text."""
        return self._answer(self._expression.fullmatch, text)

    def occurs_in(self, text: str) -> bool:
        """Whether the expression matches a part of the text."""
        return self._answer(self._expression.search, text)

    def _answer(self, match: Callable[..., object], text: str) -> bool:
        if not self.too_slow:
            try:
                return match(text, timeout=MAX_SECONDS) is not None
            except (TimeoutError, MemoryError):
                self.too_slow = True
        return True


def compiled(pattern: str, *, by_line: bool = False) -> Expression | None:
    """The expression; None if it is invalid or too long.

    Python's `re` determines whether the expression is valid. Matching uses the package `regex`, which has a timeout: a
    match by `re` may take exponential time (https://en.wikipedia.org/wiki/ReDoS) and cannot be interrupted.

    Args:
        pattern: The expression.
        by_line: Whether to ignore case, and to match `^` and `$` at the ends of each line.
    """
    return _compiled(pattern, by_line)


@lru_cache(maxsize=256)
def _compiled(pattern: str, by_line: bool, /) -> Expression | None:
    engine = import_module("regex")  # imported on demand: most bases have no expression
    flags = engine.VERSION0 | (engine.IGNORECASE | engine.MULTILINE if by_line else 0)
    if len(pattern) > MAX_LENGTH:
        return None
    try:
        re.compile(pattern)
        return Expression(engine.compile(_BRACE.sub(lambda m: rf"\{m[0]}" if m[1] else m[0], pattern), flags))
    except (re.error, engine.error, ValueError, OverflowError, RecursionError, MemoryError):
        return None
