"""The clone of a replica follows its remote, and takes nothing that is not an object from it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError, NotFoundError, ReadOnlyError, UnavailableError
from commonplace.store import git_command
from commonplace.store.replica import clone as clone_module
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
from support import GitRepo, MakeRepo

A = Address("a.md")


@pytest.fixture
def work(git_repo: MakeRepo) -> GitRepo:
    """A repository with a bare remote."""
    repo = git_repo("work", {"a.md": "# One\n"})
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(repo.path.parent / "team.git"))
    repo.git("remote", "add", "origin", str(repo.path.parent / "team.git"))
    return repo


def clone_of(work: GitRepo, branch: str = "") -> ReplicaClone:
    folder = work.path.parent
    return ReplicaClone(folder / "replicas", parse_source(f"{folder / 'team.git'}{branch}"))


def pushed(work: GitRepo, text: str, *options: str) -> str:
    commit = work.commit("Change", **{"a.md": text})
    work.git("push", "--quiet", *options, "origin", "HEAD")
    return commit


def test_it_has_no_commit_without_an_id(work: GitRepo) -> None:
    clone = clone_of(work)
    tip = clone.fetch()
    assert clone.has(tip)
    assert not clone.has("")
    assert not clone.holds(tip, "")


def test_it_has_no_commit_before_the_first_fetch_and_the_remotes_after_it(work: GitRepo) -> None:
    clone = clone_of(work)
    assert (clone.tip(), list(clone.store().scan())) == ("", [])
    assert clone.fetch() == clone.tip() == work.git("rev-parse", "HEAD")
    assert clone.store().read(A) == b"# One\n"
    assert (clone.path / "config").stat().st_mode & 0o077 == 0


def test_the_packs_that_fetches_leave_are_counted_up_to_a_bound(work: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = clone_of(work)
    assert clone.packs() == 0
    for number in range(1, 4):
        pushed(work, f"# {number}\n")
        clone.fetch()
        assert clone.packs() == len(list((clone.path / "objects/pack").glob("*.pack"))) == number
    monkeypatch.setattr(clone_module, "MAX_COUNTED", 2)
    assert clone.packs() == 2
    shutil.rmtree(clone.path)
    assert clone.packs() is None


def test_it_follows_forwards_and_after_a_forced_push(work: GitRepo, caplog: pytest.LogCaptureFixture) -> None:
    clone = clone_of(work)
    first = clone.fetch()
    second = pushed(work, "# Two\n")
    assert clone.fetch() == second
    assert caplog.messages == []
    work.git("reset", "--quiet", "--hard", first)
    third = pushed(work, "# Three\n", "--force")
    assert clone.fetch() == third
    assert f"force-pushed from {second[:12]} to {third[:12]}" in caplog.text
    assert clone.store().read(A) == b"# Three\n"
    assert [clone.holds(third, element) for element in (first, second, third)] == [True, False, True]
    assert clone.has(second)
    assert not clone.holds(third, "1" * 40)


def test_it_follows_the_branch_that_is_named(work: GitRepo) -> None:
    work.git("switch", "--quiet", "--create", "release/1")
    release = pushed(work, "# Release\n")
    work.git("switch", "--quiet", "-")
    assert clone_of(work, "#release/1").fetch() == release
    with pytest.raises(UnavailableError, match="cannot be read"):
        clone_of(work, "#none").fetch()


def test_a_remote_without_commits_is_no_failure(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "new.git")], check=True)
    clone = ReplicaClone(tmp_path / "replicas", parse_source(str(tmp_path / "new.git")))
    assert clone.fetch() == ""


def test_what_it_has_stays_when_the_remote_is_away_or_empty(work: GitRepo) -> None:
    clone = clone_of(work)
    commit = clone.fetch()
    remote = work.path.parent / "team.git"
    remote.rename(work.path.parent / "away.git")
    with pytest.raises(UnavailableError) as caught:
        clone.fetch()
    assert str(work.path.parent) not in caught.value.advice
    subprocess.run(["git", "init", "--quiet", "--bare", str(remote)], check=True)
    with pytest.raises(UnavailableError):
        clone.fetch()
    assert clone.tip() == commit
    assert ReplicaClone(clone.path.parents[1], clone.source).store().read(A) == b"# One\n"


def test_a_fetch_of_tags_follows_those_of_its_branch_and_no_object_of_a_tag_arrives(work: GitRepo) -> None:
    clone = clone_of(work)
    past = clone.store().past
    assert past is not None
    first = work.git("rev-parse", "HEAD")
    work.git("tag", "v1")
    work.git("tag", "--annotate", "v1-signed", "--message", "a message")
    second = pushed(work, "# Two\n")
    work.git("switch", "--quiet", "--detach", first)
    outside = work.commit("Elsewhere", **{"b.md": "# B\n"})
    work.git("tag", "elsewhere")
    work.git("switch", "--quiet", "-")
    work.git("push", "--quiet", "--tags", "origin")
    clone.fetch()
    with pytest.raises(InvalidInputError):
        past.commit("v1")  # a fetch for a write reads no tags
    clone.fetch(tags=True)
    assert [past.commit(name).id for name in ("v1", "v1-signed")] == [first] * 2
    assert not clone.has(work.git("rev-parse", "v1-signed"))
    assert not clone.has(outside)
    with pytest.raises(InvalidInputError):
        past.commit("elsewhere")
    work.git("tag", "--force", "v1", second)
    work.git("push", "--quiet", "--force", "--tags", "origin", ":refs/tags/v1-signed")
    clone.fetch(tags=True)
    assert past.commit("v1").id == second
    with pytest.raises(InvalidInputError):
        past.commit("v1-signed")
    work.git("reset", "--quiet", "--hard", first)
    pushed(work, "# Three\n", "--force")
    clone.fetch(tags=True)
    with pytest.raises(NotFoundError, match="in the current branch"):
        past.commit("v1")


def test_tags_that_cannot_be_read_stay_as_they_were(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clone = clone_of(work)
    first = clone.fetch()
    for number in range(1, 41):
        work.git("tag", f"v{number}")
    work.git("push", "--quiet", "--tags", "origin")
    clone.fetch(tags=True)
    with monkeypatch.context() as patch:
        patch.setattr(git_command, "MAX_OUTPUT_BYTES", 1200)  # less than the tags, and more than a fetch's progress
        second = pushed(work, "# Two\n")
        assert [clone.fetch(tags=True), clone.fetch(tags=True)] == [second, second]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "printed more than 1,200 bytes" in caplog.text
    past = clone.store().past
    assert past is not None
    assert past.commit("v1").id == first


def test_it_cannot_be_written(work: GitRepo) -> None:
    clone = clone_of(work)
    clone.fetch()
    store = clone.store()
    assert "push to its remote" in store.read_only_reason
    with pytest.raises(ReadOnlyError, match="push to its remote"):
        store.transaction("Change").__enter__()
    assert store.repository is None
    assert store.committing() is store


def test_objects_that_git_would_refuse_are_not_received(work: GitRepo) -> None:
    clone = clone_of(work)
    commit = clone.fetch()
    blob = work.git("hash-object", "-w", "a.md")
    tree = subprocess.run(
        ["git", "mktree"],
        cwd=work.path,
        input=f"100644 blob {blob}\t.git\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    crafted = work.git("commit-tree", "-p", "HEAD", "-m", "Crafted", tree)
    remote = GitRepo(work.path.parent / "team.git")
    work.git("push", "--quiet", "origin", f"{crafted}:refs/heads/crafted")
    remote.git("update-ref", "HEAD", crafted)
    with pytest.raises(UnavailableError):
        clone.fetch()
    assert clone.tip() == commit
    assert clone.store().read(A) == b"# One\n"


def test_no_program_of_the_remote_runs(work: GitRepo) -> None:
    mark = work.path.parent / "ran"
    remote = work.path.parent / "team.git"
    program = work.path.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\nexec \"$@\"\n")
    program.chmod(0o755)
    remote_repo = GitRepo(remote)
    for name in ("core.fsmonitor", "core.alternateRefsCommand", "uploadpack.packObjectsHook", "core.sshCommand"):
        remote_repo.git("config", name, str(program))
    for name in ("reference-transaction", "post-checkout", "pre-auto-gc", "post-update"):
        shutil.copy(program, remote / "hooks" / name)
    clone = clone_of(work)
    clone.fetch()

    assert not mark.exists()
    assert clone.store().read(A) == b"# One\n"


def test_a_clone_that_is_deleted_while_it_is_used_is_made_anew_by_the_next_fetch(work: GitRepo) -> None:
    clone = clone_of(work)
    tip = clone.fetch()
    assert clone.store().read(A) == b"# One\n"
    shutil.rmtree(clone.path.parent)
    assert clone.fetch() == tip
    assert clone.store().read(A) == b"# One\n"
    newer = pushed(work, "# Two\n")
    assert clone.fetch() == newer
    assert clone_of(work).store().read(A) == b"# Two\n"


def test_what_is_left_of_a_clone_is_no_obstacle(work: GitRepo) -> None:
    clone = clone_of(work)
    tip = clone.fetch()
    (clone.path / "HEAD").unlink()
    again = clone_of(work)
    assert again.tip() == ""
    assert again.fetch() == tip
    assert again.store().read(A) == b"# One\n"


_FETCH = """
import sys
from pathlib import Path
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
print(ReplicaClone(Path(sys.argv[1]), parse_source(sys.argv[2])).fetch())
"""


@pytest.mark.parametrize("part", ["objects", "config", "HEAD", "refs/heads/replica"])
def test_a_damaged_clone_is_made_anew_and_that_is_logged(
    work: GitRepo, part: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = work.path.parent
    # In a process of its own: libgit2 keeps packs open for as long as a process lives.
    words = [sys.executable, "-c", _FETCH, str(folder / "replicas"), str(folder / "team.git")]
    tip = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    damaged = next((folder / "replicas").rglob("*.git")) / part
    for file in [damaged] if damaged.is_file() else damaged.rglob("*"):
        if file.is_file():
            file.chmod(0o600)
            file.write_bytes(b"")
    again = clone_of(work)
    assert again.fetch() == tip
    assert again.store().read(A) == b"# One\n"
    assert "made anew" in caplog.text
