"""Cached results about files are valid until a folder changes, and no longer."""

from __future__ import annotations

from pathlib import Path

from commonplace.index.catalogue.other_files import PathExistenceCache

PATHS = frozenset({"pictures/a.png", "pictures/deep/b.png", "c.txt"})


def test_files_and_folders_that_come_and_go_are_seen(tmp_path: Path) -> None:
    presence = PathExistenceCache(tmp_path, lambda path: (tmp_path / path).is_file())
    assert presence.existing(PATHS) == frozenset()
    (tmp_path / "pictures/deep").mkdir(parents=True)
    (tmp_path / "pictures/deep/b.png").write_bytes(b"")
    assert presence.existing(PATHS) == {"pictures/deep/b.png"}
    (tmp_path / "pictures/a.png").write_bytes(b"")
    (tmp_path / "c.txt").write_bytes(b"")
    assert presence.existing(PATHS) == PATHS
    (tmp_path / "pictures/deep/b.png").unlink()
    (tmp_path / "pictures").rename(tmp_path / "images")
    assert presence.existing(PATHS) == {"c.txt"}


def test_what_a_link_leads_to_is_looked_up_every_time(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "c.txt").symlink_to("elsewhere/real.txt")
    (tmp_path / "pictures").symlink_to("elsewhere/folder")
    presence = PathExistenceCache(tmp_path, lambda path: (tmp_path / path).is_file())
    assert presence.existing(PATHS) == frozenset()
    (tmp_path / "elsewhere/real.txt").write_bytes(b"")
    (tmp_path / "elsewhere/folder").mkdir()
    (tmp_path / "elsewhere/folder/a.png").write_bytes(b"")
    assert presence.existing(PATHS) == {"c.txt", "pictures/a.png"}


def test_every_path_is_asked_for_where_there_is_no_folder_to_look_at() -> None:
    there: set[str] = set()
    presence = PathExistenceCache(None, there.__contains__)
    assert presence.existing(PATHS) == frozenset()
    there.add("c.txt")
    assert presence.existing(PATHS) == {"c.txt"}
