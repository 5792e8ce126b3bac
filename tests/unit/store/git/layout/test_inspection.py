"""Entries that Git never creates in its own folder are rejected before they are opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.domain.errors import KnowledgeError
from commonplace.store import open_store
from support import MakeRepo


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.mark.parametrize("kind", ["link", "pipe", "huge", "folder"])
@pytest.mark.parametrize(
    "name",
    ["HEAD", "index", "packed-refs", "shallow", "refs/heads/main", "refs/heads/x", "commondir", "config",
     "info/exclude", "objects/info/alternates", "objects/aa", "objects/pack/x.idx", "objects/aa/bb"],
)  # fmt: skip
def test_what_git_never_makes_in_its_folder_is_refused_before_it_is_opened(
    git_repo: MakeRepo, state: Path, name: str, kind: str
) -> None:
    repo = git_repo("work", {"a.md": "# A\n"})
    file = repo.path / ".git" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    if kind == "link":
        file.symlink_to(os.devnull)
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "huge":
        with file.open("wb") as opened:
            opened.truncate(1 << 40)
    else:
        file.mkdir()
    if (name.startswith("objects/") and kind in {"huge", "folder"} and "alternates" not in name) or (
        name.startswith("refs") and kind == "folder"
    ):
        open_store(repo.path, commit="auto", state_dir=state)  # an object's size is looked at when it is read
        return
    with pytest.raises(KnowledgeError) as caught:
        open_store(repo.path, commit="auto", state_dir=state)
    assert caught.value.hint
