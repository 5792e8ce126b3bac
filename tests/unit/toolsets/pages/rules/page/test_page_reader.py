"""All pages of a folder, and the files that look like pages and are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.ports import Store
from commonplace.store import open_store
from commonplace.toolsets.pages.rules.page import PageReader, has_pages
from commonplace.toolsets.pages.rules.space import Space
from indexed import PERMISSIONS, permissions_hold


def page(identifier: str, text: str = "text") -> str:
    return f"---\npage_id: '{identifier}'\ntitle: T\n---\n{text}\n"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    root = tmp_path / "space"
    root.mkdir()
    for name, text in {"a.md": page("1"), "b.md": page("1"), "c.md": page("2"), "n.md": "# N\n"}.items():
        (root / name).write_text(text)
    return open_store(root, commit="manual", state_dir=tmp_path / "state")


def space(**paths: str) -> Space:
    return Space(key="ENG", name="ENG", paths=paths, ids={path: key for key, path in paths.items()}, index_name="x")


def test_of_two_pages_with_one_id_the_mapped_one_counts_and_the_other_is_told(store: Store) -> None:
    reader = PageReader(store, space(**{"1": "b.md"}))
    assert {key: other_page.address.path for key, other_page in reader.pages.items()} == {"1": "b.md", "2": "c.md"}
    assert [unusable_page.address.path for unusable_page in reader.unusable] == ["a.md"]


def test_texts_are_those_of_the_pages_as_they_are_now(store: Store, tmp_path: Path) -> None:
    reader = PageReader(store, space())
    (tmp_path / "space/a.md").write_text(page("7"))
    (tmp_path / "space/c.md").write_text(page("2", "changed"))
    assert [element.content for element in reader.texts() if element.page.id == "2"] == ["changed"]
    assert "7" not in {element.page.id for element in reader.texts()}
    (tmp_path / "space/c.md").unlink()
    assert all(element.page.id != "2" for element in reader.texts())


@PERMISSIONS
def test_a_file_that_cannot_be_read_is_told_and_the_others_are_read(store: Store, tmp_path: Path) -> None:
    (tmp_path / "space/a.md").chmod(0)
    with permissions_hold():
        reader = PageReader(store, space())
    assert "a.md" in {unusable_page.address.path for unusable_page in reader.unusable}
    assert set(reader.pages) == {"1", "2"}


def test_whether_a_folder_has_any_page_is_told(store: Store, tmp_path: Path) -> None:
    assert has_pages(store, space())
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / "space" / name).unlink()
    assert not has_pages(store, space())
