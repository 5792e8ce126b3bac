"""Shell completion reads pages, tags and types, and shows nothing rather than fail."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from commonplace.index.catalogue.completion_queries import MAX_CODE_POINT, complete_names, complete_paths
from indexed import MakeBase

FILES: dict[str, str | bytes] = {
    "guide/a.md": "---\ntitle: Größe\ntype: guide\ntags: [Tea, tea/green]\n---\n",
    "guide/b.md": "---\ntype: guide\ntags: [tea]\n---\n# B\n",
    "guide_x.md": "# X\n",
    "漢字/é.md": "---\ntype: page\n---\n# É\n",
}


@pytest.fixture
def catalogue(base: MakeBase) -> str:
    made = base(FILES)
    (path,) = [file for file in made.cache.rglob("*") if file.is_file() and file.read_bytes()[:6] == b"SQLite"]
    return str(path)


@pytest.mark.parametrize(
    ("begin", "paths"),
    [
        ("", sorted(FILES)),
        ("guide", ["guide/a.md", "guide/b.md", "guide_x.md"]),
        ("guide/", ["guide/a.md", "guide/b.md"]),
        ("guide/a.md", ["guide/a.md"]),
        ("漢", ["漢字/é.md"]),
        ("Guide", []),
        ("%", []),
        ("guide/a.md/", []),
        (MAX_CODE_POINT, []),
    ],
)
def test_pages_with_a_prefix_come_by_path(catalogue: str, begin: str, paths: list[str]) -> None:
    assert [path for path, _ in complete_paths(catalogue, begin)] == paths


def test_pages_come_with_their_titles_and_names_with_their_numbers(catalogue: str) -> None:
    assert complete_paths(catalogue, "guide/a") == [("guide/a.md", "Größe")]
    assert complete_names(catalogue, "types", "") == [("guide", "2"), ("page", "1")]
    assert [count for name, count in complete_names(catalogue, "tags", "") if name.lower() == "tea"] == ["2"]
    assert complete_names(catalogue, "types", "p") == [("page", "1")]


@pytest.mark.parametrize("begin", ["\udcff", "a\ud800", "\x00", "'; DROP TABLE files; --"])
def test_what_is_no_text_completes_nothing(catalogue: str, begin: str) -> None:
    assert complete_paths(catalogue, begin) == complete_names(catalogue, "tags", begin) == []
    assert complete_paths(catalogue, "guide/a") != []


def test_a_catalogue_that_cannot_be_read_completes_nothing(tmp_path: Path) -> None:
    (tmp_path / "damaged").write_bytes(b"no database at all" * 100)
    sqlite3.connect(tmp_path / "empty").close()
    for name in ("damaged", "empty", "none/at/all"):
        assert complete_paths(str(tmp_path / name), "") == complete_names(str(tmp_path / name), "types", "") == []


def test_a_catalogue_that_is_being_written_is_not_waited_for(catalogue: str) -> None:
    writer = sqlite3.connect(catalogue, isolation_level=None)
    try:
        writer.execute("BEGIN EXCLUSIVE")
        assert len(complete_paths(catalogue, "")) in {0, len(FILES)}
    finally:
        writer.close()
