"""A revision is what `git hash-object` says of the bytes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.errors import ConflictError, InvalidInputError
from commonplace.domain.revisions import is_revision, require_revision, revision_of


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
