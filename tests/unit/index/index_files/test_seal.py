"""The seal of an index: what it judges, what it leaves alone, and when it is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.index.index_files import (
    CATALOGUE_FILE,
    FULLTEXT_FOLDER,
    SEAL_FILE,
    BrokenSealError,
    check_seal,
    write_seal,
)
from commonplace.index.index_version import INDEX_FOLDER
from indexed import MANY, Indexed

Paths = tuple[Path, Path]


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """Catalogue and full text of an index that is closed, and whose seal was last checked long ago."""
    with Indexed(tmp_path, {"a.md": "# A\n\nkangaroo\n"} | MANY) as base:
        pass
    (folder,) = base.cache.glob(f"*/{INDEX_FOLDER}")
    os.utime(folder / SEAL_FILE, (0, 0))
    return folder / CATALOGUE_FILE, folder / FULLTEXT_FOLDER


def flip(file: Path, at: int = 60) -> None:
    """Change a byte and no time, as a bad disk does."""
    status = file.stat()
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("name", ["catalogue.sqlite3", "sections/meta.json", "documents/*.term", "seal.json"])
def test_a_changed_byte_is_found(paths: Paths, name: str) -> None:
    file = next(path for folder in (paths[0].parent, paths[1]) for path in folder.glob(name))
    flip(file, 0 if name == "seal.json" else 60)
    os.utime(paths[0].parent / SEAL_FILE, (0, 0))
    with pytest.raises(BrokenSealError):
        check_seal(*paths)


def test_a_sound_file_in_the_place_of_another_is_found(paths: Paths) -> None:
    documents, sections = (next((paths[1] / part).glob("*.term")) for part in ("documents", "sections"))
    documents.write_bytes(sections.read_bytes())
    with pytest.raises(BrokenSealError, match="term"):
        check_seal(*paths)


def test_what_was_checked_within_the_hour_is_not_read(paths: Paths) -> None:
    seal = paths[0].parent / SEAL_FILE
    check_seal(*paths)
    assert seal.stat().st_mtime > 0
    flip(paths[0])
    check_seal(*paths)


def test_a_file_that_was_written_since_is_not_judged(paths: Paths) -> None:
    flip(paths[0])
    os.utime(paths[0])
    check_seal(*paths)


def test_an_index_without_a_seal_is_checked_by_its_own_checksums(paths: Paths) -> None:
    (paths[0].parent / SEAL_FILE).unlink()
    check_seal(*paths)
    flip(next((paths[1] / "sections").glob("*.fast")), 0)
    with pytest.raises(BrokenSealError):
        check_seal(*paths)


def test_a_seal_is_written_when_nothing_else_has_the_index_open_and_something_changed(paths: Paths) -> None:
    seal = paths[0].parent / SEAL_FILE
    write_seal(*paths)
    assert seal.stat().st_mtime == 0, "nothing has changed"
    os.utime(paths[0])
    log = paths[0].with_name(f"{CATALOGUE_FILE}-wal")
    log.touch()
    write_seal(*paths)
    assert seal.stat().st_mtime == 0, "another process may write"
    log.unlink()
    write_seal(*paths)
    assert seal.stat().st_mtime > 0
