"""One writer at a time, across threads and processes."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from commonplace.domain.errors import StorageError, UnavailableError
from commonplace.store.folder.writer_lock import WriterLock
from support import open_files


def test_the_holder_knows_that_the_lock_is_its_own(tmp_path: Path) -> None:
    lock, other = WriterLock(tmp_path / "lock"), list[bool]()
    with lock.held():
        assert lock.is_mine
        thread = threading.Thread(target=lambda: other.append(lock.is_mine))
        thread.start()
        thread.join(10)
    assert not lock.is_mine
    assert other == [False]


def test_a_second_transaction_inside_one_is_a_mistake_of_the_program(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "lock")
    with lock.held(), pytest.raises(RuntimeError, match="inside another"), WriterLock(tmp_path / "lock").held():
        pass
    with lock.held(0):
        pass


def test_another_thread_waits_and_is_told_when_it_may_not(tmp_path: Path) -> None:
    lock, refused = WriterLock(tmp_path / "lock"), list[str]()

    def second() -> None:
        try:
            with WriterLock(tmp_path / "lock").held(wait=0):
                pass
        except UnavailableError as error:
            refused.append(error.advice)

    with lock.held():
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(10)
    assert len(refused) == 1
    assert "Try again" in refused[0]
    second()
    assert len(refused) == 1


def test_another_process_is_waited_for_and_told(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(UnavailableError, match=r"for 0\.01 seconds"), WriterLock(tmp_path / "lock").held(wait=0.01):
        pass
    os.close(descriptor)
    with WriterLock(tmp_path / "lock").held(wait=0):
        pass


def test_writers_with_other_lock_files_share_the_lock_of_the_folder(tmp_path: Path) -> None:
    """Each user has a state folder, and with it a lock file, of their own."""
    (tmp_path / "base").mkdir()
    mine, theirs = (WriterLock(tmp_path / name, tmp_path / "base") for name in ("mine", "theirs"))
    with mine.held(), pytest.raises(UnavailableError), theirs.held(wait=0):
        pass
    with theirs.held(wait=0), WriterLock(tmp_path / "third", tmp_path / "missing").held(wait=0):
        pass


def test_the_lock_of_a_process_that_died_is_free(tmp_path: Path) -> None:
    program = (
        f"import fcntl, os; fcntl.flock(os.open({str(tmp_path / 'lock')!r}, os.O_RDWR | os.O_CREAT), 2); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 9
    with WriterLock(tmp_path / "lock").held(wait=0):
        pass


def test_the_lock_is_free_after_an_error_and_no_file_stays_open(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "deep/er/lock")
    with pytest.raises(ValueError, match="inside"), lock.held():
        raise ValueError("inside")
    with lock.held(wait=0):
        pass
    assert open_files(str(tmp_path)) == []


@pytest.mark.parametrize("kind", ["file above", "folder", "link"])
def test_a_lock_file_that_cannot_be_made_is_told_without_its_path(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "above/lock"
    match kind:
        case "file above":
            (tmp_path / "above").write_text("x")
        case "folder":
            path.mkdir(parents=True)
        case _:
            path.parent.mkdir()
            path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="cannot be created") as refused, WriterLock(path).held():
        pass
    assert str(tmp_path) not in refused.value.advice
    assert not (tmp_path / "elsewhere").exists()
    if kind == "folder":
        path.rmdir()
        with WriterLock(path).held(wait=0):
            pass
