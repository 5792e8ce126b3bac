"""A draft holds the reads and changes of one transaction before anything is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import RetainedCopy
from commonplace.domain.errors import ConflictError, InvalidInputError, NotFoundError, ReadOnlyError
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.folder import Folder
from commonplace.store.folder.folder_store import TransactionDraft

A, B, NEW = Address("a.md"), Address("x/b.md"), Address("new/c.md")
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 5\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "base"
    (root / "x").mkdir(parents=True)
    (root / "a.md").write_bytes(b"a\n")
    (root / "x/b.md").write_bytes(b"b\n")
    return root


@pytest.fixture
def draft(root: Path) -> TransactionDraft:
    return TransactionDraft(Folder(root), lambda _: None, lambda _: False)


def test_a_transaction_reads_its_own_changes_and_the_disk_has_none_of_them(draft: TransactionDraft, root: Path) -> None:
    draft.put(A, b"new\n")
    draft.put(NEW, b"")
    draft.remove(B)
    assert (draft.read(A), draft.read(NEW)) == (b"new\n", b"")
    assert [draft.exists(address) for address in (A, B, NEW)] == [True, False, True]
    with pytest.raises(NotFoundError, match=r"No such file: x/b\.md"):
        draft.read(B)
    assert [(root / path).exists() for path in ("a.md", "x/b.md", "new")] == [True, True, False]


def test_changes_name_what_was_there_before_and_what_comes(draft: TransactionDraft) -> None:
    draft.put(A, b"new\n", keep=True)
    draft.remove(B, keep=False)
    draft.put(NEW, b"c")
    first, second, third = draft.changes("below/")
    assert [change.path for change in (first, second, third)] == ["below/a.md", "below/x/b.md", "below/new/c.md"]
    assert first.before
    assert first.before.revision == revision_of(b"a\n")
    assert (first.shown, first.keep, second.content, second.keep, third.before) == ("a.md", True, None, False, None)


def test_what_changes_nothing_is_no_change(draft: TransactionDraft) -> None:
    draft.put(A, b"a\n")
    draft.put(NEW, b"x")
    draft.remove(NEW)
    assert draft.changes("") == []


def test_replaced_files_are_kept_where_the_caller_asks_for_all(draft: TransactionDraft) -> None:
    draft.put(A, b"new\n")
    draft.remove(B, keep=False)
    assert [change.keep for change in draft.changes("", keep=True)] == [True, False]


def test_a_file_that_changes_after_it_was_read_is_a_conflict(draft: TransactionDraft, root: Path) -> None:
    draft.read(A)
    draft.put(A, b"mine\n")
    (root / "a.md").write_bytes(b"by another program\n")
    with pytest.raises(ConflictError, match="changed by another program") as refused:
        draft.changes("")
    assert refused.value.context["current_revision"] == revision_of(b"by another program\n")
    (root / "a.md").unlink()
    with pytest.raises(ConflictError) as gone:
        draft.changes("")
    assert gone.value.context["current_revision"] == ""


def test_a_second_read_that_differs_is_a_conflict(draft: TransactionDraft, root: Path) -> None:
    draft.read(A)
    (root / "a.md").write_bytes(b"longer than before\n")
    with pytest.raises(ConflictError):
        draft.read(A)


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "below a file", "below a link", "long name"])
def test_what_is_no_regular_file_is_never_written(draft: TransactionDraft, root: Path, kind: str) -> None:
    path = {"below a file": "a.md/c.md", "below a link": "link/c.md", "long name": f"{'x' * 300}.md"}.get(kind, "c.md")
    match kind:
        case "link":
            (root / path).symlink_to("a.md")
        case "folder":
            (root / path).mkdir()
        case "pipe":
            os.mkfifo(root / path)
        case "below a link":
            (root / "link").symlink_to("x")
        case _:
            pass
    with pytest.raises(InvalidInputError) as refused:
        draft.put(Address(path), b"x")
    assert refused.value.kind == "path"
    assert refused.value.hint
    assert str(root) not in refused.value.advice


def test_what_is_absent_cannot_be_removed(draft: TransactionDraft) -> None:
    with pytest.raises(NotFoundError, match="No such file"):
        draft.remove(NEW)
    draft.remove(A)
    with pytest.raises(NotFoundError):
        draft.remove(A)


def test_text_does_not_replace_a_pointer_of_lfs(draft: TransactionDraft, root: Path) -> None:
    (root / "a.md").write_bytes(POINTER)
    draft.put(A, b"text\n")
    with pytest.raises(ReadOnlyError, match="Git LFS"):
        draft.changes("")
    draft.put(A, POINTER.replace(b"size 5", b"size 6"))
    assert len(draft.changes("")) == 1
    draft.remove(A)
    assert len(draft.changes("")) == 1


def test_a_receipt_is_there_once_the_write_is_durable(draft: TransactionDraft) -> None:
    draft.put(A, b"new\n")
    draft.remove(B)
    with pytest.raises(RuntimeError, match="no receipt"):
        _ = draft.receipt
    copy = RetainedCopy(B, revision_of(b"b\n"), "trash")
    draft.acknowledge("c" * 40, {"x/b.md": copy})
    receipt = draft.receipt
    assert (receipt.commit, receipt.removed, receipt.retained) == ("c" * 40, (B,), {B: copy})
    assert receipt.revisions == {A: revision_of(b"new\n")}
