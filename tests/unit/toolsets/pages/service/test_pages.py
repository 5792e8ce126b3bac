"""Pages of a space are found by path and by id, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.toolsets.pages.rules.queries import PageQuery
from commonplace.toolsets.pages.service.pages import SpacePages
from spaces.engines import Scratch, engine_on


def page(identifier: str, text: str = "walrus") -> str:
    return f"---\npage_id: '{identifier}'\ntitle: Page {identifier}\n---\n{text}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "space"
    files = {
        ".confluence.json": json.dumps({"spaceKey": "ENG", "pages": {"1": "a.md", "9": "gone.md", "2": "a.md"}}),
        "a.md": page("1"),
        "in/b.md": page("2"),
        "notes.md": "# No page\n",
        "node_modules/n.md": page("3"),
        "inner/.confluence.json": json.dumps({"spaceKey": "IN", "pages": {}}),
        "inner/c.md": page("4"),
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (tmp_path / "outside.md").write_text(page("5"))
    (root / "out.md").symlink_to(tmp_path / "outside.md")
    return root


@pytest.fixture
def pages(root: Path, tmp_path: Path) -> Iterator[SpacePages]:
    with engine_on("embedded", root, Scratch(tmp_path)) as made:
        made.engine.rebuild()
        yield made


def test_a_page_is_found_by_its_path(pages: SpacePages) -> None:
    found_text = pages.at("in/b.md")
    assert (found_text.page.id, found_text.page.title, found_text.content) == ("2", "Page 2", "walrus")


@pytest.mark.parametrize(
    "path", ["../outside.md", "/a.md", "", "notes.md", "node_modules/n.md", "inner/c.md", "out.md", "p.png"]
)
def test_what_is_no_page_of_the_space_is_refused(pages: SpacePages, path: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        pages.at(path)
    assert refused.value.kind == "path"


def test_a_page_that_is_not_there_is_not_found(pages: SpacePages) -> None:
    with pytest.raises(NotFoundError) as refused:
        pages.at("none.md")
    assert refused.value.kind == "page"


def test_a_page_is_found_by_its_id_though_the_map_is_wrong_and_the_index_stale(pages: SpacePages, root: Path) -> None:
    assert pages.by_id("1").page.address.path == "a.md"
    assert pages.by_id("2").page.address.path == "in/b.md"
    (root / "in/b.md").rename(root / "moved.md")
    assert pages.by_id("2").page.address.path == "moved.md"
    for identifier in ("9", "4", "5", "none", ""):
        with pytest.raises(NotFoundError):
            pages.by_id(identifier)


def test_a_search_is_that_of_the_engine_and_an_empty_one_is_refused(pages: SpacePages) -> None:
    assert {hit.page.id for hit in pages.search(PageQuery(text="walrus")).hits} == {"1", "2"}
    with pytest.raises(InvalidInputError):
        pages.search(PageQuery(text=" "))
