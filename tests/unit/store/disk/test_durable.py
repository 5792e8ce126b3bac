"""Files are written whole and made durable together."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from commonplace.store.disk import durable
from commonplace.store.disk.durable import MAX_OPEN, FlushError, FlushMethod, Unsynced, sync_folders, write_all
from injection.audit_events import before, raising
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
    assert open_files(str(tmp_path)) == []
    assert (tmp_path / "a").read_bytes() == b"text"


def test_files_are_closed_when_the_block_fails(tmp_path: Path) -> None:
    with suppress(FileNotFoundError), Unsynced() as unsynced:
        unsynced.create(tmp_path / "a", b"x")
        unsynced.create(tmp_path / "none/b", b"x")
    assert open_files(str(tmp_path)) == []


def test_every_byte_goes_through_a_pipe_that_takes_few_at_a_time() -> None:
    reader, writer = os.pipe()
    content = os.urandom(60_000)
    with os.fdopen(reader, "rb") as file:
        with os.fdopen(writer, "wb"):
            write_all(writer, content)
            write_all(writer, b"")
        assert file.read() == content


def test_folders_that_are_missing_are_passed_over_and_files_are_no_folders(tmp_path: Path) -> None:
    sync_folders([tmp_path, tmp_path / "none"])
    sync_folders([])
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError):
        sync_folders([tmp_path / "file"])


class Flushes:
    """The calls that reach the disk, by the names of their files."""

    def __init__(self) -> None:
        self.synced: list[str] = []
        self.whole: list[str] = []
        self.written: list[str] = []


@pytest.fixture
def flushes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Flushes]:
    monkeypatch.setattr(durable, "DIRTY_KIB", 2**40)
    found_flushes = Flushes()
    with (
        before("commonplace.fsync", noting(found_flushes.synced)),
        before("commonplace.syncfs", noting(found_flushes.whole)),
        before("commonplace.write_out", noting(found_flushes.written)),
    ):
        yield found_flushes


def noting(names: list[str]) -> Callable[[tuple[object, ...]], bool]:
    def noted(arguments: tuple[object, ...]) -> bool:
        names.append(name_of(int(str(arguments[0]))))
        return True

    return noted


def name_of(descriptor: int) -> str:
    return Path(f"/proc/self/fd/{descriptor}").readlink().name


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the names of descriptors are not shown")


@needs_proc
def test_files_of_a_journaling_file_system_are_written_out_and_the_last_one_is_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flushes: Flushes
) -> None:
    monkeypatch.setattr(durable, "METHOD", FlushMethod.ORDERED)
    with Unsynced() as unsynced:
        for name in "abcd":
            unsynced.create(tmp_path / name, b"x")
        before = (tmp_path / "d").stat()
        unsynced.sync()
    assert (flushes.written, flushes.synced, flushes.whole) == (list("abcd"), ["d"], [])
    after = (tmp_path / "d").stat()
    assert after.st_ctime_ns >= before.st_ctime_ns
    assert (after.st_mtime_ns, after.st_mode) == (before.st_mtime_ns, before.st_mode)


@needs_proc
def test_of_folders_of_a_journaling_file_system_the_one_that_changed_last_is_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flushes: Flushes
) -> None:
    monkeypatch.setattr(durable, "METHOD", FlushMethod.ORDERED)
    for name in "abcd":
        (tmp_path / name).mkdir()
    sync_folders([tmp_path / name for name in "cabdac"], unless_ordered=True)
    assert flushes.synced == []
    sync_folders([tmp_path / name for name in "cabdac"])
    assert flushes.synced == ["c"]


@needs_proc
@pytest.mark.parametrize(("method", "synced", "whole"), [("WHOLE", 0, 2), ("EACH", 8, 0)])
def test_elsewhere_the_whole_is_flushed_or_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flushes: Flushes, method: str, synced: int, whole: int
) -> None:
    monkeypatch.setattr(durable, "METHOD", FlushMethod[method])
    for name in "abcd":
        (tmp_path / name).mkdir()
    with Unsynced() as unsynced:
        for name in "abcd":
            unsynced.create(tmp_path / f"{name}.md", b"x")
        unsynced.sync()
    sync_folders((tmp_path / name for name in "abcd"), unless_ordered=True)
    assert (len(flushes.synced), len(flushes.whole)) == (synced, whole)


@needs_proc
def test_one_or_two_files_are_flushed_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flushes: Flushes
) -> None:
    monkeypatch.setattr(durable, "METHOD", FlushMethod.WHOLE)
    with Unsynced() as unsynced:
        unsynced.create(tmp_path / "a", b"x")
        unsynced.create(tmp_path / "b", b"x")
        unsynced.sync()
    sync_folders([tmp_path, tmp_path])
    assert flushes.synced == ["a", "b", tmp_path.name]


def test_a_flush_that_fails_is_told_from_other_errors(tmp_path: Path) -> None:
    failure = raising(OSError(errno.EIO, os.strerror(errno.EIO)))
    with before("commonplace.fsync", lambda _: True, failure), pytest.raises(FlushError) as caught:
        sync_folders([tmp_path])
    assert (caught.value.errno, caught.value.strerror) == (errno.EIO, os.strerror(errno.EIO))
    with pytest.raises(NotADirectoryError):
        sync_folders([Path(__file__)])
