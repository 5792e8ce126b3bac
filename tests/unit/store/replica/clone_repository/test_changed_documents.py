"""Documents that differ between two commits, and detection of other differences."""

from __future__ import annotations

import pytest

from commonplace.domain.addresses import Address
from commonplace.store.git.repository import GitRepository
from commonplace.store.replica.clone_repository import MAX_CHANGED, changed_documents
from support import MakeRepo


def test_new_changed_and_removed_documents_are_named(git_repo: MakeRepo) -> None:
    work = git_repo("work", {"a.md": "a", "b.md": "b", "folder/c.md": "c", "same.md": "s"})
    first = work.git("rev-parse", "HEAD")
    work.git("rm", "--quiet", "b.md")
    second = work.commit("Second", **{"a.md": "other", "folder/d.md": "d"})
    addresses = changed_documents(GitRepository(work.path / ".git"), first, second)
    assert sorted(addresses or []) == [Address("a.md"), Address("b.md"), Address("folder/d.md")]
    assert changed_documents(GitRepository(work.path / ".git"), first, first) == []


@pytest.mark.parametrize("path", [".gitignore", "mkdocs.yml", "picture.png", ".commonplaceignore"])
def test_another_file_may_concern_documents_that_are_the_same(git_repo: MakeRepo, path: str) -> None:
    work = git_repo("work", {"a.md": "a"})
    first = work.git("rev-parse", "HEAD")
    second = work.commit("Second", **{path: "x", "b.md": "b"})
    assert changed_documents(GitRepository(work.path / ".git"), first, second) is None


def test_too_many_are_not_named(git_repo: MakeRepo) -> None:
    work = git_repo("work", {"a.md": "a"})
    first = work.git("rev-parse", "HEAD")
    few = work.commit("Few", **{f"{number}.md": "x" for number in range(MAX_CHANGED)})
    many = work.commit("One more", **{"last.md": "x"})
    repository = GitRepository(work.path / ".git")
    assert len(changed_documents(repository, first, few) or []) == MAX_CHANGED
    assert changed_documents(repository, first, many) is None
