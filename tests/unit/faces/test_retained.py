"""The place of bytes that a write removed, and the command that restores them."""

from __future__ import annotations

import shlex
from dataclasses import replace

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.changes import RetainedCopy
from commonplace.faces.retained import (
    MAX_NAMED,
    day,
    in_no_commit,
    retained_json,
    retained_line,
    retained_lines,
    retained_list,
)

REVISION, COMMIT = "ab" * 20, "cd" * 20
TRASHED = RetainedCopy(Address("notes/a.md"), REVISION, "trash", until=1_800_000_000)
COMMITTED = RetainedCopy(Address("notes/a.md"), REVISION, "commit", commit=COMMIT)
OBJECT = RetainedCopy(Address("notes/a.md"), REVISION, "object")


def test_each_place_is_told_with_the_command_that_brings_the_text_back() -> None:
    assert retained_json(TRASHED) == {
        "path": "notes/a.md",
        "revision": REVISION,
        "place": "trash",
        "until": "2027-01-15",
        "restore": "commonplace restore notes/a.md --at abababababab",
    }
    assert retained_json(COMMITTED) == {
        "path": "notes/a.md",
        "revision": REVISION,
        "place": "commit",
        "commit": COMMIT,
        "restore": "commonplace restore notes/a.md --at cdcdcdcdcdcd",
    }
    assert retained_json(replace(OBJECT, staged=True))["staged"] is True
    assert "until" not in retained_json(OBJECT)


def test_each_place_is_told_in_a_sentence() -> None:
    assert retained_line(COMMITTED).startswith("Commit cdcdcdcdcd has the last text of notes/a.md: commonplace restore")
    assert "old text of notes/a.md: it is kept until 2027-01-15" in retained_line(TRASHED)
    assert "staged text of notes/a.md: it is a Git object" in retained_line(replace(OBJECT, staged=True))


def test_what_a_commit_has_needs_no_warning() -> None:
    assert in_no_commit([COMMITTED, TRASHED, OBJECT]) == [TRASHED, OBJECT]


@each_case(
    "path",
    ["a b.md", "it's.md", "-rf.md", "$(rm x).md", "a;b.md", "茶/道.md", 'a"b.md', "a\\b.md", "!x.md", "*.md"],
)
def test_the_command_is_one_word_for_the_path_whatever_it_contains(path: str) -> None:
    command = str(retained_json(replace(TRASHED, address=Address(path)))["restore"])
    assert shlex.split(command) == ["commonplace", "restore", path, "--at", REVISION[:12]]


def test_a_plain_path_is_not_quoted() -> None:
    assert "'" not in str(retained_json(replace(TRASHED, address=Address("a_b/c-d.1.md")))["restore"])


@each_case(
    ("count", "last"),
    [
        (0, None),
        (1, "No commit had"),
        (MAX_NAMED, "No commit had"),
        (MAX_NAMED + 1, "1 more file was kept:"),
        (MAX_NAMED + 2_000, "2,000 more files were kept:"),
    ],
)
def test_a_long_list_is_cut_and_says_how_much_is_left(count: int, last: str | None) -> None:
    copies = [replace(TRASHED, address=Address(f"{number}.md")) for number in range(count)]
    lines = retained_lines(copies)
    assert len(retained_list(copies)) == min(count, MAX_NAMED)
    assert len(lines) == min(count, MAX_NAMED + 1)
    assert last is None or lines[-1].startswith(last)


def test_a_day_is_one_of_utc() -> None:
    assert (day(0), day(86_399.9), day(86_400)) == ("1970-01-01", "1970-01-01", "1970-01-02")
