"""Packs and loose objects are gathered: descriptors stay level, and every object stays, for whoever reads it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pygit2
import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import GitError
from commonplace.store import remotes
from commonplace.store.git.repository import REPLACED, GitRepository
from commonplace.store.remotes import gather
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
from support import Amount, open_files

A = Address("a.md")
MAX_PACKS = 10
"""The limit in these tests, so that few fetches reach it."""
MOST = 3 * MAX_PACKS
"""Packs of two gatherings, and those that are too large to be rewritten each time."""
BRANCH = "refs/heads/main"


class Remote:
    """A bare repository that gets commits without a process for each."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "team.git"
        self._repository = pygit2.init_repository(self.path, bare=True, initial_head="main")

    def commit(self, text: str, *, forced: bool = False) -> str:
        """The id of a new commit, whose page has this text; a forced one has no parent."""
        repository = self._repository
        tree = repository.TreeBuilder()
        tree.insert("a.md", repository.create_blob(text.encode()), pygit2.enums.FileMode.BLOB)
        who = pygit2.Signature("Ann", "ann@example.org", 1_700_000_000, 0)
        tip = repository.references.get(BRANCH)
        parents = [tip.target] if tip and not forced else []
        made = repository.create_commit(None, who, who, text, tree.write(), parents)
        repository.references.create(BRANCH, made, force=True)
        return str(made)


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    monkeypatch.setattr(remotes, "MAX_PACKS", MAX_PACKS)
    made = Remote(tmp_path)
    made.commit("# 0\n")
    return made


def clone_of(remote: Remote) -> ReplicaClone:
    return ReplicaClone(remote.path.parent / "replicas", parse_source(str(remote.path)))


def packs(clone: ReplicaClone) -> list[Path]:
    return sorted((clone.path / "objects/pack").glob("*.pack"))


def fetch(clone: ReplicaClone, remote: Remote, times: int) -> list[str]:
    """Fetch so many commits one by one; returns their ids."""
    commits: list[str] = []
    for number in range(times):
        commits.append(remote.commit(f"# {number}\n"))
        assert clone.fetch() == commits[-1]
    return commits


def require_sound(clone: ReplicaClone) -> None:
    subprocess.run(["git", "fsck", "--full", "--strict"], cwd=clone.path, check=True, capture_output=True)


def test_packs_and_descriptors_stay_level_over_many_fetches(
    remote: Remote, amount: Amount, record_property: Callable[[str, object], None]
) -> None:
    clone, reader = clone_of(remote), clone_of(remote)
    store, commits, most = reader.store(), [clone.fetch()], [0, 0]
    for number in range(amount(45, 5_000)):
        forced = number % 40 == 20
        commits.append(remote.commit(f"# {number}\n", forced=forced))
        assert clone.fetch() == commits[-1]
        clone.gather()
        assert store.read(A) == f"# {number}\n".encode()
        files = open_files(str(clone.path))
        most = [max(most[0], len(packs(clone))), max(most[1], len(files))]
        assert max(most) <= MOST
    record_property("most packs and descriptors", most)
    assert all(map(clone.has, commits))
    assert all(GitRepository(clone.path).content(commit) for commit in commits)
    require_sound(clone)


def test_another_process_that_reads_meanwhile_reads_on(remote: Remote) -> None:
    clone = clone_of(remote)
    commits = fetch(clone, remote, MAX_PACKS + 5)
    other = GitRepository(clone.path)
    handle = other.handle  # of a call that runs on
    assert other.content(commits[0])
    clone.gather()
    assert len(packs(clone)) == MAX_PACKS + 6  # with the new one
    fetch(clone, remote, MAX_PACKS + 5)
    clone.gather()
    assert len(packs(clone)) < MAX_PACKS + 10
    assert all(handle[commit] for commit in commits)
    assert other.tip("refs/heads/replica")
    assert other.handle is not handle
    assert all(map(other.content, commits))


@pytest.mark.soak
def test_loose_objects_of_many_writes_are_gathered(remote: Remote) -> None:
    clone = clone_of(remote)
    clone.fetch()
    database = clone.repository.handle.odb
    names = [str(database.write(pygit2.enums.ObjectType.BLOB, b"%d" % number)) for number in range(15_000)]
    clone.gather()
    assert not list((clone.path / "objects").glob("??/*"))
    assert all(map(clone.has, names))
    assert clone.repository.content(names[7]) == b"7"
    require_sound(clone)


def test_few_packs_and_packs_of_special_use_stay(remote: Remote) -> None:
    clone = clone_of(remote)
    fetch(clone, remote, MAX_PACKS + 5)
    for pack in packs(clone)[:10]:
        pack.with_suffix(".keep").touch()
    before = packs(clone)
    assert not gather(clone.repository, "origin", loose=True)
    assert packs(clone) == before
    (clone.path / "objects/pack/multi-pack-index").write_bytes(b"")
    fetch(clone, remote, 20)
    assert not gather(clone.repository, "origin", loose=True)


@pytest.mark.parametrize("moment", ["before the record", "while packs are removed", "while git writes"])
@pytest.mark.sampled(6)
def test_a_killed_gathering_loses_nothing_and_is_made_up_for(remote: Remote, moment: str) -> None:
    clone = clone_of(remote)
    commits = fetch(clone, remote, MAX_PACKS + 5)
    folder = clone.path / "objects/pack"
    if moment == "before the record":
        clone.gather()
        (clone.path / "objects" / REPLACED).unlink()
    elif moment == "while packs are removed":
        clone.gather()
        made, *replaced = (clone.path / "objects" / REPLACED).read_text().split()
        assert (folder / f"{made}.pack").exists()
        for name in replaced[:5]:
            (folder / f"{name}.idx").unlink()
    else:
        left = folder / "tmp_pack_killed"
        left.write_bytes(b"PACK")
        os.utime(left, (0, 0))
    again = clone_of(remote)
    for _ in range(3):
        commits += fetch(again, remote, MAX_PACKS + 5)
        again.gather()
    assert len(packs(again)) <= MOST
    assert not list(folder.glob("tmp_*"))
    assert all(map(GitRepository(again.path).content, commits))
    require_sound(again)


def test_a_list_of_packs_whose_replacement_is_gone_removes_none(remote: Remote) -> None:
    clone = clone_of(remote)
    commits = fetch(clone, remote, MAX_PACKS + 5)
    clone.gather()
    made, *_ = (clone.path / "objects" / REPLACED).read_text().split()
    for file in (clone.path / "objects/pack").glob(f"{made}.*"):
        file.unlink()
    fetch(clone, remote, 5)
    clone.gather()
    assert all(map(GitRepository(clone.path).content, commits))
    require_sound(clone)


def test_a_damaged_pack_stops_no_fetch(remote: Remote, caplog: pytest.LogCaptureFixture) -> None:
    clone = clone_of(remote)
    fetch(clone, remote, MAX_PACKS + 5)
    damaged = packs(clone)[3].with_suffix(".idx")
    damaged.chmod(0o600)
    damaged.write_bytes(b"no index")
    with pytest.raises(GitError, match="is damaged"):
        gather(clone.repository, "origin", loose=True)
    for _ in range(2):
        clone.gather()
    assert caplog.text.count("is damaged") == 1
