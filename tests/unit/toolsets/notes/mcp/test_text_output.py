"""Answers within a number of tokens, which say their size."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.toolsets.notes.mcp.text_output import MAX_ANSWER_TOKENS, BoundedAnswer, line_of, next_call, tokens_of


@pytest.mark.parametrize("budget", [20, 50, 200, 1_000])
def test_an_answer_keeps_to_its_budget_whatever_is_added(budget: int) -> None:
    answer = BoundedAnswer(budget)
    answer.reserve("A line at the end.")
    added = answer.add_all(f"Line {number} 文." for number in range(10_000))
    answer.release()
    answer.add("A line at the end.")
    text = answer.text("A sentence.", "", "x" * 100_000)
    assert tokens_of(text) <= budget
    assert text.count("Line") == added
    assert text.endswith(" tokens)")


def test_no_caller_is_given_more_than_the_largest_answer() -> None:
    answer = BoundedAnswer(10**9)
    answer.add_all("x" * 1_000 for _ in range(1_000))
    assert tokens_of(answer.text()) <= MAX_ANSWER_TOKENS
    assert answer.cut


def test_after_a_line_that_had_no_room_none_is_added_until_room_is_given_back() -> None:
    answer = BoundedAnswer(50)
    assert not answer.add("x" * 1_000)
    assert (answer.cut, answer.add("y")) == (True, False)
    answer.release()
    assert answer.add("y")


def test_a_line_is_shortened_to_the_room_that_is_left() -> None:
    answer = BoundedAnswer(50)
    assert answer.add_shortened("short")
    assert answer.add_shortened("z" * 1_000)
    assert "z…" in answer.text()
    assert not BoundedAnswer(0).add_shortened("text")
    assert BoundedAnswer(0).text() == "(4 tokens)"


def test_the_next_call_stays_at_the_moment_of_the_answer() -> None:
    assert BoundedAnswer(50, "2026-01-01").following("read", page="é") == 'Next: read {"page": "é", "at": "2026-01-01"}'
    assert BoundedAnswer(50).following("read") == next_call("read") == "Next: read {}"


@each_case(
    ("text", "limit", "line"),
    [("a\n b", 5, "a b"), ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("ab cdef", 4, "ab…"), ("", 3, "")],
)
def test_a_text_becomes_one_line_of_at_most_so_many_characters(text: str, limit: int, line: str) -> None:
    assert line_of(text, limit) == line
