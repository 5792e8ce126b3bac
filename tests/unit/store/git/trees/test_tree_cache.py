"""Trees are parsed once, and entries are found in them by path."""

from __future__ import annotations

import pytest

from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeCache
from support import GitRepo, MakeRepo


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    made = git_repo(files={"a.md": "a", "x/b.md": "b", "x/漢字/c.md": "c", "run.sh": "#!/bin/sh\n"})
    (made.path / "run.sh").chmod(0o755)
    (made.path / "link").symlink_to("x")
    made.commit("More")
    return made


class Reading:
    """The contents of a repository's trees, with a count of how often each is read."""

    def __init__(self, repo: GitRepo) -> None:
        self._handle = GitRepository(repo.path / ".git", repo.path).handle
        self.read: list[str] = []

    def __call__(self, identifier: str) -> bytes:
        self.read.append(identifier)
        return self._handle[identifier].read_raw()


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("a.md", 0o100644),
        ("x/b.md", 0o100644),
        ("x/漢字/c.md", 0o100644),
        ("run.sh", 0o100755),
        ("link", 0o120000),
        ("x", 0o40000),
    ],
)
def test_an_entry_is_the_one_that_git_names(repo: GitRepo, path: str, mode: int) -> None:
    cache = TreeCache(Reading(repo), 100)
    entry = cache.entry(repo.git("rev-parse", "HEAD^{tree}"), path)
    assert entry is not None
    assert (entry.mode, entry.id) == (mode, repo.git("rev-parse", f"HEAD:{path}"))


@pytest.mark.parametrize("path", ["none", "x/none", "a.md/b", "link/b.md", "x/", "", "X/b.md"])
def test_a_path_without_an_entry_has_none(repo: GitRepo, path: str) -> None:
    assert TreeCache(Reading(repo), 100).entry(repo.git("rev-parse", "HEAD^{tree}"), path) is None


def test_each_tree_is_read_once_and_no_tree_at_all_is_empty(repo: GitRepo) -> None:
    reading = Reading(repo)
    cache, tree = TreeCache(reading, 100), repo.git("rev-parse", "HEAD^{tree}")
    for _ in range(3):
        cache.entry(tree, "x/b.md")
    assert reading.read == [tree, repo.git("rev-parse", "HEAD:x")]
    assert cache.tree("") == {}
    assert cache.entry("", "a.md") is None


def test_a_tree_that_is_given_is_not_read(repo: GitRepo) -> None:
    reading = Reading(repo)
    cache, tree = TreeCache(reading, 100), repo.git("rev-parse", "HEAD^{tree}")
    cache.keep(tree, TreeCache(reading, 100).tree(tree))
    reading.read.clear()
    assert cache.entry(tree, "a.md") is not None
    assert reading.read == []


def test_a_full_cache_is_cleared_and_answers_the_same(repo: GitRepo) -> None:
    reading = Reading(repo)
    cache, tree = TreeCache(reading, 3), repo.git("rev-parse", "HEAD^{tree}")
    entries = [cache.entry(tree, path) for path in ("x/b.md", "a.md", "x/漢字/c.md", "x/b.md")]
    assert [entry.id if entry else "" for entry in entries] == [
        repo.git("rev-parse", f"HEAD:{path}") for path in ("x/b.md", "a.md", "x/漢字/c.md", "x/b.md")
    ]
    assert len(reading.read) > 3
