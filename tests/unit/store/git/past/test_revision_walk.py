"""The walk over the commits of a branch reads no more of them than it needs."""

from __future__ import annotations

import threading
from pathlib import Path

import pygit2
import pytest

from commonplace.domain.addresses import Address
from commonplace.store.git.past import document_spans, revision_walk
from commonplace.store.git.trees import TreeDiff
from histories import history
from support import GitRepo, new_repo

A, B = Address("a.md"), Address("b.md")


def test_the_walk_ends_at_a_document_s_first_commit_once_that_is_known(
    repo: GitRepo, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = repo.commit("Made", **{str(Path(below) / "late.md"): "1\n"})
    past = history(repo.path / below)
    walked: list[str] = []

    def counted(commit: pygit2.Commit) -> list[pygit2.Commit]:
        walked.append(str(commit.id))
        return commit.parents

    assert past.touched()[Address("late.md")][0].id == made
    newer = repo.commit("Newer", **{str(Path(below) / "late.md"): "2\n"})
    monkeypatch.setattr(revision_walk, "parents_of", counted)
    for other_history, length in ((past, 1), (history(repo.path / below), 8)):
        walked.clear()
        assert [commit.id for commit in other_history.log(Address("late.md"), limit=9)] == [newer, made]
        assert len(walked) == length


def test_what_was_touched_long_ago_is_not_looked_for(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision_walk, "MAX_COMMITS_BETWEEN", 2)
    past = history(repo.path)
    begun = past.head()
    for number in range(2):
        repo.commit("Next", **{"a.md": f"number {number}\n"})
    assert past.touched_since(begun) == {A}
    repo.commit("And one more", **{"a.md": "more\n"})
    assert past.touched_since(begun) is None


def test_two_branches_that_went_apart_are_read_once_and_one_that_goes_away_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = new_repo(tmp_path / "repo", {"a.md": "1\n"})
    repo.git("switch", "--quiet", "--create", "side")
    repo.commit("Side", **{"b.md": "1\n"})
    repo.git("switch", "--quiet", "main")
    repo.commit("Main", **{"a.md": "2\n"})
    past, read = history(repo.path), list[pygit2.Commit]()
    real = document_spans.changed_blobs

    def noted(trees: TreeDiff, commit: pygit2.Commit, folder: bytes) -> dict[bytes, bytes]:
        read.append(commit)
        return real(trees, commit, folder)

    monkeypatch.setattr(document_spans, "changed_blobs", noted)
    for branch, commits in (("main", 2), ("side", 2), ("main", 0), ("side", 0)):
        repo.git("switch", "--quiet", branch)
        read.clear()
        assert set(past.touched()) == {A} | ({B} if branch == "side" else set())
        assert len(read) == commits, branch
    newer = repo.commit("Side again", **{"b.md": "2\n"})
    read.clear()
    assert past.touched()[B][1].id == newer
    assert len(read) == 1
    repo.git("switch", "--quiet", "main")
    repo.git("branch", "--quiet", "-D", "side")
    repo.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    repo.git("gc", "--quiet", "--prune=now")
    repo.git("commit", "--quiet", "--amend", "--message=Main, amended")
    assert past.touched()[A][1].message == "Main, amended\n"


def test_readers_beside_a_writer_read_each_commit_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = new_repo(tmp_path / "repo", {"a.md": "1\n"})
    for number in range(5):
        repo.commit(**{"a.md": f"{number}\n"})
    past, read, ended = history(repo.path), list[str](), threading.Event()
    real = document_spans.changed_blobs

    def noted(trees: TreeDiff, commit: pygit2.Commit, folder: bytes) -> dict[bytes, bytes]:
        read.append(str(commit.id))
        return real(trees, commit, folder)

    monkeypatch.setattr(document_spans, "changed_blobs", noted)

    def reader() -> None:
        while not ended.is_set():
            past.touched([A])

    threads = [threading.Thread(target=reader) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(40):
        newest = repo.commit(**{"b.md": f"{number}\n"})
    ended.set()
    for thread in threads:
        thread.join()
    assert past.touched([B])[B][1].id == newest
    assert len(read) == len(set(read))


def test_the_log_of_a_linear_history_reads_only_the_commits_of_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = new_repo(tmp_path / "repo", {"a.md": "1\n"})
    repo.commit(**{"a.md": "2\n"})
    newest = repo.git("rev-parse", "HEAD")
    for number in range(5):
        repo.commit(**{"b.md": f"{number}\n"})
    past = history(repo.path)
    expected = past.log(A, limit=9)
    past.touched()
    walked: list[str] = []
    monkeypatch.setattr(revision_walk, "parents_of", lambda commit: walked.append(str(commit.id)) or commit.parents)
    assert past.log(A, limit=9) == expected
    assert [content for _, content in past.versions(A)] == [b"2\n", b"1\n"]
    assert past.read(A, repo.git("rev-parse", f"{newest}^:a.md")) == b"1\n"
    assert walked == []
    repo.git("switch", "--quiet", "--create", "side", newest)
    repo.commit(**{"c.md": "1\n"})
    repo.git("merge", "--quiet", "--no-edit", "main")
    past.touched()
    assert past.log(A, limit=9) == expected
    assert walked != []
