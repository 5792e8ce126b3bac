"""The draft of a write to a replica: what it sees, what it refuses, and what its receipt says."""

from __future__ import annotations

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError, NotFoundError, ReadOnlyError
from commonplace.domain.revisions import revision_of
from commonplace.store.git.repository import GitRepository
from commonplace.store.replica.writable import TreeDraft
from support import GitRepo, MakeRepo

A, B = Address("a.md"), Address("folder/b.md")


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    return git_repo("work", {"a.md": "# A\n", "folder/b.md": "# B\n"})


def draft_of(repo: GitRepo, *, hides: bool = False) -> TreeDraft:
    opened = GitRepository(repo.path / ".git", repo.path)
    return TreeDraft(opened, opened.head, lambda _: hides)


def test_it_reads_the_commit_with_its_own_changes(repo: GitRepo) -> None:
    draft = draft_of(repo)
    (repo.path / "a.md").write_text("# Not committed\n")
    assert draft.read(A) == b"# A\n"
    draft.put(A, b"# New\n")
    draft.remove(B)
    assert (draft.read(A), draft.exists(A), draft.exists(B)) == (b"# New\n", True, False)
    with pytest.raises(NotFoundError):
        draft.read(B)
    with pytest.raises(NotFoundError):
        draft.remove(B)
    assert draft.changes().contents == {"a.md": b"# New\n", "folder/b.md": None}
    assert draft.changes().before == {"a.md": revision_of(b"# A\n"), "folder/b.md": revision_of(b"# B\n")}


def test_what_changes_nothing_is_no_change(repo: GitRepo) -> None:
    draft = draft_of(repo)
    draft.put(A, b"# A\n")
    new = Address("new.md")
    draft.put(new, b"# New\n")
    draft.remove(new)
    assert draft.changes() == ({}, {"a.md": b"# A\n"}, {"a.md": revision_of(b"# A\n")}, frozenset())


def test_the_receipt_names_the_commit_that_has_the_bytes_that_were_replaced(repo: GitRepo) -> None:
    draft = draft_of(repo)
    with pytest.raises(RuntimeError):
        _ = draft.receipt
    draft.put(A, b"# New\n", keep=True)
    draft.put(Address("c.md"), b"# C\n", keep=True)
    draft.remove(B)
    copies = draft.acknowledge("c" * 40, "b" * 40)
    assert [(copy.address, copy.revision, copy.place, copy.commit) for copy in copies] == [
        (A, revision_of(b"# A\n"), "commit", "b" * 40),
        (B, revision_of(b"# B\n"), "commit", "b" * 40),
    ]
    assert draft.receipt.commit == "c" * 40
    assert draft.receipt.revisions == {A: revision_of(b"# New\n"), Address("c.md"): revision_of(b"# C\n")}
    assert draft.receipt.removed == (B,)


@pytest.mark.parametrize("path", ["folder", "folder.md/x.md", "a.md/inner.md", "link.md"])
def test_a_path_that_is_not_a_file_or_leads_through_one_is_refused(repo: GitRepo, path: str) -> None:
    (repo.path / "link.md").symlink_to("a.md")
    (repo.path / "folder.md").write_text("# A file\n")
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "--message", "More")
    with pytest.raises(InvalidInputError) as error:
        draft_of(repo).put(Address(path), b"x\n")
    assert error.value.kind == "path"


def test_a_path_in_a_submodule_is_refused(repo: GitRepo) -> None:
    head = repo.git("rev-parse", "HEAD")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{head},sub")
    repo.git("commit", "--quiet", "--message", "Submodule")
    with pytest.raises(ReadOnlyError, match="submodule"):
        draft_of(repo).put(Address("sub/x.md"), b"x\n")


def test_a_pointer_of_lfs_is_not_replaced_by_text(repo: GitRepo) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 5\n"
    repo.commit("Pointer", **{"a.md": pointer})
    draft = draft_of(repo)
    draft.put(A, b"# Text\n")
    with pytest.raises(ReadOnlyError, match="LFS"):
        draft.changes()


def test_a_page_that_nobody_would_find_is_refused(repo: GitRepo) -> None:
    draft = draft_of(repo, hides=True)
    draft.put(Address("new.md"), b"# New\n")
    with pytest.raises(InvalidInputError, match="ignored"):
        draft.changes()
