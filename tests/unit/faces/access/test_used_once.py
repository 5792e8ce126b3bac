"""Values that are accepted once, by all processes of a machine and after a restart."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commonplace.domain.errors import StorageError
from commonplace.faces.access.used_once import FOLDER, UsedOnce


def test_a_value_is_taken_once_for_each_purpose_also_after_a_restart(tmp_path: Path) -> None:
    until = time.time() + 60
    assert UsedOnce(tmp_path).take("a", "x", until)
    assert not UsedOnce(tmp_path).take("a", "x", until)
    assert UsedOnce(tmp_path).take("b", "x", until)
    assert UsedOnce(tmp_path).has("a", "x")
    assert not UsedOnce(tmp_path).has("a", "y")


def test_of_many_callers_at_once_one_takes_it(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(lambda _: UsedOnce(tmp_path).take("a", "x", time.time() + 60), range(64)))
    assert taken.count(True) == 1


def test_expired_values_go_and_others_stay(tmp_path: Path) -> None:
    used = UsedOnce(tmp_path)
    used.take("a", "old", time.time() - 3_600)
    used.take("a", "new", time.time() + 3_600)
    assert not used.has("a", "old")
    assert UsedOnce(tmp_path).take("a", "other", time.time() + 3_600)
    assert len(list((tmp_path / FOLDER).iterdir())) == 2


def test_no_value_is_stored_and_nobody_else_can_read_the_folder(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        UsedOnce(tmp_path).take("a", "secret", time.time() + 60)
    finally:
        os.umask(before)
    (file,) = (tmp_path / FOLDER).iterdir()
    assert file.read_bytes() == b""
    assert "secret" not in file.name
    assert [path.stat().st_mode & 0o777 for path in (file, file.parent)] == [0o600, 0o700]


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("")
    with pytest.raises(StorageError):
        UsedOnce(tmp_path).take("a", "x", time.time() + 60)
