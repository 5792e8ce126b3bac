"""The branch moves by compare-and-swap, whatever other programs do to it."""

from __future__ import annotations

import threading

import pytest

from committing import committing, write
from commonplace.domain.errors import GitError, UnavailableError
from commonplace.store.git import refs
from injection.audit_events import before, ends_with, once
from support import GitRepo, MakeRepo


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """Two documents in a repository."""
    return git_repo("repo", {"a.md": "# A\n", "b.md": "# B\n", "dir/c.md": "# C\n"})


def test_packed_references_and_objects_are_understood(repo: GitRepo) -> None:
    repo.git("pack-refs", "--all")
    repo.git("gc", "--quiet")
    commit = write(committing(repo.path), "a.md", b"# A2\n")
    assert repo.git("rev-parse", "HEAD") == commit
    repo.git("gc", "--quiet", "--prune=now")
    assert write(committing(repo.path), "a.md", b"# A3\n")
    repo.git("fsck", "--strict")


def test_a_branch_that_moves_at_the_last_moment_is_built_upon(repo: GitRepo) -> None:
    store = committing(repo.path)
    moves = iter(["one", "two"])

    def disturb() -> None:
        if (name := next(moves, None)) is not None:
            repo.git("commit", "--quiet", "--allow-empty", "-m", name)

    with before("os.link", ends_with("main.lock"), disturb):
        commit = write(store, "a.md", b"# ours\n", "ours")
    assert repo.git("log", "--format=%s").splitlines()[:3] == ["ours", "two", "one"]
    assert repo.git("rev-parse", "HEAD") == commit
    assert repo.git("status", "--porcelain") == ""
    repo.git("fsck", "--strict")


def test_a_branch_that_never_rests_is_a_git_error_and_nothing_is_changed(repo: GitRepo) -> None:
    def disturb() -> None:
        repo.git("commit", "--quiet", "--allow-empty", "-m", "again")

    with before("os.link", ends_with("main.lock"), disturb), pytest.raises(GitError, match="kept committing"):
        write(committing(repo.path), "new/a.md", b"x")
    assert not (repo.path / "new").exists()
    assert repo.git("status", "--porcelain") == ""


def test_a_switch_of_branches_at_the_last_moment_is_a_git_error(repo: GitRepo) -> None:
    switch = once(lambda: repo.git("switch", "--quiet", "--create", "other"))
    with before("open", ends_with(".ref"), switch), pytest.raises(GitError, match="switched from refs/heads/main"):
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
