"""The trash of one folder: what it holds, for how long, and how much of it."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from commonplace.domain.changes import TrashItem
from commonplace.domain.errors import NotFoundError, StorageError
from commonplace.domain.revisions import revision_of
from commonplace.store.folder.retention import RETENTION_DAYS, FolderTrash


def kept(trash: FolderTrash, path: str, content: bytes) -> TrashItem:
    """Keep one deleted file."""
    (item,) = trash.put([(path, "deleted", content)])
    return item


def file_of(base: Path, item: TrashItem) -> Path:
    """The file of an item."""
    (path,) = base.rglob(item.name)
    return path


def age(base: Path, item: TrashItem, days: float) -> None:
    """Make an item older."""
    then = time.time() - days * 86_400
    os.utime(file_of(base, item), (then, then))


def test_what_was_kept_is_listed_and_comes_back_byte_for_byte(tmp_path: Path) -> None:
    trash = FolderTrash(tmp_path / "trash", "key")
    contents = {"a.md": b"no line end", "sub/b.png": b"\n\n\0\xff\r\n", "empty.md": b""}
    trash.put([(path, "deleted", content) for path, content in contents.items()])
    trashes = FolderTrash(tmp_path / "trash", "key").items()
    assert {item.address.path: trash.content(item) for item in trashes} == contents
    assert {item.address.path: (item.size, item.revision) for item in trashes} == {
        path: (len(content), revision_of(content)) for path, content in contents.items()
    }
    assert {item.loss for item in trashes} == {"deleted"}
    assert all(abs(item.when - time.time()) < 600 for item in trashes)


def test_nobody_else_may_enter_it_even_where_somebody_had_opened_it(tmp_path: Path) -> None:
    (tmp_path / "trash").mkdir(mode=0o755)
    item = kept(FolderTrash(tmp_path / "trash", "key"), "a.md", b"private")
    file = file_of(tmp_path, item)
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (file.parent.parent, file.parent, file)]
    assert modes == [0o700, 0o700, 0o600]


def test_the_same_bytes_of_one_path_are_one_item_and_of_two_paths_two(tmp_path: Path) -> None:
    trash = FolderTrash(tmp_path, "key")
    for path in ("a.md", "a.md", "b.md"):
        kept(trash, path, b"same")
    assert [item.address.path for item in trash.items()] == ["b.md", "a.md"]


def test_items_of_another_folder_are_not_listed(tmp_path: Path) -> None:
    kept(FolderTrash(tmp_path, "one"), "a.md", b"one")
    assert FolderTrash(tmp_path, "two").items() == []


def test_what_is_older_than_thirty_days_goes_in_every_folder_at_the_next_use(tmp_path: Path) -> None:
    trash = FolderTrash(tmp_path, "one")
    elsewhere = kept(FolderTrash(tmp_path, "two"), "a.md", b"elsewhere")
    old, young = kept(trash, "old.md", b"old"), kept(trash, "young.md", b"young")
    for item in (elsewhere, old):
        age(tmp_path, item, RETENTION_DAYS + 0.1)
    age(tmp_path, young, RETENTION_DAYS - 0.1)
    assert [item.address.path for item in trash.items()] == ["young.md"]
    kept(FolderTrash(tmp_path, "three"), "new.md", b"new")
    left = {file.name for file in tmp_path.glob("*/*")}
    assert young.name in left
    assert left.isdisjoint({elsewhere.name, old.name})


def test_the_oldest_items_go_beyond_the_limit_and_the_newest_always_stays(tmp_path: Path) -> None:
    trash = FolderTrash(tmp_path, "key", max_bytes=3_000)
    for number in range(5):
        age(tmp_path, kept(trash, f"{number}.md", bytes([number]) * 900), 1 - number / 10)
    assert [item.address.path for item in trash.items()] == ["4.md", "3.md", "2.md"]
    kept(trash, "large.md", b"x" * 10_000)
    assert [item.address.path for item in trash.items()] == ["large.md"]


def test_what_is_no_item_is_never_listed_and_never_followed(tmp_path: Path) -> None:
    trash = FolderTrash(tmp_path, "key")
    folder = file_of(tmp_path, kept(trash, "a.md", b"a")).parent
    (folder / "other.txt").write_text("x")
    (folder / f"{'0' * 40}-{'0' * 16}").write_bytes(b"no header")
    (folder / f"{'1' * 40}-{'1' * 16}").write_bytes(b'{"path": 1, "loss": "deleted", "when": 1.0}\nx')
    (tmp_path / "outside").write_bytes(b'{"path": "x", "loss": "deleted", "when": 1.0}\nx')
    (folder / f"{'2' * 40}-{'2' * 16}").symlink_to(tmp_path / "outside")
    assert [element.address.path for element in trash.items()] == ["a.md"]


def test_bytes_that_were_damaged_are_not_given_back(tmp_path: Path) -> None:
    trash = FolderTrash(tmp_path, "key")
    item = kept(trash, "a.md", b"as it was")
    file = file_of(tmp_path, item)
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(StorageError, match="bytes are damaged"):
        trash.content(item)
    trash.discard(item)
    trash.discard(item)
    with pytest.raises(NotFoundError, match="no longer in the trash"):
        trash.content(item)
