"""Many cases in one test: all are tried, and those that fail are named."""

from __future__ import annotations

import inspect

import pytest

from cases import each_case

tried: list[tuple[int, str]] = []


@each_case("number", range(3))
@each_case(("text", "expected"), [("a", 0), ("b", 1)])
def nested(number: int, text: str, expected: int, folder: str) -> None:
    tried.append((number, text + folder))
    assert number == expected, "not equal"


def test_every_case_is_tried_and_those_that_fail_are_named() -> None:
    tried.clear()
    with pytest.raises(BaseExceptionGroup, match="3 of 3 cases fail") as caught:
        nested(folder="/")
    assert tried == [(number, text) for number in range(3) for text in ("a/", "b/")]
    assert [error.__notes__ for error in caught.value.exceptions] == [["case 0: 0"], ["case 1: 1"], ["case 2: 2"]]
    assert [len(leaves(error)) for error in caught.value.exceptions] == [1, 1, 2]
    assert [error.__notes__ for error in leaves(caught.value)] == [["case 1: 'b', 1"], ["case 0: 'a', 0"]] + [
        [f"case {number}: {text!r}, {number}"] for number, text in ((0, "a"), (1, "b"))
    ]


def leaves(error: BaseException) -> list[BaseException]:
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return [leaf for each in inner for leaf in leaves(each)] if inner else [error]


def test_a_missing_error_is_a_failure_like_any_other() -> None:
    @each_case("text", ["1", "x", "2"], ids=["one", "word", "two"])
    def refused(text: str) -> None:
        with pytest.raises(ValueError, match="invalid"):
            int(text)

    with pytest.raises(BaseExceptionGroup) as caught:
        refused()
    assert [error.__notes__ for error in caught.value.exceptions] == [["case 0: one"], ["case 2: two"]]


def test_what_no_case_gives_is_left_to_fixtures() -> None:
    assert list(inspect.signature(nested).parameters) == ["folder"]


@each_case(("arguments", "cases"), [("a", []), ("a, b", [(1,)]), (["a", "b"], [(1, 2, 3)])])
def test_a_table_with_a_hole_is_refused_at_once(arguments: str | list[str], cases: list[object]) -> None:
    with pytest.raises((AssertionError, TypeError)):
        each_case(arguments, cases)
