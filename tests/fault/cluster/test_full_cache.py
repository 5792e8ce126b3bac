"""A replica whose cache folder is full: the error names the cache and says that the call is valid."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import StorageError
from commonplace.replication import Follower
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
from remotes.replicas import push, team

A = Address("a.md")


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    """A cache folder on a file system of two megabytes."""
    disk = tmp_path / "cache"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {made.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def full(cache: Path) -> None:
    """Use up the disk."""
    space = os.statvfs(cache)
    (cache / "filler").write_bytes(bytes(space.f_bavail * space.f_frsize))


def test_an_error_of_a_full_cache_says_that_it_is_the_cache(cache: Path, tmp_path: Path) -> None:
    work, remote = team(tmp_path)
    follower = Follower(ReplicaClone(cache, parse_source(str(remote))), 3600, writes=True)
    follower.fetch_once()
    store = follower.store()
    full(cache)
    with pytest.raises(StorageError) as error, store.transaction("Write") as transaction:
        transaction.put(A, b"# Alpha\n\nsecond words\n")
    assert "This server's clone of team cannot be written: No space left on device" in str(error.value)
    assert "cache_dir" in error.value.hint
    push(work, "b.md", os.urandom(2000).hex())
    with pytest.raises(StorageError) as error:
        follower.refresh(now=True)
    assert "This server's clone of team cannot be written: No space left on device" in str(error.value)
    (cache / "filler").unlink()
    with store.transaction("Write") as transaction:
        transaction.put(A, b"# Alpha\n\nsecond words\n")
    assert work.git("--git-dir", str(remote), "show", "HEAD:a.md") == "# Alpha\n\nsecond words"


def test_a_write_that_the_remote_took_is_confirmed_although_the_branch_of_the_clone_cannot_move(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    work, remote = team(tmp_path)
    clone = ReplicaClone(tmp_path / "cache", parse_source(str(remote)))
    follower = Follower(clone, 3600, writes=True)
    follower.fetch_once()
    store = follower.store()
    (clone.path / "refs/heads/replica.lock").mkdir()
    with store.transaction("Write") as transaction:
        transaction.put(A, b"# Alpha\n\nsecond words\n")
    assert work.git("--git-dir", str(remote), "rev-parse", "HEAD") == transaction.receipt.commit
    assert caplog.messages
    (clone.path / "refs/heads/replica.lock").rmdir()
    assert clone.fetch() == clone.tip() == transaction.receipt.commit
