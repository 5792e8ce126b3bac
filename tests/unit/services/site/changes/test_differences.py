"""Differences of two versions, line by line."""

from __future__ import annotations

import pytest

from commonplace.services.site.changes import differences


def test_a_comparison_marks_the_words_that_differ() -> None:
    rows = differences("same\nthe old word\nlast\n", "same\nthe new word\nlast\nmore\n")

    changed = next(row for row in rows if row.kind == "changed")
    assert [text for is_changed, text in changed.old if is_changed] == ["old"]
    assert [text for is_changed, text in changed.new if is_changed] == ["new"]
    assert [row.kind for row in rows if row.kind != "same"] == ["changed", "added"]
    assert differences("a\nb", "a\nb") == []


def test_a_comparison_of_long_versions_is_bounded() -> None:
    old = "\n".join(f"line {number}" for number in range(20_000))

    rows = differences(old, old.replace("line 10000\n", "changed\n"))

    assert [row.kind for row in rows if row.kind != "gap"] == ["changed"]


@pytest.mark.parametrize(("old", "new"), [("", ""), ("a\n", "a\n"), ("a\r\n", "a\n")])
def test_versions_that_read_alike_have_no_rows_of_change(old: str, new: str) -> None:
    assert [row.kind for row in differences(old, new) if row.kind not in {"same", "gap"}] == []


def test_what_comes_and_goes_is_shown_on_its_side() -> None:
    assert [row.kind for row in differences("", "a\nb")] == ["added", "added"]
    assert [row.kind for row in differences("a\n", "")] == ["removed"]


def test_lines_end_where_an_editor_ends_them() -> None:
    rows = differences("a\u2028b\x0bc\r\nd\n", "a\u2028b\x0bc\nD\n")
    assert [(row.kind, row.old_number, row.new_number) for row in rows] == [("same", 1, 1), ("changed", 2, 2)]
