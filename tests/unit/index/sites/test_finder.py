"""Docs trees are found by the configuration files in a folder, and by nothing outside of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.index.sites import MAX_DEPTH, SiteFinder
from commonplace.store import open_store

MKDOCS = "site_name: x\ndocs_dir: docs\n"


def finder(folder: Path, *declared: str) -> SiteFinder:
    folder.mkdir(parents=True, exist_ok=True)
    return SiteFinder(open_store(folder, commit="manual", state_dir=folder.parent / "state"), declared)


def write(folder: Path, **files: str) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def test_a_plain_folder_has_no_tree_and_one_with_a_configuration_has_one(tmp_path: Path) -> None:
    base = tmp_path / "base"
    assert finder(base).find([""]) == []
    write(base, **{"mkdocs.yml": MKDOCS, "docs/a.md": "# A\n"})
    assert len(finder(base).find(["docs"]) or []) == 1


def test_configurations_below_are_found_in_folders_with_documents_outermost_first(tmp_path: Path) -> None:
    base = tmp_path / "base"
    for folder in ("", "b/deep/", "a/"):
        write(base, **{f"{folder}mkdocs.yml": MKDOCS, f"{folder}docs/x.md": "# X\n"})
    assert len(finder(base).find(["docs", "a/docs", "b/deep/docs"]) or []) == 3
    assert len(finder(base).find([]) or []) == 2, "folders directly in it are looked into"
    too_deep = "/".join("xyzw"[:MAX_DEPTH] + "v")
    write(base, **{f"{too_deep}/mkdocs.yml": MKDOCS, f"{too_deep}/docs/x.md": "# X\n"})
    assert len(finder(base).find([f"{too_deep}/docs"]) or []) == 2


def test_a_declared_tree_replaces_recognition_and_none_turns_it_off(tmp_path: Path) -> None:
    base = tmp_path / "base"
    write(base, **{"mkdocs.yml": MKDOCS, "docs/a.md": "# A\n"})
    assert finder(base, "none").find(["docs"]) == []
    assert len(finder(base, "/=src", "/docs/=guide").find(["docs"]) or []) == 1


@pytest.mark.parametrize("declared", ["", "no pair", "=", "none"])
def test_a_declaration_that_is_no_pair_is_an_error(tmp_path: Path, declared: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        finder(tmp_path / "base", "/=src", declared)


def test_a_link_a_folder_and_a_huge_file_are_no_configuration(tmp_path: Path) -> None:
    base = tmp_path / "base"
    write(tmp_path, **{"outside.yml": MKDOCS})
    write(base, **{"docs/a.md": "# A\n", "a/docs/a.md": "# A\n", "b/docs/a.md": "# A\n"})
    (base / "mkdocs.yml").symlink_to(tmp_path / "outside.yml")
    (base / "a/mkdocs.yml").mkdir()
    write(base, **{"b/mkdocs.yml": MKDOCS + "#" * 10_000_000})
    assert finder(base).find(["docs", "a/docs", "b/docs"]) == []


@pytest.mark.parametrize("text", ["\0", "docs_dir: [", "docs_dir: ../../etc\n", "\ud7ff" * 10, "docs_dir: 7\n"])
def test_a_configuration_that_makes_no_sense_leads_nowhere_outside(tmp_path: Path, text: str) -> None:
    base = tmp_path / "base"
    write(base, **{"mkdocs.yml": text, "docs/a.md": "# A\n"})
    trees = finder(base).find(["docs"])
    assert trees is not None
    assert ".." not in repr(trees)
