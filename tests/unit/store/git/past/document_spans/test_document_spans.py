"""The changes that dates are read from give the same history of a page as the trees of all commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.ports import History
from commonplace.store import open_store
from commonplace.store.git.past.document_spans import HISTORY_FILE
from histories import replayed
from support import GitRepo, MakeRepo

COMMITS, SEED = 130, 7


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
    repo: GitRepo, tmp_path: Path
) -> None:
    by_trees = open_store(repo.path, commit="manual", state_dir=tmp_path / "state").history
    by_changes = opened(repo, tmp_path)
    spans = by_changes.touched()
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


@pytest.mark.parametrize("step", ["change", "rename", "other", "delete"])
def test_the_dates_of_few_pages_after_a_restart_are_those_of_the_whole_history(
    step: str, repo: GitRepo, tmp_path: Path
) -> None:
    place = tmp_path / "base"
    repo.git("clone", "-q", str(repo.path), str(place))
    clone = GitRepo(place)
    for key in ("user.name", "user.email"):
        clone.git("config", key, "someone@example.org")
    opened(clone, tmp_path).touched()
    pages = sorted(page.path for page in opened(clone, tmp_path).touched() if (place / page.path).exists())
    few = [Address(pages[0]), Address(pages[1]), Address("new.md"), Address("none.md")]
    if step == "rename":
        clone.git("mv", pages[0], "new.md")
    elif step == "delete":
        (place / pages[0]).unlink()
    else:
        (place / pages[0 if step == "change" else 5]).write_text("# Other\n")
    last = clone.commit(step)
    spans = opened(clone, tmp_path).touched(few)
    whole = open_store(place, commit="manual", state_dir=tmp_path / "other").history.touched()
    assert spans == {page: whole[page] for page in few if page in whole}
    assert (spans[Address(pages[0])].last.id == last) == (step != "other")
    assert (Address("new.md") in spans) == (step == "rename")
