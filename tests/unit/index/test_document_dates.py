"""Created and updated times follow the history, whichever way it goes."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Collection
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import CommitSpan
from commonplace.domain.errors import GitError
from commonplace.domain.query import ListQuery
from commonplace.index import document_dates, open_index
from commonplace.store import open_store
from indexed import Indexed
from injection.wrapped_stores import WrappedHistory
from support import GitRepo, new_repo

PATHS = [f"{folder}{name}.md" for folder in ("", "a/", "a/b/") for name in ("one", "two")]
DAY = 86_400
BEGIN = 1_600_000_000


@pytest.mark.parametrize("seed", range(4))
def test_dates_that_are_kept_up_are_those_of_an_index_from_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(document_dates, "BATCH_DOCUMENTS", 1 if seed % 2 else document_dates.BATCH_DOCUMENTS)
    repo = new_repo(tmp_path / "base")
    with Indexed(tmp_path) as made:
        for step in range(1, 9):
            when = BEGIN + step * DAY
            for _ in range(chance.randrange(3)):
                _happens(repo, chance, when)
            made.index.sync()
            assert _times(made) == _times_from_nothing(made, tmp_path / f"fresh{step}"), step


class FailingHistory(WrappedHistory):
    """A history that fails from the second query for commits on, until `fails` is reset."""

    fails = False
    _asked = 0

    def touched(self, addresses: Collection[Address] | None = None) -> dict[Address, CommitSpan]:
        self._asked += self.fails
        if self.fails and self._asked > 1:
            raise GitError("The history cannot be read.", kind="repository")
        return self.real.touched(addresses)


def test_dates_of_a_walk_that_failed_in_the_middle_are_told_and_the_rest_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = new_repo(tmp_path / "base")
    for path in PATHS:
        repo.write(path, "word\n")
    _commit(repo, BEGIN, PATHS[0])
    with Indexed(tmp_path) as made:
        before, kept_values = _times(made), {record.address.path: record.updated for record in made.index.orphans()}
        history = FailingHistory(made.store)
        made.index.close()
        made.index = open_index(history.store(), made.cache)
        history.fails = True
        monkeypatch.setattr(document_dates, "BATCH_DOCUMENTS", 2)
        for path in PATHS:
            os.utime(repo.write(path, "another\n"), (BEGIN + DAY, BEGIN + DAY))
        _commit(repo, BEGIN + DAY, PATHS[0])
        made.index.sync()
        assert _times(made) != before
        assert {record.address.path: record.updated for record in made.index.orphans()} != kept_values
        history.fails = False
        made.index.sync()
        assert _times(made) == _times_from_nothing(made, tmp_path / "fresh")


class UnreadHistory(WrappedHistory):
    """A history that returns no commits of documents until `is_readable` is set."""

    is_readable = False

    def touched(self, addresses: Collection[Address] | None = None) -> dict[Address, CommitSpan]:
        if not self.is_readable:
            raise GitError("The history cannot be read.", kind="repository")
        return self.real.touched(addresses)


def test_a_document_of_a_bare_repository_has_the_date_of_the_commit_until_its_own_are_known(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base")
    repo.write("old.md", "word\n")
    _commit(repo, BEGIN, "old.md")
    repo.write("new.md", "word\n")
    _commit(repo, BEGIN + DAY, "new.md")
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(tmp_path / "base.git"))
    history = UnreadHistory(open_store(tmp_path / "base.git", commit="manual", state_dir=tmp_path / "state"))
    index = open_index(history.store(), tmp_path / "cache")
    try:
        index.sync()
        dates = {(record.created, record.updated) for record in index.list(ListQuery(sort="path", limit=9)).records}
        assert dates == {("2020-09-14T12:26:40Z", "2020-09-14T12:26:40Z")}
        history.is_readable = True
        index.sync()
        dates = {(record.created, record.updated) for record in index.list(ListQuery(sort="updated", limit=9)).records}
        assert dates == {("2020-09-13T12:26:40Z",) * 2, ("2020-09-14T12:26:40Z",) * 2}
    finally:
        index.close()


def _happens(repo: GitRepo, chance: random.Random, when: int) -> None:
    """Something that changes files, commits, or both."""
    event = chance.choice(["edit", "edit", "commit", "commit", "there and back", "amend", "reset", "switch", "remove"])
    path = chance.choice(PATHS)
    begun = repo.git("rev-list", "--all", "--max-count=1") != ""
    if event == "edit":
        file = repo.write(path, f"word {chance.randrange(3)}\n")
        os.utime(file, (when, when))
    elif event == "remove":
        (repo.path / path).unlink(missing_ok=True)
    elif event == "commit" or not begun:
        _commit(repo, when, chance.choice(PATHS))
    elif event == "there and back":
        before = (repo.path / path).read_bytes() if (repo.path / path).exists() else b""
        for content in (b"there\n", before):
            os.utime(repo.write(path, content), (when, when))
            _commit(repo, when, path)
    elif event == "amend":
        repo.git("commit", "--quiet", "--amend", "--allow-empty", "--message=Amended", f"--date={when} +0000")
    elif event == "reset":
        repo.git("reset", "--quiet", chance.choice(["--soft", "--mixed"]), _one(repo, chance))
    else:
        repo.git("update-ref", "refs/heads/side", _one(repo, chance))
        repo.git("symbolic-ref", "HEAD", chance.choice(["refs/heads/side", "refs/heads/main"]))


def _one(repo: GitRepo, chance: random.Random) -> str:
    """The last commit, or the one before, where there is one."""
    return chance.choice(repo.git("rev-list", "--max-count=2", "HEAD").splitlines())


def _commit(repo: GitRepo, when: int, path: str) -> None:
    repo.git("add", "--all", *(["--", path] if (repo.path / path).exists() else []))
    repo.git("commit", "--quiet", "--allow-empty", "--message=Next", f"--date={when} +0000")


_Times = list[tuple[str, str, str]]


def _times(made: Indexed) -> _Times:
    page = made.index.list(ListQuery(sort="updated", limit=100))
    return sorted((record.address.path, record.created, record.updated) for record in page.records)


def _times_from_nothing(made: Indexed, cache: Path) -> _Times:
    index = open_index(open_store(made.folder, commit="manual", state_dir=made.state), cache)
    index.sync()
    page = index.list(ListQuery(sort="updated", limit=100))
    index.close()
    return sorted((record.address.path, record.created, record.updated) for record in page.records)


def test_an_updater_that_is_closed_while_it_is_woken_ends_in_good_order(tmp_path: Path) -> None:
    store = open_store(new_repo(tmp_path / "base").path, commit="manual", state_dir=tmp_path / "state")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that one call in four is met between a thread's making and its start
    try:
        for _ in range(300):
            updater = document_dates.DateUpdater(store, lambda: None)
            waking = threading.Thread(target=updater.wake)
            waking.start()
            updater.close()
            waking.join()
    finally:
        sys.setswitchinterval(interval)
