"""Only expressions that match in reasonable time are used."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.validation import compiled

SLOW = (
    "(a{1,30}){1,30}b", "(?:a{0,50}b?){0,50}c", "(a+)+b", "(a|aa|b|ab)*c", "(a|a?)+b", "(?=(a+)+b)a", r"(a|ab?)*\1d",
    "(.*?,?){25}P", "a?" * 40 + "a" * 40,
)  # fmt: skip


@pytest.mark.parametrize("pattern", SLOW)
@pytest.mark.parametrize("by_line", [False, True])
def test_a_match_of_whatever_expression_ends(pattern: str, by_line: bool) -> None:
    """Python's own engine needs longer than anybody waits for each of them, as texts or as bodies."""
    expression = compiled(pattern, by_line=by_line)
    assert expression is not None
    for text in ("a" * 499 + "!", "ab" * 249 + "!", ("a" * 499 + "!\n") * 40):
        expression.matches(text)
        expression.occurs_in(text)


def test_an_expression_that_took_too_long_constrains_nothing_from_then_on() -> None:
    expression = compiled("(x{1,31}){1,31}y")
    assert expression is not None
    assert not expression.matches("no")
    assert not expression.too_slow
    assert expression.matches("x" * 500)
    assert expression.too_slow
    assert expression.matches("no")
    assert expression.occurs_in("no")


@each_case(
    "pattern",
    ["(", ")", "[", "a{9,1}", "*", "(?P<1>a)", "a{1,99999999999}", "(" * 1000, "\\", "a" * 2001, "a(?i)b", "(?<=a+)b"],
)
def test_an_expression_that_is_invalid_is_not_used(pattern: str) -> None:
    assert compiled(pattern) is None


@each_case(
    ("pattern", "text"),
    [
        ("", ""),
        ("[A-Z]{2}-[0-9]+", "AB-17"),
        (r"(\(+\))?", "((("[:2] + ")"),
        ("(a|b)+", "abba"),
        ("[(a+)]+", "(+)"),
        (r"\d{4}-\d{2}", "2026-03"),
        ("(?:ab)+c*", "ababcc"),
        (r"\(a+\)+", "(aa))"),
        ("[]+)(]+", "]+)("),
        ("[^]+]+", "abc"),
        (r"[\]+]+", "]+"),
        ("a{2}{", "aa{"),
        ("漢+", "漢漢"),
        ("[a-z]+(-[a-z]+)*", "one-two-three"),
        (r"(\d{1,3}\.){3}\d{1,3}", "127.0.0.1"),
        (r"(\d+,?)*", "1,22,3"),
        ("(?:foo){e}", "foo{e}"),
        (r"\{x[{]\N{LATIN SMALL LETTER A}{2}{", "{x{aa{"),
    ],
)
def test_any_other_expression_is_used_as_it_is(pattern: str, text: str) -> None:
    expression = compiled(pattern)
    assert expression is not None
    assert expression.matches(text)
    assert expression.occurs_in(f"{text}")
    assert not expression.too_slow


def test_by_line_ignores_case_and_looks_at_each_line() -> None:
    by_line, exact = compiled("^straße$", by_line=True), compiled("^straße$")
    assert by_line is not None
    assert exact is not None
    assert by_line.occurs_in("a\nSTRAßE\nb")
    assert not exact.occurs_in("a\nstraße\nb")
    assert not exact.matches("STRAßE")
