"""Past states of a folder: indexed once, shared while in use, and deleted after many others were used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from commonplace.domain.query import SearchQuery
from commonplace.index import open_past
from commonplace.index.past import COPY_PREFIX, LEASE_SUFFIX, MAX_OPEN, MAX_STATES, IndexedPast
from commonplace.store import open_store
from indexed import Indexed
from support import GitRepo, MakeRepo, open_files


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """Each commit has one document more than the one before."""
    repo = git_repo("base", {"d0.md": "# D0\n\nword\n"})
    for number in range(1, MAX_STATES + 3):
        repo.commit(f"Add {number}", **{f"d{number}.md": f"# D{number}\n\nword\n"})
    return repo


@pytest.fixture
def base(repo: GitRepo, tmp_path: Path) -> Iterator[Indexed]:
    del repo
    with Indexed(tmp_path) as made:
        yield made


@pytest.fixture
def past(base: Indexed) -> Iterator[IndexedPast]:
    with closing(opened(base)) as made:
        yield made


def opened(base: Indexed) -> IndexedPast:
    """The past as one more process would open it."""
    indexed_past = open_past(open_store(base.folder, commit="manual", state_dir=base.state), base.cache)
    assert indexed_past is not None
    return indexed_past


def documents(past: IndexedPast, commit: str) -> int:
    """Number of documents that a search finds at a commit."""
    with past.opened(commit) as (_, index):
        return index.search(SearchQuery(text="word")).total


def folders(base: Indexed) -> list[str]:
    """The names of the stored states."""
    return sorted(path.stem for path in base.cache.rglob(f"*{LEASE_SUFFIX}"))


def commits(repo: GitRepo) -> list[str]:
    """Oldest first."""
    return repo.git("rev-list", "--reverse", "HEAD").split()


def test_each_commit_is_searched_as_it_was(past: IndexedPast, repo: GitRepo) -> None:
    every = commits(repo)
    assert [documents(past, commit) for commit in (every[2], every[0], every[5])] == [3, 1, 6]


def test_a_state_in_use_is_shared_and_stays_open(past: IndexedPast, repo: GitRepo) -> None:
    every = commits(repo)
    with past.opened(every[0]) as (_, index):
        with past.opened(every[0]) as (_, same):
            assert same is index
        for commit in every[1 : MAX_OPEN + 2]:
            documents(past, commit)
        assert index.search(SearchQuery(text="word")).total == 1
    with past.opened(every[MAX_OPEN + 1]) as (_, other_index), past.opened(every[MAX_OPEN + 1]) as (_, two):
        assert other_index is two


def test_the_least_recently_used_states_are_deleted_and_made_again(
    past: IndexedPast, base: Indexed, repo: GitRepo
) -> None:
    every = commits(repo)
    for commit in every:
        documents(past, commit)
    past.close()
    documents(past, every[-1])
    kept_folders = folders(base)
    assert len(kept_folders) <= MAX_STATES + 1
    assert past.commits.key(every[-1]) in kept_folders
    assert documents(past, every[0]) == 1


def test_a_state_that_another_process_uses_is_not_deleted(past: IndexedPast, base: Indexed, repo: GitRepo) -> None:
    every = commits(repo)
    with closing(opened(base)) as other, other.opened(every[0]) as (_, index):
        for commit in every[1:]:
            documents(past, commit)
        assert past.commits.key(every[0]) in folders(base)
        assert index.search(SearchQuery(text="word")).total == 1


def test_what_a_killed_process_left_half_copied_is_removed_when_it_is_old(
    past: IndexedPast, base: Indexed, repo: GitRepo
) -> None:
    documents(past, commits(repo)[0])
    place = next(base.cache.rglob(f"*{LEASE_SUFFIX}")).parent
    for name, age in (("old", 7200), ("new", 0)):
        (place / f"{COPY_PREFIX}{name}").mkdir()
        when = place.stat().st_mtime - age
        os.utime(place / f"{COPY_PREFIX}{name}", (when, when))
    documents(past, commits(repo)[1])
    assert [path.name for path in place.glob(f"{COPY_PREFIX}*")] == [f"{COPY_PREFIX}new"]


def test_the_lock_of_a_state_is_given_back_when_the_past_is_closed(
    past: IndexedPast, base: Indexed, repo: GitRepo
) -> None:
    every = commits(repo)
    with ExitStack() as users:
        for commit in every[:2]:
            users.enter_context(past.opened(commit))
        past.close()
        assert _held(base), "states in use stay open"
    past.close()
    assert not _held(base)


def _held(base: Indexed) -> list[str]:
    """The leases that this process has open."""
    return [name for name in open_files(str(base.cache)) if name.endswith(LEASE_SUFFIX)]
