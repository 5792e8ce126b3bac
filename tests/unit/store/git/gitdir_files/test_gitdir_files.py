"""Files of a repository's own folder are reached without following links, whoever laid them there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.store.git import gitdir_files


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """The folder of a repository, beside a folder that is nobody's business."""
    (tmp_path / "base/refs/heads").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/precious").write_text("precious")
    return tmp_path / "base"


@pytest.fixture
def outside(base: Path) -> Path:
    """The same folder, to which `base/link` leads."""
    (base / "link").symlink_to(base.parent / "outside")
    return base.parent / "outside"


def test_a_file_is_read_appended_to_renamed_and_removed(base: Path) -> None:
    gitdir_files.append(base, "logs/refs/heads/main", b"one\n", create=True)
    gitdir_files.append(base, "logs/refs/heads/main", b"two\n", create=False)
    assert gitdir_files.read(base, "logs/refs/heads/main") == b"one\ntwo\n"
    (base / "refs/heads/new").write_text("old")
    gitdir_files.rename(base, "logs/refs/heads/main", "logs/refs/heads/next")
    assert gitdir_files.read(base, "logs/refs/heads/next") == b"one\ntwo\n"
    gitdir_files.unlink(base, "logs/refs/heads/next")
    gitdir_files.unlink(base, "logs/refs/heads/next")
    gitdir_files.unlink(base, "no/such/folder/next")
    assert not (base / "logs/refs/heads/next").exists()


def test_a_log_that_is_not_there_is_made_only_on_request(base: Path) -> None:
    gitdir_files.append(base, "logs/HEAD", b"line\n", create=False)
    assert not (base / "logs").exists()
    gitdir_files.append(base, "logs/HEAD", b"line\n", create=True)
    assert (base / "logs/HEAD").read_bytes() == b"line\n"


def test_a_folder_that_is_a_link_is_never_entered(base: Path, outside: Path) -> None:
    with pytest.raises(OSError, match="Errno"):
        gitdir_files.read(base, "link/precious")
    with pytest.raises(OSError, match="Errno"):
        gitdir_files.append(base, "link/precious", b"x", create=True)
    with pytest.raises(OSError, match="Errno"):
        gitdir_files.unlink(base, "link/precious")
    (base / "file").write_text("x")
    with pytest.raises(OSError, match="Errno"):
        gitdir_files.link_or_copy(base, "file", "link/lock")
    assert [path.name for path in outside.iterdir()] == ["precious"]
    assert (outside / "precious").read_text() == "precious"


def test_a_file_that_is_a_link_is_neither_read_nor_written_but_removed_itself(base: Path, outside: Path) -> None:
    (base / "HEAD").symlink_to(outside / "precious")
    with pytest.raises(OSError, match="Errno"):
        gitdir_files.read(base, "HEAD")
    with pytest.raises(OSError, match="Errno"):
        gitdir_files.append(base, "HEAD", b"x", create=True)
    gitdir_files.unlink(base, "HEAD")
    assert not (base / "HEAD").is_symlink()
    assert (outside / "precious").read_text() == "precious"


def test_a_second_name_of_somebody_s_file_is_not_appended_to(base: Path, outside: Path) -> None:
    os.link(outside / "precious", base / "log")
    with pytest.raises(OSError, match="own"):
        gitdir_files.append(base, "log", b"x", create=True)
    assert (outside / "precious").read_text() == "precious"


def test_what_is_no_regular_file_is_refused_at_once(base: Path) -> None:
    os.mkfifo(base / "pipe")
    with pytest.raises(OSError, match="regular"):
        gitdir_files.read(base, "pipe")
    with pytest.raises(OSError, match="Errno"):
        gitdir_files.append(base, "pipe", b"x", create=False)
    with pytest.raises(OSError, match="Errno"):
        gitdir_files.read(base, "refs")


def test_one_of_two_takers_has_the_lock(base: Path) -> None:
    for name in ("one", "two"):
        (base / name).write_text(name)
    gitdir_files.link_or_copy(base, "one", "refs/heads/deep/main.lock")
    with pytest.raises(FileExistsError):
        gitdir_files.link_or_copy(base, "two", "refs/heads/deep/main.lock")
    assert gitdir_files.read(base, "refs/heads/deep/main.lock") == b"one"
    assert (base / "one").exists()


def test_missing_folders_are_made_only_on_request(base: Path) -> None:
    with pytest.raises(FileNotFoundError), gitdir_files.opened_parent(base, "made/inner/file"):
        pass
    with gitdir_files.opened_parent(base, "made/inner/file", make=True) as (folder, name):
        assert name == "file"
        assert os.path.samestat(os.fstat(folder), (base / "made/inner").stat())
