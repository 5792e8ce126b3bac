"""The index of another state of a folder begins as a copy, which only what differs has to be added to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat
from commonplace.domain.ports import Store
from commonplace.domain.revisions import revision_of
from commonplace.index.catalogue.database import write_meta
from commonplace.index.index_files import CATALOGUE_FILE, FULLTEXT_FOLDER
from commonplace.index.local import LocalIndex
from commonplace.index.past import copy_index, revisions_of
from commonplace.store.discovery import NoHistory
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.tree_store import TreeSource, TreeStore
from indexed import MANY, Indexed, answers
from support import GitRepo

FILES = {
    "a.md": "---\nupdated: 2030-01-01\n---\n# A\n\nalpha [[b]] and ![p](p.png)\n",
    "b.md": "# B\n\nbeta #tag\n",
    "p.png": "png",
    **MANY,
}


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """The folder of the index, as a repository."""
    (tmp_path / "base").mkdir()
    repo = GitRepo(tmp_path / "base")
    repo.git("init", "--quiet", "--initial-branch=main")
    for key, value in {"user.name": "T", "user.email": "t@example.org"}.items():
        repo.git("config", key, value)
    repo.commit("Begin", **FILES)
    return repo


@pytest.fixture
def base(repo: GitRepo, tmp_path: Path) -> Iterator[Indexed]:
    del repo
    with Indexed(tmp_path) as made:
        yield made


def live(base: Indexed) -> Path:
    (path,) = base.cache.rglob(CATALOGUE_FILE)
    return path.parent


def at(repo: GitRepo, commit: str) -> Store:
    """The files of a commit."""
    identifier = repo.git("rev-parse", commit)
    source = TreeSource(repository=GitRepository(repo.path / ".git", repo.path), commit=lambda: identifier)
    return TreeStore("base", f"key-{identifier}", source, NoHistory(), "past")


def files_of(store: Store) -> dict[str, FileStat]:
    return {address.path: stat for address, stat in store.scan()}


def test_a_complete_index_tells_its_documents_and_another_one_nothing(base: Indexed, tmp_path: Path) -> None:
    place = live(base)
    assert revisions_of(place) == {name: revision_of(FILES[name].encode()) for name in FILES if name.endswith(".md")}
    assert revisions_of(tmp_path / "none") is None
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / CATALOGUE_FILE).write_bytes(b"no database" * 200)
    assert revisions_of(tmp_path / "damaged") is None


@pytest.mark.parametrize(("key", "value"), [("version", 1), ("complete", 0)])
def test_an_index_of_another_version_or_an_unfinished_one_is_no_source(base: Indexed, key: str, value: int) -> None:
    place = live(base)
    base.index.close()
    with closing(sqlite3.connect(place / CATALOGUE_FILE)) as connection, connection:
        write_meta(connection, key, value)
    assert revisions_of(place) is None


def test_a_copy_answers_as_the_index_does_and_shares_its_segments(base: Indexed, repo: GitRepo, tmp_path: Path) -> None:
    store = at(repo, "HEAD")
    target = tmp_path / "copies/one"
    copy_index(live(base), target, store, files_of(store))
    segments = [path for path in (live(base) / FULLTEXT_FOLDER).rglob("*.store") if path.is_file()]
    assert segments
    for path in segments:
        copied = target / FULLTEXT_FOLDER / path.relative_to(live(base) / FULLTEXT_FOLDER)
        assert path.samefile(copied)
    assert not list((target / FULLTEXT_FOLDER).rglob("*.lock"))
    with closing(LocalIndex(store, target)) as index:
        assert index.sync().updated == 0
        words = ("alpha", "beta")
        mine, theirs = answers(index, words), answers(base.index, words)
        assert mine == theirs


def test_only_what_differs_from_the_copied_state_is_indexed(base: Indexed, repo: GitRepo, tmp_path: Path) -> None:
    repo.commit("Change", **{"b.md": "# B\n\ngamma\n", "c.md": "# C\n"})
    store = at(repo, "HEAD")
    copy_index(live(base), tmp_path / "copy", store, files_of(store))
    with closing(LocalIndex(store, tmp_path / "copy")) as index:
        report = index.sync()
        assert (report.added, report.updated, report.removed) == (1, 1, 0)
        assert revisions_of(tmp_path / "copy") == {
            path: revision_of(store.read(Address(path))) for path in files_of(store)
        }


def test_a_link_to_a_file_that_the_other_state_lacks_is_broken_there(
    base: Indexed, repo: GitRepo, tmp_path: Path
) -> None:
    (repo.path / "p.png").unlink()
    repo.commit("Remove the picture")
    assert not base.index.broken()
    store = at(repo, "HEAD")
    copy_index(live(base), tmp_path / "copy", store, files_of(store))
    with closing(LocalIndex(store, tmp_path / "copy")) as index:
        index.sync()
        assert [link.link.target for link in index.broken()] == ["p.png"]


def test_no_date_of_a_file_is_later_than_the_copied_state_and_stated_ones_stay(
    base: Indexed, repo: GitRepo, tmp_path: Path
) -> None:
    store = at(repo, "HEAD")
    early = {path: stat._replace(mtime_ns=1_600_000_000_000_000_000) for path, stat in files_of(store).items()}
    copy_index(live(base), tmp_path / "copy", store, early)
    with closing(sqlite3.connect(tmp_path / "copy" / CATALOGUE_FILE)) as connection:
        rows = dict(connection.execute("SELECT path, updated FROM files").fetchall())
    assert rows["b.md"].startswith("2020-09-13")
    assert rows["a.md"].startswith("2030-01-01")


def test_a_folder_that_exists_is_never_copied_into(base: Indexed, repo: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(FileExistsError):
        copy_index(live(base), tmp_path / "there", at(repo, "HEAD"), {})
