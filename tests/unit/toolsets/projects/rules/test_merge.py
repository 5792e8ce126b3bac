"""Merges of two versions of a file of the store."""

from __future__ import annotations

from cases import each_case
from commonplace.toolsets.projects.rules.merge import MergeSides, conflict_unit, merge_file

KNOWLEDGE = "projects/app/knowledge/guide.md"


def same_or_none(sides: MergeSides) -> bytes | None:
    """A merge of lines that knows whole files alone."""
    if sides.theirs in {sides.ours, sides.base}:
        return sides.ours
    return sides.theirs if sides.ours == sides.base else None


def dated(date: str, text: str = "same") -> bytes:
    return f"---\ntitle: T\nupdated: {date}\n---\n{text}\n".encode()


@each_case(
    ("ours", "theirs", "merged"),
    [
        (dated("2026-02"), dated("2026-03"), dated("2026-03")),
        (dated("2026-03"), dated("2026-02"), dated("2026-03")),
        (dated("2026-02", "new"), dated("2026-03"), dated("2026-03", "new")),
        (dated("2026-02"), dated("2026-03", "new"), dated("2026-03", "new")),
        (dated("2026-02", "one"), dated("2026-03", "two"), None),
    ],
)
def test_a_date_that_both_sides_set_is_no_conflict(ours: bytes, theirs: bytes, merged: bytes | None) -> None:
    for path in (KNOWLEDGE, "projects/app/TODO/1/TASK-001-x.md"):
        assert merge_file(path, MergeSides(dated("2026-01"), ours, theirs), same_or_none) == merged


@each_case(
    "path", ["projects/app/main.md", "projects/app/knowledge/a/b.md", "other.md", "projects/app/knowledge/x.txt", ""]
)
def test_other_files_are_not_merged_by_date(path: str) -> None:
    sides = MergeSides(dated("1"), dated("2"), dated("3"))
    assert merge_file(path, sides, same_or_none) is None


def test_a_file_without_a_date_or_in_no_utf8_is_a_real_conflict() -> None:
    assert merge_file(KNOWLEDGE, MergeSides(b"a", b"b", b"c"), same_or_none) is None
    odd = b"---\nupdated: 3\n---\n\xff\n"
    assert merge_file(KNOWLEDGE, MergeSides(b"", odd, dated("1")), same_or_none) is None
    assert merge_file(KNOWLEDGE, MergeSides(b"", odd, odd), same_or_none) == odd


def test_the_list_of_projects_is_merged_by_project() -> None:
    base, ours, theirs = (f'{{"projects": {{{rows}}}}}'.encode() for rows in ("", '"a": "a"', '"b": "b"'))
    merged = merge_file("index.json", MergeSides(base, ours, theirs), same_or_none)
    assert merged is not None
    assert b'"a": "a"' in merged
    assert b'"b": "b"' in merged


@each_case(
    ("path", "unit"),
    [
        ("projects/app/TODO/12/TASK-001-x.md", "projects/app/TODO/12/"),
        ("projects/app/TODO/12/index.json", "projects/app/TODO/12/"),
        ("projects/app/TODO/x/index.json", ""),
        ("projects/app/main.md", ""),
        ("a/projects/app/TODO/1/x", ""),
    ],
)
def test_the_files_of_a_todo_list_conflict_together(path: str, unit: str) -> None:
    assert conflict_unit(path) == unit
