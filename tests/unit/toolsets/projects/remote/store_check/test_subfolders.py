"""Folders of a store are listed as they are, without following links."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.errors import StorageError
from commonplace.toolsets.projects.remote.store_check import Subfolders
from indexed import PERMISSIONS, permissions_hold


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for path in (
        "projects/b/deep/x.txt",
        "projects/b/.hidden",
        "projects/b/a.md",
        "projects/a/n.MD",
        "projects/.git/y",
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/o.md").write_text("x")
    (root / "projects/link").symlink_to(tmp_path / "outside")
    (root / "projects/b/link.md").symlink_to(tmp_path / "outside/o.md")
    return root


def test_folders_are_named_in_order_without_hidden_ones_and_links(root: Path) -> None:
    folders = Subfolders(root)
    assert folders.subfolders("projects") == ["a", "b"]
    assert folders.subfolders("projects/none") == folders.subfolders("projects/b/a.md") == []
    assert folders.subfolders("projects/link") == []


def test_whether_a_folder_exists_is_told_without_following_a_link(root: Path) -> None:
    folders = Subfolders(root)
    assert folders.exists("projects/b")
    assert [folders.exists(path) for path in ("projects/link", "projects/b/a.md", "none")] == [False, False, False]


def test_documents_are_the_markdown_files_of_one_folder(root: Path) -> None:
    folders = Subfolders(root)
    assert set(folders.documents("projects/b")) == {"a.md"}
    (root / "projects/b/c.md").write_text("new")
    assert folders.documents("projects/b")["c.md"].size == 3
    assert folders.documents("projects/none") == {}


def test_files_are_all_below_a_folder_hidden_ones_too(root: Path) -> None:
    files = Subfolders(root).files("projects/b")
    assert sorted(files) == ["projects/b/.hidden", "projects/b/a.md", "projects/b/deep/x.txt"]


@PERMISSIONS
def test_a_folder_that_cannot_be_read_is_an_error_and_not_empty(root: Path) -> None:
    (root / "projects/b").chmod(0)
    with permissions_hold():
        for ask in (Subfolders(root).subfolders, Subfolders(root).documents, Subfolders(root).files):
            with pytest.raises(StorageError):
                ask("projects/b")
    (root / "projects/b").chmod(0o755)
