"""Work trees whose repository lies elsewhere are served where both ends name each other, as Git makes them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from committing import committing, write
from commonplace.domain.addresses import Address
from commonplace.domain.errors import Code, ReadOnlyError
from commonplace.store import open_store
from commonplace.store.discovery import diagnose
from commonplace.store.git.layout import UntrustedRepositoryError
from support import GitRepo, MakeRepo

A = Address("a.md")


LOCAL = ("-c", "protocol.file.allow=always")


@pytest.fixture
def victim(git_repo: MakeRepo) -> GitRepo:
    """Somebody's repository, which no other folder may lead to."""
    return git_repo("victim", {"a.md": "# Private\n"})


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def refused(folder: Path, state: Path) -> UntrustedRepositoryError:
    """The error with which a folder is refused, in both modes, and which `doctor` repeats."""
    for commit in ("manual", "auto"):
        with pytest.raises(UntrustedRepositoryError) as caught:
            open_store(folder, commit=commit, state_dir=state)
    (diagnostic,) = [trouble for trouble in diagnose(folder, state) if trouble.severity == "error"]
    assert diagnostic.message == str(caught.value)
    assert caught.value.code is Code.GIT
    assert caught.value.hint
    assert str(folder.parent) not in f"{caught.value} {caught.value.hint}"
    return caught.value


def test_a_separate_git_dir_is_used_once_it_names_its_work_tree(victim: GitRepo, tmp_path: Path, state: Path) -> None:
    GitRepo(tmp_path).git("clone", "--quiet", "--separate-git-dir", "apart.git", str(victim.path), "work")
    repo = GitRepo(tmp_path / "work")
    error = refused(repo.path, state)
    subprocess.run(error.command, shell=True, check=True, timeout=60)  # noqa: S602 - what the error says
    store = committing(repo.path)
    write(store, "a.md", b"x")
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("log", "-1", "--format=%s") == "Write"


def test_a_linked_git_folder_is_used_once_it_names_its_work_tree(git_repo: MakeRepo, state: Path) -> None:
    repo = git_repo("work", {"a.md": "# A\n"})
    (repo.path / ".git").rename(repo.path.parent / "apart.git")
    (repo.path / ".git").symlink_to("../apart.git")
    subprocess.run(refused(repo.path, state).command, shell=True, check=True, timeout=60)  # noqa: S602 - as above
    write(committing(repo.path), "a.md", b"x")
    assert repo.git("status", "--porcelain") == ""


def test_a_linked_work_tree_that_was_moved_is_refused_until_git_has_repaired_it(
    victim: GitRepo, tmp_path: Path, state: Path
) -> None:
    victim.git("worktree", "add", "--quiet", "../linked", "-b", "side")
    (tmp_path / "linked").rename(tmp_path / "moved")
    moved = GitRepo(tmp_path / "moved")
    refused(moved.path, state)
    moved.git("worktree", "repair")
    write(committing(moved.path), "a.md", b"x")
    assert moved.git("status", "--porcelain") == ""


def test_a_linked_work_tree_of_a_submodule_is_written(victim: GitRepo, git_repo: MakeRepo, tmp_path: Path) -> None:
    outer = git_repo("outer", {"x.md": "x"})
    outer.git(*LOCAL, "submodule", "--quiet", "add", str(victim.path), "sub")
    GitRepo(outer.path / "sub").git("worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "side")
    linked = GitRepo(tmp_path / "linked")
    with pytest.raises(ReadOnlyError, match="submodule"):
        write(committing(linked.path), "a.md", b"x")
    assert committing(linked.path).history.log(A, limit=1)


def names_by_file(folder: Path, victim: GitRepo) -> None:
    """`.git` is a file that names the other repository."""
    (folder / ".git").write_text(f"gitdir: {victim.path}/.git\n")


def names_by_link(folder: Path, victim: GitRepo) -> None:
    """`.git` is a link to it."""
    (folder / ".git").symlink_to(victim.path / ".git")


def names_by_commondir(folder: Path, victim: GitRepo) -> None:
    """`.git` is a repository whose branches and objects are those of the other one."""
    GitRepo(folder).git("init", "--quiet", "--initial-branch=main")
    (folder / ".git/commondir").write_text(f"{victim.path}/.git\n")


def names_as_linked(folder: Path, victim: GitRepo) -> None:
    """`.git` names an entry of a linked work tree that the other repository does not have."""
    entry = folder / "entry"
    entry.mkdir()
    (entry / "HEAD").write_text("ref: refs/heads/main\n")
    (entry / "commondir").write_text(f"{victim.path}/.git\n")
    (entry / "gitdir").write_text(f"{folder}/.git\n")
    (folder / ".git").write_text("gitdir: entry\n")


def names_anothers_entry(folder: Path, victim: GitRepo) -> None:
    """`.git` names the entry of another linked work tree."""
    victim.git("worktree", "add", "--quiet", "../linked", "-b", "side")
    (folder / ".git").write_text(f"gitdir: {victim.path}/.git/worktrees/linked\n")


def names_by_objects(folder: Path, victim: GitRepo) -> None:
    """Objects and refs are links to those of the other one."""
    GitRepo(folder).git("init", "--quiet", "--initial-branch=main")
    for name in ("objects", "refs"):
        shutil.rmtree(folder / ".git" / name)
        (folder / ".git" / name).symlink_to(victim.path / ".git" / name)


def names_by_alternates(folder: Path, victim: GitRepo) -> None:
    """Objects are those of the other one, too."""
    GitRepo(folder).git("init", "--quiet", "--initial-branch=main")
    GitRepo(folder).write(".git/objects/info/alternates", f"{victim.path}/.git/objects\n")
    GitRepo(folder).write(".git/refs/heads/main", victim.git("rev-parse", "HEAD") + "\n")


WAYS = [
    names_by_file, names_by_link, names_by_commondir, names_as_linked, names_anothers_entry, names_by_objects,
    names_by_alternates,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_folder_whose_git_leads_to_another_repository_is_refused(
    victim: GitRepo, tmp_path: Path, state: Path, way: Callable[[Path, GitRepo], None]
) -> None:
    folder = tmp_path / "crafted"
    folder.mkdir()
    (folder / "a.md").write_text("# Crafted\n")
    way(folder, victim)
    before = {path: path.read_bytes() for path in victim.path.rglob("*") if path.is_file()}
    refused(folder, state)
    assert before == {path: path.read_bytes() for path in victim.path.rglob("*") if path.is_file()}


def test_objects_of_another_repository_are_used_where_the_user_names_that(
    victim: GitRepo, tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    GitRepo(tmp_path).git("clone", "--quiet", "--shared", str(victim.path), "shared")
    repo = GitRepo(tmp_path / "shared")
    error = refused(repo.path, state)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "own"))
    subprocess.run(error.command, shell=True, check=True, timeout=60)  # noqa: S602 - what the error says
    write(committing(repo.path), "a.md", b"x")
    assert repo.git("status", "--porcelain") == ""
