"""Recovery of an interrupted write at the next start if the user was there first, or the disk is unusual."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import StorageError
from commonplace.domain.ports import Store
from commonplace.store import open_store
from injection.audit_events import Arguments, before, ends_with, raising
from support import GitRepo, MakeRepo

A, B, NEW = Address("a.md"), Address("b.md"), Address("p/new.md")


@pytest.fixture(params=["plain", "git"])
def repo(request: pytest.FixtureRequest, tmp_path: Path, git_repo: MakeRepo) -> GitRepo:
    """Two documents, in a repository or not."""
    files = {"a.md": "# A\n", "b.md": "# B\n"}
    if request.param == "git":
        return git_repo("repo", files)
    for name, content in files.items():
        GitRepo(tmp_path / "plain").write(name, content)
    return GitRepo(tmp_path / "plain")


def opened(repo: GitRepo) -> Store:
    """Open the store as after a new start."""
    commit = "auto" if (repo.path / ".git").exists() else "manual"
    return open_store(repo.path, commit="auto" if commit == "auto" else "manual", state_dir=repo.path.parent / "state")


BEFORE_ANY_NAME = ("os.mkdir", "p")
BEFORE_NAMES = ("os.link", "a.md")
"""All files are written under temporary names."""
AFTER_NAMES = ("os.remove", "-0.old")
"""The last step without Git; with Git, the branch has already moved."""
BEFORE_BRANCH = ("os.link", "main.lock")


def cut_off(repo: GitRepo, step: tuple[str, str]) -> None:
    """Begin a write and kill its process before a call."""
    event, name = step

    def matches(arguments: Arguments) -> bool:
        return str(arguments[0]) == name or ends_with(name)(arguments)

    child = os.fork()
    if not child:
        with before(event, matches, lambda: os._exit(9)):
            write_all_three(opened(repo))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def after_names(repo: GitRepo) -> tuple[str, str]:
    """The step at which all files have their names, and the branch has not moved."""
    return BEFORE_BRANCH if (repo.path / ".git").exists() else AFTER_NAMES


def write_all_three(store: Store) -> None:
    """Change one file, make one, remove one."""
    with store.transaction("Cut off") as transaction:
        transaction.put(A, b"# A2\n")
        transaction.put(NEW, b"# New\n")
        transaction.remove(B)


def write_both(store: Store) -> None:
    """Change one file and make one."""
    with store.transaction("Fails") as transaction:
        transaction.put(A, b"# A3\n")
        transaction.put(Address("q/new.md"), b"# New\n")


def names(repo: GitRepo) -> set[str]:
    """Every file, hidden ones too."""
    posixes = {path.relative_to(repo.path).as_posix() for path in repo.path.rglob("*") if path.is_file()}
    return {name for name in posixes if not name.startswith(".git/")}


def clean(repo: GitRepo) -> bool:
    """Whether Git has nothing to say."""
    return not (repo.path / ".git").exists() or repo.git("status", "--porcelain") == ""


def test_a_write_whose_files_were_ready_is_finished(repo: GitRepo) -> None:
    cut_off(repo, after_names(repo))
    assert opened(repo).recover() == ["finished an interrupted write of a.md, p/new.md, b.md"]
    assert names(repo) == {"a.md", "p/new.md"}
    assert clean(repo)


def test_a_write_that_the_user_has_overtaken_is_undone_around_his_change(repo: GitRepo) -> None:
    cut_off(repo, BEFORE_NAMES)
    repo.write("a.md", "# by the user\n")
    assert opened(repo).recover() == ["undid an interrupted write of a.md, p/new.md, b.md"]
    assert names(repo) == {"a.md", "b.md"}
    assert repo.path.joinpath("a.md").read_text() == "# by the user\n"


def test_a_change_after_all_names_were_changed_is_kept_and_the_rest_finished(repo: GitRepo) -> None:
    cut_off(repo, after_names(repo))
    repo.write("a.md", "# by the user\n")
    opened(repo).recover()
    assert names(repo) == {"a.md", "p/new.md"}
    assert repo.path.joinpath("a.md").read_text() == "# by the user\n"
    if (repo.path / ".git").exists():
        assert repo.git("status", "--porcelain") == " M a.md"
        assert repo.git("log", "-1", "--format=%s") == "Cut off"


def test_the_next_writer_repairs_too(repo: GitRepo) -> None:
    cut_off(repo, BEFORE_ANY_NAME)
    with opened(repo).transaction("Next") as transaction:
        transaction.put(A, b"# next\n")
    assert names(repo) == {"a.md", "b.md"}
    assert clean(repo)


def test_a_repair_leaves_a_live_writer_alone(repo: GitRepo) -> None:
    cut_off(repo, BEFORE_NAMES)
    other = opened(repo)
    with opened(repo)._writer.lock.held(), ThreadPoolExecutor(1) as another:
        assert another.submit(other.recover).result() == []


def test_an_interrupt_at_the_keyboard_leaves_all_or_nothing(repo: GitRepo) -> None:
    for event, name, kept_flag in [("os.mkdir", "p", False), ("os.remove", ".old", True)]:
        store = opened(repo)
        with before(event, ends_with(name), raising(KeyboardInterrupt())), pytest.raises(KeyboardInterrupt):
            write_all_three(store)
        opened(repo).recover()
        assert names(repo) == ({"a.md", "p/new.md"} if kept_flag else {"a.md", "b.md"})
        assert clean(repo)


def test_a_switch_of_branches_after_the_kill_undoes(git_repo: MakeRepo) -> None:
    repo = git_repo("repo", {"a.md": "# A\n", "b.md": "# B\n"})
    cut_off(repo, BEFORE_BRANCH)
    repo.git("symbolic-ref", "HEAD", "refs/heads/other")
    repo.git("update-ref", "refs/heads/other", "refs/heads/main")
    opened(repo).recover()
    assert names(repo) == {"a.md", "b.md"}
    assert repo.git("log", "--all", "--format=%s") == "Begin"
    assert repo.git("status", "--porcelain") == ""


def test_a_commit_by_the_user_after_the_kill_is_built_upon(git_repo: MakeRepo) -> None:
    repo = git_repo("repo", {"a.md": "# A\n", "b.md": "# B\n", "c.md": "# C\n"})
    cut_off(repo, BEFORE_BRANCH)
    repo.write("c.md", "# C2\n")
    repo.git("commit", "--quiet", "-m", "User", "c.md")
    opened(repo).recover()
    assert repo.git("log", "--format=%s").splitlines() == ["Cut off", "User", "Begin"]
    assert repo.git("ls-tree", "-r", "--name-only", "HEAD").splitlines() == ["a.md", "c.md", "p/new.md"]
    assert repo.git("status", "--porcelain") == ""


def test_a_user_who_commits_everything_after_the_kill_loses_nothing(git_repo: MakeRepo) -> None:
    repo = git_repo("repo", {"a.md": "# A\n", "b.md": "# B\n"})
    cut_off(repo, after_names(repo))
    repo.git("add", "a.md", "p", "b.md")
    repo.git("commit", "--quiet", "-m", "User")
    opened(repo).recover()
    assert repo.git("log", "--format=%s").splitlines() == ["User", "Begin"]
    assert names(repo) == {"a.md", "p/new.md"}
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("fails", [False, True])
def test_a_disk_without_hard_links_is_written_as_safely(repo: GitRepo, fails: bool) -> None:
    """FAT and some network disks have none; here the call refuses as it does there."""

    with before("os.link", lambda _: True, raising(OSError(errno.EPERM, "Operation not permitted"))):
        store = opened(repo)
        with store.transaction("Written") as transaction:
            transaction.put(A, b"# A2\n")
            transaction.put(NEW, b"# New\n")
        assert names(repo) == {"a.md", "b.md", "p/new.md"}
        assert clean(repo)
        if fails:
            broken = raising(OSError(errno.EIO, "Input/output error"))
            with (
                before("os.rename", lambda arguments: arguments[1] == "new.md", broken),
                pytest.raises(StorageError, match="Input/output error"),
            ):
                write_both(store)
            assert store.read(A) == b"# A2\n"
            assert names(repo) == {"a.md", "b.md", "p/new.md"}
            assert not (repo.path / "q").exists()
            assert clean(repo)
