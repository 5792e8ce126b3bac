"""Known ancestors are those that Git names, at every tip, and cost a walk only once."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.store.git.past import revision_names
from commonplace.store.git.past.revision_names import AncestorCache
from commonplace.store.git.repository import GitRepository
from support import GitRepo, MakeRepo


class WatchedRepository(GitRepository):
    """A repository that records its queries."""

    def __init__(self, gitdir: Path, work_tree: Path) -> None:
        super().__init__(gitdir, work_tree)
        self.asked: list[tuple[str, str]] = []

    def holds(self, tip: str, commit: str) -> bool:
        self.asked.append((tip, commit))
        return super().holds(tip, commit)


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo(files={"a.md": "1\n"})


@pytest.fixture
def watched(repo: GitRepo) -> WatchedRepository:
    return WatchedRepository(repo.path / ".git", repo.path)


def tip(repo: GitRepo) -> str:
    return repo.git("rev-parse", "HEAD")


def test_an_ancestor_is_walked_to_once_and_stays_known_while_the_branch_grows(
    repo: GitRepo, watched: WatchedRepository
) -> None:
    first, cache = tip(repo), AncestorCache(watched)
    for number in range(3):
        before = tip(repo)
        repo.commit(**{"b.md": f"{number}\n"})
        assert cache.holds(tip(repo), first)
        assert (tip(repo), first) not in watched.asked or number == 0
        assert (tip(repo), before) in watched.asked


def test_what_was_added_is_not_walked_to(repo: GitRepo, watched: WatchedRepository) -> None:
    first, cache = tip(repo), AncestorCache(watched)
    repo.commit(**{"b.md": "1\n"})
    cache.add(tip(repo), [first])
    assert cache.holds(tip(repo), first)
    assert watched.asked == []


def test_a_commit_of_a_later_tip_is_no_ancestor_of_an_earlier_one(repo: GitRepo, watched: WatchedRepository) -> None:
    first, cache = tip(repo), AncestorCache(watched)
    repo.commit(**{"b.md": "1\n"})
    second = tip(repo)
    repo.commit(**{"b.md": "2\n"})
    assert cache.holds(tip(repo), second)
    assert not cache.holds(first, second)
    cache.add(first, [second])
    assert not cache.holds(first, second)
    assert cache.holds(tip(repo), second)


def test_a_branch_that_was_reset_forgets_what_it_dropped(repo: GitRepo, watched: WatchedRepository) -> None:
    first, cache = tip(repo), AncestorCache(watched)
    repo.commit(**{"b.md": "1\n"})
    dropped = tip(repo)
    repo.commit(**{"b.md": "2\n"})
    assert cache.holds(tip(repo), dropped)
    repo.git("reset", "--quiet", "--hard", first)
    repo.commit(**{"c.md": "1\n"})
    assert not cache.holds(tip(repo), dropped)
    assert cache.holds(tip(repo), first)


def test_no_more_ancestors_are_known_than_the_limit(
    repo: GitRepo, watched: WatchedRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revision_names, "MAX_KNOWN", 2)
    commits, cache = [tip(repo)], AncestorCache(watched)
    for number in range(4):
        repo.commit(**{"b.md": f"{number}\n"})
        commits.append(tip(repo))
    assert all(cache.holds(commits[-1], commit) for commit in commits)
    watched.asked.clear()
    assert cache.holds(commits[-1], commits[0])
    assert watched.asked == [(commits[-1], commits[0])]
