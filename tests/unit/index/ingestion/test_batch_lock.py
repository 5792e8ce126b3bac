"""One batch at a time, across threads and processes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from commonplace.index.ingestion import BatchLock
from support import open_files


def test_batches_follow_one_another(tmp_path: Path) -> None:
    locks = [BatchLock(tmp_path / "lock") for _ in range(3)]
    inside, most = list[int](), list[int]()

    def work(lock: BatchLock) -> None:
        for _ in range(5):
            with lock.held():
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work, args=(lock,)) for lock in (*locks, locks[0])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == [1] * 20


def test_a_lock_file_that_was_deleted_meanwhile_is_made_again(tmp_path: Path) -> None:
    lock = BatchLock(tmp_path / "lock")
    with lock.held():
        (tmp_path / "lock").unlink()
    with lock.held():
        assert (tmp_path / "lock").exists()


def test_the_lock_is_free_after_an_error_and_no_file_stays_open(tmp_path: Path) -> None:
    lock = BatchLock(tmp_path / "lock")
    with pytest.raises(ValueError, match="inside"), lock.held():
        raise ValueError("inside")
    with lock.held():
        assert open_files(str(tmp_path)) == [str(tmp_path / "lock")]
    assert open_files(str(tmp_path)) == []


def test_without_a_folder_for_it_the_system_says_why_and_the_next_try_is_free(tmp_path: Path) -> None:
    lock = BatchLock(tmp_path / "none/lock")
    with pytest.raises(FileNotFoundError), lock.held():
        pass
    (tmp_path / "none").mkdir()
    with lock.held():
        pass
