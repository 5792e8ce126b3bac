"""The changes that dates are read from give the same history of a page as the trees of all commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.store import open_store
from commonplace.store.git.past.document_spans import MAX_CACHED_CHANGES, CommitChanges
from histories import replayed
from support import GitRepo, MakeRepo

COMMITS, SEED = 130, 7
PAGE = Address("notes/page-3.md")


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    """A history in which pages come, change, move and go, with branches that merge."""
    place = tmp_path_factory.mktemp("spans")
    (place / "pages/notes").mkdir(parents=True)
    for number in range(20):
        (place / f"pages/notes/page-{number}.md").write_text(f"# Page {number}\n\nText of {number}.\n")
    return replayed(place / "pages", place / "base", commits=COMMITS, seed=SEED)


def pages_of(repo: GitRepo) -> list[Address]:
    """Every page that the repository ever had."""
    names = repo.git("log", "--all", "--format=", "--name-only").splitlines()
    return [Address(name) for name in sorted(set(names)) if name.endswith(".md")]


def test_versions_and_log_are_the_same_before_and_after_dates_are_known(repo: GitRepo, tmp_path: Path) -> None:
    by_trees = open_store(repo.path, commit="manual", state_dir=tmp_path / "state").history
    by_changes = open_store(repo.path, commit="manual", state_dir=tmp_path / "state").history
    by_changes.touched()
    pages = pages_of(repo)
    assert len(pages) > 20
    for page in pages:
        assert list(by_changes.versions(page)) == list(by_trees.versions(page)), page
        assert by_changes.log(page, limit=1000) == by_trees.log(page, limit=1000), page


def test_changes_of_later_commits_are_added(git_repo: MakeRepo, tmp_path: Path) -> None:
    repo = git_repo(files={"a.md": "one\n", "b.md": "other\n"})
    history = open_store(repo.path, commit="manual", state_dir=tmp_path / "state").history
    history.touched()
    repo.commit("Change", **{"a.md": "two\n"})
    (repo.path / "a.md").unlink()
    repo.commit("Delete")
    history.touched()
    assert [raw for _, raw in history.versions(Address("a.md"))] == [b"", b"two\n", b"one\n"]
    assert [raw for _, raw in history.versions(Address("b.md"))] == [b"other\n"]
    repo.commit("Again", **{"a.md": "three\n"})  # dates of this commit are not known yet
    assert [raw for _, raw in history.versions(Address("a.md"))] == [b"three\n", b"", b"two\n", b"one\n"]


def test_changes_beyond_the_limit_are_not_cached() -> None:
    changes = CommitChanges()
    for _ in range(MAX_CACHED_CHANGES):
        changes.add(PAGE, b"c" * 20, b"")
    assert changes.complete
    assert changes.of(PAGE) == {(b"c" * 20).hex(): ""}
    changes.add(PAGE, b"d" * 20, b"b" * 20)
    assert not changes.complete
    assert changes.of(PAGE) == {}
