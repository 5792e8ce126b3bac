"""Repositories that are read and not written, with the reason."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Literal

import pytest

from committing import committing, write
from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConfigError, ReadOnlyError
from commonplace.domain.ports import Store
from commonplace.store import open_store
from support import GitRepo, MakeRepo

A = Address("a.md")


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """Two documents in a repository."""
    return git_repo("repo", {"a.md": "# A\n", "b.md": "# B\n", "dir/c.md": "# C\n"})


def refused(store: Store, reason: str) -> None:
    """Check that the store is readable and rejects writes."""
    assert store.read(A)
    assert reason in store.read_only_reason
    with pytest.raises(ReadOnlyError, match=reason), store.transaction("x"):
        pass


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + 64 * b"a" + b"\nsize 12345\n"


@pytest.mark.parametrize("kind", ["folder", "manual", "auto"])
def test_text_never_takes_the_place_of_a_pointer_of_lfs(git_repo: MakeRepo, tmp_path: Path, kind: str) -> None:
    """No filter is configured, as where Git LFS was never installed."""
    folder = tmp_path / "folder"
    folder.mkdir()
    if kind != "folder":
        folder = git_repo("lfs", {".gitattributes": "*.md filter=lfs\n"}).path
    for name in ("a.md", "b.md"):
        (folder / name).write_bytes(POINTER)
    store = open_store(folder, commit="auto" if kind == "auto" else "manual", state_dir=tmp_path / "state")
    with pytest.raises(ReadOnlyError, match="pointer of Git LFS") as refusal:
        write(store, "a.md", b"# Unseen\n")
    assert "git lfs pull" in refusal.value.hint
    assert (folder / "a.md").read_bytes() == POINTER
    with store.transaction("Move and delete") as transaction:
        transaction.remove(Address("b.md"))
        transaction.put(Address("c.md"), POINTER)
        transaction.put(Address("a.md"), POINTER.replace(b"12345", b"777"))
    assert not (folder / "b.md").exists()
    assert b"777" in (folder / "a.md").read_bytes()


def test_a_detached_head_is_refused_and_read(repo: GitRepo) -> None:
    repo.git("switch", "--quiet", "--detach")
    store = committing(repo.path)
    refused(store, "on no branch")
    assert store.history.log(A, limit=1)
    repo.git("switch", "--quiet", "main")
    assert write(store, "a.md", b"x")


@pytest.mark.parametrize("operation", ["merge", "rebase", "cherry-pick", "revert"])
def test_an_operation_in_progress_is_refused_and_read(repo: GitRepo, operation: str) -> None:
    base = repo.git("rev-parse", "HEAD")
    mine = repo.commit("Mine", **{"a.md": "mine\n"})
    repo.git("switch", "--quiet", "--create", "other", base)
    repo.commit("Other", **{"a.md": "other\n"})
    done = subprocess.run(["git", operation, mine], cwd=repo.path, capture_output=True, check=False)
    assert done.returncode != 0
    store = committing(repo.path)
    refused(
        store, f"a {operation} is in progress in its repository; git {operation} --continue or git {operation} --abort"
    )
    repo.git(operation, "--abort")
    assert store.read_only_reason == ""


def test_a_submodule_that_is_not_initialised_stays_what_it_is(
    repo: GitRepo, git_repo: MakeRepo, tmp_path: Path
) -> None:
    outer = git_repo("outer", {"x.md": "X\n"})
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo.path), "docs/sub")
    outer.git("commit", "-qm", "with a submodule")
    outer.git("clone", "-q", str(outer.path), str(tmp_path / "clone"))
    clone = GitRepo(tmp_path / "clone")
    before = clone.git("rev-parse", "HEAD:docs/sub")
    with pytest.raises(ReadOnlyError, match="docs/sub is a submodule"):
        write(committing(clone.path), "docs/sub/new.md", b"hi\n")
    assert clone.git("rev-parse", "HEAD:docs/sub") == before
    assert not (clone.path / "docs/sub/new.md").exists()
    write(committing(clone.path), "docs/new.md", b"hi\n")
    assert clone.git("rev-parse", "HEAD:docs/sub") == before


def test_a_submodule_is_refused_and_read(repo: GitRepo, git_repo: MakeRepo) -> None:
    outer = git_repo("outer", {"x.md": "x"})
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo.path), "sub")
    outer.git("commit", "--quiet", "-m", "Add")
    refused(committing(outer.path / "sub"), "submodule")
    with pytest.raises(ReadOnlyError, match="sub is a submodule"):
        write(committing(outer.path), "sub/a.md", b"x")
    manual = open_store(outer.path / "sub", commit="manual", state_dir=outer.path.parent / "state")
    with manual.transaction("As a file") as transaction:
        transaction.put(A, b"written as a file")
    assert manual.read(A) == b"written as a file"


def test_committing_without_git_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not in a Git repository"):
        committing(tmp_path)


def test_a_manual_store_leaves_git_alone(repo: GitRepo) -> None:
    store = open_store(repo.path, commit="manual", state_dir=repo.path.parent / "state")
    with store.transaction("As files") as transaction:
        transaction.put(A, b"changed\n")
        transaction.remove(Address("b.md"))
    assert repo.git("status", "--porcelain") == " M a.md\n D b.md"
    assert repo.git("rev-list", "--count", "HEAD") == "1"
    assert store.committing().read_only_reason == ""
    with store.committing().transaction("Commit") as transaction:
        transaction.put(A, b"again\n")
    assert repo.git("log", "-1", "--format=%s") == "Commit"
    assert repo.git("status", "--porcelain") == " D b.md"


@pytest.mark.parametrize("commit", ["auto", "manual"])
def test_a_moved_file_keeps_its_permissions(repo: GitRepo, tmp_path: Path, commit: Literal["auto", "manual"]) -> None:
    modes = {"script.md": 0o755, "private.md": 0o600}
    for name, mode in modes.items():
        repo.write(name, "x").chmod(mode)
    repo.commit("Modes")
    store = open_store(repo.path, commit=commit, state_dir=tmp_path / "state")
    with store.transaction("Move") as transaction:
        for name in modes:
            transaction.remove(Address(name), keep=False)
            transaction.put(Address(f"z/{name}"), b"y", moved_from=Address(name))
    assert {name: stat.S_IMODE((repo.path / "z" / name).stat().st_mode) for name in modes} == modes
    if commit == "auto":
        listed = repo.git("ls-tree", "--format=%(objectmode) %(path)", "HEAD", "z/")
        assert listed.splitlines() == ["100644 z/private.md", "100755 z/script.md"]
        assert repo.git("status", "--porcelain") == ""


def test_a_moved_file_keeps_its_time_if_its_text_stays(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    for name in ("same.md", "other.md"):
        (tmp_path / "base" / name).write_bytes(b"x\n")
        os.utime(tmp_path / "base" / name, ns=(10**18, 10**18))
    store = open_store(tmp_path / "base", commit="manual", state_dir=tmp_path / "state")
    with store.transaction("Move") as transaction:
        for name, text in (("same.md", b"x\n"), ("other.md", b"y\n")):
            transaction.remove(Address(name), keep=False)
            transaction.put(Address(f"z/{name}"), text, moved_from=Address(name))
    assert (tmp_path / "base/z/same.md").stat().st_mtime_ns == 10**18
    assert (tmp_path / "base/z/other.md").stat().st_mtime_ns > 10**18
