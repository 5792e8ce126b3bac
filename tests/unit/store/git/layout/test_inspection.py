"""Entries that Git never creates in its own folder are rejected before they are opened."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from commonplace.domain.errors import KnowledgeError
from commonplace.store import open_store
from injection.audit_events import before, ends_with, once
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


@pytest.mark.parametrize("name", ["refs/heads/topic", "objects/ab"])
def test_what_git_removes_while_it_is_looked_at_is_no_reason_to_serve_without_history(
    git_repo: MakeRepo, state: Path, name: str
) -> None:
    repo = git_repo("work", {"a.md": "# A\n"})
    folder = repo.path / ".git" / name
    folder.mkdir(exist_ok=True)
    with before("os.scandir", ends_with(name), once(lambda: shutil.rmtree(folder))) as calls:
        assert open_store(repo.path, commit="manual", state_dir=state).history.available
    assert calls


def test_a_repository_that_cannot_be_read_is_said_where_its_history_is_asked_for(
    git_repo: MakeRepo, state: Path
) -> None:
    repo = git_repo("work", {"a.md": "# A\n"})
    (repo.path / ".git/config").write_text("[core\n")
    history = open_store(repo.path, commit="manual", state_dir=state).history
    assert not history.available
    assert history.absence.startswith("its Git repository could not be read (")
