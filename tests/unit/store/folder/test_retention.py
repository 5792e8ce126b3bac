"""Old bytes of deleted and replaced files: a commit holds them, or the trash does."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import RetainedCopy
from commonplace.domain.errors import ConflictError, StorageError
from commonplace.domain.ports import Store
from commonplace.domain.revisions import revision_of
from commonplace.store import open_store
from commonplace.store.folder.folder_store import FolderStore
from commonplace.store.folder.retention import RETENTION_DAYS, FolderTrash
from injection.audit_events import before, ends_with, raising
from support import GitRepo, MakeRepo

A = Address("sub/a.md")


def opened(folder: Path, commit: Literal["auto", "manual"] = "manual") -> FolderStore:
    """A store whose state lies beside its folder."""
    store = open_store(folder, commit=commit, state_dir=folder.parent / "state")
    assert isinstance(store, FolderStore)
    return store


def delete(store: Store) -> RetainedCopy | None:
    """Delete the page; where its bytes are."""
    with store.transaction("Delete") as transaction:
        transaction.remove(A)
    return transaction.receipt.retained.get(A)


def replace(store: Store, content: bytes, *, keep: bool) -> RetainedCopy | None:
    """Replace the page; where its old bytes are."""
    with store.transaction("Replace") as transaction:
        transaction.put(A, content, keep=keep)
    return transaction.receipt.retained.get(A)


def in_trash(folder: Path) -> dict[str, bytes]:
    """Contents of the trash, by path."""
    bases = list((folder.parent / "state" / "trash").glob("*"))
    trashes = [FolderTrash(base.parent, base.name) for base in bases]
    return {item.address.path: trash.content(item) for trash in trashes for item in trash.items()}


@pytest.mark.parametrize("commit", ["auto", "manual"])
def test_bytes_that_the_last_commit_has_are_there_and_nowhere_else(
    git_repo: MakeRepo, commit: Literal["auto", "manual"]
) -> None:
    repo: GitRepo = git_repo("repo", {"sub/a.md": "# A\n"})
    head = repo.git("rev-parse", "HEAD")
    assert delete(opened(repo.path, commit)) == RetainedCopy(A, revision_of(b"# A\n"), "commit", head)
    assert repo.git("show", f"{head}:sub/a.md") == "# A"
    assert in_trash(repo.path) == {}


@pytest.mark.parametrize("commit", ["auto", "manual"])
@pytest.mark.parametrize("state", ["never committed", "edited since", "no commit yet", "ignored"])
def test_bytes_that_no_commit_has_go_to_the_trash_and_to_a_blob(
    git_repo: MakeRepo, commit: Literal["auto", "manual"], state: str
) -> None:
    repo: GitRepo = git_repo("repo", {} if state == "no commit yet" else {"other.md": "x"})
    if state == "edited since":
        repo.commit(**{"sub/a.md": "# committed\n"})
    if state == "ignored":
        repo.commit(**{".git/info/exclude": "sub/\n"})
    repo.write("sub/a.md", "# precious\n")
    store, before = opened(repo.path, commit), int(time.time())
    copy = delete(store)
    assert copy is not None
    assert (copy.revision, copy.place, copy.commit) == (revision_of(b"# precious\n"), "trash", "")
    assert before + RETENTION_DAYS * 86_400 <= copy.until <= int(time.time()) + RETENTION_DAYS * 86_400
    assert in_trash(repo.path) == {"sub/a.md": b"# precious\n"}
    assert repo.git("cat-file", "blob", copy.revision) == "# precious"
    repo.git("gc", "--prune=now", "--quiet")
    assert in_trash(repo.path) == {"sub/a.md": b"# precious\n"}
    assert not (repo.path / "sub").exists()


def test_without_git_what_is_deleted_goes_to_the_trash(tmp_path: Path) -> None:
    GitRepo(tmp_path / "plain").write("sub/a.md", "# precious\n")
    copy = delete(opened(tmp_path / "plain"))
    assert copy is not None
    assert copy.place == "trash"
    assert in_trash(tmp_path / "plain") == {"sub/a.md": b"# precious\n"}


def test_a_subfolder_and_its_repository_share_one_trash(git_repo: MakeRepo) -> None:
    repo: GitRepo = git_repo("repo", {"other.md": "x"})
    repo.write("kb/sub/a.md", "# precious\n")
    delete(open_store(repo.path / "kb", commit="manual", state_dir=repo.path.parent / "state"))
    assert in_trash(repo.path) == {"kb/sub/a.md": b"# precious\n"}


def test_line_ends_that_git_stores_otherwise_are_held_by_the_commit(git_repo: MakeRepo) -> None:
    repo: GitRepo = git_repo("repo", {".gitattributes": "*.md text eol=crlf\n", "sub/a.md": "# A\r\n"})
    copy = delete(opened(repo.path))
    assert copy is not None
    assert copy.place == "commit"


def test_what_is_replaced_is_kept_where_it_is_asked_for_or_a_commit_would_take_an_edit_in(git_repo: MakeRepo) -> None:
    repo: GitRepo = git_repo("repo", {"sub/a.md": "# committed\n"})
    repo.write("sub/a.md", "# edited by hand\n")
    store = opened(repo.path)
    assert replace(store, b"1", keep=False) is None
    assert in_trash(repo.path) == {}
    repo.write("sub/a.md", "# edited by hand\n")
    copy = replace(store, b"2", keep=True)
    assert copy is not None
    assert copy.place == "trash"
    repo.write("sub/a.md", "# edited again\n")
    assert replace(opened(repo.path, "auto"), b"3", keep=False) is not None
    retained_copy = replace(opened(repo.path, "auto"), b"4", keep=False)
    assert retained_copy is not None
    assert retained_copy.place == "commit"
    assert repo.git("show", f"{retained_copy.commit}:sub/a.md") == "3"
    store = opened(repo.path)
    assert {store.trash.content(item) for item in store.trash.items()} == {b"# edited by hand\n", b"# edited again\n"}


def test_what_moves_is_not_kept(tmp_path: Path) -> None:
    GitRepo(tmp_path / "plain").write("sub/a.md", "# A\n")
    with opened(tmp_path / "plain").transaction("Move") as transaction:
        transaction.put(Address("b.md"), transaction.read(A))
        transaction.remove(A, keep=False)
    assert transaction.receipt.retained == {}
    assert in_trash(tmp_path / "plain") == {}


@pytest.mark.parametrize("git", [True, False])
def test_a_trash_that_cannot_be_written_leaves_a_blob_or_else_refuses_the_write(
    git_repo: MakeRepo, tmp_path: Path, git: bool
) -> None:
    repo = git_repo("repo", {"other.md": "x"}) if git else GitRepo(tmp_path / "plain")
    repo.write("sub/a.md", "# precious\n")
    store = opened(repo.path)

    with before("os.mkdir", ends_with("trash"), raising(PermissionError(13, "Permission denied"))):
        if git:
            copy = delete(store)
            assert copy == RetainedCopy(A, revision_of(b"# precious\n"), "object")
            assert repo.git("cat-file", "blob", revision_of(b"# precious\n")) == "# precious"
            return
        with pytest.raises(StorageError, match="could not be saved: Permission denied"):
            delete(store)
    assert (repo.path / "sub/a.md").read_text() == "# precious\n"


def test_a_failed_write_takes_its_item_from_the_trash_again(tmp_path: Path) -> None:
    GitRepo(tmp_path / "plain").write("sub/a.md", "# A\n")
    store = opened(tmp_path / "plain")

    broken = raising(OSError(5, "Input/output error"))
    with before("os.rename", lambda names: names[0] == "a.md", broken), pytest.raises(StorageError):
        delete(store)
    assert in_trash(tmp_path / "plain") == {}
    assert (tmp_path / "plain/sub/a.md").read_text() == "# A\n"


def test_bytes_that_changed_before_they_were_kept_are_a_conflict(tmp_path: Path) -> None:
    file = GitRepo(tmp_path / "plain").write("sub/a.md", "# A\n")
    store = opened(tmp_path / "plain")

    def remove() -> None:
        with store.transaction("Delete") as transaction:
            transaction.read(A)
            transaction.remove(A)
            file.write_text("# other\n")

    with pytest.raises(ConflictError):
        remove()
    assert in_trash(tmp_path / "plain") == {}
    assert file.read_text() == "# other\n"
