"""Every limit of an argument at it, one below and one above."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cases import each_case
from commonplace.domain.errors import InvalidInputError, TooLargeError
from commonplace.toolsets.projects.rules import limits

SIZED: dict[str, tuple[Callable[[str], object], int, int, str]] = {
    "project_id": (limits.check_project_id, 1, 100, "project_id"),
    "filename": (limits.check_filename, 1, 255, "filename"),
    "title": (lambda text: limits.check_title("Title", text), 1, 200, "title"),
    "introduction": (limits.check_introduction, 0, 2000, "introduction"),
    "keyword": (lambda text: limits.check_keywords([text]), 1, 50, "keywords"),
    "query": (limits.check_query, 1, 200, "query"),
    "summary": (limits.check_summary, 1, 500, "summary"),
    "description": (limits.check_description, 1, 500, "description"),
    "chapter": (limits.check_chapter, 1, 1024 * 1024, "content"),
    "main": (limits.check_main, 0, 10 * 1024 * 1024, "content"),
    "task": (limits.check_task, 0, 100 * 1024, "content"),
}


@pytest.mark.parametrize("name", SIZED)
def test_a_text_may_be_as_long_as_its_limit_and_no_longer(name: str) -> None:
    check, least, most, kind = SIZED[name]
    for length in (least, least + 1, most - 1, most):
        check("x" * length)
    for length in [most + 1, *([least - 1] if least else [])]:
        with pytest.raises((InvalidInputError, TooLargeError)) as caught:
            check("x" * length)
        assert caught.value.kind == kind


@each_case(
    "bad",
    ["..", "a..b", "a/b", "a\\b", "a:b", "a*", "a?", 'a"', "a<", "a>", "a|", "a\0", " a", "a ", ".a", "a.", "a\nb"],
)
def test_an_id_that_no_folder_may_have_is_refused(bad: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        limits.check_project_id(bad)
    assert caught.value.kind == "project_id"


@each_case("bad", ["a/b", "a\\b", "a\0", "..", "a..b", " "])
def test_a_filename_that_leaves_its_folder_is_refused(bad: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        limits.check_filename(bad)
    assert caught.value.kind == "filename"


@pytest.mark.parametrize("blank", ["\u200b", "\u200d \u2060", "\u00ad", "\u3164"])
def test_a_new_title_is_visible_and_one_that_is_there_may_be_named(blank: str) -> None:
    with pytest.raises(InvalidInputError, match="no visible character"):
        limits.check_title("Chapter title", blank)
    assert limits.check_title("Chapter title", blank, is_new=False) == blank.strip()


def test_counts_have_limits_too() -> None:
    limits.check_chapter_count(50)
    assert len(limits.check_query(" ".join(f"w{n}" for n in range(20)))) == 20
    with pytest.raises(TooLargeError):
        limits.check_chapter_count(51)
    with pytest.raises(InvalidInputError):
        limits.check_query(" ".join(f"w{n}" for n in range(21)))
    with pytest.raises(InvalidInputError):
        limits.check_keywords([])
