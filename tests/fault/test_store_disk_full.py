"""A full disk: the write fails with a clear line, nothing is changed, and the next one works once there is space."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError, StorageError
from commonplace.domain.ports import Store
from commonplace.store import open_store
from support import GitRepo

A, B = Address("a.md"), Address("b.md")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,mode=755", "tmpfs", disk], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def make(disk: Path, kind: str) -> tuple[Store, GitRepo]:
    """A store with two documents on the small disk."""
    repo = GitRepo(disk / "kb")
    repo.write("a.md", "# A\n")
    repo.write("b.md", "# B\n")
    if kind == "git":
        repo.git("init", "--quiet", "--initial-branch=main", "--template=")
        repo.git("config", "user.name", "T")
        repo.git("config", "user.email", "t@example.org")
        repo.commit("Begin")
    store = open_store(repo.path, commit="auto" if kind == "git" else "manual", state_dir=disk / "state")
    with store.transaction("Warm") as transaction:
        transaction.put(A, b"# A\nwarm\n")
    return store, repo


def fill(disk: Path, leave: int) -> Path:
    """Use up the disk but for so many bytes."""
    filler = disk / "filler"
    space = os.statvfs(disk)
    filler.write_bytes(bytes(max(space.f_bavail * space.f_frsize - leave, 0)))
    return filler


def both(store: Store, content: bytes) -> str:
    """Write both documents."""
    with store.transaction("Both") as transaction:
        transaction.put(A, content)
        transaction.put(B, content)
    return transaction.receipt.commit


def refused(store: Store, content: bytes) -> str:
    """The store's error on writing both documents; "" on success."""
    try:
        both(store, content)
    except KnowledgeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("kind", ["plain", "git"])
def test_a_write_that_does_not_fit_changes_nothing(small_disk: Path, kind: str) -> None:
    store, repo = make(small_disk, kind)
    head = store.history.head()
    with pytest.raises(StorageError, match="No space left") as caught:
        both(store, os.urandom(3 * 1024 * 1024))
    assert "Free some space" in caught.value.hint
    assert (store.read(A), store.read(B), store.history.head()) == (b"# A\nwarm\n", b"# B\n", head)
    assert sorted(path.name for path in repo.path.iterdir() if path.name != ".git") == ["a.md", "b.md"]
    both(store, b"fits\n")
    assert (store.read(A), store.read(B)) == (b"fits\n", b"fits\n")


@pytest.mark.parametrize("kind", ["plain", "git"])
def test_a_disk_full_to_any_degree_leaves_all_or_nothing(small_disk: Path, kind: str) -> None:
    """The less is left, the earlier the write fails; at each degree it is whole or not at all."""
    store, repo = make(small_disk, kind)
    outcomes = set()
    for pages in range(16):
        filler = fill(small_disk, leave=pages * 4096)
        before = store.read(A), store.read(B), store.history.head()
        content = os.urandom(6000).hex().encode()
        refusal = refused(store, content)
        outcomes.add(bool(refusal))
        if refusal:
            assert "No space left" in refusal
            assert (store.read(A), store.read(B), store.history.head()) == before
        else:
            assert (store.read(A), store.read(B)) == (content, content)
        filler.unlink()
        store.recover()
        assert sorted(path.name for path in repo.path.iterdir() if path.name != ".git") == ["a.md", "b.md"]
        if kind == "git":
            assert repo.git("fsck", "--strict", "--no-dangling") == ""
            assert repo.git("status", "--porcelain") == ""
    assert outcomes == {True, False}
