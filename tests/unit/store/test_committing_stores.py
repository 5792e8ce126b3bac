"""A committing store beside a user of the git command: neither notices the other but in the history."""

from __future__ import annotations

import threading

import pytest

from committing import committing, write
from commonplace.domain.addresses import Address
from commonplace.domain.errors import GitError, UnavailableError
from commonplace.store.git import refs
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


def test_packed_references_and_objects_are_understood(repo: GitRepo) -> None:
    repo.git("pack-refs", "--all")
    repo.git("gc", "--quiet")
    commit = write(committing(repo.path), "a.md", b"# A2\n")
    assert repo.git("rev-parse", "HEAD") == commit
    repo.git("gc", "--quiet", "--prune=now")
    assert write(committing(repo.path), "a.md", b"# A3\n")
    repo.git("fsck", "--strict")


def test_the_reflog_tells_each_write(repo: GitRepo) -> None:
    store = committing(repo.path)
    first = write(store, "a.md", b"1", "One: ünï\n\nBody")
    second = write(store, "a.md", b"2", "Two")
    for name in ("HEAD", "main"):
        told = repo.git("reflog", "show", "--format=%H %gs", name).splitlines()[:2]
        assert told == [f"{second} commit: Two", f"{first} commit: One: ünï"]
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


def test_a_branch_that_moves_at_the_last_moment_is_built_upon(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    store = committing(repo.path)
    perform, moves = refs.RefUpdate.perform, iter(["one", "two"])

    def disturbed(advance: refs.RefUpdate, *arguments: object) -> bool:
        if (name := next(moves, None)) is not None:
            repo.git("commit", "--quiet", "--allow-empty", "-m", name)
        return perform(advance, *arguments)

    monkeypatch.setattr(refs.RefUpdate, "perform", disturbed)
    commit = write(store, "a.md", b"# ours\n", "ours")
    assert repo.git("log", "--format=%s").splitlines()[:3] == ["ours", "two", "one"]
    assert repo.git("rev-parse", "HEAD") == commit
    assert repo.git("status", "--porcelain") == ""
    repo.git("fsck", "--strict")


def test_a_branch_that_never_rests_is_a_git_error_and_nothing_is_changed(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    perform = refs.RefUpdate.perform

    def disturbed(advance: refs.RefUpdate, *arguments: object) -> bool:
        repo.git("commit", "--quiet", "--allow-empty", "-m", "again")
        return perform(advance, *arguments)

    monkeypatch.setattr(refs.RefUpdate, "perform", disturbed)
    with pytest.raises(GitError, match="kept committing"):
        write(committing(repo.path), "new/a.md", b"x")
    assert not (repo.path / "new").exists()
    assert repo.git("status", "--porcelain") == ""


def test_a_switch_of_branches_at_the_last_moment_is_a_git_error(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    place = refs.RefUpdate.write

    def switched(advance: refs.RefUpdate, *arguments: object) -> None:
        repo.git("switch", "--quiet", "--create", "other")
        place(advance, *arguments)

    monkeypatch.setattr(refs.RefUpdate, "write", switched)
    with pytest.raises(GitError, match="switched from refs/heads/main"):
        write(committing(repo.path), "a.md", b"x")
    assert repo.git("status", "--porcelain") == ""
    assert (repo.path / "a.md").read_text() == "# A\n"


def test_a_foreign_lock_on_the_branch_is_waited_for_and_then_told(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = repo.path / ".git/refs/heads/main.lock"
    lock.write_text("")
    timer = threading.Timer(0.1, lock.unlink)
    timer.start()
    assert write(committing(repo.path), "a.md", b"after the lock")
    timer.join()
    lock.write_text("")
    monkeypatch.setattr(refs, "WAIT_SECONDS", 0.02)
    with pytest.raises(UnavailableError, match="Another Git program is updating refs/heads/main"):
        write(committing(repo.path), "a.md", b"never")
    assert lock.exists()
    assert (repo.path / "a.md").read_bytes() == b"after the lock"
    lock.unlink()
    assert repo.git("status", "--porcelain") == ""
