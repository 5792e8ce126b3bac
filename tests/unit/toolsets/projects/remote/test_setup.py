"""The store of projects at its first start, when others start, too, or one was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pygit2

from commonplace.domain.changes import Author
from commonplace.toolsets.projects.remote.setup import OpenedProjectStore, open_project_store
from support import GitRepo

WHO = Author("A", "a@example.org")


def opened(home: Path, place: Path) -> OpenedProjectStore:
    return open_project_store(home, place / "state", WHO)


def test_who_starts_while_another_makes_the_repository_waits_for_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    folder = os.open(home, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    (home / ".git").mkdir()
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(opened, home, tmp_path)
        pygit2.init_repository(str(home), initial_head="main")
        os.close(folder)
        assert second.result(60).store.read_only_reason == ""
    assert GitRepo(home).git("status", "--porcelain") == ""


def test_a_start_that_was_killed_in_the_middle_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name, lacks in ((".commonplace-making-half", ("HEAD",)), (".commonplace-making-whole", ())):
        pygit2.init_repository(str(home / name))
        for file in lacks:
            (home / name / ".git" / file).unlink()
    (home / ".commonplace-making-empty").mkdir()
    assert opened(home, tmp_path).store.read_only_reason == ""
    assert sorted(path.name for path in home.iterdir()) == [".git", ".gitignore", "index.json"]
    assert "making" not in GitRepo(home).git("ls-tree", "-r", "--name-only", "HEAD")
    shutil.rmtree(home / ".git")
    assert opened(home, tmp_path).store.history.available, "what is there is in the first commit of a new repository"


def test_a_folder_of_somebody_else_stays_however_it_is_called(tmp_path: Path) -> None:
    home = tmp_path / "home"
    film = home / ".commonplace-making-of" / "film.md"
    film.parent.mkdir(parents=True)
    film.write_text("# Film\n")
    (home / ".commonplace-making-notes.md").write_text("# Notes\n")
    (home / ".commonplace-making-link").symlink_to(film.parent)
    assert opened(home, tmp_path).store.read_only_reason == ""
    assert film.read_text() == "# Film\n"
    assert (home / ".commonplace-making-notes.md").exists()
