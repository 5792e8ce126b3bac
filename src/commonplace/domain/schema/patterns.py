"""Regular expressions of a `kb.yaml`: each match ends in time, whoever wrote the expression."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Protocol

MAX_SECONDS = 0.5
"""CPU time that one match may take. Expressions that people write need a thousandth of it."""
MAX_LENGTH = 2_000
"""Maximum length of an expression in characters."""
_BRACE = re.compile(r"\\N\{[^}]*\}|\\.|\{\d+(?:,\d*)?\}|\{,\d*\}|(\{)", re.DOTALL)
"""Captures a brace that begins no count: for Python's engine it is a character, for the other a rough match."""


class _Compiled(Protocol):
    """An expression of the package `regex`, which has no types."""

    def fullmatch(self, text: str, /, *, timeout: float) -> object: ...
    def search(self, text: str, /, *, timeout: float) -> object: ...


class Expression:
    """A valid expression. One that once took too long matches everything from then on: it constrains nothing."""

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

    Python's own engine says what is valid. Its matching may take time exponential in the text
    (https://en.wikipedia.org/wiki/ReDoS) and cannot be ended, so another one matches.

    Args:
        pattern: The expression.
        by_line: Whether it ignores case, and its `^` and `$` are the ends of each line.
    """
    return _compiled(pattern, by_line)


@lru_cache(maxsize=256)
def _compiled(pattern: str, by_line: bool, /) -> Expression | None:
    engine = import_module("regex")  # here, as most bases have no expression
    flags = engine.VERSION0 | (engine.IGNORECASE | engine.MULTILINE if by_line else 0)
    if len(pattern) > MAX_LENGTH:
        return None
    try:
        re.compile(pattern)
        return Expression(engine.compile(_BRACE.sub(lambda m: rf"\{m[0]}" if m[1] else m[0], pattern), flags))
    except (re.error, engine.error, ValueError, OverflowError, RecursionError, MemoryError):
        return None
