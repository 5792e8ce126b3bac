"""Only expressions that match in reasonable time are used."""

from __future__ import annotations

import re

import pytest

from commonplace.domain.schema.patterns import compiled


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+", "(a*)*b", "((ab)+c)*", "(a|b+)+", "([ab]{2,})+", "(?:x+){3}", "((a+))+", r"(\d+,?)*", "(a{1,})*"],
)
def test_a_group_that_repeats_and_is_repeated_is_not_used(pattern: str) -> None:
    assert compiled(pattern) is None


@pytest.mark.parametrize("pattern", ["(", ")", "[", "a{9,1}", "*", "(?P<1>a)", "a{1,99999999999}", "(" * 5000, "\\"])
def test_an_expression_that_is_invalid_is_not_used(pattern: str) -> None:
    assert compiled(pattern) is None


@pytest.mark.parametrize(
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
    ],
)
def test_any_other_expression_is_used_as_it_is(pattern: str, text: str) -> None:
    expression = compiled(pattern)
    assert expression is not None
    assert expression.fullmatch(text)


def test_flags_are_part_of_the_expression() -> None:
    ignoring, exact = compiled("straße", re.IGNORECASE), compiled("straße")
    assert ignoring is not None
    assert exact is not None
    assert ignoring.fullmatch("STRAßE")
    assert not exact.fullmatch("STRAßE")
