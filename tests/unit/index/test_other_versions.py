"""Programs of two versions have an index each; one that nobody uses goes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from commonplace.index.index_version import INDEX_FOLDER
from commonplace.index.other_versions import SHARED_FILE, UNUSED_SECONDS, remove_unused_versions
from indexed import Indexed


def made(file: Path, age: float) -> Path:
    """A file of an age in seconds."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x")
    os.utime(file, (time.time() - age, time.time() - age))
    return file


@pytest.mark.parametrize("age", [UNUSED_SECONDS - 60, UNUSED_SECONDS + 60])
def test_the_index_of_another_version_is_removed_once_nobody_has_opened_it_for_long(tmp_path: Path, age: float) -> None:
    own, other, earlier = tmp_path / INDEX_FOLDER, tmp_path / "v3", tmp_path / SHARED_FILE
    used = made(own / "lock", 2 * UNUSED_SECONDS)
    made(other / "lock", age)
    made(other / "fulltext" / "documents" / "meta.json", 0)
    made(earlier, age)
    made(tmp_path / "fulltext" / "documents" / "meta.json", 0)
    made(tmp_path / "vectors-1.sqlite3", 2 * UNUSED_SECONDS)
    made(tmp_path / "v" / "lock", 2 * UNUSED_SECONDS)
    remove_unused_versions(own)
    left = {name for name in ("v3", SHARED_FILE, "fulltext") if (tmp_path / name).exists()}
    assert left == (set() if age > UNUSED_SECONDS else {"v3", SHARED_FILE, "fulltext"})
    assert (tmp_path / "vectors-1.sqlite3").exists(), "vectors belong to all versions"
    assert (tmp_path / "v" / "lock").exists()
    assert time.time() - used.stat().st_mtime < UNUSED_SECONDS, "the own index is in use"


def test_the_index_of_a_folder_is_in_the_folder_of_its_version(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"tea.md": "# Tea\n"}) as base:
        base.index.sync()
        (file,) = base.cache.rglob(SHARED_FILE)
    assert file.parent.name == INDEX_FOLDER
