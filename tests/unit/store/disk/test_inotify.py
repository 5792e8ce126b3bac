"""Changes in a folder are known the moment somebody asks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.store.disk.inotify import InotifyQueue, UnwatchableError
from support import open_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def test_every_change_is_noticed_by_its_name(tmp_path: Path, folder: int) -> None:
    for name in ("changed", "deleted", "moved", "mode"):
        (tmp_path / name).write_text("x")
    queue = InotifyQueue()
    number = queue.watch(folder)
    assert queue.read_events().names == {}
    (tmp_path / "created 漢字").write_text("x")
    (tmp_path / "changed").write_text("y")
    (tmp_path / "deleted").unlink()
    (tmp_path / "moved").rename(tmp_path / "here")
    (tmp_path / "mode").chmod(0o600)
    (tmp_path / "folder").mkdir()
    events = queue.read_events()
    assert events.names == {number: {"created 漢字", "changed", "deleted", "moved", "here", "mode", "folder"}}
    assert not events.overflowed
    assert queue.read_events().names == {}


def test_a_name_that_is_no_text_is_noticed_as_python_names_it(tmp_path: Path, folder: int) -> None:
    queue = InotifyQueue()
    number = queue.watch(folder)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).write_text("x")
    assert queue.read_events().names == {number: {"\udcff"}}


def test_folders_are_told_apart_and_one_that_is_not_watched_any_more_is_silent(tmp_path: Path) -> None:
    queue, numbers = InotifyQueue(), list[int]()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        descriptor = os.open(tmp_path / name, os.O_RDONLY | os.O_DIRECTORY)
        numbers.append(queue.watch(descriptor))
        os.close(descriptor)
    (tmp_path / "a/x").write_text("x")
    (tmp_path / "b/y").write_text("x")
    assert queue.read_events().names == {numbers[0]: {"x"}, numbers[1]: {"y"}}
    queue.unwatch(numbers[0])
    (tmp_path / "a/z").write_text("x")
    assert queue.read_events().names == {}


def test_a_folder_that_goes_away_is_told_as_itself(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    descriptor = os.open(tmp_path / "a", os.O_RDONLY | os.O_DIRECTORY)
    queue = InotifyQueue()
    number = queue.watch(descriptor)
    os.close(descriptor)
    (tmp_path / "a").rename(tmp_path / "b")
    assert number in queue.read_events().changed_folders


def test_a_file_cannot_be_watched(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    descriptor = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        with pytest.raises(UnwatchableError, match="Not a directory"):
            InotifyQueue().watch(descriptor)
    finally:
        os.close(descriptor)


def test_a_queue_belongs_to_the_process_that_made_it_and_is_closed_with_its_object() -> None:
    before = open_files("anon_inode:inotify")
    queue = InotifyQueue()
    assert queue.belongs_to_process
    assert len(open_files("anon_inode:inotify")) == len(before) + 1
    del queue
    assert open_files("anon_inode:inotify") == before
