"""Files are written whole and made durable together."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from commonplace.store.disk.durable import MAX_OPEN, Unsynced, sync_folders, write_all
from support import open_files


def test_new_files_have_their_bytes_and_are_closed_with_the_block(tmp_path: Path) -> None:
    large = os.urandom(300_000)
    with Unsynced() as unsynced:
        unsynced.create(tmp_path / "a", b"")
        unsynced.create(str(tmp_path / "漢字"), large)
        assert len(open_files(str(tmp_path))) == 2
        unsynced.sync()
    assert open_files(str(tmp_path)) == []
    assert [(tmp_path / name).read_bytes() for name in ("a", "漢字")] == [b"", large]


@pytest.mark.parametrize("kind", ["file", "link", "dangling link", "folder"])
def test_what_is_there_is_never_overwritten(tmp_path: Path, kind: str) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"old")
    there = tmp_path / "there"
    match kind:
        case "file":
            there.write_bytes(b"old")
        case "folder":
            there.mkdir()
        case _:
            there.symlink_to(other if kind == "link" else tmp_path / "none")
    with Unsynced() as unsynced, pytest.raises(FileExistsError):
        unsynced.create(there, b"new")
    assert other.read_bytes() == b"old"
    assert not (tmp_path / "none").exists()


def test_a_name_may_be_relative_to_a_folder_and_have_a_mode(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with Unsynced() as unsynced:
            unsynced.create("a", b"text", mode=0o600, dir_fd=folder)
    finally:
        os.close(folder)
    assert (tmp_path / "a").read_bytes() == b"text"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_never_more_files_are_open_than_allowed(tmp_path: Path) -> None:
    with Unsynced() as unsynced:
        for number in range(MAX_OPEN + 2):
            unsynced.create(tmp_path / str(number), b"x")
            assert len(open_files(str(tmp_path))) <= MAX_OPEN
        unsynced.sync()
    assert {file.read_bytes() for file in tmp_path.iterdir()} == {b"x"}


def test_a_descriptor_that_is_kept_is_synced_and_closed(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT)
    with Unsynced() as unsynced:
        unsynced.keep(descriptor)
        write_all(descriptor, b"text")
        unsynced.sync()
        unsynced.sync()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_files_are_closed_when_the_block_fails(tmp_path: Path) -> None:
    with suppress(FileNotFoundError), Unsynced() as unsynced:
        unsynced.create(tmp_path / "a", b"x")
        unsynced.create(tmp_path / "none/b", b"x")
    assert open_files(str(tmp_path)) == []


def test_every_byte_goes_through_a_pipe_that_takes_few_at_a_time() -> None:
    reader, writer = os.pipe()
    content = os.urandom(60_000)
    try:
        write_all(writer, content)
        write_all(writer, b"")
        os.close(writer)
        with os.fdopen(reader, "rb") as file:
            assert file.read() == content
    finally:
        for descriptor in (reader, writer):
            if os.path.exists(f"/proc/self/fd/{descriptor}"):
                os.close(descriptor)


def test_folders_that_are_missing_are_passed_over_and_files_are_no_folders(tmp_path: Path) -> None:
    sync_folders([tmp_path, tmp_path / "none"])
    sync_folders([])
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError):
        sync_folders([tmp_path / "file"])
