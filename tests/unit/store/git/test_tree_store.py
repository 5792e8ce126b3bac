"""The files of one commit, served as a folder is and written by nobody."""

from __future__ import annotations

from dataclasses import replace

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import GitError, NotFoundError, ReadOnlyError
from commonplace.store.discovery import NoHistory
from commonplace.store.git import tree_store
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.tree_store import TreeSource, TreeStore
from support import GitRepo, MakeRepo

A = Address("notes/a.md")
FILES: dict[str, str | bytes] = {
    "notes/a.md": "# A\n",
    "notes/deep/b.md": "# B\n",
    "notes/p.png": b"png",
    "notes/.hidden/h.md": "# Hidden\n",
    "notes/node_modules/n.md": "# Module\n",
    "notes/drafts/d.md": "# Draft\n",
    "other/o.md": "# O\n",
}


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    """Documents and what lies between them, of which some is odd."""
    repo = git_repo("repo", FILES)
    repo.write("notes/back\\slash.md", "x")
    repo.write("notes/back\\slash.png", "x")
    (repo.path / "notes/link.md").symlink_to("a.md")
    (repo.path / "notes/run.md").write_text("#!/bin/sh\n")
    (repo.path / "notes/run.md").chmod(0o755)
    repo.commit("More")
    return repo


def source(repo: GitRepo, prefix: str = "notes/") -> TreeSource:
    repository = GitRepository(repo.path / ".git", repo.path)
    commit = repo.git("rev-parse", "HEAD")
    return TreeSource(repository=repository, commit=lambda: commit, prefix=prefix, mtime_ns=7)


def store(repo: GitRepo, prefix: str = "notes/") -> TreeStore:
    return TreeStore("notes", "key", source(repo, prefix), NoHistory(), "it is a state of the past")


def test_documents_below_the_folder_are_listed_with_their_metadata(repo: GitRepo) -> None:
    made = store(repo, prefix="")
    stats = dict(made.scan())
    paths = {"notes/a.md", "notes/deep/b.md", "notes/drafts/d.md", "notes/run.md", "other/o.md"}
    assert {address.path for address in stats} == paths
    stat = stats[Address("notes/a.md")]
    assert (stat.size, stat.mtime_ns) == (len("# A\n"), 7)
    assert f"{stat.inode:015x}" == repo.git("rev-parse", "HEAD:notes/a.md")[:15]
    assert made.stat(Address("notes/a.md")) == stat


def test_a_folder_of_the_repository_is_served_by_its_own_paths(repo: GitRepo) -> None:
    made = store(repo)
    assert {address.path for address, _ in made.scan()} == {"a.md", "deep/b.md", "drafts/d.md", "run.md"}
    assert made.read(Address("deep/b.md")) == b"# B\n"
    assert {address.path for address, _ in made.files("")} == {"a.md", "p.png", "run.md"}
    assert [address.path for address, _ in made.files("deep")] == ["deep/b.md"]
    assert made.folders("") == ["deep", "drafts"]
    assert (made.files("none"), made.folders("none"), made.files("a.md")) == ([], [], [])


def test_only_what_looks_like_a_document_is_reported_as_skipped(repo: GitRepo) -> None:
    made = store(repo)
    assert made.skipped() == []
    list(made.scan())
    assert dict(made.skipped()) == {
        "back\\slash.md": "it contains a backslash; parts are separated by '/'",
        "link.md": "a link or a submodule",
    }


@pytest.mark.parametrize("path", ["none.md", "deep", "link.md", "../other/o.md", "a.md/x.md"])
def test_what_is_no_file_of_the_folder_is_not_found(repo: GitRepo, path: str) -> None:
    made = store(repo)
    assert made.stat(Address(path)) is None
    with pytest.raises(NotFoundError):
        made.read(Address(path))


def test_a_document_that_a_rule_hides_is_neither_listed_nor_read_and_pictures_are(repo: GitRepo) -> None:
    hidden = replace(source(repo), hides=lambda path, is_folder: (is_folder and path == "drafts") or path == "run.md")
    made = TreeStore("notes", "key", hidden, NoHistory(), "no")
    assert {address.path for address, _ in made.scan()} == {"a.md", "deep/b.md"}
    for path in ("drafts/d.md", "run.md"):
        assert made.stat(Address(path)) is None
        with pytest.raises(NotFoundError):
            made.read(Address(path))
    assert made.read(Address("p.png")) == b"png"


def test_a_commit_stays_what_it_is_and_before_the_first_one_there_is_nothing(repo: GitRepo, git_repo: MakeRepo) -> None:
    made = store(repo)
    repo.commit("Later", **{"notes/a.md": "# Later\n", "notes/new.md": "# New\n"})
    with made.reading() as read:
        assert read(Address("a.md")) == b"# A\n"
    assert made.stat(Address("new.md")) is None
    empty = git_repo("empty")
    none = TreeStore(
        "none",
        "key",
        TreeSource(repository=GitRepository(empty.path / ".git", empty.path), commit=lambda: ""),
        NoHistory(),
        "no",
    )
    assert (list(none.scan()), none.files(""), none.folders(""), none.stat(A)) == ([], [], [], None)


def test_nothing_is_ever_written(repo: GitRepo) -> None:
    made = store(repo)
    assert made.read_only_reason == "it is a state of the past"
    with pytest.raises(ReadOnlyError, match="notes cannot be written: it is a state of the past"):
        made.transaction("Write")
    assert made.committing() is made
    assert (made.repository, made.trash, made.recover()) == (None, None, [])


def test_a_document_over_the_limit_is_skipped_with_the_reason_and_not_read(
    git_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = git_repo(files={"a.md": "small\n", "b.md": "x" * 200, "b.png": "x" * 200})
    monkeypatch.setattr(tree_store, "MAX_SERVED_BYTES", 100)
    made = store(repo, prefix="")
    assert [address.path for address, _ in made.scan()] == ["a.md"]
    assert made.skipped() == [("b.md", "it has more than 100 bytes")]
    assert made.stat(Address("b.md")) is None
    with pytest.raises(NotFoundError):
        made.read(Address("b.md"))
    assert made.read(Address("b.png")) == b"x" * 200


def test_a_commit_of_too_many_entries_is_refused(git_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = git_repo(files={f"{folder}/{name}.md": "same\n" for folder in "abc" for name in "xyz"})
    monkeypatch.setattr(tree_store, "MAX_SERVED_ENTRIES", 10)
    with pytest.raises(GitError, match="more than 10 files and folders"):
        list(store(repo, prefix="").scan())
