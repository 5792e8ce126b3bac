"""Several files are replaced as one step, or not at all."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from commonplace.domain.errors import ConflictError
from commonplace.domain.revisions import revision_of
from commonplace.store.disk.durable import Unsynced
from commonplace.store.disk.file_swap import (
    FileChange,
    FileSlot,
    FileSwap,
    SeenFile,
    is_missing,
    missing_folders,
    remove_empty_above,
    seen_again,
    storage_error,
)
from commonplace.store.disk.folder import file_stat


def seen(root: Path, path: str) -> SeenFile:
    file = root / path
    return SeenFile(file_stat(file.lstat()), revision_of(file.read_bytes()))


def contents(root: Path) -> dict[str, bytes]:
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, content in {"a.md": b"old a", "x/b.md": b"old b"}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    return tmp_path


def swap_of(root: Path) -> FileSwap:
    """One file replaced, one deleted, two created in folders that are not there yet."""
    changes = [
        FileChange("a.md", seen(root, "a.md"), b"new a"),
        FileChange("x/b.md", seen(root, "x/b.md"), None),
        FileChange("new/deep/漢字.md", None, b"new c"),
        FileChange("new/d.md", None, b""),
    ]
    return FileSwap(root, "token", changes)


def prepared(root: Path) -> FileSwap:
    swap = swap_of(root)
    with Unsynced() as unsynced:
        swap.prepare(unsynced)
        unsynced.sync()
    return swap


AFTER = {"a.md": b"new a", "new/deep/漢字.md": b"new c", "new/d.md": b""}


def test_a_finished_swap_leaves_the_new_files_and_no_empty_folder(root: Path) -> None:
    swap = prepared(root)
    swap.perform()
    swap.finish()
    assert contents(root) == AFTER
    assert not (root / "x").exists()
    assert swap.written["a.md"].size == 5
    assert swap.made == ("new", "new/deep")


@pytest.mark.parametrize("step", ["new", "prepared", "performed"])
def test_a_swap_that_is_undone_leaves_everything_as_it_was(root: Path, step: str) -> None:
    before, inode = contents(root), (root / "a.md").stat().st_ino
    swap = swap_of(root) if step == "new" else prepared(root)
    if step == "performed":
        swap.perform()
    swap.undo()
    assert contents(root) == before
    assert (root / "a.md").stat().st_ino == inode
    assert not (root / "new").exists()


@pytest.mark.parametrize("path", ["a.md", "x/b.md", "new/d.md"])
def test_a_file_that_another_program_changed_is_kept_and_told(root: Path, path: str) -> None:
    before, swap = contents(root), prepared(root)
    (root / path).write_bytes(b"by another program")
    with pytest.raises(ConflictError, match=f"{path} was changed by another program") as refused:
        swap.perform()
    swap.undo()
    assert contents(root) == {**before, path: b"by another program"}
    assert refused.value.context["current_revision"] == revision_of(b"by another program")


def test_what_is_appended_between_the_check_and_the_rename_is_kept_and_told(root: Path) -> None:
    before, swap, appends = contents(root), prepared(root), [root / "a.md"]

    def append(event: str, _: object) -> None:
        if event == "os.rename" and appends:
            with appends.pop().open("ab") as file:
                file.write(b", appended")

    sys.addaudithook(append)  # called before each rename; it does nothing after the first
    with pytest.raises(ConflictError, match=r"a\.md was changed by another program"):
        swap.perform()
    swap.undo()
    assert contents(root) == {**before, "a.md": before["a.md"] + b", appended"}


def test_what_another_program_wrote_after_the_names_changed_stays(root: Path) -> None:
    swap = prepared(root)
    swap.perform()
    (root / "a.md").write_bytes(b"later")
    swap.undo()
    assert contents(root) == {"a.md": b"later", "x/b.md": b"old b"}


def test_permissions_and_extended_attributes_of_a_replaced_file_stay(root: Path) -> None:
    (root / "a.md").chmod(0o640)
    try:
        os.setxattr(root / "a.md", "user.note", b"ours")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    swap = prepared(root)
    swap.perform()
    swap.finish()
    assert (root / "a.md").stat().st_mode & 0o777 == 0o640
    assert os.getxattr(root / "a.md", "user.note") == b"ours"


def test_nothing_is_written_through_a_link_in_place_of_a_folder(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (root / "link").symlink_to(outside)
    swap = FileSwap(root, "token", [FileChange("link/a.md", None, b"x")])
    with Unsynced() as unsynced, pytest.raises(OSError):  # noqa: PT011 - the number depends on the system
        swap.prepare(unsynced)
    assert list(outside.iterdir()) == []


def test_a_slot_says_what_stands_under_its_names(root: Path) -> None:
    slot = FileSlot(root, "token", 0, "x/b.md")
    assert slot.folder == root / "x"
    assert slot.revision("b.md") == revision_of(b"old b")
    assert slot.revision(slot.new) == ""
    (root / "x" / slot.new).symlink_to("b.md")
    assert slot.revision(slot.new) is None
    slot.discard(slot.new, slot.old)
    assert (root / "x/b.md").exists()
    assert FileSlot(root, "token", 0, "none/b.md").revision("b.md") == ""


def test_missing_folders_come_outermost_first_and_full_ones_are_not_removed(root: Path) -> None:
    assert missing_folders(root, ["x/y/z/a.md", "x/b.md", "q/c.md", "d.md"]) == ("q", "x/y", "x/y/z")
    remove_empty_above(root, "x/none.md")
    assert (root / "x").exists()


def test_a_dangling_link_is_not_missing(root: Path) -> None:
    (root / "dangling").symlink_to("none")
    assert [is_missing(root / name) for name in ("none", "a.md/below", "a.md", "dangling")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("number", "hint"), [(errno.ENOSPC, "Free some space"), (errno.EDQUOT, "Free some space"), (errno.EACCES, "Check")]
)
def test_an_error_of_the_disk_says_what_to_do_and_no_path(number: int, hint: str) -> None:
    error = storage_error(OSError(number, os.strerror(number), "/home/somebody/a.md"), "the write")
    assert error.hint.startswith(hint)
    assert "/home" not in error.advice
    assert error.context["errno"] == number


def test_a_change_that_was_undone_can_be_made_again_and_that_of_a_file_with_other_bytes_is_a_conflict(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.md").write_bytes(b"old")
    seen = SeenFile(file_stat((tmp_path / "a.md").lstat()), revision_of(b"old"))
    change, new = FileChange("a.md", seen, b"new"), FileChange("in/new.md", None, b"new")
    swap = FileSwap(tmp_path, "cafe", [change])
    with Unsynced() as unsynced:
        swap.prepare(unsynced)
    swap.perform()
    swap.undo()
    again = seen_again(tmp_path, change)
    assert again.before == SeenFile(file_stat((tmp_path / "a.md").lstat()), seen.revision)
    assert again.before != seen
    (tmp_path / "a.md").write_bytes(b"other")
    assert seen_again(tmp_path, change) is change
    (tmp_path / "a.md").unlink()
    assert seen_again(tmp_path, change) is change
    assert seen_again(tmp_path, new) is new
