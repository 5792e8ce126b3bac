"""The files that Git tracks are known, and known anew when its index changes."""

from __future__ import annotations

from commonplace.store.git.repository import GitRepository, TrackedFiles
from support import GitRepo, MakeRepo

FILES: dict[str, str | bytes] = {"a.md": "a", "x/漢字/b.md": "b", "x/p.png": "p", "y/code.py": "c"}


def tracked(repo: GitRepo, prefix: str = "") -> TrackedFiles:
    return TrackedFiles(GitRepository(repo.path / ".git", repo.path), prefix)


def test_files_and_the_folders_above_them_are_named(git_repo: MakeRepo) -> None:
    repo = git_repo(files=FILES)
    repo.write("untracked.md", "u")
    assert tracked(repo)() == {"a.md", "x", "x/漢字", "x/漢字/b.md", "x/p.png", "y", "y/code.py"}
    assert tracked(repo, "x/")() == {"漢字", "漢字/b.md", "p.png"}
    assert tracked(repo, "none/")() == frozenset()


def test_what_is_staged_later_and_what_is_removed_is_noticed(git_repo: MakeRepo) -> None:
    repo = git_repo(files=FILES)
    documents = tracked(repo)
    assert documents() is documents()
    repo.write("new.md", "n")
    repo.git("add", "new.md")
    repo.git("rm", "--quiet", "--cached", "x/漢字/b.md")
    assert documents() == {"a.md", "new.md", "x", "x/p.png", "y", "y/code.py"}


def test_a_repository_without_an_index_tracks_nothing(git_repo: MakeRepo) -> None:
    repo = git_repo(files=FILES)
    (repo.path / ".git/index").unlink()
    assert tracked(repo)() == frozenset()


def test_an_index_that_cannot_be_read_is_told_apart_from_an_empty_one(git_repo: MakeRepo) -> None:
    repo = git_repo(files=FILES)
    documents = tracked(repo)
    whole = (repo.path / ".git/index").read_bytes()
    (repo.path / ".git/index").write_bytes(whole[:60])
    assert documents() is None
    (repo.path / ".git/index").write_bytes(whole)
    assert "a.md" in (documents() or ())
