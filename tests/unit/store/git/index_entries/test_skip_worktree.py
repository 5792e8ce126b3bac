"""A sparse checkout loses nothing that it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from committing import committing, write
from commonplace.domain.addresses import Address
from commonplace.domain.errors import GitError, ReadOnlyError
from commonplace.store import open_store
from commonplace.store.git.index_entries import skipped_paths
from support import GitRepo, MakeRepo

A = Address("in/a.md")


FILES = {"in/a.md": "# A\n", "out/b.md": "# B\n", "out/c.md": "# C\n", "top.md": "# Top\n"}


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("repo", FILES)


def sparse(repo: GitRepo, version: str) -> None:
    repo.git("update-index", "--index-version", version)
    repo.git("sparse-checkout", "set", "in")
    assert not (repo.path / "out").exists()


@pytest.mark.parametrize("version", ["2", "4"])
def test_what_a_sparse_checkout_leaves_out_is_neither_deleted_nor_overwritten(repo: GitRepo, version: str) -> None:
    sparse(repo, version)
    store = committing(repo.path)
    write(store, "in/a.md", b"written\n")
    with pytest.raises(ReadOnlyError, match="sparse checkout leaves it out"):
        write(store, "out/b.md", b"not seen\n")
    write(store, "out/new.md", b"new\n")
    repo.write("in/a.md", "by hand\n")
    assert store.repository is not None
    assert store.repository.commit(None, "All").removed == ()
    listed = repo.git("ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert listed == sorted([*FILES, "out/new.md"])
    assert repo.git("show", "HEAD:out/b.md") == "# B"
    assert repo.git("status", "--porcelain") == ""
    assert [line for line in repo.git("ls-files", "-t").splitlines() if line[0] == "S"] == ["S out/b.md", "S out/c.md"]


def test_files_are_not_written_over_those_left_out_either(repo: GitRepo) -> None:
    sparse(repo, "2")
    store = open_store(repo.path, commit="manual", state_dir=repo.path.parent / "state")
    with pytest.raises(ReadOnlyError, match="sparse checkout"), store.transaction("x") as transaction:
        transaction.put(Address("out/b.md"), b"not seen\n")
    assert not (repo.path / "out").exists()


def test_a_file_that_is_really_deleted_in_a_sparse_checkout_is_committed_as_deleted(repo: GitRepo) -> None:
    sparse(repo, "2")
    (repo.path / "in/a.md").unlink()
    store = committing(repo.path)
    assert store.repository is not None
    assert store.repository.commit(None, "All").removed == (A,)


def test_the_marks_are_those_of_git(repo: GitRepo) -> None:
    many = {f"deep/{'x' * (number % 40)}/{number}.md": str(number) for number in range(300)}
    repo.commit("Many", **many)
    for version in ("3", "4"):
        repo.git("sparse-checkout", "disable")
        sparse(repo, version)
        lines = repo.git("ls-files", "-t").splitlines()
        marked = {line[2:].encode() for line in lines if line.startswith("S ")}
        assert len(marked) > 300
        assert skipped_paths(repo.path / ".git/index") == marked


def test_a_damaged_index_and_none_are_told_apart(repo: GitRepo, tmp_path: Path) -> None:
    sparse(repo, "3")
    index = repo.path / ".git/index"
    index.write_bytes(index.read_bytes()[:80])
    with pytest.raises(GitError, match="index cannot be read"):
        skipped_paths(index)
    assert skipped_paths(tmp_path / "none") == frozenset()
