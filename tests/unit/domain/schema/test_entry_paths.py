"""The path of a new entry is made of the pattern of its type and the values of the entry."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json
from commonplace.domain.schema import MAX_WIDTH, EntryType, new_entry_path, path_pattern, placeholders

VALUES: dict[str, Json] = {
    "date": "2026-03-04",
    "status": "In review",
    "number": 7,
    "title": "Größe & Maß",
    "empty": "",
    "words": "...",
    "large": 2**40,
    "metadata": {"team": "Red / Team"},
}


def decision(subdirectory: str = "", pattern: str = "") -> EntryType:
    return EntryType(name="Design decision", subdirectory=subdirectory, file_pattern=pattern)


@each_case(
    ("subdirectory", "pattern", "path"),
    [
        ("", "", "a-choice.md"),
        ("decisions", "", "decisions/a-choice.md"),
        ("decisions", "{date}-{slug}.md", "decisions/2026-03-04-a-choice.md"),
        ("decisions", "decisions/{id}.md", "decisions/a-choice.md"),
        ("decisions/{status}", "{number:04d}-{slug}.md", "decisions/in-review/0007-a-choice.md"),
        ("{type}/{year}/{month}/{day}", "{team}", "design-decision/2026/03/04/red-team"),
        ("", "{{{id}}}.md", "{a-choice}.md"),
        ("", f"{{number:0{MAX_WIDTH}d}}", "7".rjust(MAX_WIDTH, "0")),
    ],
)
def test_the_path_is_the_folder_and_the_pattern_filled(subdirectory: str, pattern: str, path: str) -> None:
    assert new_entry_path(decision(subdirectory, pattern), "a-choice", VALUES) == path


@each_case(
    ("pattern", "said"),
    [
        ("{owner}/{id}", "'owner', which the entry does not have"),
        ("{empty}", "'empty', which the entry does not have"),
        ("{id.__class__}", "is no name of a field"),
        ("{id!r}", "is no name of a field"),
        ("{title:{status}}", "is no name of a field"),
        ("{}", "is no name of a field"),
        ("{title:04d}", "does not fit the format"),
        ("{large:c}", "does not fit the format 'c'"),
        ("{number:999999999d}", "is wider than 99 characters"),
        ("{title:>100}", "is wider than 99 characters"),
        ("{id", "is no pattern"),
        ("id}", "is no pattern"),
        ("{words}", "makes no file name"),
    ],
)
def test_a_path_that_cannot_be_made_is_refused_with_the_reason_and_the_next_step(pattern: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said) as refused:
        new_entry_path(decision(pattern=pattern), "a-choice", VALUES)
    assert refused.value.kind == "schema"
    assert refused.value.hint


def test_without_a_date_the_parts_of_a_date_are_missing() -> None:
    with pytest.raises(InvalidInputError, match="'date', which the entry does not have") as refused:
        new_entry_path(decision(pattern="{year}/{id}"), "a-choice", {})
    assert refused.value.hint == "Give date."


def test_a_value_cannot_lead_out_of_the_folder() -> None:
    path = new_entry_path(decision("safe", "{status}.md"), "a", {"status": "../../etc/passwd"})
    assert path == "safe/etc-passwd.md"


def test_a_pattern_with_the_folder_in_front_does_not_repeat_it() -> None:
    assert path_pattern(decision("a", "a/{id}")) == "a/{id}"
    assert path_pattern(decision("a", "ab/{id}")) == "a/ab/{id}"


def test_the_parts_of_a_pattern_are_its_literals_and_fields() -> None:
    assert list(placeholders("a-{id}/{n:04d}.md")) == [("a-", "id", ""), ("/", "n", "04d"), (".md", None, "")]
    assert list(placeholders("")) == []
