"""A revision is what `git hash-object` says of the bytes."""

from __future__ import annotations

import subprocess
from itertools import product
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.errors import ConflictError, InvalidInputError
from commonplace.domain.revisions import (
    changed_lines,
    changed_ranges,
    is_revision,
    line_marks,
    require_revision,
    revision_of,
)


@pytest.mark.parametrize("raw", [b"", b"# A\n", "Grüße\r\n".encode(), bytes(range(256))])
def test_a_revision_is_the_git_blob_id(raw: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(raw)
    printed = subprocess.run(["git", "hash-object", "--no-filters", file], capture_output=True, check=True, text=True)
    assert revision_of(raw) == printed.stdout.strip()


def test_the_current_revision_or_its_beginning_is_accepted() -> None:
    current = revision_of(b"text")
    require_revision(b"text", current)
    require_revision(b"text", current[:7].upper())


def test_another_revision_is_a_conflict_that_names_the_current_one() -> None:
    with pytest.raises(ConflictError) as caught:
        require_revision(b"text", revision_of(b"older text"))
    assert caught.value.context["current_revision"] == revision_of(b"text")


@each_case("text", ["", "abc", "g" * 40, "--output=x", "a" * 41, "HEAD~1"])
def test_what_is_no_revision_is_refused(text: str) -> None:
    assert not is_revision(text)
    with pytest.raises(InvalidInputError, match="7 to 40 hex digits"):
        require_revision(b"text", text)


def test_distant_changes_of_a_long_text_are_told_each(monkeypatch: pytest.MonkeyPatch) -> None:
    old = [f"line {at}" if at % 2 else "" for at in range(2_000)]
    new = [*old[:801], "changed", *old[802:1_401], "new", *old[1_401:]]
    assert changed_ranges(old, new) == [(801, 802, 801, 802), (1401, 1401, 1401, 1402)]
    raw = "\n".join(new).encode()
    descriptions = changed_lines(line_marks("\n".join(old).encode()), raw)
    assert descriptions == ("line 802 removed", "line 802 added: changed", "line 1402 added: new")
    texts = ["", "ab", "aab", "abcabba", "cbabac", "bbbb", "xaxbxcx", "abcdefg", "gfedcba"]
    for most in (256, 1):
        monkeypatch.setattr("commonplace.domain.revisions.MAX_EDITS", most)
        for a, b in product(texts, texts):
            parts, at = "", 0
            for old_start, old_end, new_start, new_end in changed_ranges(a, b):
                parts, at = parts + a[at:old_start] + b[new_start:new_end], old_end
            assert parts + a[at:] == b
    monkeypatch.undo()
    assert sum(each.old_end - each.old_start for each in changed_ranges("abcabba", "cbabac")) == 3
