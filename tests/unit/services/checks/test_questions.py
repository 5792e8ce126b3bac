"""Golden questions: which are answered, and what is wrong with a broken file."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.errors import ConfigError
from commonplace.services.checks import GoldenQuestion, ask, check_questions, golden_questions, read_questions
from commonplace.services.collections import Collection
from indexed import Indexed

PAGES: dict[str, str | bytes] = {
    "green.md": "# Green tea\n\n## Brewing\n\nWater of 80 degrees.\n",
    "black.md": "# Black tea\n\n## Brewing\n\nBoiling water.\n",
    "long.md": "# Kettles\n\n" + "A kettle boils. " * 200,
}


def test_a_question_is_answered_when_all_its_pages_are_within_the_budget(tmp_path: Path) -> None:
    with Indexed(tmp_path, PAGES) as base:
        collection = Collection("base", base.store, base.index)
        assert golden_questions(collection) is None
        assert check_questions(collection) == (0, [])
        both = ask(collection, GoldenQuestion("tea brewing water", ("green", "black.md"), 1000))
        assert both.is_answered
        small = ask(collection, GoldenQuestion("kettle boils", ("long",), 50))
        assert small.missing == ("long.md",)
        unknown = ask(collection, GoldenQuestion("tea", ("white.md",), 1000))
        assert (unknown.unknown, unknown.missing, unknown.is_answered) == (("white.md",), (), False)


def test_a_finding_says_what_was_asked_and_what_was_found_instead(tmp_path: Path) -> None:
    requested_text = "- question: boiling\n  pages: [green]\n- {question: green tea, pages: green.md, budget: 200}\n"
    with Indexed(tmp_path, {**PAGES, "questions.yaml": requested_text}) as base:
        count, problems = check_questions(Collection("base", base.store, base.index))
    assert count == 2
    (problem,) = problems
    assert problem.rule == "unanswered_question"
    assert problem.message.startswith("'boiling': green.md not found within 1,000 tokens. Found: ")


@each_case(
    ("text", "said"),
    [
        ("", "it is not a list"),
        ("question: a", "it is not a list"),
        ("- [", "line "),
        ("- just text", "question 1 is not a mapping"),
        ("- {pages: [a]}", "question 1 has no question"),
        ("- {question: a}", "question 1 names no pages"),
        ("- {question: a, pages: []}", "question 1 names no pages"),
        ("- {question: a, pages: [1]}", "question 1 names no pages"),
        ("- {question: a, pages: [b], budget: 10}", "budget that is not a number from 50 to 100,000"),
        ("- {question: a, pages: [b], budget: true}", "budget that is not"),
        ("- {question: a, pages: [b], buget: 100}", "the unknown key 'buget'"),
        ("- {question: a, pages: [b]}\n- 1", "question 2 is not a mapping"),
        ("- &x {question: a, pages: [b]}\n- *x", "line "),
    ],
)
def test_a_broken_file_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_questions(text.encode())
    assert said in str(caught.value)
    assert "Give a list of entries" in caught.value.hint
