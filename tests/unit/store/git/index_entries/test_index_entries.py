"""After a committed write Git's index is up to date for the paths written, whatever state it is in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from committing import committing, write
from commonplace.domain.addresses import Address
from commonplace.domain.errors import GitError
from commonplace.domain.ports import Store
from injection.audit_events import before, ends_with, raising
from support import GitRepo, MakeRepo

A = Address("a.md")


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """Two documents in a repository."""
    return git_repo("repo", {"a.md": "# A\n", "b.md": "# B\n", "dir/c.md": "# C\n"})


def test_a_stale_index_lock_neither_fails_nor_delays_and_is_mended_later(repo: GitRepo) -> None:
    store = committing(repo.path)
    lock = repo.path / ".git/index.lock"
    lock.write_bytes(b"half an index")
    assert write(store, "a.md", b"# one\n")
    with store.transaction("Two") as transaction:
        transaction.put(A, b"# two\n")
        transaction.put(Address("new.md"), b"# new\n")
        transaction.remove(Address("b.md"))
    assert repo.git("show", "HEAD:a.md") == "# two"
    assert lock.read_bytes() == b"half an index"
    assert store.recover() == ["brought 0 index entries up to date; 3 still wait for index.lock"]
    lock.unlink()
    assert committing(repo.path).recover() == ["brought 3 index entries up to date"]
    assert repo.git("status", "--porcelain") == ""


def test_waiting_index_entries_are_mended_by_the_next_write(repo: GitRepo) -> None:
    store = committing(repo.path)
    lock = repo.path / ".git/index.lock"
    lock.touch()
    write(store, "a.md", b"# one\n")
    lock.unlink()
    write(committing(repo.path), "b.md", b"# other\n")
    assert repo.git("status", "--porcelain") == ""


LOOKS: dict[str, Callable[[Store], object]] = {
    "read": lambda store: store.read(A),
    "read many": lambda store: store.reading().__enter__(),
    "scan": lambda store: list(store.scan()),
    "files": lambda store: store.files(""),
    "folders": lambda store: store.folders(""),
    "history": lambda store: store.history.head(),
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("other", [False, True])
def test_waiting_index_entries_are_mended_by_the_next_look(repo: GitRepo, look: str, other: bool) -> None:
    store = committing(repo.path)
    reader = committing(repo.path) if other else store
    lock = repo.path / ".git/index.lock"
    lock.touch()
    write(store, "a.md", b"# acknowledged\n")
    write(store, "new.md", b"# new\n")
    LOOKS[look](reader)
    assert lock.exists()
    assert repo.git("status", "--porcelain") != ""
    lock.unlink()
    LOOKS[look](reader)
    assert repo.git("status", "--porcelain") == ""
    head = repo.git("rev-parse", "HEAD")
    repo.git("commit", "--quiet", "--all", "--allow-empty", "--message", "By the user")
    assert repo.git("diff", "--stat", head, "HEAD") == ""


def test_a_look_inside_a_transaction_waits_for_its_end(repo: GitRepo) -> None:
    store = committing(repo.path)
    lock = repo.path / ".git/index.lock"
    lock.touch()
    write(store, "a.md", b"# one\n")
    lock.unlink()
    with store.transaction("Two") as transaction:
        store.read(A)
        transaction.put(A, b"# two\n")
    store.read(A)
    assert repo.git("status", "--porcelain") == ""


def test_a_repair_that_fails_fails_no_look_and_is_not_tried_at_each(repo: GitRepo) -> None:
    store = committing(repo.path)
    lock = repo.path / ".git/index.lock"
    lock.touch()
    write(store, "a.md", b"# one\n")
    lock.unlink()
    broken = raising(OSError(5, "Input/output error"))
    with before("open", ends_with(".index"), broken) as tries:
        for _ in range(3):
            assert store.read(A) == b"# one\n"
    assert len(tries) == 1
    assert committing(repo.path).read(A) == b"# one\n"
    assert repo.git("status", "--porcelain") == ""


def test_what_the_user_stages_while_an_entry_waits_is_left_alone(repo: GitRepo) -> None:
    store = committing(repo.path)
    lock = repo.path / ".git/index.lock"
    lock.touch()
    write(store, "a.md", b"# one\n")
    lock.unlink()
    repo.write("a.md", "# by the user\n")
    repo.git("add", "a.md")
    store.recover()
    assert repo.git("status", "--porcelain") == "M  a.md"


def test_an_index_that_is_damaged_later_does_not_fail_a_write(repo: GitRepo) -> None:
    store = committing(repo.path)
    write(store, "a.md", b"# one\n")
    index = repo.path / ".git/index"
    whole = index.read_bytes()
    index.write_bytes(whole[:-30] + b"x" * 30)
    assert write(store, "a.md", b"# two\n")
    index.write_bytes(whole)
    store.recover()
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("setup", ["damaged", "split", "sparse"])
def test_an_index_that_cannot_be_read_is_told_and_nothing_is_changed(repo: GitRepo, setup: str) -> None:
    if setup == "damaged":
        (repo.path / ".git/index").write_bytes(b"no index")
    elif setup == "split":
        repo.git("update-index", "--split-index")
    elif setup == "sparse":
        repo.git("sparse-checkout", "set", "--sparse-index", "dir")
    store = committing(repo.path)
    with pytest.raises(GitError, match="index cannot be read"):
        write(store, "dir/c.md", b"x")
    assert store.read(Address("dir/c.md")) == b"# C\n"
    assert store.history.log(Address("dir/c.md"), limit=1)


@pytest.mark.parametrize("setup", ["version 2", "version 3", "version 4", "untracked cache", "no index"])
def test_indexes_of_every_kind_are_kept_up_to_date(repo: GitRepo, setup: str) -> None:
    if setup == "version 3":
        repo.write("intended.md", "x")
        repo.git("add", "--intent-to-add", "intended.md")
    elif setup == "version 4":
        repo.git("update-index", "--index-version", "4")
    elif setup == "untracked cache":
        repo.git("update-index", "--force-untracked-cache")
        repo.git("status")
    elif setup == "no index":
        (repo.path / ".git/index").unlink()
    store = committing(repo.path)
    before = repo.git("status", "--porcelain")
    write(store, "dir/c.md", b"# one\n")
    write(store, "dir/new.md", b"# new\n")
    with store.transaction("Remove") as transaction:
        transaction.remove(Address("dir/c.md"))
    after = repo.git("status", "--porcelain").splitlines()
    assert after == [line for line in before.splitlines() if line not in {"D  dir/c.md", "?? dir/"}]
    assert repo.git("show", ":dir/new.md") == "# new"
    repo.git("fsck", "--strict")


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_new_index_is_on_the_disk_before_it_has_its_name(repo: GitRepo, version: str) -> None:
    repo.git("update-index", "--index-version", version)
    old = (repo.path / ".git/index").read_bytes()
    at_flush: list[bytes] = []
    with before("commonplace.flush", lambda _: True, lambda: at_flush.append((repo.path / ".git/index").read_bytes())):
        write(committing(repo.path), "new.md", b"# New\n")
    assert at_flush == [old, old]
    assert (repo.path / ".git/index").read_bytes() != old


def test_a_file_whose_name_becomes_a_folder_and_back(repo: GitRepo) -> None:
    store = committing(repo.path)
    with store.transaction("To a folder") as transaction:
        transaction.remove(A)
    write(store, "a.md/inner.md", b"inner\n")
    assert repo.git("status", "--porcelain") == ""
    with store.transaction("And back") as transaction:
        transaction.remove(Address("a.md/inner.md"))
    write(store, "a.md", b"file\n")
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("ls-tree", "-r", "--name-only", "HEAD").splitlines() == ["a.md", "b.md", "dir/c.md"]
    repo.git("fsck", "--strict")
