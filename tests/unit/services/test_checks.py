"""Problems of a folder as a person at a terminal reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.services.checks import QUESTIONS_FILE, check_pages, check_questions
from indexed import Indexed

PAGES = {
    "b.md": "# B\n\nSee [[gone]].\n\nAnd [[lost]] too, with a\u200bb.\n",
    "a.md": "---\ntitle: A\n---\nSee [[b]] and [[nowhere]].\n",
}


def test_problems_come_by_path_and_line(tmp_path: Path) -> None:
    with Indexed(tmp_path, PAGES) as base:
        rows = [(issue.path, issue.line, issue.rule) for issue in check_pages(base.collections, base.collection)]
    assert rows == sorted(rows)
    assert [(path, line) for path, line, rule in rows if rule == "broken_link"] == [
        ("a.md", 4),
        ("b.md", 3),
        ("b.md", 5),
    ]
    assert ("b.md", 5, "invisible_character") in rows


def test_a_folder_without_pages_and_without_questions_has_no_problem(tmp_path: Path) -> None:
    with Indexed(tmp_path) as base:
        assert check_pages(base.collections, base.collection) == []
        assert check_questions(base.collection) == (0, [])


def test_a_question_that_is_not_answered_says_what_is_missing_and_what_came_instead(tmp_path: Path) -> None:
    questions = "- question: What purrs?\n  pages: [cat]\n- question: What barks?\n  pages: [cat, wolf]\n"
    with Indexed(tmp_path, {"cat.md": "# Cat\n\nA cat purrs.\n", "dog.md": "# Dog\n\nIt barks.\n"}) as base:
        base.write(QUESTIONS_FILE, questions)
        count, issues = check_questions(base.collection)
    assert count == 2
    assert [(issue.path, issue.rule, issue.severity.value) for issue in issues] == [
        (QUESTIONS_FILE, "unanswered_question", "error")
    ]
    assert "'What barks?'" in issues[0].message
    assert "there is no page 'wolf'" in issues[0].message
    assert "Found: dog" in issues[0].message


def test_broken_questions_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        base.write(QUESTIONS_FILE, "- question: [\n")
        with pytest.raises(ConfigError) as error:
            check_questions(base.collection)
    assert error.value.kind == "questions"
    assert str(tmp_path) not in f"{error.value}{error.value.hint}"
