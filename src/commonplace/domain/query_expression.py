"""Searches with operators: `AND`, `OR` and `NOT` in capitals between words.

Words without an operator between them form a group and are all required. Such a group binds most closely, then `NOT`,
`AND` and `OR`, as in the full-text queries of SQLite (https://www.sqlite.org/fts5.html#fts5_boolean_operators).
Parentheses group; unbalanced parentheses count as blanks. An operator that is not between two operands is a word. So is
every `AND`, `OR` and `NOT` in a text in capitals (`TERMS AND CONDITIONS`), and in a question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

T = TypeVar("T")
U = TypeVar("U")

_TOKEN = re.compile(r'-?"[^"]*"|[()]|[^\s"()]+')
OPERATORS = ("AND", "OR", "NOT")
MAX_DEPTH = 20
"""Maximum number of nested groups; deeper parentheses count as blanks."""


@dataclass(frozen=True, slots=True)
class Leaf(Generic[T]):
    """One word or quotation."""

    term: T


@dataclass(frozen=True, slots=True)
class Junction(Generic[T]):
    """Several operands: all must match, any must match, or the first must match and none of the others."""

    kind: Literal["all", "any", "but"]
    parts: tuple[Expression[T], ...]


Expression: TypeAlias = "Leaf[T] | Junction[T]"


def has_operators(text: str) -> bool:
    """Whether `AND`, `OR` and `NOT` may be operators in a text.

    A letter besides them must be lower-case, or all of them must be of scripts without case.
    """
    letters = "".join(word for word in text.split() if word.strip("()") not in OPERATORS)
    return letters.lower() == letters.upper() or not letters.isupper()


def read_expression(
    text: str, is_question: Callable[[Sequence[str]], bool] = lambda _: False
) -> Expression[str] | None:
    """The expression that a search contains; None for a search without an operator between two operands.

    Args:
        text: The search, with straight, balanced quotation marks. The terms in the result are as written; quotations
            include their marks.
        is_question: Whether the unquoted words of an operand belong to a question, which has no expression.
    """
    tokens = [part for part in _TOKEN.findall(text) if any(map(str.isalnum, part)) or part in {"(", ")"}]
    tokens = _grouped(tokens)
    at = frozenset(_operators(tokens))
    if not at or any(is_question(words) for words in _operands(tokens, at)):
        return None
    return _Reader(tokens, at).expression()


def leaves(expression: Expression[T], *, negative: bool = False) -> Iterator[T]:
    """The terms that a document must or may contain; with `negative`, those that it must not contain."""
    if isinstance(expression, Leaf):
        if not negative:
            yield expression.term
        return
    for number, part in enumerate(expression.parts):
        excluded = expression.kind == "but" and number > 0
        yield from leaves(part, negative=negative != excluded)


def changed(expression: Expression[T], change: Callable[[T], U]) -> Expression[U]:
    """The expression with other terms."""
    if isinstance(expression, Leaf):
        return Leaf(change(expression.term))
    return Junction(expression.kind, tuple(changed(part, change) for part in expression.parts))


def holds(expression: Expression[T], contains: Callable[[T], bool]) -> bool:
    """Whether a document matches.

    Args:
        expression: The expression.
        contains: Whether the document contains a term.
    """
    if isinstance(expression, Leaf):
        return contains(expression.term)
    first, *others = expression.parts
    if expression.kind == "but":
        return holds(first, contains) and not any(holds(one, contains) for one in others)
    found = (holds(one, contains) for one in expression.parts)
    return all(found) if expression.kind == "all" else any(found)


def _grouped(tokens: list[str]) -> list[str]:
    """The tokens without parentheses that are unbalanced, empty or too deep."""
    depth = deepest = 0
    for part in tokens:
        depth += (part == "(") - (part == ")")
        deepest = max(deepest, depth)
        if depth < 0:
            break
    sound = depth == 0 and deepest <= MAX_DEPTH and "()" not in "".join(tokens)
    return tokens if sound else [part for part in tokens if part not in {"(", ")"}]


def _operators(tokens: list[str]) -> Iterator[int]:
    """Positions of the operators; `AND NOT` is one."""
    before = False
    """Whether an operand ends immediately before the current token."""
    for at, part in enumerate(tokens):
        following = tokens[at + 1] if at + 1 < len(tokens) else ")"
        joins = part == "AND" and following == "NOT" and at + 2 < len(tokens)
        if before and part in OPERATORS and (joins or following not in {")", *OPERATORS}):
            yield at
            before = joins
        else:
            before = part != "("


def _operands(tokens: Sequence[str], operators: frozenset[int]) -> list[list[str]]:
    """The unquoted words of each operand."""
    operands: list[list[str]] = [[]]
    for at, part in enumerate(tokens):
        if at in operators or part in {"(", ")"}:
            operands.append([])
        elif not part.startswith(('"', "-")):
            operands[-1].append(part)
    return operands


@dataclass(slots=True)
class _Reader:
    """Reads tokens from left to right."""

    tokens: list[str]
    operators: frozenset[int]
    at: int = 0

    def expression(self) -> Expression[str]:
        """Read operands separated by `OR`."""
        return self._joined("any", "OR", self._conjunction)

    def _conjunction(self) -> Expression[str]:
        return self._joined("all", "AND", self._exclusion)

    def _exclusion(self) -> Expression[str]:
        return self._joined("but", "NOT", self._group)

    def _joined(
        self, kind: Literal["all", "any", "but"], operator: str, operand: Callable[[], Expression[str]]
    ) -> Expression[str]:
        parts = [operand()]
        while self._is_operator(operator):
            self.at += 1
            parts.append(operand())
        return parts[0] if len(parts) == 1 else Junction(kind, tuple(parts))

    def _is_operator(self, operator: str) -> bool:
        if self.at not in self.operators:
            return False
        if self.at + 1 in self.operators:  # `AND NOT`
            if operator != "NOT":
                return False
            self.at += 1
        return self.tokens[self.at] == operator

    def _group(self) -> Expression[str]:
        """Read operands without an operator between them."""
        wanted: list[Expression[str]] = []
        unwanted: list[Expression[str]] = []
        while self.at < len(self.tokens) and self.at not in self.operators and self.tokens[self.at] != ")":
            part = self.tokens[self.at]
            self.at += 1
            if part == "(":
                wanted.append(self.expression())
                self.at += 1
            elif part.startswith("-") and (wanted or unwanted):
                unwanted.append(Leaf(part.removeprefix("-")))
            else:
                wanted.append(Leaf(part.removeprefix("-") if not wanted and len(part) > 1 else part))
        whole = wanted[0] if len(wanted) == 1 else Junction("all", tuple(wanted))
        return Junction("but", (whole, *unwanted)) if unwanted else whole
