"""Linked work trees are written like the main one; a sparse checkout loses nothing that it leaves out."""

from __future__ import annotations

import os
import subprocess

import pytest

from committing import committing, write
from commonplace.domain.addresses import Address
from commonplace.store.discovery import diagnose
from support import GitRepo, MakeRepo

A = Address("in/a.md")


FILES = {"in/a.md": "# A\n", "out/b.md": "# B\n", "out/c.md": "# C\n", "top.md": "# Top\n"}


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("repo", FILES)


@pytest.fixture
def linked(repo: GitRepo) -> GitRepo:
    """A second work tree of the repository, on a branch of its own."""
    repo.git("worktree", "add", "--quiet", "../linked", "-b", "side")
    return GitRepo(repo.path.parent / "linked")


def test_a_linked_work_tree_commits_to_its_own_branch(repo: GitRepo, linked: GitRepo) -> None:
    main = repo.git("rev-parse", "main")
    store, other = committing(linked.path), committing(repo.path)
    for number in range(3):
        write(store, "in/a.md", f"side {number}\n".encode())
        write(other, "in/a.md", f"main {number}\n".encode())
    assert linked.git("show", "side:in/a.md") == "side 2"
    assert repo.git("show", "main:in/a.md") == "main 2"
    for tree in (repo, linked):
        assert tree.git("status", "--porcelain") == ""
        assert tree.git("rev-list", "--count", f"{main}..HEAD") == "3"
        assert len(tree.git("reflog", "show", "HEAD").splitlines()) >= 3
    assert len(repo.git("reflog", "show", "side").splitlines()) == 4
    assert [commit.message for commit in store.history.log(A, limit=2)] == ["Write\n", "Write\n"]
    assert not list((repo.path / ".git").rglob("commonplace-*"))
    repo.git("fsck", "--strict")


def test_stale_locks_of_a_linked_work_tree_are_found_where_git_leaves_them(repo: GitRepo, linked: GitRepo) -> None:
    common, own = repo.path / ".git", repo.path / ".git" / "worktrees" / "linked"
    for lock in (own / "index.lock", common / "packed-refs.lock", common / "refs/heads/side.lock"):
        lock.touch()
        os.utime(lock, (0, 0))
    (common / "index.lock").touch()  # of the main work tree: none of this one's business
    locked = [
        trouble for trouble in diagnose(linked.path, linked.path.parent / "state") if trouble.command.startswith("rm ")
    ]
    assert sorted(trouble.message.split(",")[0].split()[-1] for trouble in locked) == [
        "index.lock", "packed-refs.lock", "refs/heads/side.lock",
    ]  # fmt: skip
    removals = [trouble.command.partition(" && ")[0] for trouble in locked]  # the rest runs the installed program
    subprocess.run(["sh", "-c", "; ".join(removals)], check=True)
    linked.commit("Works again", **{"new.md": "x"})


def test_what_is_staged_in_a_linked_work_tree_stays_staged(linked: GitRepo) -> None:
    linked.write("top.md", "staged\n")
    linked.git("add", "top.md")
    write(committing(linked.path), "in/a.md", b"x\n")
    assert linked.git("status", "--porcelain") == "M  top.md"


def test_a_linked_work_tree_that_was_removed_and_one_that_is_detached_are_told(repo: GitRepo, linked: GitRepo) -> None:
    store = committing(linked.path)
    linked.git("switch", "--quiet", "--detach")
    assert "on no branch" in store.read_only_reason
    linked.git("switch", "--quiet", "side")
    assert store.read_only_reason == ""
    repo.git("worktree", "remove", str(linked.path))
    assert store.read_only_reason
