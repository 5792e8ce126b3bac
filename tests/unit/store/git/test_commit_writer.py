"""A committing store beside a user of the git command: neither notices the other but in the history."""

from __future__ import annotations

import pytest

from committing import committing, write
from commonplace.domain.addresses import Address
from support import GitRepo, MakeRepo

A = Address("a.md")


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """Two documents in a repository."""
    return git_repo("repo", {"a.md": "# A\n", "b.md": "# B\n", "dir/c.md": "# C\n"})


def test_what_the_user_has_staged_or_changed_stays_out_of_the_commit(repo: GitRepo) -> None:
    repo.write("b.md", "# staged\n")
    repo.write("staged-new.md", "new\n")
    repo.git("add", "--all")
    repo.write("dir/c.md", "# changed\n")
    repo.write("untracked.md", "x\n")
    before = repo.git("status", "--porcelain")
    write(committing(repo.path), "a.md", b"# A2\n")
    assert repo.git("status", "--porcelain") == before
    assert repo.git("show", "--format=", "--name-only", "HEAD") == "a.md"


@pytest.mark.parametrize("path", ["a.md", "dir/c.md", "new.md", "dir/new.md", "x/y/new.md", "Z.md", "a", "dir.md"])
def test_the_next_plain_commit_of_something_else_reverts_nothing(repo: GitRepo, path: str) -> None:
    write(committing(repo.path), path, b"written\n")
    repo.write("b.md", "# by the user\n")
    repo.git("add", "b.md")
    repo.git("commit", "--quiet", "-m", "User")
    assert repo.git("show", f"HEAD:{path}") == "written"
    assert repo.git("show", "--format=", "--name-only", "HEAD") == "b.md"
    assert repo.git("status", "--porcelain") == ""
    repo.git("fsck", "--strict")


def test_a_removal_is_not_brought_back_by_the_next_plain_commit(repo: GitRepo) -> None:
    with committing(repo.path).transaction("Remove") as transaction:
        transaction.remove(Address("dir/c.md"))
    assert repo.git("status", "--porcelain") == ""
    repo.git("commit", "--quiet", "--allow-empty", "-m", "User")
    assert repo.git("ls-tree", "-r", "--name-only", "HEAD").splitlines() == ["a.md", "b.md"]


def test_the_write_is_newer_than_what_was_staged_for_the_same_file(repo: GitRepo) -> None:
    repo.write("a.md", "# staged\n")
    repo.git("add", "a.md")
    write(committing(repo.path), "a.md", b"# written\n")
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("show", ":a.md") == "# written"


def test_a_dirty_file_that_becomes_what_the_last_commit_has_makes_no_commit(repo: GitRepo) -> None:
    repo.write("a.md", "# dirty\n")
    assert write(committing(repo.path), "a.md", b"# A\n") == ""
    assert repo.git("status", "--porcelain") == ""


def test_the_first_commit_of_a_new_repository_is_made_on_its_branch(git_repo: MakeRepo) -> None:
    repo = git_repo("new")
    repo.git("symbolic-ref", "HEAD", "refs/heads/some/branch")
    store = committing(repo.path)
    assert not store.history.available
    commit = write(store, "a.md", b"# A\n")
    assert repo.git("rev-parse", "some/branch") == commit
    assert repo.git("log", "--format=%P|%s") == "|Write"
    assert repo.git("status", "--porcelain") == ""


def test_the_reflog_tells_each_write(repo: GitRepo) -> None:
    store = committing(repo.path)
    first = write(store, "a.md", b"1", "One: ünï\n\nBody")
    second = write(store, "a.md", b"2", "Two")
    for name in ("HEAD", "main"):
        lines = repo.git("reflog", "show", "--format=%H %gs", name).splitlines()[:2]
        assert lines == [f"{second} commit: Two", f"{first} commit: One: ünï"]
    repo.git("config", "core.logAllRefUpdates", "false")
    (repo.path / ".git/logs/HEAD").unlink()
    write(store, "a.md", b"3", "Three")
    assert not (repo.path / ".git/logs/HEAD").exists()


def test_commits_from_outside_during_a_transaction_are_kept(repo: GitRepo) -> None:
    store = committing(repo.path)
    with store.transaction("Ours") as transaction:
        transaction.put(A, b"# ours\n")
        repo.commit("Theirs", **{"b.md": "# theirs\n"})
    assert repo.git("log", "--format=%s").splitlines()[:2] == ["Ours", "Theirs"]
    assert repo.git("show", "HEAD:b.md") == "# theirs"
    assert repo.git("show", "HEAD:a.md") == "# ours"
    assert repo.git("status", "--porcelain") == ""
