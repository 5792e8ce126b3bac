"""An index of any version is changed in a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.store.git.index_file import IndexEntry, changed_copy
from support import GitRepo, MakeRepo


def listed(repo: GitRepo) -> list[str]:
    return repo.git("ls-files", "--stage").splitlines()


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_entries_are_set_added_and_removed_in_the_copy_alone(git_repo: MakeRepo, version: str) -> None:
    repo = git_repo(files={"a.md": "a", "b.md": "b", "x/c.md": "c"})
    repo.git("update-index", "--index-version", version)
    index, before = repo.path / ".git/index", listed(repo)
    new = repo.git("rev-parse", "HEAD:b.md")
    changes = {
        "a.md": IndexEntry(new, 0o100644, None),
        "b.md": None,
        "漢字.md": IndexEntry(new, 0o100755, None),
        "none.md": None,
    }
    changed_copy(index, index.with_name("beside"), changes)
    assert listed(repo) == before
    index.with_name("beside").replace(index)
    parts = {line.split("\t")[1].strip('"'): line.split()[:2] for line in listed(repo)}
    assert parts["a.md"] == ["100644", new]
    assert sorted(mode for mode, _ in parts.values()) == ["100644", "100644", "100755"]
    assert "b.md" not in parts


def test_an_index_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        changed_copy(tmp_path / "none", tmp_path / "beside", {})
