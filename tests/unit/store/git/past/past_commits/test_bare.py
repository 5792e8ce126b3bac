"""A bare repository is read from its current commit and never written."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConfigError, NotFoundError, ReadOnlyError
from commonplace.domain.ports import Store
from commonplace.store import open_store
from support import GitRepo, MakeRepo

A = Address("notes/a.md")


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """Documents, hidden and odd ones, a link."""
    repo = git_repo("repo", {"notes/a.md": "# A\n", "b.md": "# B\n", ".hidden/h.md": "x", "node_modules/n.md": "x"})
    repo.write("back\\slash.md", "x")
    repo.write("notes/p.png", "png")
    (repo.path / "link.md").symlink_to("b.md")
    repo.commit("More")
    return repo


@pytest.fixture
def bare(repo: GitRepo, tmp_path: Path) -> Path:
    """A bare clone."""
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(tmp_path / "wiki.git"))
    return tmp_path / "wiki.git"


def opened(path: Path) -> Store:
    """Open the store as a server does by default."""
    return open_store(path, commit="manual", state_dir=path.parent / "state")


def test_documents_are_listed_and_read(bare: Path) -> None:
    store = opened(bare)
    assert store.name == "wiki"
    assert {str(address) for address, _ in store.scan()} == {"notes/a.md", "b.md"}
    assert dict(store.skipped()) == {
        "back\\slash.md": "it contains a backslash; parts are separated by '/'",
        "link.md": "a link or a submodule",
    }
    assert store.read(A) == b"# A\n"
    assert dict(store.scan())[A] == store.stat(A)
    assert [str(address) for address, _ in store.files("notes")] == ["notes/a.md", "notes/p.png"]


def test_what_is_not_served_is_not_found(bare: Path) -> None:
    store = opened(bare)
    for path in ("none.md", "notes", "link.md", "HEAD", "config"):
        assert store.stat(Address(path)) is None
        with pytest.raises(NotFoundError):
            store.read(Address(path))


def test_it_has_a_history(bare: Path, repo: GitRepo) -> None:
    past = opened(bare).history
    log = past.log(A, limit=5)
    assert [commit.message for commit in log] == ["Begin\n"]
    assert past.read(A, log[0].id) == b"# A\n"
    assert past.head() == repo.git("rev-parse", "HEAD")
    assert past.diff(A, log[0].id) == ""
    assert past.touched()[A][0].id == log[0].id


@pytest.mark.parametrize("commit", ["auto", "manual"])
def test_writing_is_refused_with_a_clear_line(bare: Path, commit: str) -> None:
    store = open_store(bare, commit="auto" if commit == "auto" else "manual", state_dir=bare.parent / "state")
    assert "bare repository" in store.read_only_reason
    with pytest.raises(ReadOnlyError, match="bare repository"):
        store.transaction("x")
    assert store.recover() == []
    assert store.repository is None
    assert store.committing() is store


def test_a_push_is_seen_by_the_next_scan_and_changes_the_facts(bare: Path, repo: GitRepo) -> None:
    store = opened(bare)
    before = dict(store.scan())
    repo.commit("Change", **{"b.md": "# C\n", "new.md": "# New\n"})
    repo.git("push", "--quiet", str(bare), "main")
    after = dict(store.scan())
    assert set(after) - set(before) == {Address("new.md")}
    assert after[Address("b.md")] != before[Address("b.md")]
    assert after[A] == before[A]
    assert store.read(Address("b.md")) == b"# C\n"


def test_a_bare_repository_without_commits_is_empty(tmp_path: Path) -> None:
    GitRepo(tmp_path).git("init", "--quiet", "--bare", "empty.git")
    store = opened(tmp_path / "empty.git")
    assert list(store.scan()) == []
    assert store.stat(A) is None
    assert not store.history.available


def test_the_inside_of_a_repository_is_no_collection(bare: Path, repo: GitRepo) -> None:
    for inside in (bare / "objects", repo.path / ".git", repo.path / ".git/refs"):
        with pytest.raises(ConfigError, match="own files"):
            opened(inside)


def test_ignore_files_hide_the_same_documents_as_in_a_work_tree(repo: GitRepo, tmp_path: Path) -> None:
    repo.write(".commonplaceignore", "drafts/\n*.tmp.md\n!keep.tmp.md\n")
    repo.write("notes/.commonplaceignore", "/own.md\ndeep/*\n!deep/shown.md\n")
    repo.write(".gitignore", "b.md\n")
    for path in ("drafts/d.md", "x/drafts/d.md", "n.tmp.md", "keep.tmp.md", "notes/own.md", "notes/x/own.md", "own.md",
                 "notes/deep/a.md", "notes/deep/shown.md"):  # fmt: skip
        repo.write(path, "# X\n")
    repo.git("add", "--all", "--force")
    repo.commit("Ignore")
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(tmp_path / "ignoring.git"))
    plain, bare = opened(repo.path), opened(tmp_path / "ignoring.git")
    shown = {address.path for address, _ in bare.scan()}
    assert shown == {address.path for address, _ in plain.scan()} - {"link.md"}  # a link is none in a bare one
    assert {"b.md", "keep.tmp.md", "own.md", "notes/x/own.md", "notes/deep/shown.md"} < shown
    for path in ("drafts/d.md", "x/drafts/d.md", "n.tmp.md", "notes/own.md", "notes/deep/a.md"):
        assert bare.stat(Address(path)) is None
    assert bare.stat(Address("notes/deep/shown.md")) is not None
