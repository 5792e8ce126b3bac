"""A full disk: the write fails with a clear line, nothing is changed, and the next one works once there is space."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError, StorageError
from commonplace.domain.ports import Store
from commonplace.store import open_store
from support import GitRepo

A, B = Address("a.md"), Address("b.md")


@pytest.fixture(params=["tmpfs", pytest.param("ext4", marks=pytest.mark.soak)])
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system of two megabytes; of four, some of which ext4 needs itself."""
    if request.param == "tmpfs":
        yield from mounted(tmp_path, "-t", "tmpfs", "-o", "size=2m,mode=755", "tmpfs")
    else:
        yield from mounted(tmp_path, "-o", "loop", str(image(tmp_path, 4, "-O", "^has_journal")))


def image(folder: Path, megabytes: int, *options: str) -> Path:
    """An image with a file system of ext4."""
    file = folder / "image"
    file.touch()
    os.truncate(file, megabytes << 20)
    if not shutil.which("mkfs.ext4"):
        pytest.skip("mkfs.ext4 is missing")
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", *options, file], check=True)
    return file


def mounted(folder: Path, *arguments: str) -> Iterator[Path]:
    """Mount a file system for the length of a test; skip the test where none may be mounted."""
    disk = folder / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", *arguments, disk], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.fixture(params=["tmpfs", pytest.param("ext4", marks=pytest.mark.soak)])
def disk_of_few_files(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system that holds few files and folders, of any size."""
    if request.param == "tmpfs":
        yield from mounted(tmp_path, "-t", "tmpfs", "-o", "size=16m,nr_inodes=300,mode=755", "tmpfs")
    else:
        yield from mounted(tmp_path, "-o", "loop", str(image(tmp_path, 16, "-N", "300")))


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
    with suppress(OSError), filler.open("wb", buffering=0) as stream:
        while stream.write(bytes(4096)):
            pass
    os.truncate(filler, max(filler.stat().st_size - leave, 0))
    subprocess.run(["sync", "-f", disk], check=True)  # ext4 frees what was cut off with its next commit
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


def test_a_disk_that_takes_no_more_files_leaves_all_or_nothing(disk_of_few_files: Path) -> None:
    store, repo = make(disk_of_few_files, "git")
    outcomes = set()
    fillers = disk_of_few_files / "fillers"
    for left in range(0, 24, 2):
        fillers.mkdir()
        for number in range(max(os.statvfs(disk_of_few_files).f_ffree - left, 0)):
            (fillers / str(number)).touch()
        before = store.read(A), store.read(B), store.history.head()
        content = f"{left} left\n".encode()
        refusal = refused(store, content)
        outcomes.add(bool(refusal))
        assert (store.read(A), store.read(B)) == ((content, content) if not refusal else before[:2])
        assert (store.history.head() == before[2]) == bool(refusal)
        assert repo.git("status", "--porcelain") == ""
        shutil.rmtree(fillers)
        store.recover()
        assert repo.git("fsck", "--strict", "--no-dangling") == ""
    assert outcomes == {True, False}
    both(store, b"fits\n")
