"""The changes that dates are read from give the same history of a page as the trees of all commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.ports import History
from commonplace.store import open_store
from commonplace.store.git.past import document_spans
from commonplace.store.git.past.document_spans import HISTORY_FILE
from commonplace.store.git.past.walked_history import MAX_CACHED_CHANGES, CommitChanges
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


def opened(repo: GitRepo, place: Path) -> History:
    return open_store(repo.path, commit="manual", state_dir=place / "state", cache_dir=place / "cache").history


def test_versions_and_log_are_the_same_before_and_after_dates_are_known_and_after_a_restart(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_trees = open_store(repo.path, commit="manual", state_dir=tmp_path / "state").history
    by_changes = opened(repo, tmp_path)
    spans = by_changes.touched()
    monkeypatch.setattr(document_spans, "changed_blobs", None)  # nothing is walked again
    restarted = opened(repo, tmp_path)
    pages = pages_of(repo)
    assert len(pages) > 20
    for page in pages:
        versions, log = list(by_trees.versions(page)), by_trees.log(page, limit=1000)
        for history in (by_changes, restarted):
            assert list(history.versions(page)) == versions, page
            assert history.log(page, limit=1000) == log, page
    assert restarted.touched() == spans
    (file,) = (tmp_path / "cache").rglob(HISTORY_FILE)
    assert not file.stat().st_mode & 0o077


def test_a_stored_history_that_is_damaged_or_of_another_branch_is_not_used(
    git_repo: MakeRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_spans, "STORED_EVERY", 1)
    repo = git_repo(files={"a.md": "one\n"})
    begun = opened(repo, tmp_path).touched()
    (file,) = (tmp_path / "cache").rglob(HISTORY_FILE)
    stored = file.read_bytes()
    for damaged in (b"", stored[:-1], stored[:40], stored[:60] + b"\xff" + stored[61:], stored + b"x"):
        file.write_bytes(damaged)
        assert opened(repo, tmp_path).touched() == begun
        assert file.read_bytes() == stored
    last = repo.commit("More", **{"a.md": "two\n"})
    grown = opened(repo, tmp_path)
    assert grown.address_at(Address("a.md"), last) == Address("a.md")
    assert grown.touched()[Address("a.md")].last.id == last
    assert grown.touched()[Address("a.md")].first == begun[Address("a.md")].first
    repo.git("checkout", "-q", "--orphan", "other")
    other = repo.commit("Other", **{"b.md": "other\n"})
    assert {span.first.id for span in opened(repo, tmp_path).touched().values()} == {other}


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
